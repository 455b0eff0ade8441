//! A journal that was cut, at every byte: what was handed out tells where the journal itself cannot.

use std::fs;
use std::path::{Path, PathBuf};

use pocketsim_probe_core::tokens::files::Disk;
use pocketsim_probe_core::tokens::{AuthorityFolder, Intent, TokensError};

use super::town::*;

/// An authority, its journal before its last order, and after it.
struct Bank {
    town: Town,
    before: usize,
    journal: Vec<u8>,
}

impl Bank {
    /// That has minted so many cents each time.
    fn after(orders_cents: &[u64]) -> Self {
        let town = Town::thesis();
        let mut before = 0;
        for cents in orders_cents {
            before = read(&town.path(JOURNAL)).len();
            town.mint(0, *cents);
        }
        let journal = read(&town.path(JOURNAL));
        Self {
            town,
            before,
            journal,
        }
    }

    fn cut(&self, at: usize) {
        fs::write(self.town.path(JOURNAL), &self.journal[..at]).expect("written");
    }

    /// As a crash of some file systems leaves it: as long as it was, and zero to its end.
    fn zero(&self, from: usize) {
        let mut torn = self.journal.clone();
        torn[from..].fill(0);
        fs::write(self.town.path(JOURNAL), torn).expect("written");
    }

    /// Which file is damaged and why; nothing in the folder may have changed.
    fn refusal(&self) -> (PathBuf, String) {
        let before = contents(&self.town.path("bank"));
        let opened = AuthorityFolder::open(&self.town.path("bank"), &Disk).map(drop);
        assert_eq!(contents(&self.town.path("bank")), before);
        match opened {
            Err(TokensError::Damaged { file, reason }) => (file, reason),
            other => panic!("it opens: {other:?}"),
        }
    }
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("a file")
}

/// The names and bytes in a folder and in those within it.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(contents(&path)),
            false => files.push((path.clone(), read(&path))),
        }
    }
    files.sort();
    files
}

#[test]
fn a_journal_that_is_cut_within_its_only_order_is_refused() {
    let bank = Bank::after(&[5]);
    for at in bank.before..bank.journal.len() {
        bank.cut(at);
        let (file, reason) = bank.refusal();
        assert_eq!(file, bank.town.path(JOURNAL), "cut at {at}");
        assert!(reason.contains("sent/1.tokens"), "{reason}");
        bank.zero(at);
        assert_eq!(bank.refusal().0, bank.town.path(JOURNAL), "zero from {at}");
    }
    fs::write(bank.town.path(JOURNAL), &bank.journal).expect("put back");
    assert_eq!(bank.town.books().minted_cents, 5);
}

#[test]
fn a_journal_that_is_cut_within_its_last_order_is_refused() {
    let bank = Bank::after(&[3, 4]);
    for at in bank.before..bank.journal.len() {
        bank.cut(at);
        let (file, reason) = bank.refusal();
        assert_eq!(file, bank.town.path(JOURNAL), "cut at {at}");
        assert!(reason.contains("sent/2.tokens"), "{reason}");
    }
}

#[test]
fn what_is_missing_is_said_with_its_worth() {
    let bank = Bank::after(&[2_000]);
    let whole = bank.journal.len() - bank.before;
    bank.cut(bank.before + whole / 2);
    let reason = bank.refusal().1;
    let tokens = read(&bank.town.path("bank/sent/1.tokens")).len() / TOKEN_BYTES;
    let missing = tokens.div_ceil(2);
    let expected = format!("an old copy, or cut off: {missing} of {tokens} tokens (");
    assert!(reason.starts_with(&expected), "{reason}, not {expected}");
    assert!(reason.contains(" of 20.00) in sent/1.tokens"), "{reason}");
}

#[test]
fn an_order_whose_batch_was_not_kept_yet_may_end_anywhere() {
    let bank = Bank::after(&[3]);
    let batch = read(&bank.town.path("bank/sent/1.tokens"));
    for at in bank.before..=bank.journal.len() {
        bank.cut(at);
        fs::remove_file(bank.town.path("bank/sent/1.tokens")).unwrap_or_default();
        let minted_cents = bank.town.books().minted_cents;
        let kept = fs::read(bank.town.path("bank/sent/1.tokens")).unwrap_or_default();
        assert!(batch.starts_with(&kept), "cut at {at}");
        assert_eq!(kept.is_empty(), minted_cents == 0, "cut at {at}");
        // What it says of it once, it says again.
        assert_eq!(bank.town.books().minted_cents, minted_cents);
        assert!(minted_cents < 3 || at == bank.journal.len());
    }
    assert_eq!(read(&bank.town.path("bank/sent/1.tokens")), batch);
}

#[test]
fn a_batch_that_is_not_what_was_released_is_named_and_made_again_without_it() {
    let bank = Bank::after(&[3]);
    let kept = bank.town.path("bank/sent/1.tokens");
    let batch = read(&kept);
    let mut altered = batch.clone();
    altered[100] ^= 1;
    for bad in [altered, batch[..batch.len() - 1].to_vec(), Vec::new()] {
        fs::write(&kept, bad).expect("written");
        let (file, reason) = bank.refusal();
        assert_eq!(file, kept);
        assert!(reason.contains("without this file, it is made again"));
    }
    fs::remove_file(&kept).expect("it is there");
    assert_eq!(bank.town.books().minted_cents, 3);
    assert_eq!(read(&kept), batch);
}

#[test]
fn a_journal_of_another_copy_of_the_folder_is_refused() {
    let town = Town::thesis();
    let other = town.again();
    other.mint(0, 5);
    let bank = Bank {
        journal: read(&other.path(JOURNAL)),
        before: 0,
        town,
    };
    bank.town.mint(0, 5);
    bank.cut(bank.journal.len());
    let (file, reason) = bank.refusal();
    assert_eq!(file, bank.town.path(JOURNAL));
    assert!(reason.contains("(0.05 of 0.05)"), "{reason}");
}

#[test]
fn what_was_decided_since_leaves_the_batch_as_it_was_minted() {
    let bank = Bank::after(&[3]);
    bank.town.pay(0, 1, 2);
    bank.town.renew(1, Intent::Reissue);
    bank.town.renew(1, Intent::Redeem);
    assert_eq!(bank.town.books().redeemed_cents, 2);
}

const JOURNAL: &str = "bank/tokens.journal";
/// Of a token as minted: 149 and 138 bytes, and its challenge is in its nonce.
const TOKEN_BYTES: usize = 287;
