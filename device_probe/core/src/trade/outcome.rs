//! What came of a trade: one line of figures for each repetition.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{Reason, Seconds};
use serde::Serialize;

use super::control::Summary;
use super::log::{Run, Tally};
use super::node::Node;
use super::tftp::WireCounts;

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
    /// Whether it was ended before its time: the last repetition is then partial.
    pub stopped: bool,
    /// Whether no block was lost or wrong in any repetition (dialler).
    pub complete: bool,
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
    /// Blocks stored at this end.
    pub stored: u64,
    /// Given up, by reason.
    pub lost: BTreeMap<&'static str, u32>,
    /// Refused, by reason.
    pub refused: BTreeMap<&'static str, u32>,
    /// From a proposal to its answer, in seconds (dialler).
    pub rtt: Option<RoundTrips>,
    /// From its start to its last proposal, in seconds (dialler).
    pub duration_s: Option<Seconds>,
    /// Proposals made per second (dialler).
    pub sent_per_s: Option<f64>,
    /// Blocks stored per second (dialler).
    pub stored_per_s: Option<f64>,
    /// How often the listener turned out to be another process (dialler).
    pub reintroductions: u32,
    /// What the listener said (dialler); none if it did not answer.
    pub listener: Option<ListenerSays>,
    /// Whether no block was lost or wrong: as many stored at both ends as offered, and the same.
    pub complete: bool,
    /// Whether it was ended before its time.
    pub stopped: bool,
}

/// Round trips of the blocks stored.
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
    /// Blocks that it countersigned and stored.
    pub stored: u64,
    /// Whether they are as many as this end stored, and byte for byte the same.
    pub agrees: bool,
    /// Messages of this dialler that it refused, by reason.
    pub refused: BTreeMap<&'static str, u32>,
    /// Messages that it could lay at nobody's door, since it started.
    pub malformed: u64,
}

impl Outcome {
    /// What a node knows of itself, without repetitions.
    pub(super) fn of(role: Role, node: &Node) -> Self {
        let mut outcome = Self {
            role,
            probe_version: env!("CARGO_PKG_VERSION"),
            ..Self::default()
        };
        let noise = node.noise();
        outcome.count("malformed", noise.malformed);
        outcome.count("strangers", noise.strangers);
        outcome.count("oversized", noise.oversized);
        outcome.count("events_not_logged", node.with_log(|log| log.not_logged));
        outcome.count("store_failures", node.store_failures());
        outcome
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

/// Of sorted values, linear between neighbours: the default of NumPy and R (type 7).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// A repetition as its listener saw it.
pub(super) fn listened(place: usize, run: &Run) -> Repetition {
    Repetition {
        repetition: place as u32,
        dialler: run.dialler,
        stored: run.tally.stored,
        lost: named(&run.tally.lost),
        refused: named(&run.tally.refused),
        stopped: run.stopped,
        ..Repetition::default()
    }
}

/// What a dialler knows of a repetition when it is over.
pub(super) struct Dialled {
    pub(super) rate_per_s: f64,
    pub(super) offered: u64,
    pub(super) duration_s: Seconds,
    pub(super) reintroductions: u32,
    pub(super) summary: Option<Summary>,
    pub(super) stopped: bool,
}

/// A repetition as its dialler saw it.
pub(super) fn dialled(place: usize, dialler: u32, tally: Tally, known: Dialled) -> Repetition {
    let listener = known.summary.as_ref().map(|says| compare(says, &tally));
    let rate = |count: u64| (known.duration_s > 0.0).then(|| count as f64 / known.duration_s);
    let agrees = listener.as_ref().is_some_and(|says| says.agrees);
    Repetition {
        repetition: place as u32,
        dialler,
        rate_per_s: Some(known.rate_per_s),
        offered: Some(known.offered),
        sent: tally.sent,
        stored: tally.stored,
        lost: named(&tally.lost),
        refused: named(&tally.refused),
        duration_s: Some(known.duration_s),
        sent_per_s: rate(tally.sent),
        stored_per_s: rate(tally.stored),
        reintroductions: known.reintroductions,
        listener,
        complete: agrees && tally.stored == known.offered,
        stopped: known.stopped,
        rtt: RoundTrips::of(tally.rtt_s),
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

    #[test]
    fn complete_means_offered_stored_twice_and_the_same() {
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
        let complete = |offered, summary| {
            let known = Dialled {
                rate_per_s: 2.0,
                offered,
                duration_s: 1.0,
                reintroductions: 0,
                summary,
                stopped: false,
            };
            dialled(0, 1, tally.clone(), known).complete
        };
        let fewer = Summary {
            stored: 1,
            ..summary.clone()
        };
        let other = Summary {
            digest: [7; 32],
            ..summary.clone()
        };
        assert!(complete(2, Some(summary.clone())));
        assert!(!complete(3, Some(summary)));
        assert!(!complete(2, Some(fewer)));
        assert!(!complete(2, Some(other)));
        assert!(!complete(2, None));
    }
}
