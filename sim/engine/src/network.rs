//! What becomes of a datagram: sent, carried, delayed, lost, or in a socket.
//!
//! The world shares links between datagrams; constant link latency is its
//! business. Jitter, loss, order, the relay's detour and the finite socket
//! buffer are not in any flow model, so they are added here. What phones in
//! reach of each other carry is [`crate::proximity`]'s.

use pocketsim_protocols::contract::{
    Application, Event, EventKind, Lane, NodeId, Path, Reason, Seconds, Transport,
};

use crate::driver::{Driver, Due};
use crate::lane::Input;
use crate::order::Way;
use crate::resources::World;
use crate::socket::{fragments, wire_bytes};
use crate::trace::Tally;

/// A datagram between two sockets.
pub(crate) struct Flight<D> {
    pub way: Way,
    pub datagram: D,
    /// The far phone's epoch when it was sent.
    pub epoch: u32,
    /// Delay beyond the links' own.
    pub extra_s: Seconds,
    /// Whether loss was drawn for it.
    pub lost: bool,
    /// Whether the links failed under it.
    pub failed: bool,
    /// Whether what left later must not arrive before it.
    pub ordered: bool,
}

impl<A: Application, T: Transport<A::Block>, W: World> Driver<A, T, W> {
    /// Puts a datagram on the air.
    pub(crate) fn launch(&mut self, from: u32, to: NodeId, datagram: T::Message) {
        self.trace.count(Tally::DatagramsSent);
        let way = Way {
            from: NodeId(from),
            to,
            path: datagram.path,
        };
        if self.meets(way) {
            return self.launch_in_contact(way, datagram);
        }
        let (lost, extra_s) = self.draw_path(way, fragments(datagram.udp_payload_bytes));
        let ordered = self.keeps_order(way);
        let flight = Flight {
            lost,
            extra_s,
            ..self.flight(way, datagram, ordered)
        };
        if !self.phones[to.0 as usize].on {
            return self.drop_flight(&flight, Reason::ReceiverOff);
        }
        if self.is_out(way) {
            return self.drop_flight(&flight, Reason::LinkLoss);
        }
        self.carry(flight);
    }

    /// A datagram that nothing has happened to yet.
    pub(crate) fn flight(
        &self,
        way: Way,
        datagram: T::Message,
        ordered: bool,
    ) -> Flight<T::Message> {
        Flight {
            way,
            datagram,
            epoch: self.phones[way.to.0 as usize].epoch,
            extra_s: 0.0,
            lost: false,
            failed: false,
            ordered,
        }
    }

    /// Hands a datagram to the world's links.
    fn carry(&mut self, flight: Flight<T::Message>) {
        let (way, ordered) = (flight.way, flight.ordered);
        let bytes = wire_bytes(flight.datagram.udp_payload_bytes);
        self.trace.add(Tally::AccessBytes, bytes);
        if let Some(energy) = &mut self.energy {
            energy.send(way.from.0, self.world.clock(), bytes);
        }
        let token = self.flights.insert(flight) as u32;
        if ordered {
            self.order.launch(way, token);
        }
        self.world.carry(token, way.from, way.to, bytes);
    }

    /// The world's links have carried it (or failed): unless it was lost, the far radio heard it.
    pub(crate) fn land_from_access(&mut self, token: u32, done: bool) {
        let now = self.world.clock();
        let flight = &mut self.flights[token as usize];
        if let Some(energy) = self.energy.as_mut().filter(|_| done && !flight.lost) {
            let bytes = wire_bytes(flight.datagram.udp_payload_bytes);
            energy.receive(flight.way.to.0, now, bytes);
        }
        self.land(token, done);
    }

    /// The links have carried it (or failed), and perhaps others wait for it.
    pub(crate) fn land(&mut self, token: u32, done: bool) {
        let flight = &mut self.flights[token as usize];
        flight.failed = !done;
        if !flight.ordered {
            return self.go_on(token);
        }
        let mut released = std::mem::take(&mut self.released);
        self.order
            .land(flight.way, token, |token| released.push(token));
        released.drain(..).for_each(|token| self.go_on(token));
        self.released = released;
    }

