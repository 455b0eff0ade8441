//! A phone that only computes: threads that each perform one task again and again.
//!
//! The offline token thesis measures an authority's cryptography so (sections VI-A and
//! VI-E), "stripping the implementation of all other factors". A task stands for the
//! operations of one step of the authority; a row of the trace says that it is done.
//!
//! What deliberately does not live here: networks, since nothing is sent; real keys and
//! tokens, which are in `token`; and how threads share cores, which is the driver's.

use std::convert::Infallible;

use crate::contract::{
    work, AppRequest, Application, Event, EventKind, Lane, Machine, MessageId, NodeId, Operation,
    Output, OutputsOf, Payload, Seconds,
};
use crate::named_enum;
use crate::transport::eva;

named_enum! {
    /// What a thread performs; what else it takes is in [`ComputeConfig`].
    Task {
        /// One signature of `bytes`.
        Sign = "sign",
        /// One verification of `bytes`.
        Verify = "verify",
        /// The first proof of each token.
        SignToken = "sign_token",
        /// Every proof of each token; they are in memory, nothing is parsed.
        VerifyToken = "verify_token",
        /// The signatures of the EVA packets that bring the tokens, `bytes` in each.
        VerifyPacket = "verify_packet",
        /// The signatures of the EVA packets that take as many new tokens away.
        SignPacket = "sign_packet",
        /// Everything else that those packets need: sockets, overlay.
        HandlePacket = "handle_packet",
    }
}

/// What a phone computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputeConfig {
    /// What each thread performs.
    pub task: Task,
    /// How many threads.
    pub threads: u32,
    /// How often each performs it.
    pub count: u32,
    /// Data of one operation, or of one packet, in bytes.
    pub bytes: u32,
    /// Tokens that the task handles at once.
    pub tokens: u32,
    /// Recipients of each of them: a proof for each.
    pub recipients: u32,
}

/// One phone that computes when it is asked to.
#[derive(Clone, Debug)]
pub struct Compute {
    node: NodeId,
    config: ComputeConfig,
    /// By thread; empty before the first request.
    threads: Vec<Progress>,
}

/// How far a thread is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Tasks that are done.
    tasks: u32,
    /// Operations of the next one that have been asked for.
    operations: u64,
}

impl Compute {
    /// A phone that has not begun.
    pub fn new(node: NodeId, config: ComputeConfig) -> Self {
        Self {
            node,
            config,
            threads: Vec::new(),
        }
    }

    /// Puts every thread to work on a lane of its own.
    fn start(&mut self, out: &mut OutputsOf<Self>) {
        self.threads = vec![Progress::default(); self.config.threads as usize];
        for thread in 0..self.config.threads {
            self.post(thread, out);
        }
    }

    /// Gives a thread its next turn; it is told its number, since no payload is.
    fn post(&self, thread: u32, out: &mut OutputsOf<Self>) {
        out.push(Output::Post {
            lane: Lane(Lane::FIRST_TASK + thread),
            request: AppRequest::Transact {
                peer: self.node,
                payload_bytes: thread,
            },
        });
    }

    /// A thread goes on with its task: what it asks for at once fits into memory, however much it
    /// is in all.
    fn perform(&mut self, thread: u32, out: &mut OutputsOf<Self>) {
        let (config, count) = (self.config, self.config.count);
        let at = &mut self.threads[thread as usize];
        let operations = config.operations();
        let end = operations.min(at.operations + OPERATIONS_AT_ONCE);
        for number in at.operations..end {
            let (operation, bytes) = config.operation(number);
            work(out, operation, bytes);
        }
        at.operations = end;
        if end == operations {
            let sequence = thread * count + at.tasks;
            let message = MessageId::new(self.node, sequence);
            let row = Event::new(EventKind::Compute, message, self.node, config.task_bytes());
            out.push(Output::Observe(row));
            at.tasks += 1;
            at.operations = 0;
        }
        if at.tasks < count {
            self.post(thread, out);
        }
    }
}

impl ComputeConfig {
    /// How many operations the task consists of.
    fn operations(&self) -> u64 {
        let (come, go) = (u64::from(self.come()), u64::from(self.go()));
        let tokens = u64::from(self.tokens);
        match self.task {
            Task::Sign | Task::Verify => 1,
            Task::SignToken => tokens,
            Task::VerifyToken => tokens * u64::from(self.later() + 1),
            Task::VerifyPacket => come,
            Task::SignPacket => go,
            Task::HandlePacket => 2 * (come + go),
        }
    }

    /// Operation `number` of the task, from 0, and the bytes that it is on.
    fn operation(&self, number: u64) -> (Operation, u32) {
        let in_packet = self.packet_bytes();
        match self.task {
            Task::Sign => (Operation::Sign, self.bytes),
            Task::Verify => (Operation::Verify, self.bytes),
            Task::SignToken => (Operation::Sign, FIRST_PROOF_BYTES),
            Task::VerifyToken if number % u64::from(self.later() + 1) == 0 => {
                (Operation::Verify, FIRST_PROOF_BYTES)
            }
            Task::VerifyToken => (Operation::Verify, NEXT_PROOF_BYTES),
            Task::VerifyPacket => (Operation::Verify, in_packet),
            Task::SignPacket => (Operation::Sign, in_packet),
            Task::HandlePacket => (self.handling(number), in_packet),
        }
    }

