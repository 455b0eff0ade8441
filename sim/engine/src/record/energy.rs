//! What phones spend: joules by component and by network, over every phone but the tokens'
//! authority.
//!
//! A busy core and a contact's busy link draw constant powers. The radio of an access network is
//! *active* while it carries bytes, in each direction for itself: for as long as they take at the
//! network's rate, or on air that it shares from when they are first of their queue until they are
//! out: on an access point of IEEE 802.11 what they wait for others is in it. Then it keeps its
//! *tail*, until it has been silent for that long and sleeps; what comes next *promotes* it. What a
//! phone has not sent when it goes off costs nothing; of what it was sending, the time does. All of
//! it is settled in closed form when a datagram comes, without timers. Of a radio whose network says
//! how it sleeps (`crate::network::radio_states`) the tail and the promotions are those that
//! datagrams wait for, and are told ([`Accountant::wake`]). What deliberately does not live here:
//! batteries ([`crate::phone::battery`], which are told), screens, what a phone draws when idle, and what datagrams cost that no network carries.

use std::collections::{BTreeMap, VecDeque};

use pocketsim_protocols::contract::Seconds;
use pocketsim_protocols::named_enum;

use crate::plan::{self, Phones, Plan};
use crate::resources::radio::Direction;

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

/// What a radio did that sleeps as its network says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wake {
    /// How often it woke up.
    pub promotions: u32,
    /// How long it was connected and silent, seconds.
    pub tail_s: Seconds,
}

/// The accounts of one run; inputs must not go back in time.
#[derive(Debug)]
pub struct Accountant {
    prices: plan::Energy,
    networks: Vec<plan::Access>,
    phones: Phones,
    /// By phone.
    radios: Vec<State>,
    /// By component: of each network or kind of link, and of all cores together.
    spent_j: Parts,
    /// Phones and what they were charged, until batteries ask; none where phones have no batteries.
    charged: Option<VecDeque<(u32, f64)>>,
}

/// Joules by component, and there by number of the access network or of the kind of link.
type Parts = [Vec<f64>; Component::ALL.len()];

/// What a phone's radio is at.
#[derive(Clone, Copy, Debug)]
struct State {
    /// When it was last active, in its tail or before; none while it sleeps, and infinite while it
    /// is on air that it shares.
    active_until_s: Option<Seconds>,
    /// When all that it was given to send is out, on a link of its own.
    sent_s: Seconds,
    /// Up and down, on air that it shares.
    turns: [Turn; 2],
}

/// A queue of which the first is on the air.
#[derive(Clone, Copy, Debug)]
struct Turn {
    datagrams: u32,
    first_since_s: Seconds,
}

impl State {
    const ASLEEP: State = State {
        active_until_s: None,
        sent_s: 0.0,
        turns: [Turn {
            datagrams: 0,
            first_since_s: 0.0,
        }; 2],
    };
}

impl Accountant {
    /// Empty accounts of `plan`; none when it says nothing about energy.
    pub fn new(plan: &Plan) -> Option<Self> {
        let prices = plan.energy.clone()?;
        let mut spent_j = Parts::default();
        for (component, parts) in Component::ALL.iter().zip(&mut spent_j) {
            parts.resize(component.parts(&prices), 0.0);
        }
        Some(Self {
            prices,
            networks: plan.access.clone(),
            phones: plan.phones.clone(),
            radios: vec![State::ASLEEP; plan.phones.role.len()],
            spent_j,
            charged: plan.battery.as_ref().map(|_| VecDeque::new()),
        })
    }

    /// Phone `phone` computes for `cpu_s` core seconds.
    pub fn compute(&mut self, phone: u32, cpu_s: Seconds) {
        if self.counts(phone) {
            self.spend(phone, Component::Cpu, 0, cpu_s * self.prices.core_w);
        }
    }

    /// A contact of the kind `link` is busy for `busy_s` between two phones.
    pub fn meet(&mut self, phones: [u32; 2], link: usize, busy_s: Seconds) {
        for phone in phones {
            if self.counts(phone) {
                self.spend(
                    phone,
                    Component::Contact,
                    link,
                    busy_s * self.prices.contact_w[link],
                );
            }
        }
    }

