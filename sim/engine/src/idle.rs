//! For how long phones have done nothing.

use pocketsim_protocols::contract::Seconds;

use crate::costs::{Cost, CostTable};
use crate::plan::Plan;

/// When each phone's work ends; nothing is kept where no profile asks how long phones have rested.
pub(crate) struct Idle(Vec<Seconds>);

impl Idle {
    /// Nobody has worked yet.
    pub(crate) fn new(plan: &Plan, costs: &[CostTable]) -> Self {
        let matters = costs.iter().any(CostTable::tells_rests);
        let phones = &plan.phones.profile;
        Self(vec![0.0; if matters { phones.len() } else { 0 }])
    }

    /// A phone works from `now` on for as long as this takes, if it need not wait for a core.
    pub(crate) fn begin(&mut self, phone: u32, now: Seconds, cost: Cost) {
        self.end(phone, now + cost.cpu_s + cost.wait_s);
    }

    /// It works until `at_s` at least.
    pub(crate) fn end(&mut self, phone: u32, at_s: Seconds) {
        if let Some(end_s) = self.0.get_mut(phone as usize) {
            *end_s = end_s.max(at_s);
        }
    }

    /// How many times as long as `udp_wake` waking a phone with these costs takes.
    pub(crate) fn wake_ratio(&self, phone: u32, costs: &CostTable, now: Seconds) -> f64 {
        let end_s = self.0.get(phone as usize);
        end_s.map_or(1.0, |end_s| costs.wake_ratio(now - end_s))
    }
}
