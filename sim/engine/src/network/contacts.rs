//! Contacts: what two phones in each other's reach send goes straight from one to the other.
//!
//! Such a link needs no flow model: [`Contacts`] is a closed form
//! beside SimGrid's links. Each way is first in, first out: a datagram starts when the contact is
//! set up and the one before it is out, and where the kind of link says so, when nobody near sends
//! ([`SharedAir`]). It takes its bytes over the link's rate, and then the latency. What is not through when the contact closes is lost. What deliberately does not live
//! here: who meets when, which is the plan's, and what is under way.

mod shared_air;

use std::collections::{BTreeMap, VecDeque};

use pocketsim_protocols::contract::Seconds;

use crate::base::event_queue::EventQueue;
use crate::plan::{Proximity, ProximityLink};
use shared_air::SharedAir;

/// The contacts that are open, and how far the plan's have been opened.
#[derive(Debug)]
pub struct Contacts {
    plan: Proximity,
    next: usize,
    /// By pair, the smaller number first; a pair's contacts in the order they opened.
    open: BTreeMap<(u32, u32), VecDeque<Contact>>,
    closings: EventQueue<(u32, u32)>,
    air: SharedAir,
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
    pub fn new(plan: Proximity) -> Self {
        Self {
            plan,
            next: 0,
            open: BTreeMap::new(),
            closings: EventQueue::new(),
            air: SharedAir::default(),
        }
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
        let link = &self.plan.links[contact.link];
        if !link.shares_air {
            return contact.pass(link, from > to, now, wire_bytes);
        }
        let free_s = self.air.free_s(from, to, contact.link, now);
        let passage = contact.pass(link, from > to, free_s, wire_bytes);
        let sent_s = contact.free_s[usize::from(from > to)].min(contact.closes_s);
        if passage.busy_s > 0.0 {
            let start_s = sent_s - passage.busy_s;
            self.air.occupy(from, to, contact.link, start_s, sent_s);
        }
        passage
    }

    /// Phone `phone` goes off: what it had not sent yet no longer keeps its links busy.
    pub fn silence(&mut self, phone: u32, now: Seconds) {
        self.air.silence(phone, now);
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
            let (air, links) = (&mut self.air, &self.plan.links);
            contacts.retain(|contact| {
                let stays = contact.closes_s > now;
                if !stays && links[contact.link].shares_air {
                    air.close(pair.0, pair.1, contact.link);
                }
                stays
            });
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
        if plan.links[link].shares_air {
            self.air.open(pair.0, pair.1, link);
        }
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

fn pair(one: u32, other: u32) -> (u32, u32) {
    (one.min(other), one.max(other))
}
