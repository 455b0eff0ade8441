//! Kernels of the group `serialisation`: what the protocols send, to bytes and back.
//!
//! The theses' block is complete: both signatures, both previous hashes, a place in the chain of
//! five digits. Signatures are random bytes, as nobody checks them here. Decoding gives a value
//! that owns its content; encoding gives a new buffer. `bytes` is the size as serialised.
//!
//! What deliberately does not live here: signing, and the formats themselves.

use std::hint::black_box;

use pocketsim_protocols::block::{Block, Text};
use pocketsim_protocols::contract::{NodeId, Payload};
use pocketsim_protocols::crypto::{Digest, Key, Signature};
use pocketsim_protocols::half_block::{HalfBlock, PublicKey, Value, GENESIS_HASH};
use pocketsim_protocols::token::{Recipient, Token};

use super::bookkeeping;
use super::inputs::{ensure, Generator, Pool};
use crate::kernel::{Case, Depth, Group, Repeat, Unmeasured};

/// The cases of this group.
pub fn cases(depth: Depth) -> Vec<Case> {
    let (payloads, recipients): (&[usize], &[usize]) = match depth {
        Depth::Quick => (&[128, 1_000], &[1, 50]),
        Depth::Full => (&[10, 100, 128, 1_000], &[1, 2, 3, 5, 10, 20, 50]),
    };
    let blocks = payloads.iter().flat_map(|&payload| block_cases(payload));
    let half_blocks = payloads
        .iter()
        .flat_map(|&payload| half_block_cases(payload));
    let tokens = recipients.iter().flat_map(|&count| token_cases(count));
    let books = bookkeeping::cases(depth);
    blocks
        .chain(half_blocks)
        .chain(tokens)
        .chain(books)
        .collect()
}

fn block_cases(payload: usize) -> [Case; 2] {
    let bytes = block(&mut Generator::new(), 0, payload).wire_bytes();
    let size = ("bytes", f64::from(bytes));
    [
        case("block_encode", size, move || block_encoding(payload)),
        case("block_decode", size, move || block_decoding(payload)),
    ]
}

fn half_block_cases(payload: usize) -> [Case; 2] {
    let (block, value) = half_block(&mut Generator::new(), payload);
    let size = ("bytes", half_block_bytes(block, &value).len() as f64);
    [
        case("half_block_encode", size, move || {
            half_block_encoding(payload)
        }),
        case("half_block_decode", size, move || {
            half_block_decoding(payload)
        }),
    ]
}

fn token_cases(recipients: usize) -> [Case; 2] {
    let count = ("recipients", recipients as f64);
    [
        case("token_encode", count, move || token_encoding(recipients)),
        case("token_decode", count, move || token_decoding(recipients)),
    ]
}

fn case<R: Repeat + 'static>(
    kernel: &'static str,
    parameter: (&'static str, f64),
    make: impl Fn() -> Result<R, Unmeasured> + Send + Sync + 'static,
) -> Case {
    Case::repeat(Group::Serialisation, kernel, [parameter], make).scaling()
}

fn block_encoding(payload: usize) -> Result<impl Repeat, Unmeasured> {
    let mut blocks = block_pool(payload)?;
    Ok(move || {
        black_box(blocks.turn().0.to_json());
        Ok(())
    })
}

fn block_decoding(payload: usize) -> Result<impl Repeat, Unmeasured> {
    let mut blocks = block_pool(payload)?;
    Ok(move || black_box(decoded(blocks.turn().1.as_bytes())).map(drop))
}

/// From bytes, as they come from a socket.
fn decoded(bytes: &[u8]) -> Result<Block, Unmeasured> {
    let json = std::str::from_utf8(bytes).map_err(refused)?;
    Block::from_json(json, PROPOSER).map_err(refused)
}

fn block_pool(payload: usize) -> Result<Pool<(Block, String)>, Unmeasured> {
    let mut counter = 0;
    Pool::new(payload + BLOCK_FIXED_BYTES, |generator| {
        counter += 1;
        let block = block(generator, counter, payload);
        let json = block.to_json();
        let back = decoded(json.as_bytes())?;
        ensure(back == block, "a block reads back as another")?;
        Ok((block, json))
    })
}

fn block(generator: &mut Generator, counter: u32, payload: usize) -> Block {
    Block {
        proposer: PROPOSER,
        payload: Text::new(counter, payload as u32),
        sender_pubkey: Key(generator.array()),
        receiver_pubkey: Key(generator.array()),
        sender_sig: Some(Signature(generator.array())),
        receiver_sig: Some(Signature(generator.array())),
        prev_hash_sender: Some(Digest(generator.array())),
        prev_hash_receiver: Some(Digest(generator.array())),
        index: INDEX_BASE + u64::from(counter),
    }
}

