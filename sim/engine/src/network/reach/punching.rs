//! Hole punching: pairs of phones whose transports tell each other, over the relay, when to send.
//!
//! Each pair draws once whether it works, which classes that cannot never do, and for each attempt how
//! long it takes. An attempt begins with the first direct datagram that does not pass, and again when a
//! way that was open is not any more; a pair that failed fails for good, unless one of it moves. What
//! deliberately does not live here: what NATs let pass without it.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::Seconds;

use crate::base::histogram::Histogram;
use crate::base::rng::{mix, Stream};
use crate::plan;
use crate::record::paths::PunchingSummary;

/// The attempts of all pairs of a run.
pub(crate) struct Punching {
    seed: u64,
    law: plan::HolePunching,
    /// By pair, the smaller number first.
    pairs: BTreeMap<(u32, u32), Pair>,
    /// By phone that has moved, when it joined its network.
    joined_s: BTreeMap<u32, Seconds>,
    /// Of pairs that tried, how long it took those that succeeded.
    setup: Histogram,
    failed: u64,
    /// Ways that were punched again.
    reopened: u64,
}

struct Pair {
    stream: Stream,
    works: bool,
    /// Whether no attempt has ended between the networks that both have.
    is_first: bool,
    /// Since when both have them, or since the first attempt.
    since_s: Seconds,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Trying { since_s: Seconds, until_s: Seconds },
    Opened,
    Failed,
}

impl Punching {
    /// Nobody has tried yet.
    pub(crate) fn new(seed: u64, law: plan::HolePunching) -> Self {
        Self {
            seed,
            law,
            pairs: BTreeMap::new(),
            joined_s: BTreeMap::new(),
            setup: Histogram::new(),
            failed: 0,
            reopened: 0,
        }
    }

    /// A direct datagram between two phones does not pass at `now`, behind NATs that allow punching or
    /// not: when these let it pass after all, if an attempt has succeeded since.
    pub(crate) fn knock(
        &mut self,
        phones: [u32; 2],
        allows: bool,
        now: Seconds,
    ) -> Option<Seconds> {
        let [one, other] = phones;
        let key = (one.min(other), one.max(other));
        let together_s = self.together_s(key);
        if self
            .pairs
            .get(&key)
            .is_some_and(|pair| pair.since_s < together_s)
        {
            self.end_before(key, together_s);
        }
        let (seed, law) = (self.seed, &self.law);
        let pair = self.pairs.entry(key).or_insert_with(|| {
            let chosen = mix(u64::from(key.0) << 32 | u64::from(key.1));
            let mut stream = Stream::new(seed ^ chosen, "hole punching", 0);
            let works = stream.uniform() < law.success && allows;
            Pair::new(stream, works, law, now)
        });
        if pair.since_s < together_s {
            pair.works = pair.stream.uniform() < law.success && allows;
            (pair.is_first, pair.since_s) = (true, together_s);
            pair.begin(law, now);
        }
        match pair.state {
            State::Opened => pair.begin(law, now),
            State::Trying { until_s, .. } if until_s <= now => {
                self.end_attempt(key);
                return self.pairs[&key].works.then_some(until_s);
            }
            State::Trying { .. } | State::Failed => {}
        }
        None
    }

    /// A phone has joined another network at `now`: of each of its pairs it is open again whether that
    /// works.
    pub(crate) fn join(&mut self, phone: u32, now: Seconds) {
        self.joined_s.insert(phone, now);
    }

    /// When the later of two phones joined its network; never, if both have their first.
    fn together_s(&self, key: (u32, u32)) -> Seconds {
        let joined_s = |phone: u32| self.joined_s.get(&phone).copied();
        let dates = [joined_s(key.0), joined_s(key.1)].into_iter().flatten();
        dates.fold(Seconds::NEG_INFINITY, Seconds::max)
    }

    /// What came of it until `end_s`, when the run ends.
    pub(crate) fn summary(&mut self, end_s: Seconds) -> PunchingSummary {
        self.close(end_s);
        PunchingSummary {
            opened: self.setup.count(),
            failed: self.failed,
            pending: self.pending(),
            reopened: self.reopened,
            setup_p50_s: self.setup.quantile(0.5),
            setup_p90_s: self.setup.quantile(0.9),
        }
    }

    /// Attempts that are over by `end_s` count.
    fn close(&mut self, end_s: Seconds) {
        let keys: Vec<_> = self.pairs.keys().copied().collect();
        for key in keys {
            let moved_s = self.together_s(key);
            let began_s = self.pairs[&key].since_s;
            let is_old = began_s < moved_s;
            self.end_before(key, if is_old { moved_s } else { end_s });
        }
    }

    /// How many pairs are still at their first attempt.
    fn pending(&self) -> u64 {
        let is_trying = |pair: &&Pair| pair.is_first && matches!(pair.state, State::Trying { .. });
        self.pairs.values().filter(is_trying).count() as u64
    }

