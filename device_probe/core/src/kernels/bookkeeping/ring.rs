//! A batch on its way, step by step, in memory: who has what before each of them, and what is done.

use std::hint::black_box;

use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::crypto::{Counted, Crypto as _};
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::{
    decode_batch, encode_batch, Authority, Challenge, Client, Handshake, Intent, Journal, Ledger,
    Rules, Signer, Work,
};

use crate::kernel::Unmeasured;
use crate::kernels::inputs::ensure;
use crate::tokens::document::{AnswerFile, SubmissionFile};
use crate::tokens::folder::count_more;
use crate::tokens::steps::{self, Purse};
use crate::tokens::wallet_file::WalletFile;

/// What the commands find, one after the other, as a batch goes its way: from the authority to
/// alice, to bob, back for new tokens, and back for money.
pub(super) struct Ring {
    pub(super) cents: u64,
    pub(super) unminted: Bank,
    pub(super) minted: Bank,
    pub(super) reissued: Bank,
    pub(super) taken: Phone,
    pub(super) awaiting: Phone,
    pub(super) received: Phone,
    pub(super) submitted: Phone,
    pub(super) settled: Phone,
    pub(super) cashing: Phone,
    pub(super) paid: Vec<u8>,
    pub(super) asked: Vec<u8>,
    pub(super) answer: Vec<u8>,
    pub(super) redeeming: Vec<u8>,
    pub(super) payout: Vec<u8>,
}

impl Ring {
    pub(super) fn new(tokens: u32, cents: u64) -> Result<Self, Unmeasured> {
        let unminted = Bank::new();
        let (frames, batch) = unminted.mint(cents)?;
        let count = decode_batch(&batch).map_err(refused)?.len();
        ensure(count == tokens as usize, "a purse has other coins")?;
        let minted = unminted.after(&frames, batch.clone());
        let taken = Phone::new(ALICE).asking(key(BANK))?.receive(&batch)?;
        let (_, paid) = taken.pay(cents)?;
        let awaiting = Phone::new(BOB).asking(key(ALICE))?;
        let received = awaiting.receive(&paid)?;
        let (submitted, asked) = received.submit(Intent::Reissue)?;
        let (frames, answer) = minted.verify(&asked)?;
        let reissued = minted.after(&frames, batch);
        let settled = submitted.settle(&answer)?;
        let (cashing, redeeming) = settled.submit(Intent::Redeem)?;
        let (_, payout) = reissued.verify(&redeeming)?;
        let left = cashing.settle(&payout)?.open()?.0;
        let is_spent = left.wallet().held().count() + left.wallet().pending().count() == 0;
        ensure(is_spent, "what was redeemed is still there")?;
        Ok(Self {
            cents,
            unminted,
            minted,
            reissued,
            taken,
            awaiting,
            received,
            submitted,
            settled,
            cashing,
            paid,
            asked,
            answer,
            redeeming,
            payout,
        })
    }
}

/// An authority's journal, and the batch that it sent last.
pub(super) struct Bank {
    pub(super) journal: Vec<u8>,
    pub(super) sent: Vec<u8>,
}

impl Bank {
    pub(super) fn new() -> Self {
        Self {
            journal: Journal::snapshot(&Ledger::new(key(BANK))).1,
            sent: Vec::new(),
        }
    }

    pub(super) fn after(&self, frames: &[u8], sent: Vec<u8>) -> Self {
        let journal = [&self.journal[..], frames].concat();
        Self { journal, sent }
    }

    pub(super) fn open(&self) -> Result<(Authority<Counted>, Journal), Unmeasured> {
        let found = Journal::recover(&self.journal, &key(BANK));
        let found = found.map_err(|corrupt| refused(corrupt.reason))?;
        let minted = steps::minted(&found.ledger, steps::last_order(&found.ledger));
        let is_whole = self.sent == encode_batch(&minted);
        ensure(is_whole, "another batch was sent than minted")?;
        // As who opens the folder makes it to put back what may be missing.
        black_box(encode_batch(&minted));
        let authority = Authority::with_ledger(signer(BANK), Rules::Thesis, found.ledger);
        Ok((authority, found.journal))
    }

    /// The frames for the journal, and the batch.
    pub(super) fn mint(&self, cents: u64) -> Result<(Vec<u8>, Vec<u8>), Unmeasured> {
        let (mut authority, mut journal) = self.open()?;
        let purse = Purse {
            order: steps::last_order(authority.ledger()) + 1,
            first: key(ALICE),
            amount_cents: cents,
            challenge: Some(CHALLENGE),
        };
        let records = steps::mint(&mut authority, &purse, &mut Work::new(), |_| ());
        let frames = steps::frames(&mut journal, &records.map_err(refused)?);
        let batch = encode_batch(&steps::minted(authority.ledger(), purse.order));
        Ok((frames, batch))
    }

