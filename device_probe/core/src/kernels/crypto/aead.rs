//! The ciphers of QUIC packets: ChaCha20-Poly1305 and AES-GCM of ring, in place, as quinn uses them.
//!
//! No additional data. Sealing goes over the same buffers again, under another nonce. Opening in
//! place consumes its input, and a fresh copy each time would be timed too. But all three are
//! stream ciphers: opening turns ciphertext into plaintext by the key stream, and opening that
//! again under the same nonce turns it back, if it has a tag. So every buffer has two tags, one for
//! each of its states, and each opening is a complete one without a copy.

use std::hint::black_box;

use ring::aead::{
    Aad, Algorithm, LessSafeKey, Nonce, Tag, UnboundKey, AES_128_GCM, AES_256_GCM,
    CHACHA20_POLY1305,
};

use super::{by_size, packet_sizes};
use crate::kernel::{Case, Depth, Repeat, Unmeasured};
use crate::kernels::inputs::{ensure, Generator, Pool};

pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let sizes = packet_sizes(depth);
    let pair = |(algorithm, seal, open): (&'static Algorithm, _, _)| {
        [
            by_size(seal, sizes, move |bytes| sealing(algorithm, bytes)),
            by_size(open, sizes, move |bytes| opening(algorithm, bytes)),
        ]
    };
    KERNELS.into_iter().flat_map(pair).flatten().collect()
}

fn sealing(algorithm: &'static Algorithm, bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let key = key(algorithm);
    let mut number = 0;
    let mut buffers = Pool::new(bytes, |generator| {
        number += 1;
        let content = generator.bytes(bytes);
        let mut packet = Packet::new(&key, number, content.clone())?;
        packet.open(&key)?;
        packet.open(&key)?;
        ensure(packet.buffer == content, "a packet opens to something else")?;
        Ok(content)
    })?;
    Ok(move || {
        number += 1;
        let _tag = black_box(seal(&key, nonce(number), &[], buffers.turn())?);
        Ok(())
    })
}

fn opening(algorithm: &'static Algorithm, bytes: usize) -> Result<impl Repeat, Unmeasured> {
    let key = key(algorithm);
    let mut number = 0;
    let mut packets = Pool::new(bytes, |generator| {
        number += 1;
        let content = generator.bytes(bytes);
        let mut packet = Packet::new(&key, number, content.clone())?;
        packet.open(&key)?;
        ensure(packet.buffer != content, "a packet is not encrypted")?;
        packet.open(&key)?;
        ensure(packet.buffer == content, "a packet opens to something else")?;
        Ok(packet)
    })?;
    Ok(move || packets.turn().open(&key))
}

/// A buffer that can be opened for ever.
struct Packet {
    number: u64,
    buffer: Vec<u8>,
    /// Of the buffer as it is, and of what it turns into.
    tags: [Tag; 2],
}

impl Packet {
    /// With the content in the buffer, as if that were the ciphertext.
    fn new(key: &LessSafeKey, number: u64, mut content: Vec<u8>) -> Result<Self, Unmeasured> {
        let tag_encrypted = seal(key, nonce(number), &[], &mut content)?;
        let tag_content = seal(key, nonce(number), &[], &mut content)?;
        Ok(Self {
            number,
            buffer: content,
            tags: [tag_content, tag_encrypted],
        })
    }

    fn open(&mut self, key: &LessSafeKey) -> Result<(), Unmeasured> {
        let [tag, other] = self.tags;
        self.tags = [other, tag];
        open(key, nonce(self.number), &[], &mut self.buffer, tag)
    }
}

fn seal(
    key: &LessSafeKey,
    nonce: Nonce,
    additional: &[u8],
    buffer: &mut [u8],
) -> Result<Tag, Unmeasured> {
    key.seal_in_place_separate_tag(nonce, Aad::from(additional), buffer)
        .map_err(refused)
}

fn open(
    key: &LessSafeKey,
    nonce: Nonce,
    additional: &[u8],
    buffer: &mut [u8],
    tag: Tag,
) -> Result<(), Unmeasured> {
    key.open_in_place_separate_tag(nonce, Aad::from(additional), tag, buffer, 0..)
        .map(|_| ())
        .map_err(refused)
}

/// As TLS 1.3 makes them from packet numbers, but for the exclusive-or with a constant.
fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

fn key(algorithm: &'static Algorithm) -> LessSafeKey {
    key_of(algorithm, &Generator::new().bytes(algorithm.key_len()))
}

fn key_of(algorithm: &'static Algorithm, secret: &[u8]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(algorithm, secret).expect("a key of its length"))
}

fn refused(_: ring::error::Unspecified) -> Unmeasured {
    Unmeasured::because("the cipher refused a packet")
}

