//! The authority's own copy of a token: its whole verified history, and who cheated in it.
//!
//! A *life* begins when the authority signs a first pair (minting or reissuing)
//! and ends when the first *branch* of it comes back: the pairs after the first,
//! up to the authority's own. That branch is honoured. Whatever else comes back
//! later of the same life split off somewhere, and who signed both ways at the
//! split is the instigator (thesis IV-F). The thesis compares with its own copy,
//! which is the honoured branch; here refused branches are kept and compared too,
//! so that somebody who cheats further down a refused branch is also found.
//!
//! Two branches that go the same way to the authority are one submission, made
//! twice: its pair may carry other challenges and another proof, and nobody loses.
//!
//! What deliberately does not live here: what is answered, and books.

use std::collections::BTreeSet;

use crate::half_block::PublicKey;

use super::record::Record;
use super::{Denomination, Recipient, Serial, Token};

/// The pairs of a token after its first, the last of them the authority's.
pub type Branch = Vec<Recipient>;

/// One token as the authority knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCopy {
    /// What it is worth.
    pub denomination: Denomination,
    /// Whether its serial was withdrawn.
    pub is_blacklisted: bool,
    /// From its minting on; never empty, and only the last can be open.
    pub lives: Vec<Life>,
}

/// From one signature of the authority to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// What tells it from other lives.
    pub nonce: [u8; 64],
    /// Whom the authority gave it to.
    pub first: Recipient,
    /// How it came back first; none while it is open.
    pub honoured: Option<Branch>,
    /// How else it came back.
    pub refused: Vec<Branch>,
}

impl OwnCopy {
    /// The copy of a token as minted.
    pub(super) fn new(denomination: Denomination, minted: &Token) -> Self {
        Self {
            denomination,
            is_blacklisted: false,
            lives: vec![Life::new(minted)],
        }
    }

    /// Whether its value was paid out: no life of it is open.
    pub fn is_redeemed(&self) -> bool {
        self.last_life().honoured.is_some()
    }

    /// Its worth if it is not in circulation: paid out or withdrawn.
    pub(super) fn gone_cents(&self) -> u64 {
        let is_gone = self.is_redeemed() || self.is_blacklisted;
        if is_gone {
            self.denomination.cents()
        } else {
            0
        }
    }

    /// Worth of all that was refused of it.
    pub(super) fn refused_cents(&self) -> u64 {
        let refused: usize = self.lives.iter().map(|life| life.refused.len()).sum();
        self.denomination.cents() * refused as u64
    }

    /// The life that a received token belongs to, from the last backwards.
    pub fn life_of(&self, received: &Token) -> Option<usize> {
        let first = &received.recipients()[0];
        let same = |life: &Life| life.first == *first && life.nonce == received.nonce;
        self.lives.iter().rposition(same)
    }

    /// The token with which life number `number` began.
    pub fn issued(&self, serial: Serial, number: usize, authority: PublicKey) -> Option<Token> {
        let life = self.lives.get(number)?;
        let value = self.denomination.byte();
        Some(Token::new(serial, value, authority, life.nonce, life.first))
    }

    /// To enter into an empty ledger, in order, to have this copy of `serial` there.
    pub(super) fn records(
        &self,
        serial: Serial,
        authority: PublicKey,
    ) -> impl Iterator<Item = Record> + '_ {
        let lives = self.lives.iter().enumerate();
        lives.flat_map(move |(number, life)| {
            let issued = self.issued(serial, number, authority);
            let issued = issued.expect("a life of this copy");
            let refused = life.refused.iter();
            let refused = refused.map(move |branch| Record::Refused(received(&issued, branch)));
            std::iter::once(Record::Snapshot(serial, self.alone(life))).chain(refused)
        })
    }

    /// A copy with one life and without what was refused in it.
    fn alone(&self, life: &Life) -> Self {
        let refused = Vec::new();
        let life = Life {
            refused,
            honoured: life.honoured.clone(),
            ..*life
        };
        Self {
            lives: vec![life],
            ..*self
        }
    }

    /// Whether there is such a life, and it is over.
    pub(super) fn has_come_back(&self, number: usize) -> bool {
        let life = self.lives.get(number);
        life.is_some_and(|life| life.honoured.is_some())
    }

    pub(super) fn last_life(&self) -> &Life {
        self.lives.last().expect("a copy has a life")
    }
}

