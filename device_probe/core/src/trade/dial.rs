//! The dialling end: a ladder of repetitions against one listener, without anybody's help.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pocketsim_protocols::contract::Reason;

use super::carrier::Carry;
use super::dialler::Dialler;
use super::export::Export;
use super::negotiation::Goal;
use super::outcome::{dialled, Dialled, Outcome, Repetition, Role};
use super::pace::Schedule;
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
    let node = super::export::node(options.storage, options.output.as_deref())?;
    let dialler = Dialler::new(options, Arc::clone(&node))?;
    let traded = dialler.with_threads(|carrier| {
        let ladder = Ladder {
            options,
            observer,
            stop,
            dialler: &dialler,
            carrier,
        };
        ladder.climb()
    })?;
    let mut outcome = Outcome::of(Role::Dialler, &node);
    outcome.carrier = Some(options.carrier.name());
    outcome.pacing = Some(options.pacing.name());
    outcome.payload_bytes = Some(options.payload_bytes);
    outcome.stopped = stop.is_raised();
    outcome.complete = !traded.is_empty() && traded.iter().all(|one| one.complete);
    outcome.repetitions = traded;
    dialler.count(&mut outcome);
    export.write(&node)?;
    Ok(outcome)
}

struct Ladder<'a> {
    options: &'a DialOptions,
    observer: &'a dyn TradeObserver,
    stop: &'a Stop,
    dialler: &'a Dialler,
    carrier: &'a dyn Carry,
}

impl Ladder<'_> {
    fn climb(&self) -> io::Result<Vec<Repetition>> {
        self.meet()?;
        let mut traded = Vec::new();
        for (number, (rate_per_s, stage)) in self.rungs().into_iter().enumerate() {
            if number > 0 {
                self.wait(self.options.pause, &|| false);
            }
            if self.stop.is_raised() {
                break;
            }
            traded.extend(self.repeat(number as u32, rate_per_s, &stage));
        }
        Ok(traded)
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
        self.dialler.aim(Goal::Trading(0));
        let reached = self.wait(PATIENCE, &|| {
            self.dialler.is_reached() || self.dialler.is_full()
        });
        if self.dialler.is_full() {
            return Err(io::Error::other("the listener takes no more diallers"));
        }
        if !reached && !self.stop.is_raised() {
            let text = format!("no probe listens at {}", self.options.peer);
            return Err(io::Error::new(ErrorKind::TimedOut, text));
        }
        Ok(())
    }

    /// One repetition; none if the log is full or the listener does not answer any more.
    fn repeat(&self, number: u32, rate_per_s: f64, stage: &str) -> Option<Repetition> {
        let node = &self.dialler.node;
        let carrier = self.options.carrier;
        let dialled_as = self.dialler.number();
        let place = node.begin(self.dialler.peer()?, dialled_as, number, carrier)?;
        self.dialler.begin(place);
        self.dialler.aim(Goal::Trading(number));
        let schedule = Schedule::new(rate_per_s, self.options.duration, self.options.pacing);
        let ready = self.wait(PATIENCE, &|| self.dialler.is_reached());
        // Without one it begins all the same, and the messages are lost for the reason they are.
        self.wait(PATIENCE, &|| !ready || self.carrier.is_ready());
        let duration = match ready {
            true => self.propose(&schedule, place, stage),
            false => Duration::ZERO,
        };
        let stopped = self.stop.is_raised();
        self.drain();
        self.dialler.aim(Goal::Summarised(number));
        wait_without_stop(PATIENCE_AT_THE_END, &|| self.dialler.is_reached());
        if stopped {
            node.mark_stopped(place);
        }
        self.report(place, stage);
        let known = Dialled {
            rate_per_s,
            offered: schedule.offered(),
            duration_s: duration.as_secs_f64(),
            reintroductions: self.dialler.reintroductions(),
            summary: self.dialler.summary(),
            stopped,
        };
        Some(dialled(place, dialled_as, node.tally(place), known))
    }

    /// Until the schedule is over or somebody stops it; for how long.
    fn propose(&self, schedule: &Schedule, place: usize, stage: &str) -> Duration {
        let began = Instant::now();
        let mut reported = Duration::ZERO;
        let (mut made, mut ended) = (0, Duration::ZERO);
        while let Some(at) = schedule.next(made, ended) {
            while !self.stop.is_raised() && began.elapsed() < at {
                let left = at.saturating_sub(began.elapsed());
                thread::sleep(left.min(NAP));
                if began.elapsed() >= reported + super::listen::REPORT_INTERVAL {
                    reported = began.elapsed();
                    self.report(place, stage);
                }
            }
            if self.stop.is_raised() {
                break;
            }
            if self.carrier.has_room() {
                self.propose_one();
            }
            made += 1;
            ended = began.elapsed();
        }
        began.elapsed()
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
        let patience = match self.stop.is_raised() {
            true => REST_WHEN_STOPPED,
            false => REST,
        };
        let over = || node.open() == 0 || node.rest_s() > patience.as_secs_f64();
        wait_without_stop(DRAIN_MAX, &over);
        self.carrier.forget();
        node.abandon(Reason::SocketTimeout);
    }

    fn report(&self, place: usize, stage: &str) {
        let (sent, stored, refused) = self.dialler.node.counts(place);
        self.observer.progress(&Progress {
            stage: stage.to_owned(),
            sent,
            stored,
            refused,
            rtt_s_p50: self.dialler.node.recent_rtt_s(place),
        });
    }

    /// Whether `reached` came true before the time was up or somebody stopped it.
    fn wait(&self, patience: Duration, reached: &dyn Fn() -> bool) -> bool {
        wait_without_stop(patience, &|| reached() || self.stop.is_raised()) && reached()
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
/// An answer that takes longer is taken for lost: ten times a bad radio's worst round trip, and
/// the socket timeout of the app (Iftode 2025, 3.3).
const REST: Duration = Duration::from_secs(5);
/// Whoever stopped the trade does not want to wait either.
const REST_WHEN_STOPPED: Duration = Duration::from_secs(1);
/// A queue that is longer than this belongs to a rate that the carrier cannot bear.
const DRAIN_MAX: Duration = Duration::from_secs(30);