    /// What is left of its way?
    fn go_on(&mut self, token: u32) {
        let now = self.world.clock();
        let flight = &mut self.flights[token as usize];
        if flight.failed || flight.lost {
            return self.fail(token);
        }
        let mut date = now + flight.extra_s;
        if flight.ordered {
            date = self.order.delivery(flight.way, date);
        }
        if date > now {
            self.queue.push(date, Due::Delivery(token));
        } else {
            self.deliver(token);
        }
    }

    fn fail(&mut self, token: u32) {
        let flight = self.flights.remove(token as usize);
        let reason = if !flight.failed {
            Reason::LinkLoss
        } else if self.phones[flight.way.from.0 as usize].on {
            Reason::ReceiverOff
        } else {
            Reason::SenderOff
        };
        self.drop_flight(&flight, reason);
    }

    /// A datagram reaches the far phone: into the socket buffer, or lost.
    pub(crate) fn deliver(&mut self, token: u32) {
        let flight = self.flights.remove(token as usize);
        let phone = &mut self.phones[flight.way.to.0 as usize];
        if !phone.on || phone.epoch != flight.epoch {
            return self.drop_flight(&flight, Reason::ReceiverOff);
        }
        if !phone.socket.admit(flight.datagram.udp_payload_bytes) {
            return self.drop_flight(&flight, Reason::BufferFull);
        }
        self.settle_order(&flight);
        self.trace.count(Tally::DatagramsDelivered);
        let input = Input::Datagram(flight.way.from, flight.datagram);
        self.post(flight.way.to.0, Lane::RECEIVE, input);
    }

    fn settle_order(&mut self, flight: &Flight<T::Message>) {
        if flight.ordered {
            self.order.settle(flight.way, self.world.clock());
        }
    }

    pub(crate) fn drop_flight(&mut self, flight: &Flight<T::Message>, reason: Reason) {
        self.settle_order(flight);
        self.trace.count_drop(Tally::DatagramsDropped, reason);
        self.record_drop(flight.way.from, flight.way.to, &flight.datagram, reason);
    }

    /// A phone went off with a datagram in its socket buffer.
    pub(crate) fn leave_unread(&mut self, from: NodeId, to: NodeId, datagram: &T::Message) {
        let reason = Reason::ReceiverOff;
        self.trace.count_drop(Tally::DatagramsUnread, reason);
        self.record_drop(from, to, datagram, reason);
    }

    /// A phone went off before it put a datagram on the air.
    pub(crate) fn cut_off(&mut self, from: NodeId, to: NodeId, datagram: &T::Message) {
        let reason = Reason::SenderOff;
        self.trace.count_drop(Tally::DatagramsCutOff, reason);
        self.record_drop(from, to, datagram, reason);
    }

    /// The transaction of a datagram that never reaches a machine gets a row.
    fn record_drop(&mut self, from: NodeId, to: NodeId, datagram: &T::Message, reason: Reason) {
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
    ///
    /// Each hop draws for itself.
    fn draw_path(&mut self, way: Way, fragments: u32) -> (bool, Seconds) {
        let phones = &self.plan.phones;
        let [sender, receiver] = [way.from, way.to].map(|phone| phone.0 as usize);
        let near = &self.plan.access[phones.access[sender] as usize];
        let far = &self.plan.access[phones.access[receiver] as usize];
        let backbone = &self.plan.backbone;
        let mut extra_s = match way.path {
            Path::Relay => 2.0 * backbone.relay_latency_s,
            Path::Direct if phones.site[sender] != phones.site[receiver] => backbone.latency_s,
            Path::Direct => 0.0,
        };
        let phone = &mut self.phones[sender];
        let mut lost = false;
        for hop in [near, far] {
            lost |= phone.loses(hop.loss_ratio, fragments);
            if hop.jitter_median_s > 0.0 {
                extra_s += phone
                    .jitter_stream
                    .lognormal(hop.jitter_median_s, hop.jitter_sigma);
            }
        }
        (lost, extra_s)
    }

    /// Whether datagrams between these phones arrive in the order they left.
    fn keeps_order(&self, way: Way) -> bool {
        let reorders = |phone: NodeId| {
            self.plan.access[self.plan.phones.access[phone.0 as usize] as usize].reorders
        };
        !reorders(way.from) && !reorders(way.to)
    }
}
