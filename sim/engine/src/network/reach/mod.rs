//! Who can reach whom without the relay: NATs between phones and the Internet, and their bindings.
//!
//! A datagram that goes straight makes or keeps a binding at its sender's NAT when it leaves that
//! phone's radio, and is let in at its receiver's, or dropped, when it comes there. It is let in if
//! - the binding lasts: of a full cone that of the phone, of others that of the phone with this peer;
//! - it was sent to the port that the binding has, which changes with the binding; and,
//! - where ports are filtered, it comes from the port that was sent to.
//!
//! Peers of transports that do not coordinate know each phone's address from elsewhere, and the ports
//! of those that have one for all peers; what a symmetric NAT chose for a peer, that peer knows once it
//! was heard. Of transports that coordinate both have to be heard or [punched](Punching) for, unless
//! one has a public address. Phones of one site use private addresses, and a phone that goes off or
//! moves leaves no binding behind. What deliberately does not live here: relays, which every NAT lets phones
//! dial, and contacts.

pub(crate) mod nat;
pub(crate) mod punching;

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{Path, Seconds};

use crate::network::reach::nat::{Lease, NatClass};
use crate::network::reach::punching::Punching;
use crate::network::resequencer::Way;
use crate::plan::{Nat, Plan};
use crate::resources::attachments::Attachments;

/// The NATs of a run's phones.
pub(crate) struct Reach {
    /// By phone.
    ends: Vec<End>,
    /// By attachment, its class, site and network.
    attachments: Vec<(NatClass, u32, u32)>,
    /// By number of the access network.
    nats: Vec<Nat>,
    /// By phone and peer.
    bindings: BTreeMap<(u32, u32), Binding>,
    /// None where transports do not coordinate.
    pub(crate) punching: Option<Punching>,
}

/// One phone, as others see it.
struct End {
    class: NatClass,
    site: u32,
    network: u32,
    /// Its port, where all peers have the same.
    mapping: Option<Lease>,
    /// Since when it has its address.
    joined_s: Seconds,
}

/// What the NAT of a phone keeps for a peer.
#[derive(Clone, Copy)]
struct Binding {
    lease: Lease,
    /// Since when that port was in use of which the peer knows; not a number if of none.
    known_s: Seconds,
}

impl Reach {
    /// Of a plan whose phones are behind NATs; none of one that says nothing of them.
    pub(crate) fn new(plan: &Plan) -> Option<Box<Self>> {
        let nats = plan.nats.as_ref()?;
        let all = Attachments::new(plan);
        let none = Vec::new();
        let further = plan.moves.as_ref().map_or(&none, |moves| &moves.nat_class);
        let classes = nats.classes.iter().chain(further);
        let classes = classes.map(|&class| NatClass::ALL[class as usize]);
        let places = all.site.into_iter().zip(all.access);
        let attachments = classes.zip(places);
        let attachments: Vec<_> = attachments
            .map(|(class, (site, network))| (class, site, network))
            .collect();
        let end = |&(class, site, network)| End {
            class,
            site,
            network,
            mapping: None,
            joined_s: 0.0,
        };
        let coordinates =
            plan.transport.mode.starts_with("quic") && plan.transport.options.relay_first;
        let punching = || Punching::new(plan.seed, nats.hole_punching.clone());
        Some(Box::new(Self {
            ends: attachments
                .iter()
                .take(nats.classes.len())
                .map(end)
                .collect(),
            attachments,
            nats: nats.access.clone(),
            bindings: BTreeMap::new(),
            punching: coordinates.then(punching),
        }))
    }

    /// A datagram leaves its sender's radio at `at`.
    pub(crate) fn send(&mut self, way: Way, at: Seconds) {
        let (from, to) = (way.from.0, way.to.0);
        if way.path == Path::Direct && self.class(from).translates() && !self.are_local(from, to) {
            self.bind(from, to, at);
        }
    }

    /// Whether a datagram that comes to its receiver's network at `now` is let in.
    pub(crate) fn admits(&mut self, way: Way, now: Seconds) -> bool {
        let (from, to) = (way.from.0, way.to.0);
        if way.path == Path::Relay || self.are_local(from, to) {
            return true;
        }
        let [own, other] = [from, to].map(|phone| self.class(phone));
        if own == NatClass::Blocked || other == NatClass::Blocked {
            return false;
        }
        if !self.passes(from, to, now) {
            let may_punch = own.translates() && other.translates();
            let punching = self.punching.as_mut().filter(|_| may_punch);
            let opened_s =
                punching.and_then(|all| all.knock([from, to], own.lets_punch(other), now));
            let Some(opened_s) = opened_s else {
                return false;
            };
            self.open([from, to], opened_s);
            if !self.passes(from, to, now) {
                return false;
            }
        }
        self.pass(from, to, now);
        true
    }

