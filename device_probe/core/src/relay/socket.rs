//! The relay's sockets, and the wait for whatever happens first: a datagram or a deadline.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::time::Instant;

use polling::{Event, Events, PollMode, Poller};
use socket2::{Domain, Protocol, Socket, Type};

use super::arrival::ask_for_stamps;
use super::flow::Way;

/// Open sockets by their way, and the poller that watches them.
#[derive(Debug)]
pub struct Sockets {
    poller: Poller,
    events: Events,
    keys: BTreeMap<Way, usize>,
    open: BTreeMap<usize, (Way, UdpSocket)>,
    next_key: usize,
}

impl Sockets {
    /// None yet.
    ///
    /// # Errors
    /// When the system has no poller to give.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            poller: Poller::new()?,
            events: Events::with_capacity(EVENTS_MAX),
            keys: BTreeMap::new(),
            open: BTreeMap::new(),
            next_key: 0,
        })
    }

    /// Open a socket that is bound to `address`.
    ///
    /// # Errors
    /// When it cannot be bound, or the system allows no more.
    pub fn open(&mut self, way: Way, address: SocketAddr) -> io::Result<()> {
        self.watch(way, bind(address)?)
    }

    /// Watch a socket that is bound already.
    ///
    /// # Errors
    /// When the system allows no more.
    pub fn watch(&mut self, way: Way, socket: UdpSocket) -> io::Result<()> {
        let key = self.next_key;
        // SAFETY: the socket is owned by `open` below and is deleted from the poller in `close`
        // and in `drop`, before it is closed.
        unsafe {
            let readable = Event::readable(key);
            self.poller
                .add_with_mode(&socket, readable, PollMode::Level)?;
        }
        self.next_key += 1;
        self.keys.insert(way, key);
        self.open.insert(key, (way, socket));
        Ok(())
    }

    /// Close a socket; gives how many datagrams the system dropped at it.
    pub fn close(&mut self, way: Way) -> u64 {
        let key = self.keys.remove(&way);
        let Some((_, socket)) = key.and_then(|key| self.open.remove(&key)) else {
            return 0;
        };
        let missed = missed_datagrams(&socket);
        self.poller
            .delete(&socket)
            .expect("it was added when it was opened");
        missed
    }

    /// The socket of a way, if it is open.
    pub fn get(&self, way: Way) -> Option<&UdpSocket> {
        Some(&self.open.get(self.keys.get(&way)?)?.1)
    }

    /// Every way that is open.
    pub fn ways(&self) -> Vec<Way> {
        self.keys.keys().copied().collect()
    }

    /// Wait until something is readable or the deadline has come; gives what is readable.
    ///
    /// # Errors
    /// When the poller fails for another reason than an interrupt.
    pub fn wait(&mut self, deadline: Instant) -> io::Result<Vec<Way>> {
        self.events.clear();
        match self.poller.wait_deadline(&mut self.events, deadline) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let ready = self
            .events
            .iter()
            .filter_map(|event| self.open.get(&event.key));
        Ok(ready.map(|(way, _)| *way).collect())
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        for way in self.ways() {
            self.close(way);
        }
    }
}

/// A socket that does not block, stamps what arrives, and has a receive buffer as large as the
/// system grants.
///
/// # Errors
/// When the address cannot be bound.
pub fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    socket.set_nonblocking(true)?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    socket.bind(&address.into())?;
    let socket = UdpSocket::from(socket);
    ask_for_stamps(&socket);
    Ok(socket)
}

/// Datagrams that the system dropped because nobody read them in time; 0 where it does not say.
fn missed_datagrams(socket: &UdpSocket) -> u64 {
    let mut figures = [0u32; MEMORY_FIGURES];
    let mut bytes = std::mem::size_of_val(&figures) as libc::socklen_t;
    // SAFETY: `figures` is valid for writes of `bytes` bytes, and `bytes` for reads and writes.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            figures.as_mut_ptr().cast(),
            &mut bytes,
        )
    };
    let told = status == 0 && bytes as usize == std::mem::size_of_val(&figures);
    if told {
        u64::from(figures[DROPS])
    } else {
        0
    }
}

/// How many readable sockets one wait reports at most; the rest is reported by the next.
const EVENTS_MAX: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// What the relay asks for; the system cuts it to `net.core.rmem_max`.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
// Linux, include/uapi/asm-generic/socket.h and linux/sock_diag.h (since 4.12).
const SO_MEMINFO: libc::c_int = 55;
const MEMORY_FIGURES: usize = 9;
const DROPS: usize = 8;
