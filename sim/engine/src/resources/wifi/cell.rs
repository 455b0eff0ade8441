//! One access point and the phones on it: who sends when (IEEE Std 802.11-2020, 10.23.2).
//!
//! Distributed channel access, frame exchange by frame exchange: each sender with something to send
//! counts its back-off down while the air is idle; whose is over sends; those that begin in one slot
//! collide, and draw from twice as many. The access point is one more sender, which serves its
//! phones in turn. Collisions and their probability follow from this (Bianchi, IEEE JSAC 18(3),
//! 2000, has them in closed form, which tests compare). Everybody hears everybody; a frame is lost
//! by collisions alone. Back-offs are counted lazily: a cell in which nobody has anything to send
//! has no event, and beacons that nobody waits for have none either.

use std::collections::VecDeque;

use pocketsim_protocols::contract::Seconds;

use crate::base::rng::Stream;
use crate::resources::queue_delay::QueueDelays;
use crate::resources::radio::Direction;
use crate::resources::wifi::frame_queue::{FrameQueue, Packet};
use crate::resources::wifi::outcome::Outcome;
use crate::resources::wifi::phy::{Phy, Rate, BEACON_INTERVAL_S, CW_MAX, CW_MIN, RETRIES_MAX};

/// An access point with its phones.
#[derive(Debug)]
pub struct Cell {
    phones: Vec<Phone>,
    access_point: Contender,
    /// Phones for which something waits at the access point, the next first.
    turns: VecDeque<u32>,
    waiting_down: u32,
    /// Who has something to send: numbers of phones, or [`ACCESS_POINT`].
    contenders: Vec<u32>,
    /// Frames on the air, more than one if they collide; empty while there are none.
    frames: Vec<Frame>,
    /// From when to when the answer of the last frame is on the air, or the last beacon.
    busy_s: [Seconds; 2],
    /// Since when slots are counted: an interframe space after that.
    counts_from_s: Seconds,
    /// How many idle slots there were before that.
    slots: u64,
    /// How many beacons are behind it.
    beacons: u64,
    /// When the first of them was due.
    first_beacon_s: Seconds,
    /// When it does something next; infinite for never.
    next_s: Seconds,
    stream: Stream,
}

/// A phone on an access point.
#[derive(Debug)]
struct Phone {
    rate: Rate,
    contender: Contender,
    up: FrameQueue,
    down: FrameQueue,
}

/// One who sends on this air.
#[derive(Clone, Copy, Debug, Default)]
struct Contender {
    /// Its back-off is over when there were so many idle slots.
    ready_slot: u64,
    /// How often in a row it was not answered.
    retries: u32,
    /// Its next frame asks for an acknowledgement that was lost.
    asks: bool,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
struct Frame {
    sender: u32,
    /// The phone that sends or receives it.
    phone: u32,
    /// Packets in it; 0 of a request for an acknowledgement.
    packets: u32,
    /// How long it is on the air.
    air_s: Seconds,
    /// Whether its packets are gone, with a phone that went off.
    is_void: bool,
}

/// What a cell's air is, beside its state.
#[derive(Clone, Copy, Debug)]
pub struct Air {
    /// Its timing.
    pub phy: Phy,
    /// Whether a lost block acknowledgement is asked for before the frame is repeated.
    pub block_ack_request: bool,
    /// Packets that may wait at each sender.
    pub queue_packets: u32,
}

impl Cell {
    /// An idle cell without phones; its chance is `stream`.
    pub fn new(mut stream: Stream) -> Self {
        Self {
            phones: Vec::new(),
            access_point: Contender::default(),
            turns: VecDeque::new(),
            waiting_down: 0,
            contenders: Vec::new(),
            frames: Vec::new(),
            busy_s: [0.0; 2],
            counts_from_s: 0.0,
            slots: 0,
            beacons: 0,
            first_beacon_s: BEACON_INTERVAL_S * stream.uniform(),
            next_s: Seconds::INFINITY,
            stream,
        }
    }

