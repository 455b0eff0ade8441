//! TFTP (RFC 1350) on real sockets, by the machine that the simulator runs.
//!
//! | | |
//! |---|---|
//! | [`put`] | write one file to any TFTP server |
//! | [`serve`] | take files from any TFTP client |
//! | [`Endpoint`] | both at once, as a trade needs it |
//!
//! Every file is written from a port of its own (RFC 1350 section 4), so that what is late or
//! doubled of one never meets another. Only a server here answers from the port it serves on,
//! and the files that it writes go to the port that the one they answer came from: a relay or a
//! NAT forwards known ports only. One file goes each way between two ports, and no packet of the
//! one looks like a packet of the other. What deliberately does not live here: files on a disk.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use pocketsim_protocols::contract::{MessageId, NodeId, Seconds};

use super::ports::LOOK_AROUND;
use crate::stop::Stop;
use sockets::Sockets;

pub use wire::{Action, Pair, Parcel, TftpFile, Wire, WireCounts, FILE_BYTES_MAX, SERVICE};

mod incoming;
mod outgoing;
mod sockets;
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
    let endpoint = Endpoint::towards(server, Wire::client())?;
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

/// Sockets with the transfers on them; writes may come from any thread, one thread steps.
#[derive(Debug)]
pub struct Endpoint {
    sockets: Sockets,
    wire: Mutex<Wire>,
    began: Instant,
}

impl Endpoint {
    /// On a bound socket, which [`Wire::server`] needs.
    ///
    /// # Errors
    /// When the system has nothing to wait with.
    pub fn new(socket: UdpSocket, wire: Wire) -> io::Result<Self> {
        Ok(Self::with(Sockets::serving(socket)?, wire))
    }

    /// With a new socket for each file that is written to `server`, as the other wires need it.
    ///
    /// # Errors
    /// When the system has nothing to wait with.
    pub fn towards(server: SocketAddr, wire: Wire) -> io::Result<Self> {
        Ok(Self::with(Sockets::towards(server)?, wire))
    }

    fn with(sockets: Sockets, wire: Wire) -> Self {
        Self {
            sockets,
            wire: Mutex::new(wire),
            began: Instant::now(),
        }
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

    /// Wait for packets, but not longer than a moment, and do what is due; `sink` sees what is
    /// not a packet to send.
    ///
    /// # Errors
    /// When the socket is of no use any more.
    pub fn step(&self, sink: &mut dyn FnMut(Action)) -> io::Result<()> {
        let mut actions = Vec::new();
        self.sockets.receive(LOOK_AROUND, |pair, packet| {
            self.wire()
                .receive(pair, packet, self.now_s(), &mut actions);
        })?;
        self.wire().handle_timeout(self.now_s(), &mut actions);
        self.perform(actions, sink);
        Ok(())
    }

    /// Whether a transfer to anybody is under way or queued.
    pub fn is_writing(&self) -> bool {
        self.wire().is_writing()
    }

    /// Whether much is queued already.
    pub fn is_full(&self) -> bool {
        self.wire().is_full()
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
                Action::Send { pair, packet } => drop(self.sockets.send(pair, &packet)),
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
