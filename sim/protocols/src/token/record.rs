//! What the authority has decided, as the body of a journal's record.
//!
//! Bodies are tokens in their own layout; a snapshot keeps a whole own copy
//! without repeating what its lives share.
//!
//! What deliberately does not live here: lengths and checks around a body.

use crate::reader::Reader;

use super::layout::{decode_batch, take_key, Malformed, Recipient, Serial, Token};
use super::own_copy::{Branch, Life, OwnCopy};
use super::Denomination;

/// One change of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A new token.
    Minted(Token),
    /// A token came back and began a new life.
    Reissued {
        /// As it came.
        received: Token,
        /// As it left.
        reissued: Token,
    },
    /// A token came back and was paid out.
    Redeemed(Token),
    /// A token came back otherwise than it had before.
    Refused(Token),
    /// A serial was withdrawn.
    Blacklisted(Serial),
    /// What is known of a serial, or the lives of it that follow those which are known.
    Snapshot(Serial, OwnCopy),
}

impl Record {
    /// Which kind it is, on disk.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Minted(_) => 1,
            Self::Reissued { .. } => 2,
            Self::Redeemed(_) => 3,
            Self::Refused(_) => 4,
            Self::Blacklisted(_) => 5,
            Self::Snapshot(..) => 6,
        }
    }

    /// Its body.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Minted(token) | Self::Redeemed(token) | Self::Refused(token) => token.encode(),
            Self::Reissued { received, reissued } => {
                [received.encode(), reissued.encode()].concat()
            }
            Self::Blacklisted(serial) => serial.to_vec(),
            Self::Snapshot(serial, copy) => encode_snapshot(serial, copy),
        }
    }

    /// The record of a kind and a body.
    ///
    /// # Errors
    /// An unknown kind; a body that is not of its kind.
    pub fn decode(kind: u8, body: &[u8]) -> Result<Self, Malformed> {
        match kind {
            1 => Token::decode(body).map(Self::Minted),
            2 => decode_reissued(body),
            3 => Token::decode(body).map(Self::Redeemed),
            4 => Token::decode(body).map(Self::Refused),
            5 => decode_serial(body).map(Self::Blacklisted),
            6 => decode_snapshot(body),
            _ => Err(Malformed("an unknown kind of record")),
        }
    }
}

fn decode_reissued(body: &[u8]) -> Result<Record, Malformed> {
    let tokens: Result<[Token; 2], _> = decode_batch(body)?.try_into();
    let [received, reissued] = tokens.map_err(|_| Malformed("a reissue is of two tokens"))?;
    Ok(Record::Reissued { received, reissued })
}

fn decode_serial(body: &[u8]) -> Result<Serial, Malformed> {
    let mut reader = Reader(body);
    let serial = reader.array()?;
    reader.end()?;
    Ok(serial)
}

fn encode_snapshot(serial: &Serial, copy: &OwnCopy) -> Vec<u8> {
    let mut bytes = serial.to_vec();
    bytes.push(copy.denomination.byte());
    bytes.push(u8::from(copy.is_blacklisted));
    for life in &copy.lives {
        bytes.extend(life.nonce);
        put_pair(&mut bytes, &life.first);
        put_count(&mut bytes, life.branches().count());
        life.branches()
            .for_each(|branch| put_branch(&mut bytes, branch));
    }
    bytes
}

fn decode_snapshot(body: &[u8]) -> Result<Record, Malformed> {
    let mut reader = Reader(body);
    let serial = reader.array()?;
    let [value] = reader.array()?;
    let is_blacklisted = match reader.array()? {
        [0] => false,
        [1] => true,
        _ => return Err(Malformed("a serial is blacklisted or not")),
    };
    let mut lives: Vec<Life> = Vec::new();
    while lives.is_empty() || reader.end().is_err() {
        if lives.last().is_some_and(|life| life.honoured.is_none()) {
            return Err(Malformed("a life after an open one"));
        }
        lives.push(take_life(&mut reader)?);
    }
    let denomination = Denomination::from_byte(value).ok_or(Malformed("no denomination"))?;
    let copy = OwnCopy {
        denomination,
        is_blacklisted,
        lives,
    };
    Ok(Record::Snapshot(serial, copy))
}

fn take_life(reader: &mut Reader<'_>) -> Result<Life, Malformed> {
    let nonce = reader.array()?;
    let first = take_pair(reader)?;
    if first.challenge.is_some() {
        return Err(Malformed("a token's first pair has no challenge"));
    }
    let count = reader.u32()?;
    let mut branches = (0..count).map(|_| take_branch(reader));
    let honoured = branches.next().transpose()?;
    let refused = branches.collect::<Result<_, _>>()?;
    Ok(Life {
        nonce,
        first,
        honoured,
        refused,
    })
}

fn put_branch(bytes: &mut Vec<u8>, branch: &Branch) {
    put_count(bytes, branch.len());
    branch.iter().for_each(|pair| put_pair(bytes, pair));
}

fn take_branch(reader: &mut Reader<'_>) -> Result<Branch, Malformed> {
    let count = reader.u32()?;
    if count == 0 {
        return Err(Malformed("a branch ends with the authority"));
    }
    (0..count).map(|_| take_pair(reader)).collect()
}

fn put_pair(bytes: &mut Vec<u8>, pair: &Recipient) {
    bytes.extend(pair.key.0);
    bytes.push(u8::from(pair.challenge.is_some()));
    bytes.extend(pair.challenge.iter().flatten());
    bytes.extend(pair.proof);
}

fn take_pair(reader: &mut Reader<'_>) -> Result<Recipient, Malformed> {
    let key = take_key(reader)?;
    let challenge = match reader.array()? {
        [0] => None,
        [1] => Some(reader.array()?),
        _ => return Err(Malformed("a pair has a challenge or none")),
    };
    let proof = reader.array()?;
    Ok(Recipient {
        key,
        proof,
        challenge,
    })
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("fewer than 2^32 in memory");
    bytes.extend(count.to_be_bytes());
}
