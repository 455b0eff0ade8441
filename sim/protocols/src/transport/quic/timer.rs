//! The timers of one connection, by reason.

use crate::contract::Seconds;

/// What a connection can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A packet is late: declare it lost, or probe.
    Recovery,
    /// An acknowledgement was held back long enough.
    AckDelay,
    /// Nothing was heard for too long.
    Idle,
    /// A sign of life is due.
    KeepAlive,
    /// The handshake takes too long.
    Connect,
    /// The direct path is to be pinged.
    Disco,
    /// A closed connection may be forgotten.
    Drain,
    /// The next packet may leave.
    Pacing,
}

impl Timer {
    const ALL: [Timer; 8] = [
        Timer::Recovery,
        Timer::AckDelay,
        Timer::Idle,
        Timer::KeepAlive,
        Timer::Connect,
        Timer::Disco,
        Timer::Drain,
        Timer::Pacing,
    ];

    /// What a stuck run is told that it waits for.
    pub const fn name(self) -> &'static str {
        match self {
            Timer::Recovery => "quic loss or probe timeout",
            Timer::AckDelay => "quic delayed acknowledgement",
            Timer::Idle => "quic idle timeout",
            Timer::KeepAlive => "quic keep-alive",
            Timer::Connect => "quic connect timeout",
            Timer::Disco => "disco heartbeat",
            Timer::Drain => "quic draining",
            Timer::Pacing => "quic pacing",
        }
    }
}

/// When each timer fires; infinite for those that are not set.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimerTable([Seconds; 8]);

impl TimerTable {
    /// Nothing is waited for.
    pub const fn new() -> Self {
        Self([Seconds::INFINITY; 8])
    }

    /// Sets or resets `timer`.
    pub fn set(&mut self, timer: Timer, at: Seconds) {
        self.0[timer as usize] = at;
    }

    /// Unsets `timer`.
    pub fn stop(&mut self, timer: Timer) {
        self.set(timer, Seconds::INFINITY);
    }

    /// Unsets everything.
    pub fn stop_all(&mut self) {
        *self = Self::new();
    }

    /// Whether `timer` is set.
    pub fn is_set(&self, timer: Timer) -> bool {
        self.at(timer).is_finite()
    }

    /// When `timer` fires; infinite if it is not set.
    pub fn at(&self, timer: Timer) -> Seconds {
        self.0[timer as usize]
    }

    /// The next to fire, if any is set.
    pub fn next(&self) -> Option<(Seconds, Timer)> {
        let by_time = |a: &Timer, b: &Timer| self.at(*a).total_cmp(&self.at(*b));
        let timer = Timer::ALL.into_iter().min_by(by_time)?;
        let at = self.at(timer);
        at.is_finite().then_some((at, timer))
    }

    /// Unsets and returns the first timer that is due.
    pub fn pop_due(&mut self, now: Seconds) -> Option<Timer> {
        let (at, timer) = self.next()?;
        (at <= now).then(|| {
            self.stop(timer);
            timer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Timer, TimerTable};

    fn due(timers: &mut TimerTable, now: f64) -> Vec<Timer> {
        std::iter::from_fn(|| timers.pop_due(now)).collect()
    }

    #[test]
    fn timers_of_one_time_fire_in_the_order_of_their_reasons() {
        let mut timers = TimerTable::new();
        for timer in Timer::ALL.into_iter().rev() {
            timers.set(timer, 1.0);
        }
        assert_eq!(timers.next(), Some((1.0, Timer::Recovery)));
        assert_eq!(due(&mut timers, 0.9), []);
        assert_eq!(due(&mut timers, 1.0), Timer::ALL);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn the_earliest_fires_first_and_what_was_stopped_does_not() {
        let mut timers = TimerTable::new();
        timers.set(Timer::Recovery, 3.0);
        timers.set(Timer::Drain, 1.0);
        timers.set(Timer::Idle, 2.0);
        timers.set(Timer::Recovery, 0.5);
        timers.stop(Timer::Idle);
        assert!(timers.is_set(Timer::Drain) && !timers.is_set(Timer::Idle));
        assert_eq!(due(&mut timers, 9.0), [Timer::Recovery, Timer::Drain]);
    }
}
