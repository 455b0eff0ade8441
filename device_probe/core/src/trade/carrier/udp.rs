//! One datagram for each message, on the socket that control uses.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use pocketsim_protocols::contract::Reason;

use super::Carry;
use crate::trade::node::{Letter, Node};

/// Sends; the dialler's receiving thread takes what comes back.
pub(in crate::trade) struct Udp {
    pub(in crate::trade) socket: Arc<UdpSocket>,
    pub(in crate::trade) listener: SocketAddr,
    pub(in crate::trade) node: Arc<Node>,
}

impl Carry for Udp {
    fn send(&self, letter: Letter) {
        if let Err(error) = self.socket.send_to(&letter.bytes, self.listener) {
            self.node.undelivered(&letter, reason_of(&error));
        }
    }
}

/// What the socket's refusal is called in a trace.
pub(in crate::trade) fn reason_of(error: &io::Error) -> Reason {
    match error.raw_os_error() {
        Some(libc::EMSGSIZE) => Reason::Oversized,
        Some(libc::ENOBUFS | libc::EAGAIN) => Reason::BufferFull,
        // The network is down or leads nowhere.
        _ => Reason::LinkLoss,
    }
}
