//! Proofs of a token: made with a key pair, checked with a key.
//!
//! Through the crate's crypto trait, so that a simulation of many phones need
//! not compute a curve. Whatever signs or verifies enters each operation with
//! its bytes into a [`Work`] list.
//!
//! What deliberately does not live here: whom a token should be from or for.

use crate::contract::Operation;
use crate::crypto::{Canonical, Crypto, Mixer, Real, Signature};
use crate::half_block::{PrivateKey, PublicKey};

use super::layout::{
    challenged_message, minted_message, transferred_message, Challenge, Malformed, Recipient,
    Serial, Token,
};
use super::Denomination;

/// Operations that were done, each with its bytes, in order; the driver charges them.
pub type Work = Vec<(Operation, u32)>;

/// A key pair with the name that others know it by.
pub struct Signer<C> {
    crypto: C,
    key: PublicKey,
}

impl<C: Crypto> Signer<C> {
    /// The pair of `crypto`; tokens carry the Curve25519 half too and never use it (IV-A, note 3).
    pub fn new(crypto: C, curve: [u8; 32]) -> Self {
        let key = PublicKey::from_halves(curve, crypto.public_key());
        Self { crypto, key }
    }

    /// The 74 bytes that others know.
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    fn sign(&self, message: &Message<'_>, work: &mut Work) -> [u8; 64] {
        work.push((Operation::Sign, message.signed_bytes()));
        self.crypto.sign(message).0
    }
}

impl Signer<Real> {
    /// From the bytes of a private key; see [`PrivateKey::from_bytes`].
    ///
    /// # Errors
    /// Those of [`PrivateKey::from_bytes`].
    pub fn from_private(bytes: &[u8]) -> Result<Self, Malformed> {
        let key = PrivateKey::from_bytes(bytes)?.public_key();
        let mut secret = [0; 32];
        secret.copy_from_slice(&bytes[42..]);
        let crypto = Real::from_secret(secret);
        Ok(Self { crypto, key })
    }
}

/// What the authority promises: one denomination, to whoever its first recipient is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Its name for the token.
    pub serial: Serial,
    /// What it is worth.
    pub denomination: Denomination,
    /// What tells this life of the token from its others.
    pub nonce: [u8; 64],
    /// Who has it first.
    pub first: PublicKey,
}

/// The token of a promise by `signer`, the authority.
pub fn mint<C: Crypto>(signer: &Signer<C>, promise: &Promise, work: &mut Work) -> Token {
    let value = promise.denomination.byte();
    let message = Message::Minted {
        serial: &promise.serial,
        value,
        nonce: &promise.nonce,
        recipient: &promise.first,
    };
    let first = Recipient {
        key: promise.first,
        proof: signer.sign(&message, work),
        challenge: None,
    };
    Token::new(promise.serial, value, signer.key, promise.nonce, first)
}

/// Hand `token` on: `signer`, whose it must be, adds `to` with a proof.
///
/// # Errors
/// Those of [`Token::push`]; the token is then as it was.
pub fn transfer<C: Crypto>(
    token: &mut Token,
    signer: &Signer<C>,
    to: PublicKey,
    challenge: Option<Challenge>,
    work: &mut Work,
) -> Result<(), Malformed> {
    let last = token.last_recipient();
    assert_eq!(last.key, signer.key, "only its holder hands a token on");
    token.can_take(challenge.is_some())?;
    let message = Message::handed_on(&last.proof, &to, challenge.as_ref());
    let proof = signer.sign(&message, work);
    token.push(Recipient {
        key: to,
        proof,
        challenge,
    })
}

/// Whether the token's authority signed its first pair.
pub fn first_proof_holds<C: Crypto>(token: &Token, work: &mut Work) -> bool {
    let first = &token.recipients()[0];
    let message = Message::Minted {
        serial: &token.serial,
        value: token.value,
        nonce: &token.nonce,
        recipient: &first.key,
    };
    verify::<C>(&token.authority, &message, &first.proof, work)
}

/// Whether every pair after the first is signed by the recipient before it.
///
/// Stops at the first that is not: what follows a broken proof proves nothing.
pub fn chain_holds<C: Crypto>(token: &Token, work: &mut Work) -> bool {
    token.recipients().windows(2).all(|pair| {
        let (giver, taker) = (&pair[0], &pair[1]);
        let message = Message::handed_on(&giver.proof, &taker.key, taker.challenge.as_ref());
        verify::<C>(&giver.key, &message, &taker.proof, work)
    })
}

fn verify<C: Crypto>(
    key: &PublicKey,
    message: &Message<'_>,
    proof: &[u8; 64],
    work: &mut Work,
) -> bool {
    work.push((Operation::Verify, message.signed_bytes()));
    C::verify(&key.verification_key(), message, &Signature(*proof))
}

/// What a proof signs.
enum Message<'a> {
    Minted {
        serial: &'a Serial,
        value: u8,
        nonce: &'a [u8; 64],
        recipient: &'a PublicKey,
    },
    HandedOn {
        last_proof: &'a [u8; 64],
        recipient: &'a PublicKey,
        challenge: Option<&'a Challenge>,
    },
}

impl<'a> Message<'a> {
    fn handed_on(
        last_proof: &'a [u8; 64],
        recipient: &'a PublicKey,
        challenge: Option<&'a Challenge>,
    ) -> Self {
        Self::HandedOn {
            last_proof,
            recipient,
            challenge,
        }
    }

    /// Length of its bytes, which tells the three kinds apart.
    fn signed_bytes(&self) -> u32 {
        match self {
            Self::Minted { .. } => 147,
            Self::HandedOn { challenge, .. } => 138 + challenge.map_or(0, |_| 16),
        }
    }
}

impl Canonical for Message<'_> {
    fn bytes(&self) -> Vec<u8> {
        match *self {
            Self::Minted {
                serial,
                value,
                nonce,
                recipient,
            } => minted_message(serial, value, nonce, recipient).to_vec(),
            Self::HandedOn {
                last_proof,
                recipient,
                challenge,
            } => match challenge {
                None => transferred_message(last_proof, recipient).to_vec(),
                Some(challenge) => challenged_message(last_proof, recipient, challenge).to_vec(),
            },
        }
    }

    fn mix(&self, mixer: &mut Mixer) {
        mixer.word(u64::from(self.signed_bytes()));
        match *self {
            Self::Minted {
                serial,
                value,
                nonce,
                recipient,
            } => {
                mixer.bytes(serial);
                mixer.word(u64::from(value));
                mixer.bytes(nonce);
                mix_key(recipient, mixer);
            }
            Self::HandedOn {
                last_proof,
                recipient,
                challenge,
            } => {
                mixer.bytes(last_proof);
                mix_key(recipient, mixer);
                challenge.inspect(|challenge| mixer.bytes(challenge));
            }
        }
    }
}

/// The mixer takes words of eight bytes: 74 bytes and six of filling.
fn mix_key(key: &PublicKey, mixer: &mut Mixer) {
    let mut padded = [0; 80];
    padded[..74].copy_from_slice(&key.0);
    mixer.bytes(&padded);
}