    /// An attempt of a pair that was over at `date_s` counts, any other never ends.
    fn end_before(&mut self, key: (u32, u32), date_s: Seconds) {
        let state = self.pairs.get(&key).map(|pair| pair.state);
        if matches!(state, Some(State::Trying { until_s, .. }) if until_s <= date_s) {
            self.end_attempt(key);
        }
    }

    fn end_attempt(&mut self, key: (u32, u32)) {
        let Some(pair) = self.pairs.get_mut(&key) else {
            return;
        };
        let State::Trying { since_s, until_s } = pair.state else {
            return;
        };
        match (pair.works, std::mem::replace(&mut pair.is_first, false)) {
            (true, true) => self.setup.add(until_s - since_s),
            (true, false) => self.reopened += 1,
            (false, _) => self.failed += 1,
        }
        pair.state = match pair.works {
            true => State::Opened,
            false => State::Failed,
        };
    }
}

impl Pair {
    fn new(stream: Stream, works: bool, law: &plan::HolePunching, now: Seconds) -> Self {
        let mut pair = Self {
            stream,
            works,
            is_first: true,
            since_s: now,
            state: State::Opened,
        };
        pair.begin(law, now);
        pair
    }

    fn begin(&mut self, law: &plan::HolePunching, now: Seconds) {
        let (median_s, sigma) = match self.works {
            true => (law.setup_median_s, law.setup_sigma),
            false => (law.failure_median_s, law.failure_sigma),
        };
        self.state = State::Trying {
            since_s: now,
            until_s: now + self.stream.lognormal(median_s, sigma),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(success: f64) -> plan::HolePunching {
        plan::HolePunching {
            success,
            setup_median_s: 6.0,
            setup_sigma: 0.661,
            failure_median_s: 15.0,
            failure_sigma: 0.0,
            path_trust_s: 6.5,
        }
    }

    /// Asks every 10 ms until the way is open; when it is, and how often it was asked.
    fn opens_s(punching: &mut Punching, from_s: Seconds) -> Option<Seconds> {
        let dates = (0..100_000).map(|tick| from_s + 0.01 * f64::from(tick));
        let mut found = dates.filter_map(|now| punching.knock([3, 1], true, now));
        found.next()
    }

    #[test]
    fn a_way_opens_after_its_attempt_and_anew_after_another() {
        let mut punching = Punching::new(1, law(1.0));
        let first_s = opens_s(&mut punching, 5.0).expect("it always works");
        assert!(first_s > 5.0);
        let second_s = opens_s(&mut punching, 100.0).expect("it works as before");
        assert!(second_s > 100.0 && second_s - 100.0 != first_s - 5.0);
        assert_eq!((punching.setup.count(), punching.reopened), (1, 1));
        assert!((punching.setup.sum_s() - (first_s - 5.0)).abs() < 1e-9);
    }

    #[test]
    fn who_fails_fails_for_good() {
        let mut punching = Punching::new(1, law(0.0));
        assert_eq!(opens_s(&mut punching, 0.0), None);
        assert_eq!(punching.failed, 1);
        let mut never = Punching::new(1, law(1.0));
        for now in [0.0, 14.9, 15.1, 99.0] {
            assert_eq!(never.knock([0, 1], false, now), None);
        }
        assert_eq!((never.failed, never.pending()), (1, 0));
    }

    #[test]
    fn attempts_that_are_over_at_the_end_count_and_others_are_pending() {
        let mut punching = Punching::new(1, law(0.0));
        punching.knock([0, 1], true, 0.0);
        punching.knock([0, 2], true, 20.0);
        punching.close(30.0);
        assert_eq!((punching.failed, punching.pending()), (1, 1));
    }

    #[test]
    fn both_ends_of_a_pair_draw_as_one_and_pairs_apart() {
        let ends = |phones: [u32; 2]| {
            let mut punching = Punching::new(1, law(1.0));
            punching.knock(phones, true, 0.0);
            punching.knock(phones, true, 1e6)
        };
        assert_eq!(ends([3, 1]), ends([1, 3]));
        assert_ne!(ends([3, 1]), ends([3, 2]));
    }

    #[test]
    fn pairs_succeed_as_often_and_take_as_long_as_the_law_says() {
        let mut punching = Punching::new(1, law(0.7));
        let pairs = 20_000;
        (0..pairs).for_each(|pair| assert_eq!(punching.knock([pair, pairs], true, 0.0), None));
        punching.close(1e6);
        let success = punching.setup.count() as f64 / f64::from(pairs);
        // Four standard errors of 0.0032.
        assert!((success - 0.7).abs() < 0.013, "{success}");
        // exp(1.2816 sigma) times the median, and a hundredth for sampling.
        for (share, expected_s) in [(0.5, 6.0), (0.9, 14.0)] {
            let found_s = punching.setup.quantile(share).expect("some");
            assert!(
                (found_s / expected_s - 1.0).abs() < 0.03,
                "{share}: {found_s}"
            );
        }
    }
}
