//! The authority: mints, verifies in six steps (thesis IV-E), reissues, and names who cheated.
//!
//! The steps: 1. at least three recipients, the last of them the authority;
//! 2. the last but one is who submits it; 3. the authority's own serial, in
//! circulation and not blacklisted; 4. the chain of proofs; 5. the first proof is
//! that of its own copy's open life; 6. the token is issued anew with one
//! recipient, 287 bytes. Of a life, the first branch that comes back is honoured.
//!
//! Ours, beside that: a submission that was honoured and comes again (its answer was
//! lost) gets the same answer again and changes nothing, until what it was reissued as comes back:
//! whoever spent that had the answer, and would put a token of the past in the place of a good one.
//! One that was refused is judged again, by what is known by then. A token can be redeemed; a nonce starts with the challenge of whom the
//! token is for, if the receiver gave one. To withdraw a serial ends its circulation and not
//! the search: what comes back of a life that is over is compared all the same.
//!
//! What it decides is a [`Record`]. Its answer may leave when that record, and
//! all before it, are durable: a crash then loses nothing that anybody was told.
//!
//! What deliberately does not live here: the store (see [`super::Journal`]), the
//! accounts that tokens are bought from and redeemed to, and who is punished how.

use crate::crypto::Crypto;
use crate::half_block::PublicKey;

use super::ledger::{branch, Ledger};
use super::own_copy::{stops_on, Branch, Life, OwnCopy};
use super::proofs::{chain_holds, first_proof_holds, mint, Promise, Signer, Work};
use super::record::Record;
use super::request::{Answer, Decision, Order, SerialTaken, Submission};
use super::wallet::Intent;
use super::{Challenge, Denomination, Recipient, Refusal, Serial, Token, RECIPIENTS_TAKEN};

crate::named_enum! {
    /// Whose rules an authority follows.
    Rules {
        /// VerifierCommunity.kt:56-185: no step 2, no blacklist, a reissue's nonce is the last
        /// proof; only the plain layout. A branch is compared with the own copy only, names one
        /// key, and nothing of it is kept. A submission that comes again, or stops short of the
        /// known way, gets nothing, and its last holder is named for it ("had already redeemed
        /// their tokens and continued spending them", 176-179): a message that the network
        /// doubled, or a holder who was robbed of the answer, accuses an innocent.
        Prototype = "prototype",
        /// Thesis IV-E: all six steps, and a fresh random nonce.
        Thesis = "thesis",
    }
}

/// Who mints tokens and takes them back.
pub struct Authority<C> {
    signer: Signer<C>,
    rules: Rules,
    recipients_max: usize,
    ledger: Ledger,
}

impl<C: Crypto> Authority<C> {
    /// That has minted nothing.
    pub fn new(signer: Signer<C>, rules: Rules) -> Self {
        let ledger = Ledger::new(*signer.public_key());
        Self::with_ledger(signer, rules, ledger)
    }

    /// As it was before a crash, with the ledger of its journal.
    pub fn with_ledger(signer: Signer<C>, rules: Rules, ledger: Ledger) -> Self {
        let key = signer.public_key();
        assert_eq!(ledger.authority(), key, "the ledger of another authority");
        Self {
            signer,
            rules,
            recipients_max: RECIPIENTS_TAKEN,
            ledger,
        }
    }

    /// Which takes tokens of up to `count` recipients, itself among them; else it is
    /// [`RECIPIENTS_TAKEN`]. Clients need no less, or they would not be paid out.
    pub fn with_recipients_max(mut self, count: usize) -> Self {
        self.recipients_max = count;
        self
    }

    /// Its name.
    pub fn public_key(&self) -> &PublicKey {
        self.signer.public_key()
    }

    /// Whose rules it follows.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// What it remembers.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Mint a token; `random` becomes its nonce. No record if the order came before.
    ///
    /// # Errors
    /// When another order had the same serial.
    pub fn mint(
        &mut self,
        order: &Order,
        random: [u8; 64],
        work: &mut Work,
    ) -> Result<(Option<Record>, Token), SerialTaken> {
        if let Some(copy) = self.ledger.copy(&order.serial) {
            return self.minted_before(copy, order).map(|token| (None, token));
        }
        let promise = Promise {
            serial: order.serial,
            denomination: order.denomination,
            nonce: answering(random, order.challenge),
            first: order.first,
        };
        let token = mint(&self.signer, &promise, work);
        let record = Record::Minted(token.clone());
        self.enter(&record);
        Ok((Some(record), token))
    }

