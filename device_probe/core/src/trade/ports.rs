//! The three ports of a listener: control and UDP blocks, then QUIC, then TFTP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::sockets::{any_port, bind_consecutive, is_passing};

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
    /// When one of them is taken or not allowed; it names the address.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let refused = |error: io::Error| {
            let text = format!("cannot listen on {address} and the two ports after it: {error}");
            io::Error::new(error.kind(), text)
        };
        let sockets = bind_consecutive(address, 3, UdpSocket::bind).map_err(refused)?;
        let [base, quic, tftp] = sockets.try_into().expect("three");
        Ok(Self { base, quic, tftp })
    }
}

/// A socket to reach `peer` from.
///
/// # Errors
/// When the system gives none.
pub fn socket_towards(peer: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(any_port(peer.ip()))
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
        Err(error) if is_passing(&error) => Ok(None),
        Err(error) if is_of_the_network(&error) => {
            // It may last: not a loop without a rest.
            std::thread::sleep(LOOK_AROUND);
            renew(socket);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// What a socket says when the network goes away or becomes another; no end of the trade.
fn is_of_the_network(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNABORTED
                | libc::ENETDOWN
                | libc::ENETUNREACH
                | libc::ENETRESET
                | libc::EHOSTUNREACH
                | libc::EHOSTDOWN
                | libc::ENOBUFS
                | libc::ENOMEM
        )
    )
}

/// Put a new socket in the place of one that Android destroyed, for everybody who holds it.
///
/// A destroyed socket that had chosen its port itself has lost it, and hears nothing any more. One
/// that still has its port is left as it is: the port is taken, by itself.
fn renew(socket: &UdpSocket) {
    let Ok(fresh) = socket.local_addr().and_then(UdpSocket::bind) else {
        return;
    };
    // Without it the receiving thread would not look around; then the old one is as good.
    let timeout = socket.read_timeout().ok().flatten();
    if fresh.set_read_timeout(timeout).is_ok() {
        // SAFETY: both are descriptors that live through the calls; who owns which number stays as
        // it is, and what `socket` was bound to is closed by the exchange. Bionic's `dup3` is not
        // among the declarations of the libc crate.
        unsafe {
            libc::dup2(fresh.as_raw_fd(), socket.as_raw_fd());
            libc::fcntl(socket.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// A receiving thread looks around this often: for the end, and for overdue questions.
pub(crate) const LOOK_AROUND: Duration = Duration::from_millis(50);
/// Two more ports must follow.
pub const PORT_MAX: u16 = u16::MAX - 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// What `udp_abort` of Linux does to a socket, as far as its port goes.
    fn destroy(socket: &UdpSocket) {
        let nobody = libc::sockaddr {
            sa_family: libc::AF_UNSPEC as libc::sa_family_t,
            sa_data: [0; 14],
        };
        let length = std::mem::size_of_val(&nobody) as libc::socklen_t;
        // SAFETY: the address lives through the call and is as long as is said.
        let done = unsafe { libc::connect(socket.as_raw_fd(), &nobody, length) };
        assert_eq!(done, 0);
    }

    fn hears(socket: &UdpSocket) -> bool {
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("bound").port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        port != 0
            && sender.send_to(b"there?", address).is_ok()
            && matches!(next_datagram(socket, &mut [0; 10]), Ok(Some((6, _))))
    }

    #[test]
    fn a_destroyed_socket_is_replaced_and_a_sound_one_stays() {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        let timeout = Some(Duration::from_secs(10));
        socket.set_read_timeout(timeout).expect("positive");
        let before = socket.local_addr().expect("bound");
        renew(&socket);
        assert_eq!(socket.local_addr().expect("bound"), before);
        assert!(hears(&socket));
        destroy(&socket);
        assert!(!hears(&socket), "or this tests nothing");
        renew(&socket);
        assert!(hears(&socket));
        assert_eq!(socket.read_timeout().expect("a socket"), timeout);
    }
}
