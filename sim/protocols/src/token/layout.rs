//! The offline token as bytes: its two layouts, and what each of its proofs signs.
//!
//! *Plain* is the prototype's, big-endian, in the order of Token.kt:131-175
//! (KoningR/eurotoken): number of recipients u16, serial 8, value 1, key of the
//! authority 74, nonce 64, then 74 + 64 for each recipient and its proof:
//! 149 + 138 k bytes. The prototype calls the serial `id`, the authority
//! `verifier` and the nonce `genesisHash`. A batch is tokens one after the other,
//! without a count or a checksum.
//!
//! *Challenged* is ours, since the thesis leaves the form of its handshake open
//! (IV-G): every pair after the first carries the receiver's challenge, 16 bytes
//! between key and proof, and the proof signs it too. A challenge beside the
//! token would not do: who replays an old proof would send it with the new
//! challenge. The top bit of the count marks this layout; the prototype reads
//! such a count as a negative number and refuses it (Token.kt:131-143). A token
//! with one recipient has no challenge and one spelling, the prototype's.
//!
//! What deliberately does not live here: denominations (any value byte is read:
//! which ones are money is for who verifies), whether a proof holds, wallets,
//! the authority, and what becomes of a token that was spent twice.

use crate::half_block::PublicKey;
use crate::reader::Reader;

pub use crate::reader::Malformed;

/// The authority's name for a token.
pub type Serial = [u8; 8];

/// What a receiver draws for one payment, so that no older proof will do.
pub type Challenge = [u8; 16];

/// One coin and its way: minted to the first recipient, then handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The authority's name for it.
    pub serial: Serial,
    /// Which denomination.
    pub value: u8,
    /// Who minted it.
    pub authority: PublicKey,
    /// Drawn when it was minted or reissued; by the prototype's rules, a reissue takes the
    /// last proof of its former life.
    pub nonce: [u8; 64],
    /// From 1 to [`RECIPIENTS_MAX`]: a token that belongs to nobody has no bytes.
    recipients: Vec<Recipient>,
}

/// One step on the way of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// Who received it.
    pub key: PublicKey,
    /// Signature of who gave it: of [`minted_message`], [`transferred_message`] or
    /// [`challenged_message`].
    pub proof: [u8; 64],
    /// What the receiver asked for; never in a token's first pair.
    pub challenge: Option<Challenge>,
}

/// What the authority signs: 147 bytes (VerifierCommunity.kt:187-198).
pub fn minted_message(
    serial: &[u8; 8],
    value: u8,
    nonce: &[u8; 64],
    recipient: &PublicKey,
) -> [u8; 147] {
    let mut message = [0; 147];
    message[..8].copy_from_slice(serial);
    message[8] = value;
    message[9..73].copy_from_slice(nonce);
    message[73..].copy_from_slice(&recipient.0);
    message
}

/// What a recipient signs to hand a token on: 138 bytes (Token.kt:97-104).
pub fn transferred_message(last_proof: &[u8; 64], recipient: &PublicKey) -> [u8; 138] {
    let mut message = [0; 138];
    message[..64].copy_from_slice(last_proof);
    message[64..].copy_from_slice(&recipient.0);
    message
}

/// What a recipient signs in the challenged layout: 154 bytes, so never one of the others.
pub fn challenged_message(
    last_proof: &[u8; 64],
    recipient: &PublicKey,
    challenge: &Challenge,
) -> [u8; 154] {
    let mut message = [0; 154];
    message[..138].copy_from_slice(&transferred_message(last_proof, recipient));
    message[138..].copy_from_slice(challenge);
    message
}

impl Token {
    /// A token as minted to `first`, whose proof is the authority's.
    pub fn new(
        serial: Serial,
        value: u8,
        authority: PublicKey,
        nonce: [u8; 64],
        first: Recipient,
    ) -> Self {
        assert!(first.challenge.is_none(), "{}", FIRST_CHALLENGED.0);
        Self {
            serial,
            value,
            authority,
            nonce,
            recipients: vec![first],
        }
    }

    /// Everybody who received it, in order; never empty.
    pub fn recipients(&self) -> &[Recipient] {
        &self.recipients
    }

    /// Whose it is.
    pub fn last_recipient(&self) -> &Recipient {
        self.recipients.last().expect("there is a first recipient")
    }

    /// Whether it is in the challenged layout; never with one recipient.
    pub fn is_challenged(&self) -> bool {
        self.last_recipient().challenge.is_some()
    }

    /// Hand it on.
    ///
    /// # Errors
    /// When it has [`RECIPIENTS_MAX`] recipients, or [`CHALLENGED_MAX`] with challenges: it has
    /// to be reissued first. When some pairs would have a challenge and others none.
    pub fn push(&mut self, recipient: Recipient) -> Result<(), Malformed> {
        self.can_take(recipient.challenge.is_some())?;
        self.recipients.push(recipient);
        Ok(())
    }

    /// Whether another recipient, `challenged` or not, has a place in it.
    ///
    /// # Errors
    /// Those of [`Token::push`].
    pub fn can_take(&self, challenged: bool) -> Result<(), Malformed> {
        if self.recipients.len() > 1 && challenged != self.is_challenged() {
            return Err(MIXED);
        }
        if self.room(challenged) == 0 {
            return Err(TOO_MANY);
        }
        Ok(())
    }

