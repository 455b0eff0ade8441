//! Two worlds with one clock: radios and cores in arithmetic, and between sites SimGrid's links.
//!
//! Where flows share links of a platform, each datagram that crosses it is a flow of SimGrid's
//! between two netpoints, under its max-min fairness. Everything else is the hybrid world's
//! ([`crate::resources::hybrid`]). Whichever has the next date goes on, and SimGrid's clock stands
//! still while nothing crosses. Of one moment, what ends in SimGrid comes before what happens in the
//! hybrid world, in order of tokens. What deliberately does not live here: routes whose links nobody
//! shares, which are latencies of the driver's ([`crate::network`]).

use std::collections::VecDeque;

use pocketsim_protocols::contract::{NodeId, Seconds};

use crate::plan::Plan;
use crate::resources::hybrid::Hybrid;
use crate::resources::queue_delay::{QueueDelays, Span};
use crate::resources::simgrid::{self, SimGrid};
use crate::resources::{
    Advance, Carried, Carrier, CpuDemand, Happening, Hop, Listener, Spender, World,
};

/// The hybrid world beside SimGrid's.
#[derive(Debug)]
pub struct Joined {
    hybrid: Hybrid,
    simgrid: SimGrid,
    /// When something happens next in SimGrid; none where that may have changed.
    next_s: Option<Seconds>,
    /// Tokens of what SimGrid has ended and the driver was not told.
    ended: VecDeque<u32>,
}

impl Joined {
    /// The idle worlds of a plan.
    ///
    /// # Errors
    /// When the plan names no platform or no library of SimGrid, or ones that do not load.
    ///
    /// # Panics
    /// As [`SimGrid::new`] and [`Hybrid::new`].
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let core = plan.core.as_ref().ok_or("the plan has no core")?;
        let library = plan.simgrid_library.as_deref();
        let path = core.platform.as_deref();
        let (Some(library), Some(path)) = (library, path) else {
            return Err("links that flows share need SimGrid, and the plan names none".to_owned());
        };
        Ok(Self {
            hybrid: Hybrid::new(plan),
            simgrid: SimGrid::between(library, path, |_, _| core.names.clone())?,
            next_s: None,
            ended: VecDeque::new(),
        })
    }

    /// SimGrid goes on to `date_s`, at which or before which something happens there.
    fn pass(&mut self, date_s: Seconds) {
        let mut ended = Ended::default();
        // It stops within 1e-5 s of the date that it is asked for.
        while self.simgrid.clock() < date_s {
            simgrid::run(&mut ended, date_s);
        }
        ended.tokens.sort_unstable();
        self.ended.extend(ended.tokens);
        self.next_s = None;
        self.hybrid.pass(date_s);
    }

    fn next_s(&mut self) -> Seconds {
        *self.next_s.get_or_insert_with(|| self.simgrid.next_date())
    }
}

impl Carrier for Joined {
    #[inline]
    fn stores_and_forwards(&self) -> bool {
        true
    }

    #[inline]
    fn carry(&mut self, token: u32, hop: Hop, wire_bytes: u32) -> Carried {
        if !matches!(hop, Hop::Across(..)) {
            return self.hybrid.carry(token, hop, wire_bytes);
        }
        self.pass(self.hybrid.clock());
        self.simgrid.carry(token, hop, wire_bytes)
    }
}

impl Spender for Joined {
    fn takes_turns(&self) -> bool {
        self.hybrid.takes_turns()
    }

    #[inline]
    fn spend(&mut self, token: u32, phone: NodeId, demand: CpuDemand) {
        self.hybrid.spend(token, phone, demand);
    }
}

impl Advance for Joined {
    #[inline]
    fn next_worker(&self) -> Option<u32> {
        self.hybrid.next_worker()
    }

    fn advance(&mut self, end_s: Seconds) -> Option<Happening> {
        loop {
            if let Some(token) = self.ended.pop_front() {
                return Some(Happening::Hop(token, true));
            }
            let next_s = self.next_s();
            if next_s > end_s {
                return self.hybrid.advance(end_s);
            }
            let earlier = self.hybrid.advance(before(next_s));
            if earlier.is_some() {
                return earlier;
            }
            self.pass(next_s);
        }
    }
}

impl World for Joined {
    #[inline]
    fn clock(&self) -> Seconds {
        self.hybrid.clock()
    }

    #[inline]
    fn wake_at(&mut self, date: Seconds) {
        self.hybrid.wake_at(date);
    }

    fn set_on(&mut self, phone: NodeId, on: bool) {
        self.hybrid.set_on(phone, on);
    }

    fn leave(&mut self, phone: NodeId) {
        self.hybrid.leave(phone);
    }

    fn join(&mut self, phone: NodeId, attachment: u32) {
        self.hybrid.join(phone, attachment);
    }

    #[inline(always)]
    fn prefetch(&self, phone: NodeId) {
        self.hybrid.prefetch(phone);
    }

    fn has_room(&self, phone: NodeId, wire_bytes: u32) -> bool {
        self.hybrid.has_room(phone, wire_bytes)
    }

    fn out_s(&self, phone: NodeId) -> Option<Seconds> {
        self.hybrid.out_s(phone)
    }

    fn waits(&self) -> Option<QueueDelays> {
        self.hybrid.waits()
    }

    #[inline]
    fn wait(&self, token: u32) -> Option<Span> {
        self.hybrid.wait(token)
    }
}

/// The last moment before `date_s`.
fn before(date_s: Seconds) -> Seconds {
    if date_s > 0.0 {
        Seconds::from_bits(date_s.to_bits() - 1)
    } else {
        -1.0
    }
}

/// What ends while SimGrid goes on.
#[derive(Default)]
struct Ended {
    tokens: Vec<u32>,
}

impl Listener for Ended {
    fn work_ended(&mut self, _token: u32, _done: bool) {
        unreachable!("the hybrid world spends work");
    }

    fn flight_ended(&mut self, token: u32, done: bool) {
        assert!(done, "no netpoint goes off");
        self.tokens.push(token);
    }

    fn wake(&mut self) {
        unreachable!("the hybrid world has the alarm");
    }
}
