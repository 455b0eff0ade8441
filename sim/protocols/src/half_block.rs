//! The half-block of Kotlin-IPv8, a second wire format beside the theses' block.
//!
//! Big-endian, in the order of HalfBlockPayload.kt:22-33; 268 bytes around the
//! type and the transaction. The signature covers the serialisation with
//! [`EMPTY_SIGNATURE`] in its place, the hash covers it with the real one
//! (TrustChainBlock.kt:283-291).
//!
//! What deliberately does not live here: validation of chains, which in
//! Kotlin-IPv8 does not detect a fork, and the packets that carry half-blocks.

use curve25519_dalek::montgomery::MontgomeryPoint;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::crypto::Key;
use crate::reader::Reader;

pub use crate::reader::Malformed;
pub use transaction::Value;

mod transaction;

/// Previous hash of the first block: 32 times the character 0, not the byte 0.
pub const GENESIS_HASH: [u8; 32] = [b'0'; 32];
/// Stands for a signature that is not there yet.
pub const EMPTY_SIGNATURE: [u8; 64] = [b'0'; 64];
/// Stands for a counterparty that is not known yet.
pub const EMPTY_KEY: PublicKey = PublicKey([b'0'; 74]);
/// Sequence number of a counterparty's half that does not exist yet: a proposal.
pub const UNKNOWN_SEQUENCE: u32 = 0;

/// `LibNaCLPK:`, then 32 bytes Curve25519, then 32 bytes Ed25519.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; 74]);

impl PublicKey {
    /// Whether it starts as every key does; [`EMPTY_KEY`] does not.
    pub fn is_named(&self) -> bool {
        self.0.starts_with(PUBLIC_PREFIX)
    }

    /// The key of these two halves.
    pub fn from_halves(curve: [u8; 32], verification: Key) -> Self {
        let mut key = [0; 74];
        key[..10].copy_from_slice(PUBLIC_PREFIX);
        key[10..42].copy_from_slice(&curve);
        key[42..].copy_from_slice(&verification.0);
        Self(key)
    }

    /// The half that signatures are checked with.
    pub fn verification_key(&self) -> Key {
        let mut key = [0; 32];
        key.copy_from_slice(&self.0[42..]);
        Key(key)
    }

    /// Whether its owner signed `message`.
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let key = self.verification_key().0;
        let signature = Signature::from_bytes(signature);
        let verified =
            VerifyingKey::from_bytes(&key).and_then(|key| key.verify_strict(message, &signature));
        self.is_named() && verified.is_ok()
    }
}

/// A key pair of both curves.
pub struct PrivateKey {
    curve_secret: [u8; 32],
    pair: SigningKey,
}

impl PrivateKey {
    /// From `LibNaCLSK:`, 32 bytes Curve25519 secret, 32 bytes Ed25519 seed.
    ///
    /// # Errors
    /// Another prefix or length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        if reader.array()? != *SECRET_PREFIX {
            return Err(Malformed("a private key starts with LibNaCLSK:"));
        }
        let curve_secret = reader.array()?;
        let pair = SigningKey::from_bytes(&reader.array()?);
        reader.end()?;
        Ok(Self { curve_secret, pair })
    }

    /// The public halves.
    pub fn public_key(&self) -> PublicKey {
        let curve = MontgomeryPoint::mul_base_clamped(self.curve_secret).to_bytes();
        PublicKey::from_halves(curve, Key(self.pair.verifying_key().to_bytes()))
    }

    /// An Ed25519 signature of `message`.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.pair.sign(message).to_bytes()
    }
}

/// One party's half of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HalfBlock {
    /// Who made it.
    pub public_key: PublicKey,
    /// Its place on that chain, from 1.
    pub sequence_number: u32,
    /// The counterparty.
    pub link_public_key: PublicKey,
    /// Place of the counterparty's half, or [`UNKNOWN_SEQUENCE`] in a proposal.
    pub link_sequence_number: u32,
    /// Hash of the half-block before it on its own chain.
    pub previous_hash: [u8; 32],
    /// Ed25519, detached.
    pub signature: [u8; 64],
    /// Kind of the transaction; ASCII.
    pub block_type: String,
    /// The transaction, encoded; see [`Value`].
    pub transaction: Vec<u8>,
    /// Milliseconds since 1970.
    pub timestamp_ms: u64,
}

impl HalfBlock {
    /// Length of [`HalfBlock::encode`].
    pub fn wire_bytes(&self) -> usize {
        FIXED_BYTES + self.block_type.len() + self.transaction.len()
    }

    /// The bytes on the wire.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(&self.signature)
    }

    /// A half-block from its bytes, with nothing behind them.
    ///
    /// # Errors
    /// Truncated or overlong bytes, a type that is not ASCII.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        let block = Self {
            public_key: PublicKey(reader.array()?),
            sequence_number: reader.u32()?,
            link_public_key: PublicKey(reader.array()?),
            link_sequence_number: reader.u32()?,
            previous_hash: reader.array()?,
            signature: reader.array()?,
            block_type: ascii(reader.sized()?)?,
            transaction: reader.sized()?.to_vec(),
            timestamp_ms: u64::from_be_bytes(reader.array()?),
        };
        reader.end()?;
        Ok(block)
    }

    /// Set the signature; `key` should be that of `public_key`.
    pub fn sign(&mut self, key: &PrivateKey) {
        self.signature = key.sign(&self.encode_with(&EMPTY_SIGNATURE));
    }

    /// Whether `public_key` signed it.
    pub fn signature_holds(&self) -> bool {
        let message = self.encode_with(&EMPTY_SIGNATURE);
        self.public_key.verifies(&message, &self.signature)
    }

    /// What the next half-block of the chain refers to.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.encode()).into()
    }

    fn encode_with(&self, signature: &[u8; 64]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.wire_bytes());
        bytes.extend(self.public_key.0);
        bytes.extend(self.sequence_number.to_be_bytes());
        bytes.extend(self.link_public_key.0);
        bytes.extend(self.link_sequence_number.to_be_bytes());
        bytes.extend(self.previous_hash);
        bytes.extend(signature);
        put_sized(&mut bytes, self.block_type.as_bytes());
        put_sized(&mut bytes, &self.transaction);
        bytes.extend(self.timestamp_ms.to_be_bytes());
        bytes
    }
}

fn put_sized(bytes: &mut Vec<u8>, content: &[u8]) {
    let count = u32::try_from(content.len()).expect("a field is under 4 GiB");
    bytes.extend(count.to_be_bytes());
    bytes.extend(content);
}

fn ascii(bytes: &[u8]) -> Result<String, Malformed> {
    let text = std::str::from_utf8(bytes).ok();
    text.filter(|text| text.is_ascii())
        .map(str::to_owned)
        .ok_or(Malformed("a type is ASCII"))
}

const PUBLIC_PREFIX: &[u8; 10] = b"LibNaCLPK:";
const SECRET_PREFIX: &[u8; 10] = b"LibNaCLSK:";
/// Two keys, two sequence numbers, hash, signature, two lengths, timestamp.
const FIXED_BYTES: usize = 2 * 74 + 2 * 4 + 32 + 64 + 2 * 4 + 8;
