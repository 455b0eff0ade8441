//! The authority's records as one file that only grows, read back after a crash.
//!
//! ```text
//! file   = "PSTOKENS" | version u16 | key of the authority 74 | check 8 | frames
//! frame  = length of the body u32 | kind u8 | head check 4 | body | check 8 | 0xa5
//! ```
//! Big-endian. A check is the front of the SHA-256 of the whole check before it and
//! of what it covers: a record that is missing, moved or altered is seen. The head
//! has its own check, since a damaged length could otherwise pass for a torn tail.
//!
//! A crash leaves a *torn tail*: bytes that were not synced are missing from some
//! point on, or zero from there to the end of the file. That is cut off; nobody
//! was told of it. Anything else that does not check is damage to what was
//! acknowledged, and is refused with its offset, also at the end of the file.
//! (That the file was cut off at a record's very end, nothing in it can tell.)
//!
//! What deliberately does not live here: files (see [`super::disk`]), and
//! whether records fit each other (the ledger knows).

use sha2::{Digest, Sha256};

use crate::half_block::PublicKey;

use super::ledger::Ledger;
use super::record::Record;

/// The end of a journal: what its next record is chained to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    chain: [u8; 32],
}

/// What was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// As the records leave it.
    pub ledger: Ledger,
    /// To go on with, after the file is cut to `valid_bytes`.
    pub journal: Journal,
    /// Where the last whole record ends.
    pub valid_bytes: usize,
    /// How many bytes after that never became durable.
    pub torn_bytes: usize,
}

/// Damage to what was durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// Where the record begins that does not check.
    pub offset_bytes: usize,
    /// What is wrong.
    pub reason: &'static str,
}

impl Journal {
    /// A whole file with everything in `ledger`, which may be empty.
    ///
    /// A record for each life and for each refused branch, so none is longer than two tokens.
    pub fn snapshot(ledger: &Ledger) -> (Self, Vec<u8>) {
        let (mut journal, mut bytes) = Self::start(ledger.authority());
        for (serial, copy) in ledger.copies() {
            for record in copy.records(*serial, *ledger.authority()) {
                bytes.extend(journal.append(&record));
            }
        }
        (journal, bytes)
    }

    /// The bytes to append for `record`.
    pub fn append(&mut self, record: &Record) -> Vec<u8> {
        let body = record.encode();
        let length = u32::try_from(body.len()).expect("two tokens are under 4 GiB");
        let mut frame = length.to_be_bytes().to_vec();
        frame.push(record.kind());
        frame.extend(head_check(&self.chain, &frame));
        frame.extend(body);
        self.chain = chained(&self.chain, &frame);
        frame.extend(&self.chain[..CHECK_BYTES]);
        frame.push(END);
        frame
    }

    /// Everything in the file of the authority `key`, but for a torn tail.
    ///
    /// # Errors
    /// Damage, with the offset and the reason: a person has to look, nothing is guessed.
    pub fn recover(bytes: &[u8], key: &PublicKey) -> Result<Recovered, Corrupt> {
        let (mut journal, header) = Self::start(key);
        check_header(bytes, &header)?;
        let mut ledger = Ledger::new(*key);
        let mut offset = header.len();
        while offset < bytes.len() {
            let corrupt = |reason| Corrupt {
                offset_bytes: offset,
                reason,
            };
            match journal.take(&bytes[offset..]).map_err(corrupt)? {
                None => break,
                Some((record, bytes)) => {
                    ledger.apply(&record).map_err(|error| corrupt(error.0))?;
                    offset += bytes;
                }
            }
        }
        Ok(Recovered {
            ledger,
            journal,
            valid_bytes: offset,
            torn_bytes: bytes.len() - offset,
        })
    }

    fn start(key: &PublicKey) -> (Self, Vec<u8>) {
        let mut header = MAGIC.to_vec();
        header.extend(VERSION.to_be_bytes());
        header.extend(key.0);
        let chain = chained(&[0; 32], &header);
        header.extend(&chain[..CHECK_BYTES]);
        (Self { chain }, header)
    }

    /// The record in front of `rest` with the length of its frame; `None` if it is torn.
    fn take(&mut self, rest: &[u8]) -> Result<Option<(Record, usize)>, &'static str> {
        let Some((head, after)) = rest.split_at_checked(HEAD_BYTES) else {
            return Ok(None);
        };
        if head[5..] != head_check(&self.chain, &head[..5]) {
            return torn_or(rest, HEAD_BYTES, "the head of a record does not check");
        }
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let size = length.checked_add(HEAD_BYTES + CHECK_BYTES + 1);
        let Some(size) = size.filter(|&size| size <= rest.len()) else {
            return Ok(None);
        };
        let chain = chained(&self.chain, &rest[..HEAD_BYTES + length]);
        let tail = &rest[HEAD_BYTES + length..size];
        if tail[..CHECK_BYTES] != chain[..CHECK_BYTES] || tail[CHECK_BYTES] != END {
            return torn_or(rest, size, "a record does not check");
        }
        let record = Record::decode(head[4], &after[..length]).map_err(|error| error.0)?;
        self.chain = chain;
        Ok(Some((record, size)))
    }
}

/// A crash may leave zeros from somewhere within the `size` bytes of a frame to the file's end.
fn torn_or<T>(rest: &[u8], size: usize, reason: &'static str) -> Result<Option<T>, &'static str> {
    let is_torn = rest[size - 1..].iter().all(|&byte| byte == 0);
    is_torn.then_some(None).ok_or(reason)
}

/// Why the front of a file is not `header`. It was synced before it got its name: never torn.
fn check_header(bytes: &[u8], header: &[u8]) -> Result<(), Corrupt> {
    let reason = if bytes.starts_with(header) {
        return Ok(());
    } else if !bytes.starts_with(MAGIC) {
        "not a journal of tokens"
    } else if bytes.get(MAGIC.len()..MAGIC.len() + 2) != Some(&VERSION.to_be_bytes()) {
        "a version that this one does not read"
    } else {
        "the journal of another authority, or a damaged header"
    };
    Err(Corrupt {
        offset_bytes: 0,
        reason,
    })
}

fn head_check(chain: &[u8; 32], head: &[u8]) -> [u8; 4] {
    let whole = chained(chain, head);
    [whole[0], whole[1], whole[2], whole[3]]
}

fn chained(chain: &[u8; 32], bytes: &[u8]) -> [u8; 32] {
    let digest = Sha256::new().chain_update(chain).chain_update(bytes);
    digest.finalize().into()
}

const MAGIC: &[u8; 8] = b"PSTOKENS";
const VERSION: u16 = 1;
/// Length, kind and head check.
const HEAD_BYTES: usize = 4 + 1 + 4;
/// Chance damage passes once in 2^64; the chain itself keeps all 32.
const CHECK_BYTES: usize = 8;
/// Not zero, so that a frame that ends with zeros was torn.
const END: u8 = 0xa5;
