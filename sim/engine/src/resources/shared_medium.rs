//! The air of access points and cells with a limit: radios take turns with themselves and share it.
//!
//! Each phone on such a site has a queue up, of its own, and one down, at the access point or cell.
//! The heads of all queues are on the air at once and share its capacity max-min fairly, none
//! faster than its radio; what waits behind them has no date yet. As long as the capacity is enough
//! for all heads, dates are those of radios without a limit.
//!
//! A queue to which the scenario gives no size holds what its share carries in [`QUEUE_S`], and its
//! share is the capacity over the queues that have something to send now. What waits in all of them
//! is never more than the site carries in that time, however many phones it has, and a burst on a
//! quiet site finds room. That a queue's room depends on how many are busy is Lin and Morris's
//! (Dynamics of Random Early Detection, SIGCOMM 1997). What deliberately does not live here:
//! another discipline than fair shares, such as the airtime of 802.11.

use std::collections::VecDeque;

use pocketsim_protocols::contract::Seconds;

use crate::resources::capacity::Capacity;
use crate::resources::max_min::Claim;
use crate::resources::queue_delay::QueueDelays;
use crate::resources::radio::{has_room, Direction, Line, QUEUE_S};

/// All queues and the air that they share.
#[derive(Debug, Default)]
pub struct SharedMedium {
    sites: Vec<Site>,
    /// By attachment, its place among the queues; [`NOWHERE`] without a limit. Empty without any.
    places: Vec<u32>,
    /// Up and down of each place.
    queues: Vec<Queue>,
}

#[derive(Debug)]
struct Site {
    capacity_bytes_per_s: f64,
    /// Members are places of queues.
    capacity: Capacity,
    /// Of all queues that hold shares, but the first of each.
    waiting_bytes: u64,
}

#[derive(Debug)]
struct Queue {
    site: u32,
    direction: Direction,
    line: Line,
    /// Whether it holds no more than its share of the site carries in [`QUEUE_S`].
    holds_share: bool,
    /// The first is on the air.
    datagrams: VecDeque<Queued>,
    /// Of all but the first.
    waiting_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    token: u32,
    wire_bytes: u32,
    since_s: Seconds,
}

/// A site has to be looked at again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiteLook {
    /// Its number.
    pub site: u32,
    /// When.
    pub date_s: Seconds,
}

impl SharedMedium {
    /// The air of sites of these capacities in bytes per second, 0 for no limit;
    /// `attachments` are the site and the lines up and down of each, and whether their queues hold
    /// shares of the site.
    pub fn new(
        capacities_bytes_per_s: &[f64],
        attachments: impl Iterator<Item = (u32, [(Line, bool); 2])>,
    ) -> Self {
        if capacities_bytes_per_s
            .iter()
            .all(|&capacity| capacity == 0.0)
        {
            return Self::default();
        }
        let site = |&capacity_bytes_per_s: &f64| Site {
            capacity_bytes_per_s,
            capacity: Capacity::IDLE,
            waiting_bytes: 0,
        };
        let sites: Vec<Site> = capacities_bytes_per_s.iter().map(site).collect();
        let (mut places, mut queues) = (Vec::new(), Vec::new());
        for (site, lines) in attachments {
            if sites[site as usize].capacity_bytes_per_s == 0.0 {
                places.push(NOWHERE);
                continue;
            }
            places.push(queues.len() as u32);
            let [up, down] = lines;
            queues.push(Queue::new(site, Direction::Up, up));
            queues.push(Queue::new(site, Direction::Down, down));
        }
        Self {
            sites,
            places,
            queues,
        }
    }

    /// The queue of a phone on a site with a limit, by its attachment; none on another.
    pub fn queue(&self, attachment: u32, direction: Direction) -> Option<u32> {
        let place = *self.places.get(attachment as usize)?;
        (place != NOWHERE).then(|| place + direction as u32)
    }

    /// Gives a datagram to a queue: whether there was room, and when to look at its site again.
    pub fn push(
        &mut self,
        queue: u32,
        now: Seconds,
        (token, wire_bytes): (u32, u32),
        waits: &mut QueueDelays,
    ) -> (bool, Option<SiteLook>) {
        if !self.has_room(queue, now, wire_bytes) {
            return (false, None);
        }
        let state = &mut self.queues[queue as usize];
        state.datagrams.push_back(Queued {
            token,
            wire_bytes,
            since_s: now,
        });
        if state.datagrams.len() > 1 {
            state.waiting_bytes += u64::from(wire_bytes);
            if state.holds_share {
                self.sites[state.site as usize].waiting_bytes += u64::from(wire_bytes);
            }
            waits.begin(token, now);
            return (true, None);
        }
        (true, self.start(queue, now, waits))
    }

