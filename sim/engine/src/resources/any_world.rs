//! The world that a plan asks for, as one type: the driver is compiled once for all of them.
//!
//! A driver is made for each application over each transport; with a type for each world beside
//! that, there would be twice as many.

use pocketsim_protocols::contract::{NodeId, Seconds};

use crate::plan::Plan;
use crate::resources::hybrid::Hybrid;
use crate::resources::queue_delay::{QueueDelays, Span};
use crate::resources::simgrid::joined::Joined;
use crate::resources::simgrid::SimGrid;
use crate::resources::{Advance, Carried, Carrier, CpuDemand, Happening, Hop, Spender, World};

/// One of the worlds.
#[expect(clippy::large_enum_variant, reason = "a run has one of them")]
pub enum AnyWorld {
    /// Radios and cores in arithmetic.
    Hybrid(Hybrid),
    /// SimGrid's flows.
    Flow(SimGrid),
    /// Radios and cores in arithmetic, and SimGrid's flows between sites.
    Joined(Box<Joined>),
}

macro_rules! either {
    ($self:ident, $world:ident => $call:expr) => {
        match $self {
            AnyWorld::Hybrid($world) => $call,
            AnyWorld::Flow($world) => $call,
            AnyWorld::Joined($world) => $call,
        }
    };
}

impl AnyWorld {
    /// The world of `plan`.
    ///
    /// # Errors
    /// When the plan names a fidelity that is not known, or a library of SimGrid that does not load.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let shares = plan.core.as_ref().is_some_and(|core| core.shares_links());
        match plan.fidelity.as_str() {
            "hybrid" if shares => Ok(Self::Joined(Box::new(Joined::new(plan)?))),
            "hybrid" => Ok(Self::Hybrid(Hybrid::new(plan))),
            "flow" => Ok(Self::Flow(SimGrid::new(plan)?)),
            other => Err(format!("unknown fidelity {other:?}")),
        }
    }
}

impl Carrier for AnyWorld {
    #[inline]
    fn stores_and_forwards(&self) -> bool {
        either!(self, world => world.stores_and_forwards())
    }

    #[inline]
    fn carry(&mut self, token: u32, hop: Hop, wire_bytes: u32) -> Carried {
        either!(self, world => world.carry(token, hop, wire_bytes))
    }
}

impl Spender for AnyWorld {
    fn takes_turns(&self) -> bool {
        either!(self, world => world.takes_turns())
    }

    #[inline]
    fn spend(&mut self, token: u32, phone: NodeId, demand: CpuDemand) {
        either!(self, world => world.spend(token, phone, demand));
    }
}

impl World for AnyWorld {
    #[inline]
    fn clock(&self) -> Seconds {
        either!(self, world => world.clock())
    }

    #[inline]
    fn wake_at(&mut self, date: Seconds) {
        either!(self, world => world.wake_at(date));
    }

    fn set_on(&mut self, phone: NodeId, on: bool) {
        either!(self, world => world.set_on(phone, on));
    }

    fn leave(&mut self, phone: NodeId) {
        either!(self, world => world.leave(phone));
    }

    fn join(&mut self, phone: NodeId, attachment: u32) {
        either!(self, world => world.join(phone, attachment));
    }

    #[inline(always)]
    fn prefetch(&self, phone: NodeId) {
        either!(self, world => world.prefetch(phone));
    }

    fn has_room(&self, phone: NodeId, wire_bytes: u32) -> bool {
        either!(self, world => world.has_room(phone, wire_bytes))
    }

    fn out_s(&self, phone: NodeId) -> Option<Seconds> {
        either!(self, world => world.out_s(phone))
    }

    fn waits(&self) -> Option<QueueDelays> {
        either!(self, world => world.waits())
    }

    #[inline]
    fn wait(&self, token: u32) -> Option<Span> {
        either!(self, world => world.wait(token))
    }
}

impl Advance for AnyWorld {
    #[inline]
    fn advance(&mut self, end_s: Seconds) -> Option<Happening> {
        match self {
            Self::Hybrid(world) => world.advance(end_s),
            Self::Joined(world) => world.advance(end_s),
            Self::Flow(_) => unreachable!("SimGrid calls the driver"),
        }
    }

    #[inline]
    fn next_worker(&self) -> Option<u32> {
        match self {
            Self::Hybrid(world) => world.next_worker(),
            Self::Joined(world) => world.next_worker(),
            Self::Flow(_) => None,
        }
    }
}
