//! The block of the two TrustChain theses: one record, two signatures, eight fields.
//!
//! Both parties share the block: the proposer fills it up to its signature, the
//! countersigner adds its own previous hash and signature. On the wire it is
//! compact JSON. Fields, their order, base64, and that a proposal's
//! `receiver_sig` and a first block's previous hashes are empty texts, are those
//! of the table in Chirila's poster of 2025 (its rows are shifted by one). The
//! names `*_pubkey` (the table has `*_publickey`) and hexadecimal hashes are
//! inferred from the serialised sizes in appendix B of Chirila 2025, which they
//! reproduce to the byte. Inferred too: that an unsigned `sender_sig` is empty,
//! and that a signature covers the record and not, as the table says, the payload
//! alone, for then it would not bind the links.
//!
//! What deliberately does not live here: chains, and what may follow what.

use base64::{engine::general_purpose::STANDARD, Engine as _};

use crate::contract::{MessageId, NodeId, Payload};
use crate::crypto::{Canonical, Crypto, Digest, Key, Mixer, Signature};

pub use json::Malformed;

mod json;

/// The payload of a benchmark: its number as text, then filler.
///
/// Kept as two numbers, so that a simulated block holds no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    counter: u32,
    bytes: u32,
}

impl Text {
    /// The payload of transaction `counter`, nominally `bytes` long.
    ///
    /// The number takes at least four digits, so shorter payloads become four
    /// bytes; each digit beyond the fourth makes the text one byte longer.
    pub fn new(counter: u32, bytes: u32) -> Self {
        Self {
            counter,
            bytes: bytes.max(COUNTER_DIGITS),
        }
    }

    /// Length of the text in bytes.
    pub fn wire_bytes(self) -> u32 {
        self.bytes
            .saturating_add(digits(self.counter.into()).saturating_sub(COUNTER_DIGITS))
    }

    fn write(self, text: &mut String) {
        let end = text.len() + self.wire_bytes() as usize;
        text.push_str(&format!("{:04}", self.counter));
        while text.len() < end {
            text.push(FILLER);
        }
    }

    fn read(text: &str) -> Option<Self> {
        let number = text.trim_end_matches(FILLER);
        let counter: u32 = number.parse().ok()?;
        let extra = digits(counter.into()).saturating_sub(COUNTER_DIGITS);
        let bytes = u32::try_from(text.len()).ok()?.checked_sub(extra)?;
        Some(Self::new(counter, bytes))
    }
}

/// A block, complete or still a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Who proposed it. Not a field on the wire: whoever reads a socket knows
    /// from whom the bytes came, and [`Block::from_json`] is told.
    pub proposer: NodeId,
    /// What was agreed on.
    pub payload: Text,
    /// Key of the proposer.
    pub sender_pubkey: Key,
    /// Key of the countersigner.
    pub receiver_pubkey: Key,
    /// The proposer's signature on [`Part::Proposal`].
    pub sender_sig: Option<Signature>,
    /// The countersigner's signature on [`Part::Agreement`].
    pub receiver_sig: Option<Signature>,
    /// Hash of the latest block of the proposer's chain when it proposed.
    pub prev_hash_sender: Option<Digest>,
    /// Hash of the latest block of the countersigner's chain when it signed.
    pub prev_hash_receiver: Option<Digest>,
    /// Place among the proposals of the proposer, from 1.
    pub index: u64,
}

impl Block {
    /// What of it the proposer signed; also what a countersigner must not alter.
    pub fn proposal(&self) -> Self {
        Self {
            receiver_sig: None,
            prev_hash_receiver: None,
            ..*self
        }
    }

    /// Set the proposer's signature.
    pub fn sign_as_sender(&mut self, crypto: &impl Crypto) {
        self.sender_sig = Some(crypto.sign(&Signed(self, Part::Proposal)));
    }

    /// Set the countersigner's signature.
    pub fn sign_as_receiver(&mut self, crypto: &impl Crypto) {
        self.receiver_sig = Some(crypto.sign(&Signed(self, Part::Agreement)));
    }

