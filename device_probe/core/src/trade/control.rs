//! What the two ends say to each other besides blocks, as bytes, and nothing else.
//!
//! Small datagrams on the port of the UDP blocks. The dialler asks and repeats until it is
//! answered, so every answer must be the same however often it is given. No message holds an
//! address: answers go where the question came from, which a relay or a NAT may stand between.
//! Questions are all as long as the longest answer, so that nobody gains by asking in another's
//! name. A block begins with `{` and a TFTP packet with 0; control begins with neither. Who signs
//! what is said in [`super::envelope`].

use std::fmt;

use pocketsim_protocols::contract::Reason;
use pocketsim_protocols::crypto::Key;

use super::Carrier;

/// What a dialler says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hello {
    /// One process of a dialler, by chance unique.
    pub session: u64,
    /// Its public key.
    pub key: Key,
    /// What will carry the blocks.
    pub carrier: Carrier,
    /// The repetition that it is at.
    pub repetition: u32,
    /// Its number in events, if it has one already; 0 for none.
    pub number: u32,
    /// Counts its reasons to ask who is there, so that an old answer is none.
    pub round: u32,
    /// What [`Control::Cookie`] said last; zeros before.
    pub cookie: Cookie,
}

/// One message of control.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// The dialler says who it is.
    Hello(Hello),
    /// The listener wants to see whether the dialler is where its hello came from.
    Cookie {
        /// Of the hello.
        session: u64,
        /// To be said in the next hello.
        cookie: Cookie,
    },
    /// The listener says who it is.
    Welcome {
        /// Of the hello.
        session: u64,
        /// The listener's public key.
        key: Key,
        /// The dialler's number in events, from 1; the listener is 0.
        number: u32,
        /// Of the hello.
        round: u32,
    },
    /// A repetition begins.
    Start {
        /// Of the hello.
        session: u64,
        /// Counts up over the whole ladder, from 0.
        repetition: u32,
        /// Number of its first proposal: lower ones that still come are of earlier repetitions.
        first_sequence: u32,
    },
    /// The listener counts for that repetition now.
    Ready {
        /// Of the hello.
        session: u64,
        /// Of the start.
        repetition: u32,
    },
    /// A repetition is over: what came of it?
    Finish {
        /// Of the hello.
        session: u64,
        /// Of the start.
        repetition: u32,
    },
    /// What came of it at the listener.
    Summary {
        /// Of the hello.
        session: u64,
        /// Of the start.
        repetition: u32,
        /// Its figures.
        tally: Summary,
    },
    /// Whoever sent this is not known here (any more).
    WhoAreYou,
    /// No more diallers or repetitions than the listener can remember.
    Full {
        /// Of the question.
        session: u64,
    },
}

/// Says nothing to anybody but the listener that made it.
pub type Cookie = [u8; 16];

/// What the listener counted for one session in one repetition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Blocks countersigned and stored.
    pub stored: u64,
    /// Sum of the SHA-256 of their bytes, in any order.
    pub digest: [u8; 32],
    /// Messages of this peer that were refused, by reason.
    pub refused: Vec<(Reason, u32)>,
    /// Messages that could be laid at nobody's door, since the listener started.
    pub malformed: u64,
}

/// Why bytes are not control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotControl {
    /// Another magic: a block, or anything.
    Foreign,
    /// Control of another version of the probe.
    Version(u8),
    /// Control, but too short, too long, or with a value that does not exist.
    Malformed,
}

impl fmt::Display for NotControl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => formatter.write_str("not a control message"),
            Self::Version(version) => write!(formatter, "version {version}, expected {VERSION}"),
            Self::Malformed => formatter.write_str("malformed control message"),
        }
    }
}

impl std::error::Error for NotControl {}