    /// Adds a phone; its number here.
    pub fn add(&mut self, rate: Rate) -> u32 {
        self.phones.push(Phone {
            rate,
            contender: Contender::default(),
            up: FrameQueue::default(),
            down: FrameQueue::default(),
        });
        self.phones.len() as u32 - 1
    }

    /// Whether a queue takes so many packets more.
    pub fn has_room(&self, air: &Air, phone: u32, direction: Direction, packets: u32) -> bool {
        let waiting = match direction {
            Direction::Up => self.phones[phone as usize].up.len(),
            Direction::Down => self.waiting_down,
        };
        waiting == 0 || waiting + packets <= air.queue_packets
    }

    /// Gives a datagram to a queue that has room; when the cell does something, if that is new.
    pub fn push(
        &mut self,
        air: &Air,
        (phone, direction): (u32, Direction),
        now: Seconds,
        (token, wire_bytes): (u32, u32),
        waits: &mut QueueDelays,
    ) -> Option<Seconds> {
        waits.begin(token, now);
        let state = &mut self.phones[phone as usize];
        let sender = match direction {
            Direction::Up => {
                let is_first = state.up.is_empty();
                state.up.push(token, wire_bytes, now);
                is_first.then_some(phone)
            }
            Direction::Down => {
                if state.down.is_empty() {
                    self.turns.push_back(phone);
                }
                let before = state.down.len();
                state.down.push(token, wire_bytes, now);
                let is_first = self.waiting_down == 0;
                self.waiting_down += state.down.len() - before;
                is_first.then_some(ACCESS_POINT)
            }
        };
        self.contend(air, sender?, now, waits)
    }

    /// Does what is due at `now`; when it does something next, if it ever does.
    ///
    /// At a moment at which nothing is due, as when that was put off, nothing happens.
    pub fn look(
        &mut self,
        air: &Air,
        now: Seconds,
        waits: &mut QueueDelays,
        outcome: &mut Outcome,
    ) -> Option<Seconds> {
        if now < self.next_s || self.next_s == Seconds::INFINITY {
            return None;
        }
        if !self.frames.is_empty() {
            self.end_frames(air, now, outcome);
            return self.plan_next(air, now);
        }
        // Those who were to send may be gone.
        let next_s = self.plan_next(air, now)?;
        if next_s > now {
            return Some(next_s);
        }
        if self.beacon_s() <= now {
            self.send_beacon(air, now);
            return self.plan_next(air, now);
        }
        let slot = self.first_slot();
        let all = self.contenders.iter().copied();
        let ready = |&sender: &u32| self.contender(sender).ready_slot.max(self.slots) == slot;
        let senders: Vec<u32> = all.filter(ready).collect();
        self.slots = slot;
        Some(self.begin(air, now, &senders, waits))
    }

    /// A phone goes off: the datagrams that were from it and for it.
    pub fn clear(&mut self, phone: u32) -> Vec<u32> {
        let state = &mut self.phones[phone as usize];
        let waiting = state.down.len();
        let gone: Vec<u32> = state.up.clear().chain(state.down.clear()).collect();
        state.contender.asks = false;
        state.contender.retries = 0;
        self.waiting_down -= waiting;
        self.turns.retain(|&turn| turn != phone);
        let silent = self.waiting_down == 0;
        let still = |&sender: &u32| sender != phone && !(silent && sender == ACCESS_POINT);
        self.contenders.retain(still);
        for frame in &mut self.frames {
            frame.is_void |= frame.phone == phone;
        }
        if self.frames.is_empty() && self.contenders.is_empty() {
            self.next_s = Seconds::INFINITY;
        }
        gone
    }

    /// What waits at the end of a run has waited until then.
    pub fn end_waits(&self, now: Seconds, waits: &mut QueueDelays) {
        for phone in &self.phones {
            for (direction, queue) in [(Direction::Up, &phone.up), (Direction::Down, &phone.down)] {
                for packet in queue.waiting() {
                    waits.end(
                        direction,
                        packet.token,
                        packet.since_s,
                        now - packet.since_s,
                    );
                }
            }
        }
    }