    /// A phone goes off: it will have other ports when it is back.
    pub(crate) fn forget(&mut self, phone: u32) {
        self.ends[phone as usize].mapping = None;
        let own = self.bindings.range((phone, 0)..=(phone, u32::MAX));
        let own: Vec<_> = own.map(|(&key, _)| key).collect();
        for key in own {
            self.bindings.remove(&key);
        }
    }

    /// A phone has joined another network at `now`: nobody's NAT has let its new address in yet.
    pub(crate) fn join(&mut self, phone: u32, attachment: u32, now: Seconds) {
        let (class, site, network) = self.attachments[attachment as usize];
        self.ends[phone as usize] = End {
            class,
            site,
            network,
            mapping: None,
            joined_s: now,
        };
        if let Some(punching) = &mut self.punching {
            punching.join(phone, now);
        }
    }

    /// Whether two phones share a site, in which they use private addresses.
    fn are_local(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|phone| &self.ends[phone as usize]);
        one.site == other.site && !self.nats[one.network as usize].client_isolation
    }

    fn class(&self, phone: u32) -> NatClass {
        self.ends[phone as usize].class
    }

    /// The NAT of a phone makes a binding for a peer, or keeps it for longer.
    fn bind(&mut self, from: u32, to: u32, at: Seconds) {
        let end = &mut self.ends[from as usize];
        let nat = &self.nats[end.network as usize];
        if !end.class.maps_by_peer() {
            end.mapping = Some(Lease::send(end.mapping, nat, at));
        }
        let mapped_s = end.mapping.map_or(0.0, |mapping| mapping.since_s);
        let kept = self.bindings.get(&(from, to));
        // A port that is gone took all that was kept for peers with it.
        let begun_s = mapped_s.max(self.ends[to as usize].joined_s);
        let kept = kept.filter(|binding| binding.lease.since_s >= begun_s);
        let binding = Binding {
            lease: Lease::send(kept.map(|binding| binding.lease), nat, at),
            known_s: kept.map_or(Seconds::NAN, |binding| binding.known_s),
        };
        self.bindings.insert((from, to), binding);
    }

    /// Whether what `from` sends gets past the NAT of `to`.
    fn passes(&self, from: u32, to: u32, now: Seconds) -> bool {
        let class = self.class(to);
        class == NatClass::Open
            || self.is_bound(to, from, now)
                && self.knows(from, to)
                && (!class.filters_ports() || self.knows(to, from))
    }

    /// Whether the NAT of a phone keeps what it needs to let a peer in.
    fn is_bound(&self, phone: u32, peer: u32, now: Seconds) -> bool {
        let end = &self.ends[phone as usize];
        let nat = &self.nats[end.network as usize];
        let is_mapped =
            end.class.maps_by_peer() || end.mapping.is_some_and(|it| it.lasts(nat, now));
        let mapped_s = end.mapping.map_or(0.0, |mapping| mapping.since_s);
        let begun_s = mapped_s.max(self.ends[peer as usize].joined_s);
        let lasts =
            |binding: &Binding| binding.lease.since_s >= begun_s && binding.lease.lasts(nat, now);
        let binding = || self.bindings.get(&(phone, peer));
        is_mapped && (end.class == NatClass::FullCone || binding().is_some_and(lasts))
    }

    /// Whether `who` knows the port that `of` has for it now.
    fn knows(&self, who: u32, of: u32) -> bool {
        let class = self.class(of);
        let is_told = class == NatClass::Open || self.punching.is_none() && !class.maps_by_peer();
        let binding = self.bindings.get(&(of, who));
        is_told || binding.is_some_and(|binding| binding.known_s == self.port_s(of, binding))
    }

    /// Since when the port is in use that a binding of a phone has.
    fn port_s(&self, phone: u32, binding: &Binding) -> Seconds {
        let mapping = self.ends[phone as usize].mapping;
        mapping.map_or(binding.lease.since_s, |mapping| mapping.since_s)
    }

    /// A datagram is let in: its receiver knows where it comes from.
    fn pass(&mut self, from: u32, to: u32, now: Seconds) {
        let network = self.ends[to as usize].network as usize;
        let end = &mut self.ends[to as usize];
        if let Some(mapping) = &mut end.mapping {
            mapping.receive(&self.nats[network], now);
        }
        if let Some(binding) = self.bindings.get_mut(&(to, from)) {
            binding.lease.receive(&self.nats[network], now);
        }
        self.tell(from, to);
    }

    /// `to` gets to know the port that `from` has for it.
    fn tell(&mut self, from: u32, to: u32) {
        let known_s = self
            .bindings
            .get(&(from, to))
            .map(|it| self.port_s(from, it));
        if let (Some(known_s), Some(binding)) = (known_s, self.bindings.get_mut(&(from, to))) {
            binding.known_s = known_s;
        }
    }

    /// The way between two phones is punched at `at`, by datagrams of both.
    fn open(&mut self, [one, other]: [u32; 2], at: Seconds) {
        for (from, to) in [(one, other), (other, one)] {
            self.bind(from, to, at);
            self.tell(from, to);
        }
    }
}
