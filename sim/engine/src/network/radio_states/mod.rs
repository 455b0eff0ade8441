//! What waits until a phone's radio is awake: datagrams before its queue, and before the far one's.
//!
//! Of each direction they go on in the order in which they came. A date that was told may be
//! brought forward, by something that wakes the radio earlier, and never put off. What
//! deliberately does not live here: when a radio is awake ([`Rrc`]), and what becomes of what goes
//! on ([`crate::network`]).

pub(crate) mod rrc;

use std::collections::VecDeque;

use pocketsim_protocols::contract::Seconds;

use crate::network::radio_states::rrc::{Listens, Rrc};
use crate::plan::Plan;
use crate::record::energy::Wake;
use crate::resources::attachments::{Attached, Attachments};
use crate::resources::radio::{Direction, Line};
use crate::resources::Carried;

/// The radios of a run that sleep, by attachment; none where a network's are always awake.
pub(crate) struct RadioStates {
    sleepers: Vec<Option<Box<Sleeper>>>,
    attached: Attached,
}

/// A phone whose radio sleeps.
pub(crate) struct Sleeper {
    pub(crate) rrc: Rrc,
    /// Up and down.
    gates: [Gate; 2],
    /// When the last of what was sent again is with the phone.
    heard_s: Seconds,
    /// Of the radio's own queue, bytes.
    room_bytes: f64,
    /// What the radio did that nobody was told of yet.
    wake: Wake,
}

/// What waits in one direction.
#[derive(Default)]
struct Gate {
    /// Tokens, the first to go on first, with their bytes.
    waiting: VecDeque<(u32, u32)>,
    /// When it opens, while something waits.
    opens_s: Seconds,
    /// Whether the radio is paged then, and opens it when it is awake.
    pages: bool,
}

/// What becomes of a datagram before a radio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Entry {
    /// Whether it waits, or goes on.
    pub(crate) waits: bool,
    /// When to look at the gates, up and down, of those that are to be looked at.
    pub(crate) looks_s: [Option<Seconds>; 2],
}

impl RadioStates {
    /// Those of a plan; none without any.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let attachments = Attachments::new(plan);
        let sleeper = |(attachment, &network): (u32, &u32)| {
            let access = &plan.access[network as usize];
            let line = Line::new(access.up_bytes_per_s, access.up_queue_bytes);
            let (seed, phone) = attachments.streams(plan.seed, attachment);
            access.states.map(|law| {
                Box::new(Sleeper {
                    rrc: Rrc::new(law, seed, phone),
                    gates: Default::default(),
                    heard_s: 0.0,
                    room_bytes: line.queue_bytes,
                    wake: Wake::default(),
                })
            })
        };
        let sleepers: Vec<_> = (0..).zip(&attachments.access).map(sleeper).collect();
        sleepers.iter().any(Option::is_some).then(|| Self {
            sleepers,
            attached: Attached::new(plan),
        })
    }

    /// A phone has another attachment from now on.
    pub(crate) fn join(&mut self, phone: u32, attachment: u32) {
        self.attached.join(phone, attachment);
    }
}

/// The radio of a phone, if it sleeps.
#[inline(always)]
pub(crate) fn sleeper(states: &mut Option<RadioStates>, phone: u32) -> Option<&mut Sleeper> {
    let states = states.as_mut()?;
    states.sleepers[states.attached.of(phone) as usize].as_deref_mut()
}

