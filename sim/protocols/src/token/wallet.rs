//! What a client holds: verified and unverified tokens, and those with the authority.
//!
//! *Verified* is a token as the authority made it, with one recipient; one that
//! came from another client is *unverified* until the authority has reissued it
//! (ClientCommunity.kt:75-99 keeps the same two sets). A token that was submitted
//! is *pending* and cannot be spent: its holder has signed it away, and to sign it
//! to somebody else would be the crime. *Disputed* is a token whose serial is held
//! already: somebody before has spent it twice, and which of the two the authority
//! will honour depends on what came back first. It is no payment, yet whoever
//! signed it over no longer has it, so it is kept, to be submitted and not spent.
//!
//! A serial is its authority's name for a token: tokens of two authorities may have the same,
//! and are two tokens. Where a caller names a serial only, any of them is meant.
//!
//! What deliberately does not live here: signatures, and what may come in.

use std::collections::{BTreeMap, BTreeSet};

use crate::half_block::PublicKey;

use super::{Change, Denomination, Held, Serial, Token, RECIPIENTS_TAKEN};

crate::named_enum! {
    /// What a client wants of the authority for a token.
    Intent {
        /// A fresh token of the same value.
        Reissue = "reissue",
        /// Its value, out of circulation; the thesis has no such step.
        Redeem = "redeem",
    }
}

/// What names a token among all authorities.
pub(super) type Id = (Serial, PublicKey);

/// Tokens of one client, at most one of each serial of an authority to spend.
#[derive(Clone, Debug)]
pub struct Wallet {
    pub(super) recipients_max: usize,
    held: BTreeMap<Id, Token>,
    pending: BTreeMap<Id, (Token, Intent)>,
    disputed: BTreeMap<Id, Vec<Token>>,
}

impl Default for Wallet {
    fn default() -> Self {
        Self {
            recipients_max: RECIPIENTS_TAKEN,
            held: BTreeMap::new(),
            pending: BTreeMap::new(),
            disputed: BTreeMap::new(),
        }
    }
}

impl Wallet {
    /// Tokens that can be spent, in the order of their serials.
    pub fn held(&self) -> impl Iterator<Item = &Token> {
        self.held.values()
    }

    /// Tokens that came from other clients: the authority may yet refuse them.
    pub fn unverified(&self) -> impl Iterator<Item = &Token> {
        self.held().filter(|token| !is_fresh(token))
    }

    /// Tokens as submitted, for which no answer has come, and what for.
    pub fn pending(&self) -> impl Iterator<Item = &(Token, Intent)> {
        self.pending.values()
    }

    /// Tokens that came while another of their serial was here.
    pub fn disputed(&self) -> impl Iterator<Item = &Token> {
        self.disputed.values().flatten()
    }

    /// Worth of all that can be spent, in cents.
    pub fn held_cents(&self) -> u64 {
        self.held().map(cents).sum()
    }

    /// Worth of what the authority has not verified, in cents.
    pub fn unverified_cents(&self) -> u64 {
        self.unverified().map(cents).sum()
    }

    /// Worth of what is with the authority, in cents.
    pub fn pending_cents(&self) -> u64 {
        self.pending().map(|(token, _)| cents(token)).sum()
    }

    /// Unverified tokens to submit when the authority is back: the longest history first.
    ///
    /// Each hand that a token went through may have spent it twice, and the first branch
    /// that comes back is the one that counts. One of each serial: disputed ones follow
    /// when that is answered.
    pub fn to_submit(&self) -> Vec<Serial> {
        let doubted = self.disputed.values().flatten();
        let open = |token: &&Token| !self.pending.contains_key(&id(token));
        let mut tokens: Vec<&Token> = self.unverified().chain(doubted).filter(open).collect();
        tokens.sort_by_key(|token| std::cmp::Reverse(token.recipients().len()));
        let mut seen = BTreeSet::new();
        tokens.retain(|token| seen.insert(id(token)));
        tokens.iter().map(|token| token.serial).collect()
    }

