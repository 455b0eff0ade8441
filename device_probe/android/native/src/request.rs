//! What the app asks for, as JSON.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use pocketsim_probe_core::host::HostExtras;
use pocketsim_probe_core::kernel::Depth;
use pocketsim_probe_core::run;
use pocketsim_probe_core::trade::link::{Link, LINK_PREFIX};
use pocketsim_probe_core::trade::{Carrier, DialOptions, ListenOptions};
use serde::Deserialize;

/// One activity.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "activity", rename_all = "snake_case")]
pub enum Request {
    /// Measure this phone.
    Run(Run),
    /// Wait for a peer and trade with it.
    Listen(Listen),
    /// Trade with a peer that waits.
    Dial(Dial),
    /// Panic, so that a test sees the shipped library survive it.
    Fault(Fault),
}

/// Measure this phone.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// How thorough.
    pub depth: Depth,
    /// A folder for files that are written and removed again.
    pub scratch: PathBuf,
    /// A serving probe to measure the link to.
    #[serde(default)]
    pub peer: Option<SocketAddr>,
    /// Groups or kernels; empty for all.
    #[serde(default)]
    pub only: Vec<String>,
    /// Threads at most; as many as there are cores without.
    #[serde(default)]
    pub threads_max: Option<usize>,
    /// What the user says about the run.
    #[serde(default)]
    pub note: Option<String>,
    /// What only Java knows, at the start.
    #[serde(default)]
    pub extras: HostExtras,
}

/// Wait for a peer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// Control and UDP blocks; QUIC takes the next port, TFTP the one after.
    pub bind: SocketAddr,
    /// Where the events go, if anywhere.
    #[serde(default)]
    pub output: Option<PathBuf>,
}

/// Trade with a peer that waits.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dial {
    /// Its address or link.
    pub peer: String,
    /// What carries the blocks, by name.
    pub carrier: String,
    /// Proposals per second, one rung of the ladder each.
    pub rates_per_s: Vec<f64>,
    /// How long each repetition proposes, in seconds.
    pub duration_s: f64,
    /// Nominal payload in bytes; that of the theses without.
    #[serde(default)]
    pub payload_bytes: Option<u32>,
    /// Repetitions of each rung; those of the theses without.
    #[serde(default)]
    pub repetitions: Option<u32>,
    /// Rest between repetitions and rungs, in seconds; that of the theses without.
    #[serde(default)]
    pub pause_s: Option<f64>,
    /// Where the events go, if anywhere.
    #[serde(default)]
    pub output: Option<PathBuf>,
}

/// Where to panic.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// On the thread of the session, or in the call that starts it.
    pub on_thread: bool,
}

impl Request {
    /// Read a request.
    ///
    /// # Errors
    /// Not UTF-8, not JSON, not a request, or one that cannot be; the text says what.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = text(bytes)?;
        let request = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match &request {
            Self::Run(run) => run::check(&run.options()).map_err(|reason| reason.to_string())?,
            Self::Dial(dial) => dial.check()?,
            Self::Listen(_) | Self::Fault(_) => {}
        }
        Ok(request)
    }

    /// Its name in a status.
    pub fn activity(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Listen(_) => "listen",
            Self::Dial(_) => "dial",
            Self::Fault(_) => "fault",
        }
    }
}

impl Run {
    /// As the core wants it, without what only Java knows.
    pub fn options(&self) -> run::Options {
        run::Options {
            peer: self.peer,
            only: self.only.clone(),
            threads_max: self.threads_max,
            note: self.note.clone(),
            ..run::Options::new(self.depth, self.scratch.clone())
        }
    }
}

impl Listen {
    /// As the core wants it.
    pub fn options(&self) -> ListenOptions {
        ListenOptions {
            output: self.output.clone(),
            ..ListenOptions::new(self.bind)
        }
    }
}

impl Dial {
    /// As the core wants it; asks the system for the address of a name, which may take a while.
    ///
    /// # Errors
    /// No such peer.
    pub fn options(&self) -> Result<DialOptions, String> {
        let theses = DialOptions::new(resolve(&self.peer()?)?, self.carrier()?);
        Ok(DialOptions {
            rates_per_s: self.rates_per_s.clone(),
            payload_bytes: self.payload_bytes.unwrap_or(theses.payload_bytes),
            duration: duration("duration_s", self.duration_s)?,
            repetitions: self.repetitions.unwrap_or(theses.repetitions),
            pause: self.pause()?.unwrap_or(theses.pause),
            output: self.output.clone(),
            ..theses
        })
    }

    /// Everything that needs no network.
    fn check(&self) -> Result<(), String> {
        self.peer()?;
        self.carrier()?;
        duration("duration_s", self.duration_s)?;
        self.pause().map(|_| ())
    }

    fn pause(&self) -> Result<Option<Duration>, String> {
        let seconds = self.pause_s.map(|seconds| duration("pause_s", seconds));
        seconds.transpose()
    }

    fn peer(&self) -> Result<Link, String> {
        self.peer.parse().map_err(|bad| format!("peer: {bad}"))
    }

    fn carrier(&self) -> Result<Carrier, String> {
        let named = |carrier: &&Carrier| carrier.name() == self.carrier;
        let known = Carrier::ALL.iter().find(named).copied();
        known.ok_or_else(|| format!("carrier: {:?} is none that there is", self.carrier))
    }
}

/// `HOST:PORT` of a link, as people type it.
pub fn address(link: &Link) -> String {
    link.to_string().split_off(LINK_PREFIX.len())
}

/// Bytes as text.
///
/// # Errors
/// Not UTF-8; the text says where.
pub fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| error.to_string())
}

fn resolve(link: &Link) -> Result<SocketAddr, String> {
    let failed = |reason: &str| format!("no address of {}: {reason}", link.host);
    let mut found = (link.host.as_str(), link.port)
        .to_socket_addrs()
        .map_err(|error| failed(&error.to_string()))?;
    found.next().ok_or_else(|| failed("none known"))
}

fn duration(name: &str, seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("{name}: {error}"))
}
