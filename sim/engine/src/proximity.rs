//! Contacts: what two phones in each other's reach send goes straight from one to the other.
//!
//! Such a link is private to the pair, so it needs no flow model: [`Contacts`] is a closed form
//! beside SimGrid's links. Each way is first in, first out: a datagram starts when the contact is
//! set up and the one before it is out, takes its bytes over the link's rate, and then the
//! latency. What is not through when the contact closes is lost. Who meets when is the plan's.

use std::collections::{BTreeMap, VecDeque};

use pocketsim_protocols::contract::{Application, Path, Reason, Seconds, Transport};

use crate::driver::{Driver, Due};
use crate::network::Flight;
use crate::order::Way;
use crate::plan::{Proximity, ProximityLink};
use crate::queue::Queue;
use crate::resources::World;
use crate::socket::{fragments, wire_bytes};
use crate::trace::Tally;

/// The contacts that are open, and how far the plan's have been opened.
#[derive(Debug)]
pub struct Contacts {
    plan: Proximity,
    next: usize,
    /// By pair, the smaller number first; a pair's contacts in the order they opened.
    open: BTreeMap<(u32, u32), VecDeque<Contact>>,
    closings: Queue<(u32, u32)>,
}

/// What becomes of a datagram that a contact takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// When it is at the other end, or the contact closes under it.
    pub end_s: Seconds,
    /// Whether the contact closes under it.
    pub cut: bool,
    /// Number of the kind of link that it takes.
    pub link: usize,
    /// How long it keeps the link busy while the contact is open, seconds.
    pub busy_s: Seconds,
    /// Probability that each of its IP packets is lost on the way.
    pub loss_ratio: f64,
}

#[derive(Debug)]
struct Contact {
    link: usize,
    ready_s: Seconds,
    closes_s: Seconds,
    /// When the last datagram is out, from the smaller number and from the larger.
    free_s: [Seconds; 2],
}

impl Contacts {
    /// The contacts of a plan, none of them open yet.
    pub fn new(plan: &Proximity) -> Self {
        Self {
            plan: plan.clone(),
            next: 0,
            open: BTreeMap::new(),
            closings: Queue::new(),
        }
    }

    /// Whether phones can meet at all.
    pub fn exist(&self) -> bool {
        !self.plan.links.is_empty()
    }

    /// Whether a contact of the two is open at `now`, which must not go back.
    pub fn join(&mut self, from: u32, to: u32, now: Seconds) -> bool {
        self.advance(now);
        self.open.contains_key(&pair(from, to))
    }

    /// Takes a datagram at `now`, on the pair's contact that has been open for longest.
    ///
    /// # Panics
    /// When no contact [joins](Self::join) the two.
    pub fn carry(&mut self, from: u32, to: u32, now: Seconds, wire_bytes: u32) -> Passage {
        let contacts = self.open.get_mut(&pair(from, to));
        let contact = contacts.and_then(VecDeque::front_mut).expect("they meet");
        contact.pass(&self.plan.links[contact.link], from > to, now, wire_bytes)
    }

    /// Phone `phone` goes off: what it had not sent yet no longer keeps its links busy.
    pub fn silence(&mut self, phone: u32, now: Seconds) {
        for (&(low, high), contacts) in &mut self.open {
            if phone == low || phone == high {
                let way = usize::from(phone == high);
                let busy = contacts.iter_mut().map(|contact| &mut contact.free_s[way]);
                busy.for_each(|free_s| *free_s = free_s.min(now));
            }
        }
    }

    /// Opens and closes what the plan says until `now`.
    fn advance(&mut self, now: Seconds) {
        while self.plan.time_s.get(self.next).is_some_and(|&at| at <= now) {
            self.open_next();
        }
        while let Some(pair) = self.closings.pop_due(now) {
            // Two of a pair that close at once: the first entry removes both.
            let Some(contacts) = self.open.get_mut(&pair) else {
                continue;
            };
            contacts.retain(|contact| contact.closes_s > now);
            if contacts.is_empty() {
                self.open.remove(&pair);
            }
        }
    }

