//! What is asked of an authority, and what it answers.
//!
//! What deliberately does not live here: their bytes, which are for who carries them, and deciding.

use crate::half_block::PublicKey;

use super::record::Record;
use super::wallet::Intent;
use super::{Challenge, Denomination, Refusal, Serial, Token};

/// Whom to mint for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Drawn once for this order: the same order with it gives the same token again.
    pub serial: Serial,
    /// What it is worth.
    pub denomination: Denomination,
    /// Who gets it.
    pub first: PublicKey,
    /// What the nonce has to start with, if the recipient asks for that.
    pub challenge: Option<Challenge>,
}

/// Another order has this serial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialTaken;

/// A token that somebody sends in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Who sends it, as the layer below has authenticated it.
    pub submitter: PublicKey,
    /// The token, its last recipient the authority.
    pub token: Token,
    /// What for.
    pub intent: Intent,
}

/// What the authority answers to the submitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The token of a new life.
    Reissued(Token),
    /// Its value is paid out.
    Redeemed {
        /// Which token.
        serial: Serial,
        /// Of the submission: its last proof. A serial comes back many times, and an answer that
        /// was late or came twice must not settle another submission of it.
        last_proof: [u8; 64],
    },
    /// Nothing.
    Refused {
        /// Which token.
        serial: Serial,
        /// Of the submission: its last proof.
        last_proof: [u8; 64],
        /// Why.
        reason: Refusal,
        /// Who signed two continuations of it: first by the thesis's comparison with the
        /// honoured branch, then by comparison with branches that were refused before. By the
        /// prototype's rules whom it names, at most one, who need not have signed anything twice.
        culprits: Vec<PublicKey>,
    },
}

impl Answer {
    /// The token that it is about.
    pub fn serial(&self) -> Serial {
        match self {
            Self::Reissued(token) => token.serial,
            Self::Redeemed { serial, .. } | Self::Refused { serial, .. } => *serial,
        }
    }
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// To be durable, with all before it, before the answer leaves; none if nothing changed.
    pub record: Option<Record>,
    /// For the submitter.
    pub answer: Answer,
}
