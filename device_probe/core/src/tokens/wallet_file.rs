//! A client's state as a file.
//!
//! ```text
//! wallet = "PSWALLET" | version u16 | owner 74 | held | intents | pending | disputed
//!        | payments | orders | used | number u32 | sent | SHA-256 of all before 32
//! asked  = challenge 16 | giver 74 | count u32 | taken
//! taken  = serial 8, last proof 64, of each in ascending order
//! ```
//! Big-endian; each part of a wallet that is named has its length before it, u32. Held, pending,
//! disputed and sent are batches of tokens, intents one byte for each pending token (0 reissue, 1
//! redeem); payments, orders and used are what was asked, one after the other. *Sent* is the last
//! payment as it was released.
//!
//! What deliberately does not live here: when it is written.

use std::collections::BTreeSet;

use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::reader::{Malformed, Reader};
use pocketsim_protocols::token::{decode_batch, encode_batch, Asked, Intent, Serial, State, Token};
use sha2::{Digest, Sha256};

use super::document::{put_count, put_sized, take_key};

/// What a wallet's file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletFile {
    /// Whose it is.
    pub owner: PublicKey,
    /// What the machine must not forget.
    pub state: State,
    /// How many payments were made.
    pub payments: u32,
    /// The batch of the last one; empty if there was none.
    pub last_payment: Vec<u8>,
}

impl WalletFile {
    /// Of a client with nothing.
    pub fn new(owner: PublicKey) -> Self {
        Self {
            owner,
            state: State::default(),
            payments: 0,
            last_payment: Vec::new(),
        }
    }

    /// The file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.body();
        let check = Sha256::digest(&bytes);
        bytes.extend(check);
        bytes
    }

    /// What a file holds.
    ///
    /// # Errors
    /// Damage, or another kind of file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (body, check) = bytes
            .split_last_chunk::<32>()
            .ok_or(Malformed("ends too early"))?;
        if <[u8; 32]>::from(Sha256::digest(body)) != *check {
            return Err(Malformed("does not check: damaged, or cut off"));
        }
        Self::decode_body(body)
    }

    /// All but the check.
    pub fn body(&self) -> Vec<u8> {
        let State {
            held,
            pending,
            disputed,
            payments,
            orders,
            used,
        } = &self.state;
        let (tokens, intents): (Vec<Token>, Vec<Intent>) = pending.iter().cloned().unzip();
        let intents: Vec<u8> = intents.iter().map(|&intent| intent as u8).collect();
        let mut bytes = [&MAGIC[..], &VERSION.to_be_bytes(), &self.owner.0].concat();
        put_sized(&mut bytes, &encode_batch(held));
        put_sized(&mut bytes, &intents);
        put_sized(&mut bytes, &encode_batch(&tokens));
        put_sized(&mut bytes, &encode_batch(disputed));
        for asked in [payments, orders, used] {
            put_sized(&mut bytes, &encode_asked(asked));
        }
        bytes.extend(self.payments.to_be_bytes());
        put_sized(&mut bytes, &self.last_payment);
        bytes
    }

    /// Reads what [`WalletFile::body`] writes.
    ///
    /// # Errors
    /// What does not fit the format.
    pub fn decode_body(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(body);
        check_head(&mut reader)?;
        let wallet = Self {
            owner: take_key(&mut reader)?,
            state: take_state(&mut reader)?,
            payments: reader.u32()?,
            last_payment: reader.sized()?.to_vec(),
        };
        reader.end()?;
        Ok(wallet)
    }
}

fn check_head(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    if reader.array()? != *MAGIC {
        return Err(Malformed("not a wallet"));
    }
    match u16::from_be_bytes(reader.array()?) {
        VERSION => Ok(()),
        1 => Err(OUTDATED),
        _ => Err(Malformed("a version that this one does not read")),
    }
}

fn take_state(reader: &mut Reader<'_>) -> Result<State, Malformed> {
    let held = decode_batch(reader.sized()?)?;
    let intents = take_intents(reader.sized()?)?;
    let tokens = decode_batch(reader.sized()?)?;
    if intents.len() != tokens.len() {
        return Err(Malformed("not one intent for each pending token"));
    }
    Ok(State {
        held,
        pending: tokens.into_iter().zip(intents).collect(),
        disputed: decode_batch(reader.sized()?)?,
        payments: decode_asked(reader.sized()?)?,
        orders: decode_asked(reader.sized()?)?,
        used: decode_asked(reader.sized()?)?,
    })
}

fn take_intents(bytes: &[u8]) -> Result<Vec<Intent>, Malformed> {
    let intents = bytes
        .iter()
        .map(|&byte| Intent::ALL.get(usize::from(byte)).copied());
    let intents: Option<_> = intents.collect();
    intents.ok_or(Malformed("an unknown intent"))
}

fn encode_asked(all: &[Asked]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for asked in all {
        bytes.extend(asked.challenge);
        bytes.extend(asked.giver.0);
        put_count(&mut bytes, asked.taken.len());
        for (serial, last_proof) in &asked.taken {
            bytes.extend(serial);
            bytes.extend(last_proof);
        }
    }
    bytes
}

fn decode_asked(bytes: &[u8]) -> Result<Vec<Asked>, Malformed> {
    let mut reader = Reader(bytes);
    let mut all = Vec::new();
    while reader.end().is_err() {
        all.push(Asked {
            challenge: reader.array()?,
            giver: take_key(&mut reader)?,
            taken: take_taken(&mut reader)?,
        });
    }
    Ok(all)
}

fn take_taken(reader: &mut Reader<'_>) -> Result<BTreeSet<(Serial, [u8; 64])>, Malformed> {
    let mut taken = BTreeSet::new();
    for _ in 0..reader.u32()? {
        let name = (reader.array()?, reader.array()?);
        if taken.last().is_some_and(|last| *last >= name) {
            return Err(Malformed("what was taken is not in ascending order"));
        }
        taken.insert(name);
    }
    Ok(taken)
}

const MAGIC: &[u8; 8] = b"PSWALLET";
/// Since 2 a challenge has its giver and what was given.
const VERSION: u16 = 2;
/// Nothing was released with it, so nothing converts it.
const OUTDATED: Malformed = Malformed(
    "version 1, of an older probe: redeem what is in it with that one, then make a new folder",
);
