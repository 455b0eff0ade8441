//! What is said, and how many bytes that takes.
//!
//! The prototype has one message, a batch of tokens (EuroCommunity.kt:52-59), and no change, no
//! orders and no receipts. So all but the tokens is our layout: a kind of 1 byte and the
//! payment's number of 8, then the fields in the order of their declaration, amounts as 4 bytes,
//! an option as a byte and what is in it, a list without a count as in the prototype. Larger amounts
//! are not agreed on.
//!
//! What deliberately does not live here: parsing. In the simulator messages stay values, and no
//! node sends these on a network yet.

use std::sync::Arc;

use crate::contract::{work, MessageId, NodeId, Operation, Output, Payload, Reason};
use crate::token::{Answer, Challenge, Order, Submission, Token};

use super::Out;

/// One message; its number is new for each copy that is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// What tells it from all others, copies of it included.
    pub id: MessageId,
    /// What it says.
    pub body: Body,
}

/// What a payer wants for its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What the payment is about, in cents.
    pub amount_cents: u64,
    /// What the tokens come to; the difference is change.
    pub tendered_cents: u64,
    /// What the proofs of the change must answer, with the handshake.
    pub challenge: Option<Challenge>,
}

/// What is said.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Payer to payee: I would pay so much.
    Offer {
        /// Which payment.
        payment: MessageId,
        /// What it is about, in cents.
        amount_cents: u64,
        /// What the payer's tokens come to; it wants the difference back.
        tendered_cents: u64,
    },
    /// Payee to payer: then pay, with this in the proofs.
    Request {
        /// Which payment.
        payment: MessageId,
        /// What the proofs must answer, with the handshake.
        challenge: Option<Challenge>,
    },
    /// Payee to payer: no, I have no change.
    Decline {
        /// Which payment.
        payment: MessageId,
    },
    /// Payer to payee: I will not pay any more.
    Cancel {
        /// Which payment.
        payment: MessageId,
    },
    /// Payer to payee: here it is.
    Payment {
        /// Which payment.
        payment: MessageId,
        /// What for, and what comes back.
        terms: Terms,
        /// The tokens, signed over.
        tokens: Arc<[Token]>,
    },
    /// Payee to payer: thank you, or why not.
    Receipt {
        /// Which payment.
        payment: MessageId,
        /// Why it was not taken.
        refusal: Option<Reason>,
        /// The change.
        change: Arc<[Token]>,
    },
    /// Anybody to the authority: are you there?
    Hello,
    /// The authority: I am.
    Welcome,
    /// Anybody to the authority: I want new tokens.
    Orders(Arc<[Order]>),
    /// The authority: here they are.
    Minted(Arc<[Token]>),
    /// Anybody to the authority: tokens that I was paid with.
    Submissions(Arc<[Submission]>),
    /// The authority: what becomes of them.
    Answers(Arc<[Answer]>),
}

impl Payload for Message {
    fn wire_bytes(&self) -> u32 {
        let fields = match &self.body {
            Body::Offer { .. } => 2 * AMOUNT_BYTES,
            Body::Request { challenge, .. } => option(challenge),
            Body::Payment { terms, tokens, .. } => {
                2 * AMOUNT_BYTES + option(&terms.challenge) + batch(tokens)
            }
            Body::Receipt { change, .. } => 1 + batch(change),
            Body::Decline { .. } | Body::Cancel { .. } | Body::Hello | Body::Welcome => 0,
            Body::Orders(orders) => KEY_BYTES + orders.iter().map(order).sum::<usize>(),
            Body::Minted(tokens) => batch(tokens),
            Body::Submissions(all) => all.iter().map(|one| 1 + one.token.wire_bytes()).sum(),
            Body::Answers(answers) => answers.iter().map(answer).sum(),
        };
        u32::try_from(HEADER_BYTES + fields).expect("a batch of tokens is far below 4 GiB")
    }

    fn message_id(&self) -> MessageId {
        self.id
    }
}

/// Numbers what one node sends.
pub(super) struct Sender {
    pub(super) node: NodeId,
    next_sequence: u32,
}

impl Sender {
    pub(super) fn new(node: NodeId) -> Self {
        Self {
            node,
            next_sequence: 0,
        }
    }

    /// A number that no message of this node had.
    pub(super) fn next_id(&mut self) -> MessageId {
        let id = MessageId::new(self.node, self.next_sequence);
        self.next_sequence += 1;
        id
    }

    /// Sends `body` as a message of its own.
    pub(super) fn send(&mut self, to: NodeId, body: Body, out: &mut Out) {
        let id = self.next_id();
        let message = Message { id, body };
        work(out, Operation::Encode, message.wire_bytes());
        out.push(Output::Send { to, message });
    }
}

/// Bytes of `tokens` one after the other.
pub(super) fn batch(tokens: &[Token]) -> usize {
    tokens.iter().map(Token::wire_bytes).sum()
}

fn option(challenge: &Option<Challenge>) -> usize {
    1 + challenge.map_or(0, |challenge| challenge.len())
}

fn order(order: &Order) -> usize {
    order.serial.len() + 1 + option(&order.challenge)
}

fn answer(answer: &Answer) -> usize {
    1 + match answer {
        Answer::Reissued(token) => token.wire_bytes(),
        Answer::Redeemed { serial, last_proof } => serial.len() + last_proof.len(),
        Answer::Refused {
            serial,
            last_proof,
            culprits,
            ..
        } => serial.len() + last_proof.len() + 2 + culprits.len() * KEY_BYTES,
    }
}

/// Kind and number of the payment.
const HEADER_BYTES: usize = 9;
/// Up to 42 million EUR.
const AMOUNT_BYTES: usize = 4;
/// A public key of IPv8 (thesis IV-A).
const KEY_BYTES: usize = 74;
