//! A world in closed form for tests of the driver: every flight takes latency
//! plus size over bandwidth, every piece of work its own core; nothing is shared.

#![allow(dead_code)] // each test binary uses its own part

pub mod puppet;
pub mod sends;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use _engine::driver::Driver;
use _engine::plan::{
    Access, AfterRest, Backbone, Churn, Phones, Plan, Profile, Protocol, Proximity, ProximityLink,
    SenderLoop, Sites, Trace, Transport, Workload,
};
use _engine::record::trace::Trace as RunTrace;
use _engine::resources::{Carried, Carrier, CpuDemand, Hop, Listener, Spender, World};
use pocketsim_protocols::contract::{
    EventKind, MessageId, NodeId, Operation, Payload, Reason, Seconds,
};
use pocketsim_protocols::pairwise::Pairwise;
use pocketsim_protocols::transport::udp::Udp;
use pocketsim_protocols::transport::TransportConfig;

/// What applications that send nothing would send.
#[derive(Clone)]
pub struct Nothing;

impl Payload for Nothing {
    fn wire_bytes(&self) -> u32 {
        0
    }

    fn message_id(&self) -> MessageId {
        MessageId(0)
    }
}

/// What is going to happen, by time and serial number.
#[derive(Default)]
struct Agenda {
    now: Seconds,
    serial: u64,
    events: BTreeMap<(u64, u64), (Happening, Vec<NodeId>)>,
    alarm: Option<(u64, u64)>,
    off: BTreeSet<NodeId>,
}

#[derive(Clone, Copy)]
enum Happening {
    Work(u32),
    Flight(u32),
    Wake,
}

impl Agenda {
    /// Adds what fails when one of `phones` goes off.
    fn add(&mut self, date: Seconds, what: Happening, phones: &[NodeId]) -> (u64, u64) {
        self.serial += 1;
        // The bits of a positive float order like the float.
        let key = (date.to_bits(), self.serial);
        self.events.insert(key, (what, phones.to_vec()));
        key
    }
}

/// The closed-form world; clones share one agenda.
#[derive(Clone, Default)]
pub struct Closed {
    agenda: Rc<RefCell<Agenda>>,
    failed: Rc<RefCell<Vec<Happening>>>,
    /// What becomes of flights of a phone that goes off.
    flights: Flights,
    /// What its phones were asked to compute.
    demands: Rc<RefCell<Vec<(NodeId, CpuDemand)>>>,
}

/// What a world does with the flights of a phone that goes off.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Flights {
    /// They go on, as on a contact.
    #[default]
    GoOn,
    /// They fail and are reported in the order they left.
    Fail,
    /// They fail and are reported the other way round.
    FailBackwards,
}

impl Closed {
    /// A world that does this with the flights of a phone that goes off.
    pub fn where_flights(flights: Flights) -> Self {
        Self {
            flights,
            ..Self::default()
        }
    }

    /// What its phones were asked to compute, in order.
    pub fn demands(&self) -> Vec<(NodeId, CpuDemand)> {
        self.demands.borrow().clone()
    }
}

/// One way between two phones, seconds.
pub const LATENCY_S: Seconds = 0.010;
/// Of every link, bytes per second.
pub const BYTES_PER_S: f64 = 1e6;

impl Carrier for Closed {
    fn stores_and_forwards(&self) -> bool {
        false
    }

    fn carry(&mut self, token: u32, hop: Hop, wire_bytes: u32) -> Carried {
        let (Hop::Through(from, to) | Hop::Relayed(from, to)) = hop else {
            unreachable!("a flight is carried all the way");
        };
        let mut agenda = self.agenda.borrow_mut();
        let date = agenda.now + LATENCY_S + f64::from(wire_bytes) / BYTES_PER_S;
        let ends = match self.flights {
            Flights::GoOn => vec![],
            _ => vec![from, to],
        };
        agenda.add(date, Happening::Flight(token), &ends);
        Carried::UntilTold
    }
}

impl Spender for Closed {
    fn spend(&mut self, token: u32, phone: NodeId, demand: CpuDemand) {
        let mut agenda = self.agenda.borrow_mut();
        assert!(!agenda.off.contains(&phone), "work on a phone that is off");
        self.demands.borrow_mut().push((phone, demand));
        let date = agenda.now + demand.cpu_s / f64::from(demand.threads);
        agenda.add(date, Happening::Work(token), &[phone]);
    }
}

impl World for Closed {
    fn clock(&self) -> Seconds {
        self.agenda.borrow().now
    }

    fn wake_at(&mut self, date: Seconds) {
        let mut agenda = self.agenda.borrow_mut();
        if let Some(key) = agenda.alarm.take() {
            agenda.events.remove(&key);
        }
        agenda.alarm = Some(agenda.add(date, Happening::Wake, &[]));
    }

