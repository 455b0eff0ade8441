//! Payments with offline tokens: what payers, payees and the authority say to each other.
//!
//! A payment takes four messages between two phones that need nobody else:
//!
//! ```text
//! payer                       payee
//!   | Offer (amount, tendered)  |
//!   |-------------------------->|  draws a challenge, looks for change
//!   |     Request (challenge)   |
//!   |<--------------------------|
//!   | Payment (tokens)          |  the tokens are signed away: this message is repeated,
//!   |-------------------------->|  byte for byte, until it is answered
//!   |     Receipt (change)      |
//!   |<--------------------------|  and so is this one, whenever the payment comes again
//! ```
//!
//! A wallet owner calls on the authority now and then to settle: `Hello`, and after its `Welcome`
//! orders for new tokens and submissions of what payers gave it. No `Welcome`, no network:
//! nothing is signed away to an authority that was not heard just before. With
//! [`Acceptance::Online`] a payee does all this before it takes a payment, as EuroToken's
//! gateway does; that is what offline money is compared with.
//!
//! How far a payment can be at either end, and what leads where, is in tables ([`PAYER`], [`PAYEE`]).
//!
//! What deliberately does not live here: how tokens are signed, judged and kept
//! ([`crate::token`]), how messages travel, and accounts that tokens are bought from.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::contract::{AppRequest, Application, Machine, NodeId, OutputsOf, Random, Seconds};
use crate::crypto::Crypto;
use crate::half_block::PublicKey;

mod audit;
mod authority_session;
mod message;
mod payee;
mod payer;
mod settlement;
mod states;
mod wallet_owner;

pub use audit::{audit, Audit, Violation};
pub use authority_session::AuthoritySession;
pub use message::{Body, Message, Terms};
pub use states::{PayeeEvent, PayeeState, PayerEvent, PayerState, PAYEE, PAYER};
pub use wallet_owner::WalletOwner;

crate::named_enum! {
    /// When a payee takes a payment for good.
    Acceptance {
        /// After its own three-step verification (thesis IV-C).
        Offline = "offline",
        /// When the authority has reissued the tokens: nothing is paid without a network.
        Online = "online",
    }
}

/// How a wallet owner deals with money.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalletOwnerConfig {
    /// When it takes a payment for good.
    pub acceptance: Acceptance,
    /// With how many cents it fills its wallet.
    pub full_cents: u64,
    /// Below how many it does so.
    pub low_cents: u64,
    /// Whether it cashes in what is above `full_cents`, as a shop does.
    pub redeems: bool,
    /// Whether it remembers what it paid with, to replay it.
    pub replays: bool,
    /// How many tokens it submits at a time.
    pub batch_tokens: usize,
    /// Seconds between two calls on the authority.
    pub settle_interval_s: Seconds,
    /// When it calls first, so that not all phones do at once.
    pub first_call_s: Seconds,
    /// How long it tries to agree on a payment, seconds.
    pub payment_timeout_s: Seconds,
}

/// Who is who: every node's key, and which is the authority.
#[derive(Clone, Debug)]
pub struct Directory {
    keys: Vec<PublicKey>,
    nodes: BTreeMap<PublicKey, NodeId>,
    authority: NodeId,
}

impl Directory {
    /// Of nodes 0.. with these keys.
    ///
    /// # Panics
    /// When `authority` is none of them.
    pub fn new(keys: Vec<PublicKey>, authority: NodeId) -> Arc<Self> {
        assert!(
            (authority.0 as usize) < keys.len(),
            "an authority without a key"
        );
        let nodes = keys.iter().zip(0..).map(|(key, node)| (*key, NodeId(node)));
        Arc::new(Self {
            nodes: nodes.collect(),
            keys,
            authority,
        })
    }

    /// The authority's node.
    pub fn authority(&self) -> NodeId {
        self.authority
    }

    /// The key of `node`.
    pub fn key(&self, node: NodeId) -> Option<PublicKey> {
        self.keys.get(node.0 as usize).copied()
    }

    /// Whose key this is.
    pub fn node(&self, key: &PublicKey) -> Option<NodeId> {
        self.nodes.get(key).copied()
    }
}

/// One node of a town: somebody with a wallet, or the authority.
pub enum Participant<C, R> {
    /// A person or a shop.
    WalletOwner(Box<WalletOwner<C, R>>),
    /// The authority.
    AuthoritySession(Box<AuthoritySession<C, R>>),
}

impl<C: Crypto, R: Random> Machine for Participant<C, R> {
    type Message = Message;
    type Request = AppRequest<Message>;
    type Value = ();

    fn receive(&mut self, from: NodeId, message: Message, now: Seconds, out: &mut OutputsOf<Self>) {
        match self {
            Self::WalletOwner(owner) => owner.receive(from, message, now, out),
            Self::AuthoritySession(session) => session.receive(from, message, out),
        }
    }

    fn command(&mut self, request: Self::Request, now: Seconds, out: &mut OutputsOf<Self>) {
        match (self, request) {
            (
                Self::WalletOwner(owner),
                AppRequest::Pay {
                    peer,
                    amount_cents,
                    conduct,
                },
            ) => {
                owner.pay(peer, u64::from(amount_cents), conduct, now, out);
            }
            // What matters is repeated until it is answered, whatever became of one copy.
            (_, AppRequest::Undelivered { .. }) => {}
            (Self::AuthoritySession(_), AppRequest::Pay { .. }) => {
                unreachable!("the authority pays nobody")
            }
            (_, AppRequest::Transact { .. }) => unreachable!("a town has no blocks"),
        }
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        if let Self::WalletOwner(owner) = self {
            owner.handle_timeout(now, out);
        }
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        match self {
            Self::WalletOwner(owner) => owner.next_timeout(),
            Self::AuthoritySession(_) => None,
        }
    }
}

impl<C: Crypto, R: Random> Application for Participant<C, R> {
    type Block = Message;
}

/// What every part of this module writes to.
type Out = crate::contract::Outputs<Message, AppRequest<Message>, ()>;
