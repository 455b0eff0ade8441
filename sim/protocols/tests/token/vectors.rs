//! Tokens made here, as libsodium makes them.
//!
//! `tests/unit/sim/export/test_offline_tokens.py` has the other half.
//!
//! Ed25519 leaves nothing to chance, so two independent programs that follow the format write
//! the same bytes from the same keys. `offline_tokens.json` was written by Python alone,
//! `offline_tokens_rust.json` by this test: run it with `REWRITE_VECTORS=1`.

use pocketsim_protocols::crypto::Real;
use pocketsim_protocols::token::*;
use sha2::{Digest, Sha256, Sha512};

const PATH: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/vectors/offline_tokens_rust.json"
);

fn signer(name: &str) -> Signer<Real> {
    let half = |what: &str| Sha256::digest(format!("{what} {name}"));
    let bytes = [&b"LibNaCLSK:"[..], &half("curve"), &half("ed25519")].concat();
    Signer::from_private(&bytes).expect("a private key")
}

fn nonce(serial: &str) -> [u8; 64] {
    Sha512::digest(format!("nonce {serial}")).into()
}

fn challenge(name: &str) -> Challenge {
    let digest = Sha256::digest(format!("challenge {name}"));
    *digest.first_chunk().expect("32 bytes")
}

fn minted(serial: &str, cents: u64) -> Token {
    let promise = Promise {
        serial: serial.as_bytes().try_into().expect("8 bytes"),
        denomination: Denomination::from_cents(cents).expect("a denomination"),
        nonce: nonce(serial),
        first: *signer("alice").public_key(),
    };
    mint(&signer("authority"), &promise, &mut Work::new())
}

/// Through all these hands, each of which but the authority may ask for a challenge.
fn handed(mut token: Token, hands: &[&str], challenged: bool) -> Token {
    for pair in hands.windows(2) {
        let to = *signer(pair[1]).public_key();
        let asked = challenged.then(|| challenge(pair[1]));
        transfer(&mut token, &signer(pair[0]), to, asked, &mut Work::new()).expect("room");
    }
    token
}

/// As minted, in carol's hands, with the authority, and reissued to carol; and one that was
/// never challenged.
fn batch() -> Vec<Token> {
    let hands = ["alice", "bob", "carol", "authority"];
    let fresh = minted("serial-3", 500);
    let with_carol = handed(fresh.clone(), &hands[..3], true);
    let mut authority = Authority::new(signer("authority"), Rules::Thesis);
    let order = Order {
        serial: fresh.serial,
        denomination: Denomination::from_cents(500).expect("a denomination"),
        first: *signer("alice").public_key(),
        challenge: None,
    };
    let work = &mut Work::new();
    let ordered = authority.mint(&order, nonce("serial-3"), work);
    assert_eq!(ordered.expect("fresh").1, fresh);
    let submission = Submission {
        submitter: *signer("carol").public_key(),
        token: handed(fresh.clone(), &hands, true),
        intent: Intent::Reissue,
    };
    let decision = authority.decide(&submission, nonce("again"), work);
    let Answer::Reissued(reissued) = decision.answer else {
        panic!("an honest token is reissued");
    };
    let plain = handed(minted("serial-4", 50_000), &hands[..3], false);
    vec![fresh, with_carol, submission.token, reissued, plain]
}

fn document() -> serde_json::Value {
    serde_json::json!({
        "note": "Written by sim/protocols (tests/token/vectors.rs). Keys as in offline_tokens.json; \
                 challenge SHA-256('challenge ' + name), its first 16 bytes.",
        "batch_hex": hex::encode(encode_batch(&batch())),
    })
}

#[test]
fn what_is_written_here_is_what_python_reads() {
    let document = serde_json::to_string_pretty(&document()).expect("JSON") + "\n";
    if std::env::var_os("REWRITE_VECTORS").is_some() {
        std::fs::write(PATH, &document).expect("writable");
    }
    let stored = std::fs::read_to_string(PATH).expect("written once");
    assert_eq!(stored, document);
}

#[test]
fn the_same_tokens_are_made_as_by_python() {
    let vectors: serde_json::Value =
        serde_json::from_str(include_str!("../vectors/offline_tokens.json")).expect("JSON");
    let bytes = hex::decode(vectors["batch_hex"].as_str().expect("a text")).expect("hexadecimal");
    let batch = decode_batch(&bytes).expect("tokens");
    // The first has denomination 1, the second one that is no money: minted by hand.
    assert_eq!(minted("serial-1", 1), batch[0]);
    let mut second = Token::new(
        batch[1].serial,
        batch[1].value,
        batch[1].authority,
        nonce("serial-2"),
        batch[1].recipients()[0],
    );
    assert!(first_proof_holds::<Real>(&second, &mut Work::new()));
    second = handed(second, &["alice", "bob", "carol"], false);
    assert_eq!(second, batch[1]);
}

#[test]
fn a_client_takes_what_python_made() {
    let vectors: serde_json::Value =
        serde_json::from_str(include_str!("../vectors/offline_tokens.json")).expect("JSON");
    let bytes = hex::decode(vectors["batch_hex"].as_str().expect("a text")).expect("hexadecimal");
    let known = vec![*signer("authority").public_key()];
    let mut alice = Client::new(signer("alice"), known, Handshake::None);
    let batch = decode_batch(&bytes).expect("tokens");
    let receipts = alice.receive(batch, &mut Work::new());
    assert_eq!(
        receipts[0].outcome,
        Ok(Denomination::from_byte(1).expect("1 c"))
    );
    assert_eq!(receipts[1].outcome, Err(Refusal::InvalidDenomination));
}