    /// Verify a submitted token, and reissue, redeem or refuse it; `random` is for its new nonce.
    pub fn decide(
        &mut self,
        submission: &Submission,
        random: [u8; 64],
        work: &mut Work,
    ) -> Decision {
        let decision = match self.judge(submission, work) {
            Ok(Ruling::Honour) => self.honour(submission, random, work),
            Ok(Ruling::Repeat(answer)) => Decision {
                record: None,
                answer,
            },
            Ok(Ruling::Split { culprits, evidence }) => {
                let dropped = evidence == Evidence::Dropped;
                dropped.then(|| self.ledger.count_dropped());
                Decision {
                    record: (evidence == Evidence::New)
                        .then(|| Record::Refused(submission.token.clone())),
                    answer: refused(submission, Refusal::DoubleSpend, culprits),
                }
            }
            Ok(Ruling::StopsShort) => Decision {
                record: None,
                answer: refused(
                    submission,
                    Refusal::AlreadyRedeemed,
                    vec![holder(&submission.token)],
                ),
            },
            Err(reason) => Decision {
                record: None,
                answer: refused(submission, reason, Vec::new()),
            },
        };
        decision.record.iter().for_each(|record| self.enter(record));
        decision
    }

    /// Withdraw a serial from circulation; `None` if it is not in circulation.
    pub fn blacklist(&mut self, serial: &Serial) -> Option<Record> {
        let record = Record::Blacklisted(*serial);
        self.ledger.apply(&record).ok()?;
        Some(record)
    }

    fn enter(&mut self, record: &Record) {
        let entered = self.ledger.apply(record);
        entered.expect("what was judged on this ledger fits it");
    }

    fn minted_before(&self, copy: &OwnCopy, order: &Order) -> Result<Token, SerialTaken> {
        let token = copy.issued(order.serial, 0, *self.public_key());
        let same = |token: &Token| {
            let challenge = order.challenge.unwrap_or_default();
            copy.denomination == order.denomination
                && token.last_recipient().key == order.first
                && (order.challenge.is_none() || token.nonce.starts_with(&challenge))
        };
        token.filter(same).ok_or(SerialTaken)
    }

    fn judge(&self, submission: &Submission, work: &mut Work) -> Result<Ruling, Refusal> {
        let token = &submission.token;
        self.judge_shape(submission)?;
        let copy = self.judge_standing(token)?;
        let Some(number) = copy.life_of(token) else {
            let is_signed = first_proof_holds::<C>(token, work);
            ensure(is_signed, Refusal::InvalidFirstProof)?;
            return Err(Refusal::NeverIssued);
        };
        let is_withdrawn = self.rules == Rules::Thesis && copy.is_blacklisted;
        let is_open = copy.lives[number].honoured.is_none();
        ensure(!(is_withdrawn && is_open), Refusal::Blacklisted)?;
        // What is here byte for byte was verified before; the prototype verifies it again.
        if self.rules == Rules::Prototype || !copy.lives[number].knows(&branch(token)) {
            let first_holds = first_proof_holds::<C>(token, work);
            ensure(first_holds, Refusal::InvalidFirstProof)?;
            ensure(chain_holds::<C>(token, work), Refusal::InvalidProof)?;
        }
        match &copy.lives[number].honoured {
            None => Ok(Ruling::Honour),
            Some(honoured) if self.rules == Rules::Prototype => {
                Ok(self.compare_as_prototype(&copy.lives[number], honoured, token))
            }
            Some(_) => match self.compare(copy, number, token) {
                Ruling::Repeat(_) if copy.has_come_back(number + 1) => {
                    Err(Refusal::AlreadyRedeemed)
                }
                // What it was reissued as, or will be, is worth nothing any more.
                Ruling::Repeat(_) if is_withdrawn => Err(Refusal::Blacklisted),
                ruling => Ok(ruling),
            },
        }
    }

    /// Steps 1 and 2.
    fn judge_shape(&self, submission: &Submission) -> Result<(), Refusal> {
        let token = &submission.token;
        let least = match submission.intent {
            Intent::Reissue => 3,
            // Ours: who has a fresh token may cash it in.
            Intent::Redeem => 2,
        };
        let readable = self.rules == Rules::Thesis || !token.is_challenged();
        ensure(readable, Refusal::UnknownLayout)?;
        let count = token.recipients().len();
        ensure(count >= least, Refusal::TooFewRecipients)?;
        ensure(count <= self.recipients_max, Refusal::NoRoom)?;
        ensure(
            token.last_recipient().key == *self.public_key(),
            Refusal::WrongRecipient,
        )?;
        let submits = self.rules == Rules::Prototype || holder(token) == submission.submitter;
        ensure(submits, Refusal::WrongSubmitter)
    }