    /// Whether the key that it names as the proposer's signed the proposal.
    pub fn sender_signed<C: Crypto>(&self) -> bool {
        let message = Signed(self, Part::Proposal);
        self.sender_sig
            .is_some_and(|signature| C::verify(&self.sender_pubkey, &message, &signature))
    }

    /// Whether the key that it names as the countersigner's signed the whole.
    pub fn receiver_signed<C: Crypto>(&self) -> bool {
        let message = Signed(self, Part::Agreement);
        self.receiver_sig
            .is_some_and(|signature| C::verify(&self.receiver_pubkey, &message, &signature))
    }

    /// The hash that the next block of either chain refers to.
    pub fn digest<C: Crypto>(&self) -> Digest {
        C::digest(&Signed(self, Part::Whole))
    }

    /// Size of what was signed as `part`, in bytes.
    pub fn signed_bytes(&self, part: Part) -> u32 {
        part.of(self).wire_bytes()
    }
}

impl Payload for Block {
    fn wire_bytes(&self) -> u32 {
        let signatures = count(self.sender_sig) + count(self.receiver_sig);
        let hashes = count(self.prev_hash_sender) + count(self.prev_hash_receiver);
        let variable = digits(self.index) + signatures * SIGNATURE_CHARS + hashes * HASH_CHARS;
        self.payload
            .wire_bytes()
            .saturating_add(FIXED_BYTES + variable)
    }

    fn message_id(&self) -> MessageId {
        MessageId::new(self.proposer, self.payload.counter)
    }
}

/// How much of a block is signed or hashed; what is left out counts as not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// By the proposer: everything but the signatures and the countersigner's hash.
    Proposal,
    /// By the countersigner: everything but its signature.
    Agreement,
    /// For the hash: everything.
    Whole,
}

impl Part {
    fn of(self, block: &Block) -> Block {
        match self {
            Part::Proposal => Block {
                sender_sig: None,
                ..block.proposal()
            },
            Part::Agreement => Block {
                receiver_sig: None,
                ..*block
            },
            Part::Whole => *block,
        }
    }
}

/// A part of a block as something to sign or hash.
struct Signed<'a>(&'a Block, Part);

impl Canonical for Signed<'_> {
    fn bytes(&self) -> Vec<u8> {
        self.1.of(self.0).to_json().into_bytes()
    }

    fn mix(&self, mixer: &mut Mixer) {
        let Signed(block, part) = *self;
        let text = block.payload;
        mixer.word(u64::from(text.counter) << 32 | u64::from(text.bytes));
        mixer.word(block.index);
        mixer.bytes(&block.sender_pubkey.0);
        mixer.bytes(&block.receiver_pubkey.0);
        mix_option(mixer, block.prev_hash_sender.map(|hash| hash.0));
        if part != Part::Proposal {
            mix_option(mixer, block.sender_sig.map(|signature| signature.0));
            mix_option(mixer, block.prev_hash_receiver.map(|hash| hash.0));
        }
        if part == Part::Whole {
            mix_option(mixer, block.receiver_sig.map(|signature| signature.0));
        }
    }
}

fn mix_option<const N: usize>(mixer: &mut Mixer, bytes: Option<[u8; N]>) {
    mixer.word(count(bytes).into());
    if let Some(bytes) = bytes {
        mixer.bytes(&bytes);
    }
}

fn count<T>(option: Option<T>) -> u32 {
    option.is_some().into()
}

/// Decimal digits of `number`.
fn digits(number: u64) -> u32 {
    number.checked_ilog10().unwrap_or(0) + 1
}

/// Inferred: published blocks grow by one byte once a run has made 10 000.
const COUNTER_DIGITS: u32 = 4;
/// Neither a digit nor escaped in JSON.
const FILLER: char = 'x';
/// 64 bytes in base64 with padding.
const SIGNATURE_CHARS: u32 = 88;
/// 32 bytes in hexadecimal.
const HASH_CHARS: u32 = 64;
/// The eight names (96), their quotes and colons (24), commas and braces (9),
/// the quotes of seven texts (14) and two keys of 44 characters (88).
const FIXED_BYTES: u32 = 96 + 24 + 9 + 14 + 88;
