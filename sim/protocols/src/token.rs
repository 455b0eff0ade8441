//! Offline tokens: spend without a network, catch the cheat afterwards (Koning's thesis, IV).
//!
//! A token is minted by an [`Authority`], handed from [`Client`] to client by
//! signatures alone, and comes back to the authority, which reissues it short or
//! names who spent it twice. All of it is machines without I/O: random bytes and
//! what was received come in as arguments, tokens, answers and records for the
//! store come out, and every signature that was made or checked is entered into
//! a [`Work`] list for the driver to charge.
//!
//! Where the prototype (KoningR/eurotoken) and the thesis differ, [`Rules`] and
//! [`Handshake`] choose.
//!
//! What deliberately does not live here: messages, timers and who talks to whom
//! (an application does that), accounts that tokens are bought from, and who may
//! learn whose key.

mod authority;
mod challenges;
mod change;
mod client;
mod denomination;
pub mod disk;
mod journal;
mod layout;
mod ledger;
mod own_copy;
mod proofs;
mod record;
mod refusal;
mod request;
mod state;
mod wallet;

pub use authority::{Authority, Rules};
pub use challenges::{Asked, Busy};
pub use change::{Change, Held};
pub use client::{Client, Handshake, Receipt, Unpayable};
pub use denomination::Denomination;
pub use journal::{Corrupt, Journal, Recovered};
pub use layout::*;
pub use ledger::{Books, Inconsistent, Ledger, Offence};
pub use own_copy::{Branch, Life, OwnCopy};
pub use proofs::{chain_holds, first_proof_holds, mint, transfer, Promise, Signer, Work};
pub use record::Record;
pub use refusal::Refusal;
pub use request::{Answer, Decision, Order, SerialTaken, Submission};
pub use state::State;
pub use wallet::{Intent, Wallet};
