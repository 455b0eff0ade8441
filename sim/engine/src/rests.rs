//! Conversations at rest: signs of life that nobody needs to see one by one.
//!
//! A conversation rests when both ends say that nothing else passes. What one of them sends or
//! hears there wakes both, and so does the end of either; they go on as if they had been awake. What
//! deliberately does not live here: what signs of life are, and when they would have passed, which
//! the transport knows.

use pocketsim_protocols::contract::{
    Application, Conversation, Notice, Seconds, Transport, Upkeep,
};

use crate::books::Books;
use crate::lane::Layer;
use crate::lanes::Lanes;
use crate::resources::World;
use crate::stage::Stage;

impl<A: Application, T: Transport<A::Block>> Lanes<A, T> {
    /// Hears what the transport of `phone` says of its conversations.
    pub(crate) fn attend<W: World>(&mut self, stage: &mut Stage<W>, now: Seconds, phone: u32) {
        if !self.upkeeps.allowed {
            return;
        }
        while let Some(notice) = self.phones[phone as usize].transport().notice() {
            match notice {
                Notice::Silent(conversation) => self.let_rest(phone, conversation),
                Notice::Woken(conversation, upkeep) => {
                    self.reckon(phone, conversation.peer.0, &upkeep);
                    self.wake_other(stage, now, phone, conversation);
                }
            }
        }
    }

    /// The run ends: so do all rests, and what they spared is written down. Says whether there was
    /// anything.
    pub(crate) fn end_rests<W: World>(
        &mut self,
        stage: &mut Stage<W>,
        books: &mut Books,
        end_s: Seconds,
    ) -> bool {
        let before = self.upkeeps.datagrams;
        for phone in 0..self.phones.len() as u32 {
            self.phones[phone as usize].transport().wake_all(end_s);
            self.attend(stage, end_s, phone);
        }
        books.keep_up(&self.upkeeps);
        self.upkeeps.datagrams > before
    }

    /// Lets a conversation rest if its other end has nothing to say, either.
    fn let_rest(&mut self, phone: u32, conversation: Conversation) {
        let Conversation { peer, number } = conversation;
        let rhythm = |lanes: &mut Self, phone: u32| {
            let transport = lanes.phones[phone as usize].transport();
            transport.rhythm(number)
        };
        let (Some(own), Some(other)) = (rhythm(self, phone), rhythm(self, peer.0)) else {
            return;
        };
        if !self.upkeeps.last([phone, peer.0], [own, other]) {
            return;
        }
        self.phones[phone as usize].transport().rest(number, other);
        self.phones[peer.0 as usize].transport().rest(number, own);
    }

    fn wake_other<W: World>(
        &mut self,
        stage: &mut Stage<W>,
        now: Seconds,
        phone: u32,
        conversation: Conversation,
    ) {
        let Conversation { peer, number } = conversation;
        if let Some(upkeep) = self.phones[peer.0 as usize].transport().wake(number, now) {
            self.reckon(peer.0, phone, &upkeep);
            self.arm(stage, peer.0, Layer::Transport);
        }
    }

    fn reckon(&mut self, near: u32, far: u32, upkeep: &Upkeep) {
        let costs = [near, far].map(|phone| {
            let profile = self.phones[phone as usize].profile();
            &self.costs[profile]
        });
        self.upkeeps.add(upkeep, costs);
    }
}
