//! What came of a trade: one line of figures for each repetition.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;

use pocketsim_protocols::contract::{Reason, Seconds};
use serde::Serialize;

use super::control::Summary;
use super::log::{Run, Tally};
use super::node::Node;
use super::store::Storage;
use super::tftp::WireCounts;
use crate::sketch::quantile;

/// What came of a trade.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Which end this is.
    pub role: Role,
    /// The build that traded.
    pub probe_version: &'static str,
    /// What carried the blocks (dialler).
    pub carrier: Option<&'static str>,
    /// How the rate was kept (dialler).
    pub pacing: Option<&'static str>,
    /// Nominal payload in bytes (dialler).
    pub payload_bytes: Option<u32>,
    /// How long each repetition was to propose, in seconds (dialler).
    pub duration_s: Option<Seconds>,
    /// The rest between repetitions, in seconds (dialler).
    pub pause_s: Option<Seconds>,
    /// Whom it dialled, or where it listened.
    pub address: Option<SocketAddr>,
    /// What storing a block did.
    pub storage: &'static str,
    /// What begins the tags of a CSV.
    pub label: String,
    /// The time of day when it began: RFC 3339 in UTC.
    pub started_at: String,
    /// Whether it was ended before its time: the last repetition is then partial (dialler; of a
    /// listener always false).
    pub stopped: bool,
    /// Whether all the repetitions are there and [complete](Repetition::complete) (dialler; of a
    /// listener always false).
    pub complete: bool,
    /// What ended it or kept its events from the disk; none if nothing did.
    pub error: Option<String>,
    /// In order.
    pub repetitions: Vec<Repetition>,
    /// What was counted besides, by name: garbage, strangers, slow streams. Nothing is left out
    /// but what is 0.
    pub counted: BTreeMap<&'static str, u64>,
}

/// Which end of a trade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Countersigns.
    #[default]
    Listener,
    /// Proposes.
    Dialler,
}

/// What came of one repetition at this end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Repetition {
    /// Its number in the events of this end.
    pub repetition: u32,
    /// The dialler's number in the events.
    pub dialler: u32,
    /// Proposals per second that were asked for (dialler).
    pub rate_per_s: Option<f64>,
    /// Proposals that were asked for (dialler).
    pub offered: Option<u64>,
    /// Proposals that were made.
    pub sent: u64,
    /// Those that were asked for and not made, by reason: `no_room` while too many were under way,
    /// `late` when the time was up, `stopped`, `no_listener`. The rate fell short by them.
    pub not_proposed: BTreeMap<&'static str, u64>,
    /// Blocks stored at this end, or countersigned at least.
    pub stored: u64,
    /// Of those, blocks that the disk refused.
    pub store_failures: u64,
    /// Events that found the log full: figures have them, the file of the events has not.
    pub events_not_logged: u64,
    /// Given up, by reason.
    pub lost: BTreeMap<&'static str, u32>,
    /// Refused, by reason.
    pub refused: BTreeMap<&'static str, u32>,
    /// T3 - T1: from sending a proposal to storing its answer, as in simulations (dialler).
    pub rtt: Option<RoundTrips>,
    /// T2 - T1: from sending a proposal to the arrival of its answer (dialler).
    pub response: Option<RoundTrips>,
    /// For how long it proposed, in seconds (dialler).
    pub duration_s: Option<Seconds>,
    /// From the first to the last sending or storing, in seconds (dialler); the rates are over it,
    /// as in simulations.
    pub window_s: Option<Seconds>,
    /// Proposals made per second of the window (dialler); none for a window of no length.
    pub sent_per_s: Option<f64>,
    /// Blocks stored per second of the window (dialler).
    pub stored_per_s: Option<f64>,
    /// How often the listener turned out to be another process (dialler).
    pub reintroductions: u32,
    /// What the listener said (dialler); none if it did not answer.
    pub listener: Option<ListenerSays>,
    /// Whether no block was lost or wrong, of those that were proposed, and every event is known:
    /// all are stored at both ends, and the same. A rate that fell short does not spoil it, an
    /// early end does (dialler; a listener does not know what was proposed, so always false).
    pub complete: bool,
    /// Whether it was ended before its time (dialler; of a listener always false).
    pub stopped: bool,
}

/// Times of the blocks stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundTrips {
    /// How many.
    pub count: u64,
    /// Mean, in seconds.
    pub mean_s: Seconds,
    /// Median, in seconds.
    pub p50_s: Seconds,
    /// In seconds.
    pub p90_s: Seconds,
    /// In seconds.
    pub p99_s: Seconds,
    /// The longest, in seconds.
    pub maximum_s: Seconds,
}

