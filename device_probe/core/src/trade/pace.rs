//! When to propose: a schedule, without the clock that it is kept by.

use std::time::Duration;

use pocketsim_protocols::named_enum;

named_enum! {
    /// How a sender keeps its rate.
    Pacing {
        /// At multiples of the interval from the start: the rate is what was asked for.
        Absolute = "absolute",
        /// An interval of sleep after each proposal, as the app of the theses: what proposing and
        /// waking up take comes on top, so the rate falls short.
        App = "app",
    }
}

/// The proposals of one repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    interval: Duration,
    duration: Duration,
    pacing: Pacing,
}

impl Schedule {
    /// `rate_per_s` for `duration`, which must both be positive and finite.
    pub fn new(rate_per_s: f64, duration: Duration, pacing: Pacing) -> Self {
        Self {
            interval: Duration::from_secs_f64(1.0 / rate_per_s),
            duration,
            pacing,
        }
    }

    /// How many proposals were asked for.
    pub fn offered(&self) -> u64 {
        let intervals = self.duration.as_secs_f64() / self.interval.as_secs_f64();
        // Intervals are rounded to nanoseconds: a hair below a whole number is that number.
        (intervals + ROUNDING).floor() as u64
    }

    /// When to make the next proposal, after `made` of them of which the last ended at
    /// `last_ended`; both times since the start. None when the repetition is over.
    pub fn next(&self, made: u64, last_ended: Duration) -> Option<Duration> {
        let at = match self.pacing {
            Pacing::Absolute => self.interval.mul_f64(made as f64),
            Pacing::App if made == 0 => Duration::ZERO,
            Pacing::App => last_ended + self.interval,
        };
        let goes_on = made < self.offered() && at.max(last_ended) < self.duration;
        goes_on.then_some(at)
    }
}

/// Of an interval; far above rounding, far below a proposal.
const ROUNDING: f64 = 1e-3;
