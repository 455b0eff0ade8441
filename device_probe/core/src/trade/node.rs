//! One node of the trade: the agent with its keys, its peers, and what it observed. No sockets.
//!
//! A node is told bytes and answers with bytes to send. It knows peers by their public keys alone,
//! which every block names: whatever address a block came from, it is its author's. What the agent
//! asks for as work it has done itself by then, but for storing, which happens here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use ed25519_dalek::{Signer as _, SigningKey};
use pocketsim_protocols::block::Block;
use pocketsim_protocols::contract::{
    AppRequest, Event, EventKind, Machine, MessageId, NodeId, Operation, Output, OutputsOf,
    Payload, Reason, Seconds,
};
use pocketsim_protocols::crypto::{Crypto, Key, Real};
use pocketsim_protocols::trustchain::{Agent, AgentConfig};

use super::control::Summary;
use super::log::{Log, Record, Run, Tally};
use super::names::{author, Numbers};
use super::store::Store;

/// Seconds since the process began to trade.
pub type TradeClock = Arc<dyn Fn() -> Seconds + Send + Sync>;

/// A message on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Letter {
    /// Whom it is for.
    pub to: NodeId,
    /// Which transaction it belongs to.
    pub message: MessageId,
    /// The block as it travels.
    pub bytes: Vec<u8>,
}

/// Why bytes could not be given to the agent; all of it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unattributed {
    /// No block that names its author.
    Malformed,
    /// A block of somebody who was not introduced.
    Stranger,
    /// More than [`MESSAGE_BYTES_MAX`].
    Oversized,
}

/// Messages that could be laid at nobody's door.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noise {
    /// No blocks.
    pub malformed: u64,
    /// Blocks of unknown authors.
    pub strangers: u64,
    /// Too long to be looked at.
    pub oversized: u64,
}

/// An agent with real keys; shared by the threads of its carriers.
pub struct Node {
    clock: TradeClock,
    key: Key,
    waits_for_disk: bool,
    signer: SigningKey,
    state: Mutex<State>,
}

struct State {
    agent: Agent<Real>,
    numbers: Numbers,
    /// The repetition that a peer is in, by its number at the agent.
    runs: Vec<Option<usize>>,
    open: BTreeMap<MessageId, Open>,
    /// When something was proposed or stored last.
    moved_s: Seconds,
    /// When the first proposal was made after the last block was stored.
    waits_since_s: Option<Seconds>,
    noise: Noise,
    /// Proposals that the store had no room for.
    store_full: u64,
    log: Log,
    store: Store,
}

/// A proposal that was neither answered nor given up.
struct Open {
    sent_s: Seconds,
    to: NodeId,
    block: Block,
}

impl Node {
    /// A node with the key pair of `secret`.
    pub fn new(secret: [u8; 32], store: Store, clock: TradeClock) -> Self {
        let crypto = Real::from_secret(secret);
        let key = crypto.public_key();
        let waits_for_disk = store.is_on_disk();
        let agent = Agent::new(crypto, OWN, Arc::new([key]), AgentConfig::default());
        let state = State {
            agent,
            numbers: Numbers::new(key),
            runs: vec![None],
            open: BTreeMap::new(),
            moved_s: 0.0,
            waits_since_s: None,
            noise: Noise::default(),
            store_full: 0,
            log: Log::default(),
            store,
        };
        Self {
            clock,
            key,
            waits_for_disk,
            signer: SigningKey::from_bytes(&secret),
            state: Mutex::new(state),
        }
    }

