//! How long the parts of a measurement may take.

use crate::clock::Clock;
use crate::kernel::Depth;

/// Durations and numbers that bound one case in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How long one sample should last, in seconds.
    pub sample_s: f64,
    /// When the warm-up ends, settled or not, in seconds.
    pub warm_up_s: f64,
    /// How long to take samples, in seconds.
    pub samples_s: f64,
    /// Samples that are enough.
    pub samples_max: usize,
}

impl Plan {
    /// The plan for a case that may take `budget_s`.
    pub fn of(depth: Depth, budget_s: f64, clock: &Clock) -> Self {
        let sample_s = match depth {
            Depth::Quick => SAMPLE_QUICK_S,
            Depth::Full => SAMPLE_FULL_S,
        };
        Self {
            sample_s: sample_s.max(RESOLUTIONS_MIN * clock.resolution_s),
            warm_up_s: (WARM_UP_RATIO * budget_s).max(WARM_UP_LATEST_S),
            samples_s: (1.0 - WARM_UP_RATIO) * budget_s,
            samples_max: SAMPLES_MAX,
        }
    }

    /// The operations that would make a sample last long enough, if `iterations` that take
    /// `wall_s` each do not.
    pub fn grown(&self, iterations: u64, wall_s: f64) -> Option<u64> {
        let lasted_s = wall_s * iterations as f64;
        if lasted_s >= self.sample_s / 2.0 || iterations >= ITERATIONS_MAX {
            return None;
        }
        // What one operation takes is not well known yet: grow step by step.
        let factor = (self.sample_s / lasted_s).clamp(2.0, GROWTH_MAX);
        Some((iterations as f64 * factor) as u64)
    }

    /// Whether a warm-up that took `spent_s` may be over when the durations have settled.
    pub fn may_settle(&self, spent_s: f64) -> bool {
        spent_s >= WARM_UP_EARLIEST_S
    }

    /// Whether a warm-up that took `spent_s` is over, settled or not; `enough` samples or not.
    pub fn warm_up_over(&self, enough: bool, spent_s: f64) -> bool {
        let patience = if enough { 1.0 } else { PATIENCE_RATIO };
        spent_s >= patience * self.warm_up_s
    }

    /// Whether `count` samples that took `spent_s` are enough.
    pub fn enough(&self, count: usize, spent_s: f64) -> bool {
        let wanted = if spent_s >= PATIENCE_RATIO * self.samples_s {
            1
        } else {
            SAMPLES_MIN
        };
        spent_s >= self.samples_s && count >= wanted
    }
}

/// A sample lasts so many steps of the clock: the step is then a thousandth of it.
const RESOLUTIONS_MIN: f64 = 1_000.0;
/// Long against an interrupt (some 10 us), short against a scheduler's slice (some ms), so that
/// most samples have neither a share of the one nor any of the other.
const SAMPLE_FULL_S: f64 = 1e-3;
const SAMPLE_QUICK_S: f64 = 0.5e-3;
/// Of the time of a case.
const WARM_UP_RATIO: f64 = 0.3;
/// Governors raise a core's frequency within some ticks of 4 to 10 ms; before, durations agree too.
const WARM_UP_EARLIEST_S: f64 = 0.02;
/// However short the time of a case is: twice the samples that a judgement needs at most.
const WARM_UP_LATEST_S: f64 = 0.05;
/// Rounds together do not keep more raw samples (`report::VALUES_MAX`).
const SAMPLES_MAX: usize = 330;
/// Fewer have no median worth the name; slow operations may overrun their times for enough samples,
const SAMPLES_MIN: usize = 3;
/// but not by more than this.
const PATIENCE_RATIO: f64 = 4.0;
const GROWTH_MAX: f64 = 10.0;
/// Reached only by operations that the compiler has left out.
const ITERATIONS_MAX: u64 = 1 << 40;
