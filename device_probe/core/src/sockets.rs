//! What every UDP socket of the probe has in common, whoever reads it.
//!
//! What deliberately does not live here: which ports, and what the bytes mean.

use std::io::{self, ErrorKind};

/// Nothing came, or an earlier datagram of ours found nobody (ICMP port unreachable): the socket is
/// as good as before.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
    )
}

/// Room for any datagram and a byte more: the largest UDP payload is 65 507 bytes (RFC 768, RFC 791).
pub(crate) const DATAGRAM_BYTES_MAX: usize = 65_536;
