//! TFTP (RFC 1350) on real sockets, by the machine that the simulator runs.
//!
//! | | |
//! |---|---|
//! | [`put`] | write one file to any TFTP server |
//! | [`serve`] | take files from any TFTP client |
//! | [`Endpoint`] | both at once on one socket, as a trade needs it |
//!
//! A server here answers from the port it serves on, and tells transfers apart by the client's
//! address: RFC 1350 lets it choose its transfer id, and a relay or a NAT forwards known ports
//! only. What deliberately does not live here: files on a disk.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use pocketsim_protocols::contract::{MessageId, NodeId, Seconds};

use super::ports::{next_datagram, socket_towards, LOOK_AROUND};
use crate::stop::Stop;

pub use wire::{Action, Parcel, TftpFile, Wire, WireCounts, FILE_BYTES_MAX};

mod incoming;
mod outgoing;
mod wire;

/// Write `bytes` as the file `filename` to `server`, in octet mode.
///
/// # Errors
/// `TimedOut` when the server does not answer (after 35 s), `ConnectionRefused` with its words when
/// it answers with an error, `InvalidInput` for more than [`FILE_BYTES_MAX`], or what the socket
/// says.
pub fn put(server: SocketAddr, filename: &str, bytes: &[u8]) -> io::Result<()> {
    if bytes.len() > FILE_BYTES_MAX || filename.contains('\0') {
        return Err(io::Error::new(ErrorKind::InvalidInput, "no such file"));
    }
    let endpoint = Endpoint::new(socket_towards(server)?, Wire::client())?;
    let parcel = Parcel {
        filename: filename.to_owned(),
        bytes: Arc::from(bytes),
        id: MessageId(0),
        to: NodeId(0),
    };
    endpoint.write(server, parcel);
    let mut failure = None;
    while failure.is_none() && endpoint.is_writing() {
        endpoint.step(&mut |action| failure = failed(action).or(failure.take()))?;
    }
    failure.map_or(Ok(()), Err)
}

/// Give every file that clients write to `socket` to `sink`, until `stop` is raised.
///
/// # Errors
/// When the socket is of no use any more.
pub fn serve(
    socket: UdpSocket,
    stop: &Stop,
    sink: &mut dyn FnMut(TftpFile),
) -> io::Result<WireCounts> {
    let endpoint = Endpoint::new(socket, Wire::server())?;
    while !stop.is_raised() {
        endpoint.step(&mut |action| {
            if let Action::Received(file) = action {
                sink(file);
            }
        })?;
    }
    Ok(endpoint.counts())
}

fn failed(action: Action) -> Option<io::Error> {
    match action {
        Action::Failed {
            complaint: Some(complaint),
            ..
        } => Some(io::Error::new(ErrorKind::ConnectionRefused, complaint)),
        Action::Failed { reason, .. } => Some(io::Error::new(ErrorKind::TimedOut, reason.name())),
        _ => None,
    }
}

/// A socket with the transfers on it; writes may come from any thread, one thread steps.
#[derive(Debug)]
pub struct Endpoint {
    socket: UdpSocket,
    wire: Mutex<Wire>,
    began: Instant,
}

impl Endpoint {
    /// On a bound socket.
    ///
    /// # Errors
    /// When the socket takes no timeout.
    pub fn new(socket: UdpSocket, wire: Wire) -> io::Result<Self> {
        socket.set_read_timeout(Some(LOOK_AROUND))?;
        Ok(Self {
            socket,
            wire: Mutex::new(wire),
            began: Instant::now(),
        })
    }

    /// Begin or queue a transfer; false if too much is queued for that server.
    pub fn write(&self, server: SocketAddr, parcel: Parcel) -> bool {
        let mut actions = Vec::new();
        let mut wire = self.wire();
        let queued = wire.put(server, parcel, self.now_s(), &mut actions);
        drop(wire);
        self.perform(actions, &mut |_| {});
        queued
    }

    /// Wait for a packet, but not longer than a moment, and do what is due; `sink` sees what is
    /// not a packet to send.
    ///
    /// # Errors
    /// When the socket is of no use any more.
    pub fn step(&self, sink: &mut dyn FnMut(Action)) -> io::Result<()> {
        let mut buffer = [0; PACKET_BYTES_MAX];
        let packet = next_datagram(&self.socket, &mut buffer)?;
        let mut actions = Vec::new();
        let now_s = self.now_s();
        let mut wire = self.wire();
        if let Some((bytes, from)) = packet {
            wire.receive(from, &buffer[..bytes], now_s, &mut actions);
        }
        wire.handle_timeout(now_s, &mut actions);
        drop(wire);
        self.perform(actions, sink);
        Ok(())
    }

    /// Whether a transfer to anybody is under way or queued.
    pub fn is_writing(&self) -> bool {
        self.wire().is_writing()
    }

    /// Whether much is queued for `server` already.
    pub fn is_full(&self, server: SocketAddr) -> bool {
        self.wire().is_full(server)
    }

    /// Drop every transfer to others.
    pub fn forget_writes(&self) {
        self.wire().forget_writes();
    }

    /// What was refused so far.
    pub fn counts(&self) -> WireCounts {
        self.wire().counts()
    }

    fn perform(&self, actions: Vec<Action>, sink: &mut dyn FnMut(Action)) {
        for action in actions {
            match action {
                // A datagram that does not leave is one more that is lost: it will be repeated.
                Action::Send { to, packet } => drop(self.socket.send_to(&packet, to)),
                other => sink(other),
            }
        }
    }

    fn now_s(&self) -> Seconds {
        self.began.elapsed().as_secs_f64()
    }

    fn wire(&self) -> std::sync::MutexGuard<'_, Wire> {
        self.wire
            .lock()
            .expect("a thread that holds it has panicked: a bug")
    }
}

/// Longer than any packet without options; a longer one is cut and then malformed.
const PACKET_BYTES_MAX: usize = 1_024;
