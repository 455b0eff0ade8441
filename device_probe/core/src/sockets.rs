//! What every UDP socket of the probe has in common, whoever reads it.
//!
//! What deliberately does not live here: which ports, and what the bytes mean.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The address to bind to in order to reach `peer` from any port.
pub(crate) fn any_port(peer: IpAddr) -> SocketAddr {
    match peer {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// How many files this process may have open, after asking for `wanted`: most systems begin with 1024
/// and let a process have more that asks.
pub(crate) fn allow_files(wanted: usize) -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for writes, and for reads in the next call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return FILES_MIN;
    }
    let more = libc::rlimit {
        rlim_cur: limit.rlim_max.min(wanted as libc::rlim_t),
        ..limit
    };
    // SAFETY: as above.
    let has_more = more.rlim_cur > limit.rlim_cur
        && unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &more) } == 0;
    let allowed = if has_more { more } else { limit }.rlim_cur;
    usize::try_from(allowed).unwrap_or(usize::MAX).min(wanted)
}

/// That many sockets on consecutive ports, each made by `bind`; when the first port may be any (0),
/// others are tried until the ones after it are free.
///
/// # Errors
/// When one of them cannot be bound, or there are not that many ports from the first on.
pub(crate) fn bind_consecutive(
    first: SocketAddr,
    ports: u16,
    bind: impl Fn(SocketAddr) -> io::Result<UdpSocket>,
) -> io::Result<Vec<UdpSocket>> {
    let tries = if first.port() == 0 { BIND_TRIES } else { 1 };
    let mut bound = bind_from(first, ports, &bind);
    for _ in 1..tries {
        if bound.is_ok() {
            break;
        }
        bound = bind_from(first, ports, &bind);
    }
    bound
}

fn bind_from(
    first: SocketAddr,
    ports: u16,
    bind: impl Fn(SocketAddr) -> io::Result<UdpSocket>,
) -> io::Result<Vec<UdpSocket>> {
    let socket = bind(first)?;
    let mut address = socket.local_addr()?;
    let mut sockets = vec![socket];
    for _ in 1..ports {
        let next = address.port().checked_add(1).ok_or_else(too_high)?;
        address.set_port(next);
        sockets.push(bind(address)?);
    }
    Ok(sockets)
}

fn too_high() -> io::Error {
    io::Error::new(ErrorKind::AddrNotAvailable, "more ports must follow")
}

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

/// What a process may have open at least (POSIX, `_POSIX_OPEN_MAX`).
const FILES_MIN: usize = 20;

/// The system scatters the ports that it chooses, so the next ones are nearly always free; that many
/// unlucky rows mean that they are not.
const BIND_TRIES: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(sockets: &[UdpSocket]) -> Vec<u16> {
        let port = |socket: &UdpSocket| socket.local_addr().expect("bound").port();
        sockets.iter().map(port).collect()
    }

    fn local(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    #[test]
    fn any_port_means_as_many_in_a_row_as_are_free() {
        // Every first choice has a taken neighbour until one has not.
        let refusals = std::cell::Cell::new(3);
        let bind = |address: SocketAddr| match (address.port(), refusals.get()) {
            (1.., 1..) => {
                refusals.set(refusals.get() - 1);
                Err(ErrorKind::AddrInUse.into())
            }
            _ => UdpSocket::bind(address),
        };
        let found = ports(&bind_consecutive(local(0), 3, bind).expect("three in a row"));
        assert_eq!(found, [found[0], found[0] + 1, found[0] + 2]);
        assert_eq!(refusals.get(), 0);
    }

    #[test]
    fn a_chosen_port_is_not_exchanged_for_another() {
        let taken = UdpSocket::bind(local(0)).expect("a port");
        let address = taken.local_addr().expect("bound");
        let refused = bind_consecutive(address, 2, UdpSocket::bind).expect_err("taken");
        assert_eq!(refused.kind(), ErrorKind::AddrInUse);
    }

    #[test]
    fn the_last_port_has_none_after_it() {
        // Of an address that nobody else uses.
        let last = SocketAddr::from(([127, 0, 0, 77], u16::MAX));
        let refused = bind_consecutive(last, 2, UdpSocket::bind).expect_err("too high");
        assert_eq!(refused.kind(), ErrorKind::AddrNotAvailable);
    }
}
