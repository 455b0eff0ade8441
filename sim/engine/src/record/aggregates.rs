//! Aggregates: what metrics need of a trace's rows, added up as they come, without the rows.
//!
//! A transaction has an entry from its first row until it is stored: nothing that happens to it
//! afterwards counts. One that is lost may be stored after all, so its entry *lingers*; of those
//! the last [`LINGERING_MIN`] are held at least, and what is forgotten of them stays lost. So
//! memory grows with what is under way. What fates are, `pocketsim.sim.metrics.fates` says of rows;
//! tests compare the two. What deliberately does not live here: metrics.

use std::collections::hash_map::{self, HashMap};
use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hasher};

use pocketsim_protocols::contract::{Event, EventKind, MessageId, NodeId, Reason, Seconds};

use crate::base::histogram::{Histogram, ERROR_MAX};
use crate::base::rng::mix;
use crate::record::summary::{AggregateSummary, Completion, Spread, Standing};

/// What is added up while a run goes on.
#[derive(Debug)]
pub struct Aggregates {
    duration_s: Seconds,
    open: HashMap<u64, Entry, BuildHasherDefault<Mixer>>,
    /// Of `open`, in the order in which they came to linger, and some that are gone since.
    lingering: VecDeque<u64>,
    /// By phone: how many transactions it has made, of which some were never sent.
    made: Vec<u32>,
    all: Standing,
    /// Of the transactions whose send is in the log.
    logged: Standing,
    log: Log,
    rtt: Histogram,
    processing: Histogram,
    delivery: Histogram,
    completion: Done,
    found: AggregateSummary,
}

/// Of the transactions whose send is in the log: how long they are watched, and when they are done.
#[derive(Debug, Default)]
struct Done {
    watched: Histogram,
    done_watched: Histogram,
    done: Histogram,
}

/// A transaction that is not stored.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When it was sent; not a number until then, and if it never was.
    sent_s: Seconds,
    /// When its block was back, by the log.
    back_s: Seconds,
    /// When its first block was at another phone.
    begun_s: Seconds,
    /// Whether the log has its send.
    is_logged: bool,
    /// Whether it was stored, and was not sent before.
    is_stored: bool,
    /// Of each kind of loss the last word, in the order in which kinds decide.
    losses: [u8; LOSSES.len()],
}

/// The log, and how things stood when it ended.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    /// When it had its last send or store.
    last_s: Seconds,
    /// How things stood then, once that is over.
    at_last: Option<Standing>,
    /// How things stood at the end of the measurement, once that is over.
    at_end: Option<Standing>,
    /// Whether it lacks a send or a store, since it was full.
    is_cut: bool,
}

impl Aggregates {
    /// Those of so many phones, for a measurement that ends at `duration_s`.
    pub fn new(phones: usize, duration_s: Seconds) -> Self {
        Self {
            duration_s,
            open: HashMap::default(),
            lingering: VecDeque::new(),
            made: vec![0; phones],
            all: Standing::default(),
            logged: Standing::default(),
            log: Log::default(),
            rtt: Histogram::new(),
            processing: Histogram::new(),
            delivery: Histogram::new(),
            completion: Done::default(),
            found: AggregateSummary::default(),
        }
    }

    /// Adds what happened at `node`; `logged` says whether its log had room for it.
    pub fn record(&mut self, now: Seconds, node: NodeId, event: &Event, logged: bool) {
        self.close(now);
        let in_log = logged && now <= self.duration_s;
        match event.kind {
            EventKind::Send => self.send(now, event.message, in_log),
            EventKind::ReceiveBack if in_log => {
                if let Some(entry) = self.entry(event.message) {
                    entry.back_s = entry.back_s.min(now);
                }
            }
            EventKind::Begin if node != event.message.origin() => {
                if let Some(entry) = self.entry(event.message) {
                    entry.begun_s = entry.begun_s.min(now);
                }
            }
            EventKind::Store => self.store(now, event, in_log),
            EventKind::Deliver => self.deliver(now, event, in_log),
            EventKind::Observe => self.observe(event),
            kind => {
                if let Some(place) = LOSSES.iter().position(|&loss| loss == kind) {
                    self.lose(event, place);
                }
            }
        }
        if !logged && matches!(event.kind, EventKind::Send | EventKind::Store) {
            self.log.is_cut |= now <= self.duration_s;
        }
    }

    /// How many transactions it holds: those under way, and some that are lost.
    pub fn held(&self) -> usize {
        self.open.len()
    }

