//! When phones change their access network, as the plan says.
//!
//! A phone that leaves a network while it is on its way to another goes to the later one. What
//! deliberately does not live here: what becomes of what is under way ([`crate::network::movers`]).

use pocketsim_protocols::contract::Seconds;

use crate::events::sim_context::{Due, SimContext};
use crate::plan::Moves;
use crate::resources::World;

/// The moves of a plan, and how far they have been made.
pub(crate) struct Moving {
    moves: Moves,
    phones: usize,
    next: usize,
    /// By phone, the last of its moves that has begun.
    begun: Vec<usize>,
}

impl Moving {
    /// Queues the first; none where nobody moves.
    pub(crate) fn new<W: World>(
        moves: Option<Moves>,
        phones: usize,
        context: &mut SimContext<W>,
    ) -> Option<Self> {
        let moves = moves?;
        if let Some(&date_s) = moves.time_s.first() {
            context.push(date_s, Due::Move);
        }
        Some(Self {
            moves,
            phones,
            next: 0,
            begun: vec![0; phones],
        })
    }

    /// The number of the next that is due, and its phone; queues the one after all that are.
    pub(crate) fn next<W: World>(&mut self, context: &mut SimContext<W>) -> Option<(u32, u32)> {
        let &date_s = self.moves.time_s.get(self.next)?;
        if date_s > context.now() {
            context.push(date_s, Due::Move);
            return None;
        }
        let (number, phone) = (self.next, self.phone(self.next));
        self.next += 1;
        self.begun[phone as usize] = number;
        Some((number as u32, phone))
    }

    /// How long the phone of a move has no network.
    pub(crate) fn interruption_s(&self, number: u32) -> Seconds {
        self.moves.interruption_s[number as usize]
    }

    /// The phone of a move and the attachment that it has then; none if it has left again before.
    pub(crate) fn arrival(&self, number: u32) -> Option<(u32, u32)> {
        let phone = self.phone(number as usize);
        let is_last = self.begun[phone as usize] == number as usize;
        is_last.then(|| (phone, self.moves.attachment[number as usize]))
    }

    fn phone(&self, number: usize) -> u32 {
        self.moves
            .phone_of(self.moves.attachment[number], self.phones)
    }
}