    /// A node with a fresh key pair, which lives as long as the node.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn ephemeral(store: Store, clock: TradeClock) -> std::io::Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(std::io::Error::other)?;
        Ok(Self::new(secret, store, clock))
    }

    /// Its public key.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Its signature on what it says besides blocks.
    pub fn sign(&self, said: &[u8]) -> [u8; 64] {
        self.signer.sign(said).to_bytes()
    }

    /// Seconds since the process began to trade.
    pub fn now_s(&self) -> Seconds {
        (self.clock)()
    }

    /// The clock that says so.
    pub fn clock(&self) -> TradeClock {
        Arc::clone(&self.clock)
    }

    /// Its own number in the experiment, for events.
    pub fn set_number(&self, number: u32) {
        self.state().numbers.set(OWN, number);
    }

    /// Add a peer, who has `number` in the experiment: its number at the agent.
    ///
    /// `None` when the address book is full.
    pub fn introduce(&self, key: Key, number: u32) -> Option<NodeId> {
        let mut state = self.state();
        let node = state.agent.introduce(key)?;
        state.numbers.add(node, key, number);
        if state.runs.len() <= node.0 as usize {
            state.runs.push(None);
        }
        Some(node)
    }

    /// The number in the experiment for a new dialler: the one it `wants`, if that is free.
    pub fn free_number(&self, key: Key, wants: u32) -> u32 {
        self.state().numbers.free(key, wants)
    }

    /// Begin a repetition with `peer`: its place in the log, or none when there are too many.
    pub fn begin(&self, peer: NodeId, run: Run) -> Option<usize> {
        let mut state = self.state();
        let earlier = state.runs[peer.0 as usize];
        let place = state.log.begin(Run { earlier, ..run })?;
        state.runs[peer.0 as usize] = Some(place);
        Some(place)
    }

    /// Number that its next proposal will have.
    pub fn next_sequence(&self) -> u32 {
        self.state().agent.next_sequence()
    }

    /// What `peer` does belongs to the repetition at `place` from now on, but for messages of
    /// earlier ones.
    pub fn assign(&self, peer: NodeId, place: usize) {
        self.state().runs[peer.0 as usize] = Some(place);
    }

    /// Mark a repetition as ended before its time.
    pub fn mark_stopped(&self, place: usize) {
        self.state().log.runs[place].stopped = true;
    }

    /// Propose one block.
    pub fn propose(&self, peer: NodeId, payload_bytes: u32) -> Vec<Letter> {
        let mut state = self.state();
        let mut out = Vec::new();
        let request = AppRequest::Transact {
            peer,
            payload_bytes,
        };
        state.make_room(&self.clock);
        let now_s = self.now_s();
        state.agent.command(request, now_s, &mut out);
        state.perform(out, now_s, &[], &self.clock)
    }

    /// Bytes came off a socket; the answers to them.
    ///
    /// # Errors
    /// When they can be laid at nobody's door. Whatever else is wrong with them, the agent
    /// refuses, observes and counts.
    pub fn receive(&self, bytes: &[u8]) -> Result<Vec<Letter>, Unattributed> {
        // Before the lock: waiting for it is part of what the message goes through.
        let arrived_s = self.now_s();
        let mut state = self.state();
        let from = state.author_of(bytes, &self.key)?;
        if state.has_no_room_for(bytes, from, arrived_s) {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        state.agent.receive_bytes(from, bytes, arrived_s, &mut out);
        Ok(state.perform(out, arrived_s, bytes, &self.clock))
    }

    /// The carrier gave up on a letter.
    pub fn undelivered(&self, letter: &Letter, reason: Reason) {
        let text = std::str::from_utf8(&letter.bytes).expect("the node wrote it");
        let origin = letter.message.origin();
        let payload = Block::from_json(text, origin).expect("the node wrote it");
        self.state()
            .give_up(letter.to, payload, reason, &self.clock);
    }

    /// Proposals that were neither answered nor given up.
    pub fn open(&self) -> usize {
        self.state().open.len()
    }

    /// For how long proposals have been made without anything being stored, in seconds.
    pub fn silence_s(&self) -> Seconds {
        let since_s = self.state().waits_since_s;
        since_s.map_or(0.0, |since_s| self.now_s() - since_s)
    }

    /// For how long nothing has been proposed or stored, in seconds.
    pub fn rest_s(&self) -> Seconds {
        self.now_s() - self.state().moved_s
    }

    /// Give up every proposal that is still open.
    ///
    /// An answer that still comes is refused for the same reason.
    pub fn abandon(&self, reason: Reason) {
        let mut state = self.state();
        state.waits_since_s = None;
        for (_, open) in std::mem::take(&mut state.open) {
            state.give_up(open.to, open.block, reason, &self.clock);
        }
    }

    /// The tally of the repetition at `place`.
    pub fn tally(&self, place: usize) -> Tally {
        self.state().log.runs[place].tally.clone()
    }

    /// Counts of the repetition at `place`: proposed, stored, refused.
    pub fn counts(&self, place: usize) -> (u64, u64, u64) {
        let state = self.state();
        let tally = &state.log.runs[place].tally;
        let refused = tally.refused.values().map(|&count| u64::from(count));
        (tally.sent, tally.stored, refused.sum())
    }

    /// Median of the latest round trips of the repetition at `place`, in seconds; 0 before the first.
    pub fn recent_rtt_s(&self, place: usize) -> Seconds {
        let state = self.state();
        let all = &state.log.runs[place].tally.rtt_s;
        let mut recent = all[all.len().saturating_sub(RECENT)..].to_vec();
        drop(state);
        recent.sort_by(Seconds::total_cmp);
        recent.get(recent.len() / 2).copied().unwrap_or(0.0)
    }

    /// What a listener tells the dialler about the repetition at `place`.
    pub fn summary(&self, place: usize) -> Summary {
        let state = self.state();
        let tally = &state.log.runs[place].tally;
        Summary {
            // What it countersigned but could not keep, it has not stored.
            stored: tally.stored - tally.store_failures,
            digest: tally.digest.to_bytes(),
            refused: tally
                .refused
                .iter()
                .map(|(&r, &count)| (r, count))
                .collect(),
            malformed: state.noise.malformed,
        }
    }

    /// What could be laid at nobody's door.
    pub fn noise(&self) -> Noise {
        self.state().noise
    }

    /// Blocks that the disk refused.
    pub fn store_failures(&self) -> u64 {
        self.state().store.failures()
    }

    /// Proposals of others that were refused, as the store has reached its limit.
    pub fn store_full(&self) -> u64 {
        self.state().store_full
    }

    /// Whether the store can take what is open and one more block with such a payload.
    pub fn has_store_room(&self, payload_bytes: u32) -> bool {
        // What is not stored needs no room, and no turn at the lock either.
        if !self.waits_for_disk {
            return true;
        }
        let state = self.state();
        let block_bytes = u64::from(payload_bytes) + BESIDES_PAYLOAD_BYTES;
        state
            .store
            .has_room((state.open.len() as u64 + 1) * block_bytes)
    }

    /// Whether storing a block may wait for a disk, and with it whoever calls [`Node::receive`].
    pub fn waits_for_disk(&self) -> bool {
        self.waits_for_disk
    }

    /// Look at the log.
    pub fn with_log<T>(&self, look: impl FnOnce(&Log) -> T) -> T {
        look(&self.state().log)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("a thread that holds it has panicked: a bug")
    }
}

