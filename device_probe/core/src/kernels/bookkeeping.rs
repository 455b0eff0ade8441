//! Kernels of the group `serialisation`: what the commands of `probe tokens` do in memory.
//!
//! All of a command but its files and its signatures: bytes of wallets and journals to machines and
//! back, the machines themselves, random bytes from the system, SHA-256. Signatures are counted ones,
//! as long as real ones and made by mixing words; signing whole files is left out, too. One operation
//! is one command for a batch of `tokens`; it begins with the bytes of the files that the command
//! finds. So a batch takes this, its signatures, and its files.
//!
//! A command is a process of its own, whose memory is fresh: what the allocator kept of earlier
//! operations goes back to the system before each sample.
//!
//! What deliberately does not live here: what the commands do (`crate::tokens`), and files.

use std::hint::black_box;

use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::crypto::{Counted, Crypto as _};
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::{
    decode_batch, encode_batch, Authority, Challenge, Client, Handshake, Intent, Journal, Ledger,
    Rules, Signer, Work,
};

use super::inputs::ensure;
use crate::kernel::{Case, Depth, Group, Repeat, Unmeasured};
use crate::tokens::document::{AnswerFile, SubmissionFile};
use crate::tokens::steps::{self, Purse};
use crate::tokens::wallet_file::WalletFile;

/// The cases: only in full, as no operation of a profile is priced by them.
pub(super) fn cases(depth: Depth) -> Vec<Case> {
    match depth {
        Depth::Quick => Vec::new(),
        Depth::Full => PURSES.iter().flat_map(of_purse).collect(),
    }
}

fn of_purse(&(tokens, cents): &(u32, u64)) -> [Case; 9] {
    let case = |kernel: &'static str, step: Step| {
        let parameters = [("tokens", f64::from(tokens))];
        Case::repeat(Group::Serialisation, kernel, parameters, move || {
            let ring = Ring::new(tokens, cents)?;
            Ok(Fresh(move || step(&ring)))
        })
    };
    [
        case("token_mint_bookkeeping", |ring| {
            ring.unminted.mint(ring.cents).map(ignore)
        }),
        case("token_pay_bookkeeping", |ring| {
            ring.taken.pay(ring.cents).map(ignore)
        }),
        case("token_receive_bookkeeping", |ring| {
            ring.awaiting.receive(&ring.paid).map(ignore)
        }),
        case("token_submit_bookkeeping", |ring| {
            ring.received.submit(Intent::Reissue).map(ignore)
        }),
        case("token_verify_bookkeeping", |ring| {
            ring.minted.verify(&ring.asked).map(ignore)
        }),
        case("token_settle_bookkeeping", |ring| {
            ring.submitted.settle(&ring.answer).map(ignore)
        }),
        case("token_submit_redeem_bookkeeping", |ring| {
            ring.settled.submit(Intent::Redeem).map(ignore)
        }),
        case("token_verify_redeem_bookkeeping", |ring| {
            ring.reissued.verify(&ring.redeeming).map(ignore)
        }),
        case("token_settle_redeem_bookkeeping", |ring| {
            ring.cashing.settle(&ring.payout).map(ignore)
        }),
    ]
}

type Step = fn(&Ring) -> Result<(), Unmeasured>;

fn ignore<T>(made: T) {
    black_box(made);
}

/// An operation that finds no memory which another has left.
struct Fresh<F>(F);

impl<F: FnMut() -> Result<(), Unmeasured> + Send> Repeat for Fresh<F> {
    fn run(&mut self, iterations: u64) -> Result<(), Unmeasured> {
        (0..iterations).try_for_each(|_| (self.0)())
    }

    fn tidy(&mut self) -> Result<(), Unmeasured> {
        give_back();
        Ok(())
    }
}

/// Return what the allocator has kept to the system: the next operation finds pages that are not there.
///
/// `malloc_trim` does it for what lies between blocks in use, and for what is behind the last of the
/// first thread; behind that of another thread, as this is, a large block is put, emptied, and freed.
/// The first such block may be a mapping of its own; once that was freed, blocks of its size are none.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    // SAFETY: only whole pages within a block that is nobody else's are emptied, and it is freed once.
    unsafe {
        libc::malloc_trim(0);
        for _ in 0..2 {
            let block = libc::malloc(BEHIND_BYTES);
            if block.is_null() {
                return;
            }
            let start = (block as usize).next_multiple_of(PAGE_BYTES);
            let bytes = BEHIND_BYTES - PAGE_BYTES;
            libc::madvise(start as *mut libc::c_void, bytes, libc::MADV_DONTNEED);
            libc::free(block);
        }
    }
}

/// Other allocators have no such call.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