    /// What it comes to, at the end.
    pub fn summary(&self) -> AggregateSummary {
        let mut found = self.found.clone();
        found.all = self.all;
        found.logged = match self.log {
            Log { is_cut: true, .. } => self.log.at_last,
            Log { at_end, .. } => at_end,
        }
        .unwrap_or(self.logged);
        for entry in self.open.values().filter(|entry| entry.is_sent()) {
            if let Some(cause) = entry.cause() {
                *found.lost.entry(name(cause)).or_default() += 1;
            }
        }
        found.rtt = Spread::of(&self.rtt);
        found.processing = Spread::of(&self.processing);
        found.delivery = Spread::of(&self.delivery);
        if !self.log.is_cut {
            found.completion = self.completion.told();
        }
        found.quantile_error = ERROR_MAX;
        found
    }

    /// Notes how things stand, if this is the first that happens after the log's last.
    fn close(&mut self, now: Seconds) {
        if now > self.log.last_s {
            self.log.at_last.get_or_insert(self.logged);
        }
        if now > self.duration_s {
            self.log.at_end.get_or_insert(self.logged);
        }
    }

    /// The log has a send or a store.
    fn enter(&mut self, now: Seconds) {
        (self.log.last_s, self.log.at_last) = (now, None);
        self.found.first_s.get_or_insert(now);
        self.found.last_s = Some(now);
    }

    fn send(&mut self, now: Seconds, message: MessageId, in_log: bool) {
        if in_log {
            self.enter(now);
            self.found.send_count += 1;
        }
        self.skip_to(message);
        let entry = self.entry(message).filter(|entry| !entry.is_sent());
        let Some(entry) = entry else {
            return;
        };
        (entry.sent_s, entry.is_logged) = (now, in_log);
        let sent = *entry;
        self.made[message.origin().0 as usize] = message.sequence() + 1;
        self.stand(&sent, |standing| {
            standing.sent += 1;
            standing.stored += u64::from(sent.is_stored);
            standing.lost += u64::from(!sent.is_stored && sent.cause().is_some());
        });
        if in_log {
            self.completion.watched.add(self.duration_s - now);
        }
        if sent.is_stored {
            self.open.remove(&message.0);
            self.complete(now, &sent);
        }
    }

    /// What was sent, as `entry` says, is done.
    fn complete(&mut self, now: Seconds, entry: &Entry) {
        if entry.is_logged && now <= self.duration_s {
            let watched_s = self.duration_s - entry.sent_s;
            self.completion.done_watched.add(watched_s);
            self.completion.done.add(now - entry.sent_s);
        }
    }

    /// What a phone has made before, and did not send, may have rows all the same.
    fn skip_to(&mut self, message: MessageId) {
        for sequence in self.made[message.origin().0 as usize]..message.sequence() {
            let skipped = MessageId::new(message.origin(), sequence);
            self.entry(skipped);
            self.linger(skipped);
        }
    }

    fn store(&mut self, now: Seconds, event: &Event, in_log: bool) {
        if in_log {
            self.enter(now);
            self.found.store_count += 1;
            self.found.blocks.add(event.size_bytes);
        }
        let Some(&mut entry) = self.entry(event.message) else {
            self.found.stores_unheld += 1;
            return self.found.transfers.add(now, None, event.size_bytes);
        };
        let begun_s = Some(entry.begun_s).filter(|&begun_s| begun_s < now);
        self.found.transfers.add(now, begun_s, event.size_bytes);
        if in_log && entry.is_logged {
            self.rtt.add(now - entry.sent_s);
        }
        if in_log && entry.back_s <= now {
            self.processing.add(now - entry.back_s);
        }
        if !entry.is_sent() {
            let kept = self.open.get_mut(&event.message.0).expect("it is there");
            kept.is_stored = true;
            return;
        }
        self.open.remove(&event.message.0);
        self.complete(now, &entry);
        self.stand(&entry, |standing| {
            standing.stored += 1;
            standing.lost -= u64::from(entry.cause().is_some());
        });
    }

    /// A custom protocol has stored a transaction when it is first delivered.
    fn deliver(&mut self, now: Seconds, event: &Event, in_log: bool) {
        if event.message.sequence() == NO_TRANSACTION {
            return;
        }
        let entry = self.entry(event.message).map(|entry| *entry);
        self.found.deliveries_sent += u64::from(entry.is_none_or(|entry| entry.is_sent()));
        let Some(entry) = entry.filter(|entry| !entry.is_stored) else {
            return;
        };
        if entry.is_sent() {
            self.delivery.add(now - entry.sent_s);
        }
        self.store(now, event, in_log);
    }

