//! How the device is at one time: battery, temperatures, frequencies, load.

use super::{battery, cores, HostExtras, Tree};
use crate::report::{Core, State, Zone};

/// Its state now.
pub fn read(tree: &Tree, cores: &[Core], extras: &HostExtras) -> State {
    let zones = tree.names(THERMAL, "thermal_zone");
    let frequency = |core: &Core| cores::frequency_hz(tree, core.number);
    State {
        battery: battery::read(tree, extras),
        thermal: zones.iter().filter_map(|name| zone(tree, name)).collect(),
        thermal_status: extras.thermal_status.filter(|status| *status <= 6),
        frequencies_hz: cores.iter().map(frequency).collect(),
        load_1min: load(tree),
        core_to_core_s: None,
    }
}

/// The file is in thousandths of a degree; zones without a sensor report nonsense.
fn zone(tree: &Tree, name: &str) -> Option<Zone> {
    let temperature_c = tree.number(&format!("{THERMAL}/{name}/temp"))? / 1e3;
    let zone = tree.text(&format!("{THERMAL}/{name}/type"));
    TEMPERATURES_C.contains(&temperature_c).then(|| Zone {
        zone: zone.unwrap_or_else(|| name.to_owned()),
        temperature_c,
    })
}

fn load(tree: &Tree) -> Option<f64> {
    let text = tree.text("proc/loadavg")?;
    let first = text.split_whitespace().next()?;
    first.parse().ok().filter(|load: &f64| load.is_finite())
}

const THERMAL: &str = "sys/class/thermal";
/// Outside of these no silicon works: unused zones say -274 or 0x7fffffff.
const TEMPERATURES_C: std::ops::Range<f64> = -60.0..200.0;
