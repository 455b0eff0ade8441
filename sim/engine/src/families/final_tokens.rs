//! Which tokens every phone of a town has at the end of a run, byte for byte.
//!
//! What deliberately does not live here: whether they add up
//! ([`pocketsim_protocols::payment::audit`]), and files.

use pocketsim_protocols::contract::Random;
use pocketsim_protocols::crypto::Crypto;
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::named_enum;
use pocketsim_protocols::payment::{Participant, WalletOwner};
use pocketsim_protocols::token::Token;

named_enum! {
    /// What a phone has a token for.
    Standing {
        /// It can spend it.
        Held = "held",
        /// It was submitted, and no answer has come.
        Pending = "pending",
        /// It came while another of its serial was there: to submit, not to spend.
        Disputed = "disputed",
        /// It was signed over to a payee and is kept to be sent again; the payee may have it, too.
        SignedAway = "signed_away",
    }
}

/// Tokens as columns of one length, by phone, then by standing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalTokens {
    /// The key that every first proof verifies with.
    pub authority: PublicKey,
    /// Which phone.
    pub node: Vec<u32>,
    /// What it has the token for.
    pub standing: Vec<Standing>,
    /// As [`Token::encode`] writes it.
    pub token: Vec<Vec<u8>>,
}

impl FinalTokens {
    /// What everybody in `town` has of the tokens of `authority`.
    pub fn of<C: Crypto, R: Random>(town: &[Participant<C, R>], authority: PublicKey) -> Self {
        let mut found = Self {
            authority,
            node: vec![],
            standing: vec![],
            token: vec![],
        };
        for (participant, node) in town.iter().zip(0..) {
            if let Some(owner) = participant.wallet_owner() {
                found.add_all(node, owner);
            }
        }
        found
    }

    fn add_all<C: Crypto, R: Random>(&mut self, node: u32, owner: &WalletOwner<C, R>) {
        let wallet = owner.wallet();
        self.add(node, Standing::Held, wallet.held());
        let pending = wallet.pending().map(|(token, _)| token);
        self.add(node, Standing::Pending, pending);
        self.add(node, Standing::Disputed, wallet.disputed());
        let signed_away = owner.outbox().flat_map(|(_, tokens)| tokens);
        self.add(node, Standing::SignedAway, signed_away);
    }

    fn add<'a>(&mut self, node: u32, standing: Standing, tokens: impl Iterator<Item = &'a Token>) {
        for token in tokens {
            self.node.push(node);
            self.standing.push(standing);
            self.token.push(token.encode());
        }
    }
}
