//! What people are told of a report: a summary of it in a screen, or all of it as a table.
//!
//! Lines only; who prints them decides where.

use std::path::Path;

use pocketsim_probe_core::report::figures::{
    case_name, figure, figures, main_figures, with_unit, Figure,
};
use pocketsim_probe_core::report::{Condition, Measurement, Report, Spoiled, Status};

/// The device, what spoiled the run, the figures that people look for first, and what to do next
/// with the report in `file`.
pub fn summary(report: &Report, file: Option<&Path>) -> Vec<String> {
    let mut lines = vec![title(report)];
    lines.extend(spoiled(&report.spoiled));
    lines.extend(main_table(report));
    lines.extend(next(report, file));
    lines
}

/// Every quantity of every case, a line each, and why cases have none.
pub fn table(report: &Report) -> Vec<String> {
    let rows = report.measurements.iter().flat_map(rows);
    let head = ["case", "quantity", "median", "5 %", "95 %", ""].map(str::to_owned);
    aligned([head].into_iter().chain(rows).collect())
}

/// The device as its maker calls it, or else its processor.
pub fn device_name(report: &Report) -> String {
    let name = format!("{} {}", report.device.manufacturer, report.device.model);
    match name.trim() {
        "" => report.device.soc.clone(),
        name => name.to_owned(),
    }
}

/// How many cases have figures, or have none.
pub fn count(report: &Report, status: Status) -> usize {
    let cases = report.measurements.iter();
    cases
        .filter(|measurement| measurement.status == status)
        .count()
}

fn title(report: &Report) -> String {
    let missing = match count(report, Status::NotMeasured) {
        0 => String::new(),
        missing => format!(", {missing} not"),
    };
    format!(
        "{} ({}), {} run of {:.0} s: {} cases measured{missing}",
        device_name(report),
        report.device.abi,
        report.made.depth.name(),
        report.made.duration_s,
        count(report, Status::Measured),
    )
}

fn spoiled(spoiled: &[Spoiled]) -> Vec<String> {
    if spoiled.is_empty() {
        return vec!["clean: nothing spoiled this run".to_owned()];
    }
    let mut lines = vec!["spoiled:".to_owned()];
    let told = spoiled.iter().take(SPOILED_MAX);
    lines.extend(told.map(|one| format!("  {} ({})", words(one.condition), cut(&one.detail))));
    let others = spoiled.iter().skip(SPOILED_MAX);
    let others: Vec<_> = others.map(|one| words(one.condition)).collect();
    if !others.is_empty() {
        lines.push(format!("  and: {}", others.join("; ")));
    }
    lines
}

fn words(condition: Condition) -> &'static str {
    match condition {
        Condition::Emulator => "this is an emulator, no device",
        Condition::VirtualMachine => "this is a virtual machine, whose cores others share",
        Condition::Debuggable => "the app or the system is built for debugging",
        Condition::DebugBuild => "the probe was compiled without optimisation",
        Condition::Throttled => "the device became slower, as when it is too hot",
        Condition::LowBattery => "the battery was low",
        Condition::PowerSave => "power is saved",
        Condition::CoarseClock => "the clock is too coarse",
        Condition::Noisy => "something else used the cores",
        Condition::Unsettled => "many cases were still changing when their samples began",
        Condition::CoresApart => "the two cores share no cache",
        Condition::Stopped => "the run was stopped early",
    }
}

/// A detail that names many cases ends after the first ones.
fn cut(detail: &str) -> String {
    let Some((end, _)) = detail.char_indices().nth(DETAIL_MAX) else {
        return detail.to_owned();
    };
    let (kept, _) = detail[..end]
        .rsplit_once(", ")
        .unwrap_or((&detail[..end], ""));
    format!("{kept}, ...")
}

/// The main figures; of a report that has none of them, the first ones that it has.
fn main_table(report: &Report) -> Vec<String> {
    let mut found: Vec<(String, Figure)> = main_figures(report)
        .into_iter()
        .map(|(words, figure)| (words.to_owned(), figure))
        .collect();
    if found.is_empty() {
        let others = report.measurements.iter().filter_map(figure);
        let named = others.map(|figure| (figure.quantity.clone(), figure));
        found = named.take(FIGURES_MAX).collect();
    }
    if found.is_empty() {
        return Vec::new();
    }
    let head = ["", "median", "90 % of samples", "case"].map(str::to_owned);
    let rows = found.into_iter().map(|(words, figure)| {
        let value = |value| with_unit(&figure.quantity, value);
        let range = format!("{} to {}", value(figure.low), value(figure.high));
        [words, value(figure.median), range, figure.name]
    });
    aligned([head].into_iter().chain(rows).collect())
}

/// Where the report is, and the command that makes a profile of it.
fn next(report: &Report, file: Option<&Path>) -> Vec<String> {
    let Some(file) = file else {
        return vec!["report: on stdout; -o FILE writes it into a file".to_owned()];
    };
    let (shown, profile) = (quoted(file), quoted(&file.with_extension("toml")));
    let spoiled = match report.clean() {
        true => "",
        false => " --allow-spoiled",
    };
    vec![
        format!("report: {}", file.display()),
        format!("all figures: probe check --table {shown}"),
        format!("next: pocketsim calibrate {shown}{spoiled} -o {profile}"),
    ]
}