    /// Tokens for `amount_cents`, or for the nearest payable amount above it; and what they are.
    ///
    /// Only undisputed tokens with room for two more recipients. Of equal ones those with the longest
    /// history go first: what stays is short, so cheap to carry, or was verified.
    pub fn select(&self, amount_cents: u64, challenged: bool) -> Option<(Change, Vec<Serial>)> {
        let (change, ids) = self.choose(amount_cents, challenged, None)?;
        Some((change, ids.into_iter().map(|(serial, _)| serial).collect()))
    }

    /// As [`Wallet::select`], for somebody: an authority is not paid with its own tokens.
    pub(super) fn choose(
        &self,
        amount_cents: u64,
        challenged: bool,
        to: Option<&PublicKey>,
    ) -> Option<(Change, Vec<Id>)> {
        let mut drawers = self.drawers(challenged, to);
        let counts = |drawer: &Vec<&Token>| u32::try_from(drawer.len()).expect("fits in memory");
        let held: Held = std::array::from_fn(|place| counts(&drawers[place]));
        let change = Change::nearest(amount_cents, &held)?;
        let mut ids = Vec::new();
        for (drawer, count) in drawers.iter_mut().zip(change.counts) {
            drawer.sort_by_key(|token| std::cmp::Reverse(token.recipients().len()));
            ids.extend(drawer[..count as usize].iter().map(|token| id(token)));
        }
        Some((change, ids))
    }

    /// The tokens that may be spent on `to` by denomination.
    fn drawers(
        &self,
        challenged: bool,
        to: Option<&PublicKey>,
    ) -> [Vec<&Token>; Denomination::COUNT] {
        let mut drawers = [const { Vec::new() }; Denomination::COUNT];
        let spendable = self
            .held()
            .filter(|token| self.is_payable(token, challenged));
        for token in spendable.filter(|token| self.is_for(token, to)) {
            drawers[denomination(token).place()].push(token);
        }
        drawers
    }

    /// A held token of `serial` that may be spent on `to`.
    pub(super) fn spendable(&self, serial: &Serial, to: &PublicKey) -> Option<&Token> {
        let mut tokens = of(&self.held, serial).map(|(_, token)| token);
        tokens.find(|token| self.is_for(token, Some(to)))
    }

    /// Undoubted, and not for its own authority: what is signed to that is a submission, and
    /// would be spent without becoming pending.
    fn is_for(&self, token: &Token, to: Option<&PublicKey>) -> bool {
        !self.is_doubted(token) && to != Some(&token.authority)
    }

    /// Whether another token of its serial is here or with the authority, and may be the good one.
    fn is_doubted(&self, token: &Token) -> bool {
        let id = &id(token);
        let is_rivalled = self.disputed.contains_key(id) || self.pending.contains_key(id);
        !is_fresh(token) && is_rivalled
    }

    pub(super) fn put_disputed(&mut self, token: Token) {
        self.disputed.entry(id(&token)).or_default().push(token);
    }

    /// Whether it can be handed on so that who gets it can hand it to the authority.
    pub(super) fn is_payable(&self, token: &Token, challenged: bool) -> bool {
        token.can_take(challenged).is_ok() && self.room(token, challenged) > 1
    }

    /// How many more recipients it can have before the authority refuses it.
    pub(super) fn room(&self, token: &Token, challenged: bool) -> usize {
        let taken = self.recipients_max.saturating_sub(token.recipients().len());
        taken.min(token.room(challenged))
    }

    /// A held token of `serial`, whatever is known against it.
    pub(super) fn token(&self, serial: &Serial) -> Option<&Token> {
        of(&self.held, serial).map(|(_, token)| token).next()
    }

    pub(super) fn holds(&self, id: &Id) -> bool {
        self.held.contains_key(id)
    }

    pub(super) fn submitted(&self, id: &Id) -> Option<&Token> {
        self.pending.get(id).map(|(token, _)| token)
    }

    /// A reissued token takes the place of the one that was submitted, and of an older one.
    pub(super) fn put(&mut self, token: Token) {
        if is_fresh(&token) {
            self.pending.remove(&id(&token));
        }
        self.held.insert(id(&token), token);
    }

