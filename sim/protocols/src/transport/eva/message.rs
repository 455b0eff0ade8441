//! EVA's messages as the simulation carries them, and their exact sizes.
//!
//! What deliberately does not live here: their bytes, which are in `codec`.

use super::{EvaConfig, Variant};
use crate::contract::{MessageId, Reason};

/// What a packet says.
#[derive(Clone, Debug, PartialEq)]
pub enum EvaMessage<P> {
    /// 130: offers a message.
    WriteRequest(WriteRequest),
    /// 131: asks for a window, and for what was lost before it.
    Acknowledgement(Acknowledgement),
    /// 132: one block; the message itself travels with the last one.
    Data(Data<P>),
    /// 133: refuses an offer.
    Error(Refusal),
}

/// The offer of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// Which message; its text is 16 hexadecimal digits.
    pub id: MessageId,
    /// Tells transfers apart.
    pub nonce: u64,
    /// Of the whole message.
    pub size_bytes: u32,
    /// How many blocks.
    pub blocks: u32,
    /// Data bytes of a full block.
    pub block_bytes: u32,
    /// Blocks between two acknowledgements.
    pub window_blocks: u32,
}

/// The windows that are behind the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Of which transfer.
    pub nonce: u64,
    /// How many windows; also the number of the next one.
    pub acked_windows: u32,
    /// What is missing in them, ascending.
    pub lost: Vec<u32>,
}

/// One block.
#[derive(Clone, Debug, PartialEq)]
pub struct Data<P> {
    /// From 0 on.
    pub block: u32,
    /// Of which transfer.
    pub nonce: u64,
    /// Without headers.
    pub bytes: u32,
    /// The message, if this is its last block.
    pub payload: Option<P>,
}

/// Why an offer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The message has no bytes.
    Empty,
    /// It has more than the limit.
    TooLarge,
    /// The two peers are in another transfer.
    Busy,
}

impl Refusal {
    /// What the error message says (EVAProtocol.kt:444-488).
    pub fn text(self, limit_bytes: u32) -> String {
        match self {
            Self::Empty => "Data size can not be less or equal to 0".into(),
            Self::TooLarge => format!("Current data size limit({limit_bytes}) has been exceeded"),
            Self::Busy => "There is already a transfer ongoing with peer".into(),
        }
    }

    /// Why the message failed, at the end that offered it.
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::Empty => Reason::Malformed,
            Self::TooLarge => Reason::Oversized,
            Self::Busy => Reason::PeerBusy,
        }
    }
}

impl<P> EvaMessage<P> {
    /// Bytes of the message alone, without the packet around it.
    pub(super) fn body_bytes(&self, config: &EvaConfig) -> u32 {
        match self {
            Self::WriteRequest(_) => WRITE_REQUEST_BYTES + config.info_bytes + ID_CHARACTERS,
            Self::Acknowledgement(ack) => ACKNOWLEDGEMENT_BYTES + ack.list_bytes(config.variant),
            Self::Data(data) => DATA_BYTES + data.bytes,
            Self::Error(refusal) => {
                let text = refusal.text(config.binary_size_limit_bytes);
                ERROR_BYTES + config.info_bytes + text.len() as u32
            }
        }
    }
}

impl Acknowledgement {
    /// The list of lost blocks; before the first window there is none (`sendAcknowledgement`).
    fn list_bytes(&self, variant: Variant) -> u32 {
        let count = self.lost.len() as u32;
        match variant {
            Variant::Modified => 4 * count,
            Variant::Original if self.acked_windows == 0 => 0,
            Variant::Original => {
                let digits = |number: &u32| number.checked_ilog10().unwrap_or(0) + 1;
                let numbers: u32 = self.lost.iter().map(digits).sum();
                // Brackets, and a comma with a space between two numbers.
                2 + numbers + 2 * count.saturating_sub(1)
            }
        }
    }
}

/// UDP payload of a signed packet around `body_bytes`.
pub(super) fn packet_bytes(body_bytes: u32, encrypted: bool) -> u32 {
    let sealed = if encrypted { SEALED_BOX_BYTES } else { 0 };
    SIGNED_PACKET_BYTES + body_bytes + sealed
}

/// What Kotlin-IPv8 does not send over UDP any more (UdpEndpoint.kt:210-213).
pub const UDP_PAYLOAD_LIMIT_BYTES: u32 = 1472;

/// Prefix 22, message id 1, length and key 76, global time 8 (Community.kt:309-378).
pub(super) const HEADER_BYTES: u32 = 22 + 1 + 76 + 8;
/// Ed25519, over everything before it.
pub(super) const SIGNATURE_BYTES: u32 = 64;
const SIGNED_PACKET_BYTES: u32 = HEADER_BYTES + SIGNATURE_BYTES;
/// An ephemeral key and an authenticator (libsodium, `crypto_box_SEALBYTES`).
const SEALED_BOX_BYTES: u32 = 48;

/// EVAMessagePayload.kt:10-27: two lengths, nonce, size, three numbers.
const WRITE_REQUEST_BYTES: u32 = 2 * 4 + 8 + 8 + 3 * 4;
/// EVAMessagePayload.kt:62-71: nonce, window.
const ACKNOWLEDGEMENT_BYTES: u32 = 8 + 4;
/// EVAMessagePayload.kt:114-123: block, nonce.
const DATA_BYTES: u32 = 4 + 8;
/// What is signed of a data packet beside its block.
pub const SIGNED_HEAD_BYTES: u32 = HEADER_BYTES + DATA_BYTES;
/// Two lengths.
const ERROR_BYTES: u32 = 2 * 4;
/// A message id in hexadecimal. The application chooses the text; the prototype counts.
const ID_CHARACTERS: u32 = 16;
