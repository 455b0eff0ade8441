//! Kernels of the group `serialisation`: what the commands of `probe tokens` do in memory.
//!
//! All of a command but its files and its signatures: bytes of wallets and journals to machines and
//! back, the machines themselves, random bytes from the system, SHA-256. Signatures are counted ones,
//! as long as real ones and made by mixing words; signing whole files is left out, too. One operation
//! is one command for a batch of `tokens`; it begins with the bytes of the files that the command
//! finds. So a batch takes this, its signatures, and its files.
//!
//! A command is a process of its own, which does this once: so does a child for each sample (`once`).
//!
//! What deliberately does not live here: what the commands do (`crate::tokens`), and files.

use std::hint::black_box;
use std::mem::take;
use std::path::Path;

use pocketsim_protocols::token::Intent;

use super::once::{self, Operation};
use crate::kernel::{Case, Depth, Group, Unmeasured};
use ring::{key, Bank, Phone, Ring, ALICE, BANK};

mod ring;

/// The cases: only in full, as no operation of a profile is priced by them.
///
/// `program` is started for every sample; without one, nothing is measured.
pub(super) fn cases(depth: Depth, program: Option<&Path>) -> Vec<Case> {
    let purses: &[(u32, u64)] = match depth {
        Depth::Quick => &[],
        Depth::Full => &PURSES,
    };
    let of_purse = |&purse: &(u32, u64)| COMMANDS.map(|each| case(each, purse.0, purse, program));
    let of_batches = purses.iter().flat_map(of_purse);
    let first = purses.first().into_iter();
    let idle = first.flat_map(|&purse| IDLE.map(|each| case(each, 0, purse, program)));
    of_batches.chain(idle).collect()
}

fn case(
    command: Command,
    at_tokens: u32,
    (tokens, cents): (u32, u64),
    program: Option<&Path>,
) -> Case {
    let parameters = [("tokens", f64::from(at_tokens))];
    let group = Group::Serialisation;
    once::case(group, command.kernel, &parameters, program, move || {
        Ok((command.finds)(&Ring::new(tokens, cents)?).encode())
    })
}

/// What a command of that kernel does with the bytes that a case has for it, ready to be timed.
///
/// # Errors
/// A name that no kernel has, bytes that are cut off.
pub(super) fn operation(kernel: &str, found: &[u8]) -> Result<Operation, Unmeasured> {
    let mut known = COMMANDS.into_iter().chain(IDLE);
    let command = known.find(|command| command.kernel == kernel);
    let unknown = || Unmeasured::because(format!("{kernel}: done in no process of its own"));
    let does = command.ok_or_else(unknown)?.does;
    let found = Found::decode(found);
    let mut found = found.ok_or_else(|| Unmeasured::because("what it finds is cut off"))?;
    Ok(Box::new(move || does(&mut found)))
}

/// A command: what of a ring it finds, and what it does with it.
#[derive(Clone, Copy)]
struct Command {
    kernel: &'static str,
    finds: fn(&Ring) -> Found,
    does: fn(&mut Found) -> Result<(), Unmeasured>,
}

const COMMANDS: [Command; 9] = [
    Command {
        kernel: "token_mint_bookkeeping",
        finds: |ring| Found::by_bank(&ring.unminted, ring.cents, &[]),
        does: |found| found.bank().mint(found.cents).map(ignore),
    },
    Command {
        kernel: "token_pay_bookkeeping",
        finds: |ring| Found::by_phone(&ring.taken, ring.cents, &[]),
        does: |found| found.phone().pay(found.cents).map(ignore),
    },
    Command {
        kernel: "token_receive_bookkeeping",
        finds: |ring| Found::by_phone(&ring.awaiting, ring.cents, &ring.paid),
        does: |found| found.phone().receive(&found.message).map(ignore),
    },
    Command {
        kernel: "token_submit_bookkeeping",
        finds: |ring| Found::by_phone(&ring.received, ring.cents, &[]),
        does: |found| found.phone().submit(Intent::Reissue).map(ignore),
    },
    Command {
        kernel: "token_verify_bookkeeping",
        finds: |ring| Found::by_bank(&ring.minted, ring.cents, &ring.asked),
        does: |found| found.bank().verify(&found.message).map(ignore),
    },
    Command {
        kernel: "token_settle_bookkeeping",
        finds: |ring| Found::by_phone(&ring.submitted, ring.cents, &ring.answer),
        does: |found| found.phone().settle(&found.message).map(ignore),
    },
    Command {
        kernel: "token_submit_redeem_bookkeeping",
        finds: |ring| Found::by_phone(&ring.settled, ring.cents, &[]),
        does: |found| found.phone().submit(Intent::Redeem).map(ignore),
    },
    Command {
        kernel: "token_verify_redeem_bookkeeping",
        finds: |ring| Found::by_bank(&ring.reissued, ring.cents, &ring.redeeming),
        does: |found| found.bank().verify(&found.message).map(ignore),
    },
    Command {
        kernel: "token_settle_redeem_bookkeeping",
        finds: |ring| Found::by_phone(&ring.cashing, ring.cents, &ring.payout),
        does: |found| found.phone().settle(&found.message).map(ignore),
    },
];

