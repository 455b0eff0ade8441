//! The state of the device around a run, as the report says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of the device before and after the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Before the first case.
    pub before: State,
    /// After the last case.
    pub after: State,
}

/// State of the device at one time; null or empty where the system does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The battery, if there is one.
    pub battery: Option<Battery>,
    /// Temperatures by zone.
    pub thermal: Vec<Zone>,
    /// Thermal status of Android's PowerManager: 0 none, 1 light, 2 moderate, ... 6 shutdown.
    #[schemars(range(max = 6))]
    pub thermal_status: Option<u8>,
    /// Frequency of each core in hertz.
    pub frequencies_hz: Vec<Option<f64>>,
    /// Mean number of tasks that run or want to, over the last minute.
    #[schemars(range(min = 0.0))]
    pub load_1min: Option<f64>,
    /// Time that a cache line takes from one core to the other, in seconds, where the probe could
    /// use exactly two cores.
    #[schemars(range(min = 0.0))]
    pub core_to_core_s: Option<f64>,
}

/// The battery.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Battery {
    /// Charge by capacity, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub level_ratio: Option<f64>,
    /// Temperature in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// What it is doing, in the system's words: `Charging`, `Discharging`, `Full`.
    pub status: Option<String>,
    /// Current in amperes, with the sign that the system gives (drivers disagree on it).
    pub current_a: Option<f64>,
}

/// One thermal zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// The kernel's name of the zone.
    pub zone: String,
    /// Its temperature in degrees Celsius.
    pub temperature_c: f64,
}