impl Sleeper {
    /// A datagram is before the radio at `now`.
    pub(crate) fn enter(
        &mut self,
        now: Seconds,
        direction: Direction,
        datagram: (u32, u32),
    ) -> Entry {
        let (at, mut entry) = (direction as usize, Entry::default());
        if !self.gates[at].waiting.is_empty() {
            self.gates[at].waiting.push_back(datagram);
            entry.waits = true;
            return entry;
        }
        let (opens_s, pages) = match direction {
            Direction::Up => (self.rrc.request(now, &mut self.wake), false),
            Direction::Down => match self.rrc.listens(now) {
                Listens::Now => (now, false),
                Listens::At(date_s) => (date_s, false),
                Listens::Paged(date_s) => (date_s, true),
            },
        };
        entry.waits = opens_s > now || pages;
        if entry.waits {
            self.gates[at].waiting.push_back(datagram);
            entry.looks_s[at] = self.gates[at].ask(opens_s, pages);
        }
        if direction == Direction::Up {
            entry.looks_s[Direction::Down as usize] = self.bring_forward(now);
        }
        entry
    }

    /// Looks at a gate at `now`: what goes on, and when to look again, if that is not asked for.
    pub(crate) fn open(
        &mut self,
        now: Seconds,
        direction: Direction,
    ) -> (VecDeque<(u32, u32)>, Option<Seconds>) {
        let gate = &mut self.gates[direction as usize];
        if gate.waiting.is_empty() || now < gate.opens_s {
            return (VecDeque::new(), None);
        }
        if gate.pages {
            let ready_s = self.rrc.page(now, &mut self.wake);
            let look_s = gate.ask(ready_s, false);
            if ready_s > now {
                return (VecDeque::new(), look_s);
            }
        }
        (std::mem::take(&mut gate.waiting), None)
    }

    /// The radio carries a datagram from `now` on, unless it has no room for it.
    pub(crate) fn carry(&mut self, now: Seconds, direction: Direction, carried: Carried) {
        match carried {
            Carried::Until(out_s) => self.rrc.carry(now, out_s, direction, &mut self.wake),
            Carried::UntilTold => self.rrc.begin(now, direction, &mut self.wake),
            Carried::Refused => {}
        }
    }

    /// When what is out of the radio at `now` is with the phone, after what came before it.
    pub(crate) fn hear_s(&mut self, now: Seconds) -> Seconds {
        let heard_s = now + self.rrc.retransmission_s(Direction::Down);
        self.heard_s = self.heard_s.max(heard_s);
        self.heard_s
    }

    /// Whether so many bytes more would have room behind what waits to be sent, if something does.
    pub(crate) fn has_room(&self, wire_bytes: u32) -> Option<bool> {
        let waiting = &self.gates[Direction::Up as usize].waiting;
        let bytes: u64 = waiting.iter().map(|&(_, bytes)| u64::from(bytes)).sum();
        (bytes > 0).then(|| bytes as f64 + f64::from(wire_bytes) <= self.room_bytes)
    }

    /// Its phone goes off at `now`: what waited, up and down.
    pub(crate) fn switch_off(&mut self, now: Seconds) -> [VecDeque<(u32, u32)>; 2] {
        self.rrc.switch_off(now, &mut self.wake);
        self.heard_s = now;
        std::mem::take(&mut self.gates).map(|gate| gate.waiting)
    }

    /// What the radio did since somebody was last told.
    pub(crate) fn tell(&mut self) -> Wake {
        std::mem::take(&mut self.wake)
    }

    /// What waits to be received need not wait for as long, as something to send wakes the radio:
    /// when to look at its gate.
    fn bring_forward(&mut self, now: Seconds) -> Option<Seconds> {
        let gate = &mut self.gates[Direction::Down as usize];
        let listens_s = match self.rrc.listens(now) {
            _ if gate.waiting.is_empty() => return None,
            Listens::Now => now,
            Listens::At(date_s) => date_s,
            Listens::Paged(_) => return None,
        };
        let is_sooner = gate.pages || listens_s < gate.opens_s;
        is_sooner.then(|| gate.ask(listens_s, false)).flatten()
    }
}

impl Gate {
    /// It opens then, or its radio is paged: when to look at it.
    fn ask(&mut self, opens_s: Seconds, pages: bool) -> Option<Seconds> {
        (self.opens_s, self.pages) = (opens_s, pages);
        Some(opens_s)
    }
}
