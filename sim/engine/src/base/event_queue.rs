//! The ordered queue of timed happenings beside the world's own events.
//!
//! Simultaneous entries leave in the order they came, by a serial number; those that are pushed to
//! the front of their date leave before the others.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use pocketsim_protocols::contract::Seconds;

/// Entries ordered by time, then by arrival.
#[derive(Debug)]
pub struct EventQueue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    serial: u64,
}

#[derive(Debug)]
struct Entry<T> {
    /// The date's place among all numbers in the high half; in the low one a bit, unset for the front
    /// of the date, and the serial number.
    ///
    /// One comparison of whole numbers orders two entries, of which each happening takes many.
    key: u128,
    value: T,
}

impl<T> EventQueue<T> {
    /// Nothing queued.
    pub fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            serial: 0,
        }
    }

    /// Adds `value` for `date`.
    pub fn push(&mut self, date: Seconds, value: T) {
        self.insert(date, REAR | self.serial, value);
    }

    /// Adds `value` for `date`, before all that [`Self::push`] adds for then.
    pub fn push_first(&mut self, date: Seconds, value: T) {
        self.insert(date, self.serial, value);
    }

    fn insert(&mut self, date: Seconds, rank: u64, value: T) {
        let key = u128::from(place(date)) << 64 | u128::from(rank);
        self.heap.push(Reverse(Entry { key, value }));
        self.serial += 1;
    }

    /// The date of the first entry.
    pub fn next_date(&self) -> Option<Seconds> {
        self.heap
            .peek()
            .map(|entry| date((entry.0.key >> 64) as u64))
    }

    /// The first entry, and the two of which one is the next after it.
    pub fn coming(&self) -> impl Iterator<Item = &T> {
        let first = self.heap.as_slice().iter().take(COMING);
        first.map(|entry| &entry.0.value)
    }

    /// Takes the first entry if it is due at `now`.
    pub fn pop_due(&mut self, now: Seconds) -> Option<T> {
        if self.next_date()? > now {
            return None;
        }
        self.heap.pop().map(|entry| entry.0.value)
    }
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Entry<T> {}

/// The place of a date in the order of all numbers (IEEE 754-2019, 5.10), as a whole number.
fn place(date: Seconds) -> u64 {
    let bits = date.to_bits();
    if bits & SIGN == 0 {
        bits | SIGN
    } else {
        !bits
    }
}

/// The date of a place.
fn date(place: u64) -> Seconds {
    Seconds::from_bits(if place & SIGN == 0 {
        !place
    } else {
        place ^ SIGN
    })
}

const COMING: usize = 3; // of a binary heap, the first and those below it
const REAR: u64 = 1 << 63; // of a rank; no run counts as far
const SIGN: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_date_then_by_arrival() {
        let mut queue = EventQueue::new();
        for (date, value) in [(2.0, 'c'), (1.0, 'a'), (2.0, 'd'), (1.0, 'b')] {
            queue.push(date, value);
        }
        assert_eq!(queue.next_date(), Some(1.0));
        let order: String = std::iter::from_fn(|| queue.pop_due(9.0)).collect();
        assert_eq!(order, "abcd");
    }

    #[test]
    fn what_is_pushed_to_the_front_of_a_date_leaves_before_all_else_of_it() {
        let mut queue = EventQueue::new();
        queue.push(2.0, 'd');
        queue.push(1.0, 'a');
        queue.push_first(2.0, 'b');
        queue.push_first(2.0, 'c');
        queue.push(2.0, 'e');
        let order: String = std::iter::from_fn(|| queue.pop_due(9.0)).collect();
        assert_eq!(order, "abcde");
    }

    #[test]
    fn what_comes_is_the_first_and_then_one_of_the_two_after_it() {
        let mut queue = EventQueue::new();
        for date in [5.0, 3.0, 9.0, 1.0, 7.0, 2.0, 8.0] {
            queue.push(date, date);
        }
        for next in [2.0, 3.0, 5.0, 7.0, 8.0, 9.0] {
            let coming: Vec<_> = queue.coming().copied().collect();
            let first = queue.pop_due(9.0);
            assert_eq!(coming.first(), first.as_ref());
            assert!(coming[1..].contains(&next), "{coming:?} {next}");
        }
    }

    #[test]
    fn places_are_in_the_order_of_dates() {
        let infinity = f64::INFINITY;
        let dates = [
            -infinity, -2.5, -1e-300, -0.0, 0.0, 1e-300, 1.0, 2.5, infinity,
        ];
        assert!(dates.is_sorted_by(|one, other| place(*one) < place(*other)));
        assert_eq!(
            dates.map(|one| date(place(one)).to_bits()),
            dates.map(f64::to_bits)
        );
    }

    #[test]
    fn keeps_what_is_not_due() {
        let mut queue = EventQueue::new();
        queue.push(3.0, ());
        assert_eq!(queue.pop_due(2.999), None);
        assert_eq!(queue.pop_due(3.0), Some(()));
        assert_eq!(queue.next_date(), None);
    }
}
