//! Kernels of the group `crypto`, with the crates that the protocols use.
//!
//! Ed25519 is ed25519-dalek and SHA-256 is sha2, as in `pocketsim-protocols`; X25519 is
//! x25519-dalek; sealed boxes are crypto_box; ChaCha20-Poly1305 and AES-GCM are ring, as in QUIC.
//! All as a default build selects them at run time. On x86-64 each uses the vector instructions that
//! the processor has. On arm64 ring does, but SHA-256 and both curves are portable code: sha2 uses
//! the processor's instructions only with its feature `asm`, and curve25519-dalek has none for it.
//!
//! What deliberately does not live here: what a protocol signs or seals, and handshakes.

use crate::kernel::{Case, Depth, Group, Repeat, Unmeasured};

mod aead;
mod digest;
mod ed25519;
mod sealed_box;
mod x25519;

/// The cases of this group.
pub fn cases(depth: Depth) -> Vec<Case> {
    [
        ed25519::cases(depth),
        digest::cases(depth),
        x25519::cases(),
        sealed_box::cases(depth),
        aead::cases(depth),
    ]
    .concat()
}

/// One case for each size, made by `make` for that many bytes.
fn by_size<R: Repeat + 'static>(
    kernel: &'static str,
    sizes: &'static [usize],
    make: impl Fn(usize) -> Result<R, Unmeasured> + Copy + Send + Sync + 'static,
) -> Vec<Case> {
    let case = |&bytes: &usize| case(kernel, [("bytes", bytes as f64)], move || make(bytes));
    sizes.iter().map(case).collect()
}

fn case<const N: usize, R: Repeat + 'static>(
    kernel: &'static str,
    parameters: [(&'static str, f64); N],
    make: impl Fn() -> Result<R, Unmeasured> + Send + Sync + 'static,
) -> Case {
    Case::repeat(Group::Crypto, kernel, parameters, make).scaling()
}

/// Sizes of what is signed, verified and hashed.
fn message_sizes(depth: Depth) -> &'static [usize] {
    match depth {
        Depth::Quick => &[64, MINT_BYTES, BLOCK_BYTES, 4_096],
        Depth::Full => &[
            64,
            TRANSFER_BYTES,
            MINT_BYTES,
            256,
            BLOCK_BYTES,
            1_024,
            4_096,
            16_384,
            65_536,
        ],
    }
}

/// Sizes of what is sealed and opened.
fn packet_sizes(depth: Depth) -> &'static [usize] {
    match depth {
        Depth::Quick => &[64, PACKET_BYTES],
        Depth::Full => &[
            64,
            256,
            BLOCK_BYTES,
            1_024,
            PACKET_BYTES,
            4_096,
            16_384,
            65_536,
        ],
    }
}

/// What a recipient signs to hand a token on.
const TRANSFER_BYTES: usize = 138;
/// What the authority signs to mint a token.
pub(crate) const MINT_BYTES: usize = 147;
/// A complete block of the theses with 128 bytes of payload.
const BLOCK_BYTES: usize = 668;
/// QUIC's smallest maximum datagram (RFC 9000, section 14), and the EVA block of the prototype.
const PACKET_BYTES: usize = 1_200;

/// Published test vectors are in hexadecimal.
#[cfg(test)]
mod vectors {
    pub fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
        (0..hex.len()).step_by(2).map(digit).collect()
    }
}
