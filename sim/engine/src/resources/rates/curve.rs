//! A rate over time in steps, perhaps one that repeats: what it carries between two dates, and when
//! it has carried so much.
//!
//! With r(t) the rate, C(t) = integral of r from 0 to t; bytes that begin at s are out at the first t
//! at which C(t) = C(s) + bytes. What deliberately does not live here: queues.

use pocketsim_protocols::contract::Seconds;

use crate::plan::RateSteps;

/// A rate in steps.
#[derive(Clone, Debug)]
pub struct RateCurve {
    /// When each step begins, the first at 0, seconds.
    starts_s: Vec<Seconds>,
    bytes_per_s: Vec<f64>,
    /// What all steps before each carry, in bytes.
    before_bytes: Vec<f64>,
    /// After how long it begins again; infinite where the last step lasts.
    period_s: Seconds,
    /// What a period carries.
    period_bytes: f64,
}

impl RateCurve {
    /// One rate for ever.
    pub fn constant(bytes_per_s: f64) -> Self {
        Self::new(&RateSteps {
            start_s: vec![0.0],
            bytes_per_s: vec![bytes_per_s],
            period_s: None,
        })
    }

    /// Those of a plan.
    ///
    /// # Panics
    /// When they do not begin at 0, or carry nothing from some date on, which the plan's maker should
    /// have refused.
    pub fn new(steps: &RateSteps) -> Self {
        let (starts_s, bytes_per_s) = (steps.start_s.clone(), steps.bytes_per_s.clone());
        assert_eq!(starts_s.first(), Some(&0.0), "a rate from the beginning");
        let ends_s = starts_s[1..].iter().copied().chain(steps.period_s);
        let lengths_s = starts_s
            .iter()
            .zip(ends_s)
            .map(|(start_s, end_s)| end_s - start_s);
        let mut before_bytes = vec![0.0];
        for (rate, length_s) in bytes_per_s.iter().zip(lengths_s) {
            before_bytes.push(before_bytes[before_bytes.len() - 1] + rate * length_s);
        }
        let period_bytes = before_bytes[before_bytes.len() - 1];
        let carries = steps
            .period_s
            .map_or(bytes_per_s.last() > Some(&0.0), |_| period_bytes > 0.0);
        assert!(carries, "a rate in the end");
        before_bytes.truncate(starts_s.len());
        Self {
            starts_s,
            bytes_per_s,
            before_bytes,
            period_s: steps.period_s.unwrap_or(Seconds::INFINITY),
            period_bytes,
        }
    }

    /// What it carries from one date to a later one, in bytes.
    pub fn bytes_between(&self, from_s: Seconds, to_s: Seconds) -> f64 {
        let ([from, from_s], [to, to_s]) = (self.place(from_s), self.place(to_s));
        let periods = if to > from {
            (to - from) * self.period_bytes
        } else {
            0.0
        };
        periods + self.bytes_until(to_s) - self.bytes_until(from_s)
    }

    /// When it has carried so many bytes, more than it rounds, from a date on.
    pub fn date_after(&self, from_s: Seconds, bytes: f64) -> Seconds {
        let [mut period, from_s] = self.place(from_s);
        let mut until_bytes = self.bytes_until(from_s) + bytes;
        // What ends with a step ends in it, not after the gap that may follow.
        if self.period_s.is_finite() {
            let passed = ((until_bytes - ROUNDING_BYTES) / self.period_bytes).ceil() - 1.0;
            period += passed.max(0.0);
            until_bytes -= passed.max(0.0) * self.period_bytes;
        }
        let least_bytes = until_bytes - ROUNDING_BYTES;
        let begun = self
            .before_bytes
            .partition_point(|&before| before < least_bytes);
        let step = begun.saturating_sub(1);
        let left_s = (until_bytes - self.before_bytes[step]) / self.bytes_per_s[step];
        let end_s = self
            .starts_s
            .get(step + 1)
            .copied()
            .unwrap_or(self.period_s);
        let start_s = if period > 0.0 {
            period * self.period_s
        } else {
            0.0
        };
        start_s + (self.starts_s[step] + left_s).min(end_s)
    }

    /// In which period a date lies, and where in it.
    fn place(&self, date_s: Seconds) -> [f64; 2] {
        if !self.period_s.is_finite() {
            return [0.0, date_s];
        }
        let period = (date_s / self.period_s).floor();
        [period, date_s - period * self.period_s]
    }

    /// What it carries until a date in its first period.
    fn bytes_until(&self, date_s: Seconds) -> f64 {
        let step = self.starts_s.partition_point(|&start_s| start_s <= date_s);
        let step = step.saturating_sub(1);
        self.before_bytes[step] + (date_s - self.starts_s[step]) * self.bytes_per_s[step]
    }
}

/// Dates are differences of sums; of a datagram it is nothing.
const ROUNDING_BYTES: f64 = 1e-3;
