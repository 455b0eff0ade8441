//! What was counted of each train of datagrams, for so many trains and no more.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::codec::Counts;

/// Counts by source and session (the key). The one that was quiet longest makes room for a new one,
/// unless it is still running: then the new one is not counted.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    trains: BTreeMap<(SocketAddr, u32), Train>,
}

#[derive(Debug)]
struct Train {
    counts: Counts,
    next: u64,
    begun: Duration,
    heard: Duration,
}

impl Ledger {
    /// A data datagram of `bytes` arrived at the time `now`, on any clock that does not go back.
    pub fn count(&mut self, key: (SocketAddr, u32), sequence: u64, bytes: usize, now: Duration) {
        if self.trains.len() >= TRAINS_MAX && !self.trains.contains_key(&key) {
            self.forget_quietest(now);
            if self.trains.len() >= TRAINS_MAX {
                return;
            }
        }
        let train = self.trains.entry(key).or_insert_with(|| Train::new(now));
        train.heard = now;
        train.counts.span_ns = now.saturating_sub(train.begun).as_nanos() as u64;
        train.counts.datagrams += 1;
        train.counts.bytes += bytes as u64;
        match sequence < train.next {
            true => train.counts.late += 1,
            false => train.next = sequence.saturating_add(1),
        }
    }

    /// What is known of a train; zeros of one that is not.
    pub fn counts(&self, key: (SocketAddr, u32)) -> Counts {
        let train = self.trains.get(&key);
        train.map_or_else(Counts::default, |train| train.counts)
    }

    fn forget_quietest(&mut self, now: Duration) {
        let quiet = |train: &Train| now.saturating_sub(train.heard) >= RUNNING;
        let quiet = self.trains.iter().filter(|(_, train)| quiet(train));
        let quietest = quiet.min_by_key(|(_, train)| train.heard);
        if let Some(key) = quietest.map(|(key, _)| *key) {
            self.trains.remove(&key);
        }
    }
}

impl Train {
    fn new(now: Duration) -> Self {
        Self {
            counts: Counts::default(),
            next: 0,
            begun: now,
            heard: now,
        }
    }
}

/// A measurement needs one at a time; the rest is for strangers.
const TRAINS_MAX: usize = 256;

/// Longer than the pause between two datagrams of a train, and between its last and the query.
const RUNNING: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn key(port: u16, session: u32) -> (SocketAddr, u32) {
        (SocketAddr::from(([127, 0, 0, 1], port)), session)
    }

    fn counted(sequences: &[u64]) -> Counts {
        let mut ledger = Ledger::default();
        for (second, sequence) in (10..).zip(sequences) {
            ledger.count(key(1, 7), *sequence, 100, Duration::from_secs(second));
        }
        ledger.counts(key(1, 7))
    }

    #[test]
    fn what_comes_after_a_higher_number_is_late() {
        let late = |sequences| counted(sequences).late;
        assert_eq!(late(&[0, 1, 2, 5]), 0);
        assert_eq!(late(&[0, 2, 1, 3]), 1);
        assert_eq!(late(&[3, 0, 1, 2]), 3);
        assert_eq!(late(&[0, 0]), 1, "twice");
        assert_eq!(late(&[u64::MAX, 0]), 1, "after the last number there is");
    }

    #[test]
    fn the_span_is_from_first_to_last() {
        assert_eq!(counted(&[0]).span_ns, 0);
        assert_eq!(counted(&[0, 1, 2]).span_ns, 2_000_000_000);
    }

    #[test]
    fn trains_are_counted_apart() {
        let mut ledger = Ledger::default();
        ledger.count(key(1, 7), 0, 100, Duration::ZERO);
        ledger.count(key(1, 8), 0, 10, Duration::ZERO);
        ledger.count(key(2, 7), 0, 1, Duration::ZERO);
        assert_eq!(ledger.counts(key(1, 7)).bytes, 100);
        assert_eq!(ledger.counts(key(1, 8)).bytes, 10);
        assert_eq!(ledger.counts(key(2, 7)).bytes, 1);
        assert_eq!(ledger.counts(key(2, 8)), Counts::default());
    }

    #[test]
    fn a_flood_of_strangers_does_not_push_out_a_running_train() {
        let mut ledger = Ledger::default();
        ledger.count(key(1, 0), 0, 1, Duration::ZERO);
        let soon = RUNNING / 2;
        for session in 0..10 * TRAINS_MAX as u32 {
            ledger.count(key(2, session), 0, 1, soon);
        }
        assert_eq!(ledger.trains.len(), TRAINS_MAX);
        assert_eq!(ledger.counts(key(1, 0)).datagrams, 1);
        ledger.count(key(3, 0), 0, 1, RUNNING + soon);
        assert_eq!(
            ledger.counts(key(3, 0)).datagrams,
            1,
            "they are quiet by now"
        );
    }

    #[test]
    fn strangers_push_out_strangers_and_not_whoever_talks() {
        let mut ledger = Ledger::default();
        for session in 0..10 * TRAINS_MAX as u32 {
            let now = Duration::from_secs(u64::from(session));
            ledger.count(key(1, 0), u64::from(session), 1, now);
            ledger.count(key(2, session), 0, 1, now);
        }
        assert_eq!(ledger.trains.len(), TRAINS_MAX);
        assert_eq!(ledger.counts(key(1, 0)).datagrams, 10 * TRAINS_MAX as u64);
        assert_eq!(ledger.counts(key(2, 0)), Counts::default());
    }
}