/// Each with the names of its kernels.
const KERNELS: [(&Algorithm, &str, &str); 3] = [
    (
        &CHACHA20_POLY1305,
        "chacha20_poly1305_seal",
        "chacha20_poly1305_open",
    ),
    (&AES_128_GCM, "aes_128_gcm_seal", "aes_128_gcm_open"),
    (&AES_256_GCM, "aes_256_gcm_seal", "aes_256_gcm_open"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::crypto::vectors::bytes;

    struct Vector<'a> {
        algorithm: &'static Algorithm,
        key: &'a str,
        nonce: &'a str,
        additional: &'a str,
        content: &'a [u8],
        sealed: &'a str,
        tag: &'a str,
    }

    impl Vector<'_> {
        fn holds(&self) {
            let key = key_of(self.algorithm, &bytes(self.key));
            let number = bytes(self.nonce).try_into().expect("12 bytes");
            let nonce = || Nonce::assume_unique_for_key(number);
            let additional = bytes(self.additional);
            let mut buffer = self.content.to_vec();
            let tag = seal(&key, nonce(), &additional, &mut buffer).expect("sealed");
            assert_eq!(buffer, bytes(self.sealed));
            assert_eq!(tag.as_ref(), bytes(self.tag));
            open(&key, nonce(), &additional, &mut buffer, tag).expect("opened");
            assert_eq!(buffer, self.content);
            assert!(open(&key, nonce(), &additional, &mut buffer, tag).is_err());
        }
    }

    #[test]
    fn chacha20_poly1305_is_that_of_rfc_8439() {
        let key: Vec<String> = (0x80..0xa0).map(|byte| format!("{byte:x}")).collect();
        // Section 2.8.2.
        let vector = Vector {
            algorithm: &CHACHA20_POLY1305,
            key: &key.concat(),
            nonce: "070000004041424344454647",
            additional: "50515253c0c1c2c3c4c5c6c7",
            content: b"Ladies and Gentlemen of the class of '99: If I could offer you only \
                one tip for the future, sunscreen would be it.",
            sealed: "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6\
                3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36\
                92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
                3ff4def08e4b7a9de576d26586cec64b6116",
            tag: "1ae10b594f09e26a7e902ecbd0600691",
        };
        vector.holds();
    }

    // Cases 2, 3, 14 and 15 of McGrew and Viega, The Galois/Counter Mode of Operation, which NIST
    // SP 800-38D specifies: without additional data, as here.
    #[test]
    fn aes_gcm_is_that_of_nist() {
        let zero = "00".repeat(16);
        let secret = "feffe9928665731c6d6a8f9467308308";
        let content = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
            1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
        );
        let short = |algorithm, key, sealed, tag| Vector {
            algorithm,
            key,
            nonce: &zero[..24],
            additional: "",
            content: &[0; 16],
            sealed,
            tag,
        };
        let (one, two) = (
            "0388dace60b6a392f328c2b971b2fe78",
            "ab6e47d42cec13bdf53a67b21257bddf",
        );
        short(&AES_128_GCM, &zero, one, two).holds();
        let (one, two) = (
            "cea7403d4d606b6e074ec5d3baf39d18",
            "d0d1c8a799996bf0265b98b5d48ab919",
        );
        short(&AES_256_GCM, &zero.repeat(2), one, two).holds();
        let long = |algorithm, key, sealed, tag| Vector {
            algorithm,
            key,
            nonce: "cafebabefacedbaddecaf888",
            additional: "",
            content: &content,
            sealed,
            tag,
        };
        let sealed = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
            21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985";
        let tag = "4d5c2af327cd64a62cf35abd2ba6fab4";
        long(&AES_128_GCM, secret, sealed, tag).holds();
        let sealed = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
            8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad";
        let tag = "b094dac5d93471bdec1a502270e3cc6c";
        long(&AES_256_GCM, &secret.repeat(2), sealed, tag).holds();
    }

    #[test]
    fn a_packet_opens_for_ever() {
        for (algorithm, ..) in KERNELS {
            let key = key(algorithm);
            let mut packet = Packet::new(&key, 7, b"content".to_vec()).expect("sealed");
            let mut states = Vec::new();
            for _ in 0..4 {
                packet.open(&key).expect("opened");
                states.push(packet.buffer.clone());
            }
            assert_eq!(states[1], b"content");
            assert_ne!(states[0], b"content");
            assert_eq!(states[..2], states[2..]);
        }
    }

    #[test]
    fn an_altered_packet_is_refused() {
        for (algorithm, ..) in KERNELS {
            let key = key(algorithm);
            let mut packet = Packet::new(&key, 7, b"content".to_vec()).expect("sealed");
            packet.buffer[3] ^= 1;
            let reason = Unmeasured::because("the cipher refused a packet");
            assert_eq!(packet.open(&key), Err(reason));
        }
    }
}
