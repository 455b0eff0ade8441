//! Senders that wait until the queue of their own radio has room, on networks that block them.
//!
//! A lane that finds no room stands still, and what it has to do with it; lanes of a phone go on in
//! the order in which they came. They look again when a datagram is wholly out, which is when Linux
//! gives its memory back to the socket (`sock_wfree`). What deliberately does not live here: how
//! full queues are, which is the world's, and networks that drop.

use std::collections::{BTreeMap, VecDeque};

use pocketsim_protocols::contract::{Datagram, Lane, NodeId, Seconds};

use crate::events::sim_context::{Due, SimContext};
use crate::network::resequencer::Way;
use crate::network::socket_buffer::wire_bytes;
use crate::network::Network;
use crate::plan::Plan;
use crate::resources::attachments::{Attached, Attachments};
use crate::resources::World;

/// The phones of a run whose networks block them.
pub(crate) struct SendBlocking {
    /// By phone; of those that are blocked somewhere.
    senders: BTreeMap<u32, BlockedSender>,
    /// By attachment, whether its network blocks.
    blocks: Vec<bool>,
    attached: Attached,
}

#[derive(Default)]
struct BlockedSender {
    /// When each of what its radio took is out, where that is known, and not long past.
    outs_s: VecDeque<Seconds>,
    /// Lanes that wait, the first to go on first.
    lanes: VecDeque<Lane>,
    /// When the first looks again, or did.
    look_s: Seconds,
}

impl SendBlocking {
    /// Those of a plan; none where nobody is blocked.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let attachments = Attachments::new(plan);
        let networks = attachments.access.iter();
        let blocks = networks.map(|&access| plan.access[access as usize].blocks);
        let blocks: Vec<bool> = blocks.collect();
        let phones = attachments.phone.iter().zip(&blocks);
        let blocked = phones.filter_map(|(&phone, &blocks)| blocks.then_some(phone));
        let senders: BTreeMap<u32, BlockedSender> = blocked
            .map(|phone| (phone, BlockedSender::default()))
            .collect();
        (!senders.is_empty()).then(|| Self {
            senders,
            blocks,
            attached: Attached::new(plan),
        })
    }

    /// A phone leaves its network: what was in its queue is gone.
    pub(crate) fn leave(&mut self, phone: u32) {
        if let Some(sender) = self.senders.get_mut(&phone) {
            sender.outs_s.clear();
            sender.look_s = 0.0;
        }
    }

    /// It has another attachment.
    pub(crate) fn join(&mut self, phone: u32, attachment: u32) {
        self.attached.join(phone, attachment);
    }

    /// Whether a lane may send a datagram now; if not, it waits from now on.
    pub(crate) fn pass<W: World, B>(
        &mut self,
        context: &mut SimContext<W>,
        network: &mut Network<B>,
        (from, lane): (u32, Lane),
        (to, datagram): (NodeId, &Datagram<B>),
    ) -> bool {
        let blocks = self.blocks[self.attached.of(from) as usize];
        let Some(sender) = self.senders.get_mut(&from) else {
            return true;
        };
        let way = Way {
            from: NodeId(from),
            to,
            path: datagram.path,
        };
        let bytes = wire_bytes(datagram.udp_payload_bytes);
        let waits = sender.lanes.front() == Some(&lane);
        let is_first = waits || sender.lanes.is_empty();
        let passes = !blocks
            || !network.needs_radio(way, context.now())
            || is_first && network.has_room(context, way.from, bytes);
        if passes {
            sender.lanes.drain(..usize::from(waits));
        } else {
            sender.lanes.extend((!waits).then_some(lane));
            sender.await_room(context, from, is_first);
        }
        passes
    }

    /// A phone has sent something: the lane that may try next, if one waits.
    pub(crate) fn sent<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
    ) -> Option<Lane> {
        let sender = self.senders.get_mut(&phone)?;
        sender.forget_outs(context.now());
        let out_s = context.world().out_s(NodeId(phone));
        let is_new =
            out_s.filter(|&out_s| out_s > context.now() && sender.outs_s.back() != Some(&out_s));
        sender.outs_s.extend(is_new);
        sender.first()
    }

    /// The lane of a phone that waits for room first, if there is one.
    pub(crate) fn first(&self, phone: u32) -> Option<Lane> {
        self.senders.get(&phone)?.first()
    }

    /// A phone goes off: nobody waits there, and nothing will be out.
    pub(crate) fn forget(&mut self, phone: u32) {
        if let Some(sender) = self.senders.get_mut(&phone) {
            *sender = BlockedSender::default();
        }
    }
}

impl BlockedSender {
    fn first(&self) -> Option<Lane> {
        self.lanes.front().copied()
    }

    /// The first that waits looks again when the next datagram is out, of which the world tells
    /// where nobody knows the date.
    fn await_room<W: World>(&mut self, context: &mut SimContext<W>, phone: u32, is_first: bool) {
        self.forget_outs(context.now());
        match self.outs_s.front() {
            Some(&out_s) if is_first && out_s != self.look_s => {
                self.look_s = out_s;
                context.push(out_s, Due::Room(phone, context.epoch(phone)));
            }
            _ => {}
        }
    }

    fn forget_outs(&mut self, now: Seconds) {
        while self.outs_s.front().is_some_and(|&out_s| out_s <= now) {
            self.outs_s.pop_front();
        }
    }
}
