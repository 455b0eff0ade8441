//! A set of numbers as sorted half-open ranges: packet numbers, bytes, streams.

/// Ascending, disjoint, never touching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// Nothing.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds `start..end`; returns whether any of it was new.
    pub fn insert(&mut self, start: u32, end: u32) -> bool {
        let first = self.0.partition_point(|range| range.1 < start);
        let last = self.0.partition_point(|range| range.0 <= end);
        if first == last {
            self.0.insert(first, (start, end));
            return start < end;
        }
        if self.0[first].0 <= start && end <= self.0[first].1 {
            return false;
        }
        let merged = (self.0[first].0.min(start), self.0[last - 1].1.max(end));
        self.0.drain(first + 1..last);
        self.0[first] = merged;
        true
    }

    /// Whether `number` is in it.
    pub fn contains(&self, number: u32) -> bool {
        let after = self.0.partition_point(|range| range.0 <= number);
        after > 0 && number < self.0[after - 1].1
    }

    /// Whether all of `start..end` is in it.
    pub fn covers(&self, start: u32, end: u32) -> bool {
        let after = self.0.partition_point(|range| range.0 <= start);
        start >= end || (after > 0 && end <= self.0[after - 1].1)
    }

    /// Whether it is `0..end`, no more and no less.
    pub fn is_whole(&self, end: u32) -> bool {
        match self.0.as_slice() {
            [] => end == 0,
            ranges => ranges == [(0, end)],
        }
    }

    /// The largest number, if any.
    pub fn largest(&self) -> Option<u32> {
        self.0.last().map(|range| range.1 - 1)
    }

    /// Fills everything below the newest `count` ranges, so that it stays small.
    pub fn forget_all_but(&mut self, count: usize) {
        if self.0.len() > count {
            let cut = self.0.len() - count;
            self.0.drain(..cut);
            self.0[0].0 = 0;
        }
    }

    /// Takes out all but the newest `count` ranges.
    pub fn drop_all_but(&mut self, count: usize) {
        let gone = self.0.len().saturating_sub(count);
        self.0.drain(..gone);
    }

    /// Takes out everything below `end`.
    pub fn remove_below(&mut self, end: u32) {
        let gone = self.0.partition_point(|range| range.1 <= end);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(end);
        }
    }

    /// The newest `count` ranges, ascending.
    pub fn newest(&self, count: usize) -> &[(u32, u32)] {
        &self.0[self.0.len().saturating_sub(count)..]
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;

    #[test]
    fn the_oldest_go() {
        let mut ranges = Ranges::new();
        for (start, end) in [(0, 2), (3, 6), (8, 9)] {
            ranges.insert(start, end);
        }
        ranges.drop_all_but(3);
        assert_eq!(ranges.newest(9), [(0, 2), (3, 6), (8, 9)]);
        ranges.drop_all_but(2);
        assert_eq!(ranges.newest(9), [(3, 6), (8, 9)]);
    }

    #[test]
    fn what_is_below_goes() {
        let mut ranges = Ranges::new();
        for (start, end) in [(0, 2), (3, 6), (8, 9)] {
            ranges.insert(start, end);
        }
        for (end, left) in [
            (0, vec![(0, 2), (3, 6), (8, 9)]),
            (2, vec![(3, 6), (8, 9)]),
            (4, vec![(4, 6), (8, 9)]),
            (7, vec![(8, 9)]),
            (9, vec![]),
        ] {
            ranges.remove_below(end);
            assert_eq!(ranges.newest(9), left);
        }
    }

    #[test]
    fn neighbours_merge_and_repetitions_are_noticed() {
        let mut ranges = Ranges::default();
        assert!(ranges.insert(0, 1) && ranges.insert(2, 3));
        assert!(!ranges.insert(2, 3));
        assert!(ranges.insert(1, 2));
        assert!(ranges.is_whole(3));
        assert_eq!(ranges.largest(), Some(2));
    }

    #[test]
    fn agrees_with_a_plain_set() {
        let mut state = 7u32;
        let (mut ranges, mut set) = (Ranges::default(), std::collections::BTreeSet::new());
        for _ in 0..2000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (start, length) = (state >> 24, state >> 16 & 7);
            let new = (start..start + length).filter(|n| set.insert(*n)).count() > 0;
            assert_eq!(ranges.insert(start, start + length), new);
            assert!((0..270).all(|n| ranges.contains(n) == set.contains(&n)));
            let whole = (start..start + length + 1).all(|n| set.contains(&n));
            assert_eq!(ranges.covers(start, start + length + 1), whole);
            assert!(ranges.covers(start, start));
        }
    }

    #[test]
    fn forgetting_counts_the_old_as_seen() {
        let mut ranges = Ranges::default();
        for number in [1, 3, 5, 7] {
            ranges.insert(number, number + 1);
        }
        ranges.forget_all_but(2);
        assert!(ranges.contains(0) && !ranges.contains(6));
        assert_eq!(ranges.newest(1), [(7, 8)]);
    }
}
