//! A small in-memory driver: phones with lanes, one constant latency, rules.
//!
//! It drives any transport as the contract says: the outputs of an input are
//! drained in order before the lane's next input, work keeps its lane busy, and
//! datagrams wait for the receiving lane. A rule sees every datagram and says
//! whether it passes, is lost, comes later or twice. Receive buffers are endless
//! unless a test gives them a size.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use pocketsim_protocols::contract::*;
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

use socket::SocketBuffer;

// The engine's own: there is one count of what the kernel charges for a datagram.
#[path = "../../../engine/src/network/socket_buffer.rs"]
pub mod socket;

/// A payload of any size.
#[derive(Clone, Debug, PartialEq)]
pub struct Parcel {
    pub id: MessageId,
    pub bytes: u32,
}

impl Payload for Parcel {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn message_id(&self) -> MessageId {
        self.id
    }
}

/// The `sequence`-th parcel of node `origin`.
pub fn parcel(origin: u32, sequence: u32, bytes: u32) -> Parcel {
    let id = MessageId::new(NodeId(origin), sequence);
    Parcel { id, bytes }
}

/// QUIC on the direct path, delivered at once, so that times are plain to see.
pub fn quic(mode: ConnectionMode) -> TransportConfig {
    TransportConfig {
        mode,
        poll_interval_s: 0.0,
        relay_first: false,
        ..TransportConfig::default()
    }
}

/// Phones with QUIC.
pub fn quic_world(count: u32, latency_s: Seconds, config: &TransportConfig) -> World<Quic<Parcel>> {
    World::new(count, latency_s, |node| Quic::new(config, node))
}

/// What a rule answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Pass,
    Drop,
    Later(Seconds),
    /// At once, and again so much later.
    Twice(Seconds),
}

/// A datagram as the log keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    pub time_s: Seconds,
    pub from: NodeId,
    pub to: NodeId,
    pub bytes: u32,
    pub path: Path,
    pub message: Option<MessageId>,
}

/// What reached an application.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    pub time_s: Seconds,
    pub node: NodeId,
    pub from: NodeId,
    pub delivery: Delivery<Parcel>,
}

enum Input<T: Machine> {
    Transmit(NodeId, Parcel),
    Datagram(NodeId, T::Message),
    Step(T::Request),
    Timeout,
    Network,
}

enum Event<T: Machine> {
    Input(usize, Lane, Input<T>),
    Resume(usize, Lane),
    Alarm(usize),
}

struct Entry<T: Machine>(Seconds, u64, Event<T>);

impl<T: Machine> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl<T: Machine> Eq for Entry<T> {}
impl<T: Machine> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T: Machine> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

struct LaneState<T: Machine> {
    working: bool,
    inputs: VecDeque<Input<T>>,
    outputs: VecDeque<Output<T::Message, T::Request, T::Value>>,
}

struct Phone<T: Machine> {
    machine: T,
    on: bool,
    socket: SocketBuffer,
    buffer_bytes: u64,
    lanes: BTreeMap<Lane, LaneState<T>>,
    alarm_s: Seconds,
}

pub type Rule = Box<dyn FnMut(usize, &Sent) -> Verdict>;
type Work = Box<dyn Fn(Operation, u32) -> Seconds>;
type App = Box<dyn FnMut(NodeId, NodeId, &Parcel) -> Vec<(NodeId, Parcel)>>;

/// Phones, the network between them, and what happened.
pub struct World<T: Transport<Parcel>> {
    phones: Vec<Phone<T>>,
    agenda: BinaryHeap<Reverse<Entry<T>>>,
    serial: u64,
    /// The time of the latest event.
    pub now_s: Seconds,
    /// One way between any two phones.
    pub latency_s: Seconds,
    /// What befalls the `k`-th datagram.
    pub rule: Rule,
    /// How long an operation keeps its lane.
    pub work: Work,
    /// What an application sends when a parcel arrives.
    pub app: App,
    /// Every datagram sent.
    pub sent: Vec<Sent>,
    /// When a full buffer refused a datagram, at whom.
    pub overflows: Vec<(Seconds, NodeId)>,
    /// Everything delivered.
    pub arrivals: Vec<Arrival>,
    /// Every operation asked for.
    pub operations: Vec<(NodeId, Operation, u32)>,
    /// Every trace row.
    pub events: Vec<(Seconds, NodeId, pocketsim_protocols::contract::Event)>,
}

