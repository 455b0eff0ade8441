//! Transports: machines that turn payloads into datagrams and back.
//!
//! | module | what carries a message | what it pays |
//! |---|---|---|
//! | [`udp`] | one datagram | nothing but the two system calls; losses go unnoticed |
//! | [`quic`] | a stream of a connection, as quinn and iroh do it | handshake, packet protection, acknowledgements, timers |
//! | [`tftp`] | a lockstep write request of RFC 1350 | one round trip per 512 bytes |
//! | [`ipv8`] | one unsigned IPv8 packet | the overlay's work at both ends, a sealed box if asked for |
//! | [`eva`] | windows of signed IPv8 packets, unpaced | a signature per packet, a sealed box if encrypted, stalls of a second |
//!
//! All of them know peers only by [`NodeId`](crate::contract::NodeId) and any
//! number of them. What deliberately does not live here: sockets, clocks,
//! randomness and costs. Whatever varies from run to run comes in as a number of
//! [`TransportConfig`] or is charged by the driver for the work asked for.

use crate::contract::Seconds;

pub mod eva;
pub mod ipv8;
pub mod quic;
pub mod tftp;
pub mod udp;

/// What happens to a QUIC connection after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionMode {
    /// A new endpoint and connection for every message.
    Reconnect,
    /// One connection per peer, kept open.
    Keep,
}

/// Options of all transports, in SI units; each reads only its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransportConfig {
    /// What happens to a connection after a message (quic).
    pub mode: ConnectionMode,
    /// The app looks for finished streams at multiples of this; 0 for at once (quic).
    pub poll_interval_s: Seconds,
    /// Where in that interval this phone looks, from 0 to the interval (quic).
    pub poll_phase_s: Seconds,
    /// A connection attempt is given up after this (quic).
    pub connect_timeout_s: Seconds,
    /// A connection is given up when silent for this (quic).
    pub idle_timeout_s: Seconds,
    /// An open connection is pinged after this much silence; 0 for never (quic).
    pub keep_alive_s: Seconds,
    /// Begin on the relay and move to the direct path when it answers (quic).
    pub relay_first: bool,
    /// Answer on the connection that brought the message instead of dialling back (quic). With a
    /// connection for each message it then lives until its answer has come, so there must be one.
    pub answer_on_same_connection: bool,
    /// And on the stream that brought it, instead of one of its own (quic).
    pub answer_on_same_stream: bool,
    /// Acknowledgements ride along with data before they are due (RFC 9000 13.2.1) (quic).
    pub ack_bundling: bool,
    /// After a handshake spare connection ids, tickets to resume with and probes of the path's MTU
    /// pass (RFC 9000 5.1.1; RFC 8446 4.6.1; RFC 8899) (quic).
    pub path_management: bool,
    /// How long after the first dial to a peer a second dial that raced with it
    /// takes its place, unserved; infinite for never (quic, keep).
    pub duplicate_dial_s: Seconds,
    /// The time at which the peers stop accepting streams of the connections
    /// dialled before it, for good; infinite for never (quic, keep).
    pub connection_break_s: Seconds,
    /// How long the receiving thread blocks before it looks around (udp).
    pub socket_timeout_s: Seconds,
    /// Whether those idle wake-ups are simulated at all (udp).
    pub socket_wakeups: bool,
}

impl Default for TransportConfig {
    fn default() -> Self {
        Self {
            mode: ConnectionMode::Keep,
            poll_interval_s: APP_POLL_INTERVAL_S,
            poll_phase_s: 0.0,
            connect_timeout_s: CONNECT_TIMEOUT_S,
            idle_timeout_s: QUINN_IDLE_TIMEOUT_S,
            keep_alive_s: IROH_KEEP_ALIVE_S,
            relay_first: true,
            answer_on_same_connection: false,
            answer_on_same_stream: false,
            ack_bundling: false,
            path_management: false,
            duplicate_dial_s: Seconds::INFINITY,
            connection_break_s: Seconds::INFINITY,
            socket_timeout_s: APP_SOCKET_TIMEOUT_S,
            socket_wakeups: false,
        }
    }
}

/// The largest UDP payload that IPv4 carries: 65535 - 20 - 8 (RFC 768, RFC 791).
pub const UDP_PAYLOAD_BYTES_MAX: u32 = 65_507;

/// Idle timeout of an unconfigured quinn connection (quinn-proto `TransportConfig::default`).
const QUINN_IDLE_TIMEOUT_S: Seconds = 30.0;

/// iroh 0.35 sets this on every connection (iroh/src/endpoint.rs:128-129).
const IROH_KEEP_ALIVE_S: Seconds = 1.0;

/// The benchmark app's polling interval (latency thesis 3.3: "10ms Iroh polling intervals").
const APP_POLL_INTERVAL_S: Seconds = 0.010;

/// The benchmark app's socket timeout (latency thesis 3.3: "5-second UDP timeouts").
const APP_SOCKET_TIMEOUT_S: Seconds = 5.0;

/// quinn gives up a handshake by its idle timeout only, so that is the default here.
const CONNECT_TIMEOUT_S: Seconds = QUINN_IDLE_TIMEOUT_S;
