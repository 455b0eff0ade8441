//! The steps of a run, one after the other, round by round.

use std::time::Duration;

use super::gather::{Gathered, Whereabouts};
use super::plan::{Schedule, Step};
use super::remaining::{Expected, Remaining};
use super::throttle::{Detector, Place};
use super::{Observer, Position};
use crate::clock::{Clock, TimeSource};
use crate::host::{affinity, cores, Extras, Host};
use crate::kernel::{Budget, Depth, MakeRepeat, Repeat, Unmeasured, Work};
use crate::report::Throttle;
use crate::sampler::threads;
use crate::sampler::{Plan, Sampler, Taken};
use crate::stop::Stop;

/// What all steps have in common.
pub struct Measure<'a> {
    pub host: &'a Host,
    pub extras: &'a Extras,
    pub time: &'a dyn TimeSource,
    pub clock: &'a Clock,
    pub depth: Depth,
    pub schedule: Schedule,
    pub observer: &'a dyn Observer,
    pub stop: &'a Stop,
    pub start_s: f64,
}

/// What came of it.
pub struct Done {
    pub gathered: Vec<Gathered>,
    pub throttle: Throttle,
}

impl Measure<'_> {
    /// Every step of every round, until the user stops it.
    pub fn all(&self, steps: Vec<Step>, fixed: Box<dyn Repeat>) -> Result<Done, Unmeasured> {
        let mut detector = Detector::with(fixed, &self.sampler(), self.place())?;
        let mut gathered: Vec<Gathered> = steps.into_iter().map(Gathered::new).collect();
        let order = order(&gathered, self.schedule.rounds);
        let mut remaining = self.expected(&gathered);
        let first_s = self.time.wall_s();
        for (number, &place) in order.iter().enumerate() {
            if self.stop.is_raised() {
                break;
            }
            let began_s = self.time.wall_s();
            let spent_s = began_s - first_s - detector.figures().paused_s;
            let position = Position {
                number: number + 1,
                total: order.len(),
                left_s: remaining.left_s(&order[number..], spent_s),
            };
            self.observer
                .started(&position, &gathered[place].step().case);
            self.step(&mut gathered[place]);
            remaining.took(place, self.time.wall_s() - began_s);
            self.observer.measured(&gathered[place].measurement(0));
            let (every_s, pause_max_s) = (self.schedule.check_every_s, self.schedule.pause_max_s);
            detector.look(&self.sampler(), every_s, pause_max_s)?;
        }
        // Nothing comes after it that would need a cool device.
        detector.look(&self.sampler(), 0.0, 0.0)?;
        let throttle = detector.figures().clone();
        Ok(Done { gathered, throttle })
    }

    /// The detector stays on the fastest cores, which are the first to be throttled.
    fn place(&self) -> Place {
        let known = self.host.cores();
        let fastest = cores::distinct_classes(known).first().copied();
        Place {
            start_s: self.start_s,
            cores: fastest.map(|class| (class, cores::of_class(known, class))),
            extras: self.extras.clone(),
        }
    }

    fn step(&self, gathered: &mut Gathered) {
        let at_s = self.time.wall_s() - self.start_s;
        match self.take(gathered.step()) {
            Ok((taken, whereabouts)) => gathered.add(at_s, taken, whereabouts),
            Err(reason) => gathered.fail(reason),
        }
    }

    fn take(&self, step: &Step) -> Result<(Taken, Whereabouts), Unmeasured> {
        let here = || {
            let taken = self.work(step)?;
            Ok((taken, self.whereabouts(step.threads)))
        };
        match &step.cores {
            Some((_, cores)) => affinity::on_cores(cores, here),
            None => here(),
        }
    }

    fn work(&self, step: &Step) -> Result<Taken, Unmeasured> {
        match &step.case.work {
            Work::Repeat(make) => self.repeat(make.as_ref(), step.threads),
            Work::Experiment(experiment) => experiment(&self.budget(step)).map(|series| Taken {
                warm_up: None,
                iterations: None,
                series,
                reason: None,
            }),
        }
    }

    /// Where the calling thread is, if it did the work itself.
    fn whereabouts(&self, threads: usize) -> Whereabouts {
        let core = affinity::current_core().filter(|_| threads == 1);
        Whereabouts {
            core,
            frequency_hz: core.and_then(|core| cores::frequency_hz(self.host.tree(), core)),
        }
    }

    fn repeat(&self, make: &MakeRepeat<'_>, threads: usize) -> Result<Taken, Unmeasured> {
        match threads {
            1 => self.sampler().sample(make()?.as_mut()),
            _ => threads::sample(&self.sampler(), make, threads),
        }
    }

    fn sampler(&self) -> Sampler<'_> {
        Sampler {
            time: self.time,
            clock: self.clock,
            plan: Plan::of(self.depth, self.schedule.case_s, self.clock),
            stop: self.stop,
        }
    }

    fn budget(&self, step: &Step) -> Budget<'_> {
        Budget {
            clock: self.clock,
            samples: self.schedule.experiment_samples / self.rounds(step) as usize,
            time_limit: Duration::from_secs_f64(self.experiment_s(step)),
            stop: self.stop,
        }
    }

    /// In each round, in seconds.
    fn experiment_s(&self, step: &Step) -> f64 {
        self.schedule.experiment_s(step.case.group) / f64::from(self.rounds(step))
    }

    /// What comes in one round only has the time and the samples of all.
    fn rounds(&self, step: &Step) -> u32 {
        if step.repeats() {
            self.schedule.rounds
        } else {
            1
        }
    }

    fn expected(&self, gathered: &[Gathered]) -> Remaining {
        let expected = gathered.iter().map(|one| {
            let step = one.step();
            let is_repeated = matches!(step.case.work, Work::Repeat(_));
            Expected {
                given_s: match is_repeated {
                    true => self.schedule.case_s,
                    false => self.experiment_s(step),
                },
                is_repeated,
            }
        });
        Remaining::of(expected.collect())
    }
}

/// Places of the steps, round by round; what does not repeat comes in the first round only.
fn order(gathered: &[Gathered], rounds: u32) -> Vec<usize> {
    let places = |round| {
        let in_round = move |place: &usize| round == 0 || gathered[*place].step().repeats();
        (0..gathered.len()).filter(in_round)
    };
    (0..rounds).flat_map(places).collect()
}
