//! For how long phones have rested, and datagrams that find nobody awake.

use pocketsim_protocols::contract::{Application, Lane, NodeId, Operation, Seconds, Transport};

use crate::costs::{Cost, CostTable};
use crate::lane::{Input, Step};
use crate::lanes::Lanes;
use crate::plan::Plan;

/// When each phone's work ends; nothing is kept where no profile asks how long phones have rested.
pub(crate) struct Rests(Vec<Seconds>);

impl Rests {
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
    fn ratio(&self, phone: u32, costs: &CostTable, now: Seconds) -> f64 {
        let end_s = self.0.get(phone as usize);
        end_s.map_or(1.0, |end_s| costs.wake_ratio(now - end_s))
    }
}

impl<A: Application, T: Transport<A::Block>> Lanes<A, T> {
    /// Queues a datagram at the socket of `to`, or gives it back when its buffer is full. It wakes
    /// the receive lane if that sleeps, where the profile says what that takes.
    pub(crate) fn take_in(
        &mut self,
        to: u32,
        from: NodeId,
        datagram: T::Message,
        now: Seconds,
    ) -> Option<T::Message> {
        let phone = &mut self.phones[to as usize];
        let capacity_bytes = self.socket_bytes[phone.profile()];
        if !phone.admit(capacity_bytes, datagram.udp_payload_bytes) {
            return Some(datagram);
        }
        let bytes = datagram.udp_payload_bytes;
        let costs = &self.costs[phone.profile()];
        let receives = phone.lane(Lane::RECEIVE.0 as usize);
        if !costs.mean(Operation::UdpWake, bytes).is_free() && receives.is_idle() {
            let ratio = self.rests.ratio(to, costs, now);
            receives.push(Step::Wake(bytes, ratio), &mut self.spare);
        }
        self.post(to, Lane::RECEIVE, Input::Datagram(from, datagram));
        None
    }
}
