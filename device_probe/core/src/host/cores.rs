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
    let classes = classes(&speeds(tree, &numbers));
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
/// between. All are alike if they are equally fast; of a core without a speed nothing is known.
pub fn classes(speeds: &[Option<f64>]) -> Vec<CoreClass> {
    let known: Vec<f64> = speeds.iter().flatten().copied().collect();
    let fastest = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let slowest = known.iter().copied().fold(f64::INFINITY, f64::min);
    if known.is_empty() || fastest == slowest {
        return vec![CoreClass::All; speeds.len()];
    }
    let class = |speed: &Option<f64>| match *speed {
        None => CoreClass::All,
        Some(speed) if speed == fastest => CoreClass::Big,
        Some(speed) if speed == slowest => CoreClass::Little,
        Some(_) => CoreClass::Middle,
    };
    speeds.iter().map(class).collect()
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

/// How fast the cores are, all by the same measure: the scheduler's capacity, which counts what a
/// core does in a cycle too, or else the highest frequency. A core that is offline has neither, and
/// one that is online without either leaves the others without a speed to compare with.
fn speeds(tree: &Tree, numbers: &[u32]) -> Vec<Option<f64>> {
    let by = |speed: &dyn Fn(u32) -> Option<f64>| {
        let of = |&number: &u32| speed(number).filter(|_| is_online(tree, number));
        numbers.iter().map(of).collect::<Vec<_>>()
    };
    let measures = [
        by(&|number| tree.number(&format!("{FOLDER}/cpu{number}/cpu_capacity"))),
        by(&|number| khz(tree, number, "cpuinfo_max_freq")),
    ];
    let complete = |speeds: &Vec<Option<f64>>| {
        let both = numbers.iter().zip(speeds);
        both.into_iter()
            .all(|(&number, speed)| speed.is_some() || !is_online(tree, number))
    };
    let found = measures.into_iter().find(complete);
    found.unwrap_or_else(|| vec![None; numbers.len()])
}

/// The first core often cannot be taken offline and has no such file.
fn is_online(tree: &Tree, number: u32) -> bool {
    tree.text(&format!("{FOLDER}/cpu{number}/online"))
        .as_deref()
        != Some("0")
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
