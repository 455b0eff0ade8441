//! The kernels `timed_sleep` and `timer_interrupt`: what a thread that paces itself takes of a core
//! that others compute on.
//!
//! A sleep until a time is a system call, a timer, an interrupt and two changes of threads. The
//! sleeper's own clock has what it takes to fall asleep and to go on; the interrupt, and what the
//! changes leave behind in caches, delay whom they interrupt. So a thread computes beside a sleeper
//! on one core: what it lost is the whole, of which the sleeper's clock has a part. What
//! deliberately does not live here: how late a sleep ends (`super::scheduling`).

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::experiment::{case, collect, Watch};
use crate::clock::Clock;
use crate::host::affinity::on_last_core;
use crate::kernel::{Budget, Case, Group, Series, Unmeasured};

/// The cases: the sleeper's part, and what is beyond it.
pub(super) fn cases() -> Vec<Case> {
    let own = |sleep: Sleeps| sleep.own_s;
    // Calibration takes medians of logarithms.
    let beyond = |sleep: Sleeps| (sleep.lost_s - sleep.own_s).max(LEAST_S);
    vec![
        case(Group::Scheduling, "timed_sleep", &[], move |budget| {
            on_one_core(budget, own)
        }),
        case(Group::Scheduling, "timer_interrupt", &[], move |budget| {
            on_one_core(budget, beyond)
        }),
    ]
}

/// Of one sleep: the sleeper's core time, and what the thread beside it lost.
#[derive(Clone, Copy)]
struct Sleeps {
    own_s: f64,
    lost_s: f64,
}

fn on_one_core(budget: &Budget<'_>, part: fn(Sleeps) -> f64) -> Result<Vec<Series>, Unmeasured> {
    on_last_core(|| collect(budget, ["cpu_s"], || Ok([part(beside(budget.clock)?)])))
}

/// Compute alone, beside a sleeper, and alone again.
fn beside(clock: &Clock) -> Result<Sleeps, Unmeasured> {
    let before_s = alone_s();
    let stage = AtomicU32::new(STARTING);
    let (own_s, taken_s, chunks) = thread::scope(|scope| {
        let sleeper = scope.spawn(|| sleep_on(clock, &stage));
        while stage.load(Ordering::Acquire) == STARTING {
            compute(STEPS);
        }
        let (start, mut chunks) = (Instant::now(), 0_u32);
        while stage.load(Ordering::Acquire) == SLEEPING {
            compute(STEPS);
            chunks += 1;
        }
        let taken_s = start.elapsed().as_secs_f64();
        stage.store(READ, Ordering::Release);
        (sleeper.join(), taken_s, chunks)
    });
    let own_s = own_s.map_err(|_| Unmeasured::because("the sleeper failed"))?;
    let chunk_s = 0.5 * (before_s + alone_s());
    Ok(Sleeps {
        own_s,
        lost_s: (taken_s - f64::from(chunks) * chunk_s) / f64::from(SLEEPS),
    })
}

/// What a chunk of computing takes where nobody sleeps.
fn alone_s() -> f64 {
    let start = Instant::now();
    (0..ALONE).for_each(|_| compute(STEPS));
    start.elapsed().as_secs_f64() / f64::from(ALONE)
}

/// Sleep so many times; the core time of a sleep. It says when it begins and when it is over.
fn sleep_on(clock: &Clock, stage: &AtomicU32) -> f64 {
    // Its first sleep has pages and caches to fill, and the other has begun to compute by then.
    thread::sleep(PAUSE);
    stage.store(SLEEPING, Ordering::Release);
    let watch = Watch::thread();
    for _ in 0..SLEEPS {
        thread::sleep(PAUSE);
    }
    let [_, cpu_s] = watch.per_operation(clock, SLEEPS as usize);
    stage.store(OVER, Ordering::Release);
    // Its end takes core time, too, which nobody is to lose until the other has looked at the clock.
    while stage.load(Ordering::Acquire) != READ {
        thread::sleep(PAUSE);
    }
    cpu_s
}

/// A microsecond or so for so many steps as [`STEPS`], in registers alone.
pub(super) fn compute(steps: u32) {
    let mut value = black_box(1_u64);
    for _ in 0..steps {
        value = black_box(
            value
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
    }
}

const STARTING: u32 = 0;
const SLEEPING: u32 = 1;
const OVER: u32 = 2;
const READ: u32 = 3;

/// No interrupt takes less.
const LEAST_S: f64 = 1e-9;

/// Between messages of a program that is fully busy; some more with the timer's slack.
const PAUSE: Duration = Duration::from_micros(100);
/// Ten milliseconds: the first and the last are not whole beside the others.
const SLEEPS: u32 = 64;
/// Some milliseconds.
const ALONE: u32 = 2048;
const STEPS: u32 = 1024;
