//! The two-phone experiment of the theses on real sockets.
//!
//! The TrustChain agent is the one that the simulator runs; here it has real keys and its
//! messages are bytes on UDP, QUIC (quinn) or TFTP sockets.
//!
//! | module | what lives there |
//! |---|---|
//! | [`listen()`], [`dial()`] | the two ends, with their threads |
//! | [`node`] | the agent, its peers and what it observed, without sockets |
//! | [`control`], [`negotiation`], [`host`] | what the ends say besides blocks: bytes, dialler, listener |
//! | [`places`], [`prefix`] | who is let in by QUIC, and whom an address stands for |
//! | `carrier`, [`tftp`], [`ports`] | sockets |
//! | [`pace`] | when to propose |
//! | [`log`], [`export`], [`outcome`] | what comes out |
//! | [`link`] | the link that a listener shows and a dialler reads |
//!
//! One-way traffic, as published: the dialler proposes, the listener countersigns.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use pocketsim_protocols::named_enum;

pub use dial::dial;
pub use listen::listen;
pub use outcome::Outcome;
pub use pace::Pacing;
pub use store::Storage;

pub(crate) mod carrier;
pub mod control;
mod cookie;
mod dial;
mod dialler;
pub mod envelope;
mod epoch;
pub mod export;
pub mod host;
mod limit;
pub mod link;
mod listen;
pub mod log;
mod names;
pub mod negotiation;
pub mod node;
mod options;
pub mod outcome;
pub mod pace;
pub mod places;
pub mod ports;
pub mod prefix;
pub mod store;
pub mod tftp;

named_enum! {
    /// What carries the blocks; the names are those of the simulator's scenarios.
    Carrier {
        /// One datagram for each message.
        Udp = "udp",
        /// A new endpoint and connection for each message.
        QuicReconnect = "quic_reconnect",
        /// One connection for each peer, kept.
        QuicKeep = "quic_keep",
        /// A write request for each message (RFC 1350).
        Tftp = "tftp",
    }
}

/// How long a listener waits for those who dial it by QUIC; a test makes it short.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a message and its answer on a stream.
    pub stream: Duration,
    /// For the first block of a connection, if others wait for its place.
    pub first_block: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            stream: carrier::quic::EXCHANGE_TIMEOUT,
            first_block: FIRST_BLOCK,
        }
    }
}

/// How to wait for a peer.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Control and UDP blocks; QUIC takes the next port, TFTP the one after.
    pub bind: SocketAddr,
    /// Where the events go, if anywhere: `.csv`, `.json` or `.jsonl`.
    pub output: Option<PathBuf>,
    /// What storing a block does.
    pub storage: Storage,
    /// How long the file of the stored blocks may get.
    pub store_limit_bytes: u64,
    /// Begins the tags of a CSV.
    pub label: String,
    /// With those who dial by QUIC.
    pub patience: Patience,
}

/// How to trade with a peer that listens.
#[derive(Clone, Debug)]
pub struct DialOptions {
    /// Its control port.
    pub peer: SocketAddr,
    /// What carries the blocks.
    pub carrier: Carrier,
    /// Proposals per second, one rung of the ladder each.
    pub rates_per_s: Vec<f64>,
    /// Nominal payload in bytes.
    pub payload_bytes: u32,
    /// How long each repetition proposes.
    pub duration: Duration,
    /// Repetitions of each rung.
    pub repetitions: u32,
    /// Rest between repetitions and rungs (20 s in the theses).
    pub pause: Duration,
    /// How the rate is kept.
    pub pacing: Pacing,
    /// Where the events go, if anywhere: `.csv`, `.json` or `.jsonl`.
    pub output: Option<PathBuf>,
    /// What storing a block does.
    pub storage: Storage,
    /// How long the file of the stored blocks may get.
    pub store_limit_bytes: u64,
    /// Begins the tags of a CSV.
    pub label: String,
}

impl ListenOptions {
    /// On `bind`, remembering nothing.
    pub fn new(bind: SocketAddr) -> Self {
        Self {
            bind,
            output: None,
            storage: Storage::Memory,
            store_limit_bytes: store::LIMIT_BYTES,
            label: LABEL.to_owned(),
            patience: Patience::default(),
        }
    }
}

impl DialOptions {
    /// The throughput thesis's experiment: 5 times 25 s with 20 s between them, at 16/s.
    pub fn new(peer: SocketAddr, carrier: Carrier) -> Self {
        Self {
            peer,
            carrier,
            rates_per_s: vec![16.0],
            payload_bytes: 100,
            duration: Duration::from_secs(25),
            repetitions: 5,
            pause: Duration::from_secs(20),
            pacing: Pacing::Absolute,
            output: None,
            storage: Storage::Memory,
            store_limit_bytes: store::LIMIT_BYTES,
            label: LABEL.to_owned(),
        }
    }
}

/// Live figures, for whoever looks on.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Progress {
    /// Rung and repetition, for people.
    pub stage: String,
    /// Proposals made so far in this repetition.
    pub sent: u64,
    /// Blocks stored so far in this repetition.
    pub stored: u64,
    /// Messages refused so far in this repetition.
    pub refused: u64,
    /// Median round trip so far, in seconds; 0 before the first.
    pub rtt_s_p50: f64,
}

/// Whoever wants to see the trade go on; called about twice a second.
pub trait TradeObserver: Sync {
    /// How far it is.
    fn progress(&self, progress: &Progress);

    /// A listener is ready; this is where another phone should dial it.
    fn listening(&self, _address: SocketAddr) {}
}

/// Why a trade could not even begin or go on.
#[derive(Debug)]
pub enum TradeError {
    /// An option that cannot be: its name and the reason.
    Option(&'static str, String),
    /// The system or the peer.
    Io(std::io::Error),
}

impl fmt::Display for TradeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(option, reason) => write!(formatter, "{option}: {reason}"),
            Self::Io(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for TradeError {}

impl From<std::io::Error> for TradeError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// In the tags of a CSV, so that traces of phones and of simulations can be told apart.
const LABEL: &str = "probe";
/// A dialler proposes at once when it has connected.
const FIRST_BLOCK: Duration = Duration::from_secs(10);
