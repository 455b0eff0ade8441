//! The run in which pairs of phones fall silent, so that their habit is known.
//!
//! It is a run as any other: the same machines, networks and options, on phones of the first
//! profile of the plan, each pair trading once. What phones compute is part of the habit: by phones
//! that compute for nothing, pairs that do would be reckoned to send 2 % too much. What
//! deliberately does not live here: when a habit is worth finding
//! ([`crate::phone::keepalive::upkeep`]).

use std::ops::Range;

use pocketsim_protocols::contract::{EventKind, NodeId, Seconds};
use pocketsim_protocols::pairwise::{Pairwise, Trade};
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::TransportConfig;

use crate::base::rng::{mix, Stream};
use crate::driver::Driver;
use crate::phone::keepalive::habit::{length_s, Habit, Seen};
use crate::phone::keepalive::upkeep::Silence;
use crate::plan::machine_config;
use crate::plan::{self, Access, Plan};
use crate::record::timeline::{Spans, NONE, NO_CODE};
use crate::resources::hybrid::Hybrid;

/// Finds habits for a plan.
pub(crate) struct Habits {
    /// Of pairs, but for their networks.
    plan: Plan,
    access: Vec<Access>,
    config: TransportConfig,
}

impl Habits {
    /// For `plan`, whose kept connections have these options.
    pub(crate) fn new(plan: &Plan, config: TransportConfig) -> Self {
        Self {
            plan: pairs(plan),
            access: plan.access.clone(),
            // A pair has one connection.
            config: TransportConfig {
                answer_on_same_connection: true,
                ..config
            },
        }
    }

    /// What pairs with one phone on each of two networks do that asked at once when they fell silent,
    /// and that asked in turn; none if a connection ends by itself.
    pub(crate) fn find(&self, networks: [u32; 2]) -> Option<[Habit; 2]> {
        let plan = Plan {
            seed: self.seed(networks),
            access: networks
                .map(|network| self.access[network as usize].clone())
                .to_vec(),
            ..self.plan.clone()
        };
        let (world, end_s) = (Hybrid::new(&plan), plan.duration_s);
        let (options, seed) = (plan.transport.clone(), plan.seed);
        let make = |node: u32| {
            let config = machine_config::of_phone(self.config, &options, seed, node);
            let quic: Quic<Trade> = Quic::new(&config, NodeId(node));
            (Pairwise::new(NodeId(node)), quic)
        };
        let mut driver = Driver::new(plan, world, make);
        driver.note_silences();
        driver.run(end_s);
        let silences = driver.silences();
        let (trace, _) = driver.finish();
        let has_ended = trace.counters().contains_key(EventKind::Disconnect.name());
        let timeline = trace.timeline.filter(|_| !has_ended)?;
        let unit_s = self.config.keep_alive_s;
        let [at_once, in_turn] =
            [false, true].map(|in_turn| habit(unit_s, in_turn, &silences, &timeline.spans));
        // Of ends that never ask in one of these ways on their own, nobody will want to know.
        let either = at_once.clone().or(in_turn.clone())?;
        Some([at_once, in_turn].map(|habit| habit.unwrap_or_else(|| either.clone())))
    }

    /// Of the run with these networks.
    fn seed(&self, [low, high]: [u32; 2]) -> u64 {
        let pair = mix(u64::from(low) << 32 | u64::from(high));
        Stream::new(self.plan.seed ^ pair, "habit", 0).word()
    }
}

/// The habit of pairs that asked so and sent these datagrams; by phone, when each fell silent.
fn habit(unit_s: Seconds, in_turn: bool, silences: &[Silence], spans: &Spans) -> Option<Habit> {
    let counts =
        |silence: &Silence| silence.in_turn == in_turn && silence.date_s <= fall_silent_s(unit_s);
    let pairs = silences.iter().filter(|silence| counts(silence)).count() / 2;
    let rows = (0..spans.begin_s.len()).filter(|&row| spans.lane[row] == NONE);
    let seen = rows.filter_map(|row| {
        let node = spans.node[row] as usize;
        let after_s = spans.begin_s[row] - silences[node].date_s;
        (counts(&silences[node]) && after_s >= 0.0).then(|| Seen {
            side: node % 2,
            after_s,
            bytes: spans.size_bytes[row],
            arrived: spans.reason[row] == NO_CODE,
        })
    });
    let seen: Vec<Seen> = seen.collect();
    (pairs > 0).then(|| Habit::new(unit_s, pairs, &seen))
}

