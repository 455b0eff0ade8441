//! How often durations were how long, in a memory of fixed size.
//!
//! Buckets follow the number's own bits: each power of two is cut into [`PARTS`] equal parts (as
//! HdrHistogram does, hdrhistogram.org), so that an addition has no branch and no logarithm. What
//! deliberately does not live here: what is measured.

use pocketsim_protocols::contract::Seconds;

/// Durations by bucket, and their sum as they were.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The first is for none at all.
    buckets: Box<[u64; BUCKETS]>,
    sum_s: Seconds,
}

impl Histogram {
    /// Without any duration.
    pub fn new() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            sum_s: 0.0,
        }
    }

    /// Counts a duration; one below a nanosecond as none, one of more than two years as so long.
    pub fn add(&mut self, duration_s: Seconds) {
        self.buckets[bucket(duration_s)] += 1;
        self.sum_s += duration_s;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// How many of them took no time.
    pub fn none(&self) -> u64 {
        self.buckets[0]
    }

    /// All of them together, not from buckets.
    pub fn sum_s(&self) -> Seconds {
        self.sum_s
    }

    /// What a share of them, 0 to 1, do not exceed, within [`ERROR_MAX`] of it; none without any.
    ///
    /// Between two ranks it is on the line between their durations, as numpy's quantile is.
    pub fn quantile(&self, share: f64) -> Option<Seconds> {
        let last_rank = self.count().checked_sub(1)?;
        let rank = share * last_rank as f64;
        let [below_s, above_s] = [rank.floor(), rank.ceil()].map(|rank| self.ranked(rank as u64));
        Some(below_s + (above_s - below_s) * rank.fract())
    }

    /// Each bucket that has some, in order: where it begins, where it ends, and how many it has.
    ///
    /// A quantile is from their middles; the bucket of none at all is a point.
    pub fn filled(&self) -> impl Iterator<Item = (Seconds, Seconds, u64)> + '_ {
        let every = (0..).zip(self.buckets.iter().copied());
        let filled = every.filter(|&(_, count)| count > 0);
        filled.map(|(bucket, count)| match bucket {
            0 => (0.0, 0.0, count),
            _ => (edge_s(bucket), edge_s(bucket + 1), count),
        })
    }

    /// The duration that comes after so many shorter ones, or as short.
    fn ranked(&self, rank: u64) -> Seconds {
        let sums = self.buckets.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        sums.zip(0..)
            .find(|&(sum, _)| sum > rank)
            .map_or(LONGEST_S, |(_, bucket)| middle_s(bucket))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// The place of a duration among the buckets.
fn bucket(duration_s: Seconds) -> usize {
    // As a whole number with a sign, what is below 0 by a rounding is below all buckets.
    let place = duration_s.to_bits() as i64 >> (MANTISSA_BITS - PART_BITS);
    (place - BEFORE_FIRST).clamp(0, BUCKETS as i64 - 1) as usize
}

/// Where a bucket begins.
fn edge_s(bucket: i64) -> Seconds {
    Seconds::from_bits(((bucket + BEFORE_FIRST) << (MANTISSA_BITS - PART_BITS)) as u64)
}

/// The duration in the middle of a bucket.
fn middle_s(bucket: i64) -> Seconds {
    if bucket == 0 {
        return 0.0;
    }
    let half = 1 << (MANTISSA_BITS - PART_BITS - 1);
    Seconds::from_bits(((bucket + BEFORE_FIRST) << (MANTISSA_BITS - PART_BITS) | half) as u64)
}

/// By how much a quantile may be wrong, as a share of it: half a bucket of the widest.
pub const ERROR_MAX: f64 = 0.5 / PARTS as f64;
/// Parts of each power of two.
pub const PARTS: u32 = 1 << PART_BITS;
const PART_BITS: u32 = 6; // 64 parts: 0.8 %, and 29 kB
/// Durations have buckets from 2^-30 s, 0.93 ns, up to 2^26 s, two years.
const OCTAVES: [i64; 2] = [-30, 26];
const LONGEST_S: Seconds = (1u64 << OCTAVES[1]) as Seconds;
const BUCKETS: usize = 1 + ((OCTAVES[1] - OCTAVES[0]) as usize) * PARTS as usize;
// IEEE 754-2019, 3.6, binary64.
const MANTISSA_BITS: u32 = 52;
const EXPONENT_BIAS: i64 = 1023;
/// The place that durations below all buckets end before.
const BEFORE_FIRST: i64 = ((EXPONENT_BIAS + OCTAVES[0]) << PART_BITS) - 1;

const _: () = assert!(ERROR_MAX <= 0.01, "a hundredth is promised");

#[cfg(test)]
mod tests {
    use super::*;

    fn of(durations_s: impl IntoIterator<Item = Seconds>) -> Histogram {
        let mut histogram = Histogram::new();
        durations_s.into_iter().for_each(|one| histogram.add(one));
        histogram
    }

    /// A nanosecond to a year, 7 % apart.
    fn ladder() -> Vec<Seconds> {
        let steps = std::iter::successors(Some(1e-9), |one| Some(one * 1.07));
        steps.take_while(|&one| one < 3.2e7).collect()
    }

    #[test]
    fn a_quantile_is_within_its_error() {
        for one_s in ladder() {
            let found_s = of([one_s]).quantile(0.5).unwrap();
            assert!((found_s / one_s - 1.0).abs() <= ERROR_MAX, "{one_s} s");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_durations() {
        let durations_s = ladder();
        let histogram = of(durations_s.iter().rev().copied());
        for share in [0.0, 0.05, 0.31, 0.5, 0.95, 1.0] {
            let rank = share * (durations_s.len() - 1) as f64;
            let [below, above] = [rank.floor(), rank.ceil()].map(|at| durations_s[at as usize]);
            let exact_s = below + (above - below) * rank.fract();
            let found_s = histogram.quantile(share).unwrap();
            assert!((found_s / exact_s - 1.0).abs() <= ERROR_MAX, "at {share}");
        }
    }

    #[test]
    fn counts_and_sums_what_it_was_given() {
        let histogram = of([0.25, 0.0, 0.5, 0.0, 0.0, 7.0]);
        assert_eq!((histogram.count(), histogram.none()), (6, 3));
        assert_eq!(histogram.sum_s(), 7.75);
        assert_eq!(histogram.quantile(0.4), Some(0.0));
    }

    #[test]
    fn what_is_beyond_its_buckets_is_counted_at_their_ends() {
        let histogram = of([-1e-12, 1e-12, 1e12]);
        assert_eq!((histogram.count(), histogram.none()), (3, 2));
        assert!((histogram.quantile(1.0).unwrap() / LONGEST_S - 1.0).abs() < 0.02);
    }

    #[test]
    fn buckets_hold_what_they_say() {
        let durations_s = [0.0, 0.0, 1e-9, 0.25, 0.25, 7.0];
        let found: Vec<_> = of(durations_s).filled().collect();
        let counts: Vec<_> = found.iter().map(|&(_, _, count)| count).collect();
        assert_eq!(counts, [2, 1, 2, 1]);
        assert_eq!(found[0], (0.0, 0.0, 2));
        for (&(from_s, to_s, _), duration_s) in found[1..].iter().zip([1e-9, 0.25, 7.0]) {
            assert!((from_s..to_s).contains(&duration_s), "{from_s} to {to_s}");
            assert_eq!(of([duration_s]).quantile(0.5), Some((from_s + to_s) / 2.0));
        }
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(Histogram::new().quantile(0.5), None);
        assert_eq!(Histogram::new().count(), 0);
    }
}
