//! `probe trade`: arguments to options, and the outcome for people or as JSON.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::Subcommand;
use qrcode::render::unicode::Dense1x2;

use pocketsim_probe_core::trade::link::{Link, DEFAULT_PORT};
use pocketsim_probe_core::trade::outcome::Repetition;
use pocketsim_probe_core::trade::{
    dial, listen, Carrier, DialOptions, ListenOptions, Outcome, Pacing, Progress, Storage,
    TradeError, TradeObserver,
};

use crate::failure::Failure;
use crate::interrupt::{stop_on_interrupt, INTERRUPTED};
use crate::quantity;

/// Arguments of `probe trade`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Countersign what diallers propose, until interrupted.
    Listen(ListenArguments),
    /// Propose blocks to a listener, over every rate and repetition.
    // The larger by far.
    Dial(Box<DialArguments>),
}

#[derive(Debug, clap::Args)]
struct ListenArguments {
    /// Address of control and UDP blocks; QUIC takes the next port, TFTP the one after. The default is
    /// open to the network, as another phone has to reach it; 127.0.0.1:4747 is not.
    #[arg(long, default_value_t = SocketAddr::from(([0, 0, 0, 0], DEFAULT_PORT)))]
    bind: SocketAddr,
    /// Show the link also as a QR code.
    #[arg(long)]
    qr: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct DialArguments {
    /// HOST:PORT of a listener, or the link that it shows.
    address: String,
    /// What carries the blocks.
    #[arg(long, default_value = "udp", value_parser = names(Carrier::ALL.iter().map(|c| c.name())))]
    carrier: String,
    /// Proposals per second, one rung of the ladder each.
    #[arg(long, value_delimiter = ',', default_value = "16")]
    rate: Vec<f64>,
    /// Nominal payload in bytes.
    #[arg(long, default_value_t = 100)]
    payload: u32,
    /// How long each repetition proposes (25s, 500ms, 2min).
    #[arg(long, default_value = "25s", value_parser = quantity::duration)]
    duration: Duration,
    /// Repetitions of each rate.
    #[arg(long, default_value_t = 5)]
    repetitions: u32,
    /// Rest between repetitions.
    #[arg(long, default_value = "20s", value_parser = quantity::duration)]
    pause: Duration,
    /// Keep the rate by the clock, or sleep after each proposal as the app of the theses.
    #[arg(long, default_value = "absolute", value_parser = names(Pacing::ALL.iter().map(|p| p.name())))]
    pacing: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// File of the events: .csv as the benchmark app writes it, .json or .jsonl for tables.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// What storing a block does.
    #[arg(long, default_value = "memory", value_parser = names(Storage::ALL.iter().map(|s| s.name())))]
    store: String,
    /// How long the file of `--store` append or fsync may get (1GB, 200MB); what finds no room there
    /// is refused.
    #[arg(long, default_value = "1GB", value_name = "SIZE", value_parser = disk_bytes)]
    store_limit: u64,
    /// Begins the tags of a CSV.
    #[arg(long, default_value = "probe")]
    label: String,
    /// Print the outcome as JSON.
    #[arg(long)]
    json: bool,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.end {
        End::Listen(arguments) => main_listen(arguments),
        End::Dial(arguments) => main_dial(arguments),
    }
}

fn main_listen(arguments: &ListenArguments) -> Result<ExitCode, Failure> {
    let common = &arguments.common;
    let options = ListenOptions {
        output: common.output.clone(),
        storage: by_name(Storage::ALL, Storage::name, &common.store),
        store_limit_bytes: common.store_limit,
        label: common.label.clone(),
        ..ListenOptions::new(arguments.bind)
    };
    let observer = Console {
        open: is_open(arguments.bind).then_some(arguments.bind.ip()),
        ..Console::new(arguments.qr)
    };
    let outcome = listen(&options, &observer, &stop_on_interrupt()).map_err(failure)?;
    print(&outcome, common.json)?;
    whole(&outcome)?;
    // An interrupt is how a listener ends.
    Ok(ExitCode::SUCCESS)
}

fn main_dial(arguments: &DialArguments) -> Result<ExitCode, Failure> {
    let common = &arguments.common;
    let options = DialOptions {
        peer: resolve(&arguments.address)?,
        carrier: by_name(Carrier::ALL, Carrier::name, &arguments.carrier),
        rates_per_s: arguments.rate.clone(),
        payload_bytes: arguments.payload,
        duration: arguments.duration,
        repetitions: arguments.repetitions,
        pause: arguments.pause,
        pacing: by_name(Pacing::ALL, Pacing::name, &arguments.pacing),
        output: common.output.clone(),
        storage: by_name(Storage::ALL, Storage::name, &common.store),
        store_limit_bytes: common.store_limit,
        label: common.label.clone(),
    };
    let outcome = dial(&options, &Console::new(false), &stop_on_interrupt()).map_err(failure)?;
    print(&outcome, common.json)?;
    whole(&outcome)?;
    match (outcome.stopped, outcome.complete) {
        (true, _) => Ok(ExitCode::from(INTERRUPTED)),
        (false, true) => Ok(ExitCode::SUCCESS),
        (false, false) => Err(Failure::check("blocks were lost or wrong")),
    }
}

/// What came of it is printed by then; this says what ended it early.
fn whole(outcome: &Outcome) -> Result<(), Failure> {
    match &outcome.error {
        Some(error) => Err(Failure::environment(error)),
        None => Ok(()),
    }
}

fn resolve(address: &str) -> Result<SocketAddr, Failure> {
    let link: Link = address
        .parse()
        .map_err(|error| Failure::usage(format!("address: {error}")))?;
    let found = (link.host.as_str(), link.port).to_socket_addrs();
    let found = found.map_err(|error| Failure::environment(format!("{}: {error}", link.host)))?;
    let mut found: Vec<SocketAddr> = found.collect();
    // Phones on a table speak IPv4; a listener binds 0.0.0.0 by default.
    found.sort_by_key(SocketAddr::is_ipv6);
    let none = || Failure::environment(format!("{} has no address", link.host));
    found.first().copied().ok_or_else(none)
}

fn failure(error: TradeError) -> Failure {
    match error {
        TradeError::Option("peer", reason) => Failure::usage(format!("ADDRESS: {reason}")),
        TradeError::Option(option, reason) => Failure::usage(format!("--{option}: {reason}")),
        TradeError::Io(error) => Failure::environment(error),
    }
}

/// Whether others than this machine can reach it.
fn is_open(bind: SocketAddr) -> bool {
    !bind.ip().to_canonical().is_loopback()
}

/// Says how far it is on stderr, and where a listener is on stdout.
struct Console {
    qr: bool,
    /// What a listener is bound to, if others can reach it.
    open: Option<IpAddr>,
    last: Mutex<String>,
}

impl Console {
    fn new(qr: bool) -> Self {
        Self {
            qr,
            open: None,
            last: Mutex::default(),
        }
    }
}

impl TradeObserver for Console {
    fn progress(&self, progress: &Progress) {
        let line = format!(
            "{}: {} sent, {} stored, {} refused, RTT p50 {:.2} ms",
            progress.stage,
            progress.sent,
            progress.stored,
            progress.refused,
            progress.rtt_s_p50 * 1e3
        );
        let mut last = self.last.lock().expect("only this function locks it");
        if *last != line {
            // Whoever closed our stderr does not want to know.
            let _ = writeln!(io::stderr(), "{line}");
            *last = line;
        }
    }

