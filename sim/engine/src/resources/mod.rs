//! The seam between the driver and whatever models time: who carries a
//! datagram, who spends work, who keeps the clock.
//!
//! Two worlds implement all three: radios as queues and shares in arithmetic
//! ([`crate::resources::hybrid`]), and SimGrid's flows ([`crate::resources::simgrid`]); a third
//! joins them where flows share links between sites ([`crate::resources::simgrid::joined`]). What only
//! two use, a contact, the driver gives to [`crate::network::contacts`] instead.

pub mod any_world;
pub mod attachments;
pub mod capacity;
pub(crate) mod computers;
pub mod hybrid;
pub mod max_min;
pub mod queue_delay;
pub mod radio;
pub mod rates;
pub mod run_queue;
pub mod shared_medium;
pub mod simgrid;
pub mod wifi;

use pocketsim_protocols::contract::{NodeId, Seconds};

use crate::resources::queue_delay::{QueueDelays, Span};

/// Carries datagrams; the driver hears of the end by the token.
pub trait Carrier {
    /// Whether it carries datagrams hop by hop, and the driver what lies between: latency and
    /// jitter. Else it carries them all the way, with the latency of both networks.
    fn stores_and_forwards(&self) -> bool;

    /// Starts to carry `wire_bytes` (with all headers) over a hop.
    fn carry(&mut self, token: u32, hop: Hop, wire_bytes: u32) -> Carried;
}

/// Where a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hop {
    /// All the way from one phone to another.
    Through(NodeId, NodeId),
    /// All the way by the relay.
    Relayed(NodeId, NodeId),
    /// From a phone to its access point.
    Up(NodeId),
    /// To a phone from its access point.
    Down(NodeId),
    /// Between two netpoints of the plan's core, by their numbers, over links that flows share.
    Across(u32, u32),
}

/// What becomes of a datagram on a hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carried {
    /// It is at the end of the hop then, unless its phone goes off before.
    Until(Seconds),
    /// The driver will be told of its end.
    UntilTold,
    /// The queue that it should wait in is full.
    Refused,
}

/// CPU time that one lane needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuDemand {
    /// Core seconds, over all threads.
    pub cpu_s: Seconds,
    /// How many cores it can use at once.
    pub threads: u32,
    /// Weight against other work when there are too few cores; work on several
    /// threads weighs as much as they are, whatever this says.
    pub priority: f64,
    /// What it runs on.
    pub thread: Thread,
}

/// What work runs on, where it matters which thread has a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// A thread of the phone, by a number of its own.
    Number(u32),
    /// That thread, which another one hands something over.
    Handed(u32),
    /// None: it comes before all threads.
    Interrupt,
}

/// Spends CPU time on phones; the driver hears of the end by the token.
pub trait Spender {
    /// Whether threads take turns on a core where the profile says so.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Starts work on a phone, whose cores all work shares.
    fn spend(&mut self, token: u32, phone: NodeId, demand: CpuDemand);
}

/// Simulated time, one alarm, and phones going off and on.
pub trait World: Carrier + Spender {
    /// Now.
    fn clock(&self) -> Seconds;

    /// Asks for one wake-up; replaces the one asked for before.
    fn wake_at(&mut self, date: Seconds);

    /// Turns a phone off, which fails what it was doing, or on.
    fn set_on(&mut self, phone: NodeId, on: bool);

    /// A phone has no access network any more: datagrams that were in its queues fail.
    fn leave(&mut self, _phone: NodeId) {
        unreachable!("nobody moves in this world");
    }

    /// It has this attachment from now on, as the plan numbers them.
    fn join(&mut self, _phone: NodeId, _attachment: u32) {
        unreachable!("nobody moves in this world");
    }

    /// Lets the processor fetch what is kept of a phone.
    fn prefetch(&self, _phone: NodeId) {}

    /// Whether the radio of a phone would take so many bytes to send now.
    fn has_room(&self, _phone: NodeId, _wire_bytes: u32) -> bool {
        true
    }

    /// When all that a phone was given to send is out; none where nobody knows.
    fn out_s(&self, _phone: NodeId) -> Option<Seconds> {
        None
    }

    /// How long datagrams have waited in queues until now; none where there are no queues.
    fn waits(&self) -> Option<QueueDelays> {
        None
    }

    /// When a datagram waited in the queue that it was last in; none where nobody remembers.
    fn wait(&self, _token: u32) -> Option<Span> {
        None
    }
}

/// What happens in the world, by token; whether it is done or failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happening {
    /// Work ends.
    Work(u32, bool),
    /// A datagram is at the end of a hop of which nobody knew how long it would take.
    Hop(u32, bool),
    /// A datagram is lost on such a hop, after all attempts to send it.
    Lost(u32),
    /// The alarm goes off.
    Wake,
}

/// A world that goes on from one happening to the next when it is asked to.
pub trait Advance: World {
    /// Goes on to what happens next, if that is not after `end_s`.
    fn advance(&mut self, end_s: Seconds) -> Option<Happening>;

    /// The phone whose cores are looked at next, where that may be.
    fn next_worker(&self) -> Option<u32>;
}

/// What a [`World`] tells the driver.
pub trait Listener {
    /// Work ended; `done` is false when its phone went off.
    fn work_ended(&mut self, token: u32, done: bool);

    /// A datagram is at the far end of its hop; `done` is false when they failed.
    fn flight_ended(&mut self, token: u32, done: bool);

    /// The alarm went off.
    fn wake(&mut self);
}
