//! SHA-256.

use std::hint::black_box;

use sha2::{Digest, Sha256};

use super::{by_size, message_sizes};
use crate::kernel::{Case, Depth, Repeat, Unmeasured};
use crate::kernels::inputs::{ensure, Pool};

pub(super) fn cases(depth: Depth) -> Vec<Case> {
    by_size("sha256", message_sizes(depth), hashing)
}

fn hashing(bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let mut messages = Pool::new(bytes, |generator| {
        let message = generator.bytes(bytes);
        let other = ring::digest::digest(&ring::digest::SHA256, &message);
        ensure(
            sha256(&message) == other.as_ref(),
            "two implementations of SHA-256 differ",
        )?;
        Ok(message)
    })?;
    Ok(move || {
        black_box(sha256(messages.turn()));
        Ok(())
    })
}

fn sha256(message: &[u8]) -> [u8; 32] {
    Sha256::digest(message).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::crypto::vectors::bytes;

    #[test]
    fn sha256_is_that_of_fips_180_4() {
        // NIST's examples for FIPS 180-4: one block, two blocks, a million letters.
        let long = [b'a'; 1_000_000];
        let two = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        let examples: [(&[u8], &str); 3] = [
            (
                b"abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                two,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (
                &long,
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
        ];
        for (message, digest) in examples {
            assert_eq!(sha256(message).to_vec(), bytes(digest));
        }
    }
}
