//! Whether the device has become slower since the run began: a fixed kernel, again and again.
//!
//! androidx.benchmark does the same (ThrottleDetector) and with the same limit. What deliberately
//! does not live here: temperatures, which say less about speed than speed does.

use sha2::{Digest, Sha256};

use crate::host::affinity::on_cores;
use crate::host::Extras;
use crate::kernel::{Repeat, Unmeasured};
use crate::report::{CoreClass, Throttle, ThrottleCheck};
use crate::sampler::Sampler;
use crate::sketch::{median, rounded};

/// The fixed kernel with its durations so far.
pub struct Detector {
    kernel: Box<dyn Repeat>,
    place: Place,
    last_s: f64,
    figures: Throttle,
}

/// Where and since when the detector looks.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Start of the run by the sampler's clock, in seconds.
    pub start_s: f64,
    /// The only cores for the kernel: between cores of several kinds, moving would pass for heat.
    pub cores: Option<(CoreClass, Vec<u32>)>,
    /// Who knows the thermal status.
    pub extras: Extras,
}

impl Detector {
    /// Warm up and take the baseline; on any core if those asked for are not to be had.
    ///
    /// # Errors
    /// What the kernel could not do.
    pub fn with(
        kernel: Box<dyn Repeat>,
        sampler: &Sampler<'_>,
        place: Place,
    ) -> Result<Self, Unmeasured> {
        let mut detector = Self {
            kernel,
            place,
            last_s: 0.0,
            figures: Throttle {
                kernel: KERNEL.to_owned(),
                baseline_s: 0.0,
                paused_s: 0.0,
                core_class: None,
                checks: Vec::new(),
            },
        };
        detector.take_baseline(sampler)?;
        Ok(detector)
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
            self.figures.paused_s += pause(sampler);
            throttled = self.check(sampler)?;
        }
        Ok(())
    }

    /// Everything that was seen.
    pub fn figures(&self) -> &Throttle {
        &self.figures
    }

    /// The fastest of several tries: a slow baseline would hide every slowness.
    fn take_baseline(&mut self, sampler: &Sampler<'_>) -> Result<(), Unmeasured> {
        let fastest = self.fastest_s(sampler, 0.0);
        let fastest = fastest.or_else(|_| {
            self.place.cores = None;
            self.fastest_s(sampler, 0.0)
        });
        self.figures.baseline_s = fastest?;
        self.figures.core_class = self.place.cores.as_ref().map(|(class, _)| *class);
        self.last_s = sampler.time.wall_s();
        Ok(())
    }

    fn check(&mut self, sampler: &Sampler<'_>) -> Result<bool, Unmeasured> {
        // A neighbour's burst is over at the second or third try; heat is not.
        let lowest_s = self.fastest_s(sampler, THROTTLED_RATIO * self.figures.baseline_s)?;
        self.last_s = sampler.time.wall_s();
        let ratio = lowest_s / self.figures.baseline_s;
        let status = self.place.extras.now().thermal_status;
        self.figures.checks.push(ThrottleCheck {
            at_s: rounded(self.last_s - self.place.start_s),
            median_s: rounded(lowest_s),
            ratio: rounded(ratio),
            thermal_status: status.filter(|status| *status <= THERMAL_STATUS_MAX),
        });
        Ok(ratio > THROTTLED_RATIO)
    }

    /// The least median of some tries, after a warm-up; one that is `enough_s` or less is enough.
    fn fastest_s(&mut self, sampler: &Sampler<'_>, enough_s: f64) -> Result<f64, Unmeasured> {
        let kernel = self.kernel.as_mut();
        let mut fastest_s = || {
            warm_up(kernel, sampler)?;
            let mut lowest_s = f64::INFINITY;
            for _ in 0..TRIES_MAX {
                lowest_s = lowest_s.min(median_s(kernel, sampler)?);
                if lowest_s <= enough_s {
                    break;
                }
            }
            Ok(lowest_s)
        };
        match &self.place.cores {
            Some((_, cores)) => on_cores(cores, fastest_s),
            None => fastest_s(),
        }
    }
}

/// Until the core has its frequency, whatever it did before.
fn warm_up(kernel: &mut dyn Repeat, sampler: &Sampler<'_>) -> Result<(), Unmeasured> {
    let end_s = sampler.time.wall_s() + WARM_UP_S;
    while sampler.one(kernel, 1)?.end_s < end_s && !sampler.stop.is_raised() {}
    Ok(())
}

/// Wait in slices, as the user may want no more; returns how long it was.
fn pause(sampler: &Sampler<'_>) -> f64 {
    let slices = (0..SLICES).take_while(|_| {
        let goes_on = !sampler.stop.is_raised();
        if goes_on {
            sampler.time.sleep(PAUSE_S / f64::from(SLICES));
        }
        goes_on
    });
    slices.count() as f64 * PAUSE_S / f64::from(SLICES)
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
/// A user who ends the run waits a tenth of a second.
const SLICES: u32 = 50;
/// Governors need some ticks to raise the frequency, and a core that slept has cold caches.
const WARM_UP_S: f64 = 0.2;
/// PowerManager.THERMAL_STATUS_SHUTDOWN, the last one.
const THERMAL_STATUS_MAX: u8 = 6;
