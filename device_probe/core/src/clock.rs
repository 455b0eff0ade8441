//! The clocks, and what they cost: measured before anything is measured with them.

use std::time::{Duration, Instant};

/// A monotonic clock with its resolution and the cost of reading it.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Smallest step seen between two readings that differ, in seconds.
    pub resolution_s: f64,
    /// Cost of one reading, in seconds.
    pub read_s: f64,
}

impl Clock {
    /// Measure the clock of this device.
    pub fn measure() -> Self {
        let mut steps: Vec<f64> = (0..CLOCK_STEPS).map(|_| smallest_step()).collect();
        steps.sort_by(f64::total_cmp);
        let start = Instant::now();
        for _ in 0..CLOCK_READS {
            std::hint::black_box(Instant::now());
        }
        Self {
            resolution_s: steps[0],
            read_s: start.elapsed().as_secs_f64() / f64::from(CLOCK_READS),
        }
    }

    /// Seconds since `start`, less what reading the clock took.
    pub fn since(&self, start: Instant) -> f64 {
        (start.elapsed().as_secs_f64() - self.read_s).max(0.0)
    }

    /// CPU time that this thread has used (CLOCK_THREAD_CPUTIME_ID).
    pub fn thread_cpu() -> Duration {
        cpu_time(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// CPU time that all threads of this process have used (CLOCK_PROCESS_CPUTIME_ID).
    pub fn process_cpu() -> Duration {
        cpu_time(libc::CLOCK_PROCESS_CPUTIME_ID)
    }
}

fn smallest_step() -> f64 {
    let start = Instant::now();
    loop {
        let step = start.elapsed();
        if !step.is_zero() {
            return step.as_secs_f64();
        }
    }
}

fn cpu_time(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes; the call only fails for a clock that does not exist.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(status, 0, "the CPU-time clocks exist since Linux 2.6.12");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

const CLOCK_STEPS: u32 = 1_000;
const CLOCK_READS: u32 = 100_000;