    /// Step 3.
    fn judge_standing(&self, token: &Token) -> Result<&OwnCopy, Refusal> {
        ensure(
            token.authority == *self.public_key(),
            Refusal::UnknownAuthority,
        )?;
        let copy = self.ledger.copy(&token.serial);
        let copy = copy.ok_or(Refusal::UnknownSerial)?;
        ensure(token.value == copy.denomination.byte(), Refusal::WrongValue)?;
        Ok(copy)
    }

    /// Step 5 for a life that is over.
    fn compare(&self, copy: &OwnCopy, number: usize, token: &Token) -> Ruling {
        let life = &copy.lives[number];
        let received = branch(token);
        let culprits = life.instigators(&received, self.public_key());
        if life.is_honoured(&received, self.public_key()) {
            return Ruling::Repeat(self.answer_again(copy, number, token));
        }
        let evidence = self.evidence(life, &received, &culprits);
        Ruling::Split { culprits, evidence }
    }

    /// The prototype's findDoubleSpend (VerifierCommunity.kt:136-185).
    fn compare_as_prototype(&self, life: &Life, honoured: &[Recipient], token: &Token) -> Ruling {
        let received = branch(token);
        if stops_on(honoured, &received) {
            return Ruling::StopsShort;
        }
        let mut culprits = life.instigators(&received, self.public_key());
        culprits.truncate(1);
        let evidence = Evidence::Known;
        Ruling::Split { culprits, evidence }
    }

    /// A life that has branches enough still takes one that names somebody new: else a cheat
    /// could fill it in its own name, and buy immunity for its other keys.
    fn evidence(&self, life: &Life, received: &Branch, culprits: &[PublicKey]) -> Evidence {
        if life.is_refused(received, self.public_key()) {
            return Evidence::Known;
        }
        let names_new = || {
            let known = life.culprits(self.public_key());
            culprits.iter().any(|one| !known.contains(one))
        };
        if life.refused.len() < REFUSED_MAX || names_new() {
            Evidence::New
        } else {
            Evidence::Dropped
        }
    }

    fn answer_again(&self, copy: &OwnCopy, number: usize, token: &Token) -> Answer {
        let next = copy.issued(token.serial, number + 1, *self.public_key());
        next.map_or(redeemed(token), Answer::Reissued)
    }

    fn honour(&self, submission: &Submission, random: [u8; 64], work: &mut Work) -> Decision {
        let received = submission.token.clone();
        if submission.intent == Intent::Redeem {
            return Decision {
                answer: redeemed(&received),
                record: Some(Record::Redeemed(received)),
            };
        }
        let promise = Promise {
            serial: received.serial,
            denomination: Denomination::from_byte(received.value).expect("as it was minted"),
            nonce: self.nonce(&received, random),
            first: holder(&received),
        };
        let reissued = mint(&self.signer, &promise, work);
        Decision {
            answer: Answer::Reissued(reissued.clone()),
            record: Some(Record::Reissued { received, reissued }),
        }
    }

    fn nonce(&self, received: &Token, random: [u8; 64]) -> [u8; 64] {
        match self.rules {
            Rules::Prototype => before_authority(received).proof,
            Rules::Thesis => answering(random, received.last_recipient().challenge),
        }
    }
}

/// What the six steps come to, if none refuses.
enum Ruling {
    Honour,
    StopsShort,
    Repeat(Answer),
    Split {
        culprits: Vec<PublicKey>,
        evidence: Evidence,
    },
}

/// What becomes of a refused branch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// To be kept.
    New,
    /// Here already, or of no use by these rules.
    Known,
    /// Not kept, for want of room.
    Dropped,
}

fn redeemed(received: &Token) -> Answer {
    Answer::Redeemed {
        serial: received.serial,
        last_proof: received.last_recipient().proof,
    }
}

fn refused(submission: &Submission, reason: Refusal, culprits: Vec<PublicKey>) -> Answer {
    Answer::Refused {
        serial: submission.token.serial,
        last_proof: submission.token.last_recipient().proof,
        reason,
        culprits,
    }
}

/// Who signed a token over to the authority.
fn holder(submitted: &Token) -> PublicKey {
    before_authority(submitted).key
}

fn before_authority(submitted: &Token) -> &Recipient {
    let recipients = submitted.recipients();
    &recipients[recipients.len() - 2]
}

fn answering(mut random: [u8; 64], challenge: Option<Challenge>) -> [u8; 64] {
    if let Some(challenge) = challenge {
        random[..challenge.len()].copy_from_slice(&challenge);
    }
    random
}

fn ensure(holds: bool, refusal: Refusal) -> Result<(), Refusal> {
    holds.then_some(()).ok_or(refusal)
}

/// Branches kept as evidence for each life: a cheat who signs thousands must not fill the store.
/// Later ones are refused with their instigator all the same, and kept if they name a new one.
const REFUSED_MAX: usize = 64;