    /// What is done with packets: all that come are received and read, then all that go are made
    /// and sent.
    fn handling(&self, number: u64) -> Operation {
        let (come, go) = (u64::from(self.come()), u64::from(self.go()));
        match number {
            number if number < come => Operation::UdpReceive,
            number if number < 2 * come => Operation::OverlayReceive,
            number if number < 2 * come + go => Operation::OverlaySend,
            _ => Operation::UdpSend,
        }
    }

    /// The bytes that the task is about.
    fn task_bytes(&self) -> u32 {
        let in_packet = self.packet_bytes();
        match self.task {
            Task::Sign | Task::Verify => self.bytes,
            Task::SignToken => self.tokens.saturating_mul(FIRST_PROOF_BYTES),
            Task::VerifyToken => {
                let of_token = FIRST_PROOF_BYTES + self.later() * NEXT_PROOF_BYTES;
                self.tokens.saturating_mul(of_token)
            }
            Task::VerifyPacket => self.come().saturating_mul(in_packet),
            Task::SignPacket => self.go().saturating_mul(in_packet),
            Task::HandlePacket => {
                let packets = self.come().saturating_add(self.go());
                packets.saturating_mul(in_packet)
            }
        }
    }

    /// Proofs of a token after its first.
    fn later(&self) -> u32 {
        self.recipients.saturating_sub(1)
    }

    /// Packets that bring the tokens.
    fn come(&self) -> u32 {
        self.packets(TOKEN_BYTES + self.later() * NEXT_PROOF_BYTES)
    }

    /// Packets that take the new ones away.
    fn go(&self) -> u32 {
        self.packets(TOKEN_BYTES)
    }

    /// Packets that a batch of tokens of `token_bytes` fills.
    fn packets(&self, token_bytes: u32) -> u32 {
        let batch_bytes = self.tokens.saturating_mul(token_bytes);
        batch_bytes.div_ceil(self.bytes.max(1))
    }

    fn packet_bytes(&self) -> u32 {
        self.bytes.saturating_add(eva::SIGNED_HEAD_BYTES)
    }
}

impl Machine for Compute {
    type Message = Nothing;
    type Request = AppRequest<Nothing>;
    type Value = ();

    fn receive(
        &mut self,
        _from: NodeId,
        message: Nothing,
        _now: Seconds,
        _out: &mut OutputsOf<Self>,
    ) {
        match message.0 {}
    }

    /// The first request starts the threads; each of the next is a turn of one of them.
    fn command(&mut self, request: Self::Request, _now: Seconds, out: &mut OutputsOf<Self>) {
        match request {
            AppRequest::Transact { .. } if self.threads.is_empty() => self.start(out),
            AppRequest::Transact { payload_bytes, .. } => self.perform(payload_bytes, out),
            // The plan pays only where tokens run.
            AppRequest::Pay { .. } => unreachable!("paid without tokens"),
            AppRequest::Undelivered { payload, .. } => match payload.0 {},
        }
    }

