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
    started: bool,
    next_sequence: u32,
}

impl Compute {
    /// A phone that has not begun.
    pub fn new(node: NodeId, config: ComputeConfig) -> Self {
        Self {
            node,
            config,
            started: false,
            next_sequence: 0,
        }
    }

    /// Puts every thread to work on a lane of its own.
    fn start(&mut self, out: &mut OutputsOf<Self>) {
        self.started = true;
        for thread in 0..self.config.threads {
            out.push(Output::Post {
                lane: Lane(Lane::FIRST_TASK + thread),
                request: AppRequest::Transact {
                    peer: self.node,
                    payload_bytes: 0,
                },
            });
        }
    }

    /// All that one thread does; its lane performs it in order.
    fn perform_all(&mut self, out: &mut OutputsOf<Self>) {
        for _ in 0..self.config.count {
            let size_bytes = self.config.perform(out);
            let message = MessageId::new(self.node, self.next_sequence);
            self.next_sequence += 1;
            let row = Event::new(EventKind::Compute, message, self.node, size_bytes);
            out.push(Output::Observe(row));
        }
    }
}

impl ComputeConfig {
    /// Performs the task once; returns the bytes that it was about.
    fn perform(&self, out: &mut OutputsOf<Compute>) -> u32 {
        let tokens = self.tokens;
        let later = self.recipients.saturating_sub(1);
        let of_token = FIRST_PROOF_BYTES + later * NEXT_PROOF_BYTES;
        let in_packet = self.bytes.saturating_add(eva::SIGNED_HEAD_BYTES);
        let come = self.packets(TOKEN_BYTES + later * NEXT_PROOF_BYTES);
        let go = self.packets(TOKEN_BYTES);
        match self.task {
            Task::Sign => repeat(out, Operation::Sign, self.bytes, 1),
            Task::Verify => repeat(out, Operation::Verify, self.bytes, 1),
            Task::SignToken => repeat(out, Operation::Sign, FIRST_PROOF_BYTES, tokens),
            Task::VerifyToken => {
                for _ in 0..tokens {
                    repeat(out, Operation::Verify, FIRST_PROOF_BYTES, 1);
                    repeat(out, Operation::Verify, NEXT_PROOF_BYTES, later);
                }
                tokens.saturating_mul(of_token)
            }
            Task::VerifyPacket => repeat(out, Operation::Verify, in_packet, come),
            Task::SignPacket => repeat(out, Operation::Sign, in_packet, go),
            Task::HandlePacket => {
                repeat(out, Operation::UdpReceive, in_packet, come);
                repeat(out, Operation::OverlayReceive, in_packet, come);
                repeat(out, Operation::OverlaySend, in_packet, go);
                repeat(out, Operation::UdpSend, in_packet, go);
                come.saturating_add(go).saturating_mul(in_packet)
            }
        }
    }

    /// Packets that a batch of tokens of `token_bytes` fills.
    fn packets(&self, token_bytes: u32) -> u32 {
        let batch_bytes = self.tokens.saturating_mul(token_bytes);
        batch_bytes.div_ceil(self.bytes.max(1))
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

    /// The first request starts the threads; each of the next is one of theirs.
    fn command(&mut self, request: Self::Request, _now: Seconds, out: &mut OutputsOf<Self>) {
        match request {
            AppRequest::Transact { .. } if self.started => self.perform_all(out),
            AppRequest::Transact { .. } => self.start(out),
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

/// Asks for `count` operations on `bytes` each; returns the bytes of all.
fn repeat(out: &mut OutputsOf<Compute>, operation: Operation, bytes: u32, count: u32) -> u32 {
    for _ in 0..count {
        work(out, operation, bytes);
    }
    count.saturating_mul(bytes)
}

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
        phone.command(asked(), 0.0, &mut out);
        let lanes: Vec<u32> = out.iter().map(lane).collect();
        assert_eq!(lanes, [16, 17, 18]);
        for first in [0, 2, 4] {
            out.clear();
            phone.command(asked(), 0.0, &mut out);
            let messages: Vec<MessageId> = out.iter().filter_map(done).map(|(id, _)| id).collect();
            let expected = [first, first + 1].map(|number| MessageId::new(NodeId(0), number));
            assert_eq!(messages, expected);
        }
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

    fn asked() -> AppRequest<Nothing> {
        AppRequest::Transact {
            peer: NodeId(0),
            payload_bytes: 0,
        }
    }

    /// The operations of one task, and the bytes in its row of the trace.
    fn performed(config: ComputeConfig) -> (Vec<(Operation, u32)>, u32) {
        let mut phone = Compute::new(NodeId(0), config);
        let mut out = Vec::new();
        phone.command(asked(), 0.0, &mut out);
        out.clear();
        phone.command(asked(), 0.0, &mut out);
        let (_, size_bytes) = done(out.last().expect("a row")).expect("a row comes last");
        let operations = out.iter().filter_map(|output| match output {
            Output::Work { operation, bytes } => Some((*operation, *bytes)),
            _ => None,
        });
        (operations.collect(), size_bytes)
    }

    fn done<M, R, V>(output: &Output<M, R, V>) -> Option<(MessageId, u32)> {
        match output {
            Output::Observe(event) => Some((event.message, event.size_bytes)),
            _ => None,
        }
    }

    fn lane<M, R, V>(output: &Output<M, R, V>) -> u32 {
        match output {
            Output::Post { lane, .. } => lane.0,
            _ => panic!("only posts start threads"),
        }
    }
}