    /// The frames for the journal, and the answer.
    pub(super) fn verify(&self, submission: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Unmeasured> {
        let (mut authority, mut journal) = self.open()?;
        let file = SubmissionFile::decode(submission).map_err(refused)?;
        let submitter = file.submitter;
        let decided = steps::decide(&mut authority, file, &mut Work::new(), |_, _| ());
        let (records, verdicts) = decided.map_err(refused)?;
        ensure(records.len() == verdicts.len(), "a token was refused")?;
        let frames = steps::frames(&mut journal, &records);
        let answer = AnswerFile {
            authority: key(BANK),
            submitter,
            verdicts,
        };
        Ok((frames, answer.encode()))
    }

    /// The counts of refusals, after a file that is no submission.
    pub(super) fn refuse(&self, no_submission: &[u8]) -> Result<Vec<u8>, Unmeasured> {
        self.open()?;
        let opened = SubmissionFile::open(no_submission);
        ensure(opened.is_err(), "a submission is not refused")?;
        count_more(b"{}", std::iter::once("malformed")).map_err(refused)
    }
}

/// A phone and the file of its wallet.
pub(super) struct Phone {
    pub(super) node: u32,
    pub(super) wallet: Vec<u8>,
}

impl Phone {
    pub(super) fn new(node: u32) -> Self {
        let wallet = WalletFile::new(key(node)).encode();
        Self { node, wallet }
    }

    pub(super) fn open(&self) -> Result<(Client<Counted>, u32, Vec<u8>), Unmeasured> {
        let file = WalletFile::decode(&self.wallet).map_err(refused)?;
        let authorities = vec![key(BANK)];
        let client = Client::restore(
            signer(self.node),
            authorities,
            Handshake::Challenge,
            file.state,
        );
        Ok((client.map_err(refused)?, file.payments, file.last_payment))
    }

    pub(super) fn with(
        &self,
        client: &Client<Counted>,
        payments: u32,
        last_payment: Vec<u8>,
    ) -> Self {
        let file = WalletFile {
            owner: *client.public_key(),
            state: client.state(),
            payments,
            last_payment,
        };
        let (node, wallet) = (self.node, file.encode());
        Self { node, wallet }
    }

    pub(super) fn asking(&self, giver: PublicKey) -> Result<Self, Unmeasured> {
        let (mut client, payments, last_payment) = self.open()?;
        let asked = client.challenge(CHALLENGE, giver);
        ensure(asked == Ok(Some(CHALLENGE)), "no challenge")?;
        Ok(self.with(&client, payments, last_payment))
    }

    pub(super) fn receive(&self, batch: &[u8]) -> Result<Self, Unmeasured> {
        let (mut client, payments, last_payment) = self.open()?;
        let receipts = client.receive(decode_batch(batch).map_err(refused)?, &mut Work::new());
        let are_good = receipts.iter().all(|receipt| receipt.outcome.is_ok());
        ensure(are_good, "a token was refused")?;
        Ok(self.with(&client, payments, last_payment))
    }

    /// The phone after it, and the batch.
    pub(super) fn pay(&self, cents: u64) -> Result<(Self, Vec<u8>), Unmeasured> {
        let (mut client, payments, _) = self.open()?;
        let paid = client.pay(cents, key(BOB), Some(CHALLENGE), &mut Work::new());
        let tokens = paid.map_err(|_| Unmeasured::because("a purse does not pay"))?;
        let batch = encode_batch(&tokens);
        Ok((self.with(&client, payments + 1, batch.clone()), batch))
    }

    /// The phone after it, and the submission.
    pub(super) fn submit(&self, intent: Intent) -> Result<(Self, Vec<u8>), Unmeasured> {
        let (mut client, payments, last_payment) = self.open()?;
        steps::submit(&mut client, intent, &mut Work::new()).map_err(refused)?;
        let file = SubmissionFile {
            submitter: *client.public_key(),
            authority: key(BANK),
            requests: client.wallet().pending().cloned().collect(),
        };
        let after = self.with(&client, payments, last_payment);
        Ok((after, file.encode()))
    }

    pub(super) fn settle(&self, answer: &[u8]) -> Result<Self, Unmeasured> {
        let (mut client, payments, last_payment) = self.open()?;
        let file = AnswerFile::decode(answer).map_err(refused)?;
        let mut are_good = true;
        steps::settle(&mut client, file, &mut Work::new(), |_, receipt, _| {
            are_good &= receipt.is_some_and(|receipt| receipt.outcome.is_ok());
        });
        ensure(are_good, "an answer is a refusal")?;
        Ok(self.with(&client, payments, last_payment))
    }
}

fn signer(node: u32) -> Signer<Counted> {
    Signer::new(Counted::new(SESSION, NodeId(node)), [0; 32])
}

pub(super) fn key(node: u32) -> PublicKey {
    *signer(node).public_key()
}

fn refused(error: impl std::fmt::Display) -> Unmeasured {
    Unmeasured::because(error.to_string())
}

pub(super) const BANK: u32 = 0;
pub(super) const ALICE: u32 = 1;
const BOB: u32 = 2;
/// Of counted signatures; any will do.
const SESSION: u64 = 1;
const CHALLENGE: Challenge = [7; 16];
