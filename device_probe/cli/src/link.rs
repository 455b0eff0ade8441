//! `probe link`: a link with known faults between two probes.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use pocketsim_probe_core::relay::rule::{Bursts, Faults};
use pocketsim_probe_core::relay::statistics::{Counts, Statistics};
use pocketsim_probe_core::relay::{Options, Relay};

use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::quantity::{self, UpDown};

/// Arguments of `probe link`.
///
/// Every fault takes one value for both directions, or one for each: `20ms/40ms` is 20 ms up
/// (from the clients to the server) and 40 ms down.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Where clients send to; the ports after it follow (port 0: any that are free).
    #[arg(long, value_name = "ADDR:PORT")]
    listen: SocketAddr,
    /// Where the server listens; its ports after it follow.
    #[arg(long, value_name = "ADDR:PORT")]
    to: SocketAddr,
    /// How many consecutive ports: control and UDP, QUIC, TFTP.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
    ports: u16,
    /// Added to every datagram, such as 20ms.
    #[arg(long, default_value = "0", value_parser = quantity::durations)]
    delay: UpDown,
    /// At most this is added on top. Each flow's order is kept, so the share is uniform only where
    /// its datagrams are further apart than this; see the delay added in the statistics.
    #[arg(long, default_value = "0", value_parser = quantity::durations)]
    jitter: UpDown,
    /// Let jitter change the order; then its share is uniform for every datagram.
    #[arg(long)]
    jitter_reorders: bool,
    /// IP packets lost outside bursts, such as 1%; a datagram is lost with any of its packets.
    #[arg(long, default_value = "0", value_parser = quantity::ratios)]
    loss: UpDown,
    /// Share of all packets that meet a burst of loss (Gilbert-Elliott).
    #[arg(long, requires = "bursts_mean_packets", value_parser = quantity::ratios)]
    bursts_share: Option<UpDown>,
    /// Mean length of a burst in packets; at least 1 / (1 - share), that of chance.
    #[arg(long, requires = "bursts_share", value_parser = quantity::means)]
    bursts_mean_packets: Option<UpDown>,
    /// Packets in a burst that are lost.
    #[arg(long, default_value = "100%", requires = "bursts_share", value_parser = quantity::ratios)]
    bursts_loss: UpDown,
    /// Datagrams overtaken by the next one of their flow (after 200ms they go on alone).
    #[arg(long, default_value = "0", value_parser = quantity::ratios)]
    reorder: UpDown,
    /// Datagrams delivered twice.
    #[arg(long, default_value = "0", value_parser = quantity::ratios)]
    duplicate: UpDown,
    /// Bandwidth with IP and UDP headers, such as 10Mbps; unlimited if not given.
    #[arg(long, value_parser = quantity::bandwidths)]
    rate: Option<UpDown>,
    /// What may wait for the rate; more is dropped.
    #[arg(long, default_value = "64kB", requires = "rate", value_parser = quantity::sizes)]
    queue: UpDown,
    /// Root of all chance: the same seed gives the n-th datagram of a direction the same chance, and
    /// its n-th IP packet the same bursts; what is of no flow is dropped, draws none and does not
    /// count.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A flow without datagrams for so long is closed; at least 2s.
    #[arg(long, default_value = "60s", value_parser = quantity::duration)]
    idle: Duration,
    /// Print the statistics as JSON.
    #[arg(long)]
    json: bool,
}

/// Relay until interrupted; the first line on stdout is the address, the rest statistics.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let options = options(arguments);
    options.check().map_err(Failure::usage)?;
    let stop = stop_on_interrupt();
    let cannot = |what: &str, error| Failure::environment(format!("cannot {what}: {error}"));
    let relay = Relay::bind(&options)
        .map_err(|error| cannot(&format!("listen on {}", arguments.listen), error))?;
    say(&relay.address().to_string())?;
    let statistics = relay.run(&stop).map_err(|error| cannot("relay", error))?;
    say(&match arguments.json {
        true => serde_json::to_string(&statistics).expect("plain numbers"),
        false => text(&statistics),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &Arguments) -> Options {
    Options {
        listen: arguments.listen,
        to: arguments.to,
        ports: arguments.ports,
        up: faults(arguments, |pair| pair.up),
        down: faults(arguments, |pair| pair.down),
        seed: arguments.seed,
        idle: arguments.idle,
    }
}

fn faults(arguments: &Arguments, of: impl Fn(UpDown) -> f64) -> Faults {
    Faults {
        delay_s: of(arguments.delay),
        jitter_s: of(arguments.jitter),
        jitter_reorders: arguments.jitter_reorders,
        loss_ratio: of(arguments.loss),
        bursts: arguments
            .bursts_share
            .zip(arguments.bursts_mean_packets)
            .map(|(share, mean_packets)| Bursts {
                share: of(share),
                mean_packets: of(mean_packets),
                loss_ratio: of(arguments.bursts_loss),
            }),
        reorder_ratio: of(arguments.reorder),
        duplicate_ratio: of(arguments.duplicate),
        rate_bytes_per_s: arguments.rate.map(&of),
        queue_bytes: of(arguments.queue) as u64,
    }
}

fn say(line: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::environment(format!("cannot write to stdout: {error}")))
}

fn text(statistics: &Statistics) -> String {
    let Statistics {
        elapsed_s,
        flows_opened,
        flows_closed,
        ..
    } = statistics;
    format!(
        "{elapsed_s:.1} s, {flows_opened} flows, {flows_closed} of them closed again\n\
         up:   {}\ndown: {}",
        direction(&statistics.up),
        direction(&statistics.down),
    )
}

fn direction(counts: &Counts) -> String {
    let dropped = counts.dropped_datagrams.iter();
    let dropped: Vec<_> = dropped
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    let microseconds = |of: Option<f64>| of.map_or("-".into(), |of_s| format!("{:.0}", of_s * 1e6));
    format!(
        "{} datagrams ({} B) in, {} ({} B) out, {} reordered, {} duplicated, dropped: {}, \
         under way {}, missed {}; delay added {} us p50, {} us p99; late by {} us p50, {} us p99",
        counts.received_datagrams,
        counts.received_bytes,
        counts.delivered_datagrams,
        counts.delivered_bytes,
        counts.reordered_datagrams,
        counts.duplicated_datagrams,
        if dropped.is_empty() {
            "none".to_owned()
        } else {
            dropped.join(", ")
        },
        counts.under_way_datagrams,
        counts.missed_datagrams,
        microseconds(counts.delay_added.p50_s),
        microseconds(counts.delay_added.p99_s),
        microseconds(counts.lateness.p50_s),
        microseconds(counts.lateness.p99_s),
    )
}
