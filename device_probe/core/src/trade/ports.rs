//! The three ports of a listener: control and UDP blocks, then QUIC, then TFTP.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// What comes after the base port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Control, and blocks in datagrams.
    Base = 0,
    /// QUIC.
    Quic = 1,
    /// TFTP.
    Tftp = 2,
}

impl Service {
    /// Where a listener with the base address `base` serves this.
    pub fn at(self, base: SocketAddr) -> SocketAddr {
        let mut address = base;
        address.set_port(base.port() + self as u16);
        address
    }
}

/// Three sockets on consecutive ports.
#[derive(Debug)]
pub struct Ports {
    /// [`Service::Base`].
    pub base: UdpSocket,
    /// [`Service::Quic`].
    pub quic: UdpSocket,
    /// [`Service::Tftp`].
    pub tftp: UdpSocket,
}

impl Ports {
    /// Bind them; for port 0, wherever three in a row are free.
    ///
    /// # Errors
    /// When one of them is taken or not allowed.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        if address.port() != 0 {
            return Self::bind_at(UdpSocket::bind(address)?);
        }
        let mut bound = Self::bind_at(UdpSocket::bind(address)?);
        for _ in 1..ATTEMPTS {
            if bound.is_ok() {
                break;
            }
            bound = Self::bind_at(UdpSocket::bind(address)?);
        }
        bound
    }

    fn bind_at(base: UdpSocket) -> io::Result<Self> {
        let address = base.local_addr()?;
        if address.port() > PORT_MAX {
            return Err(io::Error::new(
                ErrorKind::AddrNotAvailable,
                "two more ports must follow",
            ));
        }
        Ok(Self {
            base,
            quic: UdpSocket::bind(Service::Quic.at(address))?,
            tftp: UdpSocket::bind(Service::Tftp.at(address))?,
        })
    }
}

/// A socket to reach `peer` from.
///
/// # Errors
/// When the system gives none.
pub fn socket_towards(peer: SocketAddr) -> io::Result<UdpSocket> {
    let any = match peer {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    UdpSocket::bind(SocketAddr::new(any, 0))
}

/// The address that another phone should dial to reach a socket bound to `bound`.
pub fn reachable(bound: SocketAddr) -> SocketAddr {
    if !bound.ip().is_unspecified() {
        return bound;
    }
    SocketAddr::new(outgoing(bound).unwrap_or(bound.ip()), bound.port())
}

/// The address that packets to elsewhere leave from; a connected UDP socket knows, and sends none.
fn outgoing(bound: SocketAddr) -> Option<IpAddr> {
    let elsewhere: SocketAddr = match bound {
        SocketAddr::V4(_) => (Ipv4Addr::new(192, 0, 2, 1), 9).into(),
        SocketAddr::V6(_) => (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 9).into(),
    };
    let socket = socket_towards(elsewhere).ok()?;
    socket.connect(elsewhere).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

/// The next datagram, or none if nothing came within the socket's read timeout.
///
/// # Errors
/// When the socket is of no use any more.
pub(super) fn next_datagram(
    socket: &UdpSocket,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, SocketAddr)>> {
    match socket.recv_from(buffer) {
        Ok(datagram) => Ok(Some(datagram)),
        // Refused and reset tell of an earlier datagram of ours, on some systems.
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset => Ok(None),
            _ => Err(error),
        },
    }
}

/// A receiving thread looks around this often: for the end, and for overdue questions.
pub(super) const LOOK_AROUND: Duration = Duration::from_millis(50);
/// Two more ports must follow.
pub const PORT_MAX: u16 = u16::MAX - 2;
/// Ephemeral ports are scattered, so the next two are nearly always free.
const ATTEMPTS: u32 = 64;
