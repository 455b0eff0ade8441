//! TFTP packets as bytes (RFC 1350 section 5), for real sockets.
//!
//! Options (RFC 2347) are skipped: whoever does not answer them declines them.

use super::{BLOCK_BYTES, HEADER_BYTES};
use crate::contract::Reason;

/// One TFTP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TftpPacket {
    /// RRQ: asks for a file.
    Read {
        /// Its name.
        filename: String,
        /// How its bytes are to be understood.
        mode: TransferMode,
    },
    /// WRQ: offers a file.
    Write {
        /// Its name.
        filename: String,
        /// How its bytes are to be understood.
        mode: TransferMode,
    },
    /// DATA: at most 512 bytes; fewer end the transfer.
    Data {
        /// From 1 on.
        block: u16,
        /// The bytes.
        data: Vec<u8>,
    },
    /// ACK.
    Ack {
        /// The block; 0 for a write request.
        block: u16,
    },
    /// ERROR, which ends the transfer.
    Error {
        /// RFC 1350 appendix.
        code: u16,
        /// For people.
        message: String,
    },
}

/// How the bytes of a file are to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferMode {
    /// Eight-bit ASCII with network line ends.
    Netascii,
    /// Bytes as they are.
    Octet,
    /// Obsolete.
    Mail,
}

impl TransferMode {
    const ALL: [TransferMode; 3] = [Self::Netascii, Self::Octet, Self::Mail];

    const fn name(self) -> &'static str {
        match self {
            Self::Netascii => "netascii",
            Self::Octet => "octet",
            Self::Mail => "mail",
        }
    }
}

impl TftpPacket {
    /// The packet as bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Read { filename, mode } => encode_request(READ, filename, *mode),
            Self::Write { filename, mode } => encode_request(WRITE, filename, *mode),
            Self::Data { block, data } => encode_numbered(DATA, *block, data),
            Self::Ack { block } => encode_numbered(ACK, *block, &[]),
            Self::Error { code, message } => {
                let mut bytes = encode_numbered(ERROR, *code, message.as_bytes());
                bytes.push(0);
                bytes
            }
        }
    }

    /// The packet that `bytes` are.
    ///
    /// # Errors
    /// [`Reason::Malformed`] for anything that RFC 1350 does not describe.
    pub fn decode(bytes: &[u8]) -> Result<Self, Reason> {
        let (opcode, rest) = take_number(bytes)?;
        match opcode {
            READ => decode_request(rest).map(|(filename, mode)| Self::Read { filename, mode }),
            WRITE => decode_request(rest).map(|(filename, mode)| Self::Write { filename, mode }),
            DATA => match take_number(rest)? {
                (block, data) if data.len() <= BLOCK_BYTES as usize => {
                    let data = data.to_vec();
                    Ok(Self::Data { block, data })
                }
                _ => Err(Reason::Malformed),
            },
            ACK => match take_number(rest)? {
                (block, []) => Ok(Self::Ack { block }),
                _ => Err(Reason::Malformed),
            },
            ERROR => {
                match take_number(rest).and_then(|(code, text)| Ok((code, take_text(text)?)))? {
                    (code, (message, [])) => Ok(Self::Error { code, message }),
                    _ => Err(Reason::Malformed),
                }
            }
            _ => Err(Reason::Malformed),
        }
    }
}

fn encode_request(opcode: u16, filename: &str, mode: TransferMode) -> Vec<u8> {
    let mut bytes = opcode.to_be_bytes().to_vec();
    bytes.extend_from_slice(filename.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(mode.name().as_bytes());
    bytes.push(0);
    bytes
}

fn encode_numbered(opcode: u16, number: u16, rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize + rest.len());
    bytes.extend_from_slice(&opcode.to_be_bytes());
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend_from_slice(rest);
    bytes
}

fn decode_request(bytes: &[u8]) -> Result<(String, TransferMode), Reason> {
    let (filename, rest) = take_text(bytes)?;
    let (name, mut options) = take_text(rest)?;
    while !options.is_empty() {
        let (_name, value) = take_text(options)?;
        (_, options) = take_text(value)?;
    }
    let is_named = |mode: &TransferMode| mode.name().eq_ignore_ascii_case(&name);
    let mode = TransferMode::ALL.into_iter().find(is_named);
    match mode {
        Some(mode) if !filename.is_empty() => Ok((filename, mode)),
        _ => Err(Reason::Malformed),
    }
}

fn take_number(bytes: &[u8]) -> Result<(u16, &[u8]), Reason> {
    match bytes {
        [high, low, rest @ ..] => Ok((u16::from_be_bytes([*high, *low]), rest)),
        _ => Err(Reason::Malformed),
    }
}

/// A text up to its NUL, and what follows.
fn take_text(bytes: &[u8]) -> Result<(String, &[u8]), Reason> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let end = end.ok_or(Reason::Malformed)?;
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| Reason::Malformed)?;
    Ok((text.to_owned(), &bytes[end + 1..]))
}

/// Opcodes (RFC 1350 section 5).
const READ: u16 = 1;
const WRITE: u16 = 2;
const DATA: u16 = 3;
const ACK: u16 = 4;
const ERROR: u16 = 5;
