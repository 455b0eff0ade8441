//! What carries a dialler's proposals, and brings the answers back.
//!
//! | module | one message is |
//! |---|---|
//! | [`udp`] | one datagram, and whatever comes back on the socket |
//! | [`quic_keep`] | one bidirectional stream of the one connection |
//! | [`quic_reconnect`] | a runtime, an endpoint, a connection and one bidirectional stream |
//! | [`tftp`] | a write request each way |
//!
//! All of them give answers to the [`Node`](super::node::Node) themselves and tell it what they
//! lost. [`quic`] is what both kinds of QUIC share, [`serve_quic`] the listener's end of
//! them, with its [`door`].

use std::time::Duration;

use super::node::Letter;

mod door;
pub(crate) mod quic;
pub(super) mod quic_keep;
pub(super) mod quic_reconnect;
pub(crate) mod serve_quic;
pub(super) mod tftp;
pub(super) mod udp;

/// A way to the listener; shared by the thread that proposes and those that receive.
pub(super) trait Carry: Send + Sync {
    /// Whether another message may be under way; if not, no block is proposed.
    fn has_room(&self) -> bool {
        true
    }

    /// Whether a message would leave at once, without first making a connection that is kept.
    fn is_ready(&self) -> bool {
        true
    }

    /// For how long nothing may move before what is open is taken for lost.
    fn rest(&self) -> Duration {
        REST
    }

    /// Carry it; never waits for the network.
    fn send(&self, letter: Letter);

    /// The listener is another process now, or is about to be traded with for the first time.
    fn renew(&self) {}

    /// The repetition is over: forget what was not carried yet.
    fn forget(&self) {}
}

/// An answer that takes longer is taken for lost: ten times a bad radio's worst round trip, and
/// the socket timeout of the app (Iftode 2025, 3.3). QUIC repeats what was lost earlier.
const REST: Duration = Duration::from_secs(5);
