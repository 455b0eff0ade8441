//! Ed25519: key generation, signatures, verification one by one and in batches.
//!
//! Verification takes the key as bytes and is strict, as the protocols do it and libsodium too:
//! unpacking the key is part of the cost. Every signature of a pool has a key of its own. A batch
//! is less strict by its nature: it does not refuse keys of small order.

use std::hint::black_box;

use ed25519_dalek::{verify_batch, Signature, Signer, SigningKey, VerifyingKey};

use super::{by_size, case, message_sizes, MINT_BYTES};
use crate::kernel::{Case, Depth, Repeat, Unmeasured};
use crate::kernels::inputs::{ensure, Generator, Pool};

pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let sizes = message_sizes(depth);
    let batches: &[usize] = match depth {
        Depth::Quick => &[BATCH_MAX],
        Depth::Full => &[1, 2, 4, 8, 16, 32, BATCH_MAX],
    };
    [
        vec![case("ed25519_key_generation", [], key_generation)],
        by_size("ed25519_sign", sizes, signing),
        by_size("ed25519_verify", sizes, verification),
        batches.iter().map(|&count| batch_case(count)).collect(),
    ]
    .concat()
}

fn batch_case(count: usize) -> Case {
    let parameters = [("bytes", MINT_BYTES as f64), ("signatures", count as f64)];
    case("ed25519_verify_batch", parameters, move || {
        batch_verification(MINT_BYTES, count)
    })
}

/// With the secret from the system's generator, as an app gets it.
fn key_generation() -> Result<impl Repeat, Unmeasured> {
    let signed = Signed::new(&generate()?, b"a key that was just made".to_vec());
    ensure(signed.holds(), "a fresh key does not verify what it signed")?;
    Ok(|| generate().map(|key| drop(black_box(key))))
}

fn generate() -> Result<SigningKey, Unmeasured> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| Unmeasured::because(error.to_string()))?;
    Ok(SigningKey::from_bytes(&secret))
}

/// One key, as a phone has, and messages in turn.
fn signing(bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let key = SigningKey::from_bytes(&Generator::new().array());
    let mut messages = Pool::new(bytes, |generator| {
        let signed = Signed::new(&key, generator.bytes(bytes));
        ensure(signed.holds(), "a signature does not verify")?;
        Ok(signed.message)
    })?;
    Ok(move || {
        black_box(key.sign(messages.turn()));
        Ok(())
    })
}

fn verification(bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let mut pool = Pool::new(bytes, |generator| {
        let signed = Signed::random(generator, bytes);
        ensure(signed.holds(), "a signature does not verify")?;
        ensure(!signed.forged().holds(), "a forged signature verifies")?;
        Ok(signed)
    })?;
    Ok(move || ensure(pool.turn().holds(), "a signature does not verify"))
}

/// One operation is one batch; its members change from batch to batch.
fn batch_verification(bytes: usize, count: usize) -> Result<impl Repeat, Unmeasured> {
    let mut generator = Generator::new();
    let mut pool: Vec<Signed> = (0..2 * BATCH_MAX)
        .map(|_| Signed::random(&mut generator, bytes))
        .collect();
    let honest = std::mem::replace(&mut pool[0], Signed::random(&mut generator, bytes).forged());
    ensure(!batch_holds(&pool[..count]), "a forged batch verifies")?;
    pool[0] = honest;
    let mut start = 0;
    Ok(move || {
        start = (start + count) % (BATCH_MAX + 1);
        let batch = &pool[start..start + count];
        ensure(batch_holds(batch), "a batch does not verify")
    })
}

/// A signed message, as it comes from a socket.
pub(super) struct Signed {
    pub(super) key: [u8; 32],
    pub(super) message: Vec<u8>,
    pub(super) signature: [u8; 64],
}

impl Signed {
    pub(super) fn new(key: &SigningKey, message: Vec<u8>) -> Self {
        Self {
            key: key.verifying_key().to_bytes(),
            signature: key.sign(&message).to_bytes(),
            message,
        }
    }

