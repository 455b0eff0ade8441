//! Seeds of tokens and of the files that they go in.

use pocketsim_probe_core::tokens::document::{fingerprint, AnswerFile, SubmissionFile};
use pocketsim_probe_core::tokens::wallet_file::WalletFile;
use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::crypto::{Counted, Crypto};
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::{
    Answer, Asked, Intent, Recipient, Refusal, Serial, Signer, State, Token,
};

/// Fresh, handed on in both layouts, and two in a batch.
pub fn alone() -> Vec<Vec<u8>> {
    let [fresh, plain, challenged] = three().map(|token| token.encode());
    let both = [&fresh[..], &plain].concat();
    vec![fresh, plain, both, challenged]
}

/// All but signatures, which no fuzzer finds.
pub fn submissions() -> Vec<Vec<u8>> {
    let [fresh, plain, challenged] = three();
    let file = |requests| SubmissionFile {
        submitter: key(5),
        authority: key(3),
        requests,
    };
    let files = [
        file(vec![(plain, Intent::Reissue)]),
        file(vec![(fresh, Intent::Redeem), (challenged, Intent::Reissue)]),
    ];
    files.iter().map(SubmissionFile::encode).collect()
}

/// One verdict of each kind.
pub fn answers() -> Vec<Vec<u8>> {
    let [fresh, plain, _] = three();
    let serial = plain.serial;
    let last_proof = plain.last_recipient().proof;
    let refused = Answer::Refused {
        serial,
        last_proof,
        reason: Refusal::DoubleSpend,
        culprits: vec![key(5), key(6)],
    };
    let redeemed = Answer::Redeemed { serial, last_proof };
    let answers = [Answer::Reissued(fresh), redeemed, refused];
    let verdicts = answers.map(|answer| (fingerprint(&plain), answer));
    let file = AnswerFile {
        authority: key(3),
        submitter: key(5),
        verdicts: verdicts.to_vec(),
    };
    vec![file.encode()]
}

/// Empty, and with something everywhere; they belong to the key of the target.
pub fn wallets() -> Vec<Vec<u8>> {
    let signer = Signer::new(Counted::new(1, NodeId(0)), [0; 32]);
    let owner = *signer.public_key();
    let empty = WalletFile::new(owner);
    let token = |serial: u8, way: &[PublicKey]| {
        let mut way = way.iter().map(|&key| recipient(key, None));
        let first = way.next().expect("a recipient");
        let mut token = Token::new([serial; 8], 2, key(3), [4; 64], first);
        way.for_each(|recipient| token.push(recipient).expect("room"));
        token
    };
    let full = WalletFile {
        state: State {
            held: vec![token(1, &[owner]), token(2, &[key(5), owner])],
            pending: vec![(token(3, &[owner, key(3)]), Intent::Redeem)],
            disputed: vec![token(2, &[key(6), owner])],
            payments: vec![asked(7, &[])],
            orders: vec![asked(9, &[])],
            used: vec![asked(8, &[([1; 8], [5; 64]), ([2; 8], [6; 64])])],
        },
        payments: 1,
        last_payment: token(9, &[owner, key(5)]).encode(),
        ..empty.clone()
    };
    vec![empty.body(), full.body()]
}

fn asked(fill: u8, taken: &[(Serial, [u8; 64])]) -> Asked {
    Asked {
        challenge: [fill; 16],
        giver: key(5),
        taken: taken.iter().copied().collect(),
    }
}

fn three() -> [Token; 3] {
    let fresh = Token::new([1; 8], 2, key(3), [4; 64], recipient(key(5), None));
    let (mut plain, mut challenged) = (fresh.clone(), fresh.clone());
    plain.push(recipient(key(6), None)).expect("room");
    let answering = recipient(key(6), Some([7; 16]));
    challenged.push(answering).expect("room");
    [fresh, plain, challenged]
}

fn recipient(key: PublicKey, challenge: Option<[u8; 16]>) -> Recipient {
    Recipient {
        key,
        proof: [key.0[10]; 64],
        challenge,
    }
}

fn key(fill: u8) -> PublicKey {
    let mut key = PublicKey([fill; 74]);
    key.0[..10].copy_from_slice(b"LibNaCLPK:");
    key
}
