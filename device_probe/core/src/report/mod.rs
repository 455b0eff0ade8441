//! The report, version 1: what the probe measured, as a document. All numbers are in SI units.
//!
//! These types are the origin of the format: `report.schema.json` is generated from them, and their
//! comments are its descriptions. What deliberately does not live here: how anything is measured.

use std::collections::BTreeMap;

use pocketsim_protocols::named_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::{Depth, Group};
pub use crate::sketch::Samples;
pub use conditions::{Battery, Conditions, State, Zone};

#[macro_use]
mod names;

#[cfg(feature = "check")]
pub mod check;
pub mod conditions;
pub mod figures;
pub mod known;
pub mod schema;
pub mod semantics;

/// A report of the device probe: what cryptography, serialisation, storage and the network cost on
/// one device. All numbers are in SI units: seconds, bytes, hertz, amperes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Report of pocketsim's device probe")]
pub struct Report {
    /// Version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub schema_version: u32,
    /// Which probe made the report, how and when.
    pub made: Made,
    /// What was measured.
    pub device: Device,
    /// State of the device before and after.
    pub conditions: Conditions,
    /// The clock that everything was measured with.
    pub clock: ClockFigures,
    /// A fixed kernel that was repeated throughout the run: slower means throttled.
    pub throttle: Throttle,
    /// What spoils the measurements; empty in a clean report.
    pub spoiled: Vec<Spoiled>,
    /// One entry for each case, in order of the catalogue.
    pub measurements: Vec<Measurement>,
}

impl Report {
    /// Whether nothing spoiled the measurements.
    pub fn clean(&self) -> bool {
        self.spoiled.is_empty()
    }

    /// As JSON on one line: a report is mostly numbers, and one number a line doubles its size.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("finite numbers and string keys")
    }
}

/// Which probe made the report, how and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// Version of the probe.
    pub probe_version: String,
    /// Target triple that the probe was compiled for.
    pub target: String,
    /// The C library that the probe calls.
    pub libc: LibC,
    /// Whether the probe was compiled with optimisation.
    pub build: Build,
    /// Versions of the libraries whose speed is measured.
    pub crates: BTreeMap<String, String>,
    /// Start of the run by the device's clock, RFC 3339, UTC.
    pub started_at: String,
    /// Length of the run in seconds.
    #[schemars(range(min = 0.0))]
    pub duration_s: f64,
    /// How thorough the run was.
    pub depth: Depth,
    /// How often the run went over its cases.
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Time that each round gave each case, in seconds; a case ends with a whole sample.
    #[schemars(range(min = 0.0))]
    pub case_budget_s: f64,
    /// Whether the user ended the run early.
    pub stopped: bool,
    /// Of earlier probes: whether they repeated steps of two cores that shared no cache.
    #[serde(default, skip_serializing)]
    pub near: bool,
    /// Of earlier probes: whether they kept idle cores from sleeping.
    #[serde(default, skip_serializing)]
    pub awake: bool,
    /// What the user said about the run.
    pub note: Option<String>,
}

named_enum! {
    /// The C library that the probe calls.
    LibC {
        /// GNU's.
        Gnu = "gnu",
        /// musl, linked statically.
        Musl = "musl",
        /// Android's.
        Bionic = "bionic",
    }
}
named_in_reports!(LibC);

named_enum! {
    /// Whether the probe was compiled with optimisation.
    Build {
        /// With optimisation and without debug assertions.
        Release = "release",
        /// Anything else.
        Debug = "debug",
    }
}
named_in_reports!(Build);
named_in_reports!(Depth);
named_in_reports!(Group);

/// What was measured; empty strings where the device does not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Who made it.
    pub manufacturer: String,
    /// Its name.
    pub model: String,
    /// System on a chip, or the processor's name.
    pub soc: String,
    /// Instruction set that the probe runs on, as Android names it.
    pub abi: String,
    /// Operating system with its version.
    pub os: String,
    /// Build of the operating system.
    pub os_build: String,
    /// Version of the kernel.
    pub kernel: String,
    /// Main memory in bytes.
    pub memory_bytes: u64,
    /// File system of the folder that storage was measured in; null where nobody looked.
    #[serde(default)]
    pub scratch_filesystem: Option<String>,
    /// Its cores, online or not.
    pub cores: Vec<Core>,
}

/// One core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Number that the kernel gave it.
    pub number: u32,
    /// Its kind among the cores of this device.
    pub core_class: CoreClass,
    /// Lowest frequency in hertz.
    pub frequency_min_hz: Option<f64>,
    /// Highest frequency in hertz.
    pub frequency_max_hz: Option<f64>,
    /// What chooses its frequency.
    pub governor: Option<String>,
}

named_enum! {
    /// The kind of a core among the cores of its device, by highest frequency or capacity.
    CoreClass {
        /// The fastest.
        Big = "big",
        /// Between the fastest and the slowest.
        Middle = "middle",
        /// The slowest.
        Little = "little",
        /// All are equal, or nothing is known.
        All = "all",
    }
}
named_in_reports!(CoreClass);

/// The clock that everything was measured with; its cost has been subtracted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockFigures {
    /// The system's name of the clock.
    pub name: String,
    /// Median step between readings that differ, in seconds.
    #[schemars(range(min = 0.0))]
    pub resolution_s: f64,
    /// Cost of one reading in seconds.
    #[schemars(range(min = 0.0))]
    pub read_s: f64,
    /// Cost of reading the CPU time of a thread, in seconds.
    #[schemars(range(min = 0.0))]
    pub cpu_read_s: f64,
}

