//! What conversations at rest would have done: counted, not simulated.
//!
//! Datagrams of theirs arrive, and each operation takes what it takes on average: nothing is drawn.
//! What deliberately does not live here: which conversations rest ([`crate::rests`]).

use pocketsim_protocols::contract::{Operation, Seconds, Upkeep};

use crate::costs::CostTable;
use crate::plan::Plan;
use crate::socket::wire_bytes;

/// The upkeep of all conversations of a run that rested.
pub(crate) struct Upkeeps {
    /// Whether any may.
    pub(crate) allowed: bool,
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
            datagrams: 0,
            bytes: 0,
            cpu_s: [0.0; Operation::ALL.len()],
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