    /// Somebody who had nothing to send has something: when the cell does something, if that is new.
    ///
    /// On air that has been idle for an interframe space it sends at once, unless it still counts a
    /// back-off down; while others send, it draws one (10.23.2.2).
    fn contend(
        &mut self,
        air: &Air,
        sender: u32,
        now: Seconds,
        waits: &mut QueueDelays,
    ) -> Option<Seconds> {
        self.pass_beacons(air, now);
        self.contenders.push(sender);
        // Before an answer the air is idle, which a frame to be passed on finds where nothing delays it.
        let is_busy = !self.frames.is_empty() || (self.busy_s[0]..self.busy_s[1]).contains(&now);
        let counted = self.slots + self.idle_slots(air, now);
        if is_busy {
            if self.contender(sender).ready_slot <= self.slots {
                self.draw(sender);
            }
        } else if self.contender(sender).ready_slot <= counted && now >= self.counts_from_s {
            (self.slots, self.counts_from_s) = (counted, now);
            return Some(self.begin(air, now, &[sender], waits));
        }
        if !self.frames.is_empty() {
            return None;
        }
        let planned_s = self.next_s;
        self.plan_next(air, now)
            .filter(|&next_s| next_s != planned_s)
    }

    /// Frames of these senders go on the air: when they end.
    fn begin(
        &mut self,
        air: &Air,
        now: Seconds,
        senders: &[u32],
        waits: &mut QueueDelays,
    ) -> Seconds {
        let mut longest_s: Seconds = 0.0;
        for &sender in senders {
            let frame = self.next_frame(air, sender);
            longest_s = longest_s.max(frame.air_s);
            let direction = match sender {
                ACCESS_POINT => Direction::Down,
                _ => Direction::Up,
            };
            if frame.packets > 0 {
                let begun = |packet: &Packet| {
                    let waited_s = now - packet.since_s;
                    waits.end(direction, packet.token, packet.since_s, waited_s);
                };
                self.queue(&frame).begin(frame.packets, begun);
            }
            self.frames.push(frame);
        }
        self.next_s = now + longest_s;
        self.next_s
    }

    /// What a sender sends next.
    fn next_frame(&self, air: &Air, sender: u32) -> Frame {
        let (phone, queue) = match sender {
            ACCESS_POINT => {
                let phone = self.turns[0];
                (phone, &self.phones[phone as usize].down)
            }
            phone => (phone, &self.phones[phone as usize].up),
        };
        let rate = self.phones[phone as usize].rate;
        let frame = |packets, air_s| Frame {
            sender,
            phone,
            packets,
            air_s,
            is_void: false,
        };
        if self.contender(sender).asks {
            return frame(0, air.phy.request_s(rate));
        }
        let packets = air
            .phy
            .fitting(rate, queue.unsent().map(|packet| packet.bytes));
        let sent = queue.unsent().map(|packet| packet.bytes);
        frame(packets, air.phy.data_s(rate, packets, sent))
    }

    /// What was on the air is over: answered if it was alone.
    fn end_frames(&mut self, air: &Air, now: Seconds, outcome: &mut Outcome) {
        let frames = std::mem::take(&mut self.frames);
        let heard = match frames[..] {
            [frame] => Some((frame, 0)),
            _ => self.survivor(air, &frames),
        };
        for &frame in &frames {
            if heard.is_none_or(|(heard, _)| heard.sender != frame.sender) {
                self.repeat(air, frame, outcome);
            }
        }
        self.counts_from_s = now + air.phy.aifs_s;
        if let Some((frame, lacking)) = heard {
            let answer_s = self.answer(air, frame, lacking, outcome);
            self.busy_s = [now + air.phy.sifs_s, now + answer_s];
            self.counts_from_s += answer_s;
        }
        for frame in &frames {
            self.draw(frame.sender);
            self.leave(frame.sender);
        }
        if heard.is_none() {
            self.defer(air, &frames);
        }
        // The buffer is kept for the next ones.
        self.frames = frames;
        self.frames.clear();
    }

