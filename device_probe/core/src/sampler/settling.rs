//! Whether durations have settled: the later half of the last few has the median of the earlier.
//!
//! Medians, because an interrupt now and then lengthens a sample for good reason, and must neither
//! pass for a change nor hide one.

use std::collections::VecDeque;

use crate::sketch::median;

/// The last durations of a warm-up.
#[derive(Clone, Debug, Default)]
pub struct Settling {
    last: VecDeque<f64>,
}

impl Settling {
    /// Take in one more duration.
    pub fn add(&mut self, duration: f64) {
        if self.last.len() == 2 * HALF_MAX {
            self.last.pop_front();
        }
        self.last.push_back(duration);
    }

    /// Whether there are as many as a judgement needs.
    pub fn is_enough(&self) -> bool {
        self.last.len() >= 2 * HALF_MIN
    }

    /// Whether both halves agree.
    pub fn has_settled(&self) -> bool {
        let mut last: Vec<f64> = self.last.iter().copied().collect();
        let later = last.split_off(last.len() / 2);
        let agree = |earlier: f64, later: f64| (later - earlier).abs() <= THRESHOLD_RATIO * earlier;
        let both = median(&last).zip(median(&later));
        self.is_enough() && both.is_some_and(|(earlier, later)| agree(earlier, later))
    }
}

/// Medians of so many samples of a quiet machine differ by less than the threshold even where the
/// samples themselves vary by 10 %.
const HALF_MAX: usize = 8;
/// Of slow operations there is no time for more; fewer have no median that leaves an outlier out.
const HALF_MIN: usize = 3;
/// As in androidx.benchmark 1.0 (WarmupManager).
const THRESHOLD_RATIO: f64 = 0.04;