    fn set_on(&mut self, phone: NodeId, on: bool) {
        let mut agenda = self.agenda.borrow_mut();
        if on {
            agenda.off.remove(&phone);
            return;
        }
        agenda.off.insert(phone);
        let mut failed = self.failed.borrow_mut();
        agenda.events.retain(|_, (what, phones)| {
            let fails = phones.contains(&phone);
            failed.extend(fails.then_some(*what));
            !fails
        });
        if self.flights == Flights::FailBackwards {
            failed.reverse();
        }
    }
}

/// Runs `listener` in `world` until `end`.
pub fn run(world: &Closed, listener: &mut impl Listener, end: Seconds) {
    loop {
        let failed = std::mem::take(&mut *world.failed.borrow_mut());
        for what in failed {
            match what {
                Happening::Work(token) => listener.work_ended(token, false),
                Happening::Flight(token) => listener.flight_ended(token, false),
                Happening::Wake => unreachable!("the alarm is nobody's"),
            }
        }
        let next = world.agenda.borrow_mut().events.pop_first();
        let Some(((bits, _), (what, _))) = next else {
            return;
        };
        let date = f64::from_bits(bits);
        if date > end {
            return;
        }
        world.agenda.borrow_mut().now = date;
        match what {
            Happening::Work(token) => listener.work_ended(token, true),
            Happening::Flight(token) => listener.flight_ended(token, true),
            Happening::Wake => {
                world.agenda.borrow_mut().alarm = None;
                listener.wake();
            }
        }
    }
}