    /// How many more recipients have a place in it, if all are `challenged` or none is.
    pub fn room(&self, challenged: bool) -> usize {
        most(challenged).saturating_sub(self.recipients.len())
    }

    /// Length of [`Token::encode`].
    pub fn wire_bytes(&self) -> usize {
        let count = self.recipients.len();
        let challenges = if self.is_challenged() { count - 1 } else { 0 };
        FIXED_BYTES + RECIPIENT_BYTES * count + CHALLENGE_BYTES * challenges
    }

    /// The bytes on the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.wire_bytes());
        self.put(&mut bytes);
        bytes
    }

    /// One token from its bytes, with nothing behind them.
    ///
    /// # Errors
    /// No recipient or too many, truncated or overlong bytes, a key without its prefix.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        let token = Self::take(&mut reader)?;
        reader.end()?;
        Ok(token)
    }

    fn put(&self, bytes: &mut Vec<u8>) {
        let count = u16::try_from(self.recipients.len()).expect("at most RECIPIENTS_MAX");
        let mark = if self.is_challenged() { CHALLENGED } else { 0 };
        bytes.extend((count | mark).to_be_bytes());
        bytes.extend(self.serial);
        bytes.push(self.value);
        bytes.extend(self.authority.0);
        bytes.extend(self.nonce);
        for recipient in &self.recipients {
            bytes.extend(recipient.key.0);
            bytes.extend(recipient.challenge.iter().flatten());
            bytes.extend(recipient.proof);
        }
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let marked = u16::from_be_bytes(reader.array()?);
        let (count, challenged) = (usize::from(marked & !CHALLENGED), marked & CHALLENGED != 0);
        match count {
            0 => return Err(Malformed("a token has a recipient")),
            1 if challenged => return Err(FIRST_CHALLENGED),
            _ if count > most(challenged) => return Err(TOO_MANY),
            _ => {}
        }
        Ok(Self {
            serial: reader.array()?,
            value: reader.array::<1>()?[0],
            authority: take_key(reader)?,
            nonce: reader.array()?,
            recipients: take_recipients(reader, count, challenged)?,
        })
    }
}

/// Tokens one after the other; none are no bytes.
pub fn encode_batch(tokens: &[Token]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(tokens.iter().map(Token::wire_bytes).sum());
    tokens.iter().for_each(|token| token.put(&mut bytes));
    bytes
}

/// All tokens of a batch, in order.
///
/// # Errors
/// Those of [`Token::decode`] on any of them: the layout does not tell where the next begins.
pub fn decode_batch(bytes: &[u8]) -> Result<Vec<Token>, Malformed> {
    let mut reader = Reader(bytes);
    let mut tokens = Vec::new();
    while reader.end().is_err() {
        tokens.push(Token::take(&mut reader)?);
    }
    Ok(tokens)
}

/// The bytes are taken before anything is reserved: the count is only what the peer claims.
fn take_recipients(
    reader: &mut Reader<'_>,
    count: usize,
    challenged: bool,
) -> Result<Vec<Recipient>, Malformed> {
    let challenge_bytes = if challenged { CHALLENGE_BYTES } else { 0 };
    let bytes = RECIPIENT_BYTES * count + challenge_bytes * (count - 1);
    let mut reader = Reader(reader.take(bytes)?);
    (0..count)
        .map(|place| take_recipient(&mut reader, challenged && place > 0))
        .collect()
}

fn take_recipient(reader: &mut Reader<'_>, challenged: bool) -> Result<Recipient, Malformed> {
    let key = take_key(reader)?;
    let challenge = challenged.then(|| reader.array()).transpose()?;
    let proof = reader.array()?;
    Ok(Recipient {
        key,
        proof,
        challenge,
    })
}

const fn most(challenged: bool) -> usize {
    if challenged {
        CHALLENGED_MAX
    } else {
        RECIPIENTS_MAX
    }
}

pub(super) fn take_key(reader: &mut Reader<'_>) -> Result<PublicKey, Malformed> {
    let key = PublicKey(reader.array()?);
    if key.is_named() {
        Ok(key)
    } else {
        Err(Malformed("a public key starts with LibNaCLPK:"))
    }
}

/// The prototype reads the count as a signed 16-bit number and writes no more (Token.kt:131-143).
pub const RECIPIENTS_MAX: usize = 32_767;
/// One less, so that a count with all bits set stays no count: 65535 is what a hostile peer claims.
pub const CHALLENGED_MAX: usize = RECIPIENTS_MAX - 1;
/// How many recipients, the authority among them, clients and authorities take unless they are
/// told otherwise. The thesis has no such bound; without one a branch is up to 5 MB and two seconds
/// of verification (57 us each), so a few cheats could fill a store. Who gets a token this long
/// has it reissued first.
pub const RECIPIENTS_TAKEN: usize = 256;
/// Marks the challenged layout in the count.
const CHALLENGED: u16 = 0x8000;
const FIRST_CHALLENGED: Malformed = Malformed("a token's first pair has no challenge");
const MIXED: Malformed = Malformed("all pairs of a token have challenges, or none");
const TOO_MANY: Malformed = Malformed("a token has at most 32767 recipients");
/// Count, serial, value, key of the authority, nonce.
const FIXED_BYTES: usize = 2 + 8 + 1 + 74 + 64;
/// Key and proof.
const RECIPIENT_BYTES: usize = 74 + 64;
/// 2^64 payments are drawn before two challenges meet by chance (birthday bound).
const CHALLENGE_BYTES: usize = 16;