impl State {
    /// Whose bytes these are, by the keys in them: an answer to this node is its countersigner's.
    fn author_of(&mut self, bytes: &[u8], own: &Key) -> Result<NodeId, Unattributed> {
        let noise = &mut self.noise;
        if bytes.len() > MESSAGE_BYTES_MAX {
            noise.oversized += 1;
            return Err(Unattributed::Oversized);
        }
        let Some(key) = author(bytes, own) else {
            noise.malformed += 1;
            return Err(Unattributed::Malformed);
        };
        self.numbers.node(key).ok_or_else(|| {
            noise.strangers += 1;
            Unattributed::Stranger
        })
    }

    /// Refuse a proposal that could not be stored: what is countersigned is vouched for.
    fn has_no_room_for(&mut self, bytes: &[u8], from: NodeId, arrived_s: Seconds) -> bool {
        let length = bytes.len() as u64;
        if self.store.has_room(length + COUNTERSIGNING_BYTES) {
            return false;
        }
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let proposal = Block::from_json(text, from).ok();
        let Some(block) = proposal.filter(|block| block.receiver_sig.is_none()) else {
            return false;
        };
        self.store_full += 1;
        let refused = Event::new(EventKind::Refuse, block.message_id(), from, length as u32);
        let refused = refused.because(Reason::BufferFull);
        self.observe(&refused, arrived_s, arrived_s, None);
        true
    }

    fn give_up(&mut self, to: NodeId, payload: Block, reason: Reason, clock: &TradeClock) {
        let request = AppRequest::Undelivered {
            to,
            payload,
            reason,
        };
        let mut out = Vec::new();
        self.agent.command(request, clock(), &mut out);
        self.perform(out, clock(), &[], clock);
    }

