//! What experiments share: taking samples within a budget, and a watch for wall and CPU time.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::kernel::{Budget, Case, Group, Parameters, Series, Unmeasured, Work};
use crate::sampler::Settling;

/// A case whose work is an experiment.
pub(crate) fn case(
    group: Group,
    kernel: &'static str,
    parameters: &[(&'static str, f64)],
    work: impl Fn(&Budget<'_>) -> Result<Vec<Series>, Unmeasured> + Send + Sync + 'static,
) -> Case {
    Case {
        kernel,
        group,
        parameters: parameters.iter().copied().collect::<Parameters>(),
        work: Work::Experiment(std::sync::Arc::new(work)),
        scales: false,
    }
}

/// Calls `sample` for nothing until its durations settle, as it finds caches, pages and the core's
/// frequency cold, and then until the budget is spent; at least once, unless the user wants no more.
pub(crate) fn collect<const N: usize>(
    budget: &Budget<'_>,
    quantities: [&'static str; N],
    mut sample: impl FnMut() -> Result<[f64; N], Unmeasured>,
) -> Result<Vec<Series>, Unmeasured> {
    warm_up(budget, || Ok(sample()?[0]))?;
    collect_cold(budget, quantities, sample)
}

/// At least one sample, and no more than a part of what the budget allows.
fn warm_up(
    budget: &Budget<'_>,
    mut sample: impl FnMut() -> Result<f64, Unmeasured>,
) -> Result<(), Unmeasured> {
    let start = Instant::now();
    let time_limit = budget.time_limit.mul_f64(WARM_UP_RATIO);
    let samples_max = (budget.samples as f64 * WARM_UP_RATIO) as usize;
    let mut settling = Settling::default();
    for number in 1.. {
        if budget.stop.is_raised() {
            break;
        }
        settling.add(sample()?);
        let over = number >= samples_max || start.elapsed() >= time_limit;
        if settling.has_settled() || over {
            break;
        }
    }
    Ok(())
}

/// The same without a sample for nothing: for what takes long or is not about this device.
pub(crate) fn collect_cold<const N: usize>(
    budget: &Budget<'_>,
    quantities: [&'static str; N],
    mut sample: impl FnMut() -> Result<[f64; N], Unmeasured>,
) -> Result<Vec<Series>, Unmeasured> {
    let start = Instant::now();
    let mut series = quantities.map(|quantity| Series {
        quantity,
        values: Vec::new(),
    });
    while wants_more(budget, start, series[0].values.len()) {
        for (series, value) in series.iter_mut().zip(sample()?) {
            series.values.push(value);
        }
    }
    match series[0].values.is_empty() {
        true => Err(Unmeasured::because("stopped before the first sample")),
        false => Ok(series.into()),
    }
}

fn wants_more(budget: &Budget<'_>, start: Instant, taken: usize) -> bool {
    let within = taken < budget.samples && start.elapsed() < budget.time_limit;
    (taken == 0 || within) && !budget.stop.is_raised()
}

/// The quantities that a [`Watch`] gives.
pub(crate) const WALL_AND_CPU: [&str; 2] = ["wall_s", "cpu_s"];

/// Wall and CPU time since it was started.
pub(crate) struct Watch {
    whose: Whose,
    cpu: Duration,
    wall: Instant,
}

/// Whose CPU time counts.
#[derive(Clone, Copy)]
enum Whose {
    Thread,
    Process,
}

impl Watch {
    /// Counts the CPU time of this thread.
    pub fn thread() -> Self {
        Self::start(Whose::Thread)
    }

    /// Counts the CPU time of all threads of this process.
    pub fn process() -> Self {
        Self::start(Whose::Process)
    }

    fn start(whose: Whose) -> Self {
        let cpu = whose.cpu();
        Self {
            whose,
            cpu,
            wall: Instant::now(),
        }
    }

    /// Wall and CPU seconds for each of `operations`, less what the readings took.
    pub fn per_operation(&self, clock: &Clock, operations: usize) -> [f64; 2] {
        let (wall_s, cpu_s) = (clock.since(self.wall), self.raw_cpu_s());
        let cpu_s = (cpu_s - self.whose.reading_s()).max(0.0);
        [wall_s, cpu_s].map(|seconds| seconds / operations as f64)
    }

    fn raw_cpu_s(&self) -> f64 {
        self.whose.cpu().saturating_sub(self.cpu).as_secs_f64()
    }
}

impl Whose {
    fn cpu(self) -> Duration {
        match self {
            Whose::Thread => Clock::thread_cpu(),
            Whose::Process => Clock::process_cpu(),
        }
    }

    /// CPU time that a watch over nothing shows: a system call, unlike the reading of the clock.
    fn reading_s(self) -> f64 {
        static READINGS_S: [OnceLock<f64>; 2] = [OnceLock::new(), OnceLock::new()];
        *READINGS_S[self as usize].get_or_init(|| {
            let mut empty = [(); EMPTY_WATCHES].map(|()| Watch::start(self).raw_cpu_s());
            empty.sort_by(f64::total_cmp);
            empty[EMPTY_WATCHES / 2]
        })
    }
}

/// Of the time and the samples of a budget.
const WARM_UP_RATIO: f64 = 0.2;
/// Enough for a median that one interruption does not move.
const EMPTY_WATCHES: usize = 101;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stop;

    fn taken(samples: usize, time_limit: Duration, stop: &Stop) -> (usize, Option<usize>) {
        let clock = Clock {
            resolution_s: 0.0,
            read_s: 0.0,
            cpu_read_s: 0.0,
        };
        let budget = Budget {
            clock: &clock,
            samples,
            time_limit,
            stop,
        };
        let mut calls = 0;
        let series = collect(&budget, ["wall_s"], || {
            calls += 1;
            Ok([calls as f64])
        });
        let values = series.ok().map(|series| series[0].values.clone());
        assert!(values.iter().flatten().all(|value| *value > 1.0));
        (calls, values.map(|values| values.len()))
    }

    #[test]
    fn the_first_sample_is_left_out() {
        assert_eq!(taken(5, Duration::MAX, &Stop::new()), (6, Some(5)));
    }

    #[test]
    fn samples_begin_when_they_have_settled() {
        let stop = Stop::new();
        let growing = taken_of(1_000, &stop, |call| f64::from(call.min(12)));
        assert!(growing.iter().all(|value| *value == 12.0), "{growing:?}");
        let never = taken_of(100, &stop, |call| 2_f64.powi(call));
        assert_eq!(
            never[0],
            2_f64.powi(21),
            "a fifth of the samples is for nothing"
        );
    }

    fn taken_of(samples: usize, stop: &Stop, value: impl Fn(i32) -> f64) -> Vec<f64> {
        let clock = Clock {
            resolution_s: 0.0,
            read_s: 0.0,
            cpu_read_s: 0.0,
        };
        let budget = Budget {
            clock: &clock,
            samples,
            time_limit: Duration::MAX,
            stop,
        };
        let mut calls = 0;
        let series = collect(&budget, ["wall_s"], || {
            calls += 1;
            Ok([value(calls)])
        });
        series.expect("samples")[0].values.clone()
    }

    #[test]
    fn without_time_there_is_one_sample() {
        assert_eq!(taken(5, Duration::ZERO, &Stop::new()), (2, Some(1)));
    }

    #[test]
    fn nothing_is_tried_after_a_stop() {
        let stop = Stop::new();
        stop.raise();
        assert_eq!(taken(5, Duration::MAX, &stop), (0, None));
    }

    #[test]
    fn the_cpu_of_other_threads_counts_only_for_the_process() {
        let clock = Clock::measure();
        let (thread, process) = (Watch::thread(), Watch::process());
        let spent = std::thread::spawn(|| while Clock::thread_cpu() < Duration::from_millis(20) {});
        spent.join().expect("it only spins");
        let [_, process_s] = process.per_operation(&clock, 1);
        let [_, thread_s] = thread.per_operation(&clock, 1);
        assert!(process_s >= 0.019, "{process_s}");
        assert!(thread_s < process_s, "{thread_s}");
    }
}