impl Life {
    pub(super) fn new(issued: &Token) -> Self {
        Self {
            nonce: issued.nonce,
            first: issued.recipients()[0],
            honoured: None,
            refused: Vec::new(),
        }
    }

    /// All that came back, the honoured branch first.
    pub fn branches(&self) -> impl Iterator<Item = &Branch> {
        self.honoured.iter().chain(&self.refused)
    }

    /// Who signed both `branch` and another continuation that came back.
    ///
    /// In the order of the branches, so the first is the instigator by the thesis: the
    /// signer of the first pair in which `branch` differs from the honoured one.
    pub fn instigators(&self, branch: &[Recipient], authority: &PublicKey) -> Vec<PublicKey> {
        let mut found = Vec::new();
        for other in self.branches() {
            let signer = self.split(other, branch, authority);
            found.extend(signer.filter(|signer| !found.contains(signer)));
        }
        found
    }

    /// Whether this very branch came back before.
    pub(super) fn knows(&self, branch: &[Recipient]) -> bool {
        self.branches().any(|known| known == branch)
    }

    /// Whether `branch` went the way that was honoured.
    pub fn is_honoured(&self, branch: &[Recipient], authority: &PublicKey) -> bool {
        let honoured = self.honoured.as_ref();
        honoured.is_some_and(|known| self.split(known, branch, authority).is_none())
    }

    /// Whether `branch` went a way that was refused.
    pub fn is_refused(&self, branch: &[Recipient], authority: &PublicKey) -> bool {
        let mut refused = self.refused.iter();
        refused.any(|known| self.split(known, branch, authority).is_none())
    }

    /// Everybody who signed two continuations of it that came back.
    pub fn culprits(&self, authority: &PublicKey) -> BTreeSet<PublicKey> {
        self.branches()
            .flat_map(|branch| self.instigators(branch, authority))
            .collect()
    }

    /// Who submitted a branch of it.
    pub fn submitter(&self, branch: &[Recipient]) -> PublicKey {
        match branch {
            [.., submitter, _authority] => submitter.key,
            _ => self.first.key,
        }
    }

    /// Who signed the first pair in which two branches differ; `None` if they go the same way.
    fn split(
        &self,
        one: &[Recipient],
        other: &[Recipient],
        authority: &PublicKey,
    ) -> Option<PublicKey> {
        let pairs = one.iter().zip(other);
        let place = pairs.take_while(|pair| same(pair, authority)).count();
        // Both end with the authority, and it never hands a token on: none is a part of the other.
        let goes_on = place < one.len().max(other.len());
        goes_on.then(|| match place {
            0 => self.first.key,
            _ => one[place - 1].key,
        })
    }
}

/// The token that came back: as `issued`, by way of `branch`.
fn received(issued: &Token, branch: &[Recipient]) -> Token {
    let mut token = issued.clone();
    let pushed = branch.iter().try_for_each(|pair| token.push(*pair));
    pushed.expect("it was a token");
    token
}

/// Whether `received` goes the way of `known` or stops on it, but for the authority's pairs.
///
/// The prototype says "had already redeemed" then, of who is last on it (VerifierCommunity.kt:176-179).
pub(super) fn stops_on(known: &[Recipient], received: &[Recipient]) -> bool {
    let without_authority = |branch: &[Recipient]| branch.len() - 1;
    let received = &received[..without_authority(received)];
    known[..without_authority(known)].starts_with(received)
}

fn same((one, other): &(&Recipient, &Recipient), authority: &PublicKey) -> bool {
    one == other || one.key == *authority && other.key == *authority
}