/// Commands without a token, to take off what every command does.
const IDLE: [Command; 2] = [
    Command {
        kernel: "token_request_bookkeeping",
        finds: |_| Found::by_phone(&Phone::new(ALICE), 0, &[]),
        does: |found| found.phone().asking(key(BANK)).map(ignore),
    },
    Command {
        kernel: "token_refuse_bookkeeping",
        finds: |ring| Found::by_bank(&ring.unminted, 0, &[]),
        does: |found| found.bank().refuse(&found.message).map(ignore),
    },
];

fn ignore<T>(made: T) {
    black_box(made);
}

/// What a command finds: whose files, what they have, what was sent there, and what is asked for.
#[derive(Debug, PartialEq)]
struct Found {
    node: u32,
    cents: u64,
    /// Of a phone its wallet, of an authority its journal.
    kept: Vec<u8>,
    /// What an authority sent last; nothing of a phone.
    sent: Vec<u8>,
    message: Vec<u8>,
}

impl Found {
    fn by_bank(bank: &Bank, cents: u64, message: &[u8]) -> Self {
        Self {
            node: BANK,
            cents,
            kept: bank.journal.clone(),
            sent: bank.sent.clone(),
            message: message.to_vec(),
        }
    }

    fn by_phone(phone: &Phone, cents: u64, message: &[u8]) -> Self {
        Self {
            node: phone.node,
            cents,
            kept: phone.wallet.clone(),
            sent: Vec::new(),
            message: message.to_vec(),
        }
    }

    fn bank(&mut self) -> Bank {
        Bank {
            journal: take(&mut self.kept),
            sent: take(&mut self.sent),
        }
    }

    fn phone(&mut self) -> Phone {
        Phone {
            node: self.node,
            wallet: take(&mut self.kept),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = [&self.node.to_be_bytes()[..], &self.cents.to_be_bytes()].concat();
        for part in [&self.kept, &self.sent, &self.message] {
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part);
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (node, bytes) = bytes.split_first_chunk()?;
        let (cents, bytes) = bytes.split_first_chunk()?;
        let (kept, bytes) = part(bytes)?;
        let (sent, bytes) = part(bytes)?;
        let (message, rest) = part(bytes)?;
        rest.is_empty().then_some(Self {
            node: u32::from_be_bytes(*node),
            cents: u64::from_be_bytes(*cents),
            kept,
            sent,
            message,
        })
    }
}

fn part(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (length, bytes) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
    let (part, rest) = bytes.split_at_checked(length)?;
    Some((part.to_vec(), rest))
}

/// So many tokens, and what they are worth in cents: a purse has as many coins as its amount needs.
const PURSES: [(u32, u64); 4] = [(1, 1), (10, 58), (100, 3_600_000), (1_000, 48_600_000)];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(command: Command) -> Found {
        let ring = Ring::new(10, 58).expect("a ring");
        (command.finds)(&ring)
    }

    #[test]
    fn every_command_does_once_what_it_has_to() {
        for command in COMMANDS.into_iter().chain(IDLE) {
            let operation = operation(command.kernel, &found(command).encode()).expect("known");
            assert_eq!(operation(), Ok(()), "{}", command.kernel);
        }
    }

    #[test]
    fn what_a_command_does_not_expect_is_refused() {
        // An answer to nothing, a batch twice.
        for (kernel, other) in [
            ("token_settle_bookkeeping", COMMANDS[3]),
            ("token_receive_bookkeeping", COMMANDS[4]),
        ] {
            let operation = operation(kernel, &found(other).encode()).expect("known");
            assert!(operation().is_err(), "{kernel}");
        }
    }

    #[test]
    fn bytes_that_are_cut_off_or_too_many_are_refused() {
        let all = found(COMMANDS[4]);
        let whole = all.encode();
        assert_eq!(Found::decode(&whole), Some(all));
        for length in [0, 3, 11, 19, 40, whole.len() - 1] {
            assert_eq!(Found::decode(&whole[..length]), None, "{length}");
        }
        assert_eq!(Found::decode(&[&whole[..], &[0]].concat()), None);
        let huge = [&[0; 12][..], &[0xff; 8]].concat();
        assert_eq!(Found::decode(&huge), None);
    }

    #[test]
    fn another_kernel_has_no_such_operation() {
        let refused = operation("sha256", &[]).err().expect("refused");
        assert!(refused.0.contains("sha256"), "{refused}");
    }
}
