//! The files of tokens: formats, signatures, damage, and amounts as people write them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::town::*;
use pocketsim_probe_core::tokens::document::{fingerprint, AnswerFile, SubmissionFile};
use pocketsim_probe_core::tokens::files::Disk;
use pocketsim_probe_core::tokens::wallet_file::WalletFile;
use pocketsim_probe_core::tokens::{
    amount, keys, AuthorityFolder, ClientFolder, Intent, TokensError,
};
use pocketsim_protocols::token::{Answer, Change, Denomination, Recipient, Refusal, Token};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

/// A submission of bob's, its file, and the authority's answer.
fn submitted() -> (Town, SubmissionFile, Vec<u8>, Vec<u8>) {
    let town = Town::thesis();
    town.mint(0, 3);
    town.pay(0, 1, 3);
    let path = town.submit(1, Intent::Reissue);
    let bytes = fs::read(&path).expect("a submission");
    let submission = SubmissionFile::open(&bytes).expect("as it was sealed");
    let answer = fs::read(town.verify(&path).1).expect("an answer");
    (town, submission, bytes, answer)
}

#[test]
fn no_byte_of_a_signed_file_can_be_altered() {
    let (_, submission, bytes, answer) = submitted();
    assert_eq!(
        [submission.encode(), bytes[bytes.len() - 64..].to_vec()].concat(),
        bytes
    );
    for at in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[at] ^= 1;
        assert!(SubmissionFile::open(&altered).is_err(), "byte {at}");
        assert!(SubmissionFile::open(&bytes[..at]).is_err(), "cut at {at}");
    }
    let opened = AnswerFile::open(&answer).expect("as it was sealed");
    assert_eq!(opened.encode(), answer[..answer.len() - 64]);
    for at in 0..answer.len() {
        let mut altered = answer.clone();
        altered[at] ^= 1;
        assert!(AnswerFile::open(&altered).is_err(), "byte {at}");
        assert!(AnswerFile::open(&answer[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn who_carries_a_submission_can_neither_redeem_it_nor_take_it() {
    let (town, good, ..) = submitted();
    let mut redeemed = good.clone();
    redeemed.requests[0].1 = Intent::Redeem;
    let path = town.path("forged");
    let carol = town.identity("carol");
    fs::write(&path, redeemed.seal(&carol)).expect("written");
    let refused = town.verify(&path).0;
    assert_eq!(reasons(&refused), ["bad_signature"]);
    assert_eq!(refused.cost.signatures_checked, 1);
    let own = SubmissionFile {
        submitter: town.keys[2],
        ..good.clone()
    };
    fs::write(&path, own.seal(&carol)).expect("written");
    let refused = reasons(&town.verify(&path).0);
    assert_eq!(refused, ["wrong_submitter"; 2]);
    let elsewhere = SubmissionFile {
        authority: town.keys[0],
        ..good
    };
    fs::write(&path, elsewhere.seal(&town.identity("bob"))).expect("written");
    assert_eq!(reasons(&town.verify(&path).0), ["unknown_authority"]);
}

#[test]
fn nobody_but_the_authority_can_make_a_client_drop_a_token() {
    let (town, submission, _, answer) = submitted();
    let token = &submission.requests[0].0;
    let refusal = |submitted| AnswerFile {
        authority: town.bank,
        submitter: town.keys[1],
        verdicts: vec![(
            submitted,
            Answer::Refused {
                serial: token.serial,
                last_proof: token.last_recipient().proof,
                reason: Refusal::DoubleSpend,
                culprits: vec![town.keys[0]],
            },
        )],
    };
    let path = town.path("forged");
    let settle = |bytes: Vec<u8>| {
        fs::write(&path, bytes).expect("written");
        let reasons = reasons(&town.settle(1, &path));
        assert_eq!(town.balance(1).pending_cents, 3);
        reasons
    };
    let (bank, carol) = (town.identity("bank"), town.identity("carol"));
    let good = refusal(fingerprint(token));
    assert_eq!(settle(good.seal(&carol)), ["bad_signature"]);
    let other = AnswerFile {
        authority: town.keys[2],
        ..good.clone()
    };
    assert_eq!(settle(other.seal(&carol)), ["unknown_authority"]);
    let others = AnswerFile {
        submitter: town.keys[0],
        ..good
    };
    assert_eq!(settle(others.seal(&bank)), ["wrong_recipient"]);
    // The authority's own, on another branch of the serial: replayed from before.
    assert_eq!(settle(refusal([7; 32]).seal(&bank)), ["not_pending"]);
    // Its serial and its hash, and the last proof of another submission.
    let mut mixed = refusal(fingerprint(token));
    if let Answer::Refused { last_proof, .. } = &mut mixed.verdicts[0].1 {
        last_proof[0] ^= 1;
    }
    assert_eq!(settle(mixed.seal(&bank)), ["not_pending"]);
    fs::write(&path, answer).expect("written");
    assert_eq!(good_cents(&town, &path), 3);
}

fn good_cents(town: &Town, answer: &std::path::Path) -> u64 {
    good(&town.settle(1, answer))
}

#[test]
fn damage_is_an_error_that_names_the_file() {
    let (town, ..) = submitted();
    let client = ["key", "settings.json", "refused.json", "wallet"];
    let cases = client.map(|name| ("bob", name)).into_iter();
    let bank = ["key", "settings.json", "refused.json", "tokens.journal"];
    for (folder, name) in cases.chain(bank.map(|name| ("bank", name))) {
        let path = town.path(folder).join(name);
        let good = fs::read(&path).expect("a file");
        let mut flipped = good.clone();
        let middle = good.len() / 2;
        flipped[middle] ^= 0xff;
        for bad in [flipped, good[..good.len().min(8) - 1].to_vec(), Vec::new()] {
            fs::write(&path, bad).expect("written");
            assert_eq!(damaged(&town, folder), path);
        }
        fs::remove_file(&path).expect("it is there");
        assert_eq!(damaged(&town, folder), path);
        fs::write(&path, good).expect("written");
    }
    town.client(1);
    town.authority();
}

fn damaged(town: &Town, folder: &str) -> std::path::PathBuf {
    let path = town.path(folder);
    let opened = match folder {
        "bank" => AuthorityFolder::open(&path, &Disk).map(drop),
        _ => ClientFolder::open(&path, &Disk).map(drop),
    };
    match opened {
        Err(TokensError::Damaged { file, reason }) => {
            assert!(!reason.is_empty());
            file
        }
        other => panic!("{folder}: {other:?}"),
    }
}

#[test]
fn the_wallet_of_another_key_is_refused() {
    let town = Town::thesis();
    let wallet = |name: &str| town.path(name).join("wallet");
    fs::copy(wallet("alice"), wallet("bob")).expect("copied");
    assert_eq!(damaged(&town, "bob"), wallet("bob"));
}

#[test]
fn an_old_wallet_or_journal_put_back_is_refused_while_what_followed_is_in_sent() {
    let town = Town::thesis();
    town.mint(0, 3);
    for (folder, name) in [("alice", "wallet"), ("bank", "tokens.journal")] {
        let path = town.path(folder).join(name);
        let old = fs::read(&path).expect("a file");
        town.pay(0, 1, 1);
        town.mint(0, 2);
        let new = fs::read(&path).expect("a file");
        fs::write(&path, old).expect("put back");
        assert_eq!(damaged(&town, folder), path);
        fs::write(&path, new).expect("written");
    }
    // By name only: what else lies there, or was deleted, is no matter.
    fs::write(town.path("alice/sent/9.txt"), "").expect("written");
    fs::remove_file(town.path("alice/sent/1.tokens")).expect("it is there");
    town.pay(0, 1, 1);
}

#[test]
fn nobody_else_may_read_keys_and_tokens() {
    let (town, ..) = submitted();
    for name in [
        "bank/key",
        "bob/key",
        "bob/wallet",
        "submission",
        "bank/sent/1.tokens",
    ] {
        let mode = town.path(name).metadata().expect("a file").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn who_deletes_what_has_arrived_may_delete_its_folder() {
    let town = Town::thesis();
    town.mint(0, 2);
    let delete = |name: &str| fs::remove_dir_all(town.path(name).join("sent")).expect("deleted");
    delete("bank");
    delete("alice");
    town.mint(0, 2);
    town.pay(0, 1, 2);
    assert!(town.path("alice/sent/1.tokens").exists());
    delete("alice");
    town.pay(0, 1, 2);
    assert_eq!(town.held_cents(1), 4);
}

#[test]
fn a_wallet_is_read_as_it_was_written_and_no_byte_can_change() {
    let (town, ..) = submitted();
    town.challenge(1, town.keys[0]);
    town.challenge(1, town.bank);
    let bytes = fs::read(town.path("bob").join("wallet")).expect("a wallet");
    let wallet = WalletFile::decode(&bytes).expect("as it was written");
    assert_eq!(wallet.encode(), bytes);
    assert_eq!(
        [
            wallet.state.pending.len(),
            wallet.state.payments.len(),
            wallet.state.orders.len(),
            wallet.state.used.len()
        ],
        [2, 1, 1, 1]
    );
    // Both tokens of the one payment.
    assert_eq!(wallet.state.used[0].taken.len(), 2);
    for at in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[at] ^= 1;
        assert!(WalletFile::decode(&altered).is_err(), "byte {at}");
        assert!(WalletFile::decode(&bytes[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn a_wallet_of_version_1_is_refused_with_what_to_do() {
    let (town, ..) = submitted();
    let path = town.path("bob").join("wallet");
    let mut body = fs::read(&path).expect("a wallet");
    body.truncate(body.len() - 32);
    body[9] = 1;
    let old = [&body[..], &Sha256::digest(&body)].concat();
    fs::write(&path, old).expect("written");
    let opened = ClientFolder::open(&town.path("bob"), &Disk);
    let reason = opened.err().expect("refused").to_string();
    assert!(reason.contains("make a new folder"), "{reason}");
}

#[test]
fn what_was_taken_stands_once_and_in_order_in_a_wallet() {
    let (town, ..) = submitted();
    let bytes = fs::read(town.path("bob").join("wallet")).expect("a wallet");
    let body = &bytes[..bytes.len() - 32];
    let wallet = WalletFile::decode_body(body).expect("as it was written");
    let taken: Vec<_> = wallet.state.used[0].taken.iter().collect();
    let name = |(serial, proof): &([u8; 8], [u8; 64])| [&serial[..], proof].concat();
    let both = [name(taken[0]), name(taken[1])];
    let mut places = body.windows(144).enumerate();
    let found = places.find(|(_, window)| *window == both.concat());
    let at = found.expect("both are there").0;
    for other in [[&both[1], &both[0]], [&both[0], &both[0]]] {
        let mut altered = body.to_vec();
        altered[at..at + 144].copy_from_slice(&other.map(|name| &name[..]).concat());
        let refused = WalletFile::decode_body(&altered).expect_err("altered");
        assert!(refused.0.contains("ascending"), "{refused}");
    }
}

/// Alice's folder with cents that came a long way, in all more than 64 MiB.
fn with_long_histories(town: &Town) -> u64 {
    let path = town.path("alice").join("wallet");
    let mut wallet = WalletFile::new(town.keys[0]);
    let pair = |challenge| Recipient {
        key: town.keys[0],
        proof: [0; 64],
        challenge,
    };
    let cent = Denomination::all().next().expect("there are some").byte();
    let count = 1_720_u64;
    wallet.state.held = (0..count)
        .map(|serial| Token::new(serial.to_be_bytes(), cent, town.bank, [0; 64], pair(None)))
        .collect();
    for token in &mut wallet.state.held {
        // With the next holder and the authority it has 256, the most that are taken.
        (1..254).for_each(|_| token.push(pair(Some([0; 16]))).expect("room"));
    }
    fs::write(path, wallet.encode()).expect("written");
    count
}

#[test]
fn nothing_is_released_that_is_too_long_to_be_read() {
    let town = Town::thesis();
    let count = with_long_histories(&town);
    let output = town.path("batch");
    let paid = town.client(0);
    let paid = paid.pay(town.keys[1], count, Some([1; 16]), &output);
    assert!(usage(paid).contains("pay less at once"));
    assert!(!output.exists());
    let submission = town.submit(0, Intent::Reissue);
    let balance = town.balance(0);
    let (held_cents, pending_cents) = (balance.held_cents, balance.pending_cents);
    assert_eq!(held_cents + pending_cents, count, "nothing was paid");
    assert!(held_cents > 0 && pending_cents > 0, "{pending_cents}");
    let (outcome, _) = town.verify(&submission);
    assert_eq!(
        outcome.refused.len() as u64,
        pending_cents,
        "no such serials"
    );
}

#[test]
fn amounts_are_exact_or_refused() {
    for (text, cents) in [
        ("12.34", 1_234),
        ("3,50", 350),
        ("3.5", 350),
        ("0.01", 1),
        ("20", 2_000),
        ("0007", 700),
        ("1000000.00", amount::AMOUNT_MAX_CENTS),
    ] {
        assert_eq!(amount::parse(text), Ok(cents), "{text}");
    }
    for text in [
        "",
        ".",
        "1.",
        ".5",
        "-1",
        "+1",
        "1.234",
        "1e3",
        "1 000",
        "0",
        "0.00",
        "NaN",
        "1.2.3",
        "1000000.01",
        "99999999999999999999",
        "184467440737095516.16",
        "١",
    ] {
        assert!(amount::parse(text).is_err(), "{text}");
    }
    assert_eq!(amount::show(1_204), "12.04");
}

#[test]
fn keys_and_challenges_are_read_strictly() {
    let town = Town::thesis();
    let text = keys::show_key(&town.bank);
    assert_eq!(keys::parse_key(&text), Ok(town.bank));
    let named = &text[..84];
    let off_curve = format!("{named}02{}", "00".repeat(31));
    for bad in [&text[1..], "", &text.replacen("4c", "4d", 1), &off_curve] {
        assert!(keys::parse_key(bad).is_err(), "{bad}");
    }
    assert_eq!(keys::parse_challenge(&"0a".repeat(16)), Ok([10; 16]));
    assert!(keys::parse_challenge(&"0a".repeat(15)).is_err());
}

proptest! {
    #[test]
    fn a_purse_pays_every_amount_up_to_its_own(
        total in 1_u64..100_000,
        share in any::<prop::sample::Index>(),
    ) {
        let coins = amount::purse(total);
        prop_assert_eq!(coins.iter().map(|coin| coin.cents()).sum::<u64>(), total);
        let mut held = [0; Denomination::COUNT];
        coins.iter().for_each(|coin| held[coin.place()] += 1);
        let wanted = share.index(total as usize) as u64 + 1;
        let change = Change::nearest(wanted, &held).expect("at most the total");
        prop_assert_eq!(change.sum_cents, wanted);
        prop_assert!(coins.len() < 40 + total as usize / 50_000);
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), kind in 0..3) {
        let magic = [b"PSSUBMIT", b"PSANSWER", b"PSWALLET"][kind as usize];
        let bytes = [&magic[..], &[0, 2], b"LibNaCLPK:", &bytes].concat();
        let read = [
            SubmissionFile::decode(&bytes).is_ok(),
            AnswerFile::decode(&bytes).is_ok(),
            WalletFile::decode_body(&bytes).is_ok(),
        ];
        prop_assert!(read.iter().filter(|&&one| one).count() <= 1);
    }
}
