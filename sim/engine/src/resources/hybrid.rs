//! A world of queues and shares in arithmetic: radios, sites with a limit, and cores.
//!
//! What a phone uses alone has its date at once: a radio is a queue ([`crate::resources::radio`]),
//! work on cores that are enough takes its time. What several use at once is divided the moment
//! that they meet: the medium of a site ([`crate::resources::shared_medium`]) and a phone's cores
//! ([`crate::resources::capacity`]). In each of these one capacity alone is shared, so that max-min
//! fairness has a closed form, which SimGrid's dates equal (`tests/shares.rs`). Of what happens at
//! one moment, what ends here comes before what the driver's queue holds, each in the order in
//! which it was asked for. What deliberately does not live here: latency, jitter and loss, which
//! are the driver's.

use std::collections::VecDeque;

use pocketsim_protocols::contract::{NodeId, Seconds};

use crate::base::event_queue::EventQueue;
use crate::base::prefetch::prefetch;
use crate::base::rng::Stream;
use crate::plan::{Access, Plan, Profile};
use crate::resources::attachments::{Attached, Attachments};
use crate::resources::capacity::Capacity;
use crate::resources::computers::Computers;
use crate::resources::max_min::Claim;
use crate::resources::queue_delay::{QueueDelays, Span};
use crate::resources::radio::{Direction, Line, Radio};
use crate::resources::rates::VaryingLinks;
use crate::resources::run_queue::{RunQueue, TICK_S};
use crate::resources::shared_medium::{SharedMedium, SiteLook};
use crate::resources::wifi::Wifi;
use crate::resources::{
    Advance, Carried, Carrier, CpuDemand, Happening, Hop, Spender, Thread, World,
};

/// Phones with their radios and cores, the medium that they share, and the clock.
#[derive(Debug)]
pub struct Hybrid {
    now_s: Seconds,
    alarm_s: Seconds,
    looks: EventQueue<Due>,
    /// What happens at this moment, until it is told.
    happened: VecDeque<Happening>,
    phones: Vec<Phone>,
    /// None where each phone has its own cores.
    computers: Option<Computers>,
    medium: SharedMedium,
    /// None where no access point is of 802.11.
    wifi: Option<Box<Wifi>>,
    /// None where all rates are constant.
    varying: Option<VaryingLinks>,
    waits: QueueDelays,
    attached: Attached,
    /// By attachment; empty where nobody moves.
    lines: Vec<[Line; 2]>,
}

/// What a phone has, side by side: a datagram's end is soon followed by the work that it makes.
#[derive(Debug)]
#[repr(align(128))] // two lines of the cache, which processors fetch as a pair
struct Phone {
    /// Up and down.
    radios: [Radio; 2],
    /// Those of its access network.
    lines: [Line; 2],
    cores: u32,
    /// Those who use the cores, other phones of this computer too; members are tokens of work.
    works: Capacity,
}

/// What has to be looked at: a phone's cores, or a site's medium.
#[derive(Clone, Copy, Debug)]
enum Due {
    Cores(u32),
    Site(u32),
}

impl Hybrid {
    /// The idle phones of a plan.
    ///
    /// # Panics
    /// When one has no core or a radio has no rate, which the plan's maker should have refused.
    pub fn new(plan: &Plan) -> Self {
        let lines: Vec<[Line; 2]> = plan.access.iter().map(lines).collect();
        let (access, profiles) = (&plan.phones.access, &plan.phones.profile);
        let lines_of = |access: &[u32]| access.iter().map(|&it| lines[it as usize]).collect();
        let phone = |(number, (&access, &profile)): (u32, (&u32, &u32))| Phone {
            lines: lines[access as usize],
            cores: plan.profiles[profile as usize].cores,
            radios: [Radio::IDLE; 2],
            works: works(&plan.profiles[profile as usize], plan.seed, number),
        };
        let used = |number: &u32| plan.profiles[*number as usize].cores > 0;
        assert!(profiles.iter().all(used), "a phone without a core");
        let has_rates = |(access, lines): (&Access, &[Line; 2])| {
            access.wifi.is_some() || lines.iter().all(|line| line.rate_bytes_per_s > 0.0)
        };
        let has_rates = plan.access.iter().zip(&lines).all(has_rates);
        assert!(has_rates, "a radio without a rate");
        let attachments = Attachments::new(plan);
        let (airs, capacities) = attachments.airs(plan);
        let sites = airs.iter().zip(&attachments.access);
        let sites = sites.map(|(&site, &access)| {
            let [up, down] = lines[access as usize];
            let given = &plan.access[access as usize];
            let holds_share = [given.up_queue_bytes, given.down_queue_bytes].map(|it| it.is_none());
            (site, [(up, holds_share[0]), (down, holds_share[1])])
        });
        Self {
            now_s: 0.0,
            alarm_s: Seconds::INFINITY,
            looks: EventQueue::new(),
            happened: VecDeque::new(),
            medium: SharedMedium::new(&capacities, sites),
            attached: Attached::new(plan),
            lines: match plan.moves {
                None => vec![],
                Some(_) => lines_of(&attachments.access),
            },
            wifi: Wifi::new(plan),
            varying: VaryingLinks::new(plan),
            waits: QueueDelays::new(plan.trace.mode == "work"),
            phones: (0..).zip(access.iter().zip(profiles)).map(phone).collect(),
            computers: Computers::new(&plan.phones),
        }
    }