/// The other end of a repetition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListenerSays {
    /// Blocks that it countersigned and stored; without those that its disk refused.
    pub stored: u64,
    /// Whether they are as many as this end stored, and byte for byte the same.
    pub agrees: bool,
    /// Messages of this dialler that it refused, by reason.
    pub refused: BTreeMap<&'static str, u32>,
    /// Messages that it could lay at nobody's door, since it started.
    pub malformed: u64,
}

impl Outcome {
    /// What a node knows of itself, without repetitions; `started_at` is a time of day.
    pub(super) fn of(role: Role, node: &Node, storage: Storage, started_at: String) -> Self {
        let mut outcome = Self {
            role,
            probe_version: env!("CARGO_PKG_VERSION"),
            storage: storage.name(),
            started_at,
            ..Self::default()
        };
        let noise = node.noise();
        outcome.count("malformed", noise.malformed);
        outcome.count("strangers", noise.strangers);
        outcome.count("oversized", noise.oversized);
        outcome.count("events_not_logged", node.with_log(|log| log.not_logged));
        outcome.count("store_failures", node.store_failures());
        outcome.count("store_full", node.store_full());
        outcome
    }

    /// Say what went wrong, unless something earlier did.
    pub(super) fn blame<E: Display>(&mut self, done: Result<(), E>) {
        if let Err(error) = done {
            self.error.get_or_insert(error.to_string());
        }
    }

    pub(super) fn count(&mut self, name: &'static str, count: u64) {
        if count > 0 {
            *self.counted.entry(name).or_default() += count;
        }
    }

    pub(super) fn count_tftp(&mut self, counts: &WireCounts) {
        self.count("tftp_malformed", counts.malformed);
        self.count("tftp_unknown_transfer", counts.unknown_transfer);
        self.count("tftp_refused", counts.refused);
        self.count("tftp_oversized", counts.oversized);
        self.count("tftp_evicted", counts.evicted);
    }
}

impl RoundTrips {
    /// Of at least one.
    pub fn of(mut rtt_s: Vec<Seconds>) -> Option<Self> {
        rtt_s.sort_by(Seconds::total_cmp);
        let count = rtt_s.len();
        Some(Self {
            maximum_s: *rtt_s.last()?,
            count: count as u64,
            mean_s: rtt_s.iter().sum::<Seconds>() / count as Seconds,
            p50_s: quantile(&rtt_s, 0.50),
            p90_s: quantile(&rtt_s, 0.90),
            p99_s: quantile(&rtt_s, 0.99),
        })
    }
}

/// A repetition as its listener saw it.
pub(super) fn listened(place: usize, run: &Run) -> Repetition {
    Repetition {
        repetition: place as u32,
        dialler: run.dialler,
        stored: run.tally.stored,
        store_failures: run.tally.store_failures,
        events_not_logged: run.tally.not_logged,
        lost: named(&run.tally.lost),
        refused: named(&run.tally.refused),
        stopped: run.stopped,
        ..Repetition::default()
    }
}

/// What a dialler knows of a repetition when it is over, besides its tally.
pub(super) struct Dialled {
    pub(super) place: usize,
    pub(super) dialler: u32,
    pub(super) rate_per_s: f64,
    pub(super) offered: u64,
    pub(super) not_proposed: BTreeMap<&'static str, u64>,
    pub(super) duration_s: Seconds,
    pub(super) reintroductions: u32,
    pub(super) summary: Option<Summary>,
    pub(super) stopped: bool,
}

/// A repetition as its dialler saw it.
pub(super) fn dialled(known: &Dialled, tally: Tally) -> Repetition {
    let listener = known.summary.as_ref().map(|says| compare(says, &tally));
    let window_s = tally.window_s.map(|(first_s, last_s)| last_s - first_s);
    let rate = |count: u64| Some(count as f64 / window_s.filter(|&window_s| window_s > 0.0)?);
    let agrees = listener.as_ref().is_some_and(|says| says.agrees);
    let known_whole = tally.store_failures == 0 && tally.not_logged == 0;
    let stored_all = tally.sent > 0 && tally.stored == tally.sent;
    Repetition {
        repetition: known.place as u32,
        dialler: known.dialler,
        rate_per_s: Some(known.rate_per_s),
        offered: Some(known.offered),
        sent: tally.sent,
        not_proposed: known.not_proposed.clone(),
        stored: tally.stored,
        store_failures: tally.store_failures,
        events_not_logged: tally.not_logged,
        lost: named(&tally.lost),
        refused: named(&tally.refused),
        duration_s: Some(known.duration_s),
        window_s,
        sent_per_s: rate(tally.sent),
        stored_per_s: rate(tally.stored),
        reintroductions: known.reintroductions,
        listener,
        complete: agrees && stored_all && known_whole && !known.stopped,
        stopped: known.stopped,
        rtt: RoundTrips::of(tally.rtt_s),
        response: RoundTrips::of(tally.response_s),
    }
}

