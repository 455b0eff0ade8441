//! Tokens as files between an authority and clients: payments, cheats, replays and hostile files.

use std::fs;
use std::io;
use std::path::Path;

use super::town::*;
use pocketsim_probe_core::tokens::files::{Disk, Files};
use pocketsim_probe_core::tokens::keys::parse_challenge;
use pocketsim_probe_core::tokens::outcome::RequestFigures;
use pocketsim_probe_core::tokens::{
    new_client, ClientFolder, Handshake, Intent, PublicKey, Requests, Rules, TokensError,
};
use pocketsim_protocols::token::{decode_batch, encode_batch, Token};

#[test]
fn money_goes_round_offline_and_comes_back() {
    for (rules, handshake) in [
        (Rules::Thesis, Handshake::Challenge),
        (Rules::Thesis, Handshake::None),
        (Rules::Prototype, Handshake::None),
    ] {
        let town = Town::new(rules, handshake);
        town.mint(0, 2_000);
        town.pay(0, 1, 350);
        town.pay(1, 2, 350);
        town.pay(2, 0, 100);
        let carol = town.balance(2);
        assert_eq!((carol.held_cents, carol.unverified_cents), (250, 250));
        assert_eq!(town.renew(2, Intent::Reissue), 250);
        let carol = town.balance(2);
        assert_eq!((carol.held_cents, carol.unverified_cents), (250, 0));
        assert_eq!(town.renew(2, Intent::Redeem), 250);
        let held: Vec<u64> = (0..3).map(|client| town.held_cents(client)).collect();
        assert_eq!(held, [1_750, 0, 0]);
        let books = town.books();
        assert_eq!((books.minted_cents, books.redeemed_cents), (2_000, 250));
        assert_eq!(books.circulating_cents, 1_750);
        assert_eq!(books.offences, []);
    }
}

#[test]
fn a_step_says_what_it_cost() {
    let town = Town::thesis();
    town.mint(0, 300);
    let batch = town.sign(0, 1, 300);
    let outcome = town.receive(1, &batch);
    // 1, 2, 2, 5, 10, 20, 20, 50, 100 and what is left of 300: 50, 20, 20.
    assert_eq!((outcome.tokens, outcome.amount_cents), (12, 300));
    let cost = outcome.cost;
    assert_eq!((cost.signatures_made, cost.signatures_checked), (0, 24));
    assert!(cost.cpu_s > 0.0 && cost.tokens_per_s > 0.0);
    let (verified, _) = town.verify(&town.submit(1, Intent::Reissue));
    let cost = verified.cost;
    // The submission and the answer are signed too.
    assert_eq!((cost.signatures_made, cost.signatures_checked), (13, 37));
}

#[test]
fn what_cannot_be_paid_is_said_and_nothing_is_spent() {
    let town = Town::thesis();
    town.mint(0, 2_000);
    town.pay(0, 1, 1);
    let output = town.path("none");
    let pay = |who: usize, cents, challenge| {
        let client = town.client(who);
        usage(client.pay(town.keys[2], cents, challenge, &output))
    };
    let some = Some([1; 16]);
    assert!(pay(0, 3_000, some).contains("19.99 can be spent"));
    assert!(pay(0, 1, some).contains("the nearest that can be is 0.02"));
    // What has challenges goes on with challenges only.
    assert!(pay(1, 1, None).contains("ask the payee for one"));
    let to_bank = town.client(0).pay(town.bank, 100, some, &output);
    assert!(usage(to_bank).contains("no payee"));
    let inside = town.path("alice").join("wallet");
    let onto_wallet = town.client(0).pay(town.keys[1], 100, some, &inside);
    assert!(usage(onto_wallet).contains("lies in the folder itself"));
    usage(town.client(0).submit(Intent::Reissue, &output));
    assert!(!output.exists());
    assert_eq!(town.held_cents(0), 1_999);
}

