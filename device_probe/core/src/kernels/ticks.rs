//! The kernel `timer_tick`: what the system takes of a core that computes, every 4 ms.
//!
//! A thread computes in chunks of a microsecond and looks at the clock after each: what a chunk takes
//! longer than most was taken from it ("selfish detour", Beckman et al., The influence of operating
//! systems on the performance of collective operations at extreme scale, 2006). Linux looks after its
//! threads and clocks every 4 ms (CONFIG_HZ=250, as Android's and Debian's); on a virtual machine each
//! such tick leaves it more than once. What deliberately does not live here: how often other programs
//! compute, which is why the median over several such times counts.

use std::time::{Duration, Instant};

use super::experiment::{case, collect};
use super::sleeping::compute;
use crate::host::affinity::{allowed_cores, on_cores};
use crate::kernel::{Budget, Case, Group, Series, Unmeasured};

/// The only case.
pub(super) fn cases() -> Vec<Case> {
    vec![case(Group::Scheduling, "timer_tick", &[], timer_tick)]
}

fn timer_tick(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    let cores = allowed_cores();
    let core = *cores
        .last()
        .ok_or_else(|| Unmeasured::because("the kernel names no core"))?;
    on_cores(&[core], || {
        let mut chunks_s = Vec::with_capacity(ROOM);
        collect(budget, ["cpu_s"], || {
            // Calibration takes medians of logarithms.
            Ok([lost_s(&mut chunks_s).max(LEAST_S)])
        })
    })
}

/// What a tick's time has lost, in the median of so many.
fn lost_s(chunks_s: &mut Vec<f64>) -> f64 {
    let mut lost_s = [0.0; TICKS];
    for lost_s in &mut lost_s {
        chunks_s.clear();
        let start = Instant::now();
        let mut last = Duration::ZERO;
        while last < TICK {
            compute();
            let now = start.elapsed();
            chunks_s.push((now - last).as_secs_f64());
            last = now;
        }
        *lost_s = beyond_usual_s(chunks_s);
    }
    *lost_s.select_nth_unstable_by(TICKS / 2, f64::total_cmp).1
}

/// What chunks took that took clearly longer than most, beyond what those took.
fn beyond_usual_s(chunks_s: &mut [f64]) -> f64 {
    let middle = chunks_s.len() / 2;
    let usual_s = *chunks_s.select_nth_unstable_by(middle, f64::total_cmp).1;
    let longer = chunks_s.iter().map(|chunk_s| chunk_s - usual_s);
    longer.filter(|&longer_s| longer_s > usual_s).sum()
}

const TICK: Duration = Duration::from_millis(4);
/// Odd, so that one is in the middle.
const TICKS: usize = 5;
/// More chunks than a core does meanwhile: what would grow would be a detour of its own.
const ROOM: usize = 16_384;
const LEAST_S: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::beyond_usual_s;

    #[test]
    fn what_is_clearly_longer_than_usual_is_lost() {
        let mut chunks_s = vec![1e-6; 100];
        chunks_s.extend([1.4e-6, 18e-6, 4e-6]);
        let lost_s = beyond_usual_s(&mut chunks_s);
        assert!((lost_s - 20e-6).abs() < 1e-12, "{lost_s}");
    }
}
