//! What aggregates come to: counts, sums and histograms, as Python gets them.
//!
//! What deliberately does not live here: how they are counted.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::Seconds;

use crate::base::histogram::Histogram;

/// Counts of one repetition; times are seconds since it began.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct AggregateSummary {
    /// Sends that the log has.
    pub send_count: u64,
    /// Stores that the log has.
    pub store_count: u64,
    /// The first send or store that the log has.
    pub first_s: Option<Seconds>,
    /// The last.
    pub last_s: Option<Seconds>,
    /// Blocks that were stored, by the log.
    pub blocks: Sizes,
    /// What became of every transaction, in the log or not.
    pub all: Standing,
    /// The reasons of those that are lost.
    pub lost: BTreeMap<&'static str, u64>,
    /// What was known when the log ended of the transactions whose send it has.
    pub logged: Standing,
    /// From send to store, by the log.
    pub rtt: Spread,
    /// From the block's return to its store, by the log.
    pub processing: Spread,
    /// From send to the first delivery, of a custom protocol.
    pub delivery: Spread,
    /// When what was sent was done, and how long it was watched.
    pub completion: Completion,
    /// By how much a quantile from their buckets may be wrong, as a share of it.
    pub quantile_error: f64,
    /// Deliveries of what was sent.
    pub deliveries_sent: u64,
    /// Of a custom protocol, by number of what it observes: how often, and the sum of sizes.
    pub observed: Vec<(u64, u64)>,
    /// Messages of many blocks.
    pub transfers: Transfers,
    /// The most transactions that were held at a time.
    pub held_max: u64,
    /// Those that were lost and forgotten.
    pub forgotten: u64,
    /// Stores of what is not held: it was stored before, or forgotten.
    pub stores_unheld: u64,
}

/// What became of transactions; the others are under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Standing {
    /// How many there are.
    pub sent: u64,
    /// Of them, those that were stored.
    pub stored: u64,
    /// Of the others, those that something was lost or refused of.
    pub lost: u64,
}

/// Sizes in bytes: the smallest, the largest, the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Sizes {
    /// None of nothing.
    pub min: Option<u32>,
    /// None of nothing.
    pub max: Option<u32>,
    /// All of them together.
    pub sum: u64,
}

impl Sizes {
    pub(crate) fn add(&mut self, bytes: u32) {
        self.min = Some(self.min.map_or(bytes, |min| min.min(bytes)));
        self.max = self.max.max(Some(bytes));
        self.sum += u64::from(bytes);
    }
}

/// Of the transactions whose send the log has, what a curve of the share done needs; empty where the
/// log was full before the end, since nobody knows then how long what is not done was watched.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Completion {
    /// From send to the end of the measurement.
    pub watched: Spread,
    /// The same of those that were stored by then.
    pub done_watched: Spread,
    /// From send to store, of those.
    pub done: Spread,
}

/// Messages that were stored, of whichever blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Transfers {
    /// When the first was stored.
    pub first_s: Option<Seconds>,
    /// When the last was.
    pub last_s: Option<Seconds>,
    /// Bytes of all but the first.
    pub later_bytes: u64,
    /// Of those whose first block came earlier: their bytes over the time since, summed up.
    pub bytes_per_s_sum: f64,
    /// How many those are.
    pub timed: u64,
}

impl Transfers {
    /// A message is stored, whose first block came at `begun_s`.
    pub(crate) fn add(&mut self, now: Seconds, begun_s: Option<Seconds>, bytes: u32) {
        match self.first_s {
            None => self.first_s = Some(now),
            Some(_) => self.later_bytes += u64::from(bytes),
        }
        self.last_s = Some(now);
        if let Some(begun_s) = begun_s {
            self.bytes_per_s_sum += f64::from(bytes) / (now - begun_s);
            self.timed += 1;
        }
    }
}

/// Durations by bucket; columns of one length, in order.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Spread {
    /// All of them together, not from buckets.
    pub sum_s: Seconds,
    /// Where each bucket begins that has some.
    pub from_s: Vec<Seconds>,
    /// Where it ends.
    pub to_s: Vec<Seconds>,
    /// How many it has.
    pub count: Vec<u64>,
}

impl Spread {
    pub(crate) fn of(histogram: &Histogram) -> Self {
        let mut found = Self {
            sum_s: histogram.sum_s(),
            ..Self::default()
        };
        for (from_s, to_s, count) in histogram.filled() {
            found.from_s.push(from_s);
            found.to_s.push(to_s);
            found.count.push(count);
        }
        found
    }
}
