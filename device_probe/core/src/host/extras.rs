//! What only Java knows of a device, and how it is asked while a run lasts.
//!
//! What deliberately does not live here: what becomes of it (`state`, `battery`, `virtuality`).

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

/// What only Java knows; the app hands it over, a command line leaves it empty.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostExtras {
    /// BatteryManager's `BATTERY_PROPERTY_CURRENT_NOW`, in amperes (Java gives microamperes).
    pub battery_current_a: Option<f64>,
    /// BatteryManager's level by scale, 0 to 1.
    pub battery_level_ratio: Option<f64>,
    /// BatteryManager's temperature in degrees Celsius (Java gives tenths).
    pub battery_temperature_c: Option<f64>,
    /// BatteryManager's status in words: `Charging`, `Discharging`, `Full`, `Not charging`.
    pub battery_status: Option<String>,
    /// PowerManager's thermal status, 0 to 6.
    pub thermal_status: Option<u8>,
    /// Whether the app is debuggable.
    pub debuggable: Option<bool>,
    /// PowerManager's power save mode.
    pub power_save: Option<bool>,
}

/// Where the facts come from that only Java knows.
#[derive(Clone, Default)]
pub struct Extras(Option<Arc<dyn Fn() -> HostExtras + Send + Sync>>);

impl Extras {
    /// Asked before, during and after the run, from the thread that runs it.
    pub fn live(ask: impl Fn() -> HostExtras + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// What they are now; nothing where there is nobody to ask.
    pub fn now(&self) -> HostExtras {
        self.0.as_ref().map(|ask| ask()).unwrap_or_default()
    }
}

impl fmt::Debug for Extras {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() {
            "Extras(live)"
        } else {
            "Extras(none)"
        })
    }
}
