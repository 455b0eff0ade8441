//! The same operation on several threads at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{durations, Sample, Sampler, Taken, Warm};
use crate::kernel::{MakeRepeat, Series, Unmeasured};
use crate::report::WarmUp;

/// What one thread did, from the time when all were ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// When it began to take samples, in seconds.
    pub start_s: f64,
    /// Operations in each sample.
    pub iterations: u64,
    /// Its samples in order.
    pub samples: Vec<Sample>,
}

/// Warm up on each of `threads` threads, then take samples on all of them for the same time.
///
/// The durations are those of one operation of one thread; `rate_per_s` counts all threads.
///
/// # Errors
/// What any of them could not do.
pub fn sample(
    sampler: &Sampler<'_>,
    make: &MakeRepeat<'_>,
    threads: usize,
) -> Result<Taken, Unmeasured> {
    let gate = Gate::new(threads);
    let done = thread::scope(|scope| {
        let one = || one_thread(sampler, make, gate.ticket());
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let joined = handles.into_iter().map(|handle| handle.join());
        joined.collect::<Vec<_>>()
    });
    // A panic of a kernel is a fault of ours: pass it on.
    let done = done
        .into_iter()
        .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    let done: Vec<(WarmUp, Progress)> = done.collect::<Result<_, _>>()?;
    Ok(together(&done))
}

fn one_thread(
    sampler: &Sampler<'_>,
    make: &MakeRepeat<'_>,
    ticket: Ticket<'_>,
) -> Result<(WarmUp, Progress), Unmeasured> {
    let mut work = make()?;
    let Warm {
        iterations,
        warm_up,
    } = sampler.warm_up(work.as_mut())?;
    let gate = ticket.hand_in();
    // At work, as a core that rests lowers its frequency.
    while !gate.is_open() {
        sampler.one(work.as_mut(), iterations)?;
    }
    let start_s = sampler.time.wall_s();
    // All end by time: whoever stopped at a number of samples would leave the others alone.
    let samples = sampler.samples(work.as_mut(), iterations, usize::MAX)?;
    Ok((
        warm_up,
        Progress {
            start_s,
            iterations,
            samples,
        },
    ))
}

fn together(done: &[(WarmUp, Progress)]) -> Taken {
    let progress: Vec<&Progress> = done.iter().map(|(_, progress)| progress).collect();
    let samples: Vec<Sample> = progress.iter().flat_map(|p| p.samples.clone()).collect();
    let mut series = durations(&samples);
    series.push(Series {
        quantity: "rate_per_s",
        values: rates_per_s(&progress),
    });
    let missing = series.last().is_some_and(|rates| rates.values.is_empty());
    Taken {
        warm_up: Some(WarmUp {
            samples: done.iter().map(|(warm_up, _)| warm_up.samples).sum(),
            settled: done.iter().all(|(warm_up, _)| warm_up.settled),
        }),
        iterations: progress.iter().map(|p| p.iterations).min(),
        series,
        reason: missing.then(|| NO_RATE.to_owned()),
    }
}

/// Operations per second of all threads together, in equal windows of the time when all were at it.
pub fn rates_per_s(progress: &[&Progress]) -> Vec<f64> {
    let from_s = progress
        .iter()
        .map(|p| p.start_s)
        .fold(f64::NEG_INFINITY, f64::max);
    let ends_s = progress
        .iter()
        .filter_map(|p| p.samples.last())
        .map(|last| last.end_s);
    let window_s = (ends_s.fold(f64::INFINITY, f64::min) - from_s) / f64::from(WINDOWS);
    if !(window_s.is_finite() && window_s > 0.0) {
        return Vec::new();
    }
    let rate = |window| {
        let start_s = from_s + f64::from(window) * window_s;
        let done = |p: &&Progress| p.operations_by(start_s + window_s) - p.operations_by(start_s);
        progress.iter().map(done).sum::<f64>() / window_s
    };
    (0..WINDOWS).map(rate).collect()
}

impl Progress {
    /// Operations done by then; those of a sample are spread evenly over its time.
    fn operations_by(&self, now_s: f64) -> f64 {
        let done = self.samples.partition_point(|sample| sample.end_s <= now_s);
        let begun_s = done
            .checked_sub(1)
            .map_or(self.start_s, |last| self.samples[last].end_s);
        let part = self.samples.get(done).map_or(0.0, |sample| {
            (now_s - begun_s).max(0.0) / (sample.end_s - begun_s)
        });
        (done as f64 + part) * self.iterations as f64
    }
}

/// Opens when every ticket was handed in; a thread that fails or panics hands its in by dropping it,
/// so that nobody waits for it.
struct Gate {
    awaited: AtomicUsize,
}

struct Ticket<'a>(&'a Gate);

impl Gate {
    fn new(threads: usize) -> Self {
        Self {
            awaited: AtomicUsize::new(threads),
        }
    }

    fn ticket(&self) -> Ticket<'_> {
        Ticket(self)
    }

    fn is_open(&self) -> bool {
        self.awaited.load(Ordering::Relaxed) == 0
    }
}

impl<'a> Ticket<'a> {
    fn hand_in(self) -> &'a Gate {
        self.0
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.0.awaited.fetch_sub(1, Ordering::Relaxed);
    }
}

const NO_RATE: &str = "no rate_per_s: the threads never worked at the same time";
/// Rates of one round: enough to see them vary.
const WINDOWS: u32 = 10;
