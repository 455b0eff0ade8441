//! What is remembered of a trade: its events, and one tally for each repetition.
//!
//! Times are seconds since the process began to trade; a repetition knows when it began. Nothing
//! here grows without limit: events and round trips beyond theirs are counted, not kept.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{EventKind, MessageId, Reason, Seconds};
use sha2::{Digest as _, Sha256};

use super::Carrier;

/// One event; the numbers are those of the whole experiment: 0 listens, the others dial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// Which of [`Log::runs`].
    pub run: u32,
    /// Since the process began to trade.
    pub time_s: Seconds,
    /// What happened.
    pub kind: EventKind,
    /// To which transaction, with its proposer's number in the experiment.
    pub message: MessageId,
    /// The other end.
    pub peer: u32,
    /// Size of the block as serialised, in bytes.
    pub size_bytes: u32,
    /// Why, for refusals and losses.
    pub reason: Option<Reason>,
}

/// One repetition at this end.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its number at the dialler.
    pub repetition: u32,
    /// The dialler's number in the experiment.
    pub dialler: u32,
    /// What carried the blocks.
    pub carrier: Carrier,
    /// Number of its first proposal; those with lower numbers are of earlier repetitions.
    pub first_sequence: u32,
    /// The repetition before it with the same peer, by its place in the log.
    pub earlier: Option<usize>,
    /// Its first proposal or, of a listener, the first block it was to process, in seconds since
    /// the process began to trade; none before.
    pub started_s: Option<Seconds>,
    /// Whether it was ended before its time.
    pub stopped: bool,
    /// What came of it.
    pub tally: Tally,
}

impl Run {
    /// Nothing has happened in it yet.
    pub fn new(dialler: u32, repetition: u32, carrier: Carrier, first_sequence: u32) -> Self {
        Self {
            repetition,
            dialler,
            carrier,
            first_sequence,
            earlier: None,
            started_s: None,
            stopped: false,
            tally: Tally::default(),
        }
    }
}

/// What came of one repetition, as far as this end knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Proposals handed to the carrier.
    pub sent: u64,
    /// Blocks stored.
    pub stored: u64,
    /// Messages refused, by reason.
    pub refused: BTreeMap<Reason, u32>,
    /// Proposals or answers given up, by reason.
    pub lost: BTreeMap<Reason, u32>,
    /// T3 - T1, in seconds: from the sending of a proposal to the storing of its answer (Iftode
    /// 2025, section 4.1; `pocketsim/sim/metrics/repetitions.py`).
    pub rtt_s: Vec<Seconds>,
    /// T2 - T1, in seconds: from the sending of a proposal to the arrival of the answer stored.
    pub response_s: Vec<Seconds>,
    /// The first and the last proposal or storing of an own one, in seconds since the process
    /// began to trade.
    pub window_s: Option<(Seconds, Seconds)>,
    /// Blocks that the disk refused; they count as stored all the same, as the agent goes on.
    pub store_failures: u64,
    /// Events that found the log full.
    pub not_logged: u64,
    /// Sum of the SHA-256 of the stored blocks' bytes, in any order.
    pub digest: DigestSum,
}

/// Digests added up word by word, so that two ends that stored alike agree in any order.
///
/// It finds what went wrong, not who lies: a block proves itself by its signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DigestSum([u64; 4]);

impl DigestSum {
    /// Add one block.
    pub fn add(&mut self, block: &[u8]) {
        let digest = Sha256::digest(block);
        for (sum, word) in self.0.iter_mut().zip(digest.chunks_exact(8)) {
            let word: [u8; 8] = word.try_into().expect("chunks of eight");
            *sum = sum.wrapping_add(u64::from_be_bytes(word));
        }
    }

    /// As it travels.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (chunk, sum) in bytes.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&sum.to_be_bytes());
        }
        bytes
    }
}

impl Tally {
    /// Count one event, which happened at `time_s`.
    pub fn count(&mut self, kind: EventKind, reason: Option<Reason>, time_s: Seconds) {
        match kind {
            EventKind::Send => self.sent += 1,
            EventKind::Store | EventKind::StorePeer => self.stored += 1,
            EventKind::Refuse => add(&mut self.refused, reason),
            EventKind::Lose => add(&mut self.lost, reason),
            _ => {}
        }
        if matches!(kind, EventKind::Send | EventKind::Store) {
            let (first_s, last_s) = self.window_s.unwrap_or((time_s, time_s));
            self.window_s = Some((first_s.min(time_s), last_s.max(time_s)));
        }
    }

    /// A proposal of this end went through: when it was sent, answered and stored.
    pub fn trip(&mut self, sent_s: Seconds, arrived_s: Seconds, stored_s: Seconds) {
        if self.rtt_s.len() < ROUND_TRIPS_MAX {
            self.rtt_s.push(stored_s - sent_s);
            self.response_s.push(arrived_s - sent_s);
        }
    }
}

fn add(counts: &mut BTreeMap<Reason, u32>, reason: Option<Reason>) {
    let reason = reason.expect("refusals and losses have a reason");
    let count = counts.entry(reason).or_default();
    *count = count.saturating_add(1);
}

/// Everything of one process.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// In the order they were observed.
    pub records: Vec<Record>,
    /// In the order they began.
    pub runs: Vec<Run>,
    /// Events that found the log full.
    pub not_logged: u64,
}

impl Log {
    /// The repetition that a message belongs to, by its place, when its peer is in the one at
    /// `current`: what comes late counts where it was proposed.
    pub fn place_of(&self, message: MessageId, current: usize) -> usize {
        let mut place = current;
        while message.sequence() < self.runs[place].first_sequence {
            let Some(earlier) = self.runs[place].earlier else {
                break;
            };
            place = earlier;
        }
        place
    }

    /// Keep an event, if there is room; a repetition begins with the first that moves a block.
    pub fn push(&mut self, record: Record) {
        let run = &mut self.runs[record.run as usize];
        if matches!(record.kind, EventKind::Send | EventKind::Process) {
            run.started_s.get_or_insert(record.time_s);
        }
        if self.records.len() < RECORDS_MAX {
            return self.records.push(record);
        }
        self.not_logged += 1;
        run.tally.not_logged += 1;
    }

    /// The records after the first `count`, with all the repetitions but not their round trips.
    pub fn since(&self, count: usize) -> Self {
        let run = |run: &Run| Run {
            tally: Tally::default(),
            ..*run
        };
        Self {
            records: self.records[count..].to_vec(),
            runs: self.runs.iter().map(run).collect(),
            not_logged: self.not_logged,
        }
    }

    /// Begin a repetition: its place in `runs`, or none when there are too many.
    pub fn begin(&mut self, run: Run) -> Option<usize> {
        if self.runs.len() == RUNS_MAX {
            return None;
        }
        self.runs.push(run);
        Some(self.runs.len() - 1)
    }
}

/// 56 bytes each: at most 112 MiB; the ladder of the throughput thesis makes 1.1 million.
const RECORDS_MAX: usize = 2_000_000;
/// A ladder of 11 rungs has 55.
const RUNS_MAX: usize = 4_096;
/// Sixteen bytes each; 500 a second for half an hour.
const ROUND_TRIPS_MAX: usize = 1_000_000;