    /// Phone `phone` is given `wire_bytes` at `now` to send over a link of its own, after what it
    /// was given before.
    pub fn send(&mut self, phone: u32, now: Seconds, wire_bytes: u32) {
        if !self.counts(phone) {
            return;
        }
        let active_s = f64::from(wire_bytes) / self.radio(phone).0.up_bytes_per_s;
        let start_s = self.radios[phone as usize].sent_s.max(now);
        let out_s = start_s + active_s;
        self.begin(phone, start_s);
        self.stay(phone, out_s);
        self.radios[phone as usize].sent_s = out_s;
        self.pay(phone, Direction::Up, active_s, wire_bytes);
    }

    /// Phone `phone` has received `wire_bytes` over a link of its own at `now`.
    pub fn receive(&mut self, phone: u32, now: Seconds, wire_bytes: u32) {
        if !self.counts(phone) {
            return;
        }
        let active_s = f64::from(wire_bytes) / self.radio(phone).0.down_bytes_per_s;
        self.begin(phone, now - active_s);
        self.stay(phone, now);
        self.pay(phone, Direction::Down, active_s, wire_bytes);
    }

    /// A datagram from or to `phone` is the last of its queue at `now`, for air that it shares.
    pub fn queue(&mut self, phone: u32, direction: Direction, now: Seconds) {
        if !self.counts(phone) {
            return;
        }
        let turn = &mut self.radios[phone as usize].turns[direction as usize];
        turn.datagrams += 1;
        if turn.datagrams == 1 {
            turn.first_since_s = now;
            self.begin(phone, now);
            self.stay(phone, Seconds::INFINITY);
        }
    }

    /// The first of that queue is out at `now`; if it is paid for, these are its bytes.
    pub fn leave(
        &mut self,
        phone: u32,
        direction: Direction,
        now: Seconds,
        wire_bytes: Option<u32>,
    ) {
        if !self.counts(phone) {
            return;
        }
        let state = &mut self.radios[phone as usize];
        let turn = &mut state.turns[direction as usize];
        turn.datagrams -= 1;
        let active_s = now - std::mem::replace(&mut turn.first_since_s, now);
        if state.turns.iter().all(|turn| turn.datagrams == 0) {
            state.active_until_s = Some(now);
        }
        if let Some(wire_bytes) = wire_bytes {
            self.pay(phone, direction, active_s, wire_bytes);
        }
    }

    /// The radio of `phone`, which sleeps as its network says, did this.
    pub fn wake(&mut self, phone: u32, wake: Wake) {
        if self.counts(phone) {
            let radio = self.radio(phone).1;
            let promotion_j = f64::from(wake.promotions) * radio.promotion_j;
            let tail_j = wake.tail_s * radio.tail_power_w;
            self.spend_access(phone, Component::AccessPromotion, promotion_j);
            self.spend_access(phone, Component::AccessTail, tail_j);
        }
    }

    /// Of what `phone` was given to send, these bytes never left it; over `network`, if that need not
    /// be the one that it has now.
    pub fn take_back(&mut self, phone: u32, wire_bytes: u32, network: Option<u32>) {
        if self.counts(phone) {
            let network = network.map_or_else(|| self.network(phone), |number| number as usize);
            let never_j = f64::from(wire_bytes) * self.prices.access[network].up_per_byte_j;
            self.spend(phone, Component::AccessActive, network, -never_j);
        }
    }

    /// Phone `phone` goes off at `now`, and its radio with it.
    pub fn switch_off(&mut self, phone: u32, now: Seconds) {
        self.spend_access(phone, Component::AccessActive, self.open_j(phone, now));
        self.spend_access(phone, Component::AccessTail, self.tail_j(phone, now));
        self.radios[phone as usize] = State::ASLEEP;
    }

    /// Phone `phone` is on that access network from now on.
    pub fn join(&mut self, phone: u32, network: u32) {
        self.phones.access[phone as usize] = network;
    }

    /// A phone and joules that it was charged, the first that nobody has asked for.
    pub(crate) fn next_charge(&mut self) -> Option<(u32, f64)> {
        self.charged.as_mut()?.pop_front()
    }

