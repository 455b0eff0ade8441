//! What becomes of a datagram: sent, carried, delayed, lost, or in a socket.
//!
//! The world shares links between datagrams; constant link latency is its
//! business. Jitter, loss, order, the relay's detour and the finite socket
//! buffer are not in any flow model, so they are added here.

use pocketsim_protocols::contract::{
    Application, Event, EventKind, Lane, NodeId, Path, Reason, Seconds, Transport,
};

use crate::driver::{Driver, Due};
use crate::lane::Input;
use crate::resources::World;
use crate::socket::wire_bytes;
use crate::trace::Tally;

/// A datagram between two sockets.
pub(crate) struct Flight<D> {
    pub from: NodeId,
    pub to: NodeId,
    pub datagram: D,
    /// The far phone's epoch when it was sent.
    pub epoch: u32,
    /// Delay beyond the links' own.
    pub extra_s: Seconds,
    /// Whether loss was drawn for it.
    pub lost: bool,
    /// Whether the links failed under it.
    pub failed: bool,
}

impl<A: Application, T: Transport<A::Block>, W: World> Driver<A, T, W> {
    /// Puts a datagram on the air.
    pub(crate) fn launch(&mut self, from: u32, to: NodeId, datagram: T::Message) {
        self.trace.count(Tally::DatagramsSent);
        let (lost, extra_s) = self.draw_path(from, to.0, datagram.path);
        let bytes = wire_bytes(datagram.udp_payload_bytes);
        let epoch = self.phones[to.0 as usize].epoch;
        let flight = Flight {
            from: NodeId(from),
            to,
            datagram,
            epoch,
            extra_s,
            lost,
            failed: false,
        };
        if !self.phones[to.0 as usize].on {
            return self.drop_flight(&flight, Reason::ReceiverOff);
        }
        let token = self.flights.insert(flight);
        if self.keeps_order(NodeId(from), to) {
            self.order.launch(NodeId(from), to, token);
        }
        self.world.carry(token, NodeId(from), to, bytes);
    }

    /// The links have carried it (or failed), and perhaps others wait for it.
    pub(crate) fn land(&mut self, token: u32, done: bool) {
        let flight = self.flights.get_mut(token);
        flight.failed = !done;
        let mut released = std::mem::take(&mut self.released);
        self.order
            .land(flight.from, flight.to, token, |token| released.push(token));
        released.drain(..).for_each(|token| self.go_on(token));
        self.released = released;
    }

    /// What is left of its way?
    fn go_on(&mut self, token: u32) {
        let flight = self.flights.remove(token);
        if flight.failed {
            let sender_off = !self.phones[flight.from.0 as usize].on;
            let reason = if sender_off {
                Reason::SenderOff
            } else {
                Reason::ReceiverOff
            };
            return self.drop_flight(&flight, reason);
        }
        if flight.lost {
            return self.drop_flight(&flight, Reason::LinkLoss);
        }
        let now = self.world.clock();
        let mut date = now + flight.extra_s;
        if self.keeps_order(flight.from, flight.to) {
            date = self.order.delivery(flight.from, flight.to, date);
        }
        let token = self.flights.insert(flight);
        if date > now {
            self.queue.push(date, Due::Delivery(token));
        } else {
            self.deliver(token);
        }
    }

    /// A datagram reaches the far phone: into the socket buffer, or lost.
    pub(crate) fn deliver(&mut self, token: u32) {
        let flight = self.flights.remove(token);
        self.order
            .settle(flight.from, flight.to, self.world.clock());
        let phone = &mut self.phones[flight.to.0 as usize];
        if !phone.on || phone.epoch != flight.epoch {
            return self.drop_flight(&flight, Reason::ReceiverOff);
        }
        if !phone.socket.admit(flight.datagram.udp_payload_bytes) {
            return self.drop_flight(&flight, Reason::BufferFull);
        }
        self.trace.count(Tally::DatagramsDelivered);
        self.post(
            flight.to.0,
            Lane::RECEIVE,
            Input::Datagram(flight.from, flight.datagram),
        );
    }

    fn drop_flight(&mut self, flight: &Flight<T::Message>, reason: Reason) {
        self.drop_datagram(flight.from, flight.to, &flight.datagram, reason);
    }

    /// Counts a datagram that never reaches a machine; its transaction gets a row.
    pub(crate) fn drop_datagram(
        &mut self,
        from: NodeId,
        to: NodeId,
        datagram: &T::Message,
        reason: Reason,
    ) {
        self.trace.count_drop(reason);
        let Some(message) = datagram.message else {
            return;
        };
        let event = Event {
            kind: EventKind::Drop,
            message,
            peer: from,
            size_bytes: datagram.udp_payload_bytes,
            reason: Some(reason),
        };
        self.trace.record(self.world.clock(), to, &event);
    }

    /// Whether the datagram is lost, and its delay beyond the links' own.
    fn draw_path(&mut self, from: u32, to: u32, path: Path) -> (bool, Seconds) {
        let phones = &self.plan.phones;
        let [sender, receiver] = [from, to].map(|phone| phone as usize);
        let near = &self.plan.access[phones.access[sender] as usize];
        let far = &self.plan.access[phones.access[receiver] as usize];
        let backbone = &self.plan.backbone;
        let mut extra_s = match path {
            Path::Relay => 2.0 * backbone.relay_latency_s,
            Path::Direct if phones.site[sender] != phones.site[receiver] => backbone.latency_s,
            Path::Direct => 0.0,
        };
        let stream = &mut self.phones[sender].link_stream;
        let mut lost = false;
        for hop in [near, far] {
            lost |= hop.loss_ratio > 0.0 && stream.uniform() < hop.loss_ratio;
            if hop.jitter_median_s > 0.0 {
                extra_s += stream.lognormal(hop.jitter_median_s, hop.jitter_sigma);
            }
        }
        (lost, extra_s)
    }

    /// Whether datagrams between these phones arrive in the order they left.
    fn keeps_order(&self, from: NodeId, to: NodeId) -> bool {
        let reorders = |phone: NodeId| {
            self.plan.access[self.plan.phones.access[phone.0 as usize] as usize].reorders
        };
        !reorders(from) && !reorders(to)
    }
}
