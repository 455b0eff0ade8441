//! Where all the money is at the end of a run: nothing lost, nothing doubled but by cheats.
//!
//! The authority owes the value of every token in circulation to somebody. So the newest life
//! of each must be in some wallet or outbox, or on its way there; and if two continuations of
//! it are about, somebody has signed twice.
//!
//! Who has kept a token of a serial once counts as its cheat from then on, so a doubling of the
//! same serial that had another cause is put down to that owner.
//!
//! What deliberately does not live here: what the authority finds out by itself
//! ([`crate::token::Ledger::offences`]).

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::Random;
use crate::crypto::Crypto;
use crate::half_block::PublicKey;
use crate::token::{Handshake, Ledger, OwnCopy, Rules, Serial, Token};

use super::{AuthoritySession, Directory, Participant, WalletOwner};

/// A town's money, in cents, and who is accused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// All that was minted.
    pub minted_cents: u64,
    /// Of that, what was paid out.
    pub redeemed_cents: u64,
    /// Of that, what the authority owes.
    pub circulating_cents: u64,
    /// What came back twice and was refused the second time.
    pub refused_cents: u64,
    /// Of that, what somebody lost who had not signed twice.
    pub lost_cents: u64,
    /// What wallets hold and could spend, the same token counted wherever it is held.
    pub held_cents: u64,
    /// What waits for the authority's answer.
    pub pending_cents: u64,
    /// Tokens of which two continuations are about, that the authority has not seen both of.
    pub undetected_serials: u64,
    /// What they are worth.
    pub undetected_cents: u64,
    /// What the prototype's rules lost with an answer that did not arrive, or what was lost for want
    /// of a handshake with an answer that settled something else.
    pub vanished_cents: u64,
    /// Whom the authority has named, each for each token.
    pub accused: u64,
    /// Of those, who never signed a token over and kept it.
    pub wrongly_accused: u64,
    /// What each token is worth that somebody signed over and kept, in cents.
    pub kept_cents: BTreeMap<Serial, u64>,
}

/// Money that is not where it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

/// Audits a town.
///
/// # Errors
/// When money was lost, or doubled by nobody's double spend; when tokens that came back prove a
/// double spend and its cheat was not named, or somebody was whom they do not convict, or who is
/// honest. Without a handshake a replay makes an honest wallet owner spend twice, or lose what it
/// holds, and by the prototype's rules nothing is proved; neither is held against the town.
///
/// # Panics
/// When nobody in it is the authority.
pub fn audit<C: Crypto, R: Random>(
    town: &[Participant<C, R>],
    directory: &Directory,
    handshake: Handshake,
) -> Result<Audit, Violation> {
    let session = town.iter().find_map(Participant::authority_session);
    let session = session.expect("a town has an authority");
    let ledger = session.ledger();
    if ledger.books() != ledger.recount() {
        return Err(Violation("the authority's books do not add up".into()));
    }
    let claims = Claims::of(town);
    let mut found = totals(town, ledger);
    for (serial, copy) in ledger.copies().filter(|(_, copy)| is_circulating(copy)) {
        let tips = claims.tips(serial, copy);
        if tips == 0 && !claims.is_under_way(serial) {
            // The prototype gives no answer twice: what was reissued and not heard of is gone.
            // Without a handshake no answer says which submission it is for: a late one, or one to
            // a token that was sent again, settles another, whose own answer then comes for nothing.
            let can_vanish = session.rules() == Rules::Prototype || handshake == Handshake::None;
            if !can_vanish || copy.lives.len() == 1 {
                return Err(Violation(format!("token {serial:02x?} is nowhere")));
            }
            found.vanished_cents += copy.denomination.cents();
        }
        if tips > 1 {
            let is_cheated = town.iter().any(|one| one.has_kept(serial));
            if !is_cheated && handshake == Handshake::Challenge {
                return Err(Violation(format!("token {serial:02x?} is doubled")));
            }
            found.undetected_serials += 1;
            found.undetected_cents += copy.denomination.cents();
        }
    }
    let wrong = |(serial, culprit): &&(Serial, PublicKey)| {
        let node = directory.node(culprit);
        !node.is_some_and(|node| town[node.0 as usize].has_kept(serial))
    };
    found.accused = session.named().count() as u64;
    found.wrongly_accused = session.named().filter(wrong).count() as u64;
    if session.rules() == Rules::Thesis {
        check_accusations(session, found.wrongly_accused, handshake)?;
    }
    Ok(found)
}