    fn observe(&mut self, event: &Event) {
        let (place, observed) = (event.peer.0 as usize, &mut self.found.observed);
        if observed.len() <= place {
            observed.resize(place + 1, (0, 0));
        }
        observed[place].0 += 1;
        observed[place].1 += u64::from(event.size_bytes);
    }

    /// A row of the kind at `place` among [`LOSSES`].
    fn lose(&mut self, event: &Event, place: usize) {
        // A duplicate was refused because the transaction itself is on its way.
        let counts = event.reason != Some(Reason::Duplicate);
        if !counts || event.message.sequence() == NO_TRANSACTION {
            return;
        }
        let Some(entry) = self.entry(event.message) else {
            return;
        };
        let before = *entry;
        entry.losses[place] = event.reason.map_or(NO_REASON, |reason| reason as u8);
        if before.cause().is_some() {
            return;
        }
        if before.is_sent() {
            self.stand(&before, |standing| standing.lost += 1);
        }
        self.linger(event.message);
    }

    /// The entry of a transaction, a new one if it has not been made; none once it is settled.
    fn entry(&mut self, message: MessageId) -> Option<&mut Entry> {
        let is_made = message.sequence() < self.made[message.origin().0 as usize];
        let held = self.open.len() as u64;
        match self.open.entry(message.0) {
            hash_map::Entry::Occupied(held) => Some(held.into_mut()),
            hash_map::Entry::Vacant(_) if is_made => None,
            hash_map::Entry::Vacant(place) => {
                self.found.held_max = self.found.held_max.max(held + 1);
                Some(place.insert(Entry::NONE))
            }
        }
    }

    /// Counts a transaction, in the log and beside it.
    fn stand(&mut self, entry: &Entry, count: impl Fn(&mut Standing)) {
        count(&mut self.all);
        if entry.is_logged {
            count(&mut self.logged);
        }
    }

    fn linger(&mut self, message: MessageId) {
        self.lingering.push_back(message.0);
        if self.lingering.len() < 2 * LINGERING_MIN {
            return;
        }
        let open = &self.open;
        self.lingering.retain(|message| open.contains_key(message));
        let excess = self.lingering.len().saturating_sub(LINGERING_MIN);
        for message in self.lingering.drain(..excess) {
            // It may be among them twice: made and not sent, and then lost.
            let entry = self.open.remove(&message).unwrap_or(Entry::NONE);
            if let Some(cause) = entry.cause().filter(|_| entry.is_sent()) {
                *self.found.lost.entry(name(cause)).or_default() += 1;
                self.found.forgotten += 1;
            }
        }
    }
}

impl Done {
    fn told(&self) -> Completion {
        Completion {
            watched: Spread::of(&self.watched),
            done_watched: Spread::of(&self.done_watched),
            done: Spread::of(&self.done),
        }
    }
}

impl Entry {
    const NONE: Self = Self {
        sent_s: Seconds::NAN,
        back_s: Seconds::INFINITY,
        begun_s: Seconds::INFINITY,
        is_logged: false,
        is_stored: false,
        losses: [NO_ROW; LOSSES.len()],
    };

    fn is_sent(&self) -> bool {
        !self.sent_s.is_nan()
    }

    /// The reason for which it is lost, as far as is known, by number or [`NO_REASON`].
    fn cause(&self) -> Option<u8> {
        self.losses.into_iter().find(|&cause| cause != NO_ROW)
    }
}

fn name(cause: u8) -> &'static str {
    let reason = Reason::ALL.get(cause as usize);
    reason.map_or(UNKNOWN, |reason| reason.name())
}

/// Hashes numbers of transactions, the same in every process.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
}

/// Kinds of rows that say that a transaction is lost: the first of these decides.
const LOSSES: [EventKind; 3] = [EventKind::Lose, EventKind::Drop, EventKind::Refuse];
/// Entries that linger are held until there are twice as many, in a table of 21 MB.
pub const LINGERING_MIN: usize = 1 << 17;
const NO_ROW: u8 = u8::MAX - 1;
const NO_REASON: u8 = u8::MAX;
const UNKNOWN: &str = "unknown"; // as in `pocketsim.sim.metrics.fates`
/// The number of what is about a phone alone.
const NO_TRANSACTION: u32 = u32::MAX;
