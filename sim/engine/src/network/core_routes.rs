//! What a platform says of the ways between sites: latency and the slowest link from netpoint to
//! netpoint, and whether flows share a link.
//!
//! Where no link is shared, a datagram of `n` bytes takes `latency_s + n / bytes_per_s`, which is
//! what SimGrid's CM02 gives a flow over fat pipes. What deliberately does not live here: shared
//! links, over which the world carries datagrams ([`crate::resources::simgrid::joined`]).

use pocketsim_protocols::contract::{Path, Seconds};

use crate::plan::{Backbone, Core};

/// The routes of a plan's core.
pub(crate) struct CoreRoutes {
    /// By site, the number of its netpoint.
    netpoints: Vec<u32>,
    /// From each netpoint to each, a row for each sender.
    legs: Vec<Leg>,
    /// How many netpoints there are.
    width: usize,
    relay: Option<u32>,
    /// To the relay and away from it, where that is at no netpoint.
    detour_s: Seconds,
    /// Whether the world carries what goes over any leg.
    is_carried: bool,
}

#[derive(Clone, Copy)]
struct Leg {
    latency_s: Seconds,
    bytes_per_s: f64,
    is_shared: bool,
}

/// What lies between two sites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Between {
    /// It takes a datagram so long, seconds.
    Takes(Seconds),
    /// Links that flows share.
    Shared,
}

/// The netpoints that a datagram comes by: one after the other, at most two legs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stops {
    next: [Option<(u32, u32)>; 2],
}

impl CoreRoutes {
    /// Those of a plan; `is_carried` where the world takes a datagram over all links at once.
    pub(crate) fn new(core: Core, backbone: &Backbone, is_carried: bool) -> Self {
        let columns = core.latency_s.iter().zip(core.bytes_per_s).zip(core.shared);
        let leg = |((&latency_s, bytes_per_s), is_shared)| Leg {
            latency_s,
            bytes_per_s,
            is_shared,
        };
        Self {
            legs: columns.map(leg).collect(),
            width: core.names.len(),
            netpoints: core.netpoint,
            relay: core.relay,
            detour_s: 2.0 * backbone.relay_latency_s,
            is_carried,
        }
    }

    /// What lies between two sites for a datagram of so many bytes.
    #[inline]
    pub(crate) fn between(&self, path: Path, sites: [u32; 2], wire_bytes: u32) -> Between {
        if path == Path::Relay && self.relay.is_none() {
            return Between::Takes(self.detour_s);
        }
        if self.is_carried || (path == Path::Direct && sites[0] == sites[1]) {
            return Between::Takes(0.0);
        }
        let [from, to] = sites.map(|site| self.netpoints[site as usize]);
        match (path, self.relay) {
            (Path::Relay, Some(relay)) => self
                .leg(from, relay)
                .and(self.leg(relay, to))
                .take(wire_bytes),
            _ => self.leg(from, to).take(wire_bytes),
        }
    }

    /// From a site to the relay; none where that is at no netpoint or flows share a link to it.
    pub(crate) fn to_relay_s(&self, site: u32, wire_bytes: u32) -> Option<Seconds> {
        let leg = self.leg(self.netpoints[site as usize], self.relay?);
        match leg.take(wire_bytes) {
            Between::Takes(between_s) => Some(between_s),
            Between::Shared => None,
        }
    }

    /// The netpoints between two sites.
    pub(crate) fn stops(&self, path: Path, sites: [u32; 2]) -> Stops {
        let [from, to] = sites.map(|site| self.netpoints[site as usize]);
        let next = match (path, self.relay) {
            (Path::Relay, Some(relay)) => [Some((from, relay)), Some((relay, to))],
            _ => [Some((from, to)), None],
        };
        Stops { next }
    }

    /// Whether any datagram has to be carried over links that flows share.
    pub(crate) fn shares_links(&self) -> bool {
        !self.is_carried && self.legs.iter().any(|leg| leg.is_shared)
    }

