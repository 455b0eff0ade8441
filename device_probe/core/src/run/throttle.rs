//! Whether the device has become slower since the run began: a fixed kernel, again and again.
//!
//! androidx.benchmark does the same (ThrottleDetector) and with the same limit. What deliberately
//! does not live here: temperatures, which say less about speed than speed does.

use sha2::{Digest, Sha256};

use crate::kernel::{Repeat, Unmeasured};
use crate::report::{Throttle, ThrottleCheck};
use crate::sampler::Sampler;
use crate::sketch::{median, rounded};

/// The fixed kernel with its durations so far.
pub struct Detector {
    kernel: Box<dyn Repeat>,
    started_s: f64,
    last_s: f64,
    figures: Throttle,
}

impl Detector {
    /// Warm up and take the baseline.
    ///
    /// # Errors
    /// What the kernel could not do.
    pub fn with(mut kernel: Box<dyn Repeat>, sampler: &Sampler<'_>) -> Result<Self, Unmeasured> {
        let started_s = sampler.time.wall_s();
        sampler.warm_up(kernel.as_mut())?;
        let baseline_s = median_s(kernel.as_mut(), sampler)?;
        Ok(Self {
            kernel,
            started_s,
            last_s: sampler.time.wall_s(),
            figures: Throttle {
                kernel: KERNEL.to_owned(),
                baseline_s,
                paused_s: 0.0,
                checks: Vec::new(),
            },
        })
    }

    /// Look again if the last look is `interval_s` ago. If the device is throttled, let it cool
    /// down, but not for longer than `pause_max_s` in the whole run.
    ///
    /// # Errors
    /// What the kernel could not do.
    pub fn look(
        &mut self,
        sampler: &Sampler<'_>,
        interval_s: f64,
        pause_max_s: f64,
    ) -> Result<(), Unmeasured> {
        if sampler.time.wall_s() - self.last_s < interval_s {
            return Ok(());
        }
        let mut throttled = self.check(sampler)?;
        while throttled && self.figures.paused_s < pause_max_s && !sampler.stop.is_raised() {
            sampler.time.sleep(PAUSE_S);
            self.figures.paused_s += PAUSE_S;
            throttled = self.check(sampler)?;
        }
        Ok(())
    }

    /// Everything that was seen.
    pub fn figures(&self) -> &Throttle {
        &self.figures
    }

    fn check(&mut self, sampler: &Sampler<'_>) -> Result<bool, Unmeasured> {
        let mut lowest_s = f64::INFINITY;
        // A neighbour's burst is over at the second or third try; heat is not.
        for _ in 0..TRIES_MAX {
            lowest_s = lowest_s.min(median_s(self.kernel.as_mut(), sampler)?);
            if lowest_s <= THROTTLED_RATIO * self.figures.baseline_s {
                break;
            }
        }
        self.last_s = sampler.time.wall_s();
        let ratio = lowest_s / self.figures.baseline_s;
        self.figures.checks.push(ThrottleCheck {
            at_s: rounded(self.last_s - self.started_s),
            median_s: rounded(lowest_s),
            ratio: rounded(ratio),
        });
        Ok(ratio > THROTTLED_RATIO)
    }
}

/// SHA-256 of 64 KiB: integer work in the first-level caches, the same on every device.
pub fn fixed_work() -> impl Repeat {
    let input = vec![0x5a_u8; KERNEL_BYTES];
    move || {
        std::hint::black_box(Sha256::digest(std::hint::black_box(&input)));
        Ok(())
    }
}

fn median_s(kernel: &mut dyn Repeat, sampler: &Sampler<'_>) -> Result<f64, Unmeasured> {
    let samples = (0..SAMPLES).map(|_| sampler.one(kernel, 1).map(|sample| sample.wall_s));
    let durations = samples.collect::<Result<Vec<_>, _>>()?;
    Ok(median(&durations).expect("there are samples"))
}

/// Above this the device is throttled (androidx.benchmark's ThrottleDetector: 10 % slower).
pub const THROTTLED_RATIO: f64 = 1.10;
const KERNEL: &str = "sha256 of 65536 bytes";
const KERNEL_BYTES: usize = 65_536;
/// 2 ms with SHA instructions, 10 ms without.
const SAMPLES: usize = 41;
const TRIES_MAX: usize = 3;
/// Short, so that a device that recovers soon goes on soon.
const PAUSE_S: f64 = 5.0;
