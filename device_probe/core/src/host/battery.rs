//! The battery as Linux shows it in `/sys/class/power_supply`, and the current drawn from it.
//!
//! The kernel's documentation gives microamperes, and most drivers keep to it. Some vendors' drivers
//! give milliamperes; nothing in the file says so. A magnitude below [`MILLIAMPERES_BELOW`] is
//! therefore taken as milliamperes: a phone that is awake draws more than 20 mA, and none draws 20 A.
//! The sign differs between drivers as well and is left as it is.

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
        current_a: extras.battery_current_a.or_else(|| current_a(tree)),
    };
    (battery != Battery::default()).then_some(battery)
}

/// Current in amperes; see the head of this module for its unit and sign.
pub fn current_a(tree: &Tree) -> Option<f64> {
    let raw = tree.number(&format!("{}/current_now", folder(tree)?))?;
    Some(match raw.abs() < MILLIAMPERES_BELOW {
        true => raw / 1e3,
        false => raw / 1e6,
    })
}

/// The group `battery`: the current while the probe only waits.
pub fn cases(tree: &Tree, extras: Extras) -> Vec<Case> {
    let tree = tree.clone();
    let current = move || extras.now().battery_current_a.or_else(|| current_a(&tree));
    vec![Case {
        kernel: "battery_current",
        group: Group::Battery,
        parameters: Parameters::new(),
        work: Work::Experiment(Arc::new(move |budget| waiting(&current, budget))),
        scales: false,
    }]
}

fn waiting(
    current: &dyn Fn() -> Option<f64>,
    budget: &Budget<'_>,
) -> Result<Vec<Series>, Unmeasured> {
    let first = current().ok_or_else(|| Unmeasured::because("no battery says its current"))?;
    let mut values = vec![first];
    let start = Instant::now();
    while start.elapsed() + INTERVAL < budget.time_limit && !budget.stop.is_raised() {
        thread::sleep(INTERVAL);
        values.extend(current());
    }
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
/// See the head of this module.
const MILLIAMPERES_BELOW: f64 = 20_000.0;
/// Fuel gauges renew their figure a few times a second at best.
const INTERVAL: Duration = Duration::from_millis(100);
