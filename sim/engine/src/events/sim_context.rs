//! What every part of the driver acts through: the world, which phones are on in it, and what comes
//! due beside it.
//!
//! A world need not order simultaneous timers by age, so
//! what comes due waits in one queue, and the world is asked for one alarm. What deliberately does
//! not live here: what becomes of what comes due, and what phones do.

use pocketsim_protocols::contract::{Lane, NodeId, Seconds};

use crate::base::event_queue::EventQueue;
use crate::base::prefetch::prefetch;
use crate::resources::queue_delay::{QueueDelays, Span};
use crate::resources::radio::Direction;
use crate::resources::{Carried, CpuDemand, Hop, World};

/// One of a phone's two machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The upper one.
    Application,
    /// The lower one.
    Transport,
}

/// Where in the relay a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// At its sender's token bucket.
    Bucket,
    /// Before what the relay receives.
    Up,
    /// Before what the relay sends.
    Down,
}

impl Stage {
    /// What comes after it; none if the datagram leaves.
    pub(crate) fn next(self) -> Option<Self> {
        match self {
            Self::Bucket => Some(Self::Up),
            Self::Up => Some(Self::Down),
            Self::Down => None,
        }
    }
}

/// What comes due in the queue.
pub(crate) enum Due {
    /// The next open arrival of the plan.
    Arrival,
    /// The next churn transition of the plan.
    Transition,
    /// Somebody must look at a phone's battery (phone, version of that date).
    Battery(u32, u32),
    /// The next move of the plan.
    Move,
    /// A phone joins another network (number of the move).
    Join(u32),
    /// Another round of a sender loop.
    Loop(u32),
    /// A lane's wait is over (phone, lane, epoch).
    LaneFree(u32, Lane, u32),
    /// A datagram reaches the far socket.
    Delivery(u32),
    /// A datagram reaches the far phone's access point, from the sender's.
    Crossing(u32),
    /// A datagram comes to a stage of the relay.
    Relayed(u32, Stage),
    /// The far radio has carried a datagram.
    Heard(u32),
    /// A contact has carried a datagram (token, the sender's epoch).
    ContactEnd(u32, u32),
    /// A machine's timeout may be due (which, phone, epoch).
    Timeout(Layer, u32, u32),
    /// What the world has failed is taken to its end.
    Failures,
    /// A datagram of a phone is out, for whose room somebody waits (phone, epoch).
    Room(u32, u32),
    /// The radio of a phone may be awake for what waits in one direction.
    RadioOpens(u32, Direction),
    /// A message of a phone has waited long enough (phone, number).
    HandOver(u32, u64),
}

/// A world with a queue beside it.
pub(crate) struct SimContext<W> {
    world: W,
    queue: EventQueue<Due>,
    /// When the world will wake the driver; infinite for never.
    alarm_s: Seconds,
    phones: Vec<Presence>,
    /// By phone, when it went off.
    offs_s: Vec<Vec<Seconds>>,
}

#[derive(Clone, Copy)]
struct Presence {
    on: bool,
    /// How often it went off: what was started before is void.
    epoch: u32,
}

impl<W: World> SimContext<W> {
    /// `world` at its beginning, with every phone on and nothing to come.
    pub(crate) fn new(world: W, phones: usize) -> Self {
        let presence = Presence { on: true, epoch: 0 };
        Self {
            world,
            queue: EventQueue::new(),
            alarm_s: Seconds::INFINITY,
            phones: vec![presence; phones],
            offs_s: vec![],
        }
    }

    /// The world.
    pub(crate) fn world(&mut self) -> &mut W {
        &mut self.world
    }

    /// Simulated time, seconds.
    pub(crate) fn now(&self) -> Seconds {
        self.world.clock()
    }

    /// Lets `due` come due at `date`, after what was queued for then.
    pub(crate) fn push(&mut self, date: Seconds, due: Due) {
        self.queue.push(date, due);
    }

    /// Lets `due` come due at `date`, before all that [`Self::push`] queues for then.
    pub(crate) fn push_first(&mut self, date: Seconds, due: Due) {
        self.queue.push_first(date, due);
    }

    /// What may come due next, the first before the others.
    pub(crate) fn coming(&self) -> impl Iterator<Item = &Due> {
        self.queue.coming()
    }

    /// Lets the processor fetch what the world keeps of `phone`, and whether it is on.
    #[inline(always)]
    pub(crate) fn prefetch(&self, phone: u32) {
        prefetch(&self.phones, phone as usize);
        self.world.prefetch(NodeId(phone));
    }

    /// Takes the first of what is due.
    pub(crate) fn pop_due(&mut self) -> Option<Due> {
        self.queue.pop_due(self.world.clock())
    }

    /// Asks the world for an alarm if something comes sooner than the one asked for.
    pub(crate) fn set_alarm(&mut self) {
        if let Some(date) = self.queue.next_date() {
            if date < self.alarm_s {
                self.alarm_s = date;
                // A machine may ask for a time that has passed: at once, then.
                self.world.wake_at(date.max(self.world.clock()));
            }
        }
    }

    /// The alarm went off.
    pub(crate) fn forget_alarm(&mut self) {
        self.alarm_s = Seconds::INFINITY;
    }

    /// Whether `phone` is on.
    pub(crate) fn is_on(&self, phone: u32) -> bool {
        self.phones[phone as usize].on
    }

    /// How often `phone` went off.
    pub(crate) fn epoch(&self, phone: u32) -> u32 {
        self.phones[phone as usize].epoch
    }

    /// When `phone` went off for the first time since `epoch` began; none while that lasts.
    pub(crate) fn end_of_epoch(&self, phone: u32, epoch: u32) -> Option<Seconds> {
        if self.epoch(phone) == epoch {
            return None;
        }
        self.offs_s[phone as usize].get(epoch as usize).copied()
    }

    /// Turns `phone` on.
    pub(crate) fn turn_on(&mut self, phone: u32) {
        self.phones[phone as usize].on = true;
        self.world.set_on(NodeId(phone), true);
    }

    /// Turns `phone` off; what it was doing in the world fails, which the world reports later.
    pub(crate) fn turn_off(&mut self, phone: u32) {
        let now = self.now();
        let presence = &mut self.phones[phone as usize];
        presence.on = false;
        presence.epoch += 1;
        self.offs_s.resize(self.phones.len(), vec![]);
        self.offs_s[phone as usize].push(now);
        self.world.set_on(NodeId(phone), false);
    }

    /// Whether the world carries datagrams hop by hop ([`crate::resources::Carrier`]).
    pub(crate) fn stores_and_forwards(&self) -> bool {
        self.world.stores_and_forwards()
    }

    /// The world's links carry `wire_bytes` over a hop.
    pub(crate) fn carry(&mut self, token: u32, hop: Hop, wire_bytes: u32) -> Carried {
        self.world.carry(token, hop, wire_bytes)
    }

    /// How long datagrams have waited in the queues of radios; none where there are no queues.
    pub(crate) fn waits(&self) -> Option<QueueDelays> {
        self.world.waits()
    }

    /// When a datagram waited in the queue that it was last in; none where nobody remembers.
    pub(crate) fn wait(&self, token: u32) -> Option<Span> {
        self.world.wait(token)
    }

    /// The world's cores do work.
    pub(crate) fn spend(&mut self, token: u32, phone: u32, demand: CpuDemand) {
        self.world.spend(token, NodeId(phone), demand);
    }
}
