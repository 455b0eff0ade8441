//! The process ends at every operation on a file: nothing is lost and nothing is spent twice.
//!
//! One story is told with the end at each operation in turn, half of what was to be appended
//! being there or not. The program that was at it opens its folder again and goes on as the
//! documentation says. In the end each wallet holds what it holds without a crash.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::town::*;
use pocketsim_probe_core::tokens::files::{Disk, Files};
use pocketsim_probe_core::tokens::outcome::Outcome;
use pocketsim_probe_core::tokens::{
    AuthorityFolder, Challenge, ClientFolder, Intent, PublicKey, TokensError,
};

/// Files that fail for good after some operations, and watch that what is given a name is durable.
struct Cutting {
    left: Cell<usize>,
    tears: bool,
    done: Cell<usize>,
    appends: RefCell<Vec<usize>>,
    unsynced: RefCell<BTreeSet<PathBuf>>,
}

impl Cutting {
    fn after(operations: usize, tears: bool) -> Self {
        Self {
            left: Cell::new(operations),
            tears,
            done: Cell::new(0),
            appends: RefCell::default(),
            unsynced: RefCell::default(),
        }
    }

    fn operate(&self) -> io::Result<()> {
        self.done.set(self.done.get() + 1);
        match self.left.get() {
            0 => Err(io::Error::other("the process ended")),
            left => {
                self.left.set(left - 1);
                Ok(())
            }
        }
    }

    fn is_over(&self) -> bool {
        self.left.get() == 0
    }

    /// The next process: it is not cut again.
    fn restart(&self) {
        self.left.set(usize::MAX);
    }

    fn dirty(&self, path: &Path) {
        self.unsynced.borrow_mut().insert(path.to_owned());
    }
}

impl Files for Cutting {
    fn create(&self, path: &Path) -> io::Result<()> {
        self.operate()?;
        self.dirty(path);
        Disk.create(path)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.appends.borrow_mut().push(self.done.get());
        if self.tears && self.is_over() {
            Disk.append(path, &bytes[..bytes.len() / 2])?;
        }
        self.operate()?;
        self.dirty(path);
        Disk.append(path, bytes)
    }

