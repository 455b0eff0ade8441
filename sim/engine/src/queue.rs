//! The ordered queue of timed happenings beside the world's own events.
//!
//! Simultaneous entries leave in the order they came, by a serial number.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use pocketsim_protocols::contract::Seconds;

/// Entries ordered by time, then by arrival.
#[derive(Debug)]
pub struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    serial: u64,
}

#[derive(Debug)]
struct Entry<T> {
    date: Seconds,
    serial: u64,
    value: T,
}

impl<T> Queue<T> {
    /// Nothing queued.
    pub fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            serial: 0,
        }
    }

    /// Adds `value` for `date`.
    pub fn push(&mut self, date: Seconds, value: T) {
        self.heap.push(Entry {
            date,
            serial: self.serial,
            value,
        });
        self.serial += 1;
    }

    /// The date of the first entry.
    pub fn next_date(&self) -> Option<Seconds> {
        self.heap.peek().map(|entry| entry.date)
    }

    /// Takes the first entry if it is due at `now`.
    pub fn pop_due(&mut self, now: Seconds) -> Option<T> {
        if self.next_date()? > now {
            return None;
        }
        self.heap.pop().map(|entry| entry.value)
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Ord for Entry<T> {
    // BinaryHeap is a max-heap: the earliest must be the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .date
            .total_cmp(&self.date)
            .then(other.serial.cmp(&self.serial))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_date_then_by_arrival() {
        let mut queue = Queue::new();
        for (date, value) in [(2.0, 'c'), (1.0, 'a'), (2.0, 'd'), (1.0, 'b')] {
            queue.push(date, value);
        }
        assert_eq!(queue.next_date(), Some(1.0));
        let order: String = std::iter::from_fn(|| queue.pop_due(9.0)).collect();
        assert_eq!(order, "abcd");
    }

    #[test]
    fn keeps_what_is_not_due() {
        let mut queue = Queue::new();
        queue.push(3.0, ());
        assert_eq!(queue.pop_due(2.999), None);
        assert_eq!(queue.pop_due(3.0), Some(()));
        assert_eq!(queue.next_date(), None);
    }
}
