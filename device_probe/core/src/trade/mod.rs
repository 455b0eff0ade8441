//! The two-phone experiment of the theses on real sockets.
//!
//! The TrustChain agent is the one that the simulator runs; here it has real keys and its
//! messages are bytes on UDP, QUIC (quinn) or TFTP sockets.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use pocketsim_protocols::named_enum;

use crate::stop::Stop;

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

/// How to wait for a peer.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Control and UDP blocks; QUIC takes the next port, TFTP the one after.
    pub bind: SocketAddr,
    /// Where the events go, if anywhere.
    pub output: Option<PathBuf>,
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
    /// Where the events go, if anywhere.
    pub output: Option<PathBuf>,
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
}

/// Why a trade could not even begin or go on.
#[derive(Debug)]
pub enum TradeError {
    /// An option that cannot be: its name and the reason.
    Option(&'static str, String),
    /// The system or the peer.
    Io(std::io::Error),
}

/// What came of a trade; one line of figures for each repetition.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Outcome {}

/// Answer proposals until `stop` is raised.
///
/// # Errors
/// When the ports cannot be bound or the output cannot be written.
pub fn listen(
    _options: &ListenOptions,
    _observer: &dyn TradeObserver,
    _stop: &Stop,
) -> Result<Outcome, TradeError> {
    Ok(Outcome::default())
}

/// Propose blocks to a peer that listens, over every rung.
///
/// # Errors
/// An impossible option; no peer; output that cannot be written.
pub fn dial(
    _options: &DialOptions,
    _observer: &dyn TradeObserver,
    _stop: &Stop,
) -> Result<Outcome, TradeError> {
    Ok(Outcome::default())
}
