//! X25519: one party's side of a key agreement, without the making of its own key.

use std::hint::black_box;

use x25519_dalek::{PublicKey, StaticSecret};

use super::case;
use crate::kernel::{Case, Repeat, Unmeasured};
use crate::kernels::inputs::{ensure, Pool};

pub(super) fn cases() -> Vec<Case> {
    vec![case("x25519_key_agreement", [], key_agreement)]
}

fn key_agreement() -> Result<impl Repeat, Unmeasured> {
    let own = [0x77; 32];
    let own_public = public(own);
    let mut peers = Pool::new(32, |generator| {
        let peer = generator.array();
        let same = agreed(own, public(peer)) == agreed(peer, own_public);
        ensure(same, "two parties agree on different keys")?;
        Ok(public(peer))
    })?;
    Ok(move || {
        black_box(agreed(own, *peers.turn()));
        Ok(())
    })
}

fn agreed(own_secret: [u8; 32], peer: [u8; 32]) -> [u8; 32] {
    StaticSecret::from(own_secret)
        .diffie_hellman(&PublicKey::from(peer))
        .to_bytes()
}

fn public(secret: [u8; 32]) -> [u8; 32] {
    PublicKey::from(&StaticSecret::from(secret)).to_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::crypto::vectors::bytes;

    fn number(hex: &str) -> [u8; 32] {
        bytes(hex).try_into().expect("32 bytes")
    }

    #[test]
    fn x25519_is_that_of_rfc_7748() {
        // Section 5.2.
        let examples = [
            (
                "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
                "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
                "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
            ),
            (
                "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
                "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
                "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
            ),
        ];
        for (secret, peer, key) in examples {
            assert_eq!(agreed(number(secret), number(peer)), number(key));
        }
    }

    #[test]
    fn public_keys_are_those_of_rfc_7748() {
        // Section 6.1: Bob's pair, Alice's public key, and what they share.
        let bob = number("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
        let alice = number("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
        let public_bob = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
        let shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
        assert_eq!(public(bob), number(public_bob));
        assert_eq!(agreed(bob, alice), number(shared));
    }
}
