//! For how long phones have done nothing, and at which pace they compute since.
//!
//! Waking is of a thread and its core: it takes longer the longer that core has rested. What is
//! computed then takes longer the longer the core has rested, in all, since the same was computed
//! last: code and data leave the caches meanwhile, whatever else the phone did in between.

use pocketsim_protocols::contract::{Operation, Seconds};

use crate::cost::table::{Cost, CostTable, Priced};
use crate::plan::Plan;

/// What each phone does; nothing is kept where no profile asks how long phones have rested.
pub(crate) struct Idle(Vec<Busy>);

#[derive(Clone)]
struct Busy {
    /// How many of its lanes work.
    works: u32,
    /// When the last of them was done.
    end_s: Seconds,
    /// For how long it has rested in all, and until when that is counted.
    rested_s: Seconds,
    counted_s: Seconds,
    /// By operation, as far as it has done any.
    done: Vec<Done>,
    /// For so much of what it was given last, as a hot loop takes, core seconds, it computes at a
    /// pace: then it is a hot loop itself.
    cold_s: Seconds,
    /// Whether a datagram that is still to be read has woken it.
    is_woken: bool,
    /// Whether one that is still to be read found its thread asleep, and roused what it is for.
    has_roused: bool,
}

/// When an operation was done last, how long the phone had rested in all by then, and how long
/// since it was done before.
#[derive(Clone, Copy)]
struct Done {
    at_s: Seconds,
    rested_s: Seconds,
    since_s: Seconds,
}

impl Idle {
    /// Nobody has worked yet.
    pub(crate) fn new(plan: &Plan, costs: &[CostTable]) -> Self {
        let matters = costs.iter().any(CostTable::tells_rests);
        let phones = &plan.phones.profile;
        Self(vec![
            Busy::since(0.0);
            if matters { phones.len() } else { 0 }
        ])
    }

    /// A lane of a phone begins to work.
    pub(crate) fn begin(&mut self, phone: u32) {
        if let Some(busy) = self.0.get_mut(phone as usize) {
            busy.works += 1;
        }
    }

    /// A lane of a phone has worked.
    pub(crate) fn end(&mut self, phone: u32, now: Seconds) {
        if let Some(busy) = self.0.get_mut(phone as usize) {
            busy.works -= 1;
            busy.end_s = now;
        }
    }

    /// A phone goes off, with all its work.
    pub(crate) fn shut_down(&mut self, phone: u32, now: Seconds) {
        if let Some(busy) = self.0.get_mut(phone as usize) {
            *busy = Busy::since(now);
        }
    }

    /// Whether nothing runs there; of a phone that is asked for its rests.
    pub(crate) fn rests(&self, phone: u32) -> bool {
        let busy = self.0.get(phone as usize);
        busy.is_none_or(|busy| busy.works == 0)
    }

    /// A datagram wakes it.
    pub(crate) fn wake(&mut self, phone: u32, costs: &CostTable, now: Seconds) {
        if let Some(busy) = self.0.get_mut(phone as usize) {
            if busy.works == 0 {
                busy.turn(costs, now);
                busy.is_woken = true;
            }
        }
    }

    /// How many times as long as a profile says waking by this operation takes.
    pub(crate) fn wake_ratio(
        &self,
        phone: u32,
        operation: Operation,
        costs: &CostTable,
        now: Seconds,
    ) -> f64 {
        let busy = self.0.get(phone as usize);
        busy.map_or(1.0, |busy| costs.wake_ratio(operation, busy.rest_s(now)))
    }

    /// A datagram found its thread asleep.
    pub(crate) fn rouse(&mut self, phone: u32) {
        if let Some(busy) = self.0.get_mut(phone as usize) {
            busy.has_roused = true;
        }
    }

    /// It turns to a datagram: whether that has roused whom it is for already.
    pub(crate) fn read(&mut self, phone: u32, costs: &CostTable, now: Seconds) -> bool {
        let Some(busy) = self.0.get_mut(phone as usize) else {
            return true; // nobody asks
        };
        let was_woken = std::mem::take(&mut busy.is_woken);
        if busy.works == 0 && !was_woken {
            busy.turn(costs, now);
        }
        std::mem::take(&mut busy.has_roused)
    }

    /// It turns to something else, of which as much as a message takes may be cold: unless it came of
    /// what it has just done, and not `has_come` from outside.
    pub(crate) fn turn(&mut self, phone: u32, costs: &CostTable, now: Seconds, has_come: bool) {
        if let Some(busy) = self.0.get_mut(phone as usize) {
            let is_new = has_come || busy.end_s < now;
            if is_new && busy.works == 0 && !busy.is_woken {
                busy.turn(costs, now);
            }
        }
    }

    /// What an operation takes there that would take `hot` in a hot loop, or as it is priced.
    pub(crate) fn paced(
        &mut self,
        phone: u32,
        operation: Priced,
        hot: Cost,
        costs: &CostTable,
        now: Seconds,
    ) -> Cost {
        let Some(busy) = self.0.get_mut(phone as usize) else {
            return hot; // nobody asks
        };
        let own = costs.own_after(operation);
        if own.is_none() && !operation.is_paced() {
            return hot;
        }
        let since_s = busy.since_s(operation, now);
        match own {
            Some(after) => hot.times(after.ratio(since_s)),
            None => busy.paced(hot, costs.pace(since_s)),
        }
    }
}

impl Busy {
    fn since(now: Seconds) -> Self {
        Self {
            works: 0,
            end_s: now,
            rested_s: 0.0,
            counted_s: now,
            done: Vec::new(),
            cold_s: 0.0,
            is_woken: false,
            has_roused: false,
        }
    }

    fn rest_s(&self, now: Seconds) -> Seconds {
        match self.works {
            0 => now - self.end_s,
            _ => 0.0,
        }
    }

    fn turn(&mut self, costs: &CostTable, now: Seconds) {
        self.count(now);
        self.cold_s = costs.message_s();
    }

    /// Counts for how long it has rested until now.
    fn count(&mut self, now: Seconds) {
        if self.works == 0 {
            self.rested_s += now - self.end_s.max(self.counted_s);
        }
        self.counted_s = now;
    }

    /// For how long it has rested since it last did an operation that it does now. What is done more
    /// than once at one time was as cold each time: kernels time whole messages.
    fn since_s(&mut self, operation: Priced, now: Seconds) -> Seconds {
        self.count(now);
        let never = Done {
            at_s: Seconds::NEG_INFINITY,
            rested_s: 0.0,
            since_s: 0.0,
        };
        if self.done.len() <= operation.place() {
            self.done.resize(operation.place() + 1, never);
        }
        let done = &mut self.done[operation.place()];
        if done.at_s < now {
            *done = Done {
                at_s: now,
                rested_s: self.rested_s,
                since_s: self.rested_s - done.rested_s,
            };
        }
        done.since_s
    }

    fn paced(&mut self, hot: Cost, pace: f64) -> Cost {
        let cold_s = hot.cpu_s.min(self.cold_s);
        self.cold_s -= cold_s;
        Cost {
            cpu_s: hot.cpu_s + (pace - 1.0) * cold_s,
            ..hot
        }
    }
}
