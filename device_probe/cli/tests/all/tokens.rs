//! `probe tokens` as processes: a payment from mint to redemption, exit codes and reasons.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

/// An authority `bank` and clients, in a folder that the commands run in.
struct Town {
    folder: TempDir,
}

impl Town {
    fn new(clients: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let town = Self { folder };
        let bank = town.data(&["new-authority", "bank"]);
        for client in clients {
            town.data(&["new-client", client, "--authority", &bank]);
        }
        town
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probe"));
        command.current_dir(&self.folder);
        let command = command.arg("tokens").args(arguments);
        command.output().expect("the binary runs")
    }

    /// The line of data that it prints.
    fn data(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        let line = String::from_utf8(output.stdout).expect("text");
        line.trim_end().to_owned()
    }

    fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let text = self.data(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).expect("JSON on stdout")
    }

    fn fails(&self, arguments: &[&str], code: i32, reason: &str) {
        let output = self.run(arguments);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(reason), "{said}");
    }

    fn key(&self, of: &str) -> String {
        let figures = self.json(&["show", of]);
        figures["key"].as_str().expect("a key").to_owned()
    }

    fn held_cents(&self, of: &str) -> u64 {
        let figures = self.json(&["show", of]);
        figures["held_cents"].as_u64().expect("a sum")
    }

    fn mint(&self, to: &str, amount: &str) {
        self.hand("mint", "bank", "--for", to, amount);
        self.data(&["receive", to, "batch"]);
    }

    fn pay(&self, from: &str, to: &str, amount: &str) {
        self.hand("pay", from, "--to", to, amount);
        self.data(&["receive", to, "batch"]);
    }

    /// A batch of which the receiver has not heard.
    fn hand(&self, step: &str, from: &str, option: &str, to: &str, amount: &str) {
        let (key, challenge) = (self.key(to), self.request(to, from));
        let payee = [option, &key, "--challenge", &challenge];
        let payment = ["--amount", amount, "-o", "batch"];
        self.data(&[&[step, from], &payee[..], &payment].concat());
    }

    fn request(&self, of: &str, from: &str) -> String {
        self.data(&["request", of, "--from", &self.key(from)])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_authority_whose_journal_was_cut_within_its_only_order_does_not_open() {
    let town = Town::new(&["alice"]);
    let path = town.folder.path().join("bank/tokens.journal");
    let empty = fs::metadata(&path).expect("a journal").len();
    town.hand("mint", "bank", "--for", "alice", "20");
    let whole = fs::read(&path).expect("a journal");
    for at in [
        empty + 1,
        (empty + whole.len() as u64) / 2,
        whole.len() as u64 - 1,
    ] {
        fs::write(&path, &whole[..at as usize]).expect("written");
        town.fails(
            &["show", "bank"],
            2,
            "bank/tokens.journal: an old copy, or cut off: ",
        );
        assert_eq!(fs::metadata(&path).expect("a journal").len(), at);
    }
    fs::write(&path, &whole).expect("put back");
    assert_eq!(town.json(&["show", "bank"])["minted_cents"], 2000);
    town.data(&["receive", "alice", "batch"]);
}

#[test]
fn from_mint_to_redemption() {
    let town = Town::new(&["alice", "bob", "carol"]);
    town.mint("alice", "20");
    town.pay("alice", "bob", "3.50");
    town.pay("bob", "carol", "3,5");
    town.data(&["submit", "carol", "-o", "submission"]);
    let verified = town.json(&["verify", "bank", "submission", "-o", "answer"]);
    assert_eq!(verified["amount_cents"], 350);
    let cost = &verified["cost"];
    // Three tokens of four recipients and the file: 13 checked, 3 + 1 made.
    assert_eq!(
        (&cost["signatures_checked"], &cost["signatures_made"]),
        (&13.into(), &4.into())
    );
    assert!(cost["cpu_s"].as_f64().is_some_and(|cpu_s| cpu_s > 0.0));
    town.data(&["settle", "carol", "answer"]);
    assert_eq!(town.held_cents("carol"), 350);
    town.data(&["submit", "carol", "--redeem", "-o", "submission"]);
    town.data(&["verify", "bank", "submission", "-o", "answer"]);
    town.data(&["settle", "carol", "answer"]);
    let held = ["alice", "bob", "carol"].map(|name| town.held_cents(name));
    assert_eq!(held, [1_650, 0, 0]);
    let books = town.json(&["show", "bank"]);
    assert_eq!(
        (&books["minted_cents"], &books["redeemed_cents"]),
        (&2_000.into(), &350.into())
    );
    assert_eq!(books["circulating_cents"], 1_650);
    let shown = town.data(&["show", "bank"]);
    assert!(shown.contains("circulating: 16.50\n"), "{shown}");
    assert!(!shown.contains("cost"), "{shown}");
    for holder in ["bank", "carol"] {
        let cost = &town.json(&["show", holder])["cost"];
        assert!(cost["duration_s"]
            .as_f64()
            .is_some_and(|taken_s| taken_s > 0.0));
        assert_eq!(cost["signatures_made"], 0);
    }
}

#[test]
fn what_is_done_is_said_with_its_cost() {
    let town = Town::new(&["alice"]);
    let (key, challenge) = (town.key("alice"), town.request("alice", "bank"));
    assert_eq!((key.len(), challenge.len()), (148, 32));
    let output = town.run(&[
        "mint",
        "bank",
        "--for",
        &key,
        "--challenge",
        &challenge,
        "--amount",
        "0.03",
        "-o",
        "batch",
    ]);
    let said = said(&output);
    assert!(
        said.contains("a copy is kept in bank/sent/1.tokens"),
        "{said}"
    );
    assert!(
        said.contains("mint: 0.03 in 2 tokens; 2 signatures made, 0 checked, "),
        "{said}"
    );
    assert!(said.contains(" tokens/s\n"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_cheat_with_a_copied_folder_is_named_and_the_exit_code_is_3() {
    let town = Town::new(&["alice", "bob", "carol"]);
    town.mint("alice", "0.01");
    let copied = Command::new("cp")
        .args(["-r", "alice", "again"])
        .current_dir(&town.folder)
        .status();
    assert!(copied.expect("cp runs").success());
    town.pay("alice", "bob", "0.01");
    town.pay("again", "carol", "0.01");
    town.data(&["submit", "bob", "-o", "submission"]);
    town.data(&["verify", "bank", "submission", "-o", "answer"]);
    town.data(&["submit", "carol", "-o", "submission"]);
    let culprit = format!("double_spend, signed twice by {}", town.key("alice"));
    town.fails(
        &["verify", "bank", "submission", "-o", "answer"],
        3,
        &culprit,
    );
    town.fails(&["settle", "carol", "answer"], 3, &culprit);
    let books = town.json(&["show", "bank"]);
    assert_eq!(books["offences"][0]["culprit"], town.key("alice"));
    assert_eq!(books["refused"]["double_spend"], 1);
}

#[test]
fn replays_and_hostile_files_end_with_3_and_the_reason() {
    let town = Town::new(&["alice", "bob", "carol"]);
    town.mint("alice", "0.01");
    town.hand("pay", "alice", "--to", "bob", "0.01");
    fs::copy(town.path("batch"), town.path("old")).expect("copied");
    town.data(&["receive", "bob", "batch"]);
    town.pay("bob", "carol", "0.01");
    town.fails(&["receive", "bob", "old"], 3, "used_challenge");
    town.fails(&["receive", "carol", "old"], 3, "wrong_recipient");
    let good = fs::read(town.path("old")).expect("a batch");
    fs::write(town.path("old"), &good[..100]).expect("written");
    town.fails(
        &["receive", "carol", "old"],
        3,
        "malformed (ends too early)",
    );
    town.fails(&["verify", "bank", "old", "-o", "answer"], 3, "malformed");
    town.fails(&["settle", "bob", "old"], 3, "malformed");
    assert!(!town.path("answer").exists());
    assert_eq!(town.json(&["show", "bob"])["refused"]["used_challenge"], 1);
}

#[test]
fn what_is_paid_and_cannot_be_written_is_kept() {
    let town = Town::new(&["alice", "bob"]);
    town.mint("alice", "0.01");
    let (key, challenge) = (town.key("bob"), town.request("bob", "alice"));
    let to_bob = ["--to", &key, "--challenge", &challenge];
    let nowhere = ["--amount", "0.01", "-o", "/dev/full"];
    let pay = [&["pay", "alice"], &to_bob[..], &nowhere].concat();
    let kept = "the batch is made and lies in alice/sent/1.tokens";
    town.fails(&pay, 5, kept);
    assert_eq!(town.held_cents("alice"), 0);
    town.data(&["receive", "bob", "alice/sent/1.tokens"]);
    assert_eq!(town.held_cents("bob"), 1);
}

#[test]
fn requests_are_listed_and_given_up() {
    let town = Town::new(&["alice", "bob"]);
    let challenges = ["alice", "bank"].map(|from| town.request("bob", from));
    let requests = || town.json(&["show", "bob"])["requests"].clone();
    assert_eq!(requests()[0]["challenge"], challenges[0]);
    assert_eq!(requests()[1]["from"], town.key("bank"));
    town.data(&["forget", "bob", "--challenge", &challenges[1]]);
    town.data(&["forget", "bob", "--from", &town.key("alice")]);
    assert_eq!(requests(), serde_json::json!([]));
    let again = ["forget", "bob", "--challenge", &challenges[1]];
    town.fails(&again, 2, "no such request");
    town.fails(&["forget", "bob"], 2, "--challenge");
    town.fails(&["request", "bob"], 2, "--from");
}

#[test]
fn mistakes_end_with_2_and_write_nothing() {
    let town = Town::new(&["alice"]);
    town.mint("alice", "2");
    let key = town.key("alice");
    let pay = |amount| {
        [
            "pay", "alice", "--to", &key, "--amount", amount, "-o", "none",
        ]
        .map(str::to_owned)
    };
    let fails = |arguments: &[String], reason: &str| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        town.fails(&arguments, 2, reason);
    };
    fails(
        &pay("2.01"),
        "2.01 cannot be paid exactly: 2.00 can be spent",
    );
    fails(&pay("1.005"), "no amount like 12.34");
    fails(&pay("0"), "nothing is no amount");
    town.fails(&["show", "nobody"], 2, "no folder of tokens");
    town.fails(&["new-client", "alice", "--authority", &key], 2, "alice");
    town.fails(
        &["new-client", "dave", "--authority", "12"],
        2,
        "148 hexadecimal digits",
    );
    town.fails(&["receive", "alice", "nowhere"], 2, "nowhere");
    town.fails(&["receive", "bank", "batch"], 2, "authority's");
    fs::write(town.path("alice/wallet"), b"PSWALLET").expect("written");
    town.fails(&["show", "alice"], 2, "alice/wallet: ends too early");
    assert!(!town.path("none").exists());
}