/// By which the frames of pairs on access points of 802.11 are sent, one that all of these have: what
/// is sent in silence is short by any.
const MCS: u32 = 4;

fn pairs(plan: &Plan) -> Plan {
    let phones = 2 * PAIRS;
    Plan {
        seed: plan.seed,
        fidelity: plan.fidelity.clone(),
        simgrid_library: None,
        duration_s: fall_silent_s(plan.transport.options.keep_alive_s)
            + length_s(plan.transport.options.keep_alive_s),
        // Their networks are filled in.
        access: Vec::new(),
        profiles: vec![plan.profiles[0].clone()],
        sites: plan::Sites {
            capacity_bytes_per_s: vec![0.0; phones],
        },
        contention: plan.contention,
        phones: plan::Phones {
            profile: vec![0; phones],
            access: (0..PAIRS).flat_map(|_| [0, 1]).collect(),
            site: (0..phones as u32).collect(),
            first_index: vec![1; phones],
            role: vec![0; phones],
            mcs: vec![MCS; phones],
            cores_of: Vec::new(),
        },
        backbone: plan.backbone.clone(),
        core: None,
        proximity: plan::Proximity {
            links: Vec::new(),
            time_s: Vec::new(),
            duration_s: Vec::new(),
            phone_a: Vec::new(),
            phone_b: Vec::new(),
            link: Vec::new(),
        },
        outages: Vec::new(),
        churn: plan::Churn {
            time_s: Vec::new(),
            phone: Vec::new(),
            on: Vec::new(),
        },
        workload: trades(0..PAIRS as u32),
        protocol: plan::Protocol {
            kind: "pairwise".to_owned(),
            tokens: None,
            compute: None,
            own_operations: Vec::new(),
            ..plan.protocol.clone()
        },
        transport: without_faults(&plan.transport, phones),
        trace: plan::Trace {
            mode: "work".to_owned(),
            sample_ratio: 1.0,
            log_capacity: 0,
            tokens: false,
            blocks: false,
        },
        energy: None,
        battery: None,
        nats: None,
        relay: None,
        moves: None,
    }
}

/// The same transport, whose connections do not break and whose pings are all simulated.
fn without_faults(transport: &plan::Transport, phones: usize) -> plan::Transport {
    plan::Transport {
        options: TransportConfig {
            keep_alive_events: true,
            ..transport.options
        },
        duplicate_dial_s: vec![Seconds::INFINITY; phones],
        connection_break_s: vec![Seconds::INFINITY; phones],
        ..transport.clone()
    }
}

/// By when pairs have traded and fallen silent that ask after `unit_s`.
fn fall_silent_s(unit_s: Seconds) -> Seconds {
    SPAN_S + TRADE_S + QUESTIONS * unit_s
}

fn trades(numbers: Range<u32>) -> plan::Workload {
    plan::Workload {
        time_s: numbers
            .clone()
            .map(|number| f64::from(number) * SPAN_S / PAIRS as f64)
            .collect(),
        from_phone: numbers.clone().map(|number| 2 * number).collect(),
        to_phone: numbers.map(|number| 2 * number + 1).collect(),
        payload_bytes: vec![PAYLOAD_BYTES; PAIRS],
        amount_cents: Vec::new(),
        conduct: Vec::new(),
        loops: Vec::new(),
    }
}

/// Half of them are made to ask in turn: the mean of so many is off by a hundredth.
const PAIRS: usize = 48;
/// Their trades begin within so long, so that not all do the same at once.
const SPAN_S: Seconds = 1.0;
/// Until they have traded, also on slow networks.
const TRADE_S: Seconds = 30.0;
/// Those who have not fallen silent after so many questions do not count.
const QUESTIONS: f64 = 4.0;
const PAYLOAD_BYTES: u32 = 100;