    /// Looks at a site, as was asked for: takes a datagram that is out, if there is one. Looks that
    /// have to be taken from now on are told to `again`.
    pub fn look(
        &mut self,
        site: u32,
        now: Seconds,
        waits: &mut QueueDelays,
        mut again: impl FnMut(SiteLook),
    ) -> Option<u32> {
        let (ended, look) = self.sites[site as usize].capacity.look(now);
        look_at(site, look).into_iter().for_each(&mut again);
        let queue = ended?;
        let out = self.queues[queue as usize].datagrams.pop_front()?;
        let look = self.start_next(queue, now, waits);
        look.into_iter().for_each(again);
        Some(out.token)
    }

    /// Empties the queues of an attachment; what was in them is named. Looks that have to be taken from now on
    /// are told to `again`.
    pub fn clear(
        &mut self,
        attachment: u32,
        now: Seconds,
        waits: &mut QueueDelays,
        mut again: impl FnMut(SiteLook),
    ) -> Vec<u32> {
        let Some(up) = self.queue(attachment, Direction::Up) else {
            return vec![];
        };
        let site = self.queues[up as usize].site;
        let site_state = &mut self.sites[site as usize];
        let (_, look) = site_state.capacity.remove(now, |queue| queue / 2 == up / 2);
        look_at(site, look).into_iter().for_each(&mut again);
        let queues = &mut self.queues[up as usize..up as usize + 2];
        let datagrams = queues.iter_mut().flat_map(|queue| {
            queue.end_waits(now, waits);
            if queue.holds_share {
                site_state.waiting_bytes -= queue.waiting_bytes;
            }
            queue.waiting_bytes = 0;
            queue.datagrams.drain(..)
        });
        datagrams.map(|queued| queued.token).collect()
    }

    /// What waits at the end of a run has waited until then.
    pub fn end_waits(&self, now: Seconds, waits: &mut QueueDelays) {
        for queue in &self.queues {
            queue.end_waits(now, waits);
        }
    }

    /// Whether a queue would take so many bytes at `now`.
    pub fn has_room(&self, queue: u32, now: Seconds, wire_bytes: u32) -> bool {
        let state = &self.queues[queue as usize];
        let Some(head) = state.datagrams.front() else {
            return true;
        };
        let (line, bytes) = (self.line(state), f64::from(wire_bytes));
        let site = &self.sites[state.site as usize];
        let all_bytes = site.waiting_bytes as f64 + bytes;
        if state.holds_share && all_bytes > site.capacity_bytes_per_s * QUEUE_S {
            return false;
        }
        let waiting_bytes = state.waiting_bytes as f64;
        if has_room(line, waiting_bytes + f64::from(head.wire_bytes), bytes) {
            return true;
        }
        let left_bytes = site.capacity.left(site.capacity_bytes_per_s, now, queue);
        has_room(line, waiting_bytes + left_bytes.unwrap_or(0.0), bytes)
    }

    /// The line of a queue that is not empty, with the room that it has now.
    fn line(&self, queue: &Queue) -> Line {
        let Queue { site, line, .. } = *queue;
        if !queue.holds_share {
            return line;
        }
        let site = &self.sites[site as usize];
        let share_bytes_per_s = site.capacity_bytes_per_s / site.capacity.members() as f64;
        Line {
            queue_bytes: line.queue_bytes.min(share_bytes_per_s * QUEUE_S),
            ..line
        }
    }

    /// What waits next in a queue comes on the air.
    fn start_next(
        &mut self,
        queue: u32,
        now: Seconds,
        waits: &mut QueueDelays,
    ) -> Option<SiteLook> {
        let state = &mut self.queues[queue as usize];
        let wire_bytes = state.datagrams.front()?.wire_bytes;
        state.waiting_bytes -= u64::from(wire_bytes);
        if state.holds_share {
            self.sites[state.site as usize].waiting_bytes -= u64::from(wire_bytes);
        }
        self.start(queue, now, waits)
    }

    /// The first of a queue comes on the air.
    fn start(&mut self, queue: u32, now: Seconds, waits: &mut QueueDelays) -> Option<SiteLook> {
        let state = &self.queues[queue as usize];
        let head = state.datagrams[0];
        waits.end(
            state.direction,
            head.token,
            head.since_s,
            now - head.since_s,
        );
        let claim = Claim {
            amount: f64::from(head.wire_bytes),
            bound_per_s: state.line.rate_bytes_per_s,
            weight: 1.0,
        };
        let site = &mut self.sites[state.site as usize];
        let number = state.site;
        let date_s = site
            .capacity
            .join(site.capacity_bytes_per_s, now, queue, claim);
        look_at(number, date_s)
    }
}

fn look_at(site: u32, date_s: Option<Seconds>) -> Option<SiteLook> {
    date_s.map(|date_s| SiteLook { site, date_s })
}

impl Queue {
    fn new(site: u32, direction: Direction, (line, holds_share): (Line, bool)) -> Self {
        Self {
            site,
            direction,
            line,
            holds_share,
            datagrams: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// What is not on the air waits no longer.
    fn end_waits(&self, now: Seconds, waits: &mut QueueDelays) {
        for queued in self.datagrams.iter().skip(1) {
            let (token, since_s) = (queued.token, queued.since_s);
            waits.end(self.direction, token, since_s, now - since_s);
        }
    }
}

const NOWHERE: u32 = u32::MAX;
