//! The seam between the driver and whatever models time: who carries a
//! datagram, who spends work, who keeps the clock.
//!
//! SimGrid implements all three ([`crate::simgrid`]); closed forms for what only
//! one phone uses can stand beside it without the driver noticing. What only two
//! use, a contact, the driver gives to [`crate::proximity`] instead.

use pocketsim_protocols::contract::{NodeId, Seconds};

/// Carries datagrams; the driver hears of the end by the token.
pub trait Carrier {
    /// Starts to carry `wire_bytes` (with all headers) from one phone to another.
    fn carry(&mut self, token: u32, from: NodeId, to: NodeId, wire_bytes: u32);
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
}

/// Spends CPU time on phones; the driver hears of the end by the token.
pub trait Spender {
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
}

/// What a [`World`] tells the driver.
pub trait Listener {
    /// Work ended; `done` is false when its phone went off.
    fn work_ended(&mut self, token: u32, done: bool);

    /// A datagram is at the far end of the links; `done` is false when they failed.
    fn flight_ended(&mut self, token: u32, done: bool);

    /// The alarm went off.
    fn wake(&mut self);
}