    /// Keep a token beside the one that is here, unless it is of no use there.
    pub(super) fn dispute(&mut self, token: Token) {
        if !self.is_useless(&token) {
            self.put_disputed(token);
        }
    }

    /// Whether a token can be kept as disputed, or need not be.
    pub(super) fn has_room_to_dispute(&self, token: &Token) -> bool {
        let count = self.disputed.get(&id(token)).map_or(0, Vec::len);
        count < DISPUTED_MAX || self.is_useless(token)
    }

    pub(super) fn take(&mut self, id: &Id) -> Option<Token> {
        self.held.remove(id)
    }

    /// What to submit of a serial: a fresh token to cash in, or else the longest history, as in
    /// [`Wallet::to_submit`]; of equal ones the held one.
    pub(super) fn take_to_submit(&mut self, serial: &Serial, intent: Intent) -> Option<Token> {
        let held = of(&self.held, serial).map(|(id, token)| (*id, None, token));
        let disputed = of(&self.disputed, serial).flat_map(|(id, tokens)| {
            let tokens = tokens.iter().enumerate();
            tokens.map(|(place, token)| (*id, Some(place), token))
        });
        let (id, place, _) = disputed
            .chain(held)
            .filter(|(id, _, _)| !self.pending.contains_key(id))
            .filter(|(_, _, token)| intent == Intent::Redeem || !is_fresh(token))
            .max_by_key(|(_, _, token)| (is_fresh(token), token.recipients().len()))?;
        match place {
            None => self.take(&id),
            Some(place) => self.take_disputed(&id, place),
        }
    }

    /// Whether it is of a life that is over, or the very same is here.
    fn is_useless(&self, token: &Token) -> bool {
        is_fresh(token) || self.knows(token)
    }

    /// Whether this very token is here, or was submitted.
    fn knows(&self, token: &Token) -> bool {
        let id = &id(token);
        let here = self.held.get(id).into_iter();
        let doubted = self.disputed.get(id).into_iter().flatten();
        here.chain(self.submitted(id))
            .chain(doubted)
            .any(|known| known.recipients().starts_with(token.recipients()))
    }

    fn take_disputed(&mut self, id: &Id, place: usize) -> Option<Token> {
        let tokens = self.disputed.get_mut(id)?;
        let token = tokens.remove(place);
        if tokens.is_empty() {
            self.disputed.remove(id);
        }
        Some(token)
    }

    pub(super) fn put_pending(&mut self, token: Token, intent: Intent) {
        self.pending.insert(id(&token), (token, intent));
    }

    /// The submission of a serial that ends with this proof.
    pub(super) fn take_pending(&mut self, serial: &Serial, last_proof: &[u8; 64]) -> Option<Token> {
        let answered = |token: &Token| token.last_recipient().proof == *last_proof;
        let (&id, _) = of(&self.pending, serial)
            .filter(|(_, (token, _))| answered(token))
            .last()?;
        self.pending.remove(&id).map(|(token, _)| token)
    }
}

pub(super) fn id(token: &Token) -> Id {
    (token.serial, token.authority)
}

/// What is kept of a serial, by whichever authority.
fn of<'a, T>(
    tokens: &'a BTreeMap<Id, T>,
    serial: &Serial,
) -> impl Iterator<Item = (&'a Id, &'a T)> {
    let (first, last) = (PublicKey([0; 74]), PublicKey([u8::MAX; 74]));
    tokens.range((*serial, first)..=(*serial, last))
}

/// Whether it is as the authority made it.
fn is_fresh(token: &Token) -> bool {
    token.recipients().len() == 1
}

fn denomination(token: &Token) -> Denomination {
    Denomination::from_byte(token.value).expect("a wallet takes denominations only")
}

fn cents(token: &Token) -> u64 {
    denomination(token).cents()
}

/// Of one serial, so that who spends one cent a thousand times does not crowd out others. How many
/// serials there are is bounded by the money that was minted.
pub(super) const DISPUTED_MAX: usize = 16;
