//! The dialling end: a ladder of repetitions against one listener, without anybody's help.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pocketsim_protocols::contract::Reason;

use super::carrier::Carry;
use super::dialler::Dialler;
use super::export::Export;
use super::listen::REPORT_INTERVAL;
use super::log::Run;
use super::negotiation::Goal;
use super::outcome::{dialled, Dialled, Outcome, Role};
use super::pace::Schedule;
use super::ports::LOOK_AROUND;
use super::{DialOptions, Progress, TradeError, TradeObserver};
use crate::stop::Stop;

/// Propose blocks to a peer that listens, over every rung.
///
/// # Errors
/// An impossible option; no peer; output that cannot be written.
pub fn dial(
    options: &DialOptions,
    observer: &dyn TradeObserver,
    stop: &Stop,
) -> Result<Outcome, TradeError> {
    super::options::check(options)?;
    let export = Export::to(options.output.as_deref(), &options.label)?;
    let (storage, limit_bytes) = (options.storage, options.store_limit_bytes);
    let output = options.output.as_deref();
    let node = super::export::node(storage, limit_bytes, output, export.epoch())?;
    let dialler = Dialler::new(options, Arc::clone(&node))?;
    let (traded, broken) = dialler.with_threads(|carrier| {
        let ladder = Ladder {
            options,
            observer,
            stop,
            dialler: &dialler,
            carrier,
            export: &export,
            current: Mutex::default(),
        };
        ladder.climb_and_report()
    });
    let (traded, unwritten) = traded?;
    let mut outcome = outcome_of(options, &dialler, &traded, &export);
    outcome.stopped = stop.is_raised();
    outcome.blame(broken);
    outcome.blame(export.finish(&node).and(unwritten));
    Ok(outcome)
}

fn outcome_of(
    options: &DialOptions,
    dialler: &Dialler,
    traded: &[Dialled],
    export: &Export,
) -> Outcome {
    let started_at = export.epoch().timestamp(0.0);
    let mut outcome = Outcome::of(Role::Dialler, &dialler.node, options.storage, started_at);
    outcome.carrier = Some(options.carrier.name());
    outcome.pacing = Some(options.pacing.name());
    outcome.payload_bytes = Some(options.payload_bytes);
    outcome.duration_s = Some(options.duration.as_secs_f64());
    outcome.pause_s = Some(options.pause.as_secs_f64());
    outcome.address = Some(options.peer);
    outcome.label.clone_from(&options.label);
    let wanted = options.rates_per_s.len() * options.repetitions as usize;
    // Not before the end: late answers count in the repetition that they belong to.
    let known = traded.iter();
    outcome.repetitions = known
        .map(|known| dialled(known, dialler.node.tally(known.place)))
        .collect();
    let complete = outcome.repetitions.iter().all(|one| one.complete);
    outcome.complete = traded.len() == wanted && complete;
    dialler.count(&mut outcome);
    outcome
}

struct Ladder<'a> {
    options: &'a DialOptions,
    observer: &'a dyn TradeObserver,
    stop: &'a Stop,
    dialler: &'a Dialler,
    carrier: &'a dyn Carry,
    export: &'a Export,
    /// The repetition to be shown, by its place in the log, and what it is called.
    current: Mutex<Option<(usize, String)>>,
}

/// The repetitions that were traded, and whether their events could be written.
type Climbed = (Vec<Dialled>, io::Result<()>);

