//! The trace: columns of events, in order of time, and counters beside them.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{Event, EventKind, NodeId, Operation, Reason, Seconds};
use pocketsim_protocols::named_enum;

use crate::base::rng::mix;
use crate::cost::table::Priced;
use crate::plan::Plan;
use crate::record::aggregates::Aggregates;
use crate::record::timeline::{self, Timeline};

/// Columns of one length.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Seconds since the run began.
    pub time_s: Vec<f64>,
    /// Where it happened.
    pub node: Vec<u32>,
    /// `EventKind` by number.
    pub kind: Vec<u8>,
    /// `MessageId` as a number: origin in the high half.
    pub message: Vec<u64>,
    /// The other phone.
    pub peer: Vec<u32>,
    /// Bytes of the block or datagram.
    pub size_bytes: Vec<u32>,
    /// `Reason` by number, or [`NO_REASON`].
    pub reason: Vec<u8>,
    /// 1, or 0 for an event beyond its phone's benchmark log.
    pub logged: Vec<u8>,
}

#[cfg(feature = "python")]
impl Columns {
    /// Adds a row of `others`, as one of another kind.
    pub(crate) fn copy_row(&mut self, others: &Columns, row: usize, kind: u8) {
        self.time_s.push(others.time_s[row]);
        self.node.push(others.node[row]);
        self.kind.push(kind);
        self.message.push(others.message[row]);
        self.peer.push(others.peer[row]);
        self.size_bytes.push(others.size_bytes[row]);
        self.reason.push(others.reason[row]);
        self.logged.push(others.logged[row]);
    }
}

named_enum! {
    /// What is counted beside events.
    Tally {
        /// Datagrams put on the air.
        DatagramsSent = "datagrams_sent",
        /// Datagrams that reached a socket buffer.
        DatagramsDelivered = "datagrams_delivered",
        /// Datagrams that did not, of those put on the air.
        DatagramsDropped = "datagrams_dropped",
        /// Datagrams that were in a socket buffer when its phone went off, so that nobody read them.
        DatagramsUnread = "datagrams_unread",
        /// Datagrams that a phone was about to send when it went off: they were never on the air.
        DatagramsCutOff = "datagrams_cut_off",
        /// Open arrivals that did not happen, since their phone was off.
        ArrivalsWhileOff = "arrivals_while_off",
        /// Proposals that a phone had queued when it went off.
        ArrivalsCutOff = "arrivals_cut_off",
        /// Proposals of sender loops that were not made, since too many had no answer.
        ProposalsWithheld = "proposals_withheld",
        /// Datagrams that contacts carried.
        ContactDatagrams = "contact_datagrams",
        /// Their bytes, with all headers.
        ContactBytes = "contact_bytes",
        /// Bytes that access networks carried, with all headers.
        AccessBytes = "access_bytes",
        /// How often phones left an access network for another.
        NetworkChanges = "network_changes",
        /// Bytes that phones, but for the tokens' authority, sent or received over access networks,
        /// with all headers.
        PhoneAccessBytes = "phone_access_bytes",
        /// Records that such phones began to store, each in a commit of its own.
        PhoneRecordsStored = "phone_records_stored",
        /// Their bytes.
        PhoneBytesStored = "phone_bytes_stored",
    }
}

/// Collects events and counters.
#[derive(Debug)]
pub struct Trace {
    /// What was kept.
    pub columns: Columns,
    /// Work and datagrams; only where the plan asks for them.
    pub timeline: Option<Timeline>,
    /// What rows come to, instead of them; only where the plan asks for it.
    pub aggregates: Option<Box<Aggregates>>,
    /// Core seconds of phones, but for the tokens' authority, with what they forwarded.
    pub phone_cpu_s: Seconds,
    tallies: [u64; Tally::ALL.len()],
    events: [u64; EventKind::ALL.len()],
    drops: [u64; Reason::ALL.len()],
    cpu_s: Vec<f64>,
    own_operations: Vec<String>,
    keep_below: u64,
    log_capacity: u64,
    /// By phone; empty for no end of room.
    log_length: Vec<u64>,
}

