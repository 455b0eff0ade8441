//! What an operation costs on a phone: the only door through which calibration enters.

use pocketsim_protocols::contract::{Operation, Seconds};

use crate::plan::Profile;
use crate::streams::Stream;

/// Time that one or more operations take on a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Core seconds, over all threads.
    pub cpu_s: Seconds,
    /// Seconds that the lane waits without a core.
    pub wait_s: Seconds,
}

impl Cost {
    /// This and then `other`.
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            cpu_s: self.cpu_s + other.cpu_s,
            wait_s: self.wait_s + other.wait_s,
        }
    }

    /// So many times as much.
    pub fn times(self, ratio: f64) -> Cost {
        Cost {
            cpu_s: ratio * self.cpu_s,
            wait_s: ratio * self.wait_s,
        }
    }

    /// Whether nothing is to be spent.
    pub fn is_free(self) -> bool {
        self.cpu_s == 0.0 && self.wait_s == 0.0
    }
}

/// What a profile prices: an operation of everybody's, or after those one that the scenario brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priced(u32);

impl Priced {
    /// The scenario's operation of that number.
    pub fn own(number: u32) -> Self {
        Self(Operation::ALL.len() as u32 + number)
    }

    /// Its place among the prices of a profile.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

impl From<Operation> for Priced {
    fn from(operation: Operation) -> Self {
        Self(operation as u32)
    }
}

/// The cost model of one device profile.
#[derive(Clone, Debug)]
pub struct CostTable {
    entries: Vec<Entry>,
    /// Logarithms of rests, ascending, and how many times as long waking takes after each.
    wakes: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    cpu_s: f64,
    per_byte_s: f64,
    threads: u32,
    wait_s: f64,
    spread_sigma: f64,
}

impl CostTable {
    /// The table of `profile`.
    ///
    /// # Panics
    /// When a column does not have one value for each operation, of which `own` are the scenario's.
    pub fn new(profile: &Profile, own: usize) -> Self {
        let count = Operation::ALL.len() + own;
        let columns = [
            profile.cpu_s.len(),
            profile.per_byte_s.len(),
            profile.threads.len(),
            profile.wait_s.len(),
            profile.spread_sigma.len(),
        ];
        for length in columns {
            assert_eq!(length, count, "one cost per operation");
        }
        let entry = |i: usize| Entry {
            cpu_s: profile.cpu_s[i],
            per_byte_s: profile.per_byte_s[i],
            threads: profile.threads[i],
            wait_s: profile.wait_s[i],
            spread_sigma: profile.spread_sigma[i],
        };
        assert_eq!(
            profile.wake_rest_s.len(),
            profile.wake_ratio.len(),
            "one ratio per rest"
        );
        let rests = profile.wake_rest_s.iter().zip(&profile.wake_ratio);
        Self {
            entries: (0..count).map(entry).collect(),
            wakes: rests.map(|(rest_s, &ratio)| (rest_s.ln(), ratio)).collect(),
        }
    }

    /// How many cores `operation` can use at once.
    pub fn threads(&self, operation: impl Into<Priced>) -> u32 {
        self.entries[operation.into().place()].threads
    }

    /// Whether it matters for how long a phone has rested when it is woken.
    pub fn tells_rests(&self) -> bool {
        !self.wakes.is_empty()
    }

    /// How many times as long waking takes after a rest: between two that are known, along a line
    /// over the logarithm of the rest, and beyond them as at the nearest.
    pub fn wake_ratio(&self, rest_s: Seconds) -> f64 {
        let rest = rest_s.max(f64::MIN_POSITIVE).ln();
        let next = self.wakes.partition_point(|&(known, _)| known < rest);
        match (
            next.checked_sub(1).map(|last| self.wakes[last]),
            self.wakes.get(next),
        ) {
            (Some((from, low)), Some(&(to, high))) => {
                low + (high - low) * (rest - from) / (to - from)
            }
            (Some((_, ratio)), None) | (None, Some(&(_, ratio))) => ratio,
            (None, None) => 1.0,
        }
    }

    /// What `operation` on `bytes` bytes costs on average.
    pub fn mean(&self, operation: impl Into<Priced>, bytes: u32) -> Cost {
        let entry = self.entries[operation.into().place()];
        Cost {
            cpu_s: entry.cpu_s + entry.per_byte_s * f64::from(bytes),
            wait_s: entry.wait_s,
        }
    }

    /// One draw of the cost of `operation` on `bytes` bytes.
    pub fn draw(&self, operation: impl Into<Priced>, bytes: u32, stream: &mut Stream) -> Cost {
        let operation = operation.into();
        let factor = stream.factor(self.entries[operation.place()].spread_sigma);
        let mean = self.mean(operation, bytes);
        Cost {
            cpu_s: factor * mean.cpu_s,
            wait_s: factor * mean.wait_s,
        }
    }
}