impl Ladder<'_> {
    /// Somebody else shows how far it is: the thread that proposes has no time for it.
    fn climb_and_report(&self) -> io::Result<Climbed> {
        let over = Stop::new();
        thread::scope(|scope| {
            let _over = over.when_dropped();
            scope.spawn(|| self.report_until(&over));
            self.climb()
        })
    }

    fn climb(&self) -> io::Result<Climbed> {
        self.meet()?;
        let (mut traded, mut written) = (Vec::new(), Ok(()));
        for (number, (rate_per_s, stage)) in self.rungs().into_iter().enumerate() {
            if number > 0 {
                self.wait(self.options.pause, &|| false);
            }
            if self.is_over() {
                break;
            }
            traded.extend(self.repeat(number as u32, rate_per_s, &stage));
            // The first failure is the one to tell of; the next may go better.
            written = written.and(self.export.flush(&self.dialler.node));
        }
        Ok((traded, written))
    }

    fn rungs(&self) -> Vec<(f64, String)> {
        let repetitions = self.options.repetitions;
        let of_rung = |&rate: &f64| {
            let stage = move |k| format!("{rate}/s, repetition {} of {repetitions}", k + 1);
            (0..repetitions).map(move |k| (rate, stage(k)))
        };
        self.options.rates_per_s.iter().flat_map(of_rung).collect()
    }

    fn meet(&self) -> io::Result<()> {
        self.dialler.aim(Goal::Trading {
            repetition: 0,
            first_sequence: 0,
        });
        // Two questions, each with its own patience: round trips of seconds are no absence.
        let heard = |reached: &dyn Fn() -> bool| {
            self.wait(PATIENCE, &|| reached() || self.dialler.is_full())
        };
        let reached =
            heard(&|| self.dialler.peer().is_some()) && heard(&|| self.dialler.is_reached());
        if self.dialler.is_full() {
            return Err(io::Error::other("the listener takes no more diallers"));
        }
        if !reached && !self.is_over() {
            let text = format!("no probe listens at {}", self.options.peer);
            return Err(io::Error::new(ErrorKind::TimedOut, text));
        }
        Ok(())
    }

    /// One repetition; none if the log is full or the listener does not answer any more.
    fn repeat(&self, number: u32, rate_per_s: f64, stage: &str) -> Option<Dialled> {
        let node = &self.dialler.node;
        let (dialler, first_sequence) = (self.dialler.number(), node.next_sequence());
        let run = Run::new(dialler, number, self.options.carrier, first_sequence);
        let place = node.begin(self.dialler.peer()?, run)?;
        self.dialler.begin(place);
        self.show(Some((place, stage.to_owned())));
        self.dialler.aim(Goal::Trading {
            repetition: number,
            first_sequence,
        });
        let schedule = Schedule::new(rate_per_s, self.options.duration, self.options.pacing);
        let ready = self.wait(PATIENCE, &|| self.dialler.is_reached());
        // Without one it begins all the same, and the messages are lost for the reason they are.
        self.wait(PATIENCE, &|| !ready || self.carrier.is_ready());
        let proposed = match ready {
            true => self.propose(&schedule),
            false => Proposed::default(),
        };
        let stopped = self.is_over();
        self.drain();
        self.dialler.aim(Goal::Summarised(number));
        wait_without_stop(PATIENCE_AT_THE_END, &|| self.dialler.is_reached());
        if stopped {
            node.mark_stopped(place);
        }
        self.report();
        self.show(None);
        Some(Dialled {
            place,
            dialler,
            rate_per_s,
            offered: schedule.offered(),
            not_proposed: proposed.missing(schedule.offered(), stopped, ready),
            duration_s: proposed.took.as_secs_f64(),
            reintroductions: self.dialler.reintroductions(),
            summary: self.dialler.summary(),
            stopped,
        })
    }

    /// Until the schedule is over or somebody stops it.
    fn propose(&self, schedule: &Schedule) -> Proposed {
        let began = Instant::now();
        let mut done = Proposed::default();
        while let Some(at) = schedule.next(done.turns, done.took) {
            while !self.is_over() && began.elapsed() < at {
                thread::sleep(at.saturating_sub(began.elapsed()).min(NAP));
            }
            if self.is_over() {
                break;
            }
            let node = &self.dialler.node;
            match node.has_store_room(self.options.payload_bytes) {
                false => done.without_store += 1,
                true if !self.carrier.has_room() => done.without_room += 1,
                true => self.propose_one(),
            }
            done.turns += 1;
            done.took = began.elapsed();
        }
        done.took = began.elapsed();
        done
    }

    fn propose_one(&self) {
        if let Some(peer) = self.dialler.peer() {
            for letter in self.dialler.node.propose(peer, self.options.payload_bytes) {
                self.carrier.send(letter);
            }
        }
    }

    /// Until every answer is there, or none comes any more; the rest is lost.
    fn drain(&self) {
        let node = &self.dialler.node;
        let patience = match self.is_over() {
            true => REST_WHEN_STOPPED,
            false => self.carrier.rest(),
        };
        let over = || node.open() == 0 || node.rest_s() > patience.as_secs_f64();
        wait_without_stop(DRAIN_MAX, &over);
        self.carrier.forget();
        node.abandon(Reason::SocketTimeout);
    }

    fn show(&self, current: Option<(usize, String)>) {
        *self.current.lock().expect("nobody panics with it") = current;
    }

    fn report_until(&self, over: &Stop) {
        let mut next = Instant::now() + REPORT_INTERVAL;
        while !over.is_raised() {
            thread::sleep(LOOK_AROUND);
            if Instant::now() >= next {
                next = Instant::now() + REPORT_INTERVAL;
                self.report();
            }
        }
    }

    fn report(&self) {
        let current = self.current.lock().expect("nobody panics with it").clone();
        let Some((place, stage)) = current else {
            return;
        };
        let (sent, stored, refused) = self.dialler.node.counts(place);
        self.observer.progress(&Progress {
            stage,
            sent,
            stored,
            refused,
            rtt_s_p50: self.dialler.node.recent_rtt_s(place),
        });
    }

    /// Whether somebody stopped it, or its sockets are of no use any more.
    fn is_over(&self) -> bool {
        self.stop.is_raised() || self.dialler.is_broken()
    }

    /// Whether `reached` came true before the time was up or somebody stopped it.
    fn wait(&self, patience: Duration, reached: &dyn Fn() -> bool) -> bool {
        wait_without_stop(patience, &|| reached() || self.is_over()) && reached()
    }
}