fn check_accusations<C: Crypto, R: Random>(
    session: &AuthoritySession<C, R>,
    wrongly_accused: u64,
    handshake: Handshake,
) -> Result<(), Violation> {
    let offences = session.ledger().offences().into_iter();
    let proved: BTreeSet<_> = offences.map(|one| (one.serial, one.culprit)).collect();
    if !session.named().eq(&proved) {
        return Err(Violation(
            "whom the tokens convict was not named, or others were".into(),
        ));
    }
    if wrongly_accused > 0 && handshake == Handshake::Challenge {
        return Err(Violation(format!(
            "{wrongly_accused} were accused who did not cheat"
        )));
    }
    Ok(())
}

impl<C: Crypto, R: Random> Participant<C, R> {
    /// The authority, if it is that.
    pub fn authority_session(&self) -> Option<&AuthoritySession<C, R>> {
        match self {
            Self::AuthoritySession(session) => Some(session),
            Self::WalletOwner(_) => None,
        }
    }

    /// The wallet owner, if it is one.
    pub fn wallet_owner(&self) -> Option<&WalletOwner<C, R>> {
        match self {
            Self::WalletOwner(owner) => Some(owner),
            Self::AuthoritySession(_) => None,
        }
    }

    fn has_kept(&self, serial: &Serial) -> bool {
        self.wallet_owner()
            .is_some_and(|owner| owner.has_kept(serial))
    }
}

/// Who has what, or will have.
struct Claims<'a> {
    tokens: BTreeMap<Serial, Vec<&'a Token>>,
    under_way: BTreeSet<Serial>,
}

impl<'a> Claims<'a> {
    fn of<C: Crypto, R: Random>(town: &'a [Participant<C, R>]) -> Self {
        let mut claims = Self {
            tokens: BTreeMap::new(),
            under_way: BTreeSet::new(),
        };
        for owner in town.iter().filter_map(Participant::wallet_owner) {
            let wallet = owner.wallet();
            let pending = wallet.pending().map(|(token, _)| token);
            claims.add(wallet.held().chain(wallet.disputed()).chain(pending));
            claims.add(owner.refused());
            let pending = wallet.pending().map(|(token, _)| token.serial);
            claims.under_way.extend(pending.chain(owner.ordered()));
            for (payment, tokens) in owner.outbox() {
                // Who is at the end of a payment has its change, too.
                let payer = town[payment.origin().0 as usize].wallet_owner();
                if payer.is_some_and(|payer| payer.is_paying(&payment)) {
                    claims.add(tokens.iter());
                }
            }
        }
        claims
    }

    fn add(&mut self, tokens: impl Iterator<Item = &'a Token>) {
        for token in tokens {
            self.tokens.entry(token.serial).or_default().push(token);
        }
    }

    /// How many continuations of the newest life are about that do not continue each other.
    fn tips(&self, serial: &Serial, copy: &OwnCopy) -> usize {
        let nonce = copy.lives.last().expect("minted once").nonce;
        let all = self.tokens.get(serial).into_iter().flatten();
        let all: Vec<&Token> = all.filter(|token| token.nonce == nonce).copied().collect();
        let is_tip = |(place, token): &(usize, &&Token)| {
            let later = all.iter().enumerate();
            !later.clone().any(|(other, rival)| {
                let continues = rival.recipients().starts_with(token.recipients());
                let is_longer = rival.recipients().len() > token.recipients().len();
                continues && (is_longer || other < *place)
            })
        };
        all.iter().enumerate().filter(is_tip).count()
    }

    /// Whether its owner waits for the authority to send it.
    fn is_under_way(&self, serial: &Serial) -> bool {
        self.under_way.contains(serial)
    }
}

fn totals<C: Crypto, R: Random>(town: &[Participant<C, R>], ledger: &Ledger) -> Audit {
    let books = ledger.books();
    let wallets = town.iter().filter_map(Participant::wallet_owner);
    let mut found = Audit {
        minted_cents: books.minted_cents,
        redeemed_cents: books.redeemed_cents,
        circulating_cents: books.circulating_cents(),
        refused_cents: books.refused_cents,
        lost_cents: ledger.losses_cents().values().sum(),
        ..Audit::default()
    };
    for owner in wallets {
        let kept = owner.kept_serials().filter_map(|serial| {
            let copy = ledger.copy(&serial)?;
            Some((serial, copy.denomination.cents()))
        });
        found.kept_cents.extend(kept);
        found.held_cents += owner.wallet().held_cents();
        found.pending_cents += owner.wallet().pending_cents();
    }
    found
}

fn is_circulating(copy: &OwnCopy) -> bool {
    !copy.is_redeemed() && !copy.is_blacklisted
}
