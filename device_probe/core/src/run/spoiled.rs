//! What spoiled a run, judged from its report and from the device.

use crate::host::core_to_core::SHARED_CACHE_MAX_S;
use crate::host::{cores, virtuality, Host, HostExtras};
use crate::kernel::Group;
use crate::report::figures::case_name;
use crate::report::{Build, Condition, Measurement, Report, Samples, Spoiled};
use crate::run::throttle::THROTTLED_RATIO;

/// Everything that spoils `report`.
pub fn conditions(report: &Report, host: &Host, extras: &HostExtras) -> Vec<Spoiled> {
    let (tree, properties) = (host.tree(), host.properties());
    let found = [
        (Condition::Emulator, virtuality::emulator(tree, properties)),
        (
            Condition::VirtualMachine,
            virtuality::virtual_machine(tree, properties),
        ),
        (
            Condition::Debuggable,
            virtuality::debuggable(properties, extras),
        ),
        (Condition::DebugBuild, debug_build(report)),
        (Condition::Throttled, throttled(report)),
        (Condition::LowBattery, low_battery(report)),
        (Condition::PowerSave, power_save(host, extras)),
        (Condition::CoarseClock, coarse_clock(report)),
        (Condition::Noisy, noisy(&report.measurements)),
        (Condition::Unsettled, unsettled(report)),
        (Condition::CoresApart, cores_apart(report)),
        (Condition::Stopped, stopped(report)),
    ];
    let found = found.into_iter();
    found
        .filter_map(|(condition, detail)| detail.map(|detail| Spoiled { condition, detail }))
        .collect()
}

/// Mark each case whose rounds disagree, or that others kept from its cores.
pub fn mark_noisy(measurements: &mut [Measurement]) {
    for measurement in measurements {
        measurement.noisy = computes(measurement) && noise(measurement).is_some();
    }
}

/// Many computations whose rounds disagree, or that others kept from their cores. One of hundreds is
/// marked, but does not spoil the others.
pub fn noisy(measurements: &[Measurement]) -> Option<String> {
    let computing: Vec<&Measurement> = measurements.iter().filter(|m| computes(m)).collect();
    let details: Vec<_> = [single(&computing), overall(&computing)]
        .into_iter()
        .flatten()
        .collect();
    (!details.is_empty()).then(|| details.join("; "))
}

fn computes(measurement: &Measurement) -> bool {
    let group = matches!(measurement.group, Group::Crypto | Group::Serialisation);
    group && measurement.threads == 1
}

/// The cases that are noisy by themselves.
fn single(computing: &[&Measurement]) -> Option<String> {
    let named = |m: &&Measurement| noise(m).map(|(noise, how)| (noise, case_name(m), how));
    let mut noisy: Vec<_> = computing.iter().filter_map(named).collect();
    noisy.sort_by(|a, b| b.0.total_cmp(&a.0));
    let worst = noisy
        .iter()
        .take(NAMED_MAX)
        .map(|(_, name, how)| format!("{name} ({how})"));
    let worst = worst.collect::<Vec<_>>().join(", ");
    let (count, total) = (noisy.len(), computing.len());
    (share(count, total) > CASES_RATIO)
        .then(|| format!("{count} of {total} computations, the worst: {worst}"))
}

/// Many cases whose warm-up ended before their durations had settled, unless the user ended it.
fn unsettled(report: &Report) -> Option<String> {
    let measurements = report.measurements.iter().filter(|_| !report.made.stopped);
    let warm_ups = measurements.filter(|m| computes(m));
    let settled: Vec<bool> = warm_ups
        .filter_map(|m| Some(m.warm_up.as_ref()?.settled))
        .collect();
    let count = settled.iter().filter(|settled| !*settled).count();
    (share(count, settled.len()) > CASES_RATIO).then(|| {
        let total = settled.len();
        format!("{count} of {total} computations were still changing after their warm-up")
    })
}

fn share(count: usize, total: usize) -> f64 {
    count as f64 / total.max(1) as f64
}

/// The share of time that others had the cores. Samples are short against a scheduler's slice, so
/// that it may leave the medians alone; means and largest values suffer, and caches do.
fn overall(computing: &[&Measurement]) -> Option<String> {
    let total = |name| {
        let means = computing
            .iter()
            .filter_map(|m| samples(m, name).map(|samples| (m, samples)));
        means
            .map(|(m, samples)| samples.mean * batch(m, samples))
            .sum::<f64>()
    };
    let (wall_s, cpu_s) = (total("wall_s"), total("cpu_s"));
    let stolen = 1.0 - cpu_s / wall_s;
    (cpu_s > 0.0 && stolen > NOISY_RATIO).then(|| {
        format!(
            "others had the cores for {:.0} % of the time of computations",
            stolen * 100.0
        )
    })
}

/// Operations in all samples.
fn batch(measurement: &Measurement, samples: &Samples) -> f64 {
    (measurement.iterations_per_sample.unwrap_or(1) * samples.count) as f64
}

