//! The signed packet of Kotlin-IPv8 around a message (Community.kt:309-378).
//!
//! 22 bytes prefix, message id, length and key, global time, the message, and an
//! Ed25519 signature over all of it. What deliberately does not live here: sealed
//! boxes (an encrypted message is any bytes to this layer) and unsigned packets.

use crate::half_block::{PrivateKey, PublicKey};
use crate::reader::Reader;

pub use crate::reader::Malformed;

/// A packet whose signature holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedPacket {
    /// Which community it is for.
    pub service_id: [u8; 20],
    /// What the message is.
    pub message_id: u8,
    /// Who signed it.
    pub public_key: PublicKey,
    /// The sender's Lamport clock.
    pub global_time: u64,
    /// The message.
    pub body: Vec<u8>,
}

impl SignedPacket {
    /// The packet as bytes, signed by `key`, which should be that of `public_key`.
    pub fn encode(&self, key: &PrivateKey) -> Vec<u8> {
        let mut bytes = PREFIX.to_vec();
        bytes.extend(self.service_id);
        bytes.push(self.message_id);
        bytes.extend(KEY_BYTES.to_be_bytes());
        bytes.extend(self.public_key.0);
        bytes.extend(self.global_time.to_be_bytes());
        bytes.extend(&self.body);
        bytes.extend(key.sign(&bytes));
        bytes
    }

    /// The packet that `bytes` are.
    ///
    /// # Errors
    /// Another protocol or version, a key of another length, an end too early, or a
    /// signature that does not hold.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (message, signature) = bytes
            .split_last_chunk()
            .ok_or(Malformed("is shorter than a signature"))?;
        let mut reader = Reader(message);
        if reader.array()? != PREFIX {
            return Err(Malformed("is not of IPv8, version 2"));
        }
        let service_id = reader.array()?;
        let [message_id] = reader.array()?;
        if u16::from_be_bytes(reader.array()?) != KEY_BYTES {
            return Err(Malformed("a key has 74 bytes"));
        }
        let packet = Self {
            service_id,
            message_id,
            public_key: PublicKey(reader.array()?),
            global_time: reader.u64()?,
            body: reader.0.to_vec(),
        };
        match packet.public_key.verifies(message, signature) {
            true => Ok(packet),
            false => Err(Malformed("the signature does not hold")),
        }
    }
}

/// IPv8, version 2 (Community.kt:26-27).
const PREFIX: [u8; 2] = [0, 2];
/// `LibNaCLPK:` and two keys (LibNaClPK.kt:26-28).
const KEY_BYTES: u16 = 74;
