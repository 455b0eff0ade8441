//! For how long phones have done nothing, and at which pace they compute since.

use pocketsim_protocols::contract::{Operation, Seconds};

use crate::costs::{Cost, CostTable};
use crate::plan::Plan;

/// Each phone's last work; nothing is kept where no profile asks how long phones have rested.
pub(crate) struct Idle(Vec<Busy>);

#[derive(Clone)]
struct Busy {
    /// When its work ends.
    end_s: Seconds,
    /// How many times as long as in a hot loop it computes what it was given last.
    pace: f64,
    /// For so much of that, as a hot loop takes, core seconds: then it is one itself.
    cold_s: Seconds,
    /// Whether a datagram that is still to be read has woken it, and set the pace.
    is_woken: bool,
}

impl Idle {
    /// Nobody has worked yet.
    pub(crate) fn new(plan: &Plan, costs: &[CostTable]) -> Self {
        let matters = costs.iter().any(CostTable::tells_rests);
        let phones = &plan.phones.profile;
        let never = Busy {
            end_s: 0.0,
            pace: 1.0,
            cold_s: 0.0,
            is_woken: false,
        };
        Self(vec![never; if matters { phones.len() } else { 0 }])
    }

    /// A phone works from `now` on for as long as this takes, if it need not wait for a core.
    pub(crate) fn begin(&mut self, phone: u32, now: Seconds, cost: Cost) {
        self.end(phone, now + cost.cpu_s + cost.wait_s);
    }

    /// It works until `at_s` at least.
    pub(crate) fn end(&mut self, phone: u32, at_s: Seconds) {
        if let Some(busy) = self.0.get_mut(phone as usize) {
            busy.end_s = busy.end_s.max(at_s);
        }
    }

    /// Whether it does nothing now; so says who is not asked how long phones have rested.
    pub(crate) fn rests(&self, phone: u32, now: Seconds) -> bool {
        let busy = self.0.get(phone as usize);
        busy.is_none_or(|busy| busy.end_s <= now)
    }

    /// A datagram wakes it. What it does with that is done at the pace of after this rest.
    pub(crate) fn wake(&mut self, phone: u32, costs: &CostTable, now: Seconds) {
        if let Some(busy) = self.0.get_mut(phone as usize) {
            busy.turn(costs, now);
            busy.is_woken = true;
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
        busy.map_or(1.0, |busy| costs.wake_ratio(operation, now - busy.end_s))
    }

    /// It turns to something that `has_come`, or else goes on, unless it has rested until now.
    pub(crate) fn turn(&mut self, phone: u32, costs: &CostTable, now: Seconds, has_come: bool) {
        if let Some(busy) = self.0.get_mut(phone as usize) {
            let is_new = match has_come {
                true => !std::mem::take(&mut busy.is_woken),
                false => busy.end_s < now,
            };
            if is_new {
                busy.turn(costs, now);
            }
        }
    }

    /// What something takes there that would take `hot` in a hot loop.
    pub(crate) fn paced(&mut self, phone: u32, hot: Cost) -> Cost {
        match self.0.get_mut(phone as usize) {
            Some(busy) => busy.paced(hot),
            None => hot,
        }
    }
}

impl Busy {
    fn turn(&mut self, costs: &CostTable, now: Seconds) {
        self.pace = costs.pace(now - self.end_s);
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
