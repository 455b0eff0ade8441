//! Ctrl-C and its relatives: the first asks the run to end, the second does not wait for it.

use std::process;

use pocketsim_probe_core::stop::Stop;

use crate::say::say;

/// A flag that SIGINT, SIGTERM or SIGHUP raises; a second signal ends the process at once with 130.
///
/// Call it once, at the beginning of a verb.
pub fn stop_on_interrupt() -> Stop {
    let stop = Stop::new();
    let raised = stop.clone();
    ctrlc::set_handler(move || interrupted(&raised)).expect("only one handler in a process");
    stop
}

fn interrupted(stop: &Stop) {
    if stop.is_raised() {
        process::exit(INTERRUPTED.into());
    }
    stop.raise();
    say("probe: ending; once more to end at once");
}

/// 128 + SIGINT, as shells report it.
pub const INTERRUPTED: u8 = 130;
