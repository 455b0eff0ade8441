//! The ports of an endpoint: the one that it serves on, or one for each file that it writes.
//!
//! The latest of them stay open, to repeat what the other end may have missed and to take the file
//! that answers. What deliberately does not live here: what a packet means.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use polling::{Event, Events, PollMode, Poller};

use super::wire::{Pair, SERVICE};
use crate::trade::ports::{next_datagram, socket_towards};

/// Open sockets by the numbers of their ports in a [`Wire`](super::Wire).
#[derive(Debug)]
pub(super) struct Sockets {
    poller: Poller,
    open: Mutex<Open>,
    /// Any address of the family that new sockets need.
    towards: SocketAddr,
}

#[derive(Debug, Default)]
struct Open {
    sockets: BTreeMap<u32, Arc<UdpSocket>>,
    /// Lower numbers than this have been opened, whatever became of them.
    next: u32,
}

impl Sockets {
    /// Serve on `socket` alone.
    pub(super) fn serving(socket: UdpSocket) -> io::Result<Self> {
        let sockets = Self::towards(socket.local_addr()?)?;
        sockets.watch(&mut sockets.open(), SERVICE, socket)?;
        Ok(sockets)
    }

    /// None yet; a new one for each number that is sent from, as `towards` needs it.
    pub(super) fn towards(towards: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            poller: Poller::new()?,
            open: Mutex::default(),
            towards,
        })
    }

    /// Send from the port of this number, which is opened if it is the first time.
    pub(super) fn send(&self, pair: Pair, packet: &[u8]) -> io::Result<()> {
        let socket = self.at(pair.own)?;
        socket.send_to(packet, pair.peer).map(drop)
    }

    /// Wait for packets, but not longer than `patience`, and give them to `sink`.
    pub(super) fn receive(
        &self,
        patience: Duration,
        mut sink: impl FnMut(Pair, &[u8]),
    ) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        match self.poller.wait(&mut events, Some(patience)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let mut buffer = [0; PACKET_BYTES_MAX];
        for event in events.iter() {
            let own = event.key as u32;
            // Closed meanwhile, perhaps.
            let Some(socket) = self.open().sockets.get(&own).cloned() else {
                continue;
            };
            // One each: a port that is flooded must not keep the others waiting.
            if let Some((bytes, peer)) = next_datagram(&socket, &mut buffer)? {
                sink(Pair { own, peer }, &buffer[..bytes]);
            }
        }
        Ok(())
    }

    fn at(&self, own: u32) -> io::Result<Arc<UdpSocket>> {
        let mut open = self.open();
        if own >= open.next {
            let socket = socket_towards(self.towards)?;
            self.watch(&mut open, own, socket)?;
        }
        while open.sockets.len() > SOCKETS_MAX {
            let oldest = open.sockets.pop_first();
            self.close(&oldest.expect("more than none").1);
        }
        let closed = || io::Error::from(ErrorKind::NotConnected);
        open.sockets.get(&own).cloned().ok_or_else(closed)
    }

    fn watch(&self, open: &mut Open, own: u32, socket: UdpSocket) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        // SAFETY: `open` owns the socket and gives it to `close`, which takes it out of the poller,
        // before letting it go; copies of the `Arc` only outlive it.
        unsafe {
            let readable = Event::readable(own as usize);
            self.poller
                .add_with_mode(&socket, readable, PollMode::Level)?;
        }
        open.next = own + 1;
        open.sockets.insert(own, Arc::new(socket));
        Ok(())
    }

    fn close(&self, socket: &UdpSocket) {
        self.poller
            .delete(socket)
            .expect("it was added when it was opened");
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open
            .lock()
            .expect("a thread that holds it has panicked: a bug")
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        for socket in std::mem::take(&mut *self.open()).sockets.values() {
            self.close(socket);
        }
    }
}

/// A process may have 1024 files open unless its user asks for more. Files go one after the other,
/// so the oldest was written 256 round trips ago.
const SOCKETS_MAX: usize = 256;
/// Packets that are looked at before timers are.
const EVENTS_MAX: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");
/// Longer than any packet without options; a longer one is cut and then malformed.
const PACKET_BYTES_MAX: usize = 1_024;