#[test]
fn who_copies_a_folder_and_pays_twice_is_named() {
    let town = Town::thesis();
    town.mint(0, 100);
    let copy = town.copy(0, "alice_again");
    town.pay(0, 1, 100);
    let batch = town.pay_from(&copy, 2, 100, &Disk);
    assert_eq!(
        good(&town.receive(2, &batch)),
        100,
        "offline nobody can tell"
    );
    assert_eq!(town.renew(1, Intent::Reissue), 100);
    let (outcome, answer) = town.verify(&town.submit(2, Intent::Reissue));
    let reasons = reasons(&outcome);
    assert!(!reasons.is_empty() && reasons.iter().all(|&reason| reason == "double_spend"));
    let alice = hex(&town.keys[0].0);
    assert!(outcome
        .refused
        .iter()
        .all(|one| one.culprits == [alice.clone()]));
    let settled = town.settle(2, &answer);
    assert_eq!(
        settled.refused, outcome.refused,
        "the client is told who it was"
    );
    assert_eq!(town.held_cents(2), 0);
    let books = town.books();
    assert_eq!(books.circulating_cents, 100, "the cheat made no money");
    assert_eq!(books.double_spent_cents, 100);
    assert!(books.offences.iter().all(|one| one.culprit == alice));
    assert_eq!(books.losses_cents, [(hex(&town.keys[2].0), 100)].into());
    assert_eq!(
        books.refused,
        [("double_spend".to_owned(), reasons.len() as u64)].into()
    );
}

#[test]
fn an_authority_that_is_put_back_whole_pays_and_mints_again() {
    let town = Town::thesis();
    town.mint(0, 1);
    let submission = town.submit(0, Intent::Redeem);
    let old = town.copy_named("bank", "old");
    let round = |to: usize| {
        let redeemed = town.verify(&submission).0;
        let asked = town.challenge(to, town.bank);
        let batch = town.path("again");
        let minted = town.authority().mint(town.keys[to], 1, asked, &batch);
        let bytes = fs::read(&batch).expect("a batch");
        let serial = decode_batch(&bytes).expect("tokens")[0].serial;
        (good(&redeemed), good(&minted.expect("minted")), serial)
    };
    let first = round(1);
    fs::remove_dir_all(town.path("bank")).expect("removed");
    fs::rename(old, town.path("bank")).expect("put back");
    assert_eq!(round(2), first, "nothing tells, as the documentation says");
    assert_eq!(town.books().redeemed_cents, 1);
    assert_eq!(town.books().offences, []);
}

#[test]
fn the_handshake_refuses_a_replay_that_is_taken_without_it() {
    for handshake in [Handshake::Challenge, Handshake::None] {
        let town = Town::new(Rules::Thesis, handshake);
        town.mint(0, 100);
        let batch = town.sign(0, 1, 100);
        assert_eq!(good(&town.receive(1, &batch)), 100);
        town.pay(1, 2, 100);
        let again = town.receive(1, &batch);
        if handshake == Handshake::None {
            assert_eq!(good(&again), 100, "an old payment looks like a new one");
            continue;
        }
        let reasons = reasons(&again);
        assert!(reasons.iter().all(|&reason| reason == "used_challenge"));
        let counted = town.balance(1).refused;
        assert_eq!(
            counted,
            [("used_challenge".to_owned(), reasons.len() as u64)].into()
        );
    }
}

#[test]
fn a_request_is_for_one_payer_and_all_that_he_pays() {
    let town = Town::thesis();
    town.mint(0, 100);
    town.mint(2, 100);
    let asked = town.challenge(1, town.keys[0]);
    let pay = |from: usize, cents| {
        let batch = town.path("batch");
        let paid = town.client(from).pay(town.keys[1], cents, asked, &batch);
        assert_eq!(good(&paid.expect("paid")), cents);
        town.receive(1, &batch)
    };
    let stranger = reasons(&pay(2, 100));
    assert!(stranger.iter().all(|&reason| reason == "wrong_giver"));
    assert_eq!(good(&pay(0, 30)), 30);
    assert_eq!(good(&pay(0, 40)), 40);
    assert_eq!(town.held_cents(1), 70);
}