    /// Joules by component, had the run ended at `end_s`.
    pub fn spent_j(&self, end_s: Seconds) -> BTreeMap<&'static str, f64> {
        let parts = self.spent_by_part_j(end_s).into_iter();
        parts
            .map(|(name, parts)| (name, parts.iter().sum()))
            .collect()
    }

    /// The same, of each part: by number of the access network or of the kind of link; cores are
    /// one.
    pub fn spent_by_part_j(&self, end_s: Seconds) -> BTreeMap<&'static str, Vec<f64>> {
        let mut spent_j = self.spent_j.clone();
        for phone in 0..self.radios.len() as u32 {
            let number = self.network(phone);
            spent_j[Component::AccessActive as usize][number] += self.open_j(phone, end_s);
            spent_j[Component::AccessTail as usize][number] += self.tail_j(phone, end_s);
        }
        // What was never sent is taken back from what it was charged for: where that was all, a
        // rounding of dates may leave less than nothing.
        let spent_j = spent_j.map(|parts| parts.iter().map(|joules| joules.max(0.0)).collect());
        let names = Component::ALL.iter().map(|component| component.name());
        names.zip(spent_j).collect()
    }

    /// Its radio becomes active at `start_s`, unless it is, or somebody else says what it does.
    fn begin(&mut self, phone: u32, start_s: Seconds) {
        let (network, radio) = self.radio(phone);
        if network.states.is_some() {
            return;
        }
        let (tail_s, promotion_j) = (radio.tail_s, radio.promotion_j);
        let before_s = self.radios[phone as usize].active_until_s;
        if before_s.is_none_or(|until_s| start_s > until_s + tail_s) {
            self.spend_access(phone, Component::AccessPromotion, promotion_j);
        }
        self.spend_access(phone, Component::AccessTail, self.tail_j(phone, start_s));
    }

    /// Its radio is active until `end_s` at least.
    fn stay(&mut self, phone: u32, end_s: Seconds) {
        let until_s = &mut self.radios[phone as usize].active_until_s;
        *until_s = Some(until_s.map_or(end_s, |until_s| until_s.max(end_s)));
    }

    /// A datagram keeps its radio active for so long.
    fn pay(&mut self, phone: u32, direction: Direction, active_s: Seconds, wire_bytes: u32) {
        let radio = self.radio(phone).1;
        let per_byte_j = match direction {
            Direction::Up => radio.up_per_byte_j,
            Direction::Down => radio.down_per_byte_j,
        };
        let active_j = active_s * radio.active_w + f64::from(wire_bytes) * per_byte_j;
        self.spend_access(phone, Component::AccessActive, active_j);
    }

    /// What it is sending at `now` has cost beyond what is paid, or would have cost from then on.
    ///
    /// What it is receiving costs nothing until all of it is there.
    fn open_j(&self, phone: u32, now: Seconds) -> f64 {
        let state = &self.radios[phone as usize];
        let turn = state.turns[Direction::Up as usize];
        let unpaid_s = match turn.datagrams {
            0 => 0.0,
            _ => now - turn.first_since_s,
        };
        let unsent_s = (state.sent_s - now).max(0.0);
        (unpaid_s - unsent_s) * self.radio(phone).1.active_w
    }

    /// What its radio's tail has cost until `now`.
    fn tail_j(&self, phone: u32, now: Seconds) -> f64 {
        let (network, radio) = self.radio(phone);
        if network.states.is_some() {
            return 0.0;
        }
        let until_s = self.radios[phone as usize].active_until_s;
        let silent_s = until_s.map_or(0.0, |until_s| now - until_s);
        silent_s.clamp(0.0, radio.tail_s) * radio.tail_power_w
    }

    fn radio(&self, phone: u32) -> (&plan::Access, &plan::Radio) {
        let number = self.network(phone);
        (&self.networks[number], &self.prices.access[number])
    }

    fn counts(&self, phone: u32) -> bool {
        self.phones.role[phone as usize] != Phones::AUTHORITY
    }

    /// The number of the access network that it is on.
    fn network(&self, phone: u32) -> usize {
        self.phones.access[phone as usize] as usize
    }

    fn spend_access(&mut self, phone: u32, component: Component, joules: f64) {
        self.spend(phone, component, self.network(phone), joules);
    }

    fn spend(&mut self, phone: u32, component: Component, part: usize, joules: f64) {
        self.spent_j[component as usize][part] += joules;
        if let Some(charged) = &mut self.charged {
            charged.push_back((phone, joules));
        }
    }
}

impl Component {
    /// How many parts it has: networks, kinds of link, or one.
    fn parts(self, prices: &plan::Energy) -> usize {
        match self {
            Self::Cpu => 1,
            Self::Contact => prices.contact_w.len(),
            Self::AccessActive | Self::AccessTail | Self::AccessPromotion => prices.access.len(),
        }
    }
}
