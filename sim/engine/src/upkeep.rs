//! What conversations at rest would have done: counted, not simulated.
//!
//! Datagrams of theirs arrive, and each operation takes what it takes on average: nothing is drawn.
//! What deliberately does not live here: which conversations rest ([`crate::rests`]).

use pocketsim_protocols::contract::{Operation, Rhythm, Seconds, Upkeep};

use crate::costs::CostTable;
use crate::plan::{Access, Plan};
use crate::socket::wire_bytes;

/// The upkeep of all conversations of a run that rested.
pub(crate) struct Upkeeps {
    /// Whether any may.
    pub(crate) allowed: bool,
    /// By phone, how much longer than others a datagram of its network may take, for ever where some
    /// are lost; empty if none does.
    spread_s: Vec<Seconds>,
    keep_alive_s: Seconds,
    /// Datagrams that would have been sent and delivered.
    pub(crate) datagrams: u64,
    /// Their bytes, with all headers.
    pub(crate) bytes: u64,
    /// Core seconds, by operation.
    pub(crate) cpu_s: [Seconds; Operation::ALL.len()],
}

impl Upkeeps {
    /// Nothing yet. Where somebody looks at each datagram or its date, no conversation rests.
    pub(crate) fn new(plan: &Plan) -> Self {
        let is_watched = plan.transport.keep_alive_events
            || plan.fidelity != "hybrid"
            || plan.energy.is_some()
            || plan.trace.mode == "work"
            || !plan.outages.is_empty()
            || !plan.proximity.time_s.is_empty();
        Self {
            allowed: !is_watched,
            spread_s: spread_s(plan),
            keep_alive_s: plan.transport.keep_alive_s,
            datagrams: 0,
            bytes: 0,
            cpu_s: [0.0; Operation::ALL.len()],
        }
    }

    /// Whether two phones would keep these rhythms.
    ///
    /// Ends that ask at once do so only while each asks before it has heard the other. Where ways
    /// vary that ends by chance, and from then on they ask in turn, each when it has heard nothing
    /// for so long since the other asked: unless a question is so late that the answer to the one
    /// before, which is held back for a while, is older by more. Where that is no rare thing, ends
    /// change from one to the other and back, which nobody has reckoned.
    pub(crate) fn last(&self, phones: [u32; 2], rhythms: [Rhythm; 2]) -> bool {
        if self.spread_s.is_empty() {
            return true;
        }
        let [one, other] = rhythms.map(|rhythm| rhythm.asked_s);
        let in_turn = (one - other).abs() >= self.keep_alive_s;
        let spread_s = phones.map(|phone| self.spread_s[phone as usize]);
        match spread_s.iter().sum::<Seconds>() {
            0.0 => true,
            spread_s => in_turn && spread_s <= HELD_S,
        }
    }

    /// One end of a conversation would have done this; with what operations cost there and at the
    /// other end.
    pub(crate) fn add(&mut self, upkeep: &Upkeep, [near, far]: [&CostTable; 2]) {
        for &(bytes, count) in &upkeep.sent {
            self.datagrams += count;
            self.bytes += count * u64::from(wire_bytes(bytes));
            self.operate(upkeep.sending, near, bytes, count);
            self.operate(upkeep.receiving, far, bytes, count);
        }
    }

    fn operate(&mut self, operations: &[Operation], costs: &CostTable, bytes: u32, count: u64) {
        for &operation in operations {
            let cost = costs.mean(operation, bytes);
            self.cpu_s[operation as usize] += count as f64 * cost.cpu_s;
        }
    }
}

fn spread_s(plan: &Plan) -> Vec<Seconds> {
    let spread_s = |access: &Access| {
        if access.loss_ratio > LOSS_RATIO_MAX || access.bursts.is_some() {
            return Seconds::INFINITY;
        }
        access.jitter_median_s * (SIGMAS * access.jitter_sigma).exp()
    };
    let networks: Vec<Seconds> = plan.access.iter().map(spread_s).collect();
    if networks.iter().all(|&spread_s| spread_s == 0.0) {
        return Vec::new();
    }
    let phones = plan.phones.access.iter();
    phones.map(|&access| networks[access as usize]).collect()
}

/// How long an acknowledgement of a ping is held back (RFC 9000, 18.2: max_ack_delay).
const HELD_S: Seconds = 0.025;

/// A loss is answered by a few datagrams more, and each exchange crosses four hops. With so many
/// lost on both hops, reckoned are 1.9 % fewer datagrams than simulated; 6.3 % with the jitter below.
const LOSS_RATIO_MAX: f64 = 0.004;

/// Of 100 datagrams two are later. With a median of 2 ms and a sigma of 0.8 on both hops, which is
/// within that, reckoned are 1.3 % fewer datagrams than simulated.
const SIGMAS: f64 = 2.054;
