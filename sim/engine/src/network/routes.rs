//! What the plan says of the ways between phones: access networks, sites, the relay, outages.
//!
//! What deliberately does not live here: contacts ([`crate::network::contacts`]), chance, and what
//! is under way.

use pocketsim_protocols::contract::{NodeId, Path, Seconds};

use crate::network::resequencer::Way;
use crate::plan::{Access, Backbone, Bursts, Outage, Phones};

/// The access networks of a plan's phones, and what joins them.
pub(crate) struct Routes {
    /// By number of the network.
    links: Vec<AccessLink>,
    /// By number of the network, whether a datagram may overtake earlier ones; empty if none may.
    reorders: Vec<bool>,
    /// By number of the network.
    bursts: Vec<Option<Bursts>>,
    /// By phone.
    places: Vec<Place>,
    backbone: Backbone,
    outages: Vec<Outage>,
}

/// Where a phone is.
#[derive(Clone, Copy)]
struct Place {
    network: u32,
    site: u32,
}

/// The way between a phone and its access point.
#[derive(Clone, Copy)]
#[repr(align(32))] // never in two lines of the cache, where each phone has a network of its own
pub(crate) struct AccessLink {
    /// One way, seconds.
    latency_s: Seconds,
    /// Median of the extra delay of each datagram; 0 for none.
    pub(crate) jitter_median_s: Seconds,
    /// Sigma of that lognormal delay.
    pub(crate) jitter_sigma: f64,
    /// Probability that an IP packet is lost outside bursts.
    pub(crate) loss_ratio: f64,
}

/// All that a datagram meets between two phones.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    /// At the sender's end and at the receiver's.
    pub(crate) links: [AccessLink; 2],
    /// What lies between the two networks takes so long, seconds.
    pub(crate) between_s: Seconds,
    /// Whether datagrams arrive in the order they left.
    pub(crate) keeps_order: bool,
}

impl Routes {
    /// Those of a plan.
    pub(crate) fn new(
        access: &[Access],
        phones: &Phones,
        backbone: Backbone,
        outages: Vec<Outage>,
    ) -> Self {
        let places = phones.access.iter().zip(&phones.site);
        let place = |(&network, &site)| Place { network, site };
        let mut reorders: Vec<bool> = access.iter().map(|access| access.reorders).collect();
        if !reorders.contains(&true) {
            reorders.clear();
        }
        Self {
            links: access.iter().map(AccessLink::new).collect(),
            reorders,
            bursts: access.iter().map(|access| access.bursts).collect(),
            places: places.map(place).collect(),
            backbone,
            outages,
        }
    }

    /// What lies between two phones.
    pub(crate) fn find(&self, way: Way) -> Route {
        let places = self.places(way);
        let [near, far] = places.map(|place| place.site);
        let reorders = |place: &Place| self.reorders[place.network as usize];
        Route {
            keeps_order: self.reorders.is_empty() || !places.iter().any(reorders),
            links: places.map(|place| self.links[place.network as usize]),
            between_s: match way.path {
                Path::Relay => 2.0 * self.backbone.relay_latency_s,
                Path::Direct if near != far => self.backbone.latency_s,
                Path::Direct => 0.0,
            },
        }
    }

    /// One way between a phone and the relay, seconds.
    pub(crate) fn to_relay_s(&self, phone: NodeId) -> Seconds {
        let network = self.places[phone.0 as usize].network;
        self.links[network as usize].latency_s + self.backbone.relay_latency_s
    }

    /// How losses cluster in each phone's network; empty where they do in none.
    pub(crate) fn bursts(&self) -> Vec<Option<Bursts>> {
        if self.bursts.iter().all(Option::is_none) {
            return vec![];
        }
        let networks = self.places.iter().map(|place| place.network as usize);
        networks.map(|network| self.bursts[network]).collect()
    }

    /// Whether a phone's network is out at `now`.
    pub(crate) fn is_out(&self, phone: NodeId, now: Seconds) -> bool {
        let is_out = |outage: &Outage| {
            let network = self.places[phone.0 as usize].network;
            outage.access == network && (outage.start_s..outage.end_s).contains(&now)
        };
        self.outages.iter().any(is_out)
    }

    fn places(&self, way: Way) -> [Place; 2] {
        [way.from, way.to].map(|phone| self.places[phone.0 as usize])
    }
}

impl AccessLink {
    fn new(access: &Access) -> Self {
        Self {
            latency_s: access.latency_s,
            jitter_median_s: access.jitter_median_s,
            jitter_sigma: access.jitter_sigma,
            loss_ratio: access.loss_ratio,
        }
    }
}

impl Route {
    /// One way between phones and access points, both networks', seconds.
    pub(crate) fn latency_s(&self) -> Seconds {
        self.links.iter().map(|link| link.latency_s).sum()
    }

    /// Whether datagrams are late by different times.
    pub(crate) fn has_jitter(&self) -> bool {
        self.links.iter().any(|link| link.jitter_median_s > 0.0)
    }
}