    /// The frame of which something is left after a collision, and how many of its packets are not.
    ///
    /// A phone makes out the preamble of the nearest sender, and receives the packets of an aggregate
    /// that follow when all else on the air has ended. At the access point preambles of phones garble
    /// each other, and while it sends it hears nothing.
    fn survivor(&mut self, air: &Air, frames: &[Frame]) -> Option<(Frame, u32)> {
        let from_access_point = |frame: &&Frame| frame.sender == ACCESS_POINT;
        let frame = *frames.iter().find(from_access_point)?;
        let others = frames.iter().filter(|other| other.sender != frame.sender);
        let overlap_s = others.map(|other| other.air_s).fold(0.0, f64::max);
        if frame.packets < 2 || frame.is_void || frame.air_s <= overlap_s {
            return None;
        }
        for _ in 1..frames.len() {
            if self.stream.uniform() >= FARTHER_RATIO {
                return None;
            }
        }
        let rate = self.phones[frame.phone as usize].rate;
        let sent = self.queue(&frame).unsent().map(|packet| packet.bytes);
        let lacking = air
            .phy
            .packets_within(rate, overlap_s, sent.take(frame.packets as usize));
        (lacking < frame.packets).then_some((frame, lacking))
    }

    /// After a collision not everybody counts from the same moment.
    ///
    /// Who could not read what was on the air waits for EIFS; whose frame ended last, until its answer
    /// is overdue; whose frame ended before has heard the air busy, no more (10.3.2.3.7, 10.3.2.11).
    fn defer(&mut self, air: &Air, frames: &[Frame]) {
        let longest_s = frames.iter().map(|frame| frame.air_s).fold(0.0, f64::max);
        for at in 0..self.contenders.len() {
            let sender = self.contenders[at];
            let sent = frames.iter().find(|frame| frame.sender == sender);
            let slots = match sent {
                None => air.phy.eifs_slots,
                Some(frame) if frame.air_s == longest_s => air.phy.overdue_slots,
                Some(_) => 0,
            };
            self.contender_mut(sender).ready_slot += slots;
        }
    }

    /// A frame was heard but for its first `lacking` packets: how long its answer takes.
    fn answer(&mut self, air: &Air, frame: Frame, lacking: u32, outcome: &mut Outcome) -> Seconds {
        let rate = self.phones[frame.phone as usize].rate;
        let contender = self.contender_mut(frame.sender);
        contender.retries = 0;
        if frame.packets == 0 {
            contender.asks = false;
            return air.phy.block_ack_s(rate);
        }
        if !frame.is_void {
            self.end_packets(frame, lacking, outcome);
        }
        air.phy.answer_s(rate, frame.packets)
    }

    /// A frame collided: its sender repeats it, or gives it up.
    fn repeat(&mut self, air: &Air, frame: Frame, outcome: &mut Outcome) {
        let asks = air.block_ack_request && air.phy.is_block(frame.packets);
        let contender = self.contender_mut(frame.sender);
        contender.retries += 1;
        if contender.retries > RETRIES_MAX {
            (contender.retries, contender.asks) = (0, false);
        } else {
            contender.asks |= asks;
        }
        if frame.packets == 0 || frame.is_void {
            return;
        }
        self.end_packets(frame, frame.packets, outcome);
    }

    /// The receiver has all packets of a frame but the first `lacking`.
    fn end_packets(&mut self, frame: Frame, lacking: u32, outcome: &mut Outcome) {
        let queue = self.queue(&frame);
        let before = queue.len();
        queue.end(frame.packets, lacking, RETRIES_MAX, outcome);
        let left = before - queue.len();
        if frame.sender == ACCESS_POINT && left > 0 {
            self.waiting_down -= left;
            self.end_turn(frame.phone);
        }
    }

    /// The access point has served a phone: the next one's turn.
    fn end_turn(&mut self, phone: u32) {
        self.turns.retain(|&turn| turn != phone);
        if !self.phones[phone as usize].down.is_empty() {
            self.turns.push_back(phone);
        }
    }

