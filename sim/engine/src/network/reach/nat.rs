//! What a NAT does, in the terms of RFC 4787: how it maps, what it filters, how long it keeps a binding.
//!
//! | class | mapping (4.1) | filtering (5) |
//! |---|---|---|
//! | open | none | none |
//! | full cone | endpoint-independent | endpoint-independent |
//! | address-restricted | endpoint-independent | address-dependent |
//! | port-restricted | endpoint-independent | address and port-dependent |
//! | symmetric | address and port-dependent | address and port-dependent |
//! | blocked | no UDP passes | |
//!
//! What deliberately does not live here: which phone is behind which, and who knows whose address.

use pocketsim_protocols::contract::Seconds;
use pocketsim_protocols::named_enum;

use crate::plan::Nat;

named_enum! {
    /// What lies between a phone and the Internet; the numbers are the plan's.
    NatClass {
        /// Nothing: a public address.
        Open = "open",
        /// One port for all peers, any of which may use it.
        FullCone = "full_cone",
        /// One port for all peers; those may use it whose address was sent to.
        AddressRestricted = "address_restricted",
        /// One port for all peers; those may use it whose address and port were sent to.
        PortRestricted = "port_restricted",
        /// A port for each peer, which alone may use it.
        Symmetric = "symmetric",
        /// UDP does not pass at all.
        Blocked = "blocked",
    }
}

impl NatClass {
    /// Whether it keeps bindings.
    pub(crate) fn translates(self) -> bool {
        !matches!(self, Self::Open | Self::Blocked)
    }

    /// Whether each peer is sent to from a port of its own.
    pub(crate) fn maps_by_peer(self) -> bool {
        self == Self::Symmetric
    }

    /// Whether what comes in has to come from a port that was sent to.
    pub(crate) fn filters_ports(self) -> bool {
        matches!(self, Self::PortRestricted | Self::Symmetric)
    }

    /// Whether two phones that send to each other at once open a way (Ford et al., USENIX ATC 2005;
    /// RFC 5128, 3.3): one of them has to accept what comes from a port that it could not know.
    pub(crate) fn lets_punch(self, other: Self) -> bool {
        let by_peer = self.maps_by_peer() || other.maps_by_peer();
        let passes = self != Self::Blocked && other != Self::Blocked;
        passes && !(by_peer && self.filters_ports() && other.filters_ports())
    }
}

/// How long a NAT has kept something, and when it was last used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lease {
    /// When it was made: a later one is another port.
    pub(crate) since_s: Seconds,
    last_s: Seconds,
    has_reply: bool,
}

impl Lease {
    /// One that is made at `now`.
    pub(crate) const fn new(now: Seconds) -> Self {
        Self {
            since_s: now,
            last_s: now,
            has_reply: false,
        }
    }

    /// Whether it is kept at `now`: it was used lately, and is not too old.
    pub(crate) fn lasts(&self, nat: &Nat, now: Seconds) -> bool {
        let idle_s = match self.has_reply {
            true => nat.replied_timeout_s,
            false => nat.unreplied_timeout_s,
        };
        let age_s = now - self.since_s;
        let is_young = nat.lifetime_s.is_none_or(|lifetime_s| age_s <= lifetime_s);
        age_s >= 0.0 && is_young && now - self.last_s <= idle_s
    }

    /// Something leaves, which always keeps it for longer (RFC 4787, REQ-6); without it, it is made.
    pub(crate) fn send(kept: Option<Self>, nat: &Nat, now: Seconds) -> Self {
        match kept.filter(|lease| lease.since_s > now || lease.lasts(nat, now)) {
            Some(lease) => Self {
                last_s: lease.last_s.max(now),
                ..lease
            },
            None => Self::new(now),
        }
    }

    /// Something came in, which keeps it for longer where the NAT says so.
    pub(crate) fn receive(&mut self, nat: &Nat, now: Seconds) {
        self.has_reply = true;
        if nat.inbound_refresh {
            self.last_s = self.last_s.max(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `yes` where two classes punch, in the order of `NatClass::ALL` (RFC 5128; Ford et al. 2005).
    const MATRIX: [[bool; 6]; 6] = [
        [true, true, true, true, true, false],
        [true, true, true, true, true, false],
        [true, true, true, true, true, false],
        [true, true, true, true, false, false],
        [true, true, true, false, false, false],
        [false; 6],
    ];

    #[test]
    fn classes_punch_as_the_matrix_says() {
        for (one, row) in NatClass::ALL.iter().zip(MATRIX) {
            for (other, punches) in NatClass::ALL.iter().zip(row) {
                assert_eq!(one.lets_punch(*other), punches, "{one:?} and {other:?}");
            }
        }
    }

    fn nat() -> Nat {
        Nat {
            unreplied_timeout_s: 30.0,
            replied_timeout_s: 120.0,
            lifetime_s: None,
            inbound_refresh: false,
            client_isolation: false,
        }
    }

    #[test]
    fn a_lease_ends_by_silence_of_who_holds_it() {
        let nat = nat();
        let mut lease = Lease::new(1.0);
        assert!(lease.lasts(&nat, 31.0) && !lease.lasts(&nat, 31.1));
        lease.receive(&nat, 20.0);
        assert!(lease.lasts(&nat, 121.0), "a reply makes it last");
        assert!(!lease.lasts(&nat, 121.1), "but is not itself use of it");
        let sent = Lease::send(Some(lease), &nat, 100.0);
        assert!(sent.lasts(&nat, 220.0) && sent.since_s == 1.0);
        assert_eq!(Lease::send(Some(sent), &nat, 221.0).since_s, 221.0);
    }

    #[test]
    fn what_comes_in_counts_where_the_nat_says_so() {
        let nat = Nat {
            inbound_refresh: true,
            ..nat()
        };
        let mut lease = Lease::new(0.0);
        lease.receive(&nat, 29.0);
        assert!(lease.lasts(&nat, 149.0) && !lease.lasts(&nat, 149.1));
    }

    #[test]
    fn a_lifetime_ends_a_lease_in_use() {
        let nat = Nat {
            lifetime_s: Some(57.0),
            ..nat()
        };
        let mut lease = Lease::new(10.0);
        for second in 11..=67 {
            lease = Lease::send(Some(lease), &nat, f64::from(second));
        }
        assert_eq!(lease.since_s, 10.0);
        assert_eq!(Lease::send(Some(lease), &nat, 67.5).since_s, 67.5);
    }

    #[test]
    fn a_lease_that_begins_later_is_none_yet() {
        assert!(!Lease::new(5.0).lasts(&nat(), 4.9));
    }
}