    fn truncate(&self, path: &Path, bytes: u64) -> io::Result<()> {
        self.operate()?;
        self.dirty(path);
        Disk.truncate(path, bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.operate()?;
        self.unsynced.borrow_mut().remove(path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate()?;
        let unsynced = self.unsynced.borrow();
        assert_eq!(*unsynced, BTreeSet::new(), "{} gets its name", to.display());
        drop(unsynced);
        self.dirty(to.parent().expect("a folder"));
        Disk.rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.operate()?;
        self.unsynced.borrow_mut().remove(path);
        Ok(())
    }
}

struct Story<'a> {
    town: &'a Town,
    files: &'a Cutting,
    crashes: usize,
}

impl Story<'_> {
    fn client(&self, of: usize) -> Result<ClientFolder<'_>, TokensError> {
        ClientFolder::open(&self.town.path(CLIENTS[of]), self.files)
    }

    fn authority(&self) -> Result<AuthorityFolder<'_>, TokensError> {
        AuthorityFolder::open(&self.town.path("bank"), self.files)
    }

    /// Once, and after a crash `recover`.
    fn or_after_crash<T>(
        &mut self,
        step: impl FnOnce(&Self) -> Result<T, TokensError>,
        recover: impl FnOnce(&Self) -> T,
    ) -> T {
        match step(self) {
            Ok(done) => done,
            Err(error) => {
                assert!(matches!(error, TokensError::Environment(_)), "{error}");
                self.crashes += 1;
                self.files.restart();
                self.files.unsynced.borrow_mut().clear();
                recover(self)
            }
        }
    }

    fn again(&mut self, step: impl Fn(&Self) -> Result<Outcome, TokensError>) -> Outcome {
        self.or_after_crash(&step, |story| step(story).expect("one crash only"))
    }

    /// What was released before a crash is released again, byte for byte: somebody may have it.
    fn same_again(&mut self, output: &Path, step: impl Fn(&Self) -> Result<Outcome, TokensError>) {
        fs::remove_file(output).unwrap_or_default();
        let before = self.or_after_crash(
            |story| step(story).map(|_| None),
            |story| {
                let before = fs::read(output).ok();
                step(story).expect("one crash only");
                before
            },
        );
        let after = fs::read(output).expect("released");
        assert!(before.is_none_or(|before| before == after));
    }

    fn request(&mut self, who: usize, giver: PublicKey) -> Option<Challenge> {
        let asked = self.again(|story| story.client(who)?.request(giver));
        Some(challenge(&asked))
    }

    /// Minted, and received; what a crash left of an order goes first, and then the rest.
    fn mint(&mut self, to: usize, cents: u64) {
        let (batch, challenge) = (self.town.path("minted"), self.request(to, self.town.bank));
        let town = self.town;
        let mint = |story: &Self, cents, challenge| {
            let key = town.keys[to];
            story.authority()?.mint(key, cents, challenge, &batch)
        };
        let first = |story: &Self| mint(story, cents, challenge).map(|_| batch.clone());
        let sent = town.path("bank").join("sent/1.tokens");
        // What the books say is in `sent`; what they do not say was never minted.
        let first = self.or_after_crash(first, |story| {
            let books = story.authority().expect("opens").books().expect("counts");
            assert_eq!(sent.exists(), books.minted_cents > 0);
            assert!([0, cents].contains(&books.minted_cents) || story.files.tears);
            sent.clone()
        });
        if first.exists() {
            self.receive(to, &first);
        }
        let missing = cents - town.books().minted_cents;
        if missing > 0 {
            let challenge = self.request(to, town.bank);
            self.again(|story| mint(story, missing, challenge));
            self.receive(to, &batch);
        }
    }

    fn pay(&mut self, from: usize, to: usize, cents: u64) -> PathBuf {
        let challenge = self.request(to, self.town.keys[from]);
        let (town, batch) = (self.town, self.town.path("paid"));
        let before = town.balance(from);
        let pay = |story: &Self| {
            let payer = story.client(from)?;
            payer.pay(town.keys[to], cents, challenge, &batch)
        };
        self.or_after_crash(
            |story| pay(story).map(|_| batch.clone()),
            |story| {
                let payer = story.client(from).expect("opens");
                let after = payer.balance().expect("counts");
                drop(payer);
                if after.payments == before.payments {
                    assert_eq!(after.held_cents, before.held_cents);
                    assert!(!batch.exists(), "nothing was released");
                    pay(story).expect("one crash only");
                    return batch.clone();
                }
                assert_eq!(after.held_cents, before.held_cents - cents);
                let name = format!("sent/{}.tokens", after.payments);
                town.path(CLIENTS[from]).join(name)
            },
        )
    }

    fn receive(&mut self, who: usize, batch: &Path) {
        self.again(|story| story.client(who)?.receive(batch));
    }

    fn renew(&mut self, who: usize, intent: Intent) {
        let (submission, answer) = (self.town.path("submission"), self.town.path("answer"));
        self.same_again(&submission, |story| {
            story.client(who)?.submit(intent, &submission)
        });
        self.same_again(&answer, |story| {
            story.authority()?.verify(&submission, &answer)
        });
        self.again(|story| story.client(who)?.settle(&answer));
    }
}

/// Held by each, and what the books say; whether it crashed.
fn tell(town: &Town, files: &Cutting) -> ([u64; 3], u64, u64, usize) {
    let town = town.again();
    let mut story = Story {
        town: &town,
        files,
        crashes: 0,
    };
    story.mint(0, 500);
    let paid = story.pay(0, 1, 350);
    story.receive(1, &paid);
    story.renew(1, Intent::Reissue);
    fs::remove_file(town.path("paid")).unwrap_or_default();
    let paid = story.pay(1, 2, 350);
    story.receive(2, &paid);
    story.renew(2, Intent::Redeem);
    let crashes = story.crashes;
    let held = [0, 1, 2].map(|client| town.held_cents(client));
    let books = town.books();
    assert_eq!(books.offences, []);
    (held, books.minted_cents, books.redeemed_cents, crashes)
}

#[test]
fn wherever_the_process_ends_the_sums_are_those_without_an_end() {
    let town = Town::thesis();
    let whole = Cutting::after(usize::MAX, false);
    let expected = ([150, 0, 0], 500, 350);
    let (held, minted, redeemed, crashes) = tell(&town, &whole);
    assert_eq!(((held, minted, redeemed), crashes), (expected, 0));
    let operations = whole.done.get();
    assert!(operations > 60, "{operations}");
    let torn = whole.appends.take().into_iter().map(|cut| (cut, true));
    for (cut, tears) in (0..operations).map(|cut| (cut, false)).chain(torn) {
        let (held, minted, redeemed, crashes) = tell(&town, &Cutting::after(cut, tears));
        let told = (held, minted, redeemed);
        assert_eq!(told, expected, "cut {cut}, tears {tears}");
        assert_eq!(crashes, 1, "cut {cut}");
    }
}
