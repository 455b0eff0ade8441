//! Keys as files and as text, and signatures on whole documents.
//!
//! A document is signed with the key that also signs tokens. What is signed is always longer than
//! the 154 bytes at most of a token's proof, and begins with the document's magic word, so neither
//! can stand for the other.
//!
//! What deliberately does not live here: proofs of tokens (`pocketsim_protocols::token`).

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use pocketsim_protocols::crypto::Real;
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::reader::Malformed;
use pocketsim_protocols::token::{Challenge, Signer};

use super::TokensError;

/// Who signs documents.
#[derive(Debug)]
pub struct Identity {
    pair: SigningKey,
    key: PublicKey,
}

impl Identity {
    /// From a private key as [`new_private_key`] makes it.
    ///
    /// # Errors
    /// Another prefix or length.
    pub fn from_private(bytes: &[u8]) -> Result<(Self, Signer<Real>), Malformed> {
        let signer = Signer::from_private(bytes)?;
        let mut seed = [0; 32];
        seed.copy_from_slice(&bytes[SEED_OFFSET..]);
        let identity = Self {
            pair: SigningKey::from_bytes(&seed),
            key: *signer.public_key(),
        };
        Ok((identity, signer))
    }

    /// Its name.
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    /// The signature of a document.
    pub(super) fn sign(&self, document: &[u8]) -> [u8; 64] {
        assert!(document.len() > PROOF_BYTES_MAX, "may be taken for a proof");
        self.pair.sign(document).to_bytes()
    }
}

/// Whether `key` has signed `document`.
pub(super) fn has_signed(key: &PublicKey, document: &[u8], signature: &[u8; 64]) -> bool {
    VerifyingKey::from_bytes(&key.verification_key().0).is_ok_and(|key| {
        let signature = Signature::from_bytes(signature);
        key.verify_strict(document, &signature).is_ok()
    })
}

/// `LibNaCLSK:` and two random halves, 74 bytes.
///
/// # Errors
/// When the system has no random bytes.
pub(super) fn new_private_key() -> Result<Vec<u8>, TokensError> {
    Ok([&b"LibNaCLSK:"[..], &random::<64>()?].concat())
}

/// Bytes that nobody can foretell.
///
/// # Errors
/// When the system has none.
pub(super) fn random<const N: usize>() -> Result<[u8; N], TokensError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| TokensError::Environment(format!("random bytes: {error}")))?;
    Ok(bytes)
}

/// A public key of 148 hexadecimal digits.
///
/// # Errors
/// Other digits or length, another prefix, no point of the curve.
pub fn parse_key(text: &str) -> Result<PublicKey, String> {
    let mut key = [0; 74];
    hex::decode_to_slice(text, &mut key)
        .map_err(|_| "a key has 148 hexadecimal digits".to_owned())?;
    let key = PublicKey(key);
    if !key.is_named() {
        return Err("a public key starts with LibNaCLPK:".to_owned());
    }
    let point = VerifyingKey::from_bytes(&key.verification_key().0);
    point.map_err(|_| "no point of the curve".to_owned())?;
    Ok(key)
}

/// A public key as [`parse_key`] reads it.
pub fn show_key(key: &PublicKey) -> String {
    hex::encode(key.0)
}

/// A challenge of 32 hexadecimal digits.
///
/// # Errors
/// Other digits or length.
pub fn parse_challenge(text: &str) -> Result<Challenge, String> {
    let mut challenge = [0; 16];
    hex::decode_to_slice(text, &mut challenge)
        .map_err(|_| "a challenge has 32 hexadecimal digits".to_owned())?;
    Ok(challenge)
}

/// Where the Ed25519 seed begins, behind the prefix and the Curve25519 half.
const SEED_OFFSET: usize = 42;
/// What a proof of the challenged layout signs, the longest of the three.
const PROOF_BYTES_MAX: usize = 154;