#[test]
fn unanswered_requests_are_bounded_and_can_be_given_up() {
    let town = Town::thesis();
    town.mint(0, 1);
    let batch = town.sign(0, 1, 1);
    for _ in 0..63 {
        town.challenge(1, town.keys[2]);
    }
    let ask = |giver| town.client(1).request(giver);
    for _ in 0..2 {
        assert!(usage(ask(town.keys[0])).contains("`probe tokens forget`"));
    }
    town.challenge(1, town.bank);
    let requests = town.balance(1).requests;
    let from = |key: PublicKey| move |one: &&RequestFigures| one.from == hex(&key.0);
    let of = |key| requests.iter().filter(from(key)).count();
    assert_eq!([0, 2].map(|client| of(town.keys[client])), [1, 63]);
    assert_eq!((of(town.bank), requests.len()), (1, 65));
    let forget = |which| town.client(1).forget(which);
    let one = parse_challenge(&requests[7].challenge).expect("as it is shown");
    forget(Requests::Of(one)).expect("given up");
    assert!(usage(forget(Requests::Of(one))).contains("no such request"));
    assert_eq!(town.balance(1).requests.len(), 64);
    forget(Requests::From(town.keys[2])).expect("given up");
    assert!(usage(forget(Requests::From(town.keys[2]))).contains("no such request"));
    assert_eq!(town.balance(1).requests.len(), 2);
    // What was not given up is as good as ever.
    assert_eq!(good(&town.receive(1, &batch)), 1);
    ask(town.keys[0]).expect("room again");
}

#[test]
fn who_pays_for_a_request_that_was_given_up_is_refused() {
    let town = Town::thesis();
    town.mint(0, 1);
    let batch = town.sign(0, 1, 1);
    let payer = Requests::From(town.keys[0]);
    town.client(1).forget(payer).expect("given up");
    assert_eq!(reasons(&town.receive(1, &batch)), ["unknown_challenge"]);
}

/// What each spoiled batch is refused for.
fn spoiled(good: &[u8]) -> Vec<(&'static str, Vec<u8>, Vec<&'static str>)> {
    let tokens = decode_batch(good).expect("tokens");
    let with = |at: usize, bytes: &[u8]| {
        let mut spoiled = tokens[0].encode();
        spoiled[at..at + bytes.len()].copy_from_slice(bytes);
        spoiled
    };
    let mut reordered = tokens[0].encode();
    let proofs = reordered.len() - 64;
    // The last pair of the token signs the pair before; its proof goes where that one's was.
    reordered.copy_within(proofs.., 149 + 74);
    vec![
        ("empty", Vec::new(), vec!["malformed"]),
        (
            "truncated",
            good[..good.len() - 1].to_vec(),
            vec!["malformed"],
        ),
        ("longer", [good, &[0]].concat(), vec!["malformed"]),
        ("no recipient", with(0, &[0, 0]), vec!["malformed"]),
        ("65535 recipients", with(0, &[255, 255]), vec!["malformed"]),
        ("value", with(10, &[0]), vec!["invalid_denomination"]),
        ("serial", with(2, &[9]), vec!["invalid_first_proof"]),
        ("authority", with(11 + 50, &[1]), vec!["unknown_authority"]),
        ("reordered", reordered, vec!["invalid_first_proof"]),
    ]
}

#[test]
fn hostile_batches_are_refused_with_a_reason_and_counted() {
    let town = Town::thesis();
    town.mint(0, 1);
    let batch = town.sign(0, 1, 1);
    let original = fs::read(&batch).expect("a batch");
    let mut refused = 0;
    for (what, bytes, expected) in spoiled(&original) {
        let path = town.path("spoiled");
        fs::write(&path, bytes).expect("written");
        assert_eq!(reasons(&town.receive(1, &path)), expected, "{what}");
        refused += expected.len() as u64;
        assert_eq!(town.balance(1).refused.values().sum::<u64>(), refused);
    }
    for (what, bytes, _) in spoiled(&original) {
        let path = town.path("spoiled");
        fs::write(&path, bytes).expect("written");
        for outcome in [town.verify(&path).0, town.settle(1, &path)] {
            assert_eq!(reasons(&outcome), ["malformed"], "{what}");
            // It never came to a signature.
            assert_eq!(outcome.cost.signatures_checked, 0, "{what}");
        }
    }
    // None of that harmed the good one; its double is no second coin.
    let token = Token::decode(&original).expect("one token");
    let twice = encode_batch(&[token.clone(), token]);
    fs::write(&batch, twice).expect("written");
    let outcome = town.receive(1, &batch);
    assert_eq!((outcome.tokens, outcome.amount_cents), (1, 1));
    assert_eq!(outcome.refused[0].reason, "duplicate_serial");
}

