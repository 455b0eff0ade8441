//! EVA's messages as bytes (EVAMessagePayload.kt), for real sockets.
//!
//! Big-endian, but for the numbers of lost blocks, which are little-endian
//! (Transfer.kt:194-228), or text before pull request 71. What deliberately does
//! not live here: the packet around a message, and whether its numbers make sense.

use super::Variant;
use crate::reader::Reader;

pub use crate::reader::Malformed;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaBody {
    /// Offers a message.
    WriteRequest(Offer),
    /// Asks for a window, and for what was lost before it.
    Acknowledgement {
        /// Of which transfer.
        nonce: u64,
        /// How many windows; also the number of the next one.
        acked_windows: u32,
        /// What is missing in them.
        lost: Vec<u32>,
    },
    /// One block.
    Data {
        /// From 0 on.
        block: u32,
        /// Of which transfer.
        nonce: u64,
        /// Its bytes.
        data: Vec<u8>,
    },
    /// Refuses an offer.
    Error {
        /// Which application it is for.
        info: String,
        /// For people.
        message: String,
    },
}

/// What a write request says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Which application it is for.
    pub info: String,
    /// Which message.
    pub id: String,
    /// Tells transfers apart.
    pub nonce: u64,
    /// Of the whole message.
    pub size_bytes: u64,
    /// How many blocks.
    pub blocks: u32,
    /// Data bytes of a full block.
    pub block_bytes: u32,
    /// Blocks between two acknowledgements.
    pub window_blocks: u32,
}

impl EvaBody {
    /// The number that the packet carries (Community.kt:689-692).
    pub fn message_id(&self) -> u8 {
        match self {
            Self::WriteRequest(_) => WRITE_REQUEST,
            Self::Acknowledgement { .. } => ACKNOWLEDGEMENT,
            Self::Data { .. } => DATA,
            Self::Error { .. } => ERROR,
        }
    }

    /// The message as bytes.
    pub fn encode(&self, variant: Variant) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::WriteRequest(offer) => offer.put(&mut bytes),
            Self::Acknowledgement {
                nonce,
                acked_windows,
                lost,
            } => {
                bytes.extend(nonce.to_be_bytes());
                bytes.extend(acked_windows.to_be_bytes());
                bytes.extend(encode_lost(*acked_windows, lost, variant));
            }
            Self::Data { block, nonce, data } => {
                bytes.extend(block.to_be_bytes());
                bytes.extend(nonce.to_be_bytes());
                bytes.extend(data);
            }
            Self::Error { info, message } => {
                put_text(&mut bytes, info);
                put_text(&mut bytes, message);
            }
        }
        bytes
    }

    /// The message that `bytes` of a packet with `message_id` are.
    ///
    /// # Errors
    /// Another message id, an end too early or too late, text that is not UTF-8, and
    /// lost blocks that are no numbers.
    pub fn decode(message_id: u8, bytes: &[u8], variant: Variant) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        match message_id {
            WRITE_REQUEST => Offer::take(&mut reader).map(Self::WriteRequest),
            ACKNOWLEDGEMENT => Ok(Self::Acknowledgement {
                nonce: reader.u64()?,
                acked_windows: reader.u32()?,
                lost: decode_lost(reader.0, variant)?,
            }),
            DATA => Ok(Self::Data {
                block: reader.u32()?,
                nonce: reader.u64()?,
                data: reader.0.to_vec(),
            }),
            ERROR => {
                let info = text(reader.sized()?)?;
                let message = text(reader.sized()?)?;
                reader.end()?;
                Ok(Self::Error { info, message })
            }
            _ => Err(Malformed("is no message of EVA")),
        }
    }
}

impl Offer {
    fn put(&self, bytes: &mut Vec<u8>) {
        put_text(bytes, &self.info);
        put_text(bytes, &self.id);
        bytes.extend(self.nonce.to_be_bytes());
        bytes.extend(self.size_bytes.to_be_bytes());
        for number in [self.blocks, self.block_bytes, self.window_blocks] {
            bytes.extend(number.to_be_bytes());
        }
    }

    fn take(reader: &mut Reader) -> Result<Self, Malformed> {
        let offer = Self {
            info: text(reader.sized()?)?,
            id: text(reader.sized()?)?,
            nonce: reader.u64()?,
            size_bytes: reader.u64()?,
            blocks: reader.u32()?,
            block_bytes: reader.u32()?,
            window_blocks: reader.u32()?,
        };
        reader.end()?;
        Ok(offer)
    }
}

/// Before the first window is acknowledged, no list at all is sent (`sendAcknowledgement`).
fn encode_lost(acked_windows: u32, lost: &[u32], variant: Variant) -> Vec<u8> {
    match variant {
        Variant::Modified => lost.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Variant::Original if acked_windows == 0 => Vec::new(),
        Variant::Original => {
            let numbers: Vec<String> = lost.iter().map(u32::to_string).collect();
            format!("[{}]", numbers.join(", ")).into_bytes()
        }
    }
}

fn decode_lost(bytes: &[u8], variant: Variant) -> Result<Vec<u32>, Malformed> {
    match variant {
        Variant::Modified => {
            let numbers = bytes.chunks(4).map(|chunk| {
                let number = chunk.try_into().map(u32::from_le_bytes);
                number.map_err(|_| Malformed("a lost block has 4 bytes"))
            });
            numbers.collect()
        }
        Variant::Original => {
            let list = text(bytes)?;
            let inner = list.strip_prefix('[').and_then(|s| s.strip_suffix(']'));
            let inner = inner.unwrap_or(&list);
            let numbers = inner.split(',').map(str::trim).filter(|s| !s.is_empty());
            let numbers = numbers.map(str::parse);
            let numbers: Result<_, _> = numbers.collect();
            numbers.map_err(|_| Malformed("a lost block is a number"))
        }
    }
}

fn text(bytes: &[u8]) -> Result<String, Malformed> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned)
        .map_err(|_| Malformed("a text is UTF-8"))
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let count = u32::try_from(text.len()).expect("a text is under 4 GiB");
    bytes.extend(count.to_be_bytes());
    bytes.extend(text.as_bytes());
}

/// Community.kt:689-692.
const WRITE_REQUEST: u8 = 130;
const ACKNOWLEDGEMENT: u8 = 131;
const DATA: u8 = 132;
const ERROR: u8 = 133;
