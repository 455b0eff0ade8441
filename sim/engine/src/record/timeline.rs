//! The timeline: when which lane spent which operation, and when datagrams were under way.
//!
//! A row is opened when something begins and closed when it ends. Operations that a lane spends as
//! one piece of work have shares of its time, by what each costs. Rows beyond a limit are counted,
//! not kept. A datagram's row says when it waited for radios, too. What deliberately does not live
//! here: why something happens, and what waits for lanes.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{Lane, MessageId, NodeId, Reason, Seconds};

use crate::cost::table::{Cost, Priced};
use crate::resources::queue_delay::Span;
use crate::resources::radio::Direction;

/// Rows as columns of one length, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// Seconds since the run began.
    pub begin_s: Vec<f64>,
    /// The same; not a number for what had not ended when the run did.
    pub end_s: Vec<f64>,
    /// The phone that works or sends.
    pub node: Vec<u32>,
    /// Number of its lane, or [`NONE`] for a datagram.
    pub lane: Vec<u32>,
    /// What is priced by its place, or [`NO_CODE`] for a datagram.
    pub operation: Vec<u8>,
    /// Bytes that the operation is on, or of the datagram's UDP payload.
    pub size_bytes: Vec<u32>,
    /// Who should receive the datagram, or [`NONE`].
    pub peer: Vec<u32>,
    /// The transaction that the loss of the datagram would be, or [`NO_MESSAGE`].
    pub message: Vec<u64>,
    /// Why a datagram was dropped, or work cut off, as `Reason` by number; or [`NO_CODE`].
    pub reason: Vec<u8>,
    /// By direction, since when a datagram waited in the queue of a radio; not a number for one that
    /// was never in it.
    pub from_s: [Vec<f64>; 2],
    /// By direction, until when; not a number for one that waited still when the run ended.
    pub until_s: [Vec<f64>; 2],
}

/// What lanes and the network do, while a run goes on.
#[derive(Debug)]
pub struct Timeline {
    /// What was kept.
    pub spans: Spans,
    /// How many rows were not, for want of room.
    pub left_out: u64,
    rows_max: usize,
    /// Operations of the piece of work that is about to begin, with what each costs.
    drawn: Vec<(Priced, u32, Seconds)>,
    /// What is being spent, by phone and lane.
    working: BTreeMap<(u32, Lane), Piece>,
}

/// Work that a lane spends as one.
#[derive(Debug)]
struct Piece {
    begin_s: Seconds,
    first_row: usize,
    /// Of each operation.
    costs_s: Vec<Seconds>,
}

/// A row of a datagram that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row(u32);

impl Row {
    /// No row is kept of it.
    pub const NONE: Row = Row(u32::MAX);
}

impl Timeline {
    /// An empty timeline of at most `rows_max` rows.
    pub fn new(rows_max: usize) -> Self {
        Self {
            spans: Spans::default(),
            left_out: 0,
            rows_max,
            drawn: vec![],
            working: BTreeMap::new(),
        }
    }

    /// An operation is part of the piece of work that [begins](Self::begin) next, unless it is
    /// free.
    pub fn draw(&mut self, (operation, bytes): (Priced, u32), cost: Cost) {
        if !cost.is_free() {
            let cost_s = cost.cpu_s + cost.wait_s;
            self.drawn.push((operation, bytes, cost_s));
        }
    }

    /// A lane of `phone` begins to spend what was drawn.
    pub fn begin(&mut self, now: Seconds, phone: u32, lane: Lane) {
        let drawn = std::mem::take(&mut self.drawn);
        let first_row = self.spans.begin_s.len();
        if !self.has_room(drawn.len()) {
            return;
        }
        for &(operation, bytes, _) in &drawn {
            self.open(now, phone, bytes);
            self.spans.lane.push(lane.0);
            let place = u8::try_from(operation.place()).expect("a scenario brings fewer");
            self.spans.operation.push(place);
            self.spans.peer.push(NONE);
            self.spans.message.push(NO_MESSAGE);
        }
        let piece = Piece {
            begin_s: now,
            first_row,
            costs_s: drawn.iter().map(|&(_, _, cost_s)| cost_s).collect(),
        };
        self.working.insert((phone, lane), piece);
    }

    /// A lane of `phone` has spent what it began.
    pub fn end(&mut self, now: Seconds, phone: u32, lane: Lane) {
        if let Some(piece) = self.working.remove(&(phone, lane)) {
            self.share(now, &piece);
        }
    }

