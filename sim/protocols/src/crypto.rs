//! Signatures and digests behind one trait, so that a machine runs on either.
//!
//! [`Real`] computes Ed25519 and SHA-256. [`Counted`] gives values of the same
//! sizes from a 64-bit mix of the same fields: whatever was altered, or signed
//! by another key, is exposed just as reliably within a run, and no curve is
//! computed. It is no protection from a program that calls the mixer itself,
//! which is why only [`Real`] belongs on a network.
//!
//! What deliberately does not live here: what is signed (a block says that, as
//! [`Canonical`]), and what it costs (a machine says that, as work).

use std::sync::Arc;

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};

use crate::contract::NodeId;

/// A public key, 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub [u8; 32]);

/// A signature, 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature(pub [u8; 64]);

/// A hash, 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

impl Signature {
    /// Eight bytes that tell signatures apart; of the half that depends on the
    /// message, so that a signer who reuses a nonce is told apart too.
    pub fn fingerprint(&self) -> u64 {
        word_at(&self.0, 32)
    }
}

impl Digest {
    /// Eight bytes that tell digests apart.
    pub fn fingerprint(&self) -> u64 {
        word_at(&self.0, 0)
    }
}

/// A message in the one form that is signed and hashed.
///
/// Two messages are the same if their bytes are; `mix` must feed every field
/// that `bytes` shows, so that both providers see the same differences.
pub trait Canonical {
    /// The serialisation, for [`Real`].
    fn bytes(&self) -> Vec<u8>;

    /// The same fields without serialising them, for [`Counted`].
    fn mix(&self, mixer: &mut Mixer);
}

/// One node's key pair, and the operations that need none.
pub trait Crypto {
    /// The key pair of `node`; the same for the same `seed`.
    fn new(seed: u64, node: NodeId) -> Self;

    /// The half of the pair that others know.
    fn public_key(&self) -> Key;

    /// Sign `message` with the own key.
    fn sign(&self, message: &impl Canonical) -> Signature;

    /// Whether `signature` is that of `key` on `message`.
    fn verify(key: &Key, message: &impl Canonical, signature: &Signature) -> bool;

    /// The hash of `message`.
    fn digest(message: &impl Canonical) -> Digest;
}

/// The public keys of nodes `0..count`: the address book that every node shares.
pub fn directory<C: Crypto>(seed: u64, count: u32) -> Arc<[Key]> {
    (0..count)
        .map(|node| C::new(seed, NodeId(node)).public_key())
        .collect()
}

/// Ed25519 (RFC 8032) and SHA-256 (FIPS 180-4).
pub struct Real {
    pair: SigningKey,
}

impl Real {
    /// The pair of a secret of 32 bytes: the only one that belongs on a network is a random one.
    pub fn from_secret(secret: [u8; 32]) -> Self {
        Self {
            pair: SigningKey::from_bytes(&secret),
        }
    }
}

impl Crypto for Real {
    fn new(seed: u64, node: NodeId) -> Self {
        let secret = Sha256::new()
            .chain_update(b"pocketsim key")
            .chain_update(seed.to_le_bytes())
            .chain_update(node.0.to_le_bytes())
            .finalize();
        Self::from_secret(secret.into())
    }

    fn public_key(&self) -> Key {
        Key(self.pair.verifying_key().to_bytes())
    }

    fn sign(&self, message: &impl Canonical) -> Signature {
        Signature(self.pair.sign(&message.bytes()).to_bytes())
    }

    fn verify(key: &Key, message: &impl Canonical, signature: &Signature) -> bool {
        // Strict: a malleated signature would be a second name for one block.
        VerifyingKey::from_bytes(&key.0).is_ok_and(|key| {
            let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
            key.verify_strict(&message.bytes(), &signature).is_ok()
        })
    }

    fn digest(message: &impl Canonical) -> Digest {
        Digest(Sha256::digest(message.bytes()).into())
    }
}

/// Tags of the same sizes, without arithmetic of curves.
pub struct Counted {
    key: Key,
}

impl Crypto for Counted {
    fn new(seed: u64, node: NodeId) -> Self {
        let mut mixer = Mixer::new(DOMAIN_KEY);
        mixer.word(seed);
        mixer.word(u64::from(node.0));
        Self {
            key: Key(mixer.spread()),
        }
    }

    fn public_key(&self) -> Key {
        self.key
    }

    fn sign(&self, message: &impl Canonical) -> Signature {
        tag(&self.key, message)
    }

    fn verify(key: &Key, message: &impl Canonical, signature: &Signature) -> bool {
        tag(key, message) == *signature
    }

    fn digest(message: &impl Canonical) -> Digest {
        let mut mixer = Mixer::new(DOMAIN_DIGEST);
        message.mix(&mut mixer);
        Digest(mixer.spread())
    }
}

fn tag(key: &Key, message: &impl Canonical) -> Signature {
    let mut mixer = Mixer::new(DOMAIN_SIGNATURE);
    mixer.bytes(&key.0);
    message.mix(&mut mixer);
    Signature(mixer.spread())
}

/// A 64-bit state that fields are folded into; not cryptographic.
pub struct Mixer {
    state: u64,
}

impl Mixer {
    fn new(domain: u64) -> Self {
        Self { state: domain }
    }

    /// Fold one number in.
    #[inline]
    pub fn word(&mut self, word: u64) {
        // Both steps are bijections of the state for a given word: two messages
        // that differ in one word only can never meet again.
        self.state = (self.state.rotate_left(23) ^ word).wrapping_mul(ODD);
    }

    /// Fold bytes in, eight at a time; `N` must be a multiple of eight.
    #[inline]
    pub fn bytes<const N: usize>(&mut self, bytes: &[u8; N]) {
        for offset in (0..N).step_by(8) {
            self.word(word_at(bytes, offset));
        }
    }

    /// The state, finalised and spread over `N` bytes.
    fn spread<const N: usize>(&self) -> [u8; N] {
        let mut spread = [0; N];
        let mut state = self.state;
        for chunk in spread.chunks_exact_mut(8) {
            state = state.wrapping_add(GOLDEN);
            chunk.copy_from_slice(&finalise(state).to_le_bytes());
        }
        spread
    }
}

/// The output function of SplitMix64 (Steele, Lea and Flood 2014), a bijection.
fn finalise(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[inline]
fn word_at(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}

/// SplitMix64's increment: the golden ratio in 64 bits, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// An odd multiplier whose bits are spread; the one of Knuth's MMIX generator.
const ODD: u64 = 6_364_136_223_846_793_005;
/// One start per use, so that a digest is never a signature.
const DOMAIN_KEY: u64 = 1;
const DOMAIN_SIGNATURE: u64 = 2;
const DOMAIN_DIGEST: u64 = 3;