/// With the encoding of the transaction, which is part of every half-block that is made.
fn half_block_encoding(payload: usize) -> Result<impl Repeat, Unmeasured> {
    let mut blocks = half_block_pool(payload)?;
    Ok(move || {
        let (block, value, _) = blocks.turn();
        block.transaction = value.encode();
        black_box(block.encode());
        Ok(())
    })
}

fn half_block_decoding(payload: usize) -> Result<impl Repeat, Unmeasured> {
    let mut blocks = half_block_pool(payload)?;
    Ok(move || {
        let block = HalfBlock::decode(&blocks.turn().2).map_err(refused)?;
        let value = Value::decode(&block.transaction).map_err(refused)?;
        black_box((block, value));
        Ok(())
    })
}

fn half_block_pool(payload: usize) -> Result<Pool<(HalfBlock, Value, Vec<u8>)>, Unmeasured> {
    Pool::new(payload + HALF_BLOCK_FIXED_BYTES, |generator| {
        let (block, value) = half_block(generator, payload);
        let bytes = half_block_bytes(block.clone(), &value);
        let back = HalfBlock::decode(&bytes).map_err(refused)?;
        let same = Value::decode(&back.transaction).as_ref() == Ok(&value);
        ensure(
            same && back.signature == block.signature,
            "a half-block reads back as another",
        )?;
        Ok((block, value, bytes))
    })
}

/// Without its transaction, which is `{"message": text of payload bytes}`.
fn half_block(generator: &mut Generator, payload: usize) -> (HalfBlock, Value) {
    let text = hex(&generator.bytes(payload.div_ceil(2)));
    let message = (
        Value::Text("message".into()),
        Value::Text(text[..payload].into()),
    );
    let block = HalfBlock {
        public_key: public_key(generator),
        sequence_number: 10_000,
        link_public_key: public_key(generator),
        link_sequence_number: 10_000,
        previous_hash: GENESIS_HASH,
        signature: generator.array(),
        block_type: "benchmark".into(),
        transaction: Vec::new(),
        timestamp_ms: 1_700_000_000_000,
    };
    (block, Value::Dict(vec![message]))
}

fn half_block_bytes(mut block: HalfBlock, value: &Value) -> Vec<u8> {
    block.transaction = value.encode();
    block.encode()
}

fn token_encoding(recipients: usize) -> Result<impl Repeat, Unmeasured> {
    let mut tokens = token_pool(recipients)?;
    Ok(move || {
        black_box(tokens.turn().0.encode());
        Ok(())
    })
}

fn token_decoding(recipients: usize) -> Result<impl Repeat, Unmeasured> {
    let mut tokens = token_pool(recipients)?;
    Ok(move || {
        let token = Token::decode(&tokens.turn().1).map_err(refused)?;
        black_box(token);
        Ok(())
    })
}

fn token_pool(recipients: usize) -> Result<Pool<(Token, Vec<u8>)>, Unmeasured> {
    Pool::new(149 + 138 * recipients, |generator| {
        let token = token(generator, recipients)?;
        let bytes = token.encode();
        let back = Token::decode(&bytes);
        ensure(back.as_ref() == Ok(&token), "a token reads back as another")?;
        Ok((token, bytes))
    })
}

fn token(generator: &mut Generator, recipients: usize) -> Result<Token, Unmeasured> {
    let step = |generator: &mut Generator| Recipient {
        key: public_key(generator),
        proof: generator.array(),
        challenge: None,
    };
    let (serial, authority) = (generator.array(), public_key(generator));
    let mut token = Token::new(serial, 1, authority, generator.array(), step(generator));
    for _ in 1..recipients {
        token.push(step(generator)).map_err(refused)?;
    }
    Ok(token)
}

fn public_key(generator: &mut Generator) -> PublicKey {
    let mut key: [u8; 74] = generator.array();
    key[..10].copy_from_slice(b"LibNaCLPK:");
    PublicKey(key)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn refused(error: impl std::fmt::Display) -> Unmeasured {
    Unmeasured::because(error.to_string())
}

/// Not on the wire.
const PROPOSER: NodeId = NodeId(0);
/// Published chains of the UDP runs have up to 152 587 blocks, most of them a place of five digits
/// or more; with 128 bytes of payload such a block has 668 bytes.
const INDEX_BASE: u64 = 10_000;
/// What a block is larger than its payload, about; only for the size of a pool.
const BLOCK_FIXED_BYTES: usize = 540;
/// The same for a half-block, with the name of the message.
const HALF_BLOCK_FIXED_BYTES: usize = 300;
