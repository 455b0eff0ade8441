//! What phones spend: joules by component, over every phone but the tokens' authority.
//!
//! A busy core and a contact's busy link draw constant powers. The radio of an access network is
//! *active* while it carries bytes, for as long as they take at the network's rate; then it keeps
//! its *tail*, until it has been silent for that long and sleeps; what comes next *promotes* it.
//! All of it is settled in closed form when a datagram comes, without timers. What deliberately
//! does not live here: batteries, screens, what a phone draws when idle, and what datagrams cost
//! that no network carries.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::Seconds;
use pocketsim_protocols::named_enum;

use crate::plan::{self, Phones, Plan};

named_enum! {
    /// What energy went into.
    Component {
        /// Busy cores.
        Cpu = "cpu",
        /// Links of contacts, at both ends.
        Contact = "contact",
        /// Radios of access networks that send or receive.
        AccessActive = "access_active",
        /// The same radios, silent but not asleep yet.
        AccessTail = "access_tail",
        /// The same radios, waking up.
        AccessPromotion = "access_promotion",
    }
}

/// The accounts of one run; inputs must not go back in time.
#[derive(Debug)]
pub struct Accountant {
    prices: plan::Energy,
    networks: Vec<plan::Access>,
    phones: Phones,
    /// By phone: when its radio was last active, in its tail or before; none while it sleeps.
    active_until_s: Vec<Option<Seconds>>,
    spent_j: [f64; Component::ALL.len()],
}

impl Accountant {
    /// Empty accounts of `plan`; none when it says nothing about energy.
    pub fn new(plan: &Plan) -> Option<Self> {
        let prices = plan.energy.clone()?;
        Some(Self {
            prices,
            networks: plan.access.clone(),
            phones: plan.phones.clone(),
            active_until_s: vec![None; plan.phones.role.len()],
            spent_j: [0.0; Component::ALL.len()],
        })
    }

    /// Phone `phone` computes for `cpu_s` core seconds.
    pub fn compute(&mut self, phone: u32, cpu_s: Seconds) {
        if self.counts(phone) {
            self.spend(Component::Cpu, cpu_s * self.prices.core_w);
        }
    }

    /// A contact of the kind `link` is busy for `busy_s` between two phones.
    pub fn meet(&mut self, phones: [u32; 2], link: usize, busy_s: Seconds) {
        for phone in phones {
            if self.counts(phone) {
                self.spend(Component::Contact, busy_s * self.prices.contact_w[link]);
            }
        }
    }

    /// Phone `phone` begins to send `wire_bytes` over its access network at `now`.
    pub fn send(&mut self, phone: u32, now: Seconds, wire_bytes: u32) {
        let (network, radio) = self.radio(phone);
        let bytes = f64::from(wire_bytes);
        let active_s = bytes / network.up_bytes_per_s;
        let active_j = active_s * radio.active_w + bytes * radio.up_per_byte_j;
        self.occupy(phone, now, active_s, active_j);
    }

    /// Phone `phone` has received `wire_bytes` over its access network at `now`.
    pub fn receive(&mut self, phone: u32, now: Seconds, wire_bytes: u32) {
        let (network, radio) = self.radio(phone);
        let bytes = f64::from(wire_bytes);
        let active_s = bytes / network.down_bytes_per_s;
        let active_j = active_s * radio.active_w + bytes * radio.down_per_byte_j;
        self.occupy(phone, now - active_s, active_s, active_j);
    }

    /// Phone `phone` goes off at `now`, and its radio with it.
    pub fn switch_off(&mut self, phone: u32, now: Seconds) {
        self.spend(Component::AccessTail, self.tail_j(phone, now));
        self.active_until_s[phone as usize] = None;
    }

    /// Joules by component, had the run ended at `end_s`.
    pub fn spent_j(&self, end_s: Seconds) -> BTreeMap<&'static str, f64> {
        let mut spent_j = self.spent_j;
        for phone in 0..self.active_until_s.len() as u32 {
            spent_j[Component::AccessTail as usize] += self.tail_j(phone, end_s);
        }
        let names = Component::ALL.iter().map(|component| component.name());
        names.zip(spent_j).collect()
    }

    /// Its radio is active from `start_s` on, or as soon as it is done with what came before.
    fn occupy(&mut self, phone: u32, start_s: Seconds, active_s: Seconds, active_j: f64) {
        if !self.counts(phone) {
            return;
        }
        let radio = self.radio(phone).1;
        let (tail_s, promotion_j) = (radio.tail_s, radio.promotion_j);
        let before_s = self.active_until_s[phone as usize];
        if before_s.is_none_or(|until_s| start_s > until_s + tail_s) {
            self.spend(Component::AccessPromotion, promotion_j);
        }
        self.spend(Component::AccessTail, self.tail_j(phone, start_s));
        self.spend(Component::AccessActive, active_j);
        let free_s = before_s.map_or(start_s, |until_s| until_s.max(start_s));
        self.active_until_s[phone as usize] = Some(free_s + active_s);
    }

    /// What its radio's tail has cost until `now`.
    fn tail_j(&self, phone: u32, now: Seconds) -> f64 {
        let radio = self.radio(phone).1;
        let silent_s = self.active_until_s[phone as usize].map_or(0.0, |until_s| now - until_s);
        silent_s.clamp(0.0, radio.tail_s) * radio.tail_power_w
    }

    fn radio(&self, phone: u32) -> (&plan::Access, &plan::Radio) {
        let number = self.phones.access[phone as usize] as usize;
        (&self.networks[number], &self.prices.access[number])
    }

    fn counts(&self, phone: u32) -> bool {
        self.phones.role[phone as usize] != Phones::AUTHORITY
    }

    fn spend(&mut self, component: Component, joules: f64) {
        self.spent_j[component as usize] += joules;
    }
}
