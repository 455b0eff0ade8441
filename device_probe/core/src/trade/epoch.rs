//! The zero of a trade's clock, and what the wall clock said then.
//!
//! Both are read together, so that an event can be given the time of day. Two ends have two zeros
//! and two wall clocks: comparing their times of day needs clocks that agree, as by NTP.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use pocketsim_protocols::contract::Seconds;

use super::node::TradeClock;

/// When a process began to trade.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    wall: SystemTime,
    began: Instant,
}

impl Epoch {
    /// Now.
    pub fn now() -> Self {
        Self {
            wall: SystemTime::now(),
            began: Instant::now(),
        }
    }

    /// Seconds since then.
    pub fn clock(&self) -> TradeClock {
        let began = self.began;
        Arc::new(move || began.elapsed().as_secs_f64())
    }

    /// The time of day `time_s` after it: RFC 3339 in UTC with microseconds.
    pub fn timestamp(&self, time_s: Seconds) -> String {
        let time = self.wall + Duration::from_secs_f64(time_s);
        humantime::format_rfc3339_micros(time).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_those_of_the_calendar() {
        let epoch = Epoch {
            wall: SystemTime::UNIX_EPOCH,
            began: Instant::now(),
        };
        // From `date -u -d @N`.
        for (seconds, expected) in [
            (0.000_25, "1970-01-01T00:00:00.000250Z"),
            (951_782_400.25, "2000-02-29T00:00:00.250000Z"),
            (4_107_542_399.5, "2100-02-28T23:59:59.500000Z"),
        ] {
            assert_eq!(epoch.timestamp(seconds), expected);
        }
    }

    #[test]
    fn the_clock_and_the_time_of_day_have_one_zero() {
        let before = SystemTime::now();
        let epoch = Epoch::now();
        let now_s = epoch.clock()();
        let after = SystemTime::now();
        let format = |time| humantime::format_rfc3339_micros(time).to_string();
        let now = epoch.timestamp(now_s);
        // Both have the same zero to a second, if nobody sets the clock meanwhile.
        assert!(format(before - SECOND) <= now && now <= format(after + SECOND));
    }

    const SECOND: Duration = Duration::from_secs(1);
}
