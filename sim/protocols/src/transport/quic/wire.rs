//! What QUIC datagrams hold, and exactly how long that is.
//!
//! Nothing is encrypted or serialised: a packet is a list of frames whose
//! encoded lengths are computed. TLS messages are stood for by [`Control`]s of
//! their size.

use crate::contract::{NodeId, Seconds};

/// A connection, the same at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId {
    /// The phone that dialled.
    pub dialler: NodeId,
    /// Its number there; no phone uses one twice.
    pub number: u32,
}

/// The content of one UDP datagram.
#[derive(Clone, Debug, PartialEq)]
pub struct QuicDatagram<P> {
    /// The connection that it belongs to.
    pub connection: ConnectionId,
    /// What it is.
    pub content: Content<P>,
}

/// What a datagram is.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<P> {
    /// iroh's probe of the direct path.
    DiscoPing,
    /// Its answer.
    DiscoPong,
    /// Coalesced QUIC packets.
    Packets(Vec<Packet<P>>),
}

/// Packet number space, in the order of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Protected by keys that everybody can compute.
    Initial,
    /// Protected by the key agreement.
    Handshake,
    /// Protected by the finished handshake.
    Data,
}

impl Level {
    pub(super) const ALL: [Level; 3] = [Level::Initial, Level::Handshake, Level::Data];
}

/// One QUIC packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet<P> {
    /// Its number space.
    pub level: Level,
    /// Its number there.
    pub number: u32,
    /// An ACK frame, if any.
    pub ack: Option<Ack>,
    /// Everything else.
    pub frames: Vec<Frame<P>>,
}

/// An ACK frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Ack {
    /// How long the largest number was held.
    pub delay_s: Seconds,
    /// Acknowledged numbers as half-open ranges, ascending.
    pub ranges: Vec<(u32, u32)>,
}

/// A frame that asks for an acknowledgement, or closes.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame<P> {
    /// A TLS message or a signal.
    Control(Control),
    /// Part of a message.
    Chunk {
        /// Which part.
        extent: Extent,
        /// Whether the accepting app still takes streams of this connection.
        served: bool,
        /// The message itself travels with its last byte.
        payload: Option<P>,
    },
    /// The accepting side's empty half of a stream, with new credit.
    Finish {
        /// The stream.
        stream: u32,
        /// How many streams the other side may have opened.
        max_streams: u32,
    },
    /// MAX_STREAMS: how many streams the other side may have opened.
    Credit(u32),
    /// PING and IMMEDIATE_ACK, padded: whether so large a datagram passes.
    MtuProbe,
    /// CONNECTION_CLOSE.
    Close,
}

/// Frames without content of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// TLS ClientHello.
    ClientHello,
    /// TLS ServerHello.
    ServerHello,
    /// EncryptedExtensions, CertificateRequest, Certificate, CertificateVerify, Finished.
    ServerFlight,
    /// Certificate, CertificateVerify, Finished.
    ClientFinished,
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// NEW_CONNECTION_ID, so many.
    NewConnectionIds(u8),
    /// RETIRE_CONNECTION_ID.
    RetireConnectionId,
    /// NewSessionTicket, two of TLS.
    SessionTickets,
    /// PING.
    Ping,
    /// IMMEDIATE_ACK of draft-ietf-quic-ack-frequency, which quinn's probes have.
    ImmediateAck,
    /// PING from another address, of the so many-th migration, with RETIRE_CONNECTION_ID of the id that
    /// the old one had.
    Migrate(u32),
    /// PATH_CHALLENGE, with padding.
    PathChallenge,
    /// PATH_RESPONSE, with padding.
    PathResponse,
}

/// One direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Half {
    /// The stream's number among those that its opener opened.
    pub stream: u32,
    /// Whether it is what comes back on the stream, not what its opener says.
    pub is_answer: bool,
}

impl Half {
    /// What the opener of a stream says on it.
    pub const fn opened(stream: u32) -> Self {
        Self {
            stream,
            is_answer: false,
        }
    }

    /// What comes back on it.
    pub const fn answer(stream: u32) -> Self {
        Self {
            stream,
            is_answer: true,
        }
    }
}

/// Part of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Which half of which stream.
    pub half: Half,
    /// First byte.
    pub offset: u32,
    /// How many bytes.
    pub length: u32,
    /// Whether the stream ends with it.
    pub last: bool,
}

/// What to send (again), without the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Control(Control),
    Chunk(Extent),
    Finish(u32),
    /// As many streams as there may be when it leaves.
    Credit {
        max_streams: u32,
    },
    /// Never leaves again.
    MtuProbe,
}

impl Record {
    /// Whether it is data of a stream, or its end.
    pub fn is_data(&self) -> bool {
        matches!(self, Record::Chunk(_) | Record::Finish(_))
    }

    /// Whether it only asks for an acknowledgement.
    pub fn only_asks(&self) -> bool {
        matches!(self, Record::Control(Control::Ping | Control::ImmediateAck))
    }