    fn random(generator: &mut Generator, bytes: usize) -> Self {
        let key = SigningKey::from_bytes(&generator.array());
        Self::new(&key, generator.bytes(bytes))
    }

    pub(super) fn holds(&self) -> bool {
        let signature = Signature::from_bytes(&self.signature);
        VerifyingKey::from_bytes(&self.key)
            .is_ok_and(|key| key.verify_strict(&self.message, &signature).is_ok())
    }

    /// The same with one bit of the message altered.
    fn forged(&self) -> Self {
        let mut message = self.message.clone();
        message[0] ^= 1;
        Self { message, ..*self }
    }
}

/// Gathers what the crate wants side by side; a phone that has received tokens must do so too.
fn batch_holds(batch: &[Signed]) -> bool {
    let messages: Vec<&[u8]> = batch.iter().map(|signed| &signed.message[..]).collect();
    let signatures: Vec<Signature> = batch
        .iter()
        .map(|signed| Signature::from_bytes(&signed.signature))
        .collect();
    let keys: Result<Vec<VerifyingKey>, _> = batch
        .iter()
        .map(|signed| VerifyingKey::from_bytes(&signed.key))
        .collect();
    keys.is_ok_and(|keys| verify_batch(&messages, &signatures, &keys).is_ok())
}

/// Twice as many are prepared, so that batches differ.
const BATCH_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::crypto::vectors::bytes;

    /// Tests 1 to 3 and SHA(abc) of RFC 8032, section 7.1: secret, public, message, signature.
    const RFC_8032: [[&str; 4]; 4] = [
        [
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
            5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ],
        [
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
            085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ],
        [
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
            18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ],
        [
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
            2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589\
            09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
        ],
    ];

    fn signed() -> Vec<Signed> {
        let make = |[secret, _, message, _]: [&str; 4]| {
            let key = SigningKey::from_bytes(&bytes(secret).try_into().expect("32 bytes"));
            Signed::new(&key, bytes(message))
        };
        RFC_8032.into_iter().map(make).collect()
    }

    #[test]
    fn signatures_are_those_of_rfc_8032() {
        for (signed, [_, public, _, signature]) in signed().iter().zip(RFC_8032) {
            assert_eq!(signed.key.to_vec(), bytes(public));
            assert_eq!(signed.signature.to_vec(), bytes(signature));
            assert!(signed.holds());
        }
        assert!(batch_holds(&signed()));
    }

    #[test]
    fn any_altered_bit_is_noticed() {
        let alter: [fn(&mut Signed); 4] = [
            |signed| signed.message[0] ^= 0x80,
            |signed| signed.signature[0] ^= 1,
            |signed| signed.signature[63] ^= 1,
            |signed| signed.key[5] ^= 2,
        ];
        for change in alter {
            let mut batch = signed();
            change(&mut batch[2]);
            assert!(!batch[2].holds());
            assert!(!batch_holds(&batch));
        }
    }

    // The neutral element is a key whose signature (neutral element, 0) fits every message unless
    // keys of small order are refused.
    #[test]
    fn verification_is_strict() {
        let mut neutral = [0; 32];
        neutral[0] = 1;
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&neutral);
        let signed = Signed {
            key: neutral,
            message: b"anything".to_vec(),
            signature,
        };
        assert!(!signed.holds());
        let key = VerifyingKey::from_bytes(&neutral).expect("a point");
        let lax = ed25519_dalek::Verifier::verify(
            &key,
            &signed.message,
            &Signature::from_bytes(&signature),
        );
        assert!(lax.is_ok());
    }

    #[test]
    fn batches_of_a_pool_fit_in_it_and_differ() {
        for count in [1, 8, BATCH_MAX] {
            let mut starts = vec![0];
            for _ in 0..BATCH_MAX {
                let start = (starts[starts.len() - 1] + count) % (BATCH_MAX + 1);
                assert!(start + count <= 2 * BATCH_MAX);
                starts.push(start);
            }
            starts.sort_unstable();
            starts.dedup();
            assert_eq!(starts.len(), BATCH_MAX + 1);
        }
    }
}