/// A plan of `count` equal phones on one link type, with no costs and nothing to do.
pub fn plan(count: usize) -> Plan {
    let operations = Operation::ALL.len();
    Plan {
        seed: 1,
        duration_s: 100.0,
        fidelity: "flow".into(),
        simgrid_library: Some(SIMGRID_LIBRARY.into()),
        profiles: vec![Profile {
            cores: 1,
            cpu_s: vec![0.0; operations],
            per_byte_s: vec![0.0; operations],
            threads: vec![1; operations],
            wait_s: vec![0.0; operations],
            spread_sigma: vec![0.0; operations],
            wake_after: AfterRest::default(),
            quic_wake_after: AfterRest::default(),
            pace_after: AfterRest::default(),
            own_after: Vec::new(),
            eevdf: false,
            tick_core_s: 0.0,
            socket_buffer_bytes: 212_992,
        }],
        access: vec![Access {
            up_bytes_per_s: BYTES_PER_S,
            down_bytes_per_s: BYTES_PER_S,
            up_queue_bytes: Some(1e6),
            down_queue_bytes: Some(1e6),
            blocks: false,
            latency_s: LATENCY_S / 2.0,
            jitter_median_s: 0.0,
            jitter_sigma: 0.0,
            loss_ratio: 0.0,
            bursts: None,
            forwarding_cpu_s: 0.0,
            wifi: None,
            states: None,
            up_rate: None,
            down_rate: None,
            handover: None,
            rat_change: None,
            reorders: false,
        }],
        contention: true,
        sites: Sites {
            capacity_bytes_per_s: vec![0.0],
        },
        phones: Phones {
            profile: vec![0; count],
            access: vec![0; count],
            site: vec![0; count],
            first_index: vec![1; count],
            role: vec![0; count],
            mcs: vec![],
            cores_of: vec![],
        },
        backbone: Backbone {
            latency_s: 0.0,
            relay_latency_s: 0.0,
        },
        core: None,
        proximity: Proximity {
            links: vec![],
            time_s: vec![],
            duration_s: vec![],
            phone_a: vec![],
            phone_b: vec![],
            link: vec![],
        },
        outages: vec![],
        churn: Churn {
            time_s: vec![],
            phone: vec![],
            on: vec![],
        },
        workload: Workload {
            time_s: vec![],
            from_phone: vec![],
            to_phone: vec![],
            payload_bytes: vec![],
            amount_cents: vec![],
            conduct: vec![],
            loops: vec![],
        },
        protocol: Protocol {
            kind: "pairwise".into(),
            crypto: "counted".into(),
            duplicate_window_s: 30.0,
            retries: None,
            tokens: None,
            compute: None,
            own_operations: vec![],
        },
        transport: udp(),
        trace: Trace {
            mode: "full".into(),
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

fn udp() -> Transport {
    Transport {
        mode: "udp".into(),
        options: TransportConfig {
            poll_interval_s: 0.0,
            keep_alive_s: 0.0,
            relay_first: false,
            ..TransportConfig::default()
        },
        threads_first: true,
        duplicate_dial_s: vec![],
        connection_break_s: vec![],
        eva: None,
    }
}

/// Adds an arrival; call in order of time.
pub fn arrive(plan: &mut Plan, time_s: Seconds, from: u32, to: u32) {
    plan.workload.time_s.push(time_s);
    plan.workload.from_phone.push(from);
    plan.workload.to_phone.push(to);
    plan.workload.payload_bytes.push(100);
}

/// As [`arrive`] from phone 0 at phone 1, of so many bytes.
pub fn ask(plan: &mut Plan, time_s: Seconds, bytes: u32) {
    arrive(plan, time_s, 0, 1);
    let asked = plan.workload.payload_bytes.last_mut();
    *asked.expect("an arrival") = bytes;
}

/// Phones 0 and 1 propose to each other: five rounds, one each second from 1 s on.
pub fn sender_loop(from_phone: u32) -> SenderLoop {
    SenderLoop {
        from_phone,
        to_phone: (from_phone + 1) % 2,
        start_s: 1.0,
        duration_s: 5.0,
        interval_s: 1.0,
        by_clock: false,
        overshoot_s: 0.0,
        overshoot_sigma: 0.0,
        payload_bytes: 100,
        outstanding_max: 0,
        outstanding_until_drained: false,
    }
}

/// A contact's link: a kilobyte each second after two, half a second long.
pub const BLE: ProximityLink = ProximityLink {
    rate_bytes_per_s: 1000.0,
    latency_s: 0.5,
    setup_s: 2.0,
    loss_ratio: 0.0,
    shares_air: false,
};

/// A linear congruential generator (Numerical Recipes); only its upper bits are any good.
pub struct Numbers(pub u32);

impl Numbers {
    pub fn draw(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0
    }
}

/// Adds a contact on a link of its own; call in order of time.
pub fn meet(plan: &mut Plan, time_s: Seconds, duration_s: Seconds, link: ProximityLink) {
    let proximity = &mut plan.proximity;
    proximity.link.push(proximity.links.len() as u32);
    proximity.links.push(link);
    proximity.time_s.push(time_s);
    proximity.duration_s.push(duration_s);
    proximity.phone_a.push(1);
    proximity.phone_b.push(0);
}

/// Sets the cost of an operation in CPU seconds.
pub fn cost(plan: &mut Plan, operation: Operation, cpu_s: Seconds) {
    plan.profiles[0].cpu_s[operation as usize] = cpu_s;
}

/// Adds a churn transition; call in order of time.
pub fn turn(plan: &mut Plan, time_s: Seconds, phone: u32, on: bool) {
    plan.churn.time_s.push(time_s);
    plan.churn.phone.push(phone);
    plan.churn.on.push(on);
}

/// Runs the plan's pairwise trades over UDP in the closed-form world.
pub fn trade(plan: Plan) -> RunTrace {
    trade_with_energy(plan).0
}

/// As [`trade`], and what phones spent, joules by component.
pub fn trade_with_energy(plan: Plan) -> (RunTrace, BTreeMap<&'static str, f64>) {
    trade_where(plan, Flights::default())
}

/// As [`trade_with_energy`] in a world that does this with the flights of a phone that goes off.
pub fn trade_where(plan: Plan, flights: Flights) -> (RunTrace, BTreeMap<&'static str, f64>) {
    let world = Closed::where_flights(flights);
    let end = plan.duration_s;
    let config = TransportConfig::default();
    let mut driver = Driver::new(plan, world.clone(), |node| {
        (Pairwise::new(NodeId(node)), Udp::new(&config))
    });
    run(&world, &mut driver, end);
    let energy_j = driver.energy_j();
    (driver.finish().0, energy_j)
}

/// What is counted beside events; 0 for what never happened.
pub fn counter(trace: &RunTrace, name: &str) -> u64 {
    trace.counters().get(name).copied().unwrap_or(0)
}

/// Phones of the events of one kind.
pub fn nodes(trace: &RunTrace, kind: EventKind) -> Vec<u32> {
    let columns = &trace.columns;
    let rows = columns.kind.iter().zip(&columns.node);
    rows.filter(|(&number, _)| number == kind as u8)
        .map(|(_, &node)| node)
        .collect()
}

/// Times of the events of one kind.
pub fn times(trace: &RunTrace, kind: EventKind) -> Vec<Seconds> {
    let columns = &trace.columns;
    let rows = columns.kind.iter().zip(&columns.time_s);
    rows.filter(|(&number, _)| number == kind as u8)
        .map(|(_, &time)| time)
        .collect()
}

/// Reasons of the events of one kind.
pub fn reasons(trace: &RunTrace, kind: EventKind) -> Vec<Reason> {
    let columns = &trace.columns;
    let rows = columns.kind.iter().zip(&columns.reason);
    rows.filter(|(&number, _)| number == kind as u8)
        .map(|(_, &reason)| Reason::ALL[reason as usize])
        .collect()
}

/// As `make simgrid` leaves it.
const SIMGRID_LIBRARY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../pocketsim/sim/_simgrid.so"
);