    /// Time goes on to `date_s`, before which nothing happens here.
    pub(crate) fn pass(&mut self, date_s: Seconds) {
        self.now_s = self.now_s.max(date_s);
    }

    fn look(&mut self, now: Seconds, due: Due) -> Option<Happening> {
        match due {
            Due::Cores(phone) => {
                let (ended, again) = self.phones[phone as usize].works.look(now);
                self.look_at(phone, again);
                if let (Some(computers), Some(token)) = (&mut self.computers, ended) {
                    computers.end(token);
                }
                ended.map(|token| Happening::Work(token, true))
            }
            Due::Site(site) if self.wifi.as_ref().is_some_and(|wifi| wifi.is_at(site)) => {
                let wifi = self.wifi.as_mut()?;
                let again = wifi.look(site, now, &mut self.waits, &mut self.happened);
                if let Some(again) = again {
                    look_at_site(&mut self.looks, again);
                }
                self.happened.pop_front()
            }
            Due::Site(site) => {
                let (looks, waits) = (&mut self.looks, &mut self.waits);
                let again = |look| look_at_site(looks, look);
                let ended = self.medium.look(site, now, waits, again);
                ended.map(|token| Happening::Hop(token, true))
            }
        }
    }

    fn look_at(&mut self, phone: u32, date_s: Option<Seconds>) {
        if let Some(date_s) = date_s {
            self.looks.push(date_s, Due::Cores(phone));
        }
    }

    /// Gives a datagram to a queue on a site with a limit.
    fn queue_on_site(&mut self, queue: u32, direction: Direction, datagram: (u32, u32)) -> Carried {
        let waits = &mut self.waits;
        let (taken, look) = self.medium.push(queue, self.now_s, datagram, waits);
        if let Some(look) = look {
            look_at_site(&mut self.looks, look);
        }
        if !taken {
            waits.refuse(direction);
            return Carried::Refused;
        }
        Carried::UntilTold
    }

    /// Gives a datagram to a queue of an access point of 802.11.
    fn queue_on_wifi(
        &mut self,
        attachment: u32,
        direction: Direction,
        datagram: (u32, u32),
    ) -> Carried {
        let (Some(wifi), waits) = (&mut self.wifi, &mut self.waits) else {
            unreachable!("the phone is on one");
        };
        let (taken, look) = wifi.push((attachment, direction), self.now_s, datagram, waits);
        if let Some(look) = look {
            look_at_site(&mut self.looks, look);
        }
        if !taken {
            waits.refuse(direction);
            return Carried::Refused;
        }
        Carried::UntilTold
    }

    /// What a phone was doing when it went off fails.
    fn cut_off(&mut self, phone: u32) {
        let works = self.stop_work(phone);
        let works = works.into_iter().map(|token| Happening::Work(token, false));
        self.happened.extend(works);
        self.empty_queues(phone);
    }

    /// What a phone was sending and receiving fails.
    fn empty_queues(&mut self, phone: u32) {
        let now = self.now_s;
        let radios = &mut self.phones[phone as usize].radios;
        radios.iter_mut().for_each(|radio| radio.clear(now));
        let (looks, attachment) = (&mut self.looks, self.attached.of(phone));
        let again = |look| look_at_site(looks, look);
        let waits = &mut self.waits;
        let mut hops = self.medium.clear(attachment, now, waits, again);
        if let Some(wifi) = &mut self.wifi {
            hops.extend(wifi.clear(attachment));
        }
        let hops = hops.into_iter().map(|token| Happening::Hop(token, false));
        self.happened.extend(hops);
    }

