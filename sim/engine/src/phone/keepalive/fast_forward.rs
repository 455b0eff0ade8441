//! Conversations at rest: signs of life that nobody needs to see one by one.
//!
//! A conversation rests when both ends say that nothing else passes. What one of them sends or
//! hears there wakes both, and so does the end of either; they go on as if they had been awake.
//! What deliberately does not live here: what signs of life are, and when they would have passed,
//! which the transport knows.

use pocketsim_protocols::contract::{
    Application, Conversation, Notice, Rhythm, Seconds, Transport, Upkeep,
};

use crate::events::sim_context::{Layer, SimContext};
use crate::phone::executor::Executor;
use crate::phone::keepalive::upkeep::{Mode, Silence};
use crate::record::recorder::Recorder;
use crate::resources::World;

impl<A: Application, T: Transport<A::Block>> Executor<A, T> {
    /// Hears what the transport of `phone` says of its conversations.
    pub(crate) fn attend<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        now: Seconds,
        phone: u32,
    ) {
        if matches!(self.upkeeps.mode, Mode::Off) {
            return;
        }
        while let Some(notice) = self.transport(phone).notice() {
            match notice {
                Notice::Silent(conversation) => self.let_rest(context, now, phone, conversation),
                Notice::Woken(conversation, upkeep) => {
                    self.reckon(phone, conversation.peer.0, &upkeep);
                    self.wake_other(context, now, phone, conversation);
                }
            }
        }
    }

    /// The run ends: so do all rests, and what they spared is written down. Says whether there was
    /// anything.
    pub(crate) fn end_rests<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        end_s: Seconds,
    ) -> bool {
        let before = self.upkeeps.counts.sent;
        for phone in 0..self.phones.len() as u32 {
            self.transport(phone).wake_all(end_s);
            self.attend(context, end_s, phone);
        }
        recorder.keep_up(&self.upkeeps.counts);
        self.upkeeps.counts.sent > before
    }

    /// Lets a conversation rest if its other end has nothing to say, either.
    fn let_rest<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        now: Seconds,
        phone: u32,
        conversation: Conversation,
    ) {
        let Conversation { peer, number } = conversation;
        let phones = [phone, peer.0];
        let [Some(own), Some(other)] = phones.map(|end| self.transport(end).rhythm(number)) else {
            return;
        };
        if let Mode::Note(_) = self.upkeeps.mode {
            return self.note(context, now, phones, number, [own, other]);
        }
        let Some(paces) = self.upkeeps.paces(now, phones, [own, other]) else {
            return;
        };
        for (end, pace) in phones.into_iter().zip(paces) {
            self.transport(end).rest(number, pace);
        }
    }

    /// From now on conversations that may rest do not, but it is noted when the first of each phone
    /// might have.
    pub(crate) fn note_silences(&mut self) {
        let never = Silence {
            date_s: Seconds::INFINITY,
            in_turn: false,
        };
        self.upkeeps.mode = Mode::Note(vec![never; self.phones.len()]);
    }

    /// What was noted, by phone.
    pub(crate) fn silences(&self) -> Vec<Silence> {
        match &self.upkeeps.mode {
            Mode::Note(silences) => silences.clone(),
            _ => Vec::new(),
        }
    }

    /// Notes a conversation of two phones, each of which has no other.
    fn note<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        now: Seconds,
        phones: [u32; 2],
        number: u64,
        rhythms: [Rhythm; 2],
    ) {
        let mut in_turn = self.upkeeps.in_turn(rhythms);
        let Mode::Note(silences) = &mut self.upkeeps.mode else {
            return;
        };
        if silences[phones[0] as usize].date_s <= now {
            return;
        }
        let is_made_to = phones[0] / 2 % 2 == 1 && !in_turn;
        in_turn |= is_made_to;
        for end in phones {
            silences[end as usize] = Silence {
                date_s: now,
                in_turn,
            };
        }
        if is_made_to {
            self.make_ask_in_turn(context, now, phones, number);
        }
    }

    /// Lets one end ask so long before the other that its question is heard in time.
    fn make_ask_in_turn<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        now: Seconds,
        phones: [u32; 2],
        number: u64,
    ) {
        for (end, left) in phones.into_iter().zip([0.5, 1.0]) {
            let pace = self.upkeeps.pace(now, left);
            self.transport(end).rest(number, pace);
            self.transport(end).wake(number, now);
            self.arm(context, end, Layer::Transport);
        }
    }

    fn transport(&mut self, phone: u32) -> &mut T {
        self.phones[phone as usize].transport()
    }

    fn wake_other<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        now: Seconds,
        phone: u32,
        conversation: Conversation,
    ) {
        let Conversation { peer, number } = conversation;
        if let Some(upkeep) = self.transport(peer.0).wake(number, now) {
            self.reckon(peer.0, phone, &upkeep);
            self.arm(context, peer.0, Layer::Transport);
        }
    }

    fn reckon(&mut self, near: u32, far: u32, upkeep: &Upkeep) {
        let costs = [near, far].map(|phone| {
            let profile = self.phones[phone as usize].profile();
            &self.cpu.costs[profile]
        });
        self.upkeeps.add(upkeep, [near, far], costs);
    }
}
