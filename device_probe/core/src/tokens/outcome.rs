//! What a step came to, and what it cost: figures for people and as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pocketsim_protocols::contract::Operation;
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::{Asked, Denomination, Offence, Refusal, Serial, Work};
use serde::Serialize;

use crate::clock::Clock;

/// What became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// `mint`, `request`, `forget`, `pay`, `receive`, `submit`, `verify` or `settle`.
    pub step: &'static str,
    /// How many tokens went well.
    pub tokens: usize,
    /// What these are worth, in cents.
    pub amount_cents: u64,
    /// The challenge that was handed out, in hexadecimal digits.
    pub challenge: Option<String>,
    /// Where a copy of what was released is kept.
    pub kept: Option<PathBuf>,
    /// What was refused, in order.
    pub refused: Vec<Refused>,
    /// What it cost.
    pub cost: Cost,
}

/// One token, or a whole file, that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Which token, in hexadecimal digits; null for a whole file.
    pub serial: Option<String>,
    /// Why: a name of [`Refusal`], `malformed`, `bad_signature` or `not_pending`.
    pub reason: &'static str,
    /// What is malformed.
    pub detail: Option<&'static str>,
    /// Keys of who signed two continuations of it.
    pub culprits: Vec<String>,
}

/// What was spent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Signatures made, of tokens and of files.
    pub signatures_made: usize,
    /// Signatures checked, of tokens and of files.
    pub signatures_checked: usize,
    /// CPU time of the process, in seconds, from opening the folder.
    pub cpu_s: f64,
    /// Time by the clock, in seconds, with what the disk took.
    pub duration_s: f64,
    /// Tokens, with those that were refused, over that time.
    pub tokens_per_s: f64,
}

/// What a client's folder holds.
#[derive(Clone, Debug, Serialize)]
pub struct ClientBalance {
    /// Always `client`.
    pub role: &'static str,
    /// Its public key.
    pub key: String,
    /// Whose tokens it takes.
    pub authority: String,
    /// `challenge` or `none`.
    pub handshake: &'static str,
    /// Tokens that can be spent.
    pub held_tokens: usize,
    /// What these are worth.
    pub held_cents: u64,
    /// Of that, what the authority has not verified.
    pub unverified_cents: u64,
    /// What was submitted and not answered.
    pub pending_cents: u64,
    /// Tokens that came while another of their serial was here.
    pub disputed_tokens: usize,
    /// What was asked and nobody has answered, payments before orders, the oldest of each first.
    pub requests: Vec<RequestFigures>,
    /// Payments made.
    pub payments: u32,
    /// How often what was refused here.
    pub refused: BTreeMap<String, u64>,
    /// What it took to open the folder and to say this.
    pub cost: Cost,
}

/// One request for a payment or an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestFigures {
    /// What was drawn.
    pub challenge: String,
    /// The key that may answer.
    pub from: String,
}

/// What an authority's folder holds.
#[derive(Clone, Debug, Serialize)]
pub struct AuthorityBooks {
    /// Always `authority`.
    pub role: &'static str,
    /// Its public key.
    pub key: String,
    /// `thesis` or `prototype`.
    pub rules: &'static str,
    /// All that was ever minted.
    pub minted_cents: u64,
    /// Of that, what was paid out.
    pub redeemed_cents: u64,
    /// What it owes to holders.
    pub circulating_cents: u64,
    /// Branches refused as double spends.
    pub double_spent_cents: u64,
    /// Who signed two continuations.
    pub offences: Vec<OffenceFigures>,
    /// Cents that others were refused for these, by key.
    pub losses_cents: BTreeMap<String, u64>,
    /// How often what was refused here.
    pub refused: BTreeMap<String, u64>,
    /// What it took to open the folder and to say this.
    pub cost: Cost,
}

/// One offence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OffenceFigures {
    /// Which token.
    pub serial: String,
    /// In which of its lives, from 0.
    pub life: usize,
    /// Who.
    pub culprit: String,
}

/// Measures one step from when it began.
pub(super) struct Meter {
    start: Instant,
    cpu: Duration,
    /// What the machines did.
    pub(super) work: Work,
    /// Signatures of whole files.
    pub(super) files_signed: usize,
    pub(super) files_checked: usize,
}

impl Meter {
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
            cpu: Clock::process_cpu(),
            work: Work::new(),
            files_signed: 0,
            files_checked: 0,
        }
    }

    pub(super) fn cost(&self, tokens: usize) -> Cost {
        let count = |wanted| {
            let of = |(operation, _): &&(Operation, u32)| *operation == wanted;
            self.work.iter().filter(of).count()
        };
        let duration_s = self.start.elapsed().as_secs_f64();
        let cpu = Clock::process_cpu().saturating_sub(self.cpu);
        Cost {
            signatures_made: count(Operation::Sign) + self.files_signed,
            signatures_checked: count(Operation::Verify) + self.files_checked,
            cpu_s: cpu.as_secs_f64(),
            duration_s,
            tokens_per_s: tokens as f64 / duration_s.max(f64::MIN_POSITIVE),
        }
    }
}

/// Collects what becomes of the tokens of one step.
pub(super) struct Tally {
    step: &'static str,
    tokens: usize,
    amount_cents: u64,
    refused: Vec<Refused>,
}

impl Tally {
    pub(super) fn of(step: &'static str) -> Self {
        Self {
            step,
            tokens: 0,
            amount_cents: 0,
            refused: Vec::new(),
        }
    }

    pub(super) fn well(&mut self, denomination: Denomination) {
        self.tokens += 1;
        self.amount_cents += denomination.cents();
    }

    pub(super) fn refuse(&mut self, serial: &Serial, reason: Refusal, culprits: &[PublicKey]) {
        self.refuse_as(serial, reason.name());
        let refused = self.refused.last_mut().expect("just put there");
        refused.culprits = culprits.iter().map(|key| hex::encode(key.0)).collect();
    }

    pub(super) fn refuse_as(&mut self, serial: &Serial, reason: &'static str) {
        self.refused.push(Refused {
            serial: Some(hex::encode(serial)),
            reason,
            detail: None,
            culprits: Vec::new(),
        });
    }

    pub(super) fn refuse_file(&mut self, reason: &'static str, detail: Option<&'static str>) {
        self.refused.push(Refused {
            serial: None,
            reason,
            detail,
            culprits: Vec::new(),
        });
    }

    pub(super) fn reasons(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.refused.iter().map(|refused| refused.reason)
    }

    pub(super) fn end(self, meter: &Meter) -> Outcome {
        let cost = meter.cost(self.tokens + self.refused.len());
        Outcome {
            step: self.step,
            tokens: self.tokens,
            amount_cents: self.amount_cents,
            challenge: None,
            kept: None,
            refused: self.refused,
            cost,
        }
    }
}

impl From<&Asked> for RequestFigures {
    fn from(asked: &Asked) -> Self {
        Self {
            challenge: hex::encode(asked.challenge),
            from: hex::encode(asked.giver.0),
        }
    }
}

impl From<&Offence> for OffenceFigures {
    fn from(offence: &Offence) -> Self {
        Self {
            serial: hex::encode(offence.serial),
            life: offence.life,
            culprit: hex::encode(offence.culprit.0),
        }
    }
}
