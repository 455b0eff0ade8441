//! What waits for its time: keys, the earliest first, those of one time in the order of the keys.
//!
//! A machine that has many things to wait for - peers, connections - keeps their deadlines here
//! and asks for the next. Whoever waits knows until when, so that is said again to clear it, and
//! no key is looked up. A key may have several deadlines.
//!
//! What deliberately does not live here: what happens then, and the few timers of one connection
//! ([`super::transport::quic`]), which have a place in a table each.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::contract::Seconds;

/// Deadlines in the order in which they are due.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines<K>(BTreeSet<(Date, K)>);

/// A time in the total order of IEEE 754, which is that of time for all that are not negative.
#[derive(Clone, Copy, Debug)]
struct Date(Seconds);

impl Ord for Date {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Date {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Date {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Date {}

impl<K: Copy + Ord> Deadlines<K> {
    /// Nothing is waited for.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// `key` is due at `at`; never, if that is infinite.
    pub fn set(&mut self, at: Seconds, key: K) {
        if at.is_finite() {
            self.0.insert((Date(at), key));
        }
    }

    /// `key` is not due at `at` any more, if it was.
    pub fn clear(&mut self, at: Seconds, key: K) {
        self.0.remove(&(Date(at), key));
    }

    /// Nothing is waited for any more.
    pub fn clear_all(&mut self) {
        self.0.clear();
    }

    /// The next to be due, and when.
    pub fn next(&self) -> Option<(Seconds, K)> {
        self.0.first().map(|(at, key)| (at.0, *key))
    }

    /// Clears and returns the next, if it is due by `now`.
    pub fn take_due(&mut self, now: Seconds) -> Option<K> {
        let (at, key) = self.next()?;
        (at <= now).then(|| {
            self.clear(at, key);
            key
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn those_of_one_time_come_in_the_order_of_their_keys() {
        let mut deadlines = Deadlines::new();
        for (at, key) in [(2.0, 1), (1.0, 3), (1.0, 2), (2.0, 0)] {
            deadlines.set(at, key);
        }
        let order = std::iter::from_fn(|| deadlines.take_due(2.0));
        assert_eq!(order.collect::<Vec<_>>(), [2, 3, 0, 1]);
    }

    #[test]
    fn who_is_due_now_is_due_and_who_is_due_later_is_not() {
        let mut deadlines = Deadlines::new();
        deadlines.set(1.0, 'a');
        assert_eq!(deadlines.take_due(0.999), None);
        assert_eq!(deadlines.next(), Some((1.0, 'a')));
        assert_eq!(deadlines.take_due(1.0), Some('a'));
        assert_eq!(deadlines.next(), None);
    }

    #[test]
    fn never_is_no_deadline() {
        let mut deadlines = Deadlines::new();
        deadlines.set(Seconds::INFINITY, 'a');
        assert_eq!(deadlines.next(), None);
    }

    /// What it does, without an order to keep.
    #[derive(Default)]
    struct Model(Vec<(u32, u8)>);

    impl Model {
        fn next(&self) -> Option<(u32, u8)> {
            self.0.iter().min().copied()
        }

        fn clear(&mut self, one: (u32, u8)) {
            self.0.retain(|other| *other != one);
        }
    }

    proptest! {
        #[test]
        fn it_does_what_an_unordered_list_does(
            steps in prop::collection::vec((0..3u8, 0..8u32, 0..4u8), 0..200)
        ) {
            let (mut deadlines, mut model) = (Deadlines::new(), Model::default());
            for (step, tenths, key) in steps {
                let at = f64::from(tenths) * 0.1;
                match step {
                    0 => {
                        deadlines.set(at, key);
                        model.0.push((tenths, key));
                    }
                    1 => {
                        deadlines.clear(at, key);
                        model.clear((tenths, key));
                    }
                    _ => {
                        let due = model.next().filter(|next| next.0 <= tenths);
                        prop_assert_eq!(deadlines.take_due(at), due.map(|next| next.1));
                        due.into_iter().for_each(|one| model.clear(one));
                    }
                }
                let next = model.next().map(|(at, key)| (f64::from(at) * 0.1, key));
                prop_assert_eq!(deadlines.next(), next);
            }
        }
    }
}
