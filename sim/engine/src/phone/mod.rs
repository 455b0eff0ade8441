//! One phone: its machines with their alarms, its lanes, its socket, what its operations cost.
//!
//! What deliberately does not live here: the world, and what is written down.

pub mod battery;
pub(crate) mod cpu_work;
pub(crate) mod executor;
pub(crate) mod keepalive;
pub(crate) mod lane;
pub(crate) mod lane_table;
pub mod policy;
pub(crate) mod power_off;
pub(crate) mod send_window;
pub(crate) mod timers;
pub(crate) mod turns;

use pocketsim_protocols::contract::{
    Application, Delivery, Event, Lane, MessageId, NodeId, Output, OutputsOf, Seconds, Transport,
};

use crate::base::rng::Stream;
use crate::cost::table::{Cost, CostTable, Priced};
use crate::events::sim_context::Layer;
use crate::network::socket_buffer::SocketBuffer;
use crate::phone::lane::{Input, LaneState, Next, Spare, Step};
use crate::phone::lane_table::LaneTable;

/// A phone as its lanes see it.
///
/// Of a large population each phone is met after so many others that no cache holds it any more. So
/// it is kept small: with machines that have little state it fills one pair of lines.
#[repr(align(128))] // two lines of the cache, which processors fetch as a pair
pub(crate) struct Phone<A: Application, T: Transport<A::Block>> {
    application: A,
    transport: T,
    /// Number of its profile.
    profile: u32,
    /// The receive and the send lane.
    threads: [LaneState<A, T>; THREADS],
    /// Lanes that come and go; none before the first has come.
    tasks: Option<Box<LaneTable<A, T>>>,
    socket: SocketBuffer,
    cost_stream: Stream,
    /// When the driver will look again at the machines' timeouts, by layer; infinite for never.
    armed_s: [Seconds; 2],
    /// Whether the timeout of a layer waits in the receive lane already.
    pending: [bool; 2],
}

impl<A: Application, T: Transport<A::Block>> Phone<A, T> {
    /// An idle phone with its two machines, whose costs are draws of `cost_stream`.
    pub(crate) fn new(machines: (A, T), profile: u32, cost_stream: Stream) -> Self {
        Self {
            application: machines.0,
            transport: machines.1,
            profile,
            threads: idle_threads(),
            tasks: None,
            socket: SocketBuffer::EMPTY,
            cost_stream,
            armed_s: [Seconds::INFINITY; 2],
            pending: [false; 2],
        }
    }

    /// Queues `input` on `lane`, which is made if need be.
    pub(crate) fn post(&mut self, lane: Lane, input: Input<A, T>, spare: &mut Spare<A, T>) {
        let at = self.find(lane).unwrap_or_else(|| {
            let task = self.tasks().add(lane);
            THREADS + task
        });
        self.lane(at).post(input, spare);
    }

    /// Takes what `lane` does next, with its place; a task that is idle is forgotten.
    #[inline(always)] // what it takes is large, and would be copied once more
    pub(crate) fn next(
        &mut self,
        lane: Lane,
        spare: &mut Spare<A, T>,
    ) -> Option<(usize, Next<A, T>)> {
        let at = self.find(lane)?;
        let next = self.lane(at).next(spare);
        if next.is_none() && at >= THREADS {
            self.forget_idle(at);
        }
        next.map(|next| (at, next))
    }

    /// Whether `lane` is done with an input.
    pub(crate) fn is_between_inputs(&mut self, lane: Lane) -> bool {
        let at = self.find(lane);
        at.is_none_or(|at| self.lane(at).is_between_inputs())
    }

    #[cold]
    fn forget_idle(&mut self, at: usize) {
        if self.lane(at).is_idle() {
            self.tasks().remove(at - THREADS);
        }
    }