    /// Encoded length of its frame; of a chunk, without its data.
    pub fn frame_bytes(&self) -> u32 {
        match self {
            Record::Control(control) => control_bytes(*control),
            Record::Chunk(extent) => chunk_header_bytes(extent) + varint_bytes(extent.length),
            // FIN with offset and no data; MAX_STREAMS with a count.
            Record::Finish(stream) => {
                2 + varint_bytes(4 * stream) + 1 + varint_bytes(*stream + 100)
            }
            Record::Credit { max_streams } => 1 + varint_bytes(*max_streams),
            Record::MtuProbe => 2,
        }
    }
}

/// Bytes of a packet besides its frames: header, packet number, AEAD tag.
pub(super) fn packet_overhead_bytes(level: Level, number: u32, largest_acked: Option<u32>) -> u32 {
    // One byte of packet number suffices for 127 unacknowledged packets (RFC 9000 17.1).
    let unacknowledged = number - largest_acked.unwrap_or(0);
    let number_bytes = if unacknowledged < 128 { 1 } else { 2 };
    let header_bytes = match level {
        Level::Initial => LONG_HEADER_BYTES + 1,
        Level::Handshake => LONG_HEADER_BYTES,
        Level::Data => 1 + CONNECTION_ID_BYTES,
    };
    header_bytes + number_bytes + AEAD_TAG_BYTES
}

/// Encoded length of an ACK frame (RFC 9000 19.3).
pub(super) fn ack_bytes(ack: &Ack) -> u32 {
    let largest = ack.ranges.last().map_or(0, |range| range.1 - 1);
    let delay = (ack.delay_s / ACK_DELAY_UNIT_S) as u32;
    let mut bytes = 1 + varint_bytes(largest) + varint_bytes(delay) + 1;
    for range in &ack.ranges {
        bytes += varint_bytes(range.1 - range.0 - 1);
    }
    for pair in ack.ranges.windows(2) {
        bytes += varint_bytes(pair[1].0 - pair[0].1 - 1);
    }
    bytes
}

fn control_bytes(control: Control) -> u32 {
    let tls = match control {
        Control::ClientHello => CLIENT_HELLO_BYTES,
        Control::ServerHello => SERVER_HELLO_BYTES,
        Control::ServerFlight => SERVER_FLIGHT_BYTES,
        Control::ClientFinished => CLIENT_FINISHED_BYTES,
        Control::SessionTickets => SESSION_TICKETS_BYTES,
        Control::HandshakeDone | Control::Ping | Control::ImmediateAck => return 1,
        // Type, number.
        Control::RetireConnectionId => return 2,
        Control::Migrate(_) => return 3,
        Control::PathChallenge | Control::PathResponse => return PADDED_BYTES,
        // Type, number, and up to which others retire; the id, its length, a token to reset with.
        Control::NewConnectionIds(count) => {
            return u32::from(count) * (4 + CONNECTION_ID_BYTES + RESET_TOKEN_BYTES)
        }
    };
    // CRYPTO: type, offset 0, length.
    1 + 1 + varint_bytes(tls) + tls
}

/// Of a STREAM frame without its length (RFC 9000 19.8).
pub(super) fn chunk_header_bytes(extent: &Extent) -> u32 {
    let offset_bytes = match extent.offset {
        0 => 0,
        offset => varint_bytes(offset),
    };
    1 + varint_bytes(4 * extent.half.stream) + offset_bytes
}

