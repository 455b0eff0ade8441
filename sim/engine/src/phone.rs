//! One phone: its machines with their alarms, its lanes, its socket, what its operations cost.
//!
//! What deliberately does not live here: the world, and what is written down.

use pocketsim_protocols::contract::{
    Application, Delivery, Lane, NodeId, OutputsOf, Seconds, Transport,
};

use crate::costs::{Cost, CostTable, Priced};
use crate::lane::{Input, LaneState, Layer, Next, Spare};
use crate::socket::SocketBuffer;
use crate::streams::Stream;
use crate::task_lanes::TaskLanes;

/// A phone as its lanes see it.
pub(crate) struct Phone<A: Application, T: Transport<A::Block>> {
    application: A,
    transport: T,
    /// Number of its profile.
    profile: u32,
    /// The receive and the send lane.
    threads: [LaneState<A, T>; THREADS],
    /// Lanes that come and go.
    tasks: TaskLanes<A, T>,
    socket: SocketBuffer,
    cost_stream: Stream,
    /// By layer.
    alarms: [Alarm; 2],
}

/// What the driver knows of a machine's timeout.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    /// When the driver will look again; infinite for never.
    armed_s: Seconds,
    /// Whether the timeout waits in the receive lane already.
    pending: bool,
}

impl<A: Application, T: Transport<A::Block>> Phone<A, T> {
    /// An idle phone with its two machines, whose costs are draws of `cost_stream`.
    pub(crate) fn new(
        machines: (A, T),
        profile: u32,
        socket: SocketBuffer,
        cost_stream: Stream,
    ) -> Self {
        Self {
            application: machines.0,
            transport: machines.1,
            profile,
            threads: idle_threads(),
            tasks: TaskLanes::new(),
            socket,
            cost_stream,
            alarms: [Alarm::OFF; 2],
        }
    }

    /// Queues `input` on `lane`, which is made if need be.
    pub(crate) fn post(&mut self, lane: Lane, input: Input<A, T>, spare: &mut Spare<A, T>) {
        let at = self.find(lane).unwrap_or_else(|| {
            let task = self.tasks.add(lane);
            THREADS + task
        });
        self.lane(at).post(input, spare);
    }

    /// Takes what `lane` does next, with its place; a task that is idle is forgotten.
    pub(crate) fn next(
        &mut self,
        lane: Lane,
        spare: &mut Spare<A, T>,
    ) -> Option<(usize, Next<A, T>)> {
        let at = self.find(lane)?;
        let next = self.lane(at).next(spare);
        if next.is_none() && at >= THREADS && self.lane(at).is_idle() {
            self.tasks.remove(at - THREADS);
        }
        next.map(|next| (at, next))
    }

    /// Its work is done: the lane is free again.
    pub(crate) fn free(&mut self, lane: Lane) {
        let at = self.find(lane).expect("a busy lane stays");
        self.lane(at).set_busy(false);
    }

    /// The lane at `at`.
    pub(crate) fn lane(&mut self, at: usize) -> &mut LaneState<A, T> {
        match at.checked_sub(THREADS) {
            None => &mut self.threads[at],
            Some(task) => self.tasks.at(task),
        }
    }

    /// Whether anything but the two threads runs or waits.
    pub(crate) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Takes a datagram into the socket buffer, if it fits.
    pub(crate) fn admit(&mut self, udp_payload_bytes: u32) -> bool {
        self.socket.admit(udp_payload_bytes)
    }

    /// A datagram has been read.
    pub(crate) fn release(&mut self, udp_payload_bytes: u32) {
        self.socket.release(udp_payload_bytes);
    }

    /// Asks the application something on the lane at `at`; `out` is scratch space.
    pub(crate) fn ask_app(
        &mut self,
        at: usize,
        (out, spare): (&mut OutputsOf<A>, &mut Spare<A, T>),
        call: impl FnOnce(&mut A, &mut OutputsOf<A>),
    ) {
        call(&mut self.application, out);
        self.lane(at).splice_app(out, spare);
    }