    /// A lane stands still before a step that it cannot take yet.
    pub(crate) fn hold(&mut self, lane: Lane, step: Step<A, T>, spare: &mut Spare<A, T>) {
        let at = self.find(lane).expect("it wants to take the step");
        let lane = self.lane(at);
        lane.push(step, spare);
        lane.set_busy(true);
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
            Some(task) => self.tasks().at(task),
        }
    }

    /// The lower of its machines.
    pub(crate) fn transport(&mut self) -> &mut T {
        &mut self.transport
    }

    /// The thread that runs a lane, by number.
    pub(crate) fn number_of_thread(&mut self, lane: Lane) -> u32 {
        self.transport.thread_of(lane).0
    }

    /// Its profile, by number.
    pub(crate) fn profile(&self) -> usize {
        self.profile as usize
    }

    /// Whether anything but the two threads runs or waits.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tasks.as_ref().is_some_and(|tasks| !tasks.is_empty())
    }

    /// Takes a datagram into the socket buffer of `capacity_bytes`, if it fits.
    pub(crate) fn admit(&mut self, capacity_bytes: u64, udp_payload_bytes: u32) -> bool {
        self.socket.admit(capacity_bytes, udp_payload_bytes)
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
    /// and use as many threads; `draw` is told each as in a hot loop, and says what it takes.
    pub(crate) fn draw_work(
        &mut self,
        at: usize,
        (operation, bytes): (Priced, u32),
        tables: &[CostTable],
        mut draw: impl FnMut((Priced, u32), Cost) -> Cost,
    ) -> (Cost, u32) {
        let table = &tables[self.profile()];
        let threads = table.threads(operation);
        let drawn = table.draw(operation, bytes, &mut self.cost_stream);
        let mut cost = draw((operation, bytes), drawn);
        let joins = |next| table.threads(next) == threads;
        while let Some((operation, bytes)) = self.lane(at).next_work(joins) {
            let next = table.draw(operation, bytes, &mut self.cost_stream);
            cost = cost.plus(draw((operation, bytes), next));
        }
        (cost, threads)
    }

    /// What waking by an operation for a datagram of so many bytes costs, so many times as much as
    /// after the rest that it is priced after.
    pub(crate) fn draw_wake(
        &mut self,
        (operation, bytes): (Priced, u32),
        ratio: f64,
        tables: &[CostTable],
    ) -> Cost {
        let table = &tables[self.profile()];
        let cost = table.draw(operation, bytes, &mut self.cost_stream);
        cost.times(ratio)
    }

    /// When to look at a machine's timeout, if that is sooner than it would be looked at.
    pub(crate) fn arm(&mut self, layer: Layer) -> Option<Seconds> {
        let (date, _) = self.timeout(layer)?;
        let layer = layer as usize;
        if self.pending[layer] || date >= self.armed_s[layer] {
            return None;
        }
        self.armed_s[layer] = date;
        Some(date)
    }

    /// A machine's alarm rings: whether its timeout is due, and pending from now on.
    pub(crate) fn ring(&mut self, layer: Layer, now: Seconds) -> bool {
        let is_due = self.is_due(layer, now);
        let layer = layer as usize;
        if self.armed_s[layer] <= now {
            self.armed_s[layer] = Seconds::INFINITY;
        }
        let begins = is_due && !self.pending[layer];
        self.pending[layer] |= is_due;
        begins
    }

    /// A machine's timeout is no longer pending: whether it still is due.
    pub(crate) fn silence(&mut self, layer: Layer, now: Seconds) -> bool {
        self.pending[layer as usize] = false;
        self.is_due(layer, now)
    }

    fn is_due(&self, layer: Layer, now: Seconds) -> bool {
        self.timeout(layer).is_some_and(|(date, _)| date <= now)
    }

    /// The phone goes off: returns what its transport held, and its lanes.
    pub(crate) fn shut_down(&mut self, now: Seconds) -> (Held<A>, Vec<LaneState<A, T>>) {
        self.socket.clear();
        self.armed_s = [Seconds::INFINITY; 2];
        self.pending = [false; 2];
        let threads = std::mem::replace(&mut self.threads, idle_threads());
        let tasks = self.tasks.take();
        let tasks = tasks.map_or_else(Vec::new, |tasks| tasks.into_lanes());
        let lanes = threads.into_iter().chain(tasks).collect();
        (self.transport.shut_down(now), lanes)
    }

    /// The phone goes off, and `unmade` proposals with it: tells `record` what is lost, and returns
    /// how many stay open.
    pub(crate) fn end_proposals(
        &mut self,
        unmade: &[MessageId],
        mut record: impl FnMut(Event),
    ) -> usize {
        let mut out = OutputsOf::<A>::new();
        let kept = self.application.shut_down(unmade, &mut out);
        for output in out {
            match output {
                Output::Observe(event) => record(event),
                _ => unreachable!("a phone that is off does nothing"),
            }
        }
        kept
    }

    /// The phone is on again.
    pub(crate) fn turn_on(&mut self, now: Seconds) {
        self.application.turn_on(now);
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
        let task = self.tasks.as_ref()?.find(lane);
        task.map(|task| THREADS + task)
    }

    /// The lanes beside the threads.
    fn tasks(&mut self) -> &mut LaneTable<A, T> {
        let none = || Box::new(LaneTable::new());
        self.tasks.get_or_insert_with(none)
    }
}

/// What a transport held, and whose it is or for whom.
pub(crate) type Held<A> = Vec<(NodeId, Delivery<<A as Application>::Block>)>;

/// The two lanes that every phone has.
fn idle_threads<A: Application, T: Transport<A::Block>>() -> [LaneState<A, T>; THREADS] {
    [Lane::RECEIVE, Lane::SEND].map(LaneState::new)
}

// The receive lane and the send lane, by their numbers.
const THREADS: usize = 2;

#[cfg(test)]
mod tests {
    use pocketsim_protocols::pairwise::{Pairwise, Trade};
    use pocketsim_protocols::transport::udp::Udp;

    use super::Phone;

    #[test]
    fn a_phone_with_little_state_fills_one_pair_of_lines() {
        assert_eq!(size_of::<Phone<Pairwise, Udp<Trade>>>(), 128);
    }
}
