//! The cores: their frequencies, and which of them are alike.

use super::Tree;
use crate::report::{Core, CoreClass};

/// Every core that the system lists, by number.
pub fn read(tree: &Tree) -> Vec<Core> {
    let names = tree.names(FOLDER, "cpu");
    let mut numbers: Vec<u32> = names
        .iter()
        .filter_map(|name| name[3..].parse().ok())
        .collect();
    numbers.sort_unstable();
    let speeds: Vec<_> = numbers.iter().map(|&number| speed(tree, number)).collect();
    let classes = classes(&speeds);
    let known = numbers.iter().zip(classes);
    known
        .map(|(&number, class)| core(tree, number, class))
        .collect()
}

/// The frequency that a core has now, in hertz.
pub fn frequency_hz(tree: &Tree, number: u32) -> Option<f64> {
    khz(tree, number, "scaling_cur_freq")
}

/// Whether the processor chooses its frequency itself, so that `powersave` is its normal mode.
pub fn governs_itself(tree: &Tree, number: u32) -> bool {
    let driver = tree.text(&cpufreq(number, "scaling_driver"));
    driver.is_some_and(|driver| SELF_GOVERNING.iter().any(|name| driver.starts_with(name)))
}

/// Numbers of the cores of a class.
pub fn of_class(cores: &[Core], class: CoreClass) -> Vec<u32> {
    let alike = cores.iter().filter(|core| core.core_class == class);
    alike.map(|core| core.number).collect()
}

/// The classes that a device has, the fastest first; none where all cores are alike.
pub fn distinct_classes(cores: &[Core]) -> Vec<CoreClass> {
    let has = |class: &CoreClass| cores.iter().any(|core| core.core_class == *class);
    let classes = [CoreClass::Big, CoreClass::Middle, CoreClass::Little];
    classes.into_iter().filter(has).collect()
}

/// The class of each core by how fast it is: the fastest are big, the slowest little, the rest in
/// between. All are alike if they are equally fast, or one of them says nothing.
pub fn classes(speeds: &[Option<f64>]) -> Vec<CoreClass> {
    let known: Option<Vec<f64>> = speeds.iter().copied().collect();
    let known = known.unwrap_or_default();
    let fastest = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let slowest = known.iter().copied().fold(f64::INFINITY, f64::min);
    if known.is_empty() || fastest == slowest {
        return vec![CoreClass::All; speeds.len()];
    }
    let class = |speed| match speed {
        speed if speed == fastest => CoreClass::Big,
        speed if speed == slowest => CoreClass::Little,
        _ => CoreClass::Middle,
    };
    known.into_iter().map(class).collect()
}

fn core(tree: &Tree, number: u32, core_class: CoreClass) -> Core {
    Core {
        number,
        core_class,
        frequency_min_hz: khz(tree, number, "cpuinfo_min_freq"),
        frequency_max_hz: khz(tree, number, "cpuinfo_max_freq"),
        governor: tree.text(&cpufreq(number, "scaling_governor")),
    }
}

/// How fast a core is among its fellows: the scheduler's capacity, which counts what a core does in
/// a cycle too, or else its highest frequency.
fn speed(tree: &Tree, number: u32) -> Option<f64> {
    let capacity = tree.number(&format!("{FOLDER}/cpu{number}/cpu_capacity"));
    capacity.or_else(|| khz(tree, number, "cpuinfo_max_freq"))
}

/// The files are in kilohertz (kernel documentation, admin-guide/pm/cpufreq).
fn khz(tree: &Tree, number: u32, file: &str) -> Option<f64> {
    tree.number(&cpufreq(number, file)).map(|khz| khz * 1e3)
}

fn cpufreq(number: u32, file: &str) -> String {
    format!("{FOLDER}/cpu{number}/cpufreq/{file}")
}

const FOLDER: &str = "sys/devices/system/cpu";
/// Drivers whose `powersave` adapts to the load (kernel documentation of both).
const SELF_GOVERNING: &[&str] = &["intel_pstate", "amd-pstate"];
