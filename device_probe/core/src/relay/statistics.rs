//! What a relay counts, and how late it was itself.
//!
//! In each direction `received + duplicated = delivered + dropped + under_way`, always.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::rule::Reason;

/// Everything about one run of a relay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// How long it ran.
    pub elapsed_s: f64,
    /// Flows (a client on one port) that were opened.
    pub flows_opened: u64,
    /// Flows that were closed before the end: idle for too long, to make room for another one, or
    /// for want of a socket.
    pub flows_closed: u64,
    /// From the clients to the server.
    pub up: Counts,
    /// From the server to the clients.
    pub down: Counts,
}

/// What happened in one direction; bytes are those of UDP payloads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Datagrams that came.
    pub received_datagrams: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Datagrams that were sent on.
    pub delivered_datagrams: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Second copies that were made.
    pub duplicated_datagrams: u64,
    /// Datagrams that were overtaken by a later one of their flow.
    pub reordered_datagrams: u64,
    /// Datagrams that were not sent on, by reason.
    pub dropped_datagrams: BTreeMap<&'static str, u64>,
    /// Datagrams that were still under way at the end.
    pub under_way_datagrams: u64,
    /// Datagrams that the system dropped before the relay could read them: a fault that nobody
    /// asked for, so a known link has none.
    pub missed_datagrams: u64,
    /// From the arrival of datagrams at this machine until they were sent on: delay, jitter and
    /// rate as they really were.
    pub delay_added: Quantiles,
    /// How much later than due datagrams were sent on, where due is counted from the arrival: the
    /// error of the added delay. Where the kernel gives no time of arrival it begins when the relay
    /// read them, and what they waited in its socket is missing from both.
    pub lateness: Quantiles,
}

impl Counts {
    /// A datagram came.
    pub fn received(&mut self, bytes: u64) {
        self.received_datagrams += 1;
        self.received_bytes += bytes;
    }

    /// A datagram was sent on.
    pub fn delivered(&mut self, bytes: u64) {
        self.delivered_datagrams += 1;
        self.delivered_bytes += bytes;
    }

    /// A datagram was not sent on.
    pub fn dropped(&mut self, reason: Reason) {
        *self.dropped_datagrams.entry(reason.name()).or_default() += 1;
    }
}

/// Mean and quantiles of how long something took, in seconds, to three digits; none without datagrams.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// On average.
    pub mean_s: Option<f64>,
    /// Half took less.
    pub p50_s: Option<f64>,
    /// 99 % took less.
    pub p99_s: Option<f64>,
    /// The most.
    pub maximum_s: Option<f64>,
}

/// Collects durations in bounded memory, to three digits.
#[derive(Clone, Debug)]
pub struct QuantileRecorder(Histogram<u64>);

impl QuantileRecorder {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self(Histogram::new_with_max(DURATION_NS_MAX, DIGITS).expect("valid bounds"))
    }

    /// It took from `begin` to `end`, and no time if that is before.
    pub fn record(&mut self, begin: Duration, end: Duration) {
        let took_ns = end.saturating_sub(begin).as_nanos();
        self.0
            .saturating_record(u64::try_from(took_ns).unwrap_or(u64::MAX));
    }

    /// The figures for the statistics.
    pub fn summary(&self) -> Quantiles {
        let seconds = |ns: f64| (!self.0.is_empty()).then_some(ns * 1e-9);
        Quantiles {
            mean_s: seconds(self.0.mean()),
            p50_s: seconds(self.0.value_at_quantile(0.5) as f64),
            p99_s: seconds(self.0.value_at_quantile(0.99) as f64),
            maximum_s: seconds(self.0.max() as f64),
        }
    }
}

impl Default for QuantileRecorder {
    fn default() -> Self {
        Self::new()
    }
}

/// An hour: more than any queue of a rate that is worth relaying holds.
const DURATION_NS_MAX: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