/// What became of a schedule.
#[derive(Clone, Copy, Debug, Default)]
struct Proposed {
    /// Proposals that were due.
    turns: u64,
    /// Of those, the ones that found too many under way.
    without_room: u64,
    /// And those that the own store has no room for.
    without_store: u64,
    took: Duration,
}

impl Proposed {
    /// What was offered but not proposed, by reason.
    fn missing(self, offered: u64, stopped: bool, ready: bool) -> BTreeMap<&'static str, u64> {
        let rest = match (stopped, ready) {
            (true, _) => "stopped",
            (_, false) => "no_listener",
            _ => "late",
        };
        let all = [
            ("no_room", self.without_room),
            ("store_full", self.without_store),
            (rest, offered - self.turns),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

fn wait_without_stop(patience: Duration, reached: &dyn Fn() -> bool) -> bool {
    let began = Instant::now();
    while !reached() {
        if began.elapsed() >= patience {
            return false;
        }
        thread::sleep(GLANCE.min(patience));
    }
    true
}

/// For a listener to appear; a person may have to press a button there.
const PATIENCE: Duration = Duration::from_secs(10);
/// For its last word.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(5);
/// Sleeping in pieces, so that a stop is seen and figures stay alive.
const NAP: Duration = Duration::from_millis(100);
/// Between two looks at a condition, far from any measured path.
const GLANCE: Duration = Duration::from_millis(5);
/// Whoever stopped the trade does not want to wait either.
const REST_WHEN_STOPPED: Duration = Duration::from_secs(1);
/// A queue that is longer than this belongs to a rate that the carrier cannot bear.
const DRAIN_MAX: Duration = Duration::from_secs(30);