/// As a shell reads it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+=:@%,".contains(letter);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

fn rows(measurement: &Measurement) -> Vec<[String; 6]> {
    let noisy = match measurement.noisy {
        true => "noisy".to_owned(),
        false => String::new(),
    };
    let mut rows: Vec<_> = figures(measurement)
        .map(|figure| {
            let value = |value| with_unit(&figure.quantity, value);
            let [median, low, high] = [figure.median, figure.low, figure.high].map(value);
            [
                figure.name,
                figure.quantity,
                median,
                low,
                high,
                noisy.clone(),
            ]
        })
        .collect();
    if rows.is_empty() {
        let reason = measurement.reason.as_deref().unwrap_or_default();
        let mut row = [(); 6].map(|()| String::new());
        (row[0], row[1]) = (case_name(measurement), format!("not measured: {reason}"));
        rows.push(row);
    }
    rows
}

/// Columns as wide as what is in them; what is alone at the end of a line makes none wider.
fn aligned<const N: usize>(rows: Vec<[String; N]>) -> Vec<String> {
    let is_last = |row: &[String; N], at: usize| row[at + 1..].iter().all(String::is_empty);
    let width = |at: usize| {
        let cells = rows.iter().filter(|row| !is_last(row, at));
        let widths = cells.map(|row| row[at].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<_> = cells
            .map(|(cell, &width)| format!("{cell:width$}"))
            .collect();
        format!("  {}", cells.join("  ")).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The longest summary, with all progress, has 25 lines.
const SPOILED_MAX: usize = 5;
const FIGURES_MAX: usize = 8;
/// Two lines of a terminal.
const DETAIL_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let text = include_str!("../../../tests/reports/linux_vm.json");
        serde_json::from_str(text).expect("a report")
    }

    fn said(report: &Report, file: Option<&str>) -> String {
        summary(report, file.map(Path::new)).join("\n")
    }

    #[test]
    fn a_summary_fits_a_screen_whatever_spoiled_the_run() {
        let mut report = report();
        let conditions = Condition::ALL.iter();
        let spoiled = conditions.map(|&condition| Spoiled {
            condition,
            detail: "long ".repeat(100),
        });
        report.spoiled = spoiled.collect();
        let lines = summary(&report, Some(Path::new("r.json")));
        let progress = 4;
        assert!(lines.len() + progress <= 25, "{lines:#?}");
        let text = lines.join("\n");
        for &condition in Condition::ALL {
            assert!(text.contains(words(condition)), "{condition:?}");
        }
        assert!(lines.iter().all(|line| line.chars().count() < 500));
    }

    #[test]
    fn a_detail_ends_with_a_whole_case() {
        let detail = format!("25 of 43, the worst: {}", "sha256 64 B (apart), ".repeat(9));
        let told = cut(&detail);
        assert!(told.ends_with("sha256 64 B (apart), ..."), "{told}");
        assert!(told.chars().count() <= DETAIL_MAX + 5, "{told}");
        assert_eq!(cut("battery at 20 %"), "battery at 20 %");
    }

    #[test]
    fn figures_have_a_unit_and_a_spread() {
        let text = said(&report(), None);
        let sign = text.lines().find(|line| line.starts_with("  sign "));
        let sign = sign.expect("it was measured");
        assert_eq!(sign.matches(" us").count(), 3, "{sign}");
        assert!(sign.ends_with(" B"), "{sign}");
        assert!(!text.contains("verify"), "it was not measured: {text}");
    }

    #[test]
    fn the_next_command_is_one_to_paste() {
        let mut report = report();
        let next = |report: &Report, file| said(report, Some(file));
        assert!(next(&report, "a b/r.json")
            .ends_with("next: pocketsim calibrate 'a b/r.json' --allow-spoiled -o 'a b/r.toml'"));
        report.spoiled.clear();
        let clean = next(&report, "r.json");
        assert!(clean.ends_with("next: pocketsim calibrate r.json -o r.toml"));
        assert!(clean.contains("clean: nothing spoiled this run"));
        assert!(said(&report, None).contains("report: on stdout"));
    }

    #[test]
    fn without_a_main_figure_there_are_others() {
        let mut report = report();
        report
            .measurements
            .retain(|one| one.kernel == "sleep_overshoot");
        let text = said(&report, None);
        assert!(text.contains("sleep_overshoot requested_s=0.004"), "{text}");
        report.measurements.clear();
        assert!(said(&report, None).contains("0 cases measured"));
    }

    #[test]
    fn a_table_has_every_quantity_and_every_reason() {
        let mut report = report();
        let last = report.measurements.last_mut().expect("there are some");
        (last.status, last.reason) = (Status::NotMeasured, Some("no such call".to_owned()));
        last.quantities.clear();
        report.measurements[0].noisy = true;
        let lines = table(&report);
        let quantities = report.measurements.iter().map(|one| one.quantities.len());
        assert_eq!(lines.len(), 1 + quantities.sum::<usize>() + 1);
        assert!(lines[1].ends_with("noisy"), "{}", lines[1]);
        let reason = lines.last().expect("there are some");
        assert!(reason.ends_with("not measured: no such call"), "{reason}");
    }
}
