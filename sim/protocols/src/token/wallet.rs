//! What a client holds: verified and unverified tokens, and those with the authority.
//!
//! *Verified* is a token as the authority made it, with one recipient; one that
//! came from another client is *unverified* until the authority has reissued it
//! (ClientCommunity.kt:75-99 keeps the same two sets). A token that was submitted
//! is *pending* and cannot be spent: its holder has signed it away, and to sign it
//! to somebody else would be the crime.
//!
//! What deliberately does not live here: signatures, and what may come in.

use std::collections::BTreeMap;

use super::{Change, Denomination, Held, Serial, Token};

crate::named_enum! {
    /// What a client wants of the authority for a token.
    Intent {
        /// A fresh token of the same value.
        Reissue = "reissue",
        /// Its value, out of circulation; the thesis has no such step.
        Redeem = "redeem",
    }
}

/// Tokens of one client, at most one for each serial.
#[derive(Clone, Debug, Default)]
pub struct Wallet {
    held: BTreeMap<Serial, Token>,
    pending: BTreeMap<Serial, (Token, Intent)>,
}

impl Wallet {
    /// Tokens that can be spent, in the order of their serials.
    pub fn held(&self) -> impl Iterator<Item = &Token> {
        self.held.values()
    }

    /// Tokens that came from other clients: the authority may yet refuse them.
    pub fn unverified(&self) -> impl Iterator<Item = &Token> {
        self.held().filter(|token| token.recipients().len() > 1)
    }

    /// Tokens as submitted, for which no answer has come, and what for.
    pub fn pending(&self) -> impl Iterator<Item = &(Token, Intent)> {
        self.pending.values()
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
    /// that comes back is the one that counts.
    pub fn to_submit(&self) -> Vec<Serial> {
        let mut tokens: Vec<&Token> = self.unverified().collect();
        tokens.sort_by_key(|token| std::cmp::Reverse(token.recipients().len()));
        tokens.iter().map(|token| token.serial).collect()
    }

    /// Tokens for `amount_cents`, or for the nearest payable amount above it; and what they are.
    ///
    /// Only tokens with room for another recipient. Of equal ones those with the longest
    /// history go first: what stays is short, so cheap to carry, or was verified.
    pub fn select(&self, amount_cents: u64, challenged: bool) -> Option<(Change, Vec<Serial>)> {
        let mut drawers = self.drawers(challenged);
        let counts = |drawer: &Vec<&Token>| u32::try_from(drawer.len()).expect("fits in memory");
        let held: Held = std::array::from_fn(|place| counts(&drawers[place]));
        let change = Change::nearest(amount_cents, &held)?;
        let mut serials = Vec::new();
        for (drawer, count) in drawers.iter_mut().zip(change.counts) {
            drawer.sort_by_key(|token| std::cmp::Reverse(token.recipients().len()));
            serials.extend(drawer[..count as usize].iter().map(|token| token.serial));
        }
        Some((change, serials))
    }

    /// The spendable tokens by denomination.
    fn drawers(&self, challenged: bool) -> [Vec<&Token>; Denomination::COUNT] {
        let mut drawers = [const { Vec::new() }; Denomination::COUNT];
        for token in self.held() {
            if token.can_take(challenged).is_ok() {
                drawers[denomination(token).place()].push(token);
            }
        }
        drawers
    }

    pub(super) fn token(&self, serial: &Serial) -> Option<&Token> {
        self.held.get(serial)
    }

    pub(super) fn submitted(&self, serial: &Serial) -> Option<&Token> {
        self.pending.get(serial).map(|(token, _)| token)
    }

    /// Takes the place of the one that was submitted, if one was.
    pub(super) fn put(&mut self, token: Token) {
        self.pending.remove(&token.serial);
        self.held.insert(token.serial, token);
    }

    pub(super) fn take(&mut self, serial: &Serial) -> Option<Token> {
        self.held.remove(serial)
    }

    pub(super) fn put_pending(&mut self, token: Token, intent: Intent) {
        self.pending.insert(token.serial, (token, intent));
    }

    pub(super) fn take_pending(&mut self, serial: &Serial) -> Option<Token> {
        self.pending.remove(serial).map(|(token, _)| token)
    }
}

fn denomination(token: &Token) -> Denomination {
    Denomination::from_byte(token.value).expect("a wallet takes denominations only")
}

fn cents(token: &Token) -> u64 {
    denomination(token).cents()
}
