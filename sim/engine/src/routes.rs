//! What the plan says of the ways between phones: access networks, sites, the relay, outages.
//!
//! What deliberately does not live here: contacts ([`crate::proximity`]), chance, and what is under
//! way.

use pocketsim_protocols::contract::{NodeId, Path, Seconds};

use crate::order::Way;
use crate::plan::{Access, Backbone, Bursts, Outage, Phones};

/// The access networks of a plan's phones, and what joins them.
pub(crate) struct Routes {
    access: Vec<Access>,
    phones: Phones,
    backbone: Backbone,
    outages: Vec<Outage>,
}

impl Routes {
    /// Those of a plan.
    pub(crate) fn new(
        access: Vec<Access>,
        phones: Phones,
        backbone: Backbone,
        outages: Vec<Outage>,
    ) -> Self {
        Self {
            access,
            phones,
            backbone,
            outages,
        }
    }

    /// The networks at both ends, the sender's first.
    pub(crate) fn hops(&self, way: Way) -> [&Access; 2] {
        [way.from, way.to].map(|phone| &self.access[self.number(phone) as usize])
    }

    /// How losses cluster in a phone's network.
    pub(crate) fn bursts(&self, phone: u32) -> Option<Bursts> {
        self.access[self.number(NodeId(phone)) as usize].bursts
    }

    /// What lies between the two networks takes so long, seconds.
    pub(crate) fn between_s(&self, way: Way) -> Seconds {
        let [near, far] = [way.from, way.to].map(|phone| self.phones.site[phone.0 as usize]);
        match way.path {
            Path::Relay => 2.0 * self.backbone.relay_latency_s,
            Path::Direct if near != far => self.backbone.latency_s,
            Path::Direct => 0.0,
        }
    }

    /// Whether datagrams arrive in the order they left.
    pub(crate) fn keep_order(&self, way: Way) -> bool {
        self.hops(way).iter().all(|access| !access.reorders)
    }

    /// Whether one of the two networks is out at `now`.
    pub(crate) fn are_out(&self, way: Way, now: Seconds) -> bool {
        let access = [way.from, way.to].map(|phone| self.number(phone));
        let mut outages = self.outages.iter();
        outages.any(|of| access.contains(&of.access) && (of.start_s..of.end_s).contains(&now))
    }

    fn number(&self, phone: NodeId) -> u32 {
        self.phones.access[phone.0 as usize]
    }
}
