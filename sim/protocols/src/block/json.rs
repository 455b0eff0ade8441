//! A block as bytes: compact JSON, one spelling per block.
//!
//! Reading refuses every other spelling of the same block (white space, another
//! order, other padding): a signature covers bytes, so one block must not have
//! two of them.

use std::fmt;

use serde::Deserialize;

use super::*;

/// Why bytes are not a block; made to be read by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

impl Block {
    /// The bytes on the wire, as text.
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(self.wire_bytes() as usize);
        json.push_str("{\"payload\":\"");
        self.payload.write(&mut json);
        let fields = [
            ("sender_pubkey", STANDARD.encode(self.sender_pubkey.0)),
            ("receiver_pubkey", STANDARD.encode(self.receiver_pubkey.0)),
            ("sender_sig", signature_text(self.sender_sig)),
            ("receiver_sig", signature_text(self.receiver_sig)),
            ("prev_hash_sender", hash_text(self.prev_hash_sender)),
            ("prev_hash_receiver", hash_text(self.prev_hash_receiver)),
        ];
        for (name, value) in fields {
            json.push_str(&format!("\",\"{name}\":\"{value}"));
        }
        json.push_str(&format!("\",\"index\":{}}}", self.index));
        json
    }

    /// A block from the bytes that `proposer` made.
    ///
    /// # Errors
    /// Whatever is not exactly what [`Block::to_json`] writes.
    pub fn from_json(json: &str, proposer: NodeId) -> Result<Self, Malformed> {
        let fields: Fields<'_> =
            serde_json::from_str(json).map_err(|error| Malformed(error.to_string()))?;
        let block = fields.block(proposer)?;
        if block.to_json() == json {
            Ok(block)
        } else {
            Err(Malformed("not the compact spelling of its fields".into()))
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    // Borrowed: an escaped text fails here, as it should, for no field has one.
    payload: &'a str,
    sender_pubkey: &'a str,
    receiver_pubkey: &'a str,
    sender_sig: &'a str,
    receiver_sig: &'a str,
    prev_hash_sender: &'a str,
    prev_hash_receiver: &'a str,
    index: u64,
}

impl Fields<'_> {
    fn block(&self, proposer: NodeId) -> Result<Block, Malformed> {
        let payload =
            Text::read(self.payload).ok_or_else(|| wrong("payload", "a number and filler"))?;
        Ok(Block {
            proposer,
            payload,
            sender_pubkey: Key(base64_field("sender_pubkey", self.sender_pubkey)?),
            receiver_pubkey: Key(base64_field("receiver_pubkey", self.receiver_pubkey)?),
            sender_sig: signature_field("sender_sig", self.sender_sig)?,
            receiver_sig: signature_field("receiver_sig", self.receiver_sig)?,
            prev_hash_sender: hash_field("prev_hash_sender", self.prev_hash_sender)?,
            prev_hash_receiver: hash_field("prev_hash_receiver", self.prev_hash_receiver)?,
            index: self.index,
        })
    }
}

fn signature_text(signature: Option<Signature>) -> String {
    signature.map_or_else(String::new, |signature| STANDARD.encode(signature.0))
}

fn hash_text(hash: Option<Digest>) -> String {
    hash.map_or_else(String::new, |hash| hex::encode(hash.0))
}

fn signature_field(name: &str, text: &str) -> Result<Option<Signature>, Malformed> {
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(Signature(base64_field(name, text)?)))
}

fn hash_field(name: &str, text: &str) -> Result<Option<Digest>, Malformed> {
    if text.is_empty() {
        return Ok(None);
    }
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).map_err(|_| wrong(name, "64 hexadecimal digits"))?;
    Ok(Some(Digest(hash)))
}

fn base64_field<const N: usize>(name: &str, text: &str) -> Result<[u8; N], Malformed> {
    let bytes = STANDARD.decode(text).ok();
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| wrong(name, &format!("{N} bytes in base64")))
}

fn wrong(name: &str, expected: &str) -> Malformed {
    Malformed(format!("{name} is not {expected}"))
}
