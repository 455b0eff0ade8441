//! Ctrl-C: the first ends the work in order, the second at once.

use pocketsim_probe_core::stop::Stop;

/// Let SIGINT, SIGTERM and SIGHUP raise `stop`; the second of them ends the process.
pub fn raises(stop: &Stop) {
    let stop = stop.clone();
    let handler = move || {
        if stop.is_raised() {
            std::process::exit(INTERRUPTED);
        }
        eprintln!("probe: ending after this sample; once more to end at once");
        stop.raise();
    };
    ctrlc::set_handler(handler).expect("the only handler of this process");
}

/// 128 + SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;