/// A fixed kernel that was repeated throughout the run: slower means throttled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// What was repeated.
    pub kernel: String,
    /// Its median duration before the first case, in seconds; the least of several tries.
    pub baseline_s: f64,
    /// Time spent waiting for the device to cool down, in seconds.
    #[schemars(range(min = 0.0))]
    pub paused_s: f64,
    /// Kind of the cores that it was confined to; null where it was free to move.
    #[serde(default)]
    pub core_class: Option<CoreClass>,
    /// Each repetition.
    pub checks: Vec<ThrottleCheck>,
}

/// One repetition of the fixed kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThrottleCheck {
    /// When, in seconds since the start of the run.
    #[schemars(range(min = 0.0))]
    pub at_s: f64,
    /// Median duration in seconds.
    pub median_s: f64,
    /// Median duration by the baseline; above 1.1 the device is throttled.
    pub ratio: f64,
    /// Thermal status of Android's PowerManager then, 0 to 6; null where the system does not tell.
    #[schemars(range(max = 6))]
    #[serde(default)]
    pub thermal_status: Option<u8>,
}

/// Something that spoils the measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spoiled {
    /// What.
    pub condition: Condition,
    /// How it showed, for people.
    pub detail: String,
}

named_enum! {
    /// What can spoil measurements.
    Condition {
        /// Not a device at all.
        Emulator = "emulator",
        /// A guest shares its cores with others, unseen.
        VirtualMachine = "virtual_machine",
        /// A system or an app built for debugging.
        Debuggable = "debuggable",
        /// The probe was compiled without optimisation.
        DebugBuild = "debug_build",
        /// The fixed kernel became slower, or the system says that it is hot.
        Throttled = "throttled",
        /// Battery below a quarter: systems save power then.
        LowBattery = "low_battery",
        /// The user or a governor saves power.
        PowerSave = "power_save",
        /// The clock's step is too long for short samples.
        CoarseClock = "coarse_clock",
        /// Something else used the cores, or the rounds of many cases disagree.
        Noisy = "noisy",
        /// Many cases were still changing when their samples began.
        Unsettled = "unsettled",
        /// The two cores that the probe could use share no cache.
        CoresApart = "cores_apart",
        /// The user ended the run early.
        Stopped = "stopped",
    }
}
named_in_reports!(Condition);

/// One case: a kernel with its parameters, on some threads and cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Name of the kernel.
    pub kernel: String,
    /// What it is about.
    pub group: Group,
    /// Its parameters; the unit is the last part of a name.
    pub parameters: BTreeMap<String, f64>,
    /// Threads that did it at once.
    #[schemars(range(min = 1))]
    pub threads: u32,
    /// Cores that it was confined to; null where it was free to move.
    pub core_class: Option<CoreClass>,
    /// Whether there are figures.
    pub status: Status,
    /// Why there are none, or not as many as wanted.
    pub reason: Option<String>,
    /// What went before the first sample that counts, in all rounds; null for experiments.
    pub warm_up: Option<WarmUp>,
    /// Operations in each sample of the last round, see also `rounds`; null for experiments.
    #[schemars(range(min = 1))]
    pub iterations_per_sample: Option<u64>,
    /// Whether its rounds disagree, or others kept it from its cores.
    #[serde(default)]
    pub noisy: bool,
    /// Each round that contributed samples.
    pub rounds: Vec<Round>,
    /// What was measured; durations are per operation of one thread.
    pub quantities: Vec<Quantity>,
}

named_enum! {
    /// Whether a case has figures.
    Status {
        /// It has.
        Measured = "measured",
        /// It has none; the reason says why.
        NotMeasured = "not_measured",
    }
}
named_in_reports!(Status);

/// What went before the first sample that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// Samples that were thrown away.
    pub samples: u64,
    /// Whether the last durations had the median of those before, in every round.
    pub settled: bool,
}

/// One pass over the catalogue, as one case saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// When its samples began, in seconds since the start of the run.
    #[schemars(range(min = 0.0))]
    pub at_s: f64,
    /// Samples of the first quantity that it contributed.
    #[schemars(range(min = 1))]
    pub samples: u64,
    /// Their median, in the first quantity's unit.
    pub median: f64,
    /// Operations in each sample; null for experiments.
    #[schemars(range(min = 1))]
    #[serde(default)]
    pub iterations_per_sample: Option<u64>,
    /// Number of the core that it ended on; null for several threads.
    #[serde(default)]
    pub core: Option<u32>,
    /// Frequency of that core then, in hertz.
    #[serde(default)]
    pub frequency_hz: Option<f64>,
}

/// One quantity of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Name with its unit last: `wall_s`, `cpu_s`, `rate_per_s`, `capacity_datagrams`.
    pub name: String,
    /// Its samples.
    pub samples: Samples,
}

/// Version of the format.
pub const SCHEMA_VERSION: u32 = 1;
/// Samples kept for each quantity; more become quantiles. As the schema says.
pub const VALUES_MAX: usize = 1_000;
/// Samples kept in a whole report, so that the longest catalogue stays below [`REPORT_BYTES_MAX`].
pub const VALUES_TOTAL_MAX: usize = 300_000;
/// Cases of a report: the catalogue times thread counts and core classes, with room to spare.
pub const MEASUREMENTS_MAX: usize = 2_000;
/// Size that no report exceeds, in bytes; readers refuse larger files. Some 4 MB for the samples
/// and 3 kB for each quantity without samples, of which a case has at most three.
pub const REPORT_BYTES_MAX: usize = 32 << 20;