    fn handle_timeout(&mut self, _now: Seconds, _out: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl Application for Compute {
    type Block = Nothing;
}

/// What computing phones send each other: it cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nothing(Infallible);

impl Payload for Nothing {
    fn wire_bytes(&self) -> u32 {
        match self.0 {}
    }

    fn message_id(&self) -> MessageId {
        match self.0 {}
    }
}

/// More than any task of the theses has: such a task is one piece of work.
const OPERATIONS_AT_ONCE: u64 = 4096;
/// A token of one recipient (thesis, equation 1); each further one adds a pair of key and proof.
const TOKEN_BYTES: u32 = 287;
/// What the authority's proof is over, and every later one (thesis, equation 2).
const FIRST_PROOF_BYTES: u32 = 147;
const NEXT_PROOF_BYTES: u32 = 138;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::half_block::PublicKey;
    use crate::token::{minted_message, transferred_message};

    const ONLINE: ComputeConfig = ComputeConfig {
        task: Task::VerifyToken,
        threads: 1,
        count: 1,
        bytes: 1200,
        tokens: 1,
        recipients: 3,
    };

    #[test]
    fn proofs_are_over_as_many_bytes_as_the_tokens() {
        let (key, proof) = (PublicKey([0; 74]), [0; 64]);
        let minted = minted_message(&[0; 8], 1, &proof, &key).len();
        let handed_on = transferred_message(&proof, &key).len();
        assert_eq!(
            (FIRST_PROOF_BYTES, NEXT_PROOF_BYTES),
            (minted as u32, handed_on as u32)
        );
    }

    #[test]
    fn each_thread_has_a_lane_and_performs_its_task_in_turn() {
        let config = ComputeConfig {
            threads: 3,
            count: 2,
            ..ONLINE
        };
        let mut phone = Compute::new(NodeId(0), config);
        let mut out = Vec::new();
        phone.command(turn(0), 0.0, &mut out);
        let lanes: Vec<u32> = out.iter().filter_map(lane).collect();
        assert_eq!(lanes, [16, 17, 18]);
        for (thread, task, goes_on) in [(0, 0, true), (2, 4, true), (0, 1, false), (1, 2, true)] {
            out.clear();
            phone.command(turn(thread), 0.0, &mut out);
            let messages: Vec<MessageId> = out.iter().filter_map(done).map(|(id, _)| id).collect();
            assert_eq!(messages, [MessageId::new(NodeId(0), task)]);
            let next = out.iter().find_map(lane);
            assert_eq!(next, goes_on.then_some(Lane::FIRST_TASK + thread));
        }
    }

    #[test]
    fn a_task_of_millions_of_packets_is_asked_for_in_pieces() {
        let config = ComputeConfig {
            task: Task::HandlePacket,
            tokens: 100,
            bytes: 1,
            ..ONLINE
        };
        let (operations, bytes) = performed(config);
        assert_eq!(operations.len(), 2 * (56_300 + 28_700));
        assert_eq!(bytes, (56_300 + 28_700) * 120);
        let of_kind = |kind| operations.iter().filter(|(is, _)| *is == kind).count();
        assert_eq!(of_kind(Operation::UdpReceive), 56_300);
        assert_eq!(of_kind(Operation::UdpSend), 28_700);
    }

    #[test]
    fn a_token_of_k_recipients_takes_k_verifications() {
        let verify = Operation::Verify;
        let three = [(verify, 147), (verify, 138), (verify, 138)];
        assert_eq!(performed(ONLINE), (three.to_vec(), 423));
        let one = ComputeConfig {
            recipients: 1,
            ..ONLINE
        };
        assert_eq!(performed(one), (vec![(verify, 147)], 147));
        let none = ComputeConfig {
            recipients: 0,
            ..ONLINE
        };
        assert_eq!(performed(none).1, 147, "no token has no proof");
    }

    #[test]
    fn packets_carry_the_batch_there_and_its_new_tokens_back() {
        let batch = |task| ComputeConfig {
            task,
            tokens: 100,
            ..ONLINE
        };
        // 56 300 B in blocks of 1200 B there, 28 700 B back; 119 B of each packet are its head.
        let (verified, bytes) = performed(batch(Task::VerifyPacket));
        assert_eq!(verified, [(Operation::Verify, 1319)].repeat(47));
        assert_eq!(bytes, 47 * 1319);
        let (signed, _) = performed(batch(Task::SignPacket));
        assert_eq!(signed, [(Operation::Sign, 1319)].repeat(24));
        let (handled, _) = performed(batch(Task::HandlePacket));
        assert_eq!(handled.len(), 2 * (47 + 24));
    }

    #[test]
    fn plain_operations_are_on_the_bytes_asked_for() {
        for (task, operation) in [
            (Task::Sign, Operation::Sign),
            (Task::Verify, Operation::Verify),
        ] {
            let config = ComputeConfig { task, ..ONLINE };
            assert_eq!(performed(config), (vec![(operation, 1200)], 1200));
        }
        let config = ComputeConfig {
            task: Task::SignToken,
            tokens: 2,
            ..ONLINE
        };
        assert_eq!(performed(config), (vec![(Operation::Sign, 147); 2], 294));
    }

    fn turn(thread: u32) -> AppRequest<Nothing> {
        AppRequest::Transact {
            peer: NodeId(0),
            payload_bytes: thread,
        }
    }

    /// The operations of one task, and the bytes in its row of the trace.
    fn performed(config: ComputeConfig) -> (Vec<(Operation, u32)>, u32) {
        let mut phone = Compute::new(NodeId(0), config);
        let (mut out, mut operations) = (Vec::new(), Vec::new());
        phone.command(turn(0), 0.0, &mut out);
        loop {
            out.clear();
            phone.command(turn(0), 0.0, &mut out);
            assert!(out.len() as u64 <= OPERATIONS_AT_ONCE + 2);
            operations.extend(out.iter().filter_map(|output| match output {
                Output::Work { operation, bytes } => Some((*operation, *bytes)),
                _ => None,
            }));
            if let Some((_, size_bytes)) = out.iter().find_map(done) {
                return (operations, size_bytes);
            }
        }
    }

    fn done<M, R, V>(output: &Output<M, R, V>) -> Option<(MessageId, u32)> {
        match output {
            Output::Observe(event) => Some((event.message, event.size_bytes)),
            _ => None,
        }
    }

    fn lane<M, R, V>(output: &Output<M, R, V>) -> Option<u32> {
        match output {
            Output::Post { lane, .. } => Some(lane.0),
            _ => None,
        }
    }
}