impl<T: Transport<Parcel>> World<T>
where
    T::Body: Clone,
{
    /// Phones with the machines that `make` gives them, `latency_s` apart.
    pub fn new(count: u32, latency_s: Seconds, make: impl Fn(NodeId) -> T) -> Self {
        let phone = |node| Phone {
            machine: make(NodeId(node)),
            on: true,
            socket: SocketBuffer::EMPTY,
            buffer_bytes: u64::MAX,
            lanes: BTreeMap::new(),
            alarm_s: Seconds::INFINITY,
        };
        Self {
            phones: (0..count).map(phone).collect(),
            agenda: BinaryHeap::new(),
            serial: 0,
            now_s: 0.0,
            latency_s,
            rule: Box::new(|_, _| Verdict::Pass),
            work: Box::new(|_, _| 0.0),
            app: Box::new(|_, _, _| Vec::new()),
            sent: Vec::new(),
            overflows: Vec::new(),
            arrivals: Vec::new(),
            operations: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Gives every phone a receive buffer of `bytes` as the kernel counts.
    pub fn limit_buffers(&mut self, bytes: u64) {
        for phone in &mut self.phones {
            phone.buffer_bytes = bytes;
        }
    }

    /// Node `from` hands `parcel` to its transport at `time_s`.
    pub fn transmit_at(&mut self, time_s: Seconds, from: u32, to: u32, parcel: Parcel) {
        let input = Input::Transmit(NodeId(to), parcel);
        self.schedule(time_s, Event::Input(from as usize, Lane::SEND, input));
    }

    /// A phone joins another access network at `time_s`.
    pub fn move_at(&mut self, time_s: Seconds, node: u32) {
        let event = Event::Input(node as usize, Lane::RECEIVE, Input::Network);
        self.schedule(time_s, event);
    }

    /// Handles every event up to `end_s`.
    pub fn run_until(&mut self, end_s: Seconds) {
        while let Some(Reverse(entry)) = self.agenda.peek() {
            if entry.0 > end_s {
                break;
            }
            let Reverse(Entry(time_s, _, event)) = self.agenda.pop().unwrap();
            self.now_s = time_s;
            self.handle(event);
        }
        self.now_s = self.now_s.max(end_s);
    }

    /// Switches a phone off: its queues are gone, its machine is told.
    pub fn switch_off(&mut self, node: u32) -> Vec<(NodeId, Delivery<Parcel>)> {
        let phone = &mut self.phones[node as usize];
        phone.on = false;
        phone.lanes.clear();
        phone.socket.clear();
        phone.machine.shut_down(self.now_s)
    }

    /// Switches it on again.
    pub fn switch_on(&mut self, node: u32) {
        self.phones[node as usize].on = true;
    }

    /// The machine of a phone.
    pub fn machine(&self, node: u32) -> &T {
        &self.phones[node as usize].machine
    }

    /// The machine of a phone, to be asked what a driver may ask.
    pub fn machine_mut(&mut self, node: u32) -> &mut T {
        &mut self.phones[node as usize].machine
    }

    /// How many events are still to come.
    pub fn pending(&self) -> usize {
        self.agenda.len()
    }

    fn schedule(&mut self, time_s: Seconds, event: Event<T>) {
        self.serial += 1;
        self.agenda.push(Reverse(Entry(time_s, self.serial, event)));
    }

    fn handle(&mut self, event: Event<T>) {
        match event {
            Event::Input(node, lane, input) => self.enqueue(node, lane, input),
            Event::Resume(node, lane) => {
                let Some(state) = self.phones[node].lanes.get_mut(&lane) else {
                    return;
                };
                state.working = false;
                self.drain(node, lane);
            }
            Event::Alarm(node) => self.alarm(node),
        }
    }

    /// An alarm that an earlier one replaced rings for nobody.
    fn alarm(&mut self, node: usize) {
        if self.now_s < self.phones[node].alarm_s {
            return;
        }
        self.phones[node].alarm_s = Seconds::INFINITY;
        let due = self.phones[node].machine.next_timeout();
        match due.is_some_and(|(at, _)| at <= self.now_s) {
            true => self.enqueue(node, Lane::RECEIVE, Input::Timeout),
            false => self.arm(node),
        }
    }

    fn enqueue(&mut self, node: usize, lane: Lane, input: Input<T>) {
        if !self.phones[node].on || !self.admits(node, &input) {
            return;
        }
        let state = self.lane(node, lane);
        state.inputs.push_back(input);
        self.drain(node, lane);
    }

    /// Whether the socket has room for it, if it is a datagram.
    fn admits(&mut self, node: usize, input: &Input<T>) -> bool {
        let Input::Datagram(_, datagram) = input else {
            return true;
        };
        let phone = &mut self.phones[node];
        let admitted = phone
            .socket
            .admit(phone.buffer_bytes, datagram.udp_payload_bytes);
        if !admitted {
            self.overflows.push((self.now_s, NodeId(node as u32)));
        }
        admitted
    }

    fn lane(&mut self, node: usize, lane: Lane) -> &mut LaneState<T> {
        let idle = || LaneState {
            working: false,
            inputs: VecDeque::new(),
            outputs: VecDeque::new(),
        };
        self.phones[node].lanes.entry(lane).or_insert_with(idle)
    }

    fn drain(&mut self, node: usize, lane: Lane) {
        loop {
            let state = self.lane(node, lane);
            if state.working {
                return;
            }
            if let Some(output) = state.outputs.pop_front() {
                self.obey(node, lane, output);
            } else if let Some(input) = state.inputs.pop_front() {
                self.give(node, lane, input);
            } else {
                self.phones[node].lanes.remove(&lane);
                return;
            }
        }
    }

    fn give(&mut self, node: usize, lane: Lane, input: Input<T>) {
        let now = self.now_s;
        let mut out = Vec::new();
        let Phone {
            machine, socket, ..
        } = &mut self.phones[node];
        match input {
            Input::Transmit(to, parcel) => machine.transmit(to, parcel, now, &mut out),
            Input::Datagram(from, message) => {
                socket.release(message.udp_payload_bytes);
                machine.receive(from, message, now, &mut out);
            }
            Input::Step(request) => machine.command(request, now, &mut out),
            Input::Network => machine.change_network(now, &mut out),
            Input::Timeout => {
                if machine.next_timeout().is_some_and(|(at, _)| at <= now) {
                    machine.handle_timeout(now, &mut out);
                }
            }
        }
        self.splice(node, lane, out);
        self.arm(node);
    }

    fn splice(&mut self, node: usize, lane: Lane, out: OutputsOf<T>) {
        let state = self.lane(node, lane);
        for output in out.into_iter().rev() {
            state.outputs.push_front(output);
        }
    }

    fn obey(&mut self, node: usize, lane: Lane, output: Output<T::Message, T::Request, T::Value>) {
        let here = NodeId(node as u32);
        match output {
            Output::Work { operation, bytes } => {
                self.operations.push((here, operation, bytes));
                let cost_s = (self.work)(operation, bytes);
                if cost_s > 0.0 {
                    self.lane(node, lane).working = true;
                    self.schedule(self.now_s + cost_s, Event::Resume(node, lane));
                }
            }
            Output::Send { to, message } => self.carry(here, to, message),
            Output::Observe(event) => self.events.push((self.now_s, here, event)),
            Output::Deliver { from, value } => self.deliver(node, lane, from, value),
            Output::Post { lane, request } => {
                self.schedule(self.now_s, Event::Input(node, lane, Input::Step(request)))
            }
            Output::Halt(_) => self.phones[node].on = false,
            Output::OwnWork { .. } => unreachable!("protocols of this crate have none"),
        }
    }

    fn carry(&mut self, from: NodeId, to: NodeId, datagram: Datagram<T::Body>) {
        let sent = Sent {
            time_s: self.now_s,
            from,
            to,
            bytes: datagram.udp_payload_bytes,
            path: datagram.path,
            message: datagram.message,
        };
        let verdict = (self.rule)(self.sent.len(), &sent);
        self.sent.push(sent);
        match verdict {
            Verdict::Pass => self.bring(from, to, datagram, 0.0),
            Verdict::Later(extra_s) => self.bring(from, to, datagram, extra_s),
            Verdict::Twice(extra_s) => {
                self.bring(from, to, datagram.clone(), 0.0);
                self.bring(from, to, datagram, extra_s);
            }
            Verdict::Drop => {}
        }
    }

    fn bring(&mut self, from: NodeId, to: NodeId, datagram: Datagram<T::Body>, extra_s: Seconds) {
        let input = Input::Datagram(from, datagram);
        let event = Event::Input(to.0 as usize, Lane::RECEIVE, input);
        self.schedule(self.now_s + self.latency_s + extra_s, event);
    }

    fn deliver(&mut self, node: usize, lane: Lane, from: NodeId, delivery: Delivery<Parcel>) {
        let here = NodeId(node as u32);
        if let Delivery::Received(parcel) = &delivery {
            let mut out = Vec::new();
            for (to, answer) in (self.app)(here, from, parcel) {
                let machine = &mut self.phones[node].machine;
                machine.transmit(to, answer, self.now_s, &mut out);
            }
            self.splice(node, lane, out);
            self.arm(node);
        }
        self.arrivals.push(Arrival {
            time_s: self.now_s,
            node: here,
            from,
            delivery,
        });
    }

    fn arm(&mut self, node: usize) {
        let Some((at, _)) = self.phones[node].machine.next_timeout() else {
            return;
        };
        // An alarm that came too early only looks again; one too late would be a bug.
        if at < self.phones[node].alarm_s {
            self.phones[node].alarm_s = at;
            self.schedule(at.max(self.now_s), Event::Alarm(node));
        }
    }

    /// Times at which parcels arrived at `node`, in order.
    pub fn received(&self, node: u32) -> Vec<(Seconds, MessageId)> {
        let mut received = Vec::new();
        for arrival in &self.arrivals {
            if let Delivery::Received(parcel) = &arrival.delivery {
                if arrival.node == NodeId(node) {
                    received.push((arrival.time_s, parcel.id));
                }
            }
        }
        received
    }

    /// Numbers of the parcels that arrived at `node`, in order.
    pub fn sequences(&self, node: u32) -> Vec<u32> {
        let received = self.received(node).into_iter();
        received.map(|(_, id)| id.sequence()).collect()
    }

    /// What failed at `node`, and why.
    pub fn failed(&self, node: u32) -> Vec<(MessageId, Reason)> {
        let mut failed = Vec::new();
        for arrival in &self.arrivals {
            if let Delivery::Failed { payload, reason } = &arrival.delivery {
                if arrival.node == NodeId(node) {
                    failed.push((payload.id, *reason));
                }
            }
        }
        failed
    }

    /// How often `node` was asked for `operation`.
    pub fn count(&self, node: u32, operation: Operation) -> usize {
        let mine = |(n, o, _): &&(NodeId, Operation, u32)| *n == NodeId(node) && *o == operation;
        self.operations.iter().filter(mine).count()
    }
}

/// What a phone that goes off held for `to`.
pub fn failed(to: u32, payload: Parcel, reason: Reason) -> (NodeId, Delivery<Parcel>) {
    (NodeId(to), Delivery::Failed { payload, reason })
}
