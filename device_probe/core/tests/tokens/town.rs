//! An authority and three clients in folders, for tests of tokens as files.

use std::fs;
use std::path::{Path, PathBuf};

use pocketsim_probe_core::tokens::files::{Disk, Files};
use pocketsim_probe_core::tokens::keys::{parse_challenge, parse_key, Identity};
use pocketsim_probe_core::tokens::outcome::{AuthorityBooks, ClientBalance, Outcome};
use pocketsim_probe_core::tokens::{
    new_authority, new_client, AuthorityFolder, Challenge, ClientFolder, Handshake, Intent,
    PublicKey, Rules, TokensError,
};
use tempfile::TempDir;

pub struct Town {
    pub folder: TempDir,
    pub bank: PublicKey,
    pub keys: Vec<PublicKey>,
    pub handshake: Handshake,
}

impl Town {
    pub fn new(rules: Rules, handshake: Handshake) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let bank = new_authority(&folder.path().join("bank"), rules).expect("made");
        let client = |name| new_client(&folder.path().join(name), &bank, handshake);
        let keys = CLIENTS.map(|name| client(name).expect("made")).to_vec();
        Self {
            folder,
            bank,
            keys,
            handshake,
        }
    }

    pub fn thesis() -> Self {
        Self::new(Rules::Thesis, Handshake::Challenge)
    }

    /// Another with the same keys and files.
    pub fn again(&self) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in CLIENTS.iter().chain(&["bank"]) {
            copy_folder(&self.path(name), &folder.path().join(name));
        }
        Self {
            folder,
            keys: self.keys.clone(),
            ..*self
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn client(&self, of: usize) -> ClientFolder<'static> {
        ClientFolder::open(&self.path(CLIENTS[of]), &Disk).expect("as it was left")
    }

    pub fn authority(&self) -> AuthorityFolder<'static> {
        AuthorityFolder::open(&self.path("bank"), &Disk).expect("as it was left")
    }

    /// Who signs for the authority, or for a client.
    pub fn identity(&self, name: &str) -> Identity {
        let private = fs::read(self.path(name).join("key")).expect("a key");
        Identity::from_private(&private).expect("a key").0
    }

    pub fn challenge(&self, of: usize, giver: PublicKey) -> Option<Challenge> {
        let ask = || self.client(of).request(giver).expect("a challenge");
        (self.handshake == Handshake::Challenge).then(|| challenge(&ask()))
    }

    /// Mint for a client, who takes it.
    pub fn mint(&self, to: usize, cents: u64) {
        let (batch, challenge) = (self.path("minted"), self.challenge(to, self.bank));
        let minted = self
            .authority()
            .mint(self.keys[to], cents, challenge, &batch);
        assert_eq!(minted.expect("minted").amount_cents, cents);
        assert_eq!(good(&self.receive(to, &batch)), cents);
    }

    /// The batch of a payment that nobody has taken.
    pub fn sign(&self, from: usize, to: usize, cents: u64) -> PathBuf {
        let batch = self.path(&format!("paid_{from}_{to}"));
        let challenge = self.challenge(to, self.keys[from]);
        let paid = self
            .client(from)
            .pay(self.keys[to], cents, challenge, &batch);
        assert_eq!(good(&paid.expect("paid")), cents);
        batch
    }

    pub fn receive(&self, to: usize, batch: &Path) -> Outcome {
        self.client(to).receive(batch).expect("read and stored")
    }

    pub fn pay(&self, from: usize, to: usize, cents: u64) {
        let batch = self.sign(from, to, cents);
        assert_eq!(good(&self.receive(to, &batch)), cents);
    }

    pub fn submit(&self, who: usize, intent: Intent) -> PathBuf {
        let submission = self.path("submission");
        let submitted = self.client(who).submit(intent, &submission);
        good(&submitted.expect("submitted"));
        submission
    }

    pub fn verify(&self, submission: &Path) -> (Outcome, PathBuf) {
        let answer = self.path("answer");
        let outcome = self.authority().verify(submission, &answer);
        (outcome.expect("read and recorded"), answer)
    }

    pub fn settle(&self, who: usize, answer: &Path) -> Outcome {
        self.client(who).settle(answer).expect("read and stored")
    }

    /// Submit, verify, settle; all of it goes well.
    pub fn renew(&self, who: usize, intent: Intent) -> u64 {
        let (outcome, answer) = self.verify(&self.submit(who, intent));
        good(&outcome);
        good(&self.settle(who, &answer))
    }

    pub fn balance(&self, of: usize) -> ClientBalance {
        self.client(of).balance().expect("counts")
    }

    pub fn held_cents(&self, of: usize) -> u64 {
        self.balance(of).held_cents
    }

    pub fn books(&self) -> AuthorityBooks {
        self.authority().books().expect("counts")
    }

    /// Another folder with the same key and the same tokens.
    pub fn copy(&self, of: usize, name: &str) -> PathBuf {
        self.copy_named(CLIENTS[of], name)
    }

    pub fn copy_named(&self, from: &str, to: &str) -> PathBuf {
        let copy = self.path(to);
        copy_folder(&self.path(from), &copy);
        copy
    }

    pub fn pay_from(&self, folder: &Path, to: usize, cents: u64, files: &dyn Files) -> PathBuf {
        let batch = self.path("from_copy");
        let payer = ClientFolder::open(folder, files).expect("a copy");
        let giver = parse_key(&payer.balance().expect("counts").key).expect("a key");
        let challenge = self.challenge(to, giver);
        let paid = payer.pay(self.keys[to], cents, challenge, &batch);
        good(&paid.expect("paid"));
        batch
    }
}

/// What it was worth, if nothing was refused.
pub fn good(outcome: &Outcome) -> u64 {
    assert_eq!(outcome.refused, []);
    outcome.amount_cents
}

/// Reasons of what was refused; nothing else went well.
pub fn reasons(outcome: &Outcome) -> Vec<&'static str> {
    assert_eq!((outcome.tokens, outcome.amount_cents), (0, 0));
    let refused = outcome.refused.iter();
    refused.map(|refused| refused.reason).collect()
}

pub fn challenge(outcome: &Outcome) -> Challenge {
    let text = outcome.challenge.as_deref().expect("a challenge");
    parse_challenge(text).expect("as it is written")
}

pub fn usage<T>(result: Result<T, TokensError>) -> String {
    match result.err() {
        Some(TokensError::Usage(reason)) => reason,
        other => panic!("no mistake of the user: {other:?}"),
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), entry.file_name());
        match path.is_dir() {
            true => copy_folder(&path, &to.join(name)),
            false => drop(fs::copy(&path, to.join(name)).expect("copied")),
        }
    }
}

pub const CLIENTS: [&str; 3] = ["alice", "bob", "carol"];
