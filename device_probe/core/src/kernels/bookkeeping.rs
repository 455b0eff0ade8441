//! Kernels of the group `serialisation`: what the commands of `probe tokens` do in memory.
//!
//! All of a command but its files and its signatures: bytes of wallets and journals to machines and
//! back, the machines themselves, random bytes from the system, SHA-256. Signatures are counted ones,
//! as long as real ones and made by mixing words; signing whole files is left out, too. One operation
//! is one command for a batch of `tokens`; it begins with the bytes of the files that the command
//! finds. So a batch takes this, its signatures, and its files.
//!
//! What deliberately does not live here: what the commands do (`crate::tokens`), and files.

use std::hint::black_box;
use std::mem::take;

use pocketsim_protocols::token::Intent;

use super::experiment::{self, collect, Watch, WALL_AND_CPU};
use crate::kernel::{Case, Depth, Group, Unmeasured};
use ring::{key, Bank, Phone, Ring, ALICE, BANK};

mod ring;

/// The cases: only in full, as no operation of a profile is priced by them.
pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let purses: &[(u32, u64)] = match depth {
        Depth::Quick => &[],
        Depth::Full => &PURSES,
    };
    let of_purse = |&purse: &(u32, u64)| COMMANDS.map(|each| case(each, purse.0, purse));
    let of_batches = purses.iter().flat_map(of_purse);
    let first = purses.first().into_iter();
    let idle = first.flat_map(|&purse| IDLE.map(|each| case(each, 0, purse)));
    of_batches.chain(idle).collect()
}

fn case(command: Command, at_tokens: u32, (tokens, cents): (u32, u64)) -> Case {
    let parameters = [("tokens", f64::from(at_tokens))];
    let group = Group::Serialisation;
    experiment::case(group, command.kernel, &parameters, move |budget| {
        let ring = Ring::new(tokens, cents)?;
        collect(budget, WALL_AND_CPU, || {
            let mut found = (command.finds)(&ring);
            let watch = Watch::thread();
            (command.does)(&mut found)?;
            Ok(watch.per_operation(budget.clock, 1))
        })
    })
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
    fn every_command_does_what_it_has_to() {
        for command in COMMANDS.into_iter().chain(IDLE) {
            assert_eq!(
                (command.does)(&mut found(command)),
                Ok(()),
                "{}",
                command.kernel
            );
        }
    }

    #[test]
    fn what_a_command_does_not_expect_is_refused() {
        let [receive, submit, verify, settle] = [2, 3, 4, 5].map(|place| COMMANDS[place]);
        // An answer to nothing, a batch twice.
        for (command, other) in [(settle, submit), (receive, verify)] {
            let done = (command.does)(&mut found(other));
            assert!(done.is_err(), "{}", command.kernel);
        }
    }
}
