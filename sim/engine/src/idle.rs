//! For how long phones have done nothing, and at which pace they compute since.

use pocketsim_protocols::contract::{Operation, Seconds};

use crate::costs::{Cost, CostTable, Priced};
use crate::plan::Plan;

/// What each phone does; nothing is kept where no profile asks how long phones have rested.
pub(crate) struct Idle(Vec<Busy>);

#[derive(Clone)]
struct Busy {
    /// How many of its lanes work.
    works: u32,
    /// When the last of them was done.
    end_s: Seconds,
    /// For how long it had rested when it turned to what it was given last.
    rested_s: Seconds,
    /// How many times as long as in a hot loop it computes that.
    pace: f64,
    /// For so much of that, as a hot loop takes, core seconds: then it is one itself.
    cold_s: Seconds,
    /// Whether a datagram that is still to be read has woken it, and set the pace.
    is_woken: bool,
    /// Whether one that is still to be read found its thread asleep, and roused what it is for.
    has_roused: bool,
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

    /// A datagram wakes it. What it does with that is done at the pace of after this rest.
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

    /// It turns to something else. What came of what it has just done goes on at its pace, unless
    /// it `has_come` from outside.
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
    ) -> Cost {
        let Some(busy) = self.0.get_mut(phone as usize) else {
            return hot; // nobody asks
        };
        match costs.own_ratio(operation, busy.rested_s) {
            Some(ratio) => hot.times(ratio),
            None if operation.is_paced() => busy.paced(hot),
            None => hot,
        }
    }
}

impl Busy {
    fn since(now: Seconds) -> Self {
        Self {
            works: 0,
            end_s: now,
            rested_s: 0.0,
            pace: 1.0,
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
        self.rested_s = self.rest_s(now);
        self.pace = costs.pace(self.rested_s);
        self.cold_s = costs.message_s();
    }

    fn paced(&mut self, hot: Cost) -> Cost {
        let cold_s = hot.cpu_s.min(self.cold_s);
        self.cold_s -= cold_s;
        Cost {
            cpu_s: hot.cpu_s + (self.pace - 1.0) * cold_s,
            ..hot
        }
    }
}
