//! The offline token as bytes: the layout of the prototype, and what each of its proofs signs.
//!
//! Big-endian, in the order of Token.kt:131-175 (KoningR/eurotoken): number of
//! recipients u16, serial 8, value 1, key of the authority 74, nonce 64, then 74 +
//! 64 for each recipient and its proof: 149 + 138 k bytes. The prototype calls the
//! serial `id`, the authority `verifier` and the nonce `genesisHash`. A batch is
//! tokens one after the other, without a count or a checksum.
//!
//! Only the layout lives here; the token protocol is to be built on it. What
//! deliberately does not live here: denominations, whether a proof holds, wallets,
//! the authority, and what becomes of a token that was spent twice.

use crate::half_block::PublicKey;
use crate::reader::Reader;

pub use crate::reader::Malformed;

/// One coin and its way: minted to the first recipient, then handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The authority's name for it.
    pub serial: [u8; 8],
    /// Which denomination.
    pub value: u8,
    /// Who minted it.
    pub authority: PublicKey,
    /// Drawn when it was minted; after a reissue, the last proof of its former life.
    pub nonce: [u8; 64],
    /// From 1 to [`RECIPIENTS_MAX`]: a token that belongs to nobody has no bytes.
    recipients: Vec<Recipient>,
}

/// One step on the way of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// Who received it.
    pub key: PublicKey,
    /// Signature of who gave it: of [`minted_message`] or [`transferred_message`].
    pub proof: [u8; 64],
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

impl Token {
    /// A token as minted to `first`, whose proof is the authority's.
    pub fn new(
        serial: [u8; 8],
        value: u8,
        authority: PublicKey,
        nonce: [u8; 64],
        first: Recipient,
    ) -> Self {
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

    /// Hand it on.
    ///
    /// # Errors
    /// When it has [`RECIPIENTS_MAX`] recipients: it has to be reissued first.
    pub fn push(&mut self, recipient: Recipient) -> Result<(), Malformed> {
        if self.recipients.len() == RECIPIENTS_MAX {
            return Err(TOO_MANY);
        }
        self.recipients.push(recipient);
        Ok(())
    }

    /// Length of [`Token::encode`].
    pub fn wire_bytes(&self) -> usize {
        FIXED_BYTES + RECIPIENT_BYTES * self.recipients.len()
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
        bytes.extend(count.to_be_bytes());
        bytes.extend(self.serial);
        bytes.push(self.value);
        bytes.extend(self.authority.0);
        bytes.extend(self.nonce);
        for recipient in &self.recipients {
            bytes.extend(recipient.key.0);
            bytes.extend(recipient.proof);
        }
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = usize::from(u16::from_be_bytes(reader.array()?));
        match count {
            0 => return Err(Malformed("a token has a recipient")),
            1..=RECIPIENTS_MAX => {}
            _ => return Err(TOO_MANY),
        }
        Ok(Self {
            serial: reader.array()?,
            value: reader.array::<1>()?[0],
            authority: take_key(reader)?,
            nonce: reader.array()?,
            recipients: take_recipients(reader, count)?,
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
fn take_recipients(reader: &mut Reader<'_>, count: usize) -> Result<Vec<Recipient>, Malformed> {
    let bytes = reader.take(count * RECIPIENT_BYTES)?;
    bytes
        .chunks_exact(RECIPIENT_BYTES)
        .map(|chunk| take_recipient(&mut Reader(chunk)))
        .collect()
}

fn take_recipient(reader: &mut Reader<'_>) -> Result<Recipient, Malformed> {
    Ok(Recipient {
        key: take_key(reader)?,
        proof: reader.array()?,
    })
}

fn take_key(reader: &mut Reader<'_>) -> Result<PublicKey, Malformed> {
    let key = PublicKey(reader.array()?);
    if key.is_named() {
        Ok(key)
    } else {
        Err(Malformed("a public key starts with LibNaCLPK:"))
    }
}

/// The prototype reads the count as a signed 16-bit number and writes no more (Token.kt:131-143).
pub const RECIPIENTS_MAX: usize = 32_767;
const TOO_MANY: Malformed = Malformed("a token has at most 32767 recipients");
/// Count, serial, value, key of the authority, nonce.
const FIXED_BYTES: usize = 2 + 8 + 1 + 74 + 64;
/// Key and proof.
const RECIPIENT_BYTES: usize = 74 + 64;