    /// Asks the transport something on the lane at `at`; `out` is scratch space.
    pub(crate) fn ask_net(
        &mut self,
        at: usize,
        (out, spare): (&mut OutputsOf<T>, &mut Spare<A, T>),
        call: impl FnOnce(&mut T, &mut OutputsOf<T>),
    ) {
        call(&mut self.transport, out);
        self.lane(at).splice_net(out, spare);
    }

    /// What the operation costs together with those that follow it directly on the lane at `at`
    /// and use as many threads; each is told to `draw`.
    pub(crate) fn draw_work(
        &mut self,
        at: usize,
        (operation, bytes): (Priced, u32),
        tables: &[CostTable],
        mut draw: impl FnMut((Priced, u32), Cost),
    ) -> (Cost, u32) {
        let table = &tables[self.profile as usize];
        let threads = table.threads(operation);
        let mut cost = table.draw(operation, bytes, &mut self.cost_stream);
        draw((operation, bytes), cost);
        let lane = match at.checked_sub(THREADS) {
            None => &mut self.threads[at],
            Some(task) => self.tasks.at(task),
        };
        while let Some((operation, bytes)) = lane.next_work(|next| table.threads(next) == threads) {
            let next = table.draw(operation, bytes, &mut self.cost_stream);
            draw((operation, bytes), next);
            cost = cost.plus(next);
        }
        (cost, threads)
    }

    /// When to look at a machine's timeout, if that is sooner than it would be looked at.
    pub(crate) fn arm(&mut self, layer: Layer) -> Option<Seconds> {
        let (date, _) = self.timeout(layer)?;
        let alarm = &mut self.alarms[layer as usize];
        if alarm.pending || date >= alarm.armed_s {
            return None;
        }
        alarm.armed_s = date;
        Some(date)
    }

    /// A machine's alarm rings: whether its timeout is due, and pending from now on.
    pub(crate) fn ring(&mut self, layer: Layer, now: Seconds) -> bool {
        let is_due = self.is_due(layer, now);
        let alarm = &mut self.alarms[layer as usize];
        if alarm.armed_s <= now {
            alarm.armed_s = Seconds::INFINITY;
        }
        let begins = is_due && !alarm.pending;
        alarm.pending |= is_due;
        begins
    }

    /// A machine's timeout is no longer pending: whether it still is due.
    pub(crate) fn silence(&mut self, layer: Layer, now: Seconds) -> bool {
        self.alarms[layer as usize].pending = false;
        self.is_due(layer, now)
    }

    fn is_due(&self, layer: Layer, now: Seconds) -> bool {
        self.timeout(layer).is_some_and(|(date, _)| date <= now)
    }

    /// The phone goes off: returns what its transport held, and its lanes.
    pub(crate) fn shut_down(&mut self, now: Seconds) -> (Held<A>, Vec<LaneState<A, T>>) {
        self.socket.clear();
        self.alarms = [Alarm::OFF; 2];
        let threads = std::mem::replace(&mut self.threads, idle_threads());
        let tasks = std::mem::replace(&mut self.tasks, TaskLanes::new());
        let lanes = threads.into_iter().chain(tasks.into_lanes()).collect();
        (self.transport.shut_down(now), lanes)
    }

    /// Its application, at the end.
    pub(crate) fn into_application(self) -> A {
        self.application
    }

    fn timeout(&self, layer: Layer) -> Option<(Seconds, &'static str)> {
        match layer {
            Layer::Application => self.application.next_timeout(),
            Layer::Transport => self.transport.next_timeout(),
        }
    }

    fn find(&self, lane: Lane) -> Option<usize> {
        if (lane.0 as usize) < THREADS {
            return Some(lane.0 as usize);
        }
        self.tasks.find(lane).map(|task| THREADS + task)
    }
}

impl Alarm {
    /// Nothing to wait for.
    const OFF: Alarm = Alarm {
        armed_s: Seconds::INFINITY,
        pending: false,
    };
}

/// What a transport held, and whose it is or for whom.
pub(crate) type Held<A> = Vec<(NodeId, Delivery<<A as Application>::Block>)>;

/// The two lanes that every phone has.
fn idle_threads<A: Application, T: Transport<A::Block>>() -> [LaneState<A, T>; THREADS] {
    [Lane::RECEIVE, Lane::SEND].map(LaneState::new)
}

// The receive lane and the send lane, by their numbers.
const THREADS: usize = 2;
