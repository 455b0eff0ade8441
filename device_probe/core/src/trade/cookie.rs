//! Cookies: whoever says one got it at the address that it was made for.
//!
//! Nothing is remembered of those who got one (RFC 9000 section 8.1.2 calls it a retry token).

use std::net::{IpAddr, SocketAddr};

use pocketsim_protocols::contract::Seconds;
use ring::hmac;

use super::control::Cookie;

/// Makes them and knows them again.
#[derive(Debug)]
pub(super) struct Cookies(hmac::Key);

impl Cookies {
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &secret))
    }

    pub(super) fn make(&self, address: SocketAddr, session: u64, now_s: Seconds) -> Cookie {
        self.of_period(address, session, period(now_s))
    }

    /// Whether it was made for this session at this address in this period or the one before.
    pub(super) fn is_valid(
        &self,
        cookie: &Cookie,
        address: SocketAddr,
        session: u64,
        now_s: Seconds,
    ) -> bool {
        let now = period(now_s);
        let mut periods = [now, now.saturating_sub(1)].into_iter();
        periods.any(|period| self.of_period(address, session, period) == *cookie)
    }

    fn of_period(&self, address: SocketAddr, session: u64, period: u64) -> Cookie {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut context = hmac::Context::with_key(&self.0);
        context.update(&ip.octets());
        context.update(&address.port().to_be_bytes());
        context.update(&session.to_be_bytes());
        context.update(&period.to_be_bytes());
        let tag = context.sign();
        *tag.as_ref().first_chunk().expect("SHA-256 has 32 bytes")
    }
}

fn period(now_s: Seconds) -> u64 {
    (now_s / PERIOD_S) as u64
}

/// Longer than a dialler takes to say it; a dialler that comes back later gets another.
const PERIOD_S: Seconds = 30.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_of_one_address_one_session_and_not_for_ever() {
        let cookies = Cookies::new([1; 32]);
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let here = at("192.0.2.1:5000");
        let cookie = cookies.make(here, 7, 100.0);
        assert!(cookies.is_valid(&cookie, here, 7, 100.0));
        assert!(cookies.is_valid(&cookie, here, 7, 130.0));
        assert!(!cookies.is_valid(&cookie, here, 7, 160.0));
        assert!(!cookies.is_valid(&cookie, here, 8, 100.0));
        assert!(!cookies.is_valid(&cookie, at("192.0.2.1:5001"), 7, 100.0));
        assert!(!cookies.is_valid(&cookie, at("192.0.2.2:5000"), 7, 100.0));
        assert!(!Cookies::new([2; 32]).is_valid(&cookie, here, 7, 100.0));
    }
}
