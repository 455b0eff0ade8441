//! One run: the clock, the catalogue of cases in rounds, throttling, the report.
//!
//! What deliberately does not live here: how a case is timed ([`sampler`](crate::sampler)), and
//! where the report goes.

use std::sync::Arc;
use std::time::SystemTime;

use crate::clock::{Clock, SystemTimeSource, TimeSource};
use crate::host::{affinity, core_to_core, Host, HostExtras};
use crate::kernel::{Case, MakeRepeat, Repeat, Unmeasured};
use crate::kernels::{battery, catalogue, Surroundings};
use crate::report::{Measurement, Report, State};
use crate::sketch::rounded;
use crate::stop::Stop;
pub use options::Options;

mod assemble;
pub mod gather;
mod measure;
mod options;
pub mod plan;
pub mod remaining;
pub mod spoiled;
pub mod throttle;

/// Whoever wants to see the run go on.
pub trait Observer: Sync {
    /// A step begins; a case has one for each round, thread count and core class.
    fn started(&self, position: &Position, case: &Case);
    /// It is done, or could not be measured. Of a case that comes in several rounds, this is
    /// everything so far, without the raw values.
    fn measured(&self, measurement: &Measurement);
}

/// Where a run is when a step begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Of the step, from 1.
    pub number: usize,
    /// Steps in all rounds.
    pub total: usize,
    /// What this step and those after it will take, by what steps took so far, in seconds.
    pub left_s: f64,
}

/// Everything that a run depends on besides its options.
pub struct World<'a> {
    /// The device.
    pub host: Host,
    /// Its clocks.
    pub time: &'a dyn TimeSource,
    /// What can be measured.
    pub catalogue: Vec<Case>,
    /// What is repeated to see whether the device is throttled.
    pub fixed_kernel: Arc<MakeRepeat<'static>>,
    /// When the run begins.
    pub started_at: SystemTime,
    /// The core-to-core latency, in seconds, where the run has exactly two cores.
    pub core_to_core_s: fn() -> Option<f64>,
}

impl World<'static> {
    /// This device, its clocks, and all that the probe can measure on it.
    pub fn real(options: &Options) -> Self {
        let host = Host::here();
        let surroundings = Surroundings {
            depth: options.depth,
            scratch: options.scratch.clone(),
            peer: options.peer,
        };
        let mut catalogue = catalogue(&surroundings);
        catalogue.extend(battery::cases(host.tree(), options.extras.clone()));
        Self {
            host,
            time: &SystemTimeSource,
            catalogue,
            fixed_kernel: Arc::new(|| Ok(Box::new(throttle::fixed_work()))),
            started_at: SystemTime::now(),
            core_to_core_s: core_to_core::of_the_only_two_s,
        }
    }
}

impl World<'_> {
    /// How the device is now.
    fn state(&self, extras: &HostExtras) -> State {
        State {
            core_to_core_s: (self.core_to_core_s)().map(rounded),
            ..self.host.state(extras)
        }
    }
}

/// Measure this device.
///
/// A raised `stop` ends the run after the sample it is at; the report then says that it was stopped.
///
/// # Errors
/// What [`check`] has against the options; a clock that cannot measure.
pub fn run(options: &Options, observer: &dyn Observer, stop: &Stop) -> Result<Report, Unmeasured> {
    run_in(&World::real(options), options, observer, stop)
}

/// Whether there is anything against the options.
///
/// # Errors
/// A wish that no case fulfils, a number of threads that cannot be.
pub fn check(options: &Options) -> Result<(), Unmeasured> {
    steps(&World::real(options), options).map(|_| ())
}

/// Measure a device that may be made up.
///
/// # Errors
/// Options that cannot be; a clock that cannot measure.
pub fn run_in(
    world: &World<'_>,
    options: &Options,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Report, Unmeasured> {
    let steps = steps(world, options)?;
    let start_s = world.time.wall_s();
    let before = world.state(&options.extras.now());
    let mut fixed = (world.fixed_kernel)()?;
    wake_up(world.time, fixed.as_mut())?;
    let clock = Clock::of(world.time)?;
    let schedule = plan::schedule(options.depth, &steps);
    let measure = measure::Measure {
        host: &world.host,
        extras: &options.extras,
        time: world.time,
        clock: &clock,
        depth: options.depth,
        schedule,
        observer,
        stop,
        start_s,
    };
    let done = measure.all(steps, fixed)?;
    let facts = assemble::Facts {
        before,
        clock: &clock,
        schedule,
        duration_s: world.time.wall_s() - start_s,
        stopped: stop.is_raised(),
    };
    Ok(assemble::report(world, options, facts, &done))
}

/// Work until the core has its frequency, as a slow core reads its clock slowly.
fn wake_up(time: &dyn TimeSource, work: &mut dyn Repeat) -> Result<(), Unmeasured> {
    let end_s = time.wall_s() + WAKE_UP_S;
    while time.wall_s() < end_s {
        work.run(1)?;
    }
    Ok(())
}

fn steps(world: &World<'_>, options: &Options) -> Result<Vec<plan::Step>, Unmeasured> {
    let threads_max = options.threads_max.unwrap_or_else(threads_here);
    if !(1..=THREADS_MAX).contains(&threads_max) {
        let reason = format!("{threads_max} threads cannot be; 1 to {THREADS_MAX} can");
        return Err(Unmeasured::because(reason));
    }
    plan::steps(
        options,
        world.catalogue.clone(),
        world.host.cores(),
        threads_max,
    )
}

fn threads_here() -> usize {
    affinity::allowed_cores().len().clamp(1, THREADS_MAX)
}

/// Governors raise a core's frequency within some ticks of 4 to 10 ms.
const WAKE_UP_S: f64 = 0.2;
/// More than any phone has cores; a ladder of more thread counts would only take time.
const THREADS_MAX: usize = 64;