    /// Who has nothing to send any more does not contend.
    fn leave(&mut self, sender: u32) {
        let is_done = match sender {
            ACCESS_POINT => self.waiting_down == 0,
            phone => self.phones[phone as usize].up.is_empty(),
        };
        if is_done {
            self.contender_mut(sender).asks = false;
            self.contenders.retain(|&contender| contender != sender);
        }
    }

    /// When something begins on the air if nothing comes up before, after what was on it at `now`.
    fn plan_next(&mut self, air: &Air, now: Seconds) -> Option<Seconds> {
        if self.contenders.is_empty() {
            self.next_s = Seconds::INFINITY;
            return None;
        }
        let slots = (self.first_slot() - self.slots) as f64;
        let first_s = self.counts_from_s + slots * air.phy.slot_s;
        self.next_s = first_s.min(self.beacon_s()).max(now);
        Some(self.next_s)
    }

    /// How many idle slots there will have been when the first back-off is over.
    fn first_slot(&self) -> u64 {
        let ready = |&sender: &u32| self.contender(sender).ready_slot;
        let first = self.contenders.iter().map(ready).min();
        first.unwrap_or(0).max(self.slots)
    }

    /// Draws a back-off, to be counted from the next idle slot on.
    fn draw(&mut self, sender: u32) {
        let retries = self.contender(sender).retries;
        let window = ((CW_MIN + 1) << retries).min(CW_MAX + 1);
        // The windows are powers of two.
        let slots = self.stream.word() >> (64 - window.ilog2());
        self.contender_mut(sender).ready_slot = self.slots + slots;
    }

    /// Slots that were idle since they count, until `now`.
    fn idle_slots(&self, air: &Air, now: Seconds) -> u64 {
        ((now - self.counts_from_s) / air.phy.slot_s).max(0.0) as u64
    }

    /// When the next beacon is sent: when it is due, or as soon as the air is idle then.
    fn beacon_s(&self) -> Seconds {
        let due_s = self.first_beacon_s + self.beacons as f64 * BEACON_INTERVAL_S;
        due_s.max(self.counts_from_s)
    }

    /// The access point's beacon is on the air, before all that waits.
    fn send_beacon(&mut self, air: &Air, start_s: Seconds) {
        self.slots += self.idle_slots(air, start_s);
        self.busy_s = [start_s, start_s + air.phy.beacon_s];
        self.counts_from_s = self.busy_s[1] + air.phy.aifs_s;
        self.beacons += 1;
    }

    /// Beacons that were sent while nobody had anything else to send.
    fn pass_beacons(&mut self, air: &Air, now: Seconds) {
        if !self.frames.is_empty() || !self.contenders.is_empty() {
            return;
        }
        let due = (now - self.first_beacon_s) / BEACON_INTERVAL_S;
        if due < self.beacons as f64 {
            return;
        }
        // All but the last are long over.
        self.beacons = self.beacons.max(due as u64);
        let start_s = self.beacon_s();
        if start_s <= now {
            self.send_beacon(air, start_s);
        }
    }

    fn contender(&self, sender: u32) -> &Contender {
        match sender {
            ACCESS_POINT => &self.access_point,
            phone => &self.phones[phone as usize].contender,
        }
    }

    fn contender_mut(&mut self, sender: u32) -> &mut Contender {
        match sender {
            ACCESS_POINT => &mut self.access_point,
            phone => &mut self.phones[phone as usize].contender,
        }
    }

    /// Where the packets of a frame are.
    fn queue(&mut self, frame: &Frame) -> &mut FrameQueue {
        let phone = &mut self.phones[frame.phone as usize];
        match frame.sender {
            ACCESS_POINT => &mut phone.down,
            _ => &mut phone.up,
        }
    }
}

/// Of two phones at one distance from the access point, in random directions from it, how many are
/// farther from each other than from it: those at an angle of more than 60 degrees.
const FARTHER_RATIO: f64 = 2.0 / 3.0;
/// The access point among those who send.
const ACCESS_POINT: u32 = u32::MAX;
