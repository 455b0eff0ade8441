//! What both QUICs are asked to say to each other, and what was seen of it on the way.

/// Between the two, one way, in seconds.
pub const LATENCY_S: f64 = 0.010;
/// The same where probes are not about the way, but about how long acknowledgements may be held.
pub const SHORT_WAY_S: f64 = 0.00025;
/// There and back.
pub const ROUND_TRIP_S: f64 = 2.0 * LATENCY_S;
/// The client's messages: when each is handed over, and its bytes. The first one dials.
pub const QUESTIONS: [(f64, usize); 2] = [(0.0, 1_000), (1.0, 100_000)];
/// What the server answers to the longest of them, on a stream of its own.
pub const ANSWER_BYTES: usize = 1_000;
/// Messages of a trade, each answered on its own stream by as much.
pub const TRADED_BYTES: usize = 300;
/// From when on they are said, and how long after each other.
pub const TRADE_S: (f64, f64) = (1.0, 0.010);
/// More than there is credit for, of which so many end before more is given.
pub const TRADES: usize = 130;
/// Of a trade that fills the window: how long after each other, and how many.
pub const BUSY_S: f64 = 0.0005;
pub const BUSY_TRADES: usize = 4_000;
/// How often all is lost meanwhile, and for how long: some packets in a row.
pub const BURSTS_S: (f64, f64) = (0.1, 0.0012);
/// How many conversations differ in when bursts begin.
pub const BURSTS: u32 = 45;
/// Long enough for the idle timeout after the last word.
pub const END_S: f64 = 60.0;
/// Of conversations that fall silent and are kept: one way at least, from when on ways vary, after
/// how much silence an end pings, and how long they last.
pub const KEPT_WAY_S: f64 = 0.004;
pub const KEPT_VARIES_FROM_S: f64 = 0.5;
pub const KEEP_ALIVE_S: f64 = 1.0;
pub const KEPT_END_S: f64 = 600.0;

/// What is said, and whether it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// The questions.
    Whole,
    /// The questions, the long one in datagrams as large as the path takes.
    Wide,
    /// The questions, and nothing of what the client sends arrives.
    Cut,
    /// A trade, whose answers end the streams that asked.
    Trade,
    /// A faster one, of which bursts are lost, both ways: so many parts of the time between them later.
    Bursts(u32),
    /// One message with its answer over a short way, on which one datagram of an end is lost: which
    /// of all that the end sends.
    Lost(End, usize),
    /// One message with its answer, and then signs of life alone: by how much longer at most each way
    /// is than the shortest, in milliseconds, and what the ways are drawn by.
    Kept(u32, u64),
}

impl Script {
    /// When the client says how many bytes.
    pub fn said(self) -> Vec<(f64, usize)> {
        match self {
            Self::Whole | Self::Wide | Self::Cut => QUESTIONS.to_vec(),
            Self::Trade => traded(TRADES, TRADE_S.1),
            Self::Bursts(_) => traded(BUSY_TRADES, BUSY_S),
            Self::Lost(..) | Self::Kept(..) => vec![(0.0, TRADED_BYTES)],
        }
    }

    /// Whether answers end the streams that asked.
    pub fn is_traded(self) -> bool {
        !matches!(self, Self::Whole | Self::Wide | Self::Cut)
    }

    /// What the server has to say to a message of so many bytes.
    pub fn answer_to(self, bytes: usize) -> Option<usize> {
        match self {
            Self::Whole | Self::Wide | Self::Cut => {
                (bytes == QUESTIONS[1].1).then_some(ANSWER_BYTES)
            }
            _ => Some(TRADED_BYTES),
        }
    }

    /// Whether both do what quinn does for its path.
    pub fn manages_path(self) -> bool {
        !matches!(self, Self::Whole | Self::Cut | Self::Trade)
    }

    /// After how much silence an end pings, in seconds; none if never.
    pub fn keep_alive_s(self) -> Option<f64> {
        matches!(self, Self::Kept(..)).then_some(KEEP_ALIVE_S)
    }

    /// How long it is watched, in seconds.
    pub fn end_s(self) -> f64 {
        match self {
            Self::Kept(..) => KEPT_END_S,
            _ => END_S,
        }
    }

    /// From one end to the other, in seconds, of what leaves then, after so many datagrams of that
    /// end before.
    pub fn latency_s(self, from: End, at_s: f64, before: usize) -> f64 {
        match self {
            Self::Lost(..) => SHORT_WAY_S,
            // Ways that vary would reorder the handshake.
            Self::Kept(..) if at_s < KEPT_VARIES_FROM_S => KEPT_WAY_S,
            Self::Kept(jitter_ms, seed) => {
                let number = 2 * before as u64 + from as u64;
                KEPT_WAY_S + 1e-3 * f64::from(jitter_ms) * uniform(seed << 32 | number)
            }
            _ => LATENCY_S,
        }
    }

    /// Whether what an end sends arrives, after so many datagrams before.
    pub fn passes(self, from: End, at_s: f64, before: usize) -> bool {
        match self {
            Self::Whole | Self::Wide | Self::Trade | Self::Kept(..) => true,
            Self::Cut => from == End::Server,
            Self::Bursts(later) => {
                // No edge is at a moment at which something leaves.
                let later_s = (f64::from(later) + 0.37) / f64::from(BURSTS) * BURSTS_S.0;
                at_s < TRADE_S.0 || (at_s - later_s) % BURSTS_S.0 >= BURSTS_S.1
            }
            Self::Lost(end, number) => (from, before) != (end, number),
        }
    }
}

fn traded(count: usize, interval_s: f64) -> Vec<(f64, usize)> {
    let at_s = |number| TRADE_S.0 + interval_s * number as f64;
    (0..count)
        .map(|number| (at_s(number), TRADED_BYTES))
        .collect()
}

/// From 0 to 1, by a number (SplitMix64, Steele et al. 2014).
fn uniform(number: u64) -> f64 {
    let mut word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((word ^ (word >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

impl End {
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What a datagram is there for; of coalesced packets, the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Initial,
    Handshake,
    /// Part of a stream, or its end.
    Stream,
    /// Nothing of a stream, and to be acknowledged.
    Control,
    /// An acknowledgement only.
    Ack,
}

/// A datagram that left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub at_s: f64,
    pub from: End,
    pub kind: Kind,
    pub bytes: usize,
}

/// One conversation, from the first datagram to the silence after the last.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// Every datagram, in order.
    pub datagrams: Vec<Seen>,
    /// When who had a whole message of how many bytes.
    pub received: Vec<(f64, End, usize)>,
    /// When the client gave the silent connection up.
    pub given_up_s: Option<f64>,
}

impl Conversation {
    /// What one end sent of one kind in a span of time.
    pub fn sent(&self, from: End, kind: Kind, span_s: std::ops::Range<f64>) -> Vec<Seen> {
        let wanted =
            |seen: &&Seen| (seen.from, seen.kind) == (from, kind) && span_s.contains(&seen.at_s);
        self.datagrams.iter().filter(wanted).copied().collect()
    }

    /// How many datagrams one end has sent.
    pub fn count(&self, from: End) -> usize {
        self.datagrams
            .iter()
            .filter(|seen| seen.from == from)
            .count()
    }

    /// When a message of so many bytes was whole, in seconds.
    pub fn whole_s(&self, at: End, bytes: usize) -> f64 {
        let message = |of: &&(f64, End, usize)| (of.1, of.2) == (at, bytes);
        let found: Vec<_> = self.received.iter().filter(message).collect();
        assert_eq!(found.len(), 1, "{bytes} bytes at the {at:?}, once");
        found[0].0
    }
}