/// What the commands find, one after the other, as a batch goes its way: from the authority to
/// alice, to bob, back for new tokens, and back for money.
struct Ring {
    cents: u64,
    unminted: Bank,
    minted: Bank,
    reissued: Bank,
    taken: Phone,
    awaiting: Phone,
    received: Phone,
    submitted: Phone,
    settled: Phone,
    cashing: Phone,
    paid: Vec<u8>,
    asked: Vec<u8>,
    answer: Vec<u8>,
    redeeming: Vec<u8>,
    payout: Vec<u8>,
}

impl Ring {
    fn new(tokens: u32, cents: u64) -> Result<Self, Unmeasured> {
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
struct Bank {
    journal: Vec<u8>,
    sent: Vec<u8>,
}

impl Bank {
    fn new() -> Self {
        Self {
            journal: Journal::snapshot(&Ledger::new(key(BANK))).1,
            sent: Vec::new(),
        }
    }

    fn after(&self, frames: &[u8], sent: Vec<u8>) -> Self {
        let journal = [&self.journal[..], frames].concat();
        Self { journal, sent }
    }

    fn open(&self) -> Result<(Authority<Counted>, Journal), Unmeasured> {
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
    fn mint(&self, cents: u64) -> Result<(Vec<u8>, Vec<u8>), Unmeasured> {
        let (mut authority, mut journal) = self.open()?;
        let purse = Purse {
            order: steps::last_order(authority.ledger()) + 1,
            first: key(ALICE),
            amount_cents: cents,
            challenge: Some(CHALLENGE),
        };
        let records = steps::mint(&mut authority, &purse, &mut Work::new(), ignore);
        let frames = steps::frames(&mut journal, &records.map_err(refused)?);
        let batch = encode_batch(&steps::minted(authority.ledger(), purse.order));
        Ok((frames, batch))
    }

    /// The frames for the journal, and the answer.
    fn verify(&self, submission: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Unmeasured> {
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
}

/// A phone and the file of its wallet.
struct Phone {
    node: u32,
    wallet: Vec<u8>,
}

impl Phone {
    fn new(node: u32) -> Self {
        let wallet = WalletFile::new(key(node)).encode();
        Self { node, wallet }
    }

    fn open(&self) -> Result<(Client<Counted>, u32, Vec<u8>), Unmeasured> {
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

    fn with(&self, client: &Client<Counted>, payments: u32, last_payment: Vec<u8>) -> Self {
        let file = WalletFile {
            owner: *client.public_key(),
            state: client.state(),
            payments,
            last_payment,
        };
        let (node, wallet) = (self.node, file.encode());
        Self { node, wallet }
    }

    fn asking(&self, giver: PublicKey) -> Result<Self, Unmeasured> {
        let (mut client, payments, last_payment) = self.open()?;
        let asked = client.challenge(CHALLENGE, giver);
        ensure(asked == Ok(Some(CHALLENGE)), "no challenge")?;
        Ok(self.with(&client, payments, last_payment))
    }

    fn receive(&self, batch: &[u8]) -> Result<Self, Unmeasured> {
        let (mut client, payments, last_payment) = self.open()?;
        let receipts = client.receive(decode_batch(batch).map_err(refused)?, &mut Work::new());
        let are_good = receipts.iter().all(|receipt| receipt.outcome.is_ok());
        ensure(are_good, "a token was refused")?;
        Ok(self.with(&client, payments, last_payment))
    }

    /// The phone after it, and the batch.
    fn pay(&self, cents: u64) -> Result<(Self, Vec<u8>), Unmeasured> {
        let (mut client, payments, _) = self.open()?;
        let paid = client.pay(cents, key(BOB), Some(CHALLENGE), &mut Work::new());
        let tokens = paid.map_err(|_| Unmeasured::because("a purse does not pay"))?;
        let batch = encode_batch(&tokens);
        Ok((self.with(&client, payments + 1, batch.clone()), batch))
    }

    /// The phone after it, and the submission.
    fn submit(&self, intent: Intent) -> Result<(Self, Vec<u8>), Unmeasured> {
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

    fn settle(&self, answer: &[u8]) -> Result<Self, Unmeasured> {
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

fn key(node: u32) -> PublicKey {
    *signer(node).public_key()
}

fn refused(error: impl std::fmt::Display) -> Unmeasured {
    Unmeasured::because(error.to_string())
}

const BANK: u32 = 0;
const ALICE: u32 = 1;
const BOB: u32 = 2;
/// Of counted signatures; any will do.
const SESSION: u64 = 1;
const CHALLENGE: Challenge = [7; 16];
/// So many tokens, and what they are worth in cents: a purse has as many coins as its amount needs.
const PURSES: [(u32, u64); 4] = [(1, 1), (10, 58), (100, 3_600_000), (1_000, 48_600_000)];
/// More than any operation takes at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BEHIND_BYTES: usize = 16 << 20;
/// Or a multiple of a page.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PAGE_BYTES: usize = 64 << 10;
