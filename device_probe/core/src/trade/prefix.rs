//! Whom an address stands for when limits are counted, for control and for QUIC alike.
//!
//! An IPv4 address is somebody; of IPv6 the first 64 bits are, as whoever has one address there has
//! 2^64 of them (RFC 4291, 2.5.4). Somebody with a /48 is 65 536 of these.

use std::net::{IpAddr, SocketAddr};

/// One host, or one network that shares what a host may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix(IpAddr);

impl Prefix {
    /// The one that an address is of.
    pub fn of(address: SocketAddr) -> Self {
        Self(match address.ip().to_canonical() {
            IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) >> 64 << 64).into()),
            ip => ip,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> Prefix {
        Prefix::of(SocketAddr::new(address.parse().expect("an address"), 7))
    }

    #[test]
    fn ipv6_counts_by_64_bits_and_ipv4_by_the_address_however_it_is_written() {
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:ffff:ffff:ffff"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_ne!(of("::ffff:192.0.2.1"), of("::ffff:192.0.2.2"));
    }
}