    fn open_next(&mut self) {
        let (plan, at) = (&self.plan, self.next);
        let pair = pair(plan.phone_a[at], plan.phone_b[at]);
        let link = plan.link[at] as usize;
        let closes_s = plan.time_s[at] + plan.duration_s[at];
        let contact = Contact {
            link,
            ready_s: plan.time_s[at] + plan.links[link].setup_s,
            closes_s,
            free_s: [0.0; 2],
        };
        self.open.entry(pair).or_default().push_back(contact);
        self.closings.push(closes_s, pair);
        self.next += 1;
    }
}

impl Contact {
    fn pass(&mut self, link: &ProximityLink, up: bool, now: Seconds, wire_bytes: u32) -> Passage {
        let free_s = &mut self.free_s[usize::from(up)];
        let start_s = now.max(self.ready_s).max(*free_s);
        *free_s = start_s + f64::from(wire_bytes) / link.rate_bytes_per_s;
        let arrival_s = *free_s + link.latency_s;
        Passage {
            end_s: arrival_s.min(self.closes_s),
            cut: arrival_s > self.closes_s,
            link: self.link,
            busy_s: (self.closes_s.min(*free_s) - start_s).max(0.0),
            loss_ratio: link.loss_ratio,
        }
    }
}

impl<A: Application, T: Transport<A::Block>, W: World> Driver<A, T, W> {
    /// Whether a contact takes what goes this way now; the relay is never near.
    pub(crate) fn meets(&mut self, way: Way) -> bool {
        let now = self.world.clock();
        way.path == Path::Direct && self.contacts.join(way.from.0, way.to.0, now)
    }

    /// Sends a datagram to a phone in reach.
    pub(crate) fn launch_in_contact(&mut self, way: Way, datagram: T::Message) {
        let flight = self.flight(way, datagram, false);
        if !self.phones[way.to.0 as usize].on {
            return self.drop_flight(&flight, Reason::ReceiverOff);
        }
        let payload_bytes = flight.datagram.udp_payload_bytes;
        let (now, bytes) = (self.world.clock(), wire_bytes(payload_bytes));
        let passage = self.contacts.carry(way.from.0, way.to.0, now, bytes);
        // What waits until they part never takes the air.
        if passage.busy_s > 0.0 {
            self.trace.count(Tally::ContactDatagrams);
            self.trace.add(Tally::ContactBytes, bytes);
        }
        if let Some(energy) = &mut self.energy {
            energy.meet([way.from.0, way.to.0], passage.link, passage.busy_s);
        }
        let sender = &mut self.phones[way.from.0 as usize];
        let lost = sender.loses(passage.loss_ratio, fragments(payload_bytes));
        let due = Due::ContactEnd(
            self.flights.insert(Flight {
                lost: lost || passage.cut,
                ..flight
            }) as u32,
            sender.epoch,
        );
        self.queue.push(passage.end_s, due);
    }

    /// A contact has carried it, if the sender stayed on for that long.
    pub(crate) fn land_from_contact(&mut self, token: u32, epoch: u32) {
        let from = self.flights[token as usize].way.from;
        if self.phones[from.0 as usize].epoch == epoch {
            return self.land(token, true);
        }
        let flight = self.flights.remove(token as usize);
        self.drop_flight(&flight, Reason::SenderOff);
    }

    /// Whether an access network that this way takes is out.
    pub(crate) fn is_out(&self, way: Way) -> bool {
        let now = self.world.clock();
        let access = [way.from, way.to].map(|phone| self.plan.phones.access[phone.0 as usize]);
        let mut outages = self.plan.outages.iter();
        outages.any(|of| access.contains(&of.access) && (of.start_s..of.end_s).contains(&now))
    }
}

fn pair(one: u32, other: u32) -> (u32, u32) {
    (one.min(other), one.max(other))
}
