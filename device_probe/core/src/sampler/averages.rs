//! Whether durations have settled: a fast and a slow moving average agree.

/// Two exponential moving averages of the same durations.
#[derive(Clone, Debug, Default)]
pub struct Averages {
    fast: Option<f64>,
    slow: Option<f64>,
    similar: u32,
}

impl Averages {
    /// Take in one more duration.
    pub fn add(&mut self, duration: f64) {
        let fast = moved(self.fast, duration, FAST_RATIO);
        let slow = moved(self.slow, duration, SLOW_RATIO);
        let agree = (fast - slow).abs() <= THRESHOLD_RATIO * slow;
        self.similar = if agree { self.similar + 1 } else { 0 };
        (self.fast, self.slow) = (Some(fast), Some(slow));
    }

    /// Whether they have agreed for a while.
    pub fn agree(&self) -> bool {
        self.similar >= SIMILAR_MIN
    }
}

fn moved(average: Option<f64>, value: f64, ratio: f64) -> f64 {
    average.map_or(value, |average| average + ratio * (value - average))
}

// androidx.benchmark 1.0 (WarmupManager) has 0.1, 0.005, 4 % and 40 similar iterations within 30 to
// some thousand iterations of one call each. A sample here is a batch that is an average itself, and
// a warm-up has some dozens of them, so both averages move ten times as fast.
const FAST_RATIO: f64 = 0.5;
const SLOW_RATIO: f64 = 0.05;
const THRESHOLD_RATIO: f64 = 0.04;
/// Half of the slow average has been renewed by then (0.95^14).
const SIMILAR_MIN: u32 = 14;
