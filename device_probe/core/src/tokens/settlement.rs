//! Which verdicts of an answer a client heeds.
//!
//! What deliberately does not live here: whose answer it is (see [`super::document`]).

use std::collections::BTreeMap;

use pocketsim_protocols::crypto::Real;
use pocketsim_protocols::token::{Answer, Client, Serial, Work};

use super::document::{fingerprint, AnswerFile};
use super::outcome::Tally;

/// Only verdicts on what is pending now: an old one on another branch is no answer to it.
pub(super) fn settle_all(
    client: &mut Client<Real>,
    file: AnswerFile,
    tally: &mut Tally,
    work: &mut Work,
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
        match receipt.map(|receipt| receipt.outcome) {
            Some(Ok(denomination)) => tally.well(denomination),
            Some(Err(reason)) => tally.refuse(&serial, reason, &culprits),
            None => tally.refuse_as(&serial, "not_pending"),
        }
    }
}
