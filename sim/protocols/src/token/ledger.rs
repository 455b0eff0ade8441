//! All own copies of the authority, changed by records only, and the books over them.
//!
//! A record says what has been decided; to apply the records of a journal in
//! order gives the ledger that decided them. A record that does not fit is a
//! damaged journal or our mistake, and is refused.
//!
//! What deliberately does not live here: deciding, and bytes.

use std::collections::BTreeMap;

use crate::half_block::PublicKey;

use super::own_copy::{Branch, Life, OwnCopy};
use super::record::Record;
use super::{Denomination, Serial, Token};

/// Why a record does not fit the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inconsistent(pub(super) &'static str);

/// Where the minted money is, in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// All that was ever minted.
    pub minted_cents: u64,
    /// Of that, what was paid out.
    pub redeemed_cents: u64,
    /// Of that, what is withdrawn: neither paid out nor accepted.
    pub blacklisted_cents: u64,
    /// Beside that, branches refused as double spends and kept: what cheats promised twice. By
    /// the prototype's rules none is kept, so it counts none.
    pub refused_cents: u64,
    /// How many refused submissions were not kept: their life had branches enough, and they
    /// named nobody new. One that is sent again counts again; a restart counts from 0.
    pub dropped_branches: u64,
}

impl Books {
    /// What the authority owes to the holders of tokens.
    pub fn circulating_cents(&self) -> u64 {
        self.minted_cents - self.redeemed_cents - self.blacklisted_cents
    }
}

/// Somebody signed two continuations of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offence {
    /// Which token.
    pub serial: Serial,
    /// In which of its lives, from 0.
    pub life: usize,
    /// Who.
    pub culprit: PublicKey,
}

/// What the authority remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    authority: PublicKey,
    copies: BTreeMap<Serial, OwnCopy>,
    books: Books,
}

impl Ledger {
    /// With nothing minted.
    pub fn new(authority: PublicKey) -> Self {
        Self {
            authority,
            copies: BTreeMap::new(),
            books: Books::default(),
        }
    }

    /// Whose it is.
    pub fn authority(&self) -> &PublicKey {
        &self.authority
    }

    /// Sums over all copies, kept with every record.
    pub fn books(&self) -> Books {
        self.books
    }

    /// Own copies, in the order of their serials.
    pub fn copies(&self) -> impl Iterator<Item = (&Serial, &OwnCopy)> {
        self.copies.iter()
    }

    /// The own copy of one token.
    pub fn copy(&self, serial: &Serial) -> Option<&OwnCopy> {
        self.copies.get(serial)
    }

    /// Every offence that the copies prove.
    pub fn offences(&self) -> Vec<Offence> {
        let mut offences = Vec::new();
        for (&serial, number, life) in self.split_lives() {
            let offence = |culprit| Offence {
                serial,
                life: number,
                culprit,
            };
            offences.extend(life.culprits(&self.authority).into_iter().map(offence));
        }
        offences
    }

    /// Who was refused, with how many cents, for what somebody else did; as far as the refused
    /// branches are kept (see [`Books::dropped_branches`]).
    pub fn losses_cents(&self) -> BTreeMap<PublicKey, u64> {
        let mut losses = BTreeMap::new();
        for (serial, _, life) in self.split_lives() {
            let cents = self.copies[serial].denomination.cents();
            let culprits = life.culprits(&self.authority);
            let submitters = life.refused.iter().map(|branch| life.submitter(branch));
            for loser in submitters.filter(|submitter| !culprits.contains(submitter)) {
                *losses.entry(loser).or_default() += cents;
            }
        }
        losses
    }

    /// The books as a count over all copies gives them: a check of [`Ledger::books`].
    pub fn recount(&self) -> Books {
        let mut books = Books {
            dropped_branches: self.books.dropped_branches,
            ..Books::default()
        };
        self.copies.values().for_each(|copy| books.count(copy));
        books
    }

    /// Enter what was decided.
    ///
    /// # Errors
    /// When it does not fit; the ledger is then as it was.
    pub fn apply(&mut self, record: &Record) -> Result<(), Inconsistent> {
        match record {
            Record::Minted(token) => self.enter_minted(token),
            Record::Reissued { received, reissued } => self.enter_reissued(received, reissued),
            Record::Redeemed(received) => self.enter_redeemed(received),
            Record::Refused(received) => self.enter_refused(received),
            Record::Blacklisted(serial) => self.enter_blacklisted(serial),
            Record::Snapshot(serial, copy) => self.enter_snapshot(*serial, copy),
        }
    }

    pub(super) fn count_dropped(&mut self) {
        self.books.dropped_branches += 1;
    }

    fn split_lives(&self) -> impl Iterator<Item = (&Serial, usize, &Life)> {
        let copies = self.copies.iter();
        copies
            .flat_map(|(serial, copy)| {
                let lives = copy.lives.iter().enumerate();
                lives.map(move |(number, life)| (serial, number, life))
            })
            .filter(|(_, _, life)| !life.refused.is_empty())
    }