impl Trace {
    /// An empty trace, keeping what `plan` says.
    ///
    /// # Panics
    /// On a mode that the plan's maker should have refused.
    pub fn new(plan: &Plan) -> Self {
        let (options, phones) = (&plan.trace, plan.phones.profile.len());
        let own_operations = &plan.protocol.own_operations;
        let keep_below = match options.mode.as_str() {
            "full" | "work" | "metrics" => u64::MAX,
            "sampled" => (options.sample_ratio * u64::MAX as f64) as u64,
            other => panic!("unknown trace mode {other:?}"),
        };
        let aggregates = || Box::new(Aggregates::new(phones, plan.duration_s));
        Self {
            columns: Columns::default(),
            timeline: (options.mode == "work").then(|| Timeline::new(timeline::ROWS_MAX)),
            aggregates: (options.mode == "metrics").then(aggregates),
            phone_cpu_s: 0.0,
            tallies: [0; Tally::ALL.len()],
            events: [0; EventKind::ALL.len()],
            drops: [0; Reason::ALL.len()],
            cpu_s: vec![0.0; Operation::ALL.len() + own_operations.len()],
            own_operations: own_operations.clone(),
            keep_below,
            log_capacity: options.log_capacity,
            log_length: if options.log_capacity == 0 {
                vec![]
            } else {
                vec![0; phones]
            },
        }
    }

    /// Adds one row, unless the transaction is not among the sampled ones, or none is kept.
    pub fn record(&mut self, time: Seconds, node: NodeId, event: &Event) {
        self.events[event.kind as usize] += 1;
        let logged = self.log(node, event.kind);
        if let Some(aggregates) = &mut self.aggregates {
            return aggregates.record(time, node, event, logged);
        }
        if mix(event.message.0) > self.keep_below {
            return;
        }
        let columns = &mut self.columns;
        columns.time_s.push(time);
        columns.node.push(node.0);
        columns.kind.push(event.kind as u8);
        columns.message.push(event.message.0);
        columns.peer.push(event.peer.0);
        columns.size_bytes.push(event.size_bytes);
        columns
            .reason
            .push(event.reason.map_or(NO_REASON, |reason| reason as u8));
        columns.logged.push(u8::from(logged));
    }

    /// Counts one `tally`.
    pub fn count(&mut self, tally: Tally) {
        self.add(tally, 1u64);
    }

    /// Adds `amount` to what is counted.
    pub fn add(&mut self, tally: Tally, amount: impl Into<u64>) {
        self.tallies[tally as usize] += amount.into();
    }

    /// Takes `amount` from what was counted too soon.
    pub fn take_back(&mut self, tally: Tally, amount: impl Into<u64>) {
        self.tallies[tally as usize] -= amount.into();
    }

    /// Counts a datagram that never reached a machine, as `tally` and by its reason.
    pub fn count_drop(&mut self, tally: Tally, reason: Reason) {
        self.add_drops(tally, reason, 1);
    }

    /// Counts `count` of them.
    pub fn add_drops(&mut self, tally: Tally, reason: Reason, count: u64) {
        self.add(tally, count);
        self.drops[reason as usize] += count;
    }

    /// Counts the core seconds of an operation that begins.
    pub fn spend(&mut self, operation: impl Into<Priced>, cpu_s: Seconds) {
        self.cpu_s[operation.into().place()] += cpu_s;
    }

    /// Core seconds by operation, over all phones; what was never asked for is left out.
    ///
    /// An operation counts when it begins, even if the run or its phone ends before it does.
    pub fn cpu_s(&self) -> BTreeMap<&str, f64> {
        let all = self.operations().zip(self.cpu_s.iter().copied());
        all.filter(|&(_, cpu_s)| cpu_s > 0.0).collect()
    }

    /// Names of all that is priced, by place.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        let own = self.own_operations.iter().map(String::as_str);
        Operation::ALL.iter().map(|one| one.name()).chain(own)
    }

    /// What happened how often, by name; what never happened is left out.
    pub fn counters(&self) -> BTreeMap<&'static str, u64> {
        let tallies = Tally::ALL
            .iter()
            .map(|tally| tally.name())
            .zip(self.tallies);
        let events = EventKind::ALL
            .iter()
            .map(|kind| kind.name())
            .zip(self.events);
        let drops = Reason::ALL
            .iter()
            .map(|reason| reason.name())
            .zip(self.drops);
        let left_out = self.timeline.as_ref().map_or(0, |of| of.left_out);
        let all = tallies.chain(events).chain(drops);
        let all = all.chain([("timeline_rows_left_out", left_out)]);
        all.filter(|&(_, count)| count > 0).collect()
    }

    /// Whether the phone's benchmark log still had room for this event.
    fn log(&mut self, node: NodeId, kind: EventKind) -> bool {
        if self.log_length.is_empty() || !BENCHMARK_EVENTS.contains(&kind) {
            return true;
        }
        let length = &mut self.log_length[node.0 as usize];
        let logged = *length < self.log_capacity;
        *length += u64::from(logged);
        logged
    }
}

/// The number that stands for "no reason".
pub const NO_REASON: u8 = u8::MAX;

// The events that the latency thesis's benchmark log records per message
// (section 4.1): block_send_start, block_received_back, block_stored.
const BENCHMARK_EVENTS: [EventKind; 3] =
    [EventKind::Send, EventKind::ReceiveBack, EventKind::Store];
