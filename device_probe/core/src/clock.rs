//! The clocks, and what they cost: measured before anything is measured with them.
//!
//! Wall time is the monotonic clock of [`Instant`], CPU time that of the thread. A [`TimeSource`]
//! stands between them and whoever measures, so that the logic of the sampler can be tried with a
//! clock that only moves when it is told to. What deliberately does not live here: what is timed.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::unmeasured::Unmeasured;

/// The clock behind wall times, as the system calls it; [`Instant`] reads it on Linux and Android.
pub const WALL_CLOCK: &str = "CLOCK_MONOTONIC";

/// Where time comes from.
pub trait TimeSource: Sync {
    /// Wall time in seconds since an origin that does not change.
    fn wall_s(&self) -> f64;
    /// CPU time of the calling thread in seconds.
    fn thread_cpu_s(&self) -> f64;
    /// Let this long pass.
    fn sleep(&self, duration_s: f64);
}

/// The clocks of this device.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemTimeSource;

impl TimeSource for SystemTimeSource {
    fn wall_s(&self) -> f64 {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        ORIGIN.get_or_init(Instant::now).elapsed().as_secs_f64()
    }

    fn thread_cpu_s(&self) -> f64 {
        Clock::thread_cpu().as_secs_f64()
    }

    fn sleep(&self, duration_s: f64) {
        std::thread::sleep(Duration::from_secs_f64(duration_s));
    }
}

/// A monotonic clock with its resolution and the cost of reading it.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Median step between two readings that differ, in seconds.
    pub resolution_s: f64,
    /// Cost of one reading, in seconds: median over batches of readings.
    pub read_s: f64,
    /// Cost of one reading of the thread's CPU time, in seconds: median over batches of readings.
    pub cpu_read_s: f64,
}

impl Clock {
    /// Measure the clock of this device.
    pub fn measure() -> Self {
        Self::of(&SystemTimeSource).expect("CLOCK_MONOTONIC moves, and only forwards")
    }

    /// Measure any clock.
    ///
    /// # Errors
    /// It stands still, runs backwards, or ticks more than a second at a time.
    pub fn of(time: &dyn TimeSource) -> Result<Self, Unmeasured> {
        let steps = (0..CLOCK_STEPS).map(|_| step_s(time));
        let clock = Self {
            resolution_s: median(steps.collect::<Result<_, _>>()?),
            read_s: read_cost_s(time, || time.wall_s()),
            cpu_read_s: read_cost_s(time, || time.thread_cpu_s()),
        };
        clock.plausible()
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

    fn plausible(self) -> Result<Self, Unmeasured> {
        let figures = [self.resolution_s, self.read_s, self.cpu_read_s];
        if figures.iter().any(|figure| !(0.0..1.0).contains(figure)) {
            return Err(Unmeasured::because(format!(
                "no clock to measure with: {self:?}"
            )));
        }
        Ok(self)
    }
}

/// The first step after now: from one reading to the next that differs.
fn step_s(time: &dyn TimeSource) -> Result<f64, Unmeasured> {
    let start_s = time.wall_s();
    let later_s = (0..CLOCK_READS_PER_STEP_MAX).map(|_| time.wall_s());
    match later_s.into_iter().find(|&now_s| now_s != start_s) {
        Some(now_s) if now_s > start_s => Ok(now_s - start_s),
        Some(_) => Err(Unmeasured::because("the clock runs backwards")),
        None => Err(Unmeasured::because("the clock stands still")),
    }
}

/// Median over batches, because the system may interrupt some of them.
fn read_cost_s(time: &dyn TimeSource, read: impl Fn() -> f64) -> f64 {
    let batch_s = |_| {
        let start_s = time.wall_s();
        for _ in 0..CLOCK_READS_PER_BATCH {
            std::hint::black_box(read());
        }
        (time.wall_s() - start_s) / f64::from(CLOCK_READS_PER_BATCH)
    };
    median((0..CLOCK_BATCHES).map(batch_s).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The CPU time of one thread, to be read by any other of its process.
#[derive(Clone, Copy, Debug)]
pub struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// Of the calling thread.
    pub fn of_this_thread() -> Self {
        // SAFETY: the call has no arguments and only reads.
        let thread = unsafe { libc::gettid() };
        // As the C library makes it (`make_thread_cpuclock` of the kernel's posix-cpu-timers).
        Self((!thread << 3) | PER_THREAD | BY_SCHEDULER)
    }

    /// What the thread has used.
    ///
    /// # Errors
    /// It has ended.
    pub fn read(self) -> Result<Duration, Unmeasured> {
        read(self.0).ok_or_else(|| Unmeasured::because("a thread has ended"))
    }
}

fn cpu_time(clock: libc::clockid_t) -> Duration {
    read(clock).expect("the CPU-time clocks exist since Linux 2.6.12")
}

/// None if there is no such clock.
fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes; the call only fails for a clock that does not exist.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    (status == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// `CPUCLOCK_PERTHREAD_MASK` and `CPUCLOCK_SCHED` (Linux, include/linux/posix-timers.h).
const PER_THREAD: libc::clockid_t = 4;
const BY_SCHEDULER: libc::clockid_t = 2;

/// Enough for a median that an interrupt now and then does not move; a millisecond in all.
const CLOCK_STEPS: u32 = 1_000;
/// A coarse clock ticks every 10 ms (HZ=100), and a reading takes some 20 ns: half a million fit.
const CLOCK_READS_PER_STEP_MAX: u32 = 100_000_000;
/// With [`CLOCK_READS_PER_BATCH`] some 10 ms for both clocks together.
const CLOCK_BATCHES: u32 = 101;
const CLOCK_READS_PER_BATCH: u32 = 200;
