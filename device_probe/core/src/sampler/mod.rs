//! How a repeated operation is timed: warm-up first, then samples of many operations each.
//!
//! A sample is a batch of operations that lasts long against the clock's resolution; its duration,
//! less what reading the clocks took, by its operations is one value. The warm-up grows the batch
//! until it lasts long enough, and goes on until the durations settle. What deliberately does not
//! live here: which cases there are, on which cores, and what becomes of the values.

use crate::clock::{Clock, TimeSource};
use crate::kernel::{Repeat, Series, Unmeasured};
use crate::report::WarmUp;
use crate::stop::Stop;
pub use plan::Plan;
pub use settling::Settling;

mod plan;
mod settling;
pub mod threads;

/// Times operations by one plan.
#[derive(Clone, Copy)]
pub struct Sampler<'a> {
    /// Where time comes from.
    pub time: &'a dyn TimeSource,
    /// What reading the time costs.
    pub clock: &'a Clock,
    /// How long everything may take.
    pub plan: Plan,
    /// Raised when the user wants no more.
    pub stop: &'a Stop,
}

/// What came of one case in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// The warm-up, if there was one.
    pub warm_up: Option<WarmUp>,
    /// Operations in each sample.
    pub iterations: Option<u64>,
    /// The samples.
    pub series: Vec<Series>,
    /// What is missing and why, for people.
    pub reason: Option<String>,
}

/// One sample, per operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When it ended.
    pub end_s: f64,
    /// Wall time of one operation in seconds.
    pub wall_s: f64,
    /// CPU time of one operation in seconds.
    pub cpu_s: f64,
}

/// A warm-up that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Warm {
    /// Operations that make a sample.
    pub iterations: u64,
    /// What it took.
    pub warm_up: WarmUp,
}

impl Sampler<'_> {
    /// Warm up and take samples on the calling thread.
    ///
    /// # Errors
    /// What the operation could not do.
    pub fn sample(&self, work: &mut dyn Repeat) -> Result<Taken, Unmeasured> {
        let warm = self.warm_up(work)?;
        let samples = self.samples(work, warm.iterations, self.plan.samples_max)?;
        Ok(Taken {
            warm_up: Some(warm.warm_up),
            iterations: Some(warm.iterations),
            series: durations(&samples),
            reason: None,
        })
    }

    /// Repeat the operation until a sample lasts long enough and the durations settle, or the time
    /// for it is over.
    ///
    /// # Errors
    /// What the operation could not do.
    pub fn warm_up(&self, work: &mut dyn Repeat) -> Result<Warm, Unmeasured> {
        let start_s = self.time.wall_s();
        let mut settling = Settling::default();
        let (mut iterations, mut samples) = (work.period(), 0);
        loop {
            let sample = self.one(work, iterations)?;
            samples += 1;
            match self.plan.grown(iterations, sample.wall_s) {
                Some(more) => {
                    iterations = more.next_multiple_of(work.period());
                    settling = Settling::default();
                }
                None => settling.add(sample.wall_s),
            }
            let spent_s = sample.end_s - start_s;
            let settled = self.plan.may_settle(spent_s) && settling.has_settled();
            let over = self.plan.warm_up_over(settling.is_enough(), spent_s);
            if settled || over || self.stop.is_raised() {
                let warm_up = WarmUp { samples, settled };
                return Ok(Warm {
                    iterations,
                    warm_up,
                });
            }
        }
    }

    /// Take samples until their time is over.
    ///
    /// # Errors
    /// What the operation could not do.
    pub fn samples(
        &self,
        work: &mut dyn Repeat,
        iterations: u64,
        samples_max: usize,
    ) -> Result<Vec<Sample>, Unmeasured> {
        let start_s = self.time.wall_s();
        let mut samples = Vec::new();
        loop {
            let sample = self.one(work, iterations)?;
            samples.push(sample);
            let enough = self.plan.enough(samples.len(), sample.end_s - start_s);
            if enough || samples.len() >= samples_max || self.stop.is_raised() {
                return Ok(samples);
            }
        }
    }

    /// One sample of `iterations` operations.
    ///
    /// # Errors
    /// What the operation could not do.
    pub fn one(&self, work: &mut dyn Repeat, iterations: u64) -> Result<Sample, Unmeasured> {
        work.tidy()?;
        let start_cpu_s = self.time.thread_cpu_s();
        let start_s = self.time.wall_s();
        work.run(iterations)?;
        let end_s = self.time.wall_s();
        let cpu_s = self.time.thread_cpu_s() - start_cpu_s;
        // Between two readings of a clock lies the cost of one; the CPU time's enclose the others.
        let wall_s = end_s - start_s - self.clock.read_s;
        let cpu_s = cpu_s - self.clock.cpu_read_s - 2.0 * self.clock.read_s;
        Ok(Sample {
            end_s,
            wall_s: wall_s.max(0.0) / iterations as f64,
            cpu_s: cpu_s.max(0.0) / iterations as f64,
        })
    }
}

/// Samples as the two quantities that every repeated operation has.
pub fn durations(samples: &[Sample]) -> Vec<Series> {
    let series = |quantity, value: fn(&Sample) -> f64| Series {
        quantity,
        values: samples.iter().map(value).collect(),
    };
    vec![
        series("wall_s", |sample| sample.wall_s),
        series("cpu_s", |sample| sample.cpu_s),
    ]
}