    fn leg(&self, from: u32, to: u32) -> Leg {
        self.legs[from as usize * self.width + to as usize]
    }
}

impl Leg {
    /// One leg after another: the bytes take their time on each.
    fn and(self, other: Self) -> Self {
        let byte_s = 1.0 / self.bytes_per_s + 1.0 / other.bytes_per_s;
        Self {
            latency_s: self.latency_s + other.latency_s,
            bytes_per_s: 1.0 / byte_s,
            is_shared: self.is_shared || other.is_shared,
        }
    }

    #[inline]
    fn take(self, wire_bytes: u32) -> Between {
        if self.is_shared {
            return Between::Shared;
        }
        Between::Takes(self.latency_s + f64::from(wire_bytes) / self.bytes_per_s)
    }
}

impl Stops {
    /// The next leg.
    pub(crate) fn take(&mut self) -> Option<(u32, u32)> {
        let [first, second] = self.next;
        self.next = [second, None];
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(shared: [bool; 4]) -> Core {
        Core {
            netpoint: vec![0, 1, 1],
            names: vec!["here".into(), "there".into()],
            latency_s: vec![0.001, 0.003, 0.004, 0.002],
            bytes_per_s: vec![f64::INFINITY, 1e6, 2e6, 1e7],
            shared: shared.to_vec(),
            relay: None,
            platform: None,
        }
    }

    fn routes(core: Core, is_carried: bool) -> CoreRoutes {
        let backbone = Backbone {
            latency_s: 9.0,
            relay_latency_s: 0.5,
        };
        CoreRoutes::new(core, &backbone, is_carried)
    }

    #[test]
    fn a_way_takes_its_latency_and_its_bytes_over_the_slowest_link() {
        let routes = routes(core([false; 4]), false);
        let between = |sites| routes.between(Path::Direct, sites, 1000);
        assert_eq!(between([0, 1]), Between::Takes(0.003 + 0.001));
        assert_eq!(between([1, 0]), Between::Takes(0.004 + 0.0005));
        assert_eq!(between([1, 2]), Between::Takes(0.002 + 0.0001));
        assert_eq!(between([1, 1]), Between::Takes(0.0), "one site");
    }

    #[test]
    fn without_a_netpoint_the_relay_is_as_far_as_the_backbone_says() {
        let routes = routes(core([true; 4]), false);
        let found = routes.between(Path::Relay, [0, 1], 1000);
        assert_eq!(found, Between::Takes(1.0));
    }

    #[test]
    fn the_relay_forwards_what_it_has_received_whole() {
        let core = Core {
            relay: Some(1),
            ..core([false; 4])
        };
        let routes = routes(core, false);
        let Between::Takes(found_s) = routes.between(Path::Relay, [0, 2], 1000) else {
            panic!("nothing is shared");
        };
        assert!((found_s - (0.004 + 0.0001 + 0.001 + 0.002 - 0.001)).abs() < 1e-12);
        let mut stops = routes.stops(Path::Relay, [0, 2]);
        assert_eq!(stops.take(), Some((0, 1)));
        assert_eq!(stops.take(), Some((1, 1)));
        assert_eq!(stops.take(), None);
    }

    #[test]
    fn one_shared_link_makes_a_way_shared_unless_all_is_carried() {
        let mut one = core([false, true, false, false]);
        one.relay = Some(0);
        assert!(routes(one.clone(), false).shares_links());
        let found = routes(one.clone(), false).between(Path::Direct, [0, 1], 1);
        assert_eq!(found, Between::Shared);
        let found = routes(one.clone(), false).between(Path::Relay, [1, 2], 1);
        assert_eq!(found, Between::Shared, "back from the relay");
        let carried = routes(one, true);
        assert!(!carried.shares_links());
        assert_eq!(
            carried.between(Path::Direct, [0, 1], 1),
            Between::Takes(0.0)
        );
    }
}
