//! The datagrams of a link measurement: bytes to a message and back, and nothing else.
//!
//! | offset | field | |
//! |---|---|---|
//! | 0 | magic | `PKSP` |
//! | 4 | version | 1 |
//! | 5 | kind | see [`Kind`] |
//! | 6 | session | u32, the sender's choice |
//! | 10 | sequence | u64 |
//! | 18 | time_ns | u64, the sender's clock; comes back as it was |
//! | 26 | counts | in queries and reports: datagrams, bytes, late, span_ns; u64 each |
//!
//! Numbers are big-endian. Echoes and data may be longer: zeros fill them up to the size that is
//! measured. An answer is as long as its question, so nobody can be made to amplify.

use pocketsim_protocols::named_enum;

/// Bytes of a message without counts, and the least that a datagram can be.
pub const HEADER_BYTES: usize = 26;
/// Bytes of a query or a report, exactly.
pub const REPORT_BYTES: usize = HEADER_BYTES + 32;

named_enum! {
    /// What a datagram is for.
    Kind {
        /// Asks for its like.
        Echo = "echo",
        /// The answer to an echo.
        EchoReply = "echo_reply",
        /// To be counted.
        Data = "data",
        /// Asks what was counted in its session.
        Query = "query",
        /// The answer to a query.
        Report = "report",
    }
}

named_enum! {
    /// Why a datagram is none of ours.
    Refusal {
        /// Shorter than its kind needs.
        Truncated = "truncated",
        /// Longer than its kind can be.
        Oversized = "oversized",
        /// Does not begin with our magic.
        Foreign = "foreign",
        /// Another version of this.
        Version = "version",
        /// A kind that does not exist.
        UnknownKind = "unknown_kind",
        /// An answer, where only questions are served.
        Unasked = "unasked",
    }
}

/// What was counted in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data datagrams.
    pub datagrams: u64,
    /// Their UDP payload in bytes.
    pub bytes: u64,
    /// Those that came after one with a higher sequence number, or twice.
    pub late: u64,
    /// From the arrival of the first to that of the last, in nanoseconds.
    pub span_ns: u64,
}

/// One datagram of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is for.
    pub kind: Kind,
    /// Which train of datagrams it belongs to.
    pub session: u32,
    /// Its number there.
    pub sequence: u64,
    /// When it was sent, on the clock of whoever asked, in nanoseconds.
    pub time_ns: u64,
    /// What was counted; zeros in everything but reports.
    pub counts: Counts,
}

impl Message {
    /// Bytes for the wire, filled with zeros up to `length_bytes`.
    pub fn encode(&self, length_bytes: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length_bytes.max(REPORT_BYTES));
        bytes.extend(MAGIC);
        bytes.extend([VERSION, self.kind as u8]);
        bytes.extend(self.session.to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.time_ns.to_be_bytes());
        if self.kind.has_counts() {
            bytes.extend(self.counts.fields().map(u64::to_be_bytes).concat());
        } else {
            bytes.resize(length_bytes.max(HEADER_BYTES), 0);
        }
        bytes
    }
}

impl Counts {
    /// In the order of the wire.
    fn fields(&self) -> [u64; 4] {
        [self.datagrams, self.bytes, self.late, self.span_ns]
    }
}

impl Kind {
    /// Queries have room for the counts, so that a report is not longer than they are.
    fn has_counts(self) -> bool {
        matches!(self, Kind::Query | Kind::Report)
    }
}

/// A datagram as it came from the network.
///
/// # Errors
/// Why it is none of ours.
pub fn decode(bytes: &[u8]) -> Result<Message, Refusal> {
    if bytes.len() < MAGIC.len() {
        return Err(Refusal::Truncated);
    }
    if bytes[..MAGIC.len()] != MAGIC {
        return Err(Refusal::Foreign);
    }
    if bytes.len() < HEADER_BYTES {
        return Err(Refusal::Truncated);
    }
    if bytes[4] != VERSION {
        return Err(Refusal::Version);
    }
    let kind = Kind::ALL.get(usize::from(bytes[5]));
    let kind = *kind.ok_or(Refusal::UnknownKind)?;
    Ok(Message {
        kind,
        session: u32::from_be_bytes(array(bytes, 6)),
        sequence: u64::from_be_bytes(array(bytes, 10)),
        time_ns: u64::from_be_bytes(array(bytes, 18)),
        counts: counts(kind, bytes)?,
    })
}

fn counts(kind: Kind, bytes: &[u8]) -> Result<Counts, Refusal> {
    if !kind.has_counts() {
        return Ok(Counts::default());
    }
    match bytes.len() {
        ..REPORT_BYTES => Err(Refusal::Truncated),
        REPORT_BYTES => Ok(Counts {
            datagrams: u64::from_be_bytes(array(bytes, 26)),
            bytes: u64::from_be_bytes(array(bytes, 34)),
            late: u64::from_be_bytes(array(bytes, 42)),
            span_ns: u64::from_be_bytes(array(bytes, 50)),
        }),
        _ => Err(Refusal::Oversized),
    }
}

/// The caller has checked the length.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("N bytes")
}

/// Four bytes that no other protocol on a phone begins with, as far as we know.
const MAGIC: [u8; 4] = *b"PKSP";
const VERSION: u8 = 1;
