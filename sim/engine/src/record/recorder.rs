//! The recorder of a run: its trace, and the accounts of energy if the plan asks for them.
//!
//! What deliberately does not live here: why something happened.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{
    Datagram, Event, EventKind, Lane, MessageId, NodeId, Operation, Path, Reason, Seconds,
};

use crate::cost::table::{Cost, Priced};
use crate::plan::Plan;
use crate::record::energy::{Accountant, Wake};
use crate::record::paths::{Paths, ReachSummary};
use crate::record::timeline::Row;
use crate::record::trace::{Tally, Trace};
use crate::resources::queue_delay::Span;
use crate::resources::radio::Direction;

/// What is written down while a run goes on.
pub(crate) struct Recorder {
    trace: Trace,
    energy: Option<Accountant>,
    /// The tokens' authority, which is no phone.
    authority: Option<u32>,
    /// None where nobody asks which way things went.
    paths: Option<Box<Paths>>,
    /// Whether applications try again what is dropped, so that it is not lost yet.
    pub(crate) tries_again: bool,
}

impl Recorder {
    /// What `plan` asks for, with nothing recorded yet.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            trace: Trace::new(plan),
            energy: Accountant::new(plan),
            authority: plan.phones.authority(),
            tries_again: plan.protocol.retries.is_some(),
            paths: (plan.nats.is_some() || plan.relay.is_some()).then(Box::default),
        }
    }

    /// A row about `phone`.
    pub(crate) fn record(&mut self, now: Seconds, phone: u32, event: &Event) {
        self.trace.record(now, NodeId(phone), event);
        if let (Some(paths), EventKind::Store) = (&mut self.paths, event.kind) {
            paths.store(NodeId(phone), event.peer);
        }
    }

    /// A row that says that `phone` went on or off.
    pub(crate) fn record_phone(&mut self, now: Seconds, phone: u32, kind: EventKind) {
        let node = NodeId(phone);
        let event = Event::new(kind, MessageId::new(node, NO_TRANSACTION), node, 0);
        self.record(now, phone, &event);
    }

    /// A transaction is given up at `phone`.
    pub(crate) fn lose(
        &mut self,
        now: Seconds,
        phone: u32,
        message: MessageId,
        peer: NodeId,
        reason: Reason,
    ) {
        let event = Event::new(EventKind::Lose, message, peer, 0).because(reason);
        self.record(now, phone, &event);
    }

    /// A datagram never reaches a machine: it counts as `tally`, its transaction gets a row. Where that
    /// is tried again, the row is about no transaction.
    pub(crate) fn drop<B>(&mut self, now: Seconds, tally: Tally, of: Dropped<'_, B>) {
        self.trace.count_drop(tally, of.reason);
        if let Some(message) = of.datagram.message {
            let message = match self.tries_again {
                true => MessageId::new(of.from, NO_TRANSACTION),
                false => message,
            };
            let size_bytes = of.datagram.udp_payload_bytes;
            let event = Event::new(EventKind::Drop, message, of.from, size_bytes);
            self.record(now, of.to.0, &event.because(of.reason));
        }
    }

    /// A datagram is at its socket.
    pub(crate) fn deliver(&mut self, from: NodeId, to: NodeId, path: Path) {
        if let Some(paths) = &mut self.paths {
            paths.deliver(from, to, path);
        }
    }

    /// Which way things went; none where nobody asks.
    pub(crate) fn reach_summary(&self) -> Option<ReachSummary> {
        self.paths.as_ref().map(|paths| paths.summary())
    }

    /// Counts one `tally`.
    pub(crate) fn count(&mut self, tally: Tally) {
        self.trace.count(tally);
    }

    /// An operation on some bytes is part of the work that a lane begins.
    pub(crate) fn operate(&mut self, phone: u32, work: (Priced, u32), cost: Cost) {
        self.trace.spend(work.0, cost.cpu_s);
        if work.0 == Operation::Store.into() && self.authority != Some(phone) {
            self.trace.count(Tally::PhoneRecordsStored);
            self.trace.add(Tally::PhoneBytesStored, work.1);
        }
        if let Some(timeline) = &mut self.trace.timeline {
            timeline.draw(work, cost);
        }
    }

    /// A lane of `phone` begins to work.
    pub(crate) fn begin_work(&mut self, now: Seconds, phone: u32, lane: Lane) {
        if let Some(timeline) = &mut self.trace.timeline {
            timeline.begin(now, phone, lane);
        }
    }

    /// A lane of `phone` has done the work that it began.
    pub(crate) fn end_work(&mut self, now: Seconds, phone: u32, lane: Lane) {
        if let Some(timeline) = &mut self.trace.timeline {
            timeline.end(now, phone, lane);
        }
    }

    /// A datagram goes on the air; [`Recorder::land`] is told of its end.
    pub(crate) fn launch<B>(
        &mut self,
        now: Seconds,
        phones: [NodeId; 2],
        datagram: &Datagram<B>,
    ) -> Row {
        self.trace.count(Tally::DatagramsSent);
        let timeline = self.trace.timeline.as_mut();
        timeline.map_or(Row::NONE, |of| {
            of.launch(now, phones, datagram.udp_payload_bytes, datagram.message)
        })
    }

    /// A datagram that was on the air is in the far socket's buffer, or dropped for a reason.
    pub(crate) fn land(&mut self, now: Seconds, row: Row, reason: Option<Reason>) {
        if let Some(timeline) = &mut self.trace.timeline {
            timeline.land(now, row, reason);
        }
    }

    /// When a datagram waits in the queue of a radio, as far as it is known.
    pub(crate) fn wait(&mut self, row: Row, direction: Direction, span: Span) {
        if let Some(timeline) = &mut self.trace.timeline {
            timeline.wait(row, direction, span);
        }
    }

    /// A datagram no longer waits when the phone goes off whose queue it is in.
    pub(crate) fn cut_wait(&mut self, row: Row, direction: Direction, off_s: Seconds) {
        if let Some(timeline) = &mut self.trace.timeline {
            timeline.cut_wait(row, direction, off_s);
        }
    }

    /// `phone` computes.
    pub(crate) fn compute(&mut self, phone: u32, cpu_s: Seconds) {
        if self.authority != Some(phone) {
            self.trace.phone_cpu_s += cpu_s;
        }
        if let Some(energy) = &mut self.energy {
            energy.compute(phone, cpu_s);
        }
    }

    /// `phone` is given something to send over its access network.
    pub(crate) fn send(&mut self, now: Seconds, phone: NodeId, wire_bytes: u32) {
        self.trace.add(Tally::AccessBytes, wire_bytes);
        self.carry(phone, wire_bytes);
        if let Some(energy) = &mut self.energy {
            energy.send(phone.0, now, wire_bytes);
        }
    }

    /// `phone` goes off or moves before it has sent what it was given, over `network` if one is said.
    pub(crate) fn take_back(&mut self, phone: NodeId, wire_bytes: u32, network: Option<u32>) {
        self.trace.take_back(Tally::AccessBytes, wire_bytes);
        if self.authority != Some(phone.0) {
            self.trace.take_back(Tally::PhoneAccessBytes, wire_bytes);
        }
        if let Some(energy) = &mut self.energy {
            energy.take_back(phone.0, wire_bytes, network);
        }
    }

    /// Something waits for air that `phone` shares, unless it has it at once.
    pub(crate) fn queue(&mut self, now: Seconds, phone: NodeId, direction: Direction) {
        if let Some(energy) = &mut self.energy {
            energy.queue(phone.0, direction, now);
        }
    }

    /// `phone` has sent over air that it shares.
    pub(crate) fn end_sending(&mut self, now: Seconds, phone: NodeId, wire_bytes: u32) {
        self.trace.add(Tally::AccessBytes, wire_bytes);
        self.carry(phone, wire_bytes);
        if let Some(energy) = &mut self.energy {
            energy.leave(phone.0, Direction::Up, now, Some(wire_bytes));
        }
    }

    /// Something for `phone` is out of air that it shares; its bytes, if the phone heard it.
    pub(crate) fn end_receiving(&mut self, now: Seconds, phone: NodeId, wire_bytes: Option<u32>) {
        self.carry(phone, wire_bytes.unwrap_or(0));
        if let Some(energy) = &mut self.energy {
            energy.leave(phone.0, Direction::Down, now, wire_bytes);
        }
    }

    /// The radio of `phone` sleeps at times, and did this.
    pub(crate) fn wake(&mut self, phone: u32, wake: Wake) {
        if let Some(energy) = &mut self.energy {
            energy.wake(phone, wake);
        }
    }

    /// `phone` has received over its access network.
    pub(crate) fn receive(&mut self, now: Seconds, phone: NodeId, wire_bytes: u32) {
        self.carry(phone, wire_bytes);
        if let Some(energy) = &mut self.energy {
            energy.receive(phone.0, now, wire_bytes);
        }
    }

    /// `phone` has sent or received so much over its access network.
    fn carry(&mut self, phone: NodeId, wire_bytes: u32) {
        if self.authority != Some(phone.0) {
            self.trace.add(Tally::PhoneAccessBytes, wire_bytes);
        }
    }

    /// A contact of two phones takes a datagram, which keeps a link of this kind busy for so long.
    pub(crate) fn meet(
        &mut self,
        phones: [NodeId; 2],
        link: usize,
        busy_s: Seconds,
        wire_bytes: u32,
    ) {
        // What waits until they part never takes the air.
        if busy_s > 0.0 {
            self.trace.count(Tally::ContactDatagrams);
            self.trace.add(Tally::ContactBytes, wire_bytes);
        }
        if let Some(energy) = &mut self.energy {
            energy.meet(phones.map(|phone| phone.0), link, busy_s);
        }
    }

    /// `phone` goes off.
    pub(crate) fn switch_off(&mut self, now: Seconds, phone: u32) {
        if let Some(energy) = &mut self.energy {
            energy.switch_off(phone, now);
        }
        if let Some(timeline) = &mut self.trace.timeline {
            timeline.cut(now, phone);
        }
        self.record_phone(now, phone, EventKind::PhoneOff);
    }

    /// `phone` leaves its access network at `now`, and that radio is off.
    pub(crate) fn leave_network(&mut self, now: Seconds, phone: u32) {
        if let Some(energy) = &mut self.energy {
            energy.switch_off(phone, now);
        }
        self.count(Tally::NetworkChanges);
    }

    /// It has joined another.
    pub(crate) fn join_network(&mut self, phone: u32, network: u32) {
        if let Some(energy) = &mut self.energy {
            energy.join(phone, network);
        }
    }

    /// A phone and joules that it was charged since this was last asked, where batteries want them.
    pub(crate) fn next_charge(&mut self) -> Option<(u32, f64)> {
        self.energy.as_mut()?.next_charge()
    }

    /// What phones spend until `end_s`, joules by component; empty without accounts.
    pub(crate) fn energy_j(&self, end_s: Seconds) -> BTreeMap<&'static str, f64> {
        let accountant = self.energy.as_ref();
        accountant.map_or_else(BTreeMap::new, |of| of.spent_j(end_s))
    }

    /// The same by number of the network or of the kind of link.
    pub(crate) fn energy_by_part_j(&self, end_s: Seconds) -> BTreeMap<&'static str, Vec<f64>> {
        let accountant = self.energy.as_ref();
        accountant.map_or_else(BTreeMap::new, |of| of.spent_by_part_j(end_s))
    }

    /// Conversations at rest would have done this.
    pub(crate) fn keep_up(&mut self, counts: &Reckoned) {
        let known = [
            counts.sent,
            counts.delivered,
            counts.bytes,
            counts.phone_bytes,
        ];
        let [sent, delivered, bytes, phone_bytes] = known.map(|count| count.round() as u64);
        self.trace.add(Tally::DatagramsSent, sent);
        self.trace.add(Tally::DatagramsDelivered, delivered);
        self.trace.add(Tally::AccessBytes, bytes);
        self.trace.add(Tally::PhoneAccessBytes, phone_bytes);
        let lost = sent - delivered;
        self.trace
            .add_drops(Tally::DatagramsDropped, Reason::LinkLoss, lost);
        for (&operation, &cpu_s) in Operation::ALL.iter().zip(&counts.cpu_s) {
            self.trace.spend(operation, cpu_s);
        }
        self.trace.phone_cpu_s += counts.phone_cpu_s;
    }

    /// The run ends.
    pub(crate) fn close(&mut self, end_s: Seconds) {
        if let Some(timeline) = &mut self.trace.timeline {
            timeline.close(end_s);
        }
    }

    /// The trace, at the end.
    pub(crate) fn into_trace(self) -> Trace {
        self.trace
    }
}

/// What is reckoned instead of simulated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reckoned {
    /// Datagrams that would have been sent, and of those the delivered.
    pub(crate) sent: f64,
    pub(crate) delivered: f64,
    /// Bytes of those sent, with all headers.
    pub(crate) bytes: f64,
    /// Bytes that phones other than the tokens' authority would have sent or received.
    pub(crate) phone_bytes: f64,
    /// Core seconds of these phones.
    pub(crate) phone_cpu_s: Seconds,
    /// Core seconds of all, by operation.
    pub(crate) cpu_s: [Seconds; Operation::ALL.len()],
}

/// A datagram that never reaches a machine.
pub(crate) struct Dropped<'a, B> {
    pub from: NodeId,
    pub to: NodeId,
    pub datagram: &'a Datagram<B>,
    pub reason: Reason,
}

/// The number of what is about no transaction.
const NO_TRANSACTION: u32 = u32::MAX;
