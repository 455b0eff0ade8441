//! The battery as Linux shows it in `/sys/class/power_supply`, and the current drawn from it.
//!
//! The kernel's documentation gives microamperes, and so does Android's; most drivers keep to it. Some
//! vendors' drivers give milliamperes, to both; nothing says so. What is plausible decides, once for
//! a series and by its largest reading (see [`amperes`]); where both units are plausible there is no
//! current. The sign differs between drivers as well and is left as it is.

use super::{HostExtras, Tree};
use crate::report::Battery;

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
pub(crate) fn reading(tree: &Tree, extras: &HostExtras) -> Option<f64> {
    let told = extras.battery_current_a.map(|current_a| current_a * 1e6);
    told.or_else(|| tree.number(&format!("{}/current_now", folder(tree)?)))
}

/// Whether the battery powers the device, by what the app or the driver says.
pub(crate) fn is_discharging(tree: &Tree, extras: &HostExtras) -> bool {
    let status = || tree.text(&format!("{}/status", folder(tree)?));
    let status = extras.battery_status.clone().or_else(status);
    status.as_deref() == Some("Discharging")
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
