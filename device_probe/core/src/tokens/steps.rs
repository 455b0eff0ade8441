//! What the commands do with tokens in memory, between one file and the next.
//!
//! Folders call it with real signatures, and kernels with counted ones, to time what is left. What
//! deliberately does not live here: files, and whose key signs whole documents.

use std::collections::BTreeMap;

use pocketsim_protocols::crypto::Crypto;
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::{
    Answer, Authority, Challenge, Client, Denomination, Intent, Journal, Ledger, Order, Receipt,
    Record, Serial, Submission, Token, Work,
};

use super::document::{fingerprint, AnswerFile, SubmissionFile};
use super::folder::RECEIVED_BYTES_MAX;
use super::keys::random;
use super::{amount, TokensError};

/// Coins that somebody wants to have, in one batch.
pub(crate) struct Purse {
    /// The number of the order, from 1.
    pub order: u32,
    /// For whom they are.
    pub first: PublicKey,
    /// What they are worth together; they pay every amount up to it.
    pub amount_cents: u64,
    /// What the payee asked to be in their nonces.
    pub challenge: Option<Challenge>,
}

/// A token's bytes as a fingerprint, and what was decided about it.
pub(crate) type Verdict = ([u8; 32], Answer);

/// Mint a purse; `minted` hears of every coin.
///
/// # Errors
/// When the system has no random bytes.
pub(crate) fn mint<C: Crypto>(
    authority: &mut Authority<C>,
    purse: &Purse,
    work: &mut Work,
    mut minted: impl FnMut(Denomination),
) -> Result<Vec<Record>, TokensError> {
    let mut records = Vec::new();
    for (index, denomination) in (0..).zip(amount::purse(purse.amount_cents)) {
        let order = Order {
            serial: serial(purse.order, index),
            denomination,
            first: purse.first,
            challenge: purse.challenge,
        };
        let (record, _) = authority
            .mint(&order, random()?, work)
            .expect("an order's number is new");
        records.extend(record);
        minted(denomination);
    }
    Ok(records)
}

/// Decide about all that was submitted; `decided` hears of each.
///
/// # Errors
/// When the system has no random bytes.
pub(crate) fn decide<C: Crypto>(
    authority: &mut Authority<C>,
    file: SubmissionFile,
    work: &mut Work,
    mut decided: impl FnMut(&Submission, &Answer),
) -> Result<(Vec<Record>, Vec<Verdict>), TokensError> {
    let submitter = file.submitter;
    let (mut records, mut verdicts) = (Vec::new(), Vec::new());
    for (token, intent) in file.requests {
        let submission = Submission {
            submitter,
            token,
            intent,
        };
        let decision = authority.decide(&submission, random()?, work);
        records.extend(decision.record);
        decided(&submission, &decision.answer);
        verdicts.push((fingerprint(&submission.token), decision.answer));
    }
    Ok((records, verdicts))
}

/// What makes records durable, once it is appended to the journal.
pub(crate) fn frames(journal: &mut Journal, records: &[Record]) -> Vec<u8> {
    let frames = records.iter().map(|record| journal.append(record));
    frames.collect::<Vec<_>>().concat()
}

/// The number of the last order; they are numbered from 1, and it is 0 if there was none.
pub(crate) fn last_order(ledger: &Ledger) -> u32 {
    let last = ledger.copies().last();
    last.map_or(0, |(serial, _)| order_of(serial))
}

/// The tokens of one order, as they were minted.
pub(crate) fn minted(ledger: &Ledger, order: u32) -> Vec<Token> {
    let own = ledger
        .copies()
        .filter(|(serial, _)| order_of(serial) == order);
    own.filter_map(|(serial, copy)| copy.issued(*serial, 0, *ledger.authority()))
        .collect()
}

/// Sign over to the authority what it has not verified, or with [`Intent::Redeem`] all that is held,
/// as much as it reads in one file. It is pending then.
///
/// # Errors
/// When the system has no random bytes.
pub(crate) fn submit<C: Crypto>(
    client: &mut Client<C>,
    intent: Intent,
    work: &mut Work,
) -> Result<(), TokensError> {
    let pending = client.wallet().pending();
    let mut bytes: usize = pending.map(|(token, _)| token.wire_bytes()).sum();
    for serial in to_submit(client, intent) {
        if bytes >= SUBMITTED_BYTES {
            break;
        }
        let submitted = client.submit(&serial, intent, random()?, work);
        bytes += submitted.map_or(0, |submission| submission.token.wire_bytes());
    }
    Ok(())
}

fn to_submit<C: Crypto>(client: &Client<C>, intent: Intent) -> Vec<Serial> {
    let wallet = client.wallet();
    let mut serials = wallet.to_submit();
    if intent == Intent::Redeem {
        let held = wallet.held().map(|token| token.serial);
        let fresh: Vec<Serial> = held.filter(|serial| !serials.contains(serial)).collect();
        serials.extend(fresh);
    }
    serials
}

/// Heed an answer: only verdicts on what is pending now, as an old one on another branch is no answer
/// to it. `settled` hears of each, with nothing where it was not.
pub(crate) fn settle<C: Crypto>(
    client: &mut Client<C>,
    file: AnswerFile,
    work: &mut Work,
    mut settled: impl FnMut(&Serial, Option<Receipt>, &[PublicKey]),
) {
    let pending = client.wallet().pending();
    let pending: BTreeMap<Serial, [u8; 32]> = pending
        .map(|(token, _)| (token.serial, fingerprint(token)))
        .collect();
    for (submitted, answer) in file.verdicts {
        let serial = answer.serial();
        let culprits = match &answer {
            Answer::Refused { culprits, .. } => culprits.clone(),
            _ => Vec::new(),
        };
        let is_asked = pending.get(&serial) == Some(&submitted);
        let receipt = is_asked.then(|| client.settle(answer, work)).flatten();
        settled(&serial, receipt, &culprits);
    }
}

/// The number of the order, then of the token in it: what was minted is found again.
fn serial(order: u32, index: u32) -> Serial {
    ((u64::from(order) << 32) | u64::from(index)).to_be_bytes()
}

fn order_of(serial: &Serial) -> u32 {
    (u64::from_be_bytes(*serial) >> 32) as u32
}

/// Tokens after which a submission takes no more. Half of what the authority reads: the last token
/// has any length up to 5 MB, and each request five bytes beside its token.
const SUBMITTED_BYTES: usize = RECEIVED_BYTES_MAX as usize / 2;
