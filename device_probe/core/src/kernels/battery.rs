//! The kernel of the group `battery`: the current that is drawn from it while the probe only waits.
//!
//! What deliberately does not live here: where a current is read and in which unit
//! ([`host::battery`](crate::host::battery)).

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::host::battery::{amperes, is_discharging, reading};
use crate::host::{Extras, Tree};
use crate::kernel::{Budget, Case, Group, Parameters, Series, Unmeasured, Work};

/// The cases of this group.
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

/// Fuel gauges renew their figure a few times a second at best.
const INTERVAL: Duration = Duration::from_millis(100);
