//! The steps of a run, one after the other, round by round.

use std::time::Duration;

use super::gather::Gathered;
use super::plan::{Schedule, Step};
use super::throttle::Detector;
use super::Observer;
use crate::clock::{Clock, TimeSource};
use crate::host::affinity::Pin;
use crate::kernel::{Budget, Depth, MakeRepeat, Repeat, Unmeasured, Work};
use crate::report::Throttle;
use crate::sampler::threads;
use crate::sampler::{Plan, Sampler, Taken};
use crate::stop::Stop;

/// What all steps have in common.
pub struct Measure<'a> {
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
        let mut detector = Detector::with(fixed, &self.sampler())?;
        let mut gathered: Vec<Gathered> = steps.into_iter().map(Gathered::new).collect();
        let order = order(&gathered, self.schedule.rounds);
        for (number, &place) in order.iter().enumerate() {
            if self.stop.is_raised() {
                break;
            }
            let case = &gathered[place].step().case;
            self.observer.started(number + 1, order.len(), case);
            self.step(&mut gathered[place]);
            self.observer.measured(&gathered[place].measurement(0));
            self.look(&mut detector, self.schedule.check_every_s)?;
        }
        self.look(&mut detector, 0.0)?;
        let throttle = detector.figures().clone();
        Ok(Done { gathered, throttle })
    }

    fn look(&self, detector: &mut Detector, interval_s: f64) -> Result<(), Unmeasured> {
        detector.look(&self.sampler(), interval_s, self.schedule.pause_max_s)
    }

    fn step(&self, gathered: &mut Gathered) {
        let at_s = self.time.wall_s() - self.start_s;
        let taken = self.take(gathered.step());
        gathered.add(at_s, taken);
    }

    fn take(&self, step: &Step) -> Result<Taken, Unmeasured> {
        let cores = step.cores.as_ref().map(|(_, cores)| Pin::to(cores));
        let _pin = cores.transpose()?;
        match &step.case.work {
            Work::Repeat(make) => self.repeat(make.as_ref(), step.threads),
            Work::Experiment(experiment) => experiment(&self.budget()).map(|series| Taken {
                warm_up: None,
                iterations: None,
                series,
            }),
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

    fn budget(&self) -> Budget<'_> {
        Budget {
            clock: self.clock,
            samples: self.schedule.experiment_samples,
            time_limit: Duration::from_secs_f64(self.schedule.experiment_s),
            stop: self.stop,
        }
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