    fn perform(
        &mut self,
        outputs: OutputsOf<Agent<Real>>,
        arrived_s: Seconds,
        received: &[u8],
        clock: &TradeClock,
    ) -> Vec<Letter> {
        let letters: Vec<Letter> = outputs.iter().filter_map(letter).collect();
        // What is stored is the block that goes out countersigned, or else the one that came in.
        let stored = letters.first().map_or(received, |letter| &letter.bytes);
        let (mut time_s, mut kept) = (arrived_s, true);
        for output in &outputs {
            match output {
                Output::Work {
                    operation: Operation::Store,
                    ..
                } => kept = self.store.append(stored),
                Output::Observe(event) => {
                    if !CAME_IN.contains(&event.kind) {
                        time_s = clock();
                    }
                    self.observe(event, time_s, arrived_s, kept.then_some(stored));
                }
                Output::Send { to, message } => self.note_open(*to, message, time_s),
                _ => {}
            }
        }
        letters
    }

    /// The agent would forget its oldest proposal for one more: give that up, for a reason.
    fn make_room(&mut self, clock: &TradeClock) {
        if self.open.len() < OPEN_MAX {
            return;
        }
        if let Some((_, open)) = self.open.pop_first() {
            self.give_up(open.to, open.block, Reason::SocketTimeout, clock);
        }
    }

    /// Remember a proposal of this node, whose sending was observed just before.
    fn note_open(&mut self, to: NodeId, block: &Block, sent_s: Seconds) {
        if block.proposer != OWN {
            return;
        }
        self.moved_s = sent_s;
        self.waits_since_s.get_or_insert(sent_s);
        let block = *block;
        let open = Open { sent_s, to, block };
        self.open.insert(block.message_id(), open);
    }

    /// `kept` is the block of a storing, unless the disk refused it.
    fn observe(&mut self, event: &Event, time_s: Seconds, arrived_s: Seconds, kept: Option<&[u8]>) {
        let closes = matches!(event.kind, EventKind::Store | EventKind::Lose);
        let closed = closes.then(|| self.open.remove(&event.message)).flatten();
        let Some(current) = self.runs[event.peer.0 as usize] else {
            return;
        };
        let run = self.log.place_of(event.message, current);
        let tally = &mut self.log.runs[run].tally;
        tally.count(event.kind, event.reason, time_s);
        if let Some(open) = closed.filter(|_| event.kind == EventKind::Store) {
            tally.trip(open.sent_s, arrived_s, time_s);
        }
        if matches!(event.kind, EventKind::Store | EventKind::StorePeer) {
            match kept {
                Some(block) => tally.digest.add(block),
                None => tally.store_failures += 1,
            }
            self.waits_since_s = None;
            self.moved_s = time_s;
        }
        self.log.push(Record {
            run: run as u32,
            time_s,
            kind: event.kind,
            message: self.numbers.message(event.message),
            peer: self.numbers.number(event.peer),
            size_bytes: event.size_bytes,
            reason: event.reason,
        });
    }
}

fn letter<R, V>(output: &Output<Block, R, V>) -> Option<Letter> {
    match output {
        Output::Send { to, message } => Some(Letter {
            to: *to,
            message: message.message_id(),
            bytes: message.to_json().into_bytes(),
        }),
        _ => None,
    }
}

/// The node's own number at its agent.
const OWN: NodeId = NodeId(0);
/// What happened when the bytes came, not when they were judged.
const CAME_IN: [EventKind; 2] = [EventKind::Process, EventKind::ReceiveBack];
/// The largest message that is looked at: what a UDP datagram could hold, rounded up.
pub const MESSAGE_BYTES_MAX: usize = 65_536;
/// As many as the agent remembers.
const OPEN_MAX: usize = 65_536;
/// Enough for a median to look at, little enough to sort while blocks wait.
const RECENT: usize = 1_000;
/// The countersigner's signature in base64 and the hash of its last block.
const COUNTERSIGNING_BYTES: u64 = 88 + 64;
/// Of a block with both signatures and the longest index.
pub(super) const BESIDES_PAYLOAD_BYTES: u64 = 564;
