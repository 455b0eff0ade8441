//! What passes between client and authority as files: a submission, and the answer to it.
//!
//! ```text
//! submission = "PSSUBMIT" | version u16 | submitter 74 | authority 74 | count u32 | requests | signature 64
//! request    = intent u8 (0 reissue, 1 redeem) | length u32 | token as submitted
//! answer     = "PSANSWER" | version u16 | authority 74 | submitter 74 | count u32 | verdicts | signature 64
//! verdict    = SHA-256 of the submitted token 32 | kind u8 | rest
//! rest       = 1: length u32, token reissued | 2: serial 8, last proof 64, redeemed
//!            | 3: serial 8, last proof 64, length u32, reason, count u32, keys of culprits 74 each
//! ```
//! Big-endian. A submitted token carries its holder's proof over to the authority, so nobody else
//! gains by sending it in: what is reissued is the holder's. Yet that proof does not cover the
//! intent, so whoever carries the file could have a token redeemed that should be reissued. Hence
//! the holder signs the whole. The authority signs its answer, or the carrier could invent a refusal, and the
//! client would drop a good token; each verdict names the very bytes that it judges, or an old
//! refusal of another branch could be replayed.
//!
//! What deliberately does not live here: files, and what is decided.

use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::reader::{Malformed, Reader};
use pocketsim_protocols::token::{Answer, Intent, Refusal, Serial, Token};
use sha2::{Digest, Sha256};

use super::keys::{has_signed, Identity};

/// Tokens that one holder sends in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionFile {
    /// Who holds them, and signs the file.
    pub submitter: PublicKey,
    /// For whom it is.
    pub authority: PublicKey,
    /// As submitted, and what for.
    pub requests: Vec<(Token, Intent)>,
}

/// What became of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerFile {
    /// Who decided, and signs the file.
    pub authority: PublicKey,
    /// For whom it is.
    pub submitter: PublicKey,
    /// Each with [`fingerprint`] of the token that was submitted.
    pub verdicts: Vec<([u8; 32], Answer)>,
}

/// The SHA-256 of a token's bytes.
pub fn fingerprint(token: &Token) -> [u8; 32] {
    Sha256::digest(token.encode()).into()
}

impl SubmissionFile {
    /// The bytes of the file, signed by the submitter.
    pub fn seal(&self, submitter: &Identity) -> Vec<u8> {
        seal(self.encode(), submitter)
    }

    /// The submission in a file that its submitter has signed.
    ///
    /// # Errors
    /// What does not fit the format, or the signature.
    pub fn open(bytes: &[u8]) -> Result<Self, Malformed> {
        let (body, signature) = split(bytes)?;
        let submission = Self::decode(body)?;
        check(&submission.submitter, body, signature)?;
        Ok(submission)
    }

    /// All but the signature.
    pub fn encode(&self) -> Vec<u8> {
        let count = self.requests.len();
        let mut bytes = head(SUBMISSION, &self.submitter, &self.authority, count);
        for (token, intent) in &self.requests {
            bytes.push(*intent as u8);
            put_sized(&mut bytes, &token.encode());
        }
        bytes
    }

    /// Reads what [`SubmissionFile::encode`] writes.
    ///
    /// # Errors
    /// What does not fit the format.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(body);
        let (submitter, authority, count) = take_head(&mut reader, SUBMISSION)?;
        let requests = (0..count).map(|_| take_request(&mut reader));
        let requests = requests.collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(Self {
            submitter,
            authority,
            requests,
        })
    }
}

impl AnswerFile {
    /// The bytes of the file, signed by the authority.
    pub fn seal(&self, authority: &Identity) -> Vec<u8> {
        seal(self.encode(), authority)
    }

    /// The answer in a file that its authority has signed.
    ///
    /// # Errors
    /// What does not fit the format, or the signature.
    pub fn open(bytes: &[u8]) -> Result<Self, Malformed> {
        let (body, signature) = split(bytes)?;
        let answer = Self::decode(body)?;
        check(&answer.authority, body, signature)?;
        Ok(answer)
    }

    /// All but the signature.
    pub fn encode(&self) -> Vec<u8> {
        let count = self.verdicts.len();
        let mut bytes = head(ANSWER, &self.authority, &self.submitter, count);
        for (submitted, answer) in &self.verdicts {
            bytes.extend(submitted);
            put_answer(&mut bytes, answer);
        }
        bytes
    }

    /// Reads what [`AnswerFile::encode`] writes.
    ///
    /// # Errors
    /// What does not fit the format.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(body);
        let (authority, submitter, count) = take_head(&mut reader, ANSWER)?;
        let verdicts = (0..count).map(|_| Ok((reader.array()?, take_answer(&mut reader)?)));
        let verdicts = verdicts.collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(Self {
            authority,
            submitter,
            verdicts,
        })
    }
}