#[test]
fn a_batch_for_another_is_refused_and_stays_good() {
    let town = Town::thesis();
    town.mint(0, 1);
    let batch = town.sign(0, 1, 1);
    assert_eq!(reasons(&town.receive(2, &batch)), ["wrong_recipient"]);
    assert_eq!(good(&town.receive(1, &batch)), 1);
}

#[test]
fn an_answer_that_got_lost_is_given_again() {
    let town = Town::thesis();
    town.mint(0, 100);
    town.pay(0, 1, 100);
    let submission = town.submit(1, Intent::Reissue);
    let first = fs::read(town.verify(&submission).1).expect("an answer");
    // The client asks again with the same bytes, also when it had meant to redeem by now.
    let bytes = fs::read(&submission).expect("a submission");
    assert_eq!(
        fs::read(town.submit(1, Intent::Redeem)).expect("again"),
        bytes
    );
    let (again, answer) = town.verify(&submission);
    assert_eq!(again.cost.signatures_made, 1, "only the file is signed");
    assert_eq!(fs::read(&answer).expect("an answer"), first);
    assert_eq!(good(&town.settle(1, &answer)), 100);
    let settled = reasons(&town.settle(1, &answer));
    assert!(settled.iter().all(|&reason| reason == "not_pending"));
    assert_eq!(town.held_cents(1), 100);
}

/// Files of a device on which nothing can be kept in `sent`.
struct NothingSent;

impl Files for NothingSent {
    fn create(&self, path: &Path) -> io::Result<()> {
        match path.parent().is_some_and(|parent| parent.ends_with("sent")) {
            true => Err(io::Error::other("no room")),
            false => Disk.create(path),
        }
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Disk.append(path, bytes)
    }

    fn truncate(&self, path: &Path, bytes: u64) -> io::Result<()> {
        Disk.truncate(path, bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        Disk.sync(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        Disk.sync_directory(path)
    }
}

#[test]
fn who_has_paid_and_sees_an_error_is_told_so() {
    let town = Town::thesis();
    town.mint(0, 1);
    let (challenge, output) = (town.challenge(1, town.keys[0]), town.path("batch"));
    let payer = ClientFolder::open(&town.path("alice"), &NothingSent).expect("opens");
    let paid = payer.pay(town.keys[1], 1, challenge, &output);
    let Err(TokensError::Environment(reason)) = paid else {
        panic!("{paid:?}");
    };
    assert!(reason.contains("no room; the batch is made"), "{reason}");
    assert!(!output.exists());
    assert_eq!(town.held_cents(0), 0);
    assert_eq!(good(&town.receive(1, &town.path("alice/sent/1.tokens"))), 1);
}

#[test]
fn one_process_at_a_time() {
    let town = Town::thesis();
    let open = town.client(0);
    let second = ClientFolder::open(&town.path("alice"), &Disk).err();
    let Some(TokensError::Environment(reason)) = second else {
        panic!("{second:?}");
    };
    assert!(reason.contains("another process"), "{reason}");
    drop(open);
    town.client(0);
}

#[test]
fn folders_are_never_made_over_others_nor_mixed_up() {
    let town = Town::thesis();
    let before = fs::read(town.path("alice").join("key")).expect("a key");
    let again = new_client(&town.path("alice"), &town.bank, Handshake::None);
    usage(again);
    assert_eq!(
        fs::read(town.path("alice").join("key")).expect("a key"),
        before
    );
    usage(ClientFolder::open(&town.path("bank"), &Disk).map(drop));
    usage(ClientFolder::open(&town.path("nowhere"), &Disk).map(drop));
    let names = fs::read_dir(town.folder.path()).expect("a folder");
    assert_eq!(names.count(), 4, "nothing half-made is left");
    let plain = new_client(&town.path("dave"), &town.bank, Handshake::None);
    plain.expect("made");
    let dave = ClientFolder::open(&town.path("dave"), &Disk).expect("made");
    assert!(usage(dave.request(town.bank)).contains("no challenge"));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
