//! When datagrams are delivered: the serialiser in front of a limited rate, and the schedule of
//! what is under way in one direction.
//!
//! Time is an argument, as a duration since the relay began. What deliberately does not live here:
//! sockets, and what a datagram holds.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::rule::{Draw, Faults, Reason, Rules, Verdict, HELD_MAX};
use super::statistics::Counts;

/// A limited rate with a finite queue: datagrams leave one after the other.
#[derive(Clone, Debug)]
pub struct Serialiser {
    rate_bytes_per_s: f64,
    queue_bytes: u64,
    free_at: Duration,
    /// When each datagram that waits begins to be sent, and its bytes.
    waiting: VecDeque<(Duration, u64)>,
    waiting_bytes: u64,
}

impl Serialiser {
    /// Idle, with an empty queue.
    pub fn new(rate_bytes_per_s: f64, queue_bytes: u64) -> Self {
        Self {
            rate_bytes_per_s,
            queue_bytes,
            free_at: Duration::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// Later by what it waits and takes to be sent, or dropped because it would not fit.
    pub fn admit(&mut self, wire_bytes: u64, now: Duration) -> Verdict {
        self.advance(now);
        let begins = self.free_at.max(now);
        if begins > now {
            if self.waiting.len() >= WAITING_MAX {
                return Verdict::Drop(Reason::RelayFull);
            }
            if self.waiting_bytes + wire_bytes > self.queue_bytes {
                return Verdict::Drop(Reason::QueueFull);
            }
            self.waiting.push_back((begins, wire_bytes));
            self.waiting_bytes += wire_bytes;
        }
        self.free_at = begins + Duration::from_secs_f64(wire_bytes as f64 / self.rate_bytes_per_s);
        Verdict::Later(self.free_at - now)
    }

    fn advance(&mut self, now: Duration) {
        while let Some(&(begins, bytes)) = self.waiting.front() {
            if begins > now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
        }
    }
}

/// One direction of the link: its rules, and what is under way.
#[derive(Debug)]
pub struct Line<T> {
    rules: Rules,
    counts: Counts,
    under_way: BTreeMap<Place, Parcel<T>>,
    under_way_bytes: u64,
    flows: BTreeMap<u64, Order>,
    parcels: u64,
}

/// When something is delivered; the number orders what is due at once.
type Place = (Duration, u64);

#[derive(Debug)]
struct Parcel<T> {
    flow: u64,
    number: u64,
    payload_bytes: u64,
    content: T,
    copy: bool,
}

/// What must be known of a flow to keep its order or to change it, and to see that it was changed.
#[derive(Debug, Default)]
struct Order {
    arrived: u64,
    newest_delivered: u64,
    last_due: Duration,
    held: Vec<Place>,
}

impl<T: Clone> Line<T> {
    /// An empty line; `direction` names its streams of chance under `seed`.
    pub fn new(faults: &Faults, seed: u64, direction: &str) -> Self {
        Self {
            rules: Rules::new(faults, seed, direction),
            counts: Counts::default(),
            under_way: BTreeMap::new(),
            under_way_bytes: 0,
            flows: BTreeMap::new(),
            parcels: 0,
        }
    }

    /// A datagram of `flow` arrives at `now`.
    pub fn offer(&mut self, flow: u64, content: T, payload_bytes: u64, now: Duration) {
        self.counts.received(payload_bytes);
        let draw = self.rules.draw(packets(payload_bytes));
        if self.under_way_bytes + memory_bytes(payload_bytes) > UNDER_WAY_BYTES_MAX {
            return self.counts.dropped(Reason::RelayFull);
        }
        let after = match self.rules.judge(&draw, wire_bytes(payload_bytes), now) {
            Verdict::Drop(reason) => return self.counts.dropped(reason),
            Verdict::Later(after) => after,
            Verdict::Pass => Duration::ZERO,
        };
        let order = self.flows.entry(flow).or_default();
        order.arrived += 1;
        let parcel = Parcel {
            flow,
            number: order.arrived,
            payload_bytes,
            content,
            copy: false,
        };
        let due = self.in_order(flow, now + after);
        self.schedule(parcel, due, &draw);
    }

    /// When the next datagram is due.
    pub fn next_due(&self) -> Option<Duration> {
        self.under_way.first_key_value().map(|(&(due, _), _)| due)
    }

    /// The next datagram that is due by `now`, when it was due, and its bytes.
    pub fn pop_due(&mut self, now: Duration) -> Option<(Duration, T, u64)> {
        let entry = self.under_way.first_entry()?;
        let place = *entry.key();
        if place.0 > now {
            return None;
        }
        let parcel = entry.remove();
        self.under_way_bytes -= memory_bytes(parcel.payload_bytes);
        self.note_order(&parcel, place);
        Some((place.0, parcel.content, parcel.payload_bytes))
    }

    /// Forget a flow that has ended; what is still under way for it comes out as before.
    pub fn forget(&mut self, flow: u64) {
        self.flows.remove(&flow);
    }

    /// What happened so far; the driver adds what became of what it popped.
    pub fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }

    /// Datagrams that have arrived and are not delivered yet.
    pub fn under_way(&self) -> u64 {
        self.under_way.len() as u64
    }

    /// Not before what came earlier in the same flow; others do not wait for it.
    fn in_order(&mut self, flow: u64, due: Duration) -> Duration {
        if !self.rules.keeps_order() {
            return due;
        }
        let order = self.order(flow);
        order.last_due = order.last_due.max(due);
        order.last_due
    }

    fn schedule(&mut self, parcel: Parcel<T>, due: Duration, draw: &Draw) {
        let flow = parcel.flow;
        let copy = draw.twice.then(|| Parcel {
            copy: true,
            content: parcel.content.clone(),
            ..parcel
        });
        let due_at = if draw.held { due + HELD_MAX } else { due };
        let places: Vec<Place> = [Some(parcel), copy]
            .into_iter()
            .flatten()
            .map(|parcel| self.put(parcel, due_at))
            .collect();
        self.counts.duplicated_datagrams += u64::from(draw.twice);
        match draw.held {
            true => self.order(flow).held.extend(places),
            false => self.release_held(flow, due),
        }
    }

    fn put(&mut self, parcel: Parcel<T>, due: Duration) -> Place {
        self.parcels += 1;
        self.under_way_bytes += memory_bytes(parcel.payload_bytes);
        let place = (due, self.parcels);
        self.under_way.insert(place, parcel);
        place
    }

    /// What is held back in `flow` follows the datagram that is due at `due`.
    fn release_held(&mut self, flow: u64, due: Duration) {
        for place in std::mem::take(&mut self.order(flow).held) {
            if place.0 <= due {
                continue; // it goes on alone before this one is there to overtake it
            }
            if let Some(parcel) = self.under_way.remove(&place) {
                self.under_way_bytes -= memory_bytes(parcel.payload_bytes);
                self.put(parcel, due);
            }
        }
    }

    /// A datagram is reordered when a later one of its flow was delivered before (RFC 4737, 3.3).
    fn note_order(&mut self, parcel: &Parcel<T>, place: Place) {
        let Some(order) = self.flows.get_mut(&parcel.flow) else {
            return;
        };
        order.held.retain(|&held| held != place);
        let late = parcel.number < order.newest_delivered && !parcel.copy;
        order.newest_delivered = order.newest_delivered.max(parcel.number);
        self.counts.reordered_datagrams += u64::from(late);
    }

    fn order(&mut self, flow: u64) -> &mut Order {
        self.flows.entry(flow).or_default()
    }
}

/// Bytes of a datagram with the IP and UDP headers of all its fragments, as the simulator's
/// links count them (IPv4 without options, also where the relay itself runs on IPv6).
pub fn wire_bytes(payload_bytes: u64) -> u64 {
    payload_bytes + UDP_HEADER_BYTES + u64::from(packets(payload_bytes)) * IP_HEADER_BYTES
}

/// IP packets that a datagram takes over Ethernet or Wi-Fi, as in the simulator.
fn packets(payload_bytes: u64) -> u32 {
    (payload_bytes + UDP_HEADER_BYTES).div_ceil(FRAGMENT_BYTES_MAX) as u32
}

/// What a datagram costs while it is under way.
fn memory_bytes(payload_bytes: u64) -> u64 {
    payload_bytes + PARCEL_BYTES
}

const UDP_HEADER_BYTES: u64 = 8; // RFC 768
const IP_HEADER_BYTES: u64 = 20; // RFC 791, no options
const FRAGMENT_BYTES_MAX: u64 = 1480; // 1500 B MTU less its IP header; the first holds UDP's too
/// 64 MiB: half a second of a gigabit, and little beside what a laptop has.
const UNDER_WAY_BYTES_MAX: u64 = 64 << 20;
/// What the relay holds of a datagram besides its payload: measured with 820 680 empty ones, which
/// took 264 B each, and rounded up. So no more than 209 715 are under way.
const PARCEL_BYTES: u64 = 320;
/// Datagrams that wait for a slow rate, 24 B each: also those that will be lost, and are therefore
/// never under way.
const WAITING_MAX: usize = 1 << 20;
