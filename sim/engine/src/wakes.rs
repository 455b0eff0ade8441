//! Datagrams that find nobody awake.

use pocketsim_protocols::contract::{Application, Lane, NodeId, Operation, Seconds, Transport};

use crate::lane::{Input, Step};
use crate::lanes::Lanes;

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
            let ratio = self.idle.wake_ratio(to, costs, now);
            receives.push(Step::Wake(bytes, ratio), &mut self.spare);
        }
        self.post(to, Lane::RECEIVE, Input::Datagram(from, datagram));
        None
    }
}