fn samples<'a>(measurement: &'a Measurement, name: &str) -> Option<&'a Samples> {
    let found = measurement
        .quantities
        .iter()
        .find(|quantity| quantity.name == name);
    found.map(|quantity| &quantity.samples)
}

/// How far the slowest round's median lies above the fastest's, relative to that.
pub fn spread_ratio(measurement: &Measurement) -> f64 {
    let medians = measurement.rounds.iter().map(|round| round.median);
    let slowest = medians.clone().fold(f64::NEG_INFINITY, f64::max);
    let fastest = medians.fold(f64::INFINITY, f64::min);
    if fastest > 0.0 && fastest.is_finite() {
        slowest / fastest - 1.0
    } else {
        0.0
    }
}

/// The larger of spread and stolen time, if too large.
fn noise(measurement: &Measurement) -> Option<(f64, String)> {
    let spread = spread_ratio(measurement);
    let stolen = stolen_ratio(measurement);
    let percent = |ratio: f64| format!("{:.0} %", ratio * 100.0);
    let (noise, how) = match spread >= stolen {
        true => (spread, format!("rounds {} apart", percent(spread))),
        false => (
            stolen,
            format!("wall time {} above CPU time", percent(stolen)),
        ),
    };
    (noise > NOISY_RATIO).then_some((noise, how))
}

/// How far the median wall time lies above the median CPU time; 0 where CPU time is too coarse.
fn stolen_ratio(measurement: &Measurement) -> f64 {
    let median_of = |name| samples(measurement, name).map(|samples| samples.median);
    match (median_of("wall_s"), median_of("cpu_s")) {
        (Some(wall_s), Some(cpu_s)) if cpu_s > 0.0 => wall_s / cpu_s - 1.0,
        _ => 0.0,
    }
}

fn debug_build(report: &Report) -> Option<String> {
    let debug = report.made.build == Build::Debug;
    debug.then(|| "compiled without optimisation or with debug assertions".to_owned())
}

fn throttled(report: &Report) -> Option<String> {
    let status = report
        .conditions
        .after
        .thermal_status
        .max(report.conditions.before.thermal_status);
    if let Some(status) = status.filter(|&status| status >= THERMAL_STATUS_MODERATE) {
        return Some(format!("Android's thermal status is {status}"));
    }
    let slow = report
        .throttle
        .checks
        .iter()
        .filter(|check| check.ratio > THROTTLED_RATIO);
    let worst = slow.clone().max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    Some(format!(
        "{} took {:.2} times its baseline at {:.0} s; {} of {} checks above {THROTTLED_RATIO}",
        report.throttle.kernel,
        worst.ratio,
        worst.at_s,
        slow.count(),
        report.throttle.checks.len(),
    ))
}

fn low_battery(report: &Report) -> Option<String> {
    let states = [&report.conditions.before, &report.conditions.after];
    let levels = states
        .iter()
        .filter_map(|state| state.battery.as_ref()?.level_ratio);
    let lowest = levels.fold(f64::INFINITY, f64::min);
    (lowest < BATTERY_RATIO_MIN).then(|| format!("battery at {:.0} %", lowest * 100.0))
}

fn power_save(host: &Host, extras: &HostExtras) -> Option<String> {
    if extras.power_save == Some(true) {
        return Some("power save mode is on".to_owned());
    }
    let saving = host.cores().iter().find(|core| {
        let saves = core.governor.as_deref() == Some("powersave");
        saves && !cores::governs_itself(host.tree(), core.number)
    })?;
    Some(format!("governor of core {} is powersave", saving.number))
}

fn coarse_clock(report: &Report) -> Option<String> {
    let resolution_s = report.clock.resolution_s;
    (resolution_s > RESOLUTION_MAX_S).then(|| format!("the clock's step is {resolution_s:e} s"))
}

/// The latency of before or after the run, the longer one, if the cores share no cache.
fn cores_apart(report: &Report) -> Option<String> {
    let states = [&report.conditions.before, &report.conditions.after];
    let known = states.iter().filter_map(|state| state.core_to_core_s);
    let longest_s = known.fold(0.0, f64::max);
    (longest_s > SHARED_CACHE_MAX_S).then(|| {
        let longest_ns = longest_s * 1e9;
        format!("a cache line takes {longest_ns:.0} ns from core to core")
    })
}

fn stopped(report: &Report) -> Option<String> {
    report
        .made
        .stopped
        .then(|| "ended early by the user".to_owned())
}

/// What repeat runs are expected to agree within.
const NOISY_RATIO: f64 = 0.05;
/// Of all cases; fewer are told one by one.
const CASES_RATIO: f64 = 0.1;
/// A line that people read to its end.
const NAMED_MAX: usize = 5;
/// PowerManager.THERMAL_STATUS_MODERATE: from here on the system throttles noticeably.
const THERMAL_STATUS_MODERATE: u8 = 2;
/// androidx.benchmark refuses to measure below 25 %.
const BATTERY_RATIO_MIN: f64 = 0.25;
/// Arm's generic timer steps every 52 ns at the usual 19.2 MHz, x86 below that: a longer step than
/// this is no hardware counter.
const RESOLUTION_MAX_S: f64 = 1e-6;
