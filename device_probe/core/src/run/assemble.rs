//! The report of a run that is over.

use super::gather::Gathered;
use super::measure::Done;
use super::plan::Schedule;
use super::{spoiled, Options, World};
use crate::clock::{Clock, WALL_CLOCK};
use crate::host::build;
use crate::kernels::storage::filesystem_of;
use crate::report::{
    ClockFigures, Conditions, Device, Made, Measurement, Report, State, SCHEMA_VERSION, VALUES_MAX,
    VALUES_TOTAL_MAX,
};
use crate::sketch::rounded;

/// What a run knows besides its measurements.
pub struct Facts<'a> {
    pub before: State,
    pub clock: &'a Clock,
    pub schedule: Schedule,
    pub duration_s: f64,
    pub stopped: bool,
}

/// All of it in one document.
pub fn report(world: &World<'_>, options: &Options, facts: Facts<'_>, done: &Done) -> Report {
    let extras = options.extras.now();
    let mut report = Report {
        schema_version: SCHEMA_VERSION,
        made: made(world, options, &facts),
        device: device(world, options),
        clock: clock(facts.clock),
        conditions: Conditions {
            before: facts.before,
            after: world.state(&extras),
        },
        throttle: done.throttle.clone(),
        spoiled: Vec::new(),
        measurements: measurements(&done.gathered),
    };
    spoiled::mark_noisy(&mut report.measurements);
    report.spoiled = spoiled::conditions(&report, &world.host, &extras);
    report
}

fn device(world: &World<'_>, options: &Options) -> Device {
    Device {
        scratch_filesystem: Some(filesystem_of(&options.scratch)),
        ..world.host.device()
    }
}

fn made(world: &World<'_>, options: &Options, facts: &Facts<'_>) -> Made {
    Made {
        probe_version: build::PROBE_VERSION.to_owned(),
        target: build::TARGET.to_owned(),
        libc: build::libc(),
        build: build::build(),
        crates: build::crates(),
        started_at: humantime::format_rfc3339_seconds(world.started_at).to_string(),
        duration_s: rounded(facts.duration_s),
        depth: options.depth,
        rounds: facts.schedule.rounds,
        case_budget_s: rounded(facts.schedule.case_s),
        stopped: facts.stopped,
        near: false,
        awake: false,
        note: options.note.clone(),
    }
}

fn clock(clock: &Clock) -> ClockFigures {
    ClockFigures {
        name: WALL_CLOCK.to_owned(),
        resolution_s: rounded(clock.resolution_s),
        read_s: rounded(clock.read_s),
        cpu_read_s: rounded(clock.cpu_read_s),
    }
}

/// Raw values are kept until the report has as many as it may have; later cases are reduced. What
/// ran on one thread comes first: a profile is made of that.
fn measurements(gathered: &[Gathered]) -> Vec<Measurement> {
    let mut left = VALUES_TOTAL_MAX;
    let mut places: Vec<usize> = (0..gathered.len()).collect();
    places.sort_by_key(|&place| gathered[place].step().threads > 1);
    let mut kept_max = vec![0; gathered.len()];
    for place in places {
        let kept = gathered[place].values_kept(VALUES_MAX);
        if kept <= left {
            left -= kept;
            kept_max[place] = VALUES_MAX;
        }
    }
    let both = gathered.iter().zip(kept_max);
    both.map(|(gathered, kept_max)| gathered.measurement(kept_max))
        .collect()
}