    /// `phone` goes off: what its lanes were spending is cut off.
    pub fn cut(&mut self, now: Seconds, phone: u32) {
        let lanes = (phone, Lane(0))..=(phone, Lane(u32::MAX));
        let cut: Vec<_> = self.working.range(lanes).map(|(&lane, _)| lane).collect();
        for lane in cut {
            let piece = self.working.remove(&lane).expect("it was found there");
            self.share(now, &piece);
            let rows = piece.first_row..piece.first_row + piece.costs_s.len();
            self.spans.reason[rows].fill(Reason::SenderOff as u8);
        }
    }

    /// A datagram goes on the air.
    pub fn launch(
        &mut self,
        now: Seconds,
        [from, to]: [NodeId; 2],
        udp_payload_bytes: u32,
        message: Option<MessageId>,
    ) -> Row {
        let row = Row(self.spans.begin_s.len() as u32);
        if !self.has_room(1) {
            return Row::NONE;
        }
        self.open(now, from.0, udp_payload_bytes);
        self.spans.lane.push(NONE);
        self.spans.operation.push(NO_CODE);
        self.spans.peer.push(to.0);
        let message = message.map_or(NO_MESSAGE, |message| message.0);
        self.spans.message.push(message);
        row
    }

    /// A datagram is in the far socket's buffer, or was dropped for a reason.
    pub fn land(&mut self, now: Seconds, row: Row, reason: Option<Reason>) {
        if row != Row::NONE {
            let at = row.0 as usize;
            self.spans.end_s[at] = now;
            self.spans.reason[at] = reason.map_or(NO_CODE, |reason| reason as u8);
        }
    }

    /// When a datagram waits in the queue of a radio, as far as it is known.
    pub fn wait(&mut self, row: Row, direction: Direction, [from_s, until_s]: Span) {
        if row != Row::NONE {
            let (at, direction) = (row.0 as usize, direction as usize);
            self.spans.from_s[direction][at] = from_s;
            let is_known = until_s.is_finite();
            self.spans.until_s[direction][at] = if is_known { until_s } else { f64::NAN };
        }
    }

    /// A datagram no longer waits when the phone goes off whose queue it is in.
    pub fn cut_wait(&mut self, row: Row, direction: Direction, off_s: Seconds) {
        if row != Row::NONE {
            let until_s = &mut self.spans.until_s[direction as usize][row.0 as usize];
            *until_s = until_s.min(off_s);
        }
    }

    /// Whether `rows` more are kept; if not, they are counted.
    fn has_room(&mut self, rows: usize) -> bool {
        let has_room = self.spans.begin_s.len() + rows <= self.rows_max;
        self.left_out += if has_room { 0 } else { rows as u64 };
        has_room
    }

    /// The run ends: of a datagram that waits still nobody will know until when.
    pub fn close(&mut self, end_s: Seconds) {
        for until_s in self.spans.until_s.iter_mut().flatten() {
            if *until_s > end_s {
                *until_s = f64::NAN;
            }
        }
    }

    /// The half of a row that work and datagrams have in common.
    fn open(&mut self, now: Seconds, node: u32, bytes: u32) {
        self.spans.begin_s.push(now);
        self.spans.end_s.push(f64::NAN);
        self.spans.node.push(node);
        self.spans.size_bytes.push(bytes);
        self.spans.reason.push(NO_CODE);
        let waits = self.spans.from_s.iter_mut().chain(&mut self.spans.until_s);
        waits.for_each(|column| column.push(f64::NAN));
    }

    /// Gives each operation of a piece of work that ends its share of the time.
    fn share(&mut self, now: Seconds, piece: &Piece) {
        let whole_s: Seconds = piece.costs_s.iter().sum();
        let (mut spent_s, mut at_s) = (0.0, piece.begin_s);
        for (row, cost_s) in (piece.first_row..).zip(&piece.costs_s) {
            self.spans.begin_s[row] = at_s;
            spent_s += cost_s;
            at_s = piece.begin_s + (now - piece.begin_s) * (spent_s / whole_s);
            self.spans.end_s[row] = at_s;
        }
    }
}

/// Stands for no lane and no peer.
pub const NONE: u32 = u32::MAX;
/// Stands for no operation and no reason.
pub const NO_CODE: u8 = u8::MAX;
/// Stands for no transaction.
pub const NO_MESSAGE: u64 = u64::MAX;
/// Rows of 74 bytes: 155 MB, and a trace of some 200 MB, which a browser still opens; where every
/// datagram waits twice, of some 400 MB.
pub const ROWS_MAX: usize = 1 << 21;
