//! What an operation costs on a phone: the only door through which calibration enters.

use pocketsim_protocols::contract::{Operation, Seconds};

use crate::base::rng::Stream;
use crate::cost::after_rest::AfterRest;
use crate::plan::{self, Profile};

/// Time that one or more operations take on a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Core seconds, over all threads.
    pub cpu_s: Seconds,
    /// Seconds that the lane waits without a core.
    pub wait_s: Seconds,
}

impl Cost {
    /// This and then `other`.
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            cpu_s: self.cpu_s + other.cpu_s,
            wait_s: self.wait_s + other.wait_s,
        }
    }

    /// So many times as much.
    pub fn times(self, ratio: f64) -> Cost {
        Cost {
            cpu_s: ratio * self.cpu_s,
            wait_s: ratio * self.wait_s,
        }
    }

    /// Whether nothing is to be spent.
    pub fn is_free(self) -> bool {
        self.cpu_s == 0.0 && self.wait_s == 0.0
    }
}

/// What a profile prices: an operation of everybody's, or after those one that the scenario brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priced(u32);

impl Priced {
    /// The scenario's operation of that number.
    pub fn own(number: u32) -> Self {
        Self(Operation::ALL.len() as u32 + number)
    }

    /// Whether it takes longer at a pace. What sockets, packets, streams and tasks take longer after
    /// a rest is in what waking takes.
    pub(crate) fn is_paced(self) -> bool {
        !HOT.iter().any(|&operation| self == operation.into())
    }

    /// Its place among the prices of a profile.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

impl From<Operation> for Priced {
    fn from(operation: Operation) -> Self {
        Self(operation as u32)
    }
}

/// The cost model of one device profile.
#[derive(Clone, Debug)]
pub struct CostTable {
    entries: Vec<Entry>,
    wakes: AfterRest,
    quic_wakes: AfterRest,
    paces: AfterRest,
    own: Vec<(Priced, AfterRest)>,
    message_s: Seconds,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    cpu_s: f64,
    per_byte_s: f64,
    threads: u32,
    wait_s: f64,
    spread_sigma: f64,
}

impl CostTable {
    /// The table of `profile`.
    ///
    /// # Panics
    /// When a column does not have one value for each operation, of which `own` are the scenario's.
    pub fn new(profile: &Profile, own: usize) -> Self {
        let count = Operation::ALL.len() + own;
        let columns = [
            profile.cpu_s.len(),
            profile.per_byte_s.len(),
            profile.threads.len(),
            profile.wait_s.len(),
            profile.spread_sigma.len(),
        ];
        for length in columns {
            assert_eq!(length, count, "one cost per operation");
        }
        let entry = |i: usize| Entry {
            cpu_s: profile.cpu_s[i],
            per_byte_s: profile.per_byte_s[i],
            threads: profile.threads[i],
            wait_s: profile.wait_s[i],
            spread_sigma: profile.spread_sigma[i],
        };
        let entries: Vec<_> = (0..count).map(entry).collect();
        let message_s = TIMED.map(|operation| entries[operation as usize].cpu_s(TIMED_BYTES));
        Self {
            entries,
            message_s: message_s.iter().sum(),
            wakes: AfterRest::new(&profile.wake_after),
            quic_wakes: AfterRest::new(&profile.quic_wake_after),
            paces: AfterRest::new(&profile.pace_after),
            own: profile.own_after.iter().map(own_after).collect(),
        }
    }

    /// How many cores `operation` can use at once.
    pub fn threads(&self, operation: impl Into<Priced>) -> u32 {
        self.entries[operation.into().place()].threads
    }

    /// Whether it matters for how long a phone has rested.
    pub fn tells_rests(&self) -> bool {
        let tables = [&self.wakes, &self.quic_wakes, &self.paces];
        !self.own.is_empty() || tables.into_iter().any(AfterRest::matters)
    }

    /// How many times as long as it is priced waking by `operation` takes after a rest.
    pub fn wake_ratio(&self, operation: Operation, rest_s: Seconds) -> f64 {
        match operation {
            Operation::QuicWake => self.quic_wakes.ratio(rest_s),
            _ => self.wakes.ratio(rest_s),
        }
    }

    /// Whether it is told what QUIC's tasks take for a datagram that has waited for them to be done.
    pub fn has_queued(&self) -> bool {
        self.quic_wakes.is_known_of_none()
    }

    /// How many times as long as it is priced computing takes after a rest.
    pub fn pace(&self, rest_s: Seconds) -> f64 {
        self.paces.ratio(rest_s)
    }

    /// What an operation takes after rests, if it tells that itself.
    pub(crate) fn own_after(&self, operation: Priced) -> Option<&AfterRest> {
        let own = self.own.iter().find(|(told, _)| *told == operation);
        own.map(|(_, after)| after)
    }

    /// What a message's steps take in hot loops, core seconds: over so much paces are means.
    pub fn message_s(&self) -> Seconds {
        self.message_s
    }

    /// What `operation` on `bytes` bytes costs on average.
    pub fn mean(&self, operation: impl Into<Priced>, bytes: u32) -> Cost {
        let entry = &self.entries[operation.into().place()];
        Cost {
            cpu_s: entry.cpu_s(bytes),
            wait_s: entry.wait_s,
        }
    }

    /// One draw of the cost of `operation` on `bytes` bytes.
    pub fn draw(&self, operation: impl Into<Priced>, bytes: u32, stream: &mut Stream) -> Cost {
        let operation = operation.into();
        let factor = stream.factor(self.entries[operation.place()].spread_sigma);
        self.mean(operation, bytes).times(factor)
    }
}

/// # Panics
/// When it is of no operation.
fn own_after(known: &plan::OwnAfter) -> (Priced, AfterRest) {
    let operation = Operation::ALL[known.operation as usize];
    (operation.into(), AfterRest::new(&known.after))
}

impl Entry {
    fn cpu_s(&self, bytes: u32) -> Seconds {
        self.cpu_s + self.per_byte_s * f64::from(bytes)
    }
}

/// Parts of the passages that the probe times at their pace (`udp_wake_up`, `quic_message_at_pace`).
const HOT: [Operation; 9] = [
    Operation::UdpSend,
    Operation::UdpReceive,
    Operation::TaskSpawn,
    Operation::PacketSeal,
    Operation::PacketOpen,
    Operation::StreamOpen,
    Operation::StreamAccept,
    // Timed beside a thread that computes, so as cold as it is there.
    Operation::TimedSleep,
    Operation::TimerInterrupt,
];
/// The steps that the probe's kernel `message_at_pace` compares with hot loops, and their bytes.
const TIMED: [Operation; 5] = [
    Operation::Decode,
    Operation::Verify,
    Operation::Sign,
    Operation::Hash,
    Operation::Encode,
];
const TIMED_BYTES: u32 = 668;
