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

use serde::Deserialize;

use crate::contract::Seconds;

pub mod eva;
pub mod ipv8;
pub mod quic;
pub mod tftp;
pub mod udp;

/// What happens to a QUIC connection after a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionMode {
    /// A new endpoint and connection for every message.
    Reconnect,
    /// One connection per peer, kept open.
    #[default]
    Keep,
}

/// Options of all transports, in SI units; each reads only its own.
///
/// This is where an option is declared. What a scenario and an implementation may say of it, in which
/// unit and with which words, is generated from here (`tools/transport_options.py`): `of` names the
/// transports whose section of an implementation has it, `list` an option that a scenario may give
/// several values, `set_by` who alone sets it, and `optional` one that an implementation may leave
/// out.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TransportConfig {
    /// What happens to a connection after a message (quic).
    #[serde(skip)]
    pub mode: ConnectionMode,
    /// How often the app looks for finished streams and tasks; 0 for at once.
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"])))]
    pub poll_interval_s: Seconds,
    /// Where in that interval this phone looks, from 0 to the interval (quic).
    #[serde(skip)]
    pub poll_phase_s: Seconds,
    /// A connection attempt is given up after this.
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"], "exclusiveMinimum" = 0)))]
    pub connect_timeout_s: Seconds,
    /// A connection silent for this is closed.
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"], "exclusiveMinimum" = 0)))]
    pub idle_timeout_s: Seconds,
    /// An open connection is pinged after this much silence; 0 for never.
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"])))]
    pub keep_alive_s: Seconds,
    /// Whether each ping of a silent connection (quic_keep) is simulated; without, a connection
    /// rests after two (where ways vary, once many were simulated), and what it would have sent and
    /// computed is reckoned.
    #[cfg_attr(feature = "schema", schemars(extend("set_by" = "scenario")))]
    pub keep_alive_events: bool,
    /// Round trip that is assumed until one was measured (RFC 9002, 6.2.2); 0 for 333 ms.
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"], "optional" = true)))]
    pub initial_rtt_s: Seconds,
    /// Whether answers go back on the connection that brought the proposal, instead of one that is
    /// dialled back. With a connection for each message it then lives until its answer has come.
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"])))]
    pub answer_on_same_connection: bool,
    /// Whether answers go back on the stream that brought the proposal, instead of one of their own.
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"], "optional" = true)))]
    pub answer_on_same_stream: bool,
    /// Whether acknowledgements that are not due yet ride along with data (RFC 9000, 13.2.1).
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"], "optional" = true)))]
    pub ack_bundling: bool,
    /// Whether spare connection ids, tickets to resume with and probes of the path's MTU pass after a
    /// handshake (RFC 9000, 5.1.1; RFC 8446, 4.6.1; RFC 8899).
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"], "optional" = true)))]
    pub path_management: bool,
    /// Its timers end with ticks of this length, two of them late at most; 0 for exact timers.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("of" = ["quic"], "optional" = true, "set_by" = "implementation"))
    )]
    pub timer_tick_s: Seconds,
    /// Whether a connection ends when the phone that dialled it changes its access network (RFC 9000,
    /// 18.2), instead of migrating to the new one (RFC 9000, 9).
    #[cfg_attr(
        feature = "schema",
        schemars(extend("of" = ["quic"], "optional" = true, "set_by" = "implementation"))
    )]
    pub disable_active_migration: bool,
    /// Whether a connection starts over the relay and moves to the direct path when that answers.
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["quic"])))]
    pub relay_first: bool,
    /// How long after the first dial to a peer a second dial that raced with it
    /// takes its place, unserved; infinite for never (quic, keep).
    #[serde(skip, default = "never_s")]
    pub duplicate_dial_s: Seconds,
    /// The time at which the peers stop accepting streams of the connections
    /// dialled before it, for good; infinite for never (quic, keep).
    #[serde(skip, default = "never_s")]
    pub connection_break_s: Seconds,
    /// A connection that started over the relay is back on it when the direct path has not answered
    /// for so long; infinite for never (quic).
    #[serde(skip, default = "never_s")]
    pub path_trust_s: Seconds,
    /// Receive timeout of a plain UDP socket; the app only reads again, so the wake-up changes
    /// nothing and is not simulated.
    #[cfg_attr(feature = "schema", schemars(extend("of" = ["udp"], "exclusiveMinimum" = 0)))]
    pub socket_timeout_s: Seconds,
    /// Whether those idle wake-ups are simulated at all (udp).
    #[serde(skip)]
    pub socket_wakeups: bool,
    /// Receive buffer asked for, as the kernel counts; 0 for the phone's default.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("of" = ["quic"], "optional" = true, "list" = true))
    )]
    pub socket_buffer_bytes: u64,
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
            disable_active_migration: false,
            keep_alive_events: false,
            initial_rtt_s: 0.0,
            timer_tick_s: 0.0,
            duplicate_dial_s: never_s(),
            connection_break_s: never_s(),
            path_trust_s: never_s(),
            socket_timeout_s: APP_SOCKET_TIMEOUT_S,
            socket_wakeups: false,
            socket_buffer_bytes: 0,
        }
    }
}

fn never_s() -> Seconds {
    Seconds::INFINITY
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
