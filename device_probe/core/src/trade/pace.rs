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
    rate_per_s: f64,
    interval: Duration,
    duration: Duration,
    pacing: Pacing,
}

impl Schedule {
    /// `rate_per_s` for `duration`, which must both be positive and finite.
    pub fn new(rate_per_s: f64, duration: Duration, pacing: Pacing) -> Self {
        Self {
            rate_per_s,
            interval: Duration::from_secs_f64(1.0 / rate_per_s),
            duration,
            pacing,
        }
    }

    /// How many proposals were asked for.
    pub fn offered(&self) -> u64 {
        let proposals = self.rate_per_s * self.duration.as_secs_f64();
        // A hair below a whole number is that number, as of 0.1/s for 30 s.
        (proposals + ROUNDING).floor() as u64
    }

    /// When to make the next proposal, after `made` of them of which the last ended at
    /// `last_ended`; both times since the start. None when the repetition is over.
    pub fn next(&self, made: u64, last_ended: Duration) -> Option<Duration> {
        let at = match self.pacing {
            Pacing::Absolute => Duration::from_secs_f64(made as f64 / self.rate_per_s),
            Pacing::App if made == 0 => Duration::ZERO,
            Pacing::App => last_ended + self.interval,
        };
        let goes_on = made < self.offered() && at.max(last_ended) < self.duration;
        goes_on.then_some(at)
    }
}

/// Of a proposal; far above the rounding of a product.
const ROUNDING: f64 = 1e-3;
