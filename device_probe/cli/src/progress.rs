//! The progress of a run on stderr: a line for each case, and a bar on a terminal.

use std::io::IsTerminal;
use std::sync::Mutex;

use pocketsim_probe_core::kernel::Case;
use pocketsim_probe_core::report::figures::{case_name, figure, with_unit};
use pocketsim_probe_core::report::Measurement;
use pocketsim_probe_core::run::Observer;

use crate::say::{say, say_for_now};

/// Shows what a run does.
pub struct Progress {
    quiet: bool,
    terminal: bool,
    place: Mutex<(usize, usize)>,
}

impl Progress {
    /// On stderr, or nowhere.
    pub fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            place: Mutex::new((0, 0)),
        }
    }
}

impl Observer for Progress {
    fn started(&self, number: usize, total: usize, case: &Case) {
        *self.place.lock().expect("nobody panics with it") = (number, total);
        if self.terminal && !self.quiet {
            let bar = bar(number - 1, total);
            say_for_now(format_args!("{ERASE}{bar} {}", case.kernel));
        }
    }

    fn measured(&self, measurement: &Measurement) {
        if self.quiet {
            return;
        }
        let (number, total) = *self.place.lock().expect("nobody panics with it");
        let erase = if self.terminal { ERASE } else { "" };
        say(format_args!(
            "{erase}[{number}/{total}] {}",
            line(measurement)
        ));
    }
}

fn line(measurement: &Measurement) -> String {
    let name = case_name(measurement);
    match figure(measurement) {
        Some(figure) => {
            let value = with_unit(&figure.quantity, figure.median);
            format!("{name}: {value}")
        }
        None => {
            let reason = measurement.reason.as_deref().unwrap_or_default();
            format!("{name}: not measured: {reason}")
        }
    }
}

fn bar(done: usize, total: usize) -> String {
    let filled = BAR_WIDTH * done / total.max(1);
    format!("[{}{}]", "#".repeat(filled), " ".repeat(BAR_WIDTH - filled))
}

const BAR_WIDTH: usize = 24;
/// Back to the line's start, and clear it.
const ERASE: &str = "\r\x1b[2K";