impl Control {
    /// The message as bytes, at most [`CONTROL_BYTES_MAX`]; what is signed, if it is signed.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Writer::new(self.kind());
        if let Some(session) = self.session() {
            bytes.u64(session);
        }
        self.write(&mut bytes);
        if self.is_question() {
            bytes.0.resize(CONTROL_BYTES_MAX, 0);
        }
        bytes.0
    }

    /// Whether a dialler says it.
    pub fn is_question(&self) -> bool {
        matches!(
            self,
            Self::Hello(_) | Self::Start { .. } | Self::Finish { .. }
        )
    }

    /// The message that `bytes` are.
    ///
    /// # Errors
    /// See [`NotControl`]; no bytes make this panic.
    pub fn decode(bytes: &[u8]) -> Result<Self, NotControl> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(NotControl::Foreign)?;
        let mut rest = Reader(rest);
        match rest.u8()? {
            VERSION => {}
            other => return Err(NotControl::Version(other)),
        }
        let kind = rest.u8()?;
        let control = Self::read(kind, &mut rest)?;
        let is_whole = match control.is_question() {
            true => bytes.len() == CONTROL_BYTES_MAX && rest.0.iter().all(|&byte| byte == 0),
            false => rest.0.is_empty(),
        };
        is_whole.then_some(control).ok_or(NotControl::Malformed)
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Hello(_) => HELLO,
            Self::Welcome { .. } => WELCOME,
            Self::Start { .. } => START,
            Self::Ready { .. } => READY,
            Self::Finish { .. } => FINISH,
            Self::Summary { .. } => SUMMARY,
            Self::WhoAreYou => WHO_ARE_YOU,
            Self::Full { .. } => FULL,
            Self::Cookie { .. } => COOKIE,
        }
    }

    /// The process of a dialler that it is about, if it says so.
    fn session(&self) -> Option<u64> {
        match self {
            Self::Hello(Hello { session, .. })
            | Self::Cookie { session, .. }
            | Self::Welcome { session, .. }
            | Self::Start { session, .. }
            | Self::Ready { session, .. }
            | Self::Finish { session, .. }
            | Self::Summary { session, .. }
            | Self::Full { session } => Some(*session),
            Self::WhoAreYou => None,
        }
    }

    /// What follows the session.
    fn write(&self, bytes: &mut Writer) {
        match self {
            Self::Hello(hello) => hello.write(bytes),
            Self::Cookie { cookie, .. } => {
                bytes.raw(cookie);
            }
            Self::Welcome {
                key, number, round, ..
            } => {
                bytes.raw(&key.0).u32(*number).u32(*round);
            }
            Self::Start {
                repetition,
                first_sequence,
                ..
            } => {
                bytes.u32(*repetition).u32(*first_sequence);
            }
            Self::Ready { repetition, .. } | Self::Finish { repetition, .. } => {
                bytes.u32(*repetition);
            }
            Self::Summary {
                repetition, tally, ..
            } => {
                bytes.u32(*repetition);
                tally.write(bytes);
            }
            Self::WhoAreYou | Self::Full { .. } => {}
        }
    }

    fn read(kind: u8, rest: &mut Reader<'_>) -> Result<Self, NotControl> {
        if kind == WHO_ARE_YOU {
            return Ok(Self::WhoAreYou);
        }
        let session = rest.u64()?;
        Ok(match kind {
            HELLO => Self::Hello(Hello {
                session,
                key: Key(rest.array()?),
                carrier: variant(Carrier::ALL, rest.u8()?)?,
                repetition: rest.u32()?,
                number: rest.u32()?,
                round: rest.u32()?,
                cookie: rest.array()?,
            }),
            COOKIE => Self::Cookie {
                session,
                cookie: rest.array()?,
            },
            WELCOME => Self::Welcome {
                session,
                key: Key(rest.array()?),
                number: rest.u32()?,
                round: rest.u32()?,
            },
            FULL => Self::Full { session },
            _ => Self::read_of_repetition(kind, session, rest.u32()?, rest)?,
        })
    }

    fn read_of_repetition(
        kind: u8,
        session: u64,
        repetition: u32,
        rest: &mut Reader<'_>,
    ) -> Result<Self, NotControl> {
        Ok(match kind {
            START => Self::Start {
                session,
                repetition,
                first_sequence: rest.u32()?,
            },
            READY => Self::Ready {
                session,
                repetition,
            },
            FINISH => Self::Finish {
                session,
                repetition,
            },
            SUMMARY => Self::Summary {
                session,
                repetition,
                tally: Summary::read(rest)?,
            },
            _ => return Err(NotControl::Malformed),
        })
    }
}

impl Hello {
    fn write(&self, bytes: &mut Writer) {
        bytes.raw(&self.key.0).u8(self.carrier as u8);
        bytes.u32(self.repetition).u32(self.number);
        bytes.u32(self.round).raw(&self.cookie);
    }
}

impl Summary {
    fn write(&self, bytes: &mut Writer) {
        bytes.u64(self.stored).raw(&self.digest).u64(self.malformed);
        bytes.u8(self.refused.len() as u8);
        for &(reason, count) in &self.refused {
            bytes.u8(reason as u8).u32(count);
        }
    }

    fn read(rest: &mut Reader<'_>) -> Result<Self, NotControl> {
        let (stored, digest, malformed) = (rest.u64()?, rest.array()?, rest.u64()?);
        let reasons = usize::from(rest.u8()?);
        if reasons > Reason::ALL.len() {
            return Err(NotControl::Malformed);
        }
        let one = |_| Ok((variant(Reason::ALL, rest.u8()?)?, rest.u32()?));
        Ok(Self {
            stored,
            digest,
            refused: (0..reasons).map(one).collect::<Result<_, _>>()?,
            malformed,
        })
    }
}

fn variant<T: Copy>(all: &[T], number: u8) -> Result<T, NotControl> {
    let found = all.get(usize::from(number)).copied();
    found.ok_or(NotControl::Malformed)
}

/// Numbers are big-endian, as on every network.
struct Writer(Vec<u8>);

impl Writer {
    fn new(kind: u8) -> Self {
        Self([&MAGIC[..], &[VERSION, kind]].concat())
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u8(&mut self, number: u8) -> &mut Self {
        self.raw(&[number])
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.raw(&number.to_be_bytes())
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.raw(&number.to_be_bytes())
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], NotControl> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(NotControl::Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, NotControl> {
        self.array().map(u8::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, NotControl> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, NotControl> {
        self.array().map(u64::from_be_bytes)
    }
}

/// A summary with every reason is the longest answer.
pub const CONTROL_BYTES_MAX: usize = 4 + 2 + 8 + 4 + 8 + 32 + 8 + 1 + Reason::ALL.len() * 5;
/// Not ASCII at first, so no block, and not 0, so no TFTP.
const MAGIC: [u8; 4] = [0xc5, b'p', b's', b't'];
const VERSION: u8 = 6;
const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const START: u8 = 3;
const READY: u8 = 4;
const FINISH: u8 = 5;
const SUMMARY: u8 = 6;
const WHO_ARE_YOU: u8 = 7;
const FULL: u8 = 8;
const COOKIE: u8 = 9;