fn compare(says: &Summary, tally: &Tally) -> ListenerSays {
    let same = says.digest == tally.digest.to_bytes();
    ListenerSays {
        stored: says.stored,
        agrees: says.stored == tally.stored && same,
        refused: named(&says.refused.iter().copied().collect()),
        malformed: says.malformed,
    }
}

fn named(counts: &BTreeMap<Reason, u32>) -> BTreeMap<&'static str, u32> {
    let name = |(reason, &count): (&Reason, &u32)| (reason.name(), count);
    counts.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        let trips = RoundTrips::of(vec![0.4, 0.1, 0.3, 0.2]).expect("four");
        assert!((trips.p50_s - 0.25).abs() < 1e-12);
        assert!((trips.p90_s - 0.37).abs() < 1e-12);
        assert!((trips.p99_s - 0.397).abs() < 1e-12);
        assert_eq!((trips.maximum_s, trips.count), (0.4, 4));
        assert!((trips.mean_s - 0.25).abs() < 1e-12);
        assert_eq!(RoundTrips::of(Vec::new()), None);
    }

    fn known() -> Dialled {
        Dialled {
            place: 0,
            dialler: 1,
            rate_per_s: 2.0,
            offered: 3,
            not_proposed: BTreeMap::from([("late", 1)]),
            duration_s: 1.0,
            reintroductions: 0,
            summary: None,
            stopped: false,
        }
    }

    fn two_blocks() -> (Tally, Summary) {
        let mut tally = Tally {
            sent: 2,
            stored: 2,
            ..Tally::default()
        };
        tally.digest.add(b"one");
        tally.digest.add(b"two");
        let summary = Summary {
            stored: 2,
            digest: tally.digest.to_bytes(),
            ..Summary::default()
        };
        (tally, summary)
    }

    #[test]
    fn complete_means_proposed_stored_twice_and_the_same() {
        let (tally, summary) = two_blocks();
        let complete = |summary| {
            let known = Dialled { summary, ..known() };
            dialled(&known, tally.clone()).complete
        };
        let fewer = Summary {
            stored: 1,
            ..summary.clone()
        };
        let other = Summary {
            digest: [7; 32],
            ..summary.clone()
        };
        assert!(complete(Some(summary)), "one was not proposed, none lost");
        assert!(!complete(Some(fewer)));
        assert!(!complete(Some(other)));
        assert!(!complete(None));
    }

    #[test]
    fn what_is_lost_refused_by_the_disk_not_logged_or_stopped_is_not_complete() {
        let (tally, summary) = two_blocks();
        let complete = |change: &dyn Fn(&mut Tally, &mut Dialled)| {
            let (mut tally, mut known) = (tally.clone(), known());
            known.summary = Some(summary.clone());
            change(&mut tally, &mut known);
            dialled(&known, tally).complete
        };
        assert!(complete(&|_, _| {}));
        assert!(!complete(&|tally, _| tally.sent = 3));
        assert!(!complete(&|tally, _| tally.store_failures = 1));
        assert!(!complete(&|tally, _| tally.not_logged = 1));
        assert!(!complete(&|_, known| known.stopped = true));
        assert!(!dialled(&known(), Tally::default()).complete, "nothing");
    }

    #[test]
    fn rates_are_over_the_window_of_the_simulator_s_metrics() {
        let (mut tally, _) = two_blocks();
        tally.window_s = Some((10.0, 14.0));
        let one = dialled(&known(), tally.clone());
        assert_eq!((one.window_s, one.sent_per_s), (Some(4.0), Some(0.5)));
        assert_eq!(one.stored_per_s, Some(0.5), "not per second of proposing");
        tally.window_s = Some((10.0, 10.0));
        assert_eq!(dialled(&known(), tally).stored_per_s, None);
    }
}