    fn listening(&self, address: SocketAddr) {
        let (host, port) = (address.ip().to_string(), address.port());
        if let Some(ip) = self.open {
            let ports = format!("{port} to {}", port + 2);
            let _ = writeln!(
                io::stderr(),
                "open to the network, for another phone to reach it: UDP ports {ports} at {ip} answer \
                 whoever asks; --bind 127.0.0.1:{port} keeps to this machine"
            );
        }
        let link = Link { host, port };
        let mut text = format!("listening on {address} {link}\n");
        if self.qr {
            text += &(drawing(&link.to_string()) + "\n");
        }
        let mut out = io::stdout().lock();
        // Whoever started this waits for the line, or has closed our stdout.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// As characters on a dark terminal, where what is printed is what is light.
fn drawing(link: &str) -> String {
    let code = qrcode::QrCode::new(link).expect("a link is short");
    let mut drawing = code.render::<Dense1x2>();
    drawing
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark)
        .build()
}

fn print(outcome: &Outcome, json: bool) -> Result<(), Failure> {
    let mut text = String::new();
    if json {
        text = serde_json::to_string_pretty(outcome).expect("figures are serialisable") + "\n";
    } else {
        for repetition in &outcome.repetitions {
            text += &line(repetition);
        }
        for (name, count) in &outcome.counted {
            text += &format!("counted {name}: {count}\n");
        }
    }
    let printed = io::stdout().write_all(text.as_bytes());
    printed.map_err(|error| Failure::environment(format!("stdout: {error}")))
}

fn line(repetition: &Repetition) -> String {
    let Repetition {
        repetition: number,
        dialler,
        stored,
        ..
    } = repetition;
    let refused: u32 = repetition.refused.values().sum();
    let Some(offered) = repetition.offered else {
        return format!("{number}: dialler {dialler}, {stored} stored, {refused} refused\n");
    };
    let rtt = match &repetition.rtt {
        Some(rtt) => format!(
            "p50 {:.3} ms, p99 {:.3} ms",
            rtt.p50_s * 1e3,
            rtt.p99_s * 1e3
        ),
        None => "none".to_owned(),
    };
    let verdict = match repetition.complete {
        true => "no block lost or wrong".to_owned(),
        false => format!("incomplete, lost {:?}", repetition.lost),
    };
    let short = match repetition.not_proposed.is_empty() {
        true => String::new(),
        false => format!("; not proposed {:?}", repetition.not_proposed),
    };
    format!(
        "{number}: {}/s, {offered} offered, {} sent, {stored} stored, {refused} refused; \
         RTT {rtt}; {verdict}{short}\n",
        repetition.rate_per_s.unwrap_or(0.0),
        repetition.sent
    )
}

fn names(names: impl Iterator<Item = &'static str>) -> PossibleValuesParser {
    PossibleValuesParser::new(names.collect::<Vec<_>>())
}

fn by_name<T: Copy>(all: &[T], name: fn(T) -> &'static str, wanted: &str) -> T {
    let found = all.iter().find(|&&one| name(one) == wanted);
    *found.expect("the parser takes names of these only")
}

fn disk_bytes(text: &str) -> Result<u64, String> {
    quantity::disk(text).map(|bytes| bytes as u64)
}
