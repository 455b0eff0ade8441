//! `probe serve`: answers another probe that measures the link to this one.
//!
//! One line of JSON on stdout when it listens, with both addresses; counters and the summary on
//! stderr.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Mutex;

use pocketsim_probe_core::peer::{serve, Addresses, ServeObserver, Stats};
use serde_json::json;

use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::say::{print, say};

/// Arguments of `probe serve`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Address and UDP port to listen on; QUIC takes the next port. Port 0 takes a free pair.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:7700")]
    bind: SocketAddr,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let bind = arguments.bind;
    if bind.port() == u16::MAX {
        return Err(Failure::usage(format!(
            "--bind {bind}: QUIC takes the next port, and there is none above 65535; 65534 is the last that works"
        )));
    }
    let stop = stop_on_interrupt();
    let stats = serve(bind, &Console::default(), &stop).map_err(|error| refused(bind, &error))?;
    say(format_args!("probe: served {}", json!(stats)));
    Ok(ExitCode::SUCCESS)
}

/// Shows what changed.
#[derive(Default)]
struct Console {
    shown: Mutex<Stats>,
}

impl ServeObserver for Console {
    fn bound(&self, addresses: Addresses) {
        print(json!(addresses));
        say("probe: serving until interrupted");
    }

    fn progress(&self, stats: &Stats) {
        let mut shown = self.shown.lock().expect("nobody panics while showing");
        if *shown != *stats {
            say(format_args!("probe: {}", line(stats)));
            *shown = stats.clone();
        }
    }
}

fn line(stats: &Stats) -> String {
    let refused: u64 = stats.udp_refused.values().sum();
    format!(
        "UDP {} answered, {} counted, {refused} refused; QUIC {} connections, {} streams",
        stats.udp_answered, stats.udp_counted, stats.quic_connections, stats.quic_streams
    )
}

fn refused(bind: SocketAddr, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable | ErrorKind::PermissionDenied => {
            Failure::environment(format!(
                "cannot listen on --bind {bind}: {error}; port 0 takes free ports above 1023"
            ))
        }
        _ => Failure::environment(format!("serving on {bind}: {error}")),
    }
}
