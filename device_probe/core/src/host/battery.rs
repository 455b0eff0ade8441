//! The battery as Linux shows it in `/sys/class/power_supply`, and the current drawn from it.
//!
//! The kernel's documentation gives microamperes, and so does Android's; most drivers keep to it. Some
//! vendors' drivers give milliamperes, to both; nothing says so. What is plausible decides, once for
//! a series and by its largest reading (see [`amperes`]); where both units are plausible there is no
//! current. The sign differs between drivers as well and is left as it is.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::{HostExtras, Tree};
use crate::kernel::{Budget, Case, Group, Parameters, Series, Unmeasured, Work};
use crate::report::Battery;
use crate::run::Extras;

/// The battery, with what Java knows better; `None` if there is no sign of one.
pub fn read(tree: &Tree, extras: &HostExtras) -> Option<Battery> {
    let file = |name: &str| Some(format!("{}/{name}", folder(tree)?));
    let number = |name: &str| tree.number(&file(name)?);
    let level = number("capacity").map(|percent| percent / 100.0);
    let tenths = number("temp").map(|tenths| tenths / 10.0);
    let status = file("status").and_then(|path| tree.text(&path));
    let battery = Battery {
        level_ratio: extras
            .battery_level_ratio
            .or(level)
            .filter(|l| (0.0..=1.0).contains(l)),
        temperature_c: extras.battery_temperature_c.or(tenths),
        status: extras.battery_status.clone().or(status),
        current_a: current_a(tree, extras),
    };
    (battery != Battery::default()).then_some(battery)
}

/// Current in amperes; see the head of this module for its unit and sign.
pub fn current_a(tree: &Tree, extras: &HostExtras) -> Option<f64> {
    let current = amperes(&[reading(tree, extras)?], is_discharging(tree, extras))?;
    current.first().copied()
}

/// Readings in microamperes or milliamperes as amperes; `None` where both are plausible.
///
/// No battery of a phone has a current of [`AMPERES_MAX`] or more. One that powers a phone which is
/// awake gives at least [`DISCHARGING_AMPERES_MIN`], but while it charges the current may be anything.
pub fn amperes(readings: &[f64], is_discharging: bool) -> Option<Vec<f64>> {
    let largest = readings
        .iter()
        .fold(0.0, |most: f64, one| most.max(one.abs()));
    let units_per_ampere = if is_discharging && largest < DISCHARGING_AMPERES_MIN * 1e6 {
        1e3
    } else if largest >= AMPERES_MAX * 1e3 || is_discharging {
        1e6
    } else {
        return None;
    };
    let current = readings.iter().map(|reading| reading / units_per_ampere);
    Some(current.collect())
}

/// What the system gives: the app has divided what it was told by a million already.
fn reading(tree: &Tree, extras: &HostExtras) -> Option<f64> {
    let told = extras.battery_current_a.map(|current_a| current_a * 1e6);
    told.or_else(|| tree.number(&format!("{}/current_now", folder(tree)?)))
}

fn is_discharging(tree: &Tree, extras: &HostExtras) -> bool {
    let status = || tree.text(&format!("{}/status", folder(tree)?));
    let status = extras.battery_status.clone().or_else(status);
    status.as_deref() == Some("Discharging")
}

/// The group `battery`: the current while the probe only waits.
pub fn cases(tree: &Tree, extras: Extras) -> Vec<Case> {
    let tree = tree.clone();
    let read = move || {
        let extras = extras.now();
        Some((reading(&tree, &extras)?, is_discharging(&tree, &extras)))
    };
    vec![Case {
        kernel: "battery_current",
        group: Group::Battery,
        parameters: Parameters::new(),
        work: Work::Experiment(Arc::new(move |budget| waiting(&read, budget))),
        scales: false,
    }]
}

fn waiting(
    read: &dyn Fn() -> Option<(f64, bool)>,
    budget: &Budget<'_>,
) -> Result<Vec<Series>, Unmeasured> {
    let (first, mut is_discharging) =
        read().ok_or_else(|| Unmeasured::because("no battery says its current"))?;
    let mut readings = vec![first];
    let start = Instant::now();
    while start.elapsed() + INTERVAL < budget.time_limit && !budget.stop.is_raised() {
        thread::sleep(INTERVAL);
        if let Some((next, still)) = read() {
            readings.push(next);
            is_discharging &= still;
        }
    }
    let unclear =
        || Unmeasured::because("a current too small to tell microamperes from milliamperes");
    let values = amperes(&readings, is_discharging).ok_or_else(unclear)?;
    let quantity = "current_a";
    Ok(vec![Series { quantity, values }])
}

/// Folder of the first supply that is a battery of the device, not one of a pen or a mouse.
fn folder(tree: &Tree) -> Option<String> {
    let names = tree.names(FOLDER, "").into_iter();
    let mut folders = names.map(|name| format!("{FOLDER}/{name}"));
    folders.find(|folder| {
        let is = |file: &str, text: &str| {
            tree.text(&format!("{folder}/{file}")).as_deref() == Some(text)
        };
        is("type", "Battery") && !is("scope", "Device")
    })
}

const FOLDER: &str = "sys/class/power_supply";
/// The fastest chargers of phones give some 10 A to the battery.
const AMPERES_MAX: f64 = 20.0;
/// A phone that is awake with its screen off draws some 20 mA or more; none draws 5 A for long.
const DISCHARGING_AMPERES_MIN: f64 = 5e-3;
/// Fuel gauges renew their figure a few times a second at best.
const INTERVAL: Duration = Duration::from_millis(100);
