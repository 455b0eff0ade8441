//! What the plan says of the ways between phones: access networks, sites, the relay, outages.
//!
//! What deliberately does not live here: contacts ([`crate::network::contacts`]), chance, and what
//! is under way.

use pocketsim_protocols::contract::{NodeId, Path, Seconds};

use crate::network::core_routes::{Between, CoreRoutes};
use crate::network::crossings::{Crossing, Crossings};
use crate::network::resequencer::Way;
use crate::plan::{Access, Backbone, Bursts, Core, Outage};
use crate::resources::attachments::Attachments;

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
    /// By attachment.
    attachments: Vec<Place>,
    backbone: Backbone,
    /// None where the backbone alone lies between sites.
    core: Option<Box<CoreRoutes>>,
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
    pub(crate) latency_s: Seconds,
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
    /// Whether it is links that flows share, which the world carries a datagram over.
    pub(crate) crosses: bool,
    /// Whether datagrams arrive in the order they left.
    pub(crate) keeps_order: bool,
}

impl Routes {
    /// Those of a plan of `phones` phones.
    pub(crate) fn new(
        access: &[Access],
        (phones, attachments): (usize, &Attachments),
        backbone: Backbone,
        outages: Vec<Outage>,
    ) -> Self {
        let places = attachments.access.iter().zip(&attachments.site);
        let places = places.map(|(&network, &site)| Place { network, site });
        let attachments: Vec<Place> = places.collect();
        let mut reorders: Vec<bool> = access.iter().map(|access| access.reorders).collect();
        if !reorders.contains(&true) {
            reorders.clear();
        }
        Self {
            links: access.iter().map(AccessLink::new).collect(),
            reorders,
            bursts: access.iter().map(|access| access.bursts).collect(),
            places: attachments[..phones].to_vec(),
            attachments,
            backbone,
            core: None,
            outages,
        }
    }

    /// A platform lies between sites; `is_carried` as [`CoreRoutes::new`] says.
    pub(crate) fn over(self, core: Option<Core>, is_carried: bool) -> Self {
        let routes = |core| Box::new(CoreRoutes::new(core, &self.backbone, is_carried));
        Self {
            core: core.map(routes),
            ..self
        }
    }

    /// What lies between two phones for a datagram of so many bytes.
    pub(crate) fn find(&self, way: Way, wire_bytes: u32) -> Route {
        let places = self.places(way);
        let [near, far] = places.map(|place| place.site);
        let between = match &self.core {
            None => Between::Takes(self.backbone_s(way.path, near != far)),
            Some(core) => core.between(way.path, [near, far], wire_bytes),
        };
        let reorders = |place: &Place| self.reorders[place.network as usize];
        Route {
            keeps_order: self.reorders.is_empty() || !places.iter().any(reorders),
            links: places.map(|place| self.links[place.network as usize]),
            between_s: match between {
                Between::Takes(between_s) => between_s,
                Between::Shared => 0.0,
            },
            crosses: between == Between::Shared,
        }
    }

    /// Keeps what crosses links that flows share; none where none are.
    pub(crate) fn crossings(&self) -> Option<Box<Crossings>> {
        let core = self.core.as_ref();
        let shares = core.is_some_and(|core| core.shares_links());
        shares.then(Box::default)
    }

    /// A datagram that leaves a radio for such links, with its delay on the far link beyond the latency.
    pub(crate) fn crossing(&self, way: Way, route: &Route, far_jitter_s: Seconds) -> Crossing {
        let core = self.core.as_ref().expect("it has links that are shared");
        Crossing {
            stops: core.stops(way.path, self.places(way).map(|place| place.site)),
            far_s: route.links[1].latency_s + far_jitter_s,
            keeps_order: route.keeps_order,
            is_inside: false,
        }
    }

    fn backbone_s(&self, path: Path, sites_differ: bool) -> Seconds {
        match path {
            Path::Relay => 2.0 * self.backbone.relay_latency_s,
            Path::Direct if sites_differ => self.backbone.latency_s,
            Path::Direct => 0.0,
        }
    }

    /// One way from a phone to the relay for a datagram of so many bytes, seconds.
    pub(crate) fn to_relay_s(&self, phone: NodeId, wire_bytes: u32) -> Seconds {
        let place = self.places[phone.0 as usize];
        let core = self.core.as_ref();
        let between_s = core.and_then(|core| core.to_relay_s(place.site, wire_bytes));
        let between_s = between_s.unwrap_or(self.backbone.relay_latency_s);
        self.links[place.network as usize].latency_s + between_s
    }

    /// The number of the network of a phone.
    pub(crate) fn network(&self, phone: NodeId) -> u32 {
        self.places[phone.0 as usize].network
    }

    /// A phone has another attachment from now on; the number of its network.
    pub(crate) fn join(&mut self, phone: u32, attachment: u32) -> u32 {
        let place = self.attachments[attachment as usize];
        self.places[phone as usize] = place;
        place.network
    }

    /// How losses cluster in each attachment's network; empty where they do in none.
    pub(crate) fn bursts(&self) -> Vec<Option<Bursts>> {
        if self.bursts.iter().all(Option::is_none) {
            return vec![];
        }
        let networks = self.attachments.iter().map(|it| it.network as usize);
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