    /// Takes the work of a phone from the cores that it uses, which others may have for themselves.
    fn stop_work(&mut self, phone: u32) -> Vec<u32> {
        let host = self.host(phone);
        let (works, now) = (&mut self.phones[host as usize].works, self.now_s);
        let (stopped, again) = match &self.computers {
            None => works.remove(now, |_| true),
            Some(computers) => works.remove(now, |token| computers.is_of(token, phone)),
        };
        if let Some(computers) = &mut self.computers {
            stopped.iter().for_each(|&token| computers.end(token));
        }
        self.look_at(host, again);
        stopped
    }

    /// The phone that has the cores of `phone`.
    fn host(&self, phone: u32) -> u32 {
        let computers = self.computers.as_ref();
        computers.map_or(phone, |computers| computers.host(phone))
    }
}

impl Carrier for Hybrid {
    #[inline]
    fn stores_and_forwards(&self) -> bool {
        true
    }

    fn carry(&mut self, token: u32, hop: Hop, wire_bytes: u32) -> Carried {
        let (NodeId(phone), direction) = match hop {
            Hop::Up(phone) => (phone, Direction::Up),
            Hop::Down(phone) => (phone, Direction::Down),
            _ => unreachable!("a datagram takes one queue after the other"),
        };
        let attachment = self.attached.of(phone);
        if self.wifi.as_ref().is_some_and(|wifi| wifi.has(attachment)) {
            return self.queue_on_wifi(attachment, direction, (token, wire_bytes));
        }
        if let Some(queue) = self.medium.queue(attachment, direction) {
            return self.queue_on_site(queue, direction, (token, wire_bytes));
        }
        let state = &mut self.phones[phone as usize];
        let line = state.lines[direction as usize];
        let radio = &mut state.radios[direction as usize];
        let links = self.varying.as_mut();
        let link = links.and_then(|links| links.of_mut(attachment));
        let turn = match link {
            None => radio.pass(line, self.now_s, wire_bytes),
            Some(link) => link.pass((radio, line), direction, self.now_s, wire_bytes),
        };
        let Some(turn) = turn else {
            self.waits.refuse(direction);
            return Carried::Refused;
        };
        self.waits.end(direction, token, self.now_s, turn.wait_s);
        Carried::Until(turn.out_s)
    }
}

impl Spender for Hybrid {
    fn takes_turns(&self) -> bool {
        true
    }

    fn spend(&mut self, token: u32, phone: NodeId, demand: CpuDemand) {
        let host = self.host(phone.0);
        if let Some(computers) = &mut self.computers {
            computers.begin(token, phone.0);
        }
        let (state, now) = (&mut self.phones[host as usize], self.now_s);
        if let Some(queue) = state.works.run_queue() {
            give(queue, now, token, phone, demand);
            let look = state.works.ask();
            return self.look_at(host, look);
        }
        let threads = f64::from(demand.threads);
        let claim = Claim {
            amount: demand.cpu_s,
            bound_per_s: threads,
            weight: if demand.threads > 1 {
                threads
            } else {
                demand.priority
            },
        };
        let cores = f64::from(state.cores);
        let look = state.works.join(cores, now, token, claim);
        self.look_at(host, look);
    }
}

impl Advance for Hybrid {
    fn next_worker(&self) -> Option<u32> {
        match self.looks.coming().next() {
            Some(&Due::Cores(phone)) => Some(phone),
            _ => None,
        }
    }

    fn advance(&mut self, end_s: Seconds) -> Option<Happening> {
        if let Some(happening) = self.happened.pop_front() {
            return Some(happening);
        }
        loop {
            let look_s = self.looks.next_date().unwrap_or(Seconds::INFINITY);
            let is_look = look_s <= self.alarm_s;
            let next_s = if is_look { look_s } else { self.alarm_s };
            // An end that was reckoned anew may be earlier by a rounding than one that has passed.
            let next_s = if next_s < self.now_s {
                self.now_s
            } else {
                next_s
            };
            if next_s > end_s || next_s == Seconds::INFINITY {
                return None;
            }
            if !is_look {
                (self.now_s, self.alarm_s) = (next_s, Seconds::INFINITY);
                return Some(Happening::Wake);
            }
            let due = self.looks.pop_due(next_s)?;
            // At a look that comes too early nothing happens, not even time passes.
            if let Some(happening) = self.look(next_s, due) {
                self.now_s = next_s;
                return Some(happening);
            }
        }
    }
}