/// Encoded length of an integer (RFC 9000 16).
pub(super) fn varint_bytes(value: u32) -> u32 {
    match value {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// quinn's initial and minimal MTU (quinn-proto `TransportConfig::default`).
pub(super) const MTU_BYTES: u32 = 1200;

/// How far it looks: IPv6 and UDP in a frame of Ethernet (quinn-proto
/// `MtuDiscoveryConfig::default`).
pub(super) const MTU_BYTES_MAX: u32 = 1452;

/// Datagrams with Initial packets are padded to this (RFC 9000 14.1; quinn-proto `MIN_INITIAL_SIZE`).
pub(super) const INITIAL_DATAGRAM_BYTES: u32 = 1200;

/// PATH_CHALLENGE, or PATH_RESPONSE, and the padding that fills its datagram (RFC 9000 8.2.1), but for
/// an acknowledgement beside it.
const PADDED_BYTES: u32 =
    MTU_BYTES - (1 + CONNECTION_ID_BYTES + 2 + AEAD_TAG_BYTES) - ACK_BYTES_USUAL;

const ACK_BYTES_USUAL: u32 = 25;

/// CONNECTION_CLOSE: type, error code, empty reason (RFC 9000 19.19).
pub(super) const CLOSE_FRAME_BYTES: u32 = 3;

/// iroh 0.35 disco ping: magic 6, sender key 32, nonce 24, box tag 16, then type
/// and version 2, transaction 12, node key 32 (iroh-relay protos/disco.rs).
pub(super) const DISCO_PING_BYTES: u32 = 6 + 32 + 24 + 16 + 2 + 12 + 32;

/// The pong: the same envelope, then type and version 2, transaction 12, and the
/// observed address, 16 and a port.
pub(super) const DISCO_PONG_BYTES: u32 = 6 + 32 + 24 + 16 + 2 + 12 + 18;

/// quinn's default connection ids (quinn-proto `HashedConnectionIdGenerator`).
const CONNECTION_ID_BYTES: u32 = 8;

/// RFC 9000 10.3.
const RESET_TOKEN_BYTES: u32 = 16;

/// AES-GCM and ChaCha20-Poly1305 alike (RFC 9001 5.3).
const AEAD_TAG_BYTES: u32 = 16;

/// First byte, version, two connection ids with lengths, length (RFC 9000 17.2).
const LONG_HEADER_BYTES: u32 = 1 + 4 + 2 * (1 + CONNECTION_ID_BYTES) + 2;

/// ack_delay_exponent 3 (quinn-proto `TransportParameters`).
const ACK_DELAY_UNIT_S: Seconds = 8e-6;

/// Estimated (RFC 8446 4.1.2, RFC 7250): header 4, version 2, random 32, session 1,
/// three suites 8, compression 2, extensions length 2; X25519 share 42, groups 12,
/// signature schemes 8, versions 7, PSK modes 6, certificate types 12, ALPN 15,
/// server name 70, QUIC transport parameters 90.
const CLIENT_HELLO_BYTES: u32 = 51 + 42 + 12 + 8 + 7 + 6 + 12 + 15 + 70 + 90;

/// Header 4, version 2, random 32, session 1, suite 2, compression 1, extensions
/// length 2; X25519 share 40, version 6 (RFC 8446 4.1.3; no session echo in QUIC).
const SERVER_HELLO_BYTES: u32 = 44 + 40 + 6;

/// Raw Ed25519 key: header 4, context 1, list 3, entry 3, SPKI 44, extensions 2 (RFC 7250).
const CERTIFICATE_BYTES: u32 = 4 + 1 + 3 + 3 + 44 + 2;

/// Header 4, scheme 2, length 2, Ed25519 signature 64 (RFC 8446 4.4.3).
const CERTIFICATE_VERIFY_BYTES: u32 = 4 + 2 + 2 + 64;

/// Header 4, HMAC-SHA-384 of the suite that rustls prefers.
const FINISHED_BYTES: u32 = 4 + 48;

/// EncryptedExtensions (transport parameters 90, ALPN 15, certificate types 10,
/// header 6) and CertificateRequest 17, then the three messages above.
const SERVER_FLIGHT_BYTES: u32 =
    90 + 15 + 10 + 6 + 17 + CERTIFICATE_BYTES + CERTIFICATE_VERIFY_BYTES + FINISHED_BYTES;

/// Seen of rustls 0.23, which sends two; they have no fixed size.
const SESSION_TICKETS_BYTES: u32 = 162;

/// iroh authenticates both ends.
const CLIENT_FINISHED_BYTES: u32 = CERTIFICATE_BYTES + CERTIFICATE_VERIFY_BYTES + FINISHED_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_fits_one_datagram_of_about_699_bytes() {
        let extent = |stream| Extent {
            half: Half::opened(stream),
            offset: 0,
            length: 668,
            last: true,
        };
        let size = |stream| {
            let record = Record::Chunk(extent(stream));
            packet_overhead_bytes(Level::Data, 3, Some(1)) + record.frame_bytes() + 668
        };
        assert_eq!((size(0), size(16)), (698, 699));
    }

    #[test]
    fn handshake_flights_fit_their_padding() {
        let initial = packet_overhead_bytes(Level::Initial, 0, None);
        let handshake = packet_overhead_bytes(Level::Handshake, 0, None);
        let ack = ack_bytes(&Ack {
            delay_s: 0.0,
            ranges: vec![(0, 1)],
        });
        assert_eq!((initial, handshake, ack), (43, 42, 5));
        let server = initial
            + ack
            + control_bytes(Control::ServerHello)
            + handshake
            + control_bytes(Control::ServerFlight);
        assert_eq!(server, 43 + 5 + 4 + 90 + 42 + 4 + 319);
        assert!(server <= INITIAL_DATAGRAM_BYTES);
    }

    #[test]
    fn acknowledgements_grow_with_their_gaps() {
        let bytes = |ranges: &[(u32, u32)]| {
            ack_bytes(&Ack {
                delay_s: 0.025,
                ranges: ranges.to_vec(),
            })
        };
        assert_eq!(bytes(&[(0, 10)]), 6);
        assert_eq!(bytes(&[(0, 10), (12, 100)]), 1 + 2 + 2 + 1 + 1 + 2 + 1);
    }

    #[test]
    fn disco_messages_have_their_known_sizes() {
        assert_eq!((DISCO_PING_BYTES, DISCO_PONG_BYTES), (124, 110));
    }
}
