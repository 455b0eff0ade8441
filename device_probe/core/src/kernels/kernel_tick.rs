//! The kernel `kernel_tick`: what the system takes of a core that computes, every 4 ms.
//!
//! A thread computes in short chunks and looks at the clock after each: what a chunk takes longer than
//! most was taken from it ("selfish detour", Beckman et al., The influence of operating systems on the
//! performance of collective operations at extreme scale, 2006). Linux looks after its threads and
//! clocks every 4 ms (CONFIG_HZ=250, as Android's and Debian's); on a virtual machine each such tick
//! leaves it more than once. Times in which another thread had the core do not count, and the median
//! over several is what a sample says. What deliberately does not live here: how often other programs
//! compute.

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use super::experiment::{case, collect};
use super::sleeping::compute;
use crate::host::affinity::on_last_core;
use crate::kernel::{Budget, Case, Group, Series, Unmeasured};

/// The only case.
pub(super) fn cases() -> Vec<Case> {
    vec![case(Group::Scheduling, "kernel_tick", &[], kernel_tick)]
}

fn kernel_tick(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    on_last_core(|| {
        // Written once, so that no page of it is new while time counts.
        let mut chunks_s = vec![f64::NAN; ROOM];
        let start = Instant::now();
        // Twice: what warms up takes a part of the limit, and a sample may begin at the end of the rest.
        let patient = || start.elapsed() < 2 * budget.time_limit && !budget.stop.is_raised();
        collect(budget, ["cpu_s"], || {
            Ok([lost_s(patient, || alone(&mut chunks_s))?])
        })
    })
}

/// What a tick's time has lost, in the median of those that no other thread had a part of, which
/// `tick` says as `None`.
fn lost_s(
    patient: impl Fn() -> bool,
    mut tick: impl FnMut() -> Option<f64>,
) -> Result<f64, Unmeasured> {
    let mut lost_s = Vec::with_capacity(TICKS);
    while patient() {
        lost_s.extend(tick());
        if lost_s.len() == TICKS {
            return Ok(*lost_s.select_nth_unstable_by(TICKS / 2, f64::total_cmp).1);
        }
    }
    Err(Unmeasured::because(TAKEN))
}

/// What one tick's time has lost, unless another thread had a part of it.
fn alone(chunks_s: &mut Vec<f64>) -> Option<f64> {
    let switches = involuntary_switches();
    compute_for_a_tick(chunks_s);
    (involuntary_switches() == switches).then(|| beyond_usual_s(chunks_s))
}

fn compute_for_a_tick(chunks_s: &mut Vec<f64>) {
    chunks_s.clear();
    let start = Instant::now();
    let mut last = Duration::ZERO;
    while last < TICK && chunks_s.len() < ROOM {
        compute(STEPS);
        let now = start.elapsed();
        chunks_s.push((now - last).as_secs_f64());
        last = now;
    }
}

/// What chunks took that took clearly longer than most, beyond what those took.
fn beyond_usual_s(chunks_s: &mut [f64]) -> f64 {
    let middle = chunks_s.len() / 2;
    let usual_s = *chunks_s.select_nth_unstable_by(middle, f64::total_cmp).1;
    let longer = chunks_s.iter().map(|chunk_s| chunk_s - usual_s);
    longer.filter(|&longer_s| longer_s > usual_s).sum()
}

/// How often this thread had to leave its core to another; 0 where the kernel does not say.
fn involuntary_switches() -> libc::c_long {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writes, and zeros are a valid one.
    unsafe {
        libc::getrusage(OF_THIS_THREAD, usage.as_mut_ptr());
        usage.assume_init().ru_nivcsw
    }
}

/// Why nothing is measured where other programs compute all the time.
const TAKEN: &str = "other threads had the core";
/// `RUSAGE_THREAD` (linux/resource.h), which the crate libc does not have for Android.
const OF_THIS_THREAD: libc::c_int = 1;
const TICK: Duration = Duration::from_millis(4);
/// Odd, so that one is in the middle.
const TICKS: usize = 5;
/// A fifth of a microsecond on a server, one on a phone's small core: shorter detours are not seen.
const STEPS: u32 = 128;
/// More chunks than a core does meanwhile.
const ROOM: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{beyond_usual_s, lost_s, TAKEN, TICKS};
    use crate::unmeasured::Unmeasured;

    #[test]
    fn the_median_is_of_ticks_that_no_other_thread_had_a_part_of() {
        let told = [None, Some(5e-6), Some(1e-6), None, None, Some(9e-6)];
        let mut told = told.into_iter().chain([Some(2e-6), Some(3e-6), Some(8e-6)]);
        let lost = lost_s(|| true, || told.next().flatten());
        assert_eq!(lost, Ok(3e-6));
        assert_eq!(told.next(), Some(Some(8e-6)), "no more than it needs");
    }

    #[test]
    fn where_other_threads_always_have_the_core_nothing_is_told() {
        let tried = Cell::new(0);
        let patient = || tried.get() < 100;
        let mostly_taken = || {
            tried.set(tried.get() + 1);
            (tried.get() < TICKS).then_some(1e-6)
        };
        let lost = lost_s(patient, mostly_taken);
        assert_eq!(lost, Err(Unmeasured::because(TAKEN)));
        assert_eq!(tried.get(), 100);
    }

    #[test]
    fn what_is_clearly_longer_than_usual_is_lost() {
        let mut chunks_s = vec![1e-6; 100];
        chunks_s.extend([1.4e-6, 1.9e-6, 2.1e-6, 18e-6]);
        let lost_s = beyond_usual_s(&mut chunks_s);
        assert!((lost_s - 18.1e-6).abs() < 1e-12, "{lost_s}");
    }

    #[test]
    fn where_nothing_is_longer_nothing_is_lost() {
        assert_eq!(beyond_usual_s(&mut [1e-6; 9]), 0.0);
    }
}
