//! Sealed boxes of libsodium (`crypto_box_seal`): X25519 with an ephemeral key, then
//! XSalsa20-Poly1305; 48 bytes longer than what is in them.
//!
//! Kotlin-IPv8 encrypts packets so. Sealing includes the ephemeral key from the system's
//! generator; both give a new buffer, as libsodium's bindings do. `bytes` counts the content.
//! Opening includes one multiplication that the protocol does not ask for: crypto_box derives the
//! own public key anew, which libsodium is given.

use std::hint::black_box;

use crypto_box::aead::OsRng;
use crypto_box::SecretKey;

use super::{by_size, packet_sizes};
use crate::kernel::{Case, Depth, Repeat, Unmeasured};
use crate::kernels::inputs::{ensure, Generator, Pool};

pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let sizes = packet_sizes(depth);
    [
        by_size("sealed_box_seal", sizes, sealing),
        by_size("sealed_box_open", sizes, opening),
    ]
    .concat()
}

fn sealing(bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let recipient = recipient();
    let mut contents = Pool::new(bytes, |generator| {
        let content = generator.bytes(bytes);
        sealed(&recipient, &content)?;
        Ok(content)
    })?;
    let public = recipient.public_key();
    Ok(move || {
        black_box(public.seal(&mut OsRng, contents.turn()).map_err(refused)?);
        Ok(())
    })
}

fn opening(bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let recipient = recipient();
    let mut boxes = Pool::new(bytes, |generator| {
        sealed(&recipient, &generator.bytes(bytes))
    })?;
    Ok(move || {
        black_box(recipient.unseal(boxes.turn()).map_err(refused)?);
        Ok(())
    })
}

fn recipient() -> SecretKey {
    SecretKey::from_bytes(Generator::new().array())
}

/// A box around `content`, opened once to see that it is right.
fn sealed(recipient: &SecretKey, content: &[u8]) -> Result<Vec<u8>, Unmeasured> {
    let sealed = recipient.public_key().seal(&mut OsRng, content);
    let sealed = sealed.map_err(refused)?;
    let opened = recipient.unseal(&sealed).map_err(refused)?;
    ensure(opened == content, "a box opens to something else")?;
    ensure(
        sealed.len() == content.len() + OVERHEAD_BYTES,
        "a box has another size",
    )?;
    Ok(sealed)
}

fn refused(_: crypto_box::aead::Error) -> Unmeasured {
    Unmeasured::because("the sealed box was refused")
}

/// The ephemeral public key and the tag (libsodium's `crypto_box_SEALBYTES`).
const OVERHEAD_BYTES: usize = 32 + 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::crypto::vectors::bytes;

    // Made once by libsodium: PyNaCl 1.6.2, SealedBox(PrivateKey(bytes(range(32))).public_key)
    // .encrypt(b"sealed by libsodium, opened by the probe"); the ephemeral key was random.
    const BY_LIBSODIUM: &str = "a5091a3e12c3ae047fd5a8ca8b9e63ce0685e439b13a7c44d02cb05cf2f5824d\
        932e8c007bd2e9732f75b5b8749b9c7f4ad2cc6c88d33ed765b279ade782396d\
        619d449a84e8bc8b1ede76f833f92af5239ad07319190e18";

    fn reader() -> SecretKey {
        let mut secret = [0; 32];
        (0..)
            .zip(&mut secret)
            .for_each(|(number, byte)| *byte = number);
        SecretKey::from_bytes(secret)
    }

    #[test]
    fn a_box_of_libsodium_opens() {
        let content = reader().unseal(&bytes(BY_LIBSODIUM)).expect("opens");
        assert_eq!(content, b"sealed by libsodium, opened by the probe");
        assert_eq!(bytes(BY_LIBSODIUM).len(), content.len() + OVERHEAD_BYTES);
    }

    #[test]
    fn an_altered_box_stays_shut() {
        for at in [0, 31, 32, 47, 48, 87] {
            let mut altered = bytes(BY_LIBSODIUM);
            altered[at] ^= 1;
            assert!(reader().unseal(&altered).is_err(), "{at}");
        }
    }

    #[test]
    fn a_box_that_opens_to_something_else_is_noticed() {
        let (one, other) = (reader(), recipient());
        assert!(sealed(&one, b"content").is_ok());
        let sealed = one.public_key().seal(&mut OsRng, b"content");
        assert!(other.unseal(&sealed.expect("sealed")).is_err());
    }
}