impl World for Hybrid {
    fn clock(&self) -> Seconds {
        self.now_s
    }

    fn wake_at(&mut self, date: Seconds) {
        self.alarm_s = date;
    }

    fn prefetch(&self, NodeId(phone): NodeId) {
        prefetch(&self.phones, phone as usize);
    }

    fn set_on(&mut self, phone: NodeId, on: bool) {
        if !on {
            self.cut_off(phone.0);
        }
    }

    fn leave(&mut self, NodeId(phone): NodeId) {
        self.empty_queues(phone);
    }

    fn join(&mut self, NodeId(phone): NodeId, attachment: u32) {
        self.phones[phone as usize].lines = self.lines[attachment as usize];
        self.attached.join(phone, attachment);
    }

    fn has_room(&self, phone: NodeId, wire_bytes: u32) -> bool {
        let attachment = self.attached.of(phone.0);
        if let Some(wifi) = self.wifi.as_ref().filter(|wifi| wifi.has(attachment)) {
            return wifi.has_room(attachment, Direction::Up, wire_bytes);
        }
        let (now, up) = (self.now_s, Direction::Up as usize);
        match self.medium.queue(attachment, Direction::Up) {
            Some(queue) => self.medium.has_room(queue, now, wire_bytes),
            None => {
                let state = &self.phones[phone.0 as usize];
                let (radio, line) = (&state.radios[up], state.lines[up]);
                let links = self.varying.as_ref();
                match links.and_then(|links| links.of(attachment)) {
                    None => radio.has_room(line, now, wire_bytes),
                    Some(link) => link.has_room((radio, line), Direction::Up, now, wire_bytes),
                }
            }
        }
    }

    fn out_s(&self, phone: NodeId) -> Option<Seconds> {
        let attachment = self.attached.of(phone.0);
        let has_wifi = self.wifi.as_ref().is_some_and(|wifi| wifi.has(attachment));
        let is_known = !has_wifi && self.medium.queue(attachment, Direction::Up).is_none();
        let radios = &self.phones[phone.0 as usize].radios;
        is_known.then(|| radios[Direction::Up as usize].out_s())
    }

    fn waits(&self) -> Option<QueueDelays> {
        let mut waits = self.waits.clone();
        self.medium.end_waits(self.now_s, &mut waits);
        if let Some(wifi) = &self.wifi {
            wifi.end_waits(self.now_s, &mut waits);
        }
        Some(waits)
    }

    fn wait(&self, token: u32) -> Option<Span> {
        self.waits.span(token)
    }
}

/// A phone's cores: one that threads take from each other, or so many that they share.
fn works(profile: &Profile, seed: u64, phone: u32) -> Capacity {
    if !profile.takes_turns() {
        return Capacity::IDLE;
    }
    let first_s = TICK_S * Stream::new(seed, "tick", phone).uniform();
    Capacity::of_threads(RunQueue::with_ticks(first_s, profile.tick_core_s))
}

/// Gives a phone's work to the core that its threads take from each other.
fn give(queue: &mut RunQueue, now: Seconds, token: u32, NodeId(phone): NodeId, demand: CpuDemand) {
    match demand.thread {
        Thread::Interrupt => queue.interrupt(now, token, demand.cpu_s),
        Thread::Number(number) => queue.join(now, token, (phone, number), demand.cpu_s),
        Thread::Handed(number) => queue.hand_over(now, token, (phone, number)),
    }
}

fn look_at_site(looks: &mut EventQueue<Due>, SiteLook { site, date_s }: SiteLook) {
    looks.push(date_s, Due::Site(site));
}

fn lines(access: &Access) -> [Line; 2] {
    [
        Line::new(access.up_bytes_per_s, access.up_queue_bytes),
        Line::new(access.down_bytes_per_s, access.down_queue_bytes),
    ]
}

#[cfg(test)]
mod tests {
    use super::Phone;

    #[test]
    fn a_phone_fills_one_pair_of_lines() {
        assert_eq!(size_of::<Phone>(), 128);
    }
}