    fn enter_minted(&mut self, token: &Token) -> Result<(), Inconsistent> {
        let denomination = Denomination::from_byte(token.value)
            .ok_or(Inconsistent("minted with a value that is no denomination"))?;
        self.ensure_fresh(token)?;
        ensure(
            !self.copies.contains_key(&token.serial),
            "a serial minted twice",
        )?;
        let copy = OwnCopy::new(denomination, token);
        self.copies.insert(token.serial, copy);
        self.books.minted_cents += denomination.cents();
        Ok(())
    }

    fn enter_reissued(&mut self, received: &Token, reissued: &Token) -> Result<(), Inconsistent> {
        self.ensure_fresh(reissued)?;
        ensure(
            received.serial == reissued.serial && received.value == reissued.value,
            "reissued as another token",
        )?;
        let copy = self.close(received)?;
        copy.lives.push(Life::new(reissued));
        Ok(())
    }

    fn enter_redeemed(&mut self, received: &Token) -> Result<(), Inconsistent> {
        let copy = self.close(received)?;
        let (cents, was_blacklisted) = (copy.denomination.cents(), copy.is_blacklisted);
        self.books.redeemed_cents += cents;
        // The prototype's rules have no blacklist, and pay all the same.
        self.books.blacklisted_cents -= if was_blacklisted { cents } else { 0 };
        Ok(())
    }

    fn enter_refused(&mut self, received: &Token) -> Result<(), Inconsistent> {
        let (copy, number) = self.life(received)?;
        let life = &mut copy.lives[number];
        ensure(life.honoured.is_some(), "refused before anything came back")?;
        life.refused.push(branch(received));
        let cents = copy.denomination.cents();
        self.books.refused_cents += cents;
        Ok(())
    }

    fn enter_blacklisted(&mut self, serial: &Serial) -> Result<(), Inconsistent> {
        let copy = self.copies.get_mut(serial).ok_or(UNKNOWN)?;
        ensure(
            !copy.is_blacklisted && !copy.is_redeemed(),
            "blacklisted what is not in circulation",
        )?;
        copy.is_blacklisted = true;
        self.books.blacklisted_cents += copy.denomination.cents();
        Ok(())
    }

    fn enter_snapshot(&mut self, serial: Serial, copy: &OwnCopy) -> Result<(), Inconsistent> {
        let Some(known) = self.copies.get_mut(&serial) else {
            self.books.count(copy);
            self.copies.insert(serial, copy.clone());
            return Ok(());
        };
        ensure(
            known.denomination == copy.denomination && known.is_blacklisted == copy.is_blacklisted,
            "lives of another copy",
        )?;
        // Only the last life of a copy can be open.
        ensure(known.is_redeemed(), "a serial kept twice")?;
        self.books.uncount(known);
        known.lives.extend(copy.lives.iter().cloned());
        self.books.count(known);
        Ok(())
    }

    /// The open life ends with the way that `received` took.
    fn close(&mut self, received: &Token) -> Result<&mut OwnCopy, Inconsistent> {
        let (copy, number) = self.life(received)?;
        ensure(!copy.is_redeemed(), "came back after it was redeemed")?;
        ensure(
            number + 1 == copy.lives.len(),
            "honoured in a life that is over",
        )?;
        copy.lives[number].honoured = Some(branch(received));
        Ok(copy)
    }

    fn life(&mut self, received: &Token) -> Result<(&mut OwnCopy, usize), Inconsistent> {
        ensure(received.recipients().len() > 1, "received without a branch")?;
        let copy = self.copies.get_mut(&received.serial).ok_or(UNKNOWN)?;
        let number = copy
            .life_of(received)
            .ok_or(Inconsistent("a life that never began"))?;
        Ok((copy, number))
    }

    fn ensure_fresh(&self, token: &Token) -> Result<(), Inconsistent> {
        ensure(
            token.recipients().len() == 1 && token.authority == self.authority,
            "issued otherwise than fresh by this authority",
        )
    }
}

impl Books {
    fn count(&mut self, copy: &OwnCopy) {
        self.minted_cents += copy.denomination.cents();
        *self.account_of(copy) += copy.gone_cents();
        self.refused_cents += copy.refused_cents();
    }

    fn uncount(&mut self, copy: &OwnCopy) {
        self.minted_cents -= copy.denomination.cents();
        *self.account_of(copy) -= copy.gone_cents();
        self.refused_cents -= copy.refused_cents();
    }

    /// Where a copy that is not in circulation counts.
    fn account_of(&mut self, copy: &OwnCopy) -> &mut u64 {
        if copy.is_redeemed() {
            &mut self.redeemed_cents
        } else {
            &mut self.blacklisted_cents
        }
    }
}

/// The pairs of a received token after its first.
pub(super) fn branch(received: &Token) -> Branch {
    received.recipients()[1..].to_vec()
}

fn ensure(holds: bool, reason: &'static str) -> Result<(), Inconsistent> {
    holds.then_some(()).ok_or(Inconsistent(reason))
}

const UNKNOWN: Inconsistent = Inconsistent("a serial that was never minted");