/// Whether the signature of such a file was looked at: what does not fit the format never gets there.
pub(super) fn is_checked<T>(opened: &Result<T, Malformed>) -> bool {
    !matches!(opened, Err(error) if *error != BAD_SIGNATURE)
}

fn seal(mut body: Vec<u8>, signer: &Identity) -> Vec<u8> {
    let signature = signer.sign(&body);
    body.extend(signature);
    body
}

fn split(bytes: &[u8]) -> Result<(&[u8], &[u8; 64]), Malformed> {
    let split = bytes.split_last_chunk::<64>();
    split.ok_or(Malformed("ends too early"))
}

fn check(key: &PublicKey, body: &[u8], signature: &[u8; 64]) -> Result<(), Malformed> {
    let holds = has_signed(key, body, signature);
    holds.then_some(()).ok_or(BAD_SIGNATURE)
}

fn head(magic: &[u8; 8], from: &PublicKey, to: &PublicKey, count: usize) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend(VERSION.to_be_bytes());
    bytes.extend(from.0);
    bytes.extend(to.0);
    put_count(&mut bytes, count);
    bytes
}

fn take_head(
    reader: &mut Reader<'_>,
    magic: &[u8; 8],
) -> Result<(PublicKey, PublicKey, u32), Malformed> {
    if reader.array()? != *magic {
        return Err(Malformed("another kind of file"));
    }
    if reader.array()? != VERSION.to_be_bytes() {
        return Err(Malformed("a version that this one does not read"));
    }
    let (from, to) = (take_key(reader)?, take_key(reader)?);
    match reader.u32()? {
        0 => Err(Malformed("nothing in it")),
        count => Ok((from, to, count)),
    }
}

fn take_request(reader: &mut Reader<'_>) -> Result<(Token, Intent), Malformed> {
    let [intent] = reader.array()?;
    let intent = Intent::ALL.get(usize::from(intent));
    let intent = *intent.ok_or(Malformed("an unknown intent"))?;
    Ok((Token::decode(reader.sized()?)?, intent))
}

fn put_answer(bytes: &mut Vec<u8>, answer: &Answer) {
    match answer {
        Answer::Reissued(token) => {
            bytes.push(1);
            put_sized(bytes, &token.encode());
        }
        Answer::Redeemed { serial, last_proof } => {
            bytes.push(2);
            bytes.extend(serial);
            bytes.extend(last_proof);
        }
        Answer::Refused {
            serial,
            last_proof,
            reason,
            culprits,
        } => {
            bytes.push(3);
            bytes.extend(serial);
            bytes.extend(last_proof);
            put_sized(bytes, reason.name().as_bytes());
            put_count(bytes, culprits.len());
            culprits.iter().for_each(|culprit| bytes.extend(culprit.0));
        }
    }
}

fn take_answer(reader: &mut Reader<'_>) -> Result<Answer, Malformed> {
    match reader.array()? {
        [1] => Ok(Answer::Reissued(Token::decode(reader.sized()?)?)),
        [2] => Ok(Answer::Redeemed {
            serial: reader.array()?,
            last_proof: reader.array()?,
        }),
        [3] => {
            let (serial, last_proof): (Serial, _) = (reader.array()?, reader.array()?);
            let reason = take_reason(reader)?;
            let count = reader.u32()?;
            let culprits = (0..count).map(|_| take_key(reader));
            Ok(Answer::Refused {
                serial,
                last_proof,
                reason,
                culprits: culprits.collect::<Result<_, _>>()?,
            })
        }
        _ => Err(Malformed("an unknown kind of verdict")),
    }
}

fn take_reason(reader: &mut Reader<'_>) -> Result<Refusal, Malformed> {
    let name = reader.sized()?;
    let mut reasons = Refusal::ALL.iter();
    let reason = reasons.find(|reason| reason.name().as_bytes() == name);
    reason.copied().ok_or(Malformed("an unknown reason"))
}

pub(super) fn take_key(reader: &mut Reader<'_>) -> Result<PublicKey, Malformed> {
    let key = PublicKey(reader.array()?);
    let key = Some(key).filter(PublicKey::is_named);
    key.ok_or(Malformed("a public key starts with LibNaCLPK:"))
}

pub(super) fn put_sized(bytes: &mut Vec<u8>, part: &[u8]) {
    put_count(bytes, part.len());
    bytes.extend(part);
}

pub(super) fn put_count(bytes: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("files of tokens are under 4 GiB");
    bytes.extend(count.to_be_bytes());
}

/// What a signature that does not hold is refused with.
pub(super) const BAD_SIGNATURE: Malformed = Malformed("not signed by whom it names");
const SUBMISSION: &[u8; 8] = b"PSSUBMIT";
const ANSWER: &[u8; 8] = b"PSANSWER";
/// Since 2 a verdict has the last proof of what it settles.
const VERSION: u16 = 2;
