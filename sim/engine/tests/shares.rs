//! What several use at once ends when SimGrid says that it ends: cores and the air of sites, with
//! weights, threads, simultaneous starts, and phones that go off. One test: SimGrid allows one
//! engine per process.

mod common;

use std::collections::{BTreeMap, VecDeque};

use _engine::plan::Plan;
use _engine::resources::hybrid::Hybrid;
use _engine::resources::simgrid::{self, SimGrid};
use _engine::resources::{
    Advance, Carried, Carrier, CpuDemand, Happening, Hop, Listener, Spender, Thread, World,
};
use common::{plan, Numbers};
use pocketsim_protocols::contract::{NodeId, Seconds};

/// Something is asked of a phone, or it goes off or on.
#[derive(Clone, Copy)]
enum Act {
    Work(CpuDemand),
    Send(u32),
    Turn(bool),
}

/// What is to be done, by time; the token of each act is its place.
type Script = Vec<(Seconds, u32, Act)>;

/// When each act ended, and whether it was done.
type Ends = BTreeMap<u32, (Seconds, bool)>;

const SITES: u32 = 60;
const PHONES_A_SITE: u32 = 6;
const PHONES: u32 = SITES * PHONES_A_SITE;
/// Takes everything that others send, at once, over no site.
const SINK: NodeId = NodeId(PHONES);
const END_S: Seconds = 1000.0;

#[test]
fn what_is_shared_ends_when_simgrid_says_so() {
    let plan = platform();
    let script = script(&plan);
    let found = in_hybrid(&plan, &script);
    let expected = in_simgrid(&plan, &script);
    assert_eq!(found.len(), expected.len());
    assert!(expected.values().filter(|(_, done)| !done).count() > 100);
    assert!(expected.values().filter(|(_, done)| *done).count() > 8000);
    for (token, (expected_s, expected_done)) in expected {
        let (found_s, found_done) = found[&token];
        assert_eq!(found_done, expected_done, "{token} at {expected_s}");
        let difference_s = (found_s - expected_s).abs();
        assert!(
            difference_s < 1e-8 * expected_s.max(1.0),
            "{token}: {found_s}, {expected_s}"
        );
    }
}

/// Phones of 1 to 4 cores and three kinds of radio, on sites with 0.4 to 4 times a radio's rate.
fn platform() -> Plan {
    let mut plan = plan(PHONES as usize + 1);
    plan.profiles = (1..=4)
        .map(|cores| {
            let mut profile = plan.profiles[0].clone();
            profile.cores = cores;
            profile
        })
        .collect();
    // Large amounts, so that SimGrid's precision of 1e-5 bytes is none.
    let radio = |up_bytes_per_s: f64| {
        let mut access = plan.access[0].clone();
        (access.up_bytes_per_s, access.latency_s) = (up_bytes_per_s, 0.0);
        (access.down_bytes_per_s, access.up_queue_bytes) = (1e15, Some(1e18));
        access
    };
    plan.access = [1e8, 2.5e8, 1e9].map(radio).to_vec();
    let limits = (0..SITES).map(|site| 4e7 * 1.08_f64.powi(site as i32));
    plan.sites.capacity_bytes_per_s = limits.chain([0.0]).collect();
    for phone in 0..PHONES {
        let at = phone as usize;
        plan.phones.profile[at] = phone % 4;
        plan.phones.access[at] = phone % 3;
        plan.phones.site[at] = phone / PHONES_A_SITE;
    }
    plan.phones.site[SINK.0 as usize] = SITES;
    plan
}

fn script(plan: &Plan) -> Script {
    let mut numbers = Numbers(7);
    let mut draw = move |below: u32| ((u64::from(numbers.draw()) * u64::from(below)) >> 32) as u32;
    let mut script = Script::new();
    for phone in 0..plan.phones.profile.len() as u32 - 1 {
        let mut now = 0.0;
        for _ in 0..30 {
            // Whole seconds: many begin together, on a phone and on a site.
            now += f64::from(draw(4));
            let act = match draw(20) {
                0..10 => Act::Work(CpuDemand {
                    cpu_s: f64::from(1 + draw(1 << 20)) * 4e-6,
                    threads: [1, 1, 1, 2, 3][draw(5) as usize],
                    priority: [1.0, 1.0, 8.0][draw(3) as usize],
                    thread: Thread::Number(0),
                }),
                10..19 => Act::Send(1_000_000 + draw(900_000_000)),
                _ => {
                    script.push((now + 0.5, phone, Act::Turn(false)));
                    now += 2.0;
                    Act::Turn(true)
                }
            };
            script.push((now, phone, act));
        }
    }
    script.sort_by(|one, other| one.0.total_cmp(&other.0)); // stable
    script
}

fn in_hybrid(plan: &Plan, script: &Script) -> Ends {
    let mut world = Hybrid::new(plan);
    let (mut next, mut ends) = (0, Ends::new());
    world.wake_at(0.0);
    while let Some(happening) = world.advance(END_S) {
        let now = world.clock();
        match happening {
            Happening::Work(token, done) | Happening::Hop(token, done) => {
                assert!(
                    ends.insert(token, (now, done)).is_none(),
                    "{token} ended twice"
                );
            }
            Happening::Lost(token) => unreachable!("{token} is on no Wi-Fi"),
            Happening::Wake => {
                while next < script.len() && script[next].0 <= now {
                    let (_, phone, act) = script[next];
                    match act {
                        Act::Work(demand) => world.spend(next as u32, NodeId(phone), demand),
                        Act::Send(bytes) => {
                            let carried = world.carry(next as u32, Hop::Up(NodeId(phone)), bytes);
                            assert_eq!(carried, Carried::UntilTold);
                        }
                        Act::Turn(on) => world.set_on(NodeId(phone), on),
                    }
                    next += 1;
                }
                if let Some(&(date, ..)) = script.get(next) {
                    world.wake_at(date);
                }
            }
        }
    }
    ends
}

fn in_simgrid(plan: &Plan, script: &Script) -> Ends {
    let mut director = Director {
        world: SimGrid::new(plan).expect("`make simgrid` was run"),
        script,
        next: 0,
        queues: vec![VecDeque::new(); plan.phones.profile.len()],
        ends: Ends::new(),
    };
    director.world.wake_at(0.0);
    simgrid::run(&mut director, END_S);
    director.ends
}

/// Performs the script in SimGrid, where each phone sends one datagram after the other.
struct Director<'a> {
    world: SimGrid,
    script: &'a Script,
    next: usize,
    queues: Vec<VecDeque<(u32, u32)>>,
    ends: Ends,
}

impl Director<'_> {
    fn start(&mut self, phone: u32) {
        if let Some(&(token, bytes)) = self.queues[phone as usize].front() {
            self.world
                .carry(token, Hop::Through(NodeId(phone), SINK), bytes);
        }
    }

    fn act(&mut self, token: u32, phone: u32, act: Act) {
        match act {
            Act::Work(demand) => self.world.spend(token, NodeId(phone), demand),
            Act::Send(bytes) => {
                self.queues[phone as usize].push_back((token, bytes));
                if self.queues[phone as usize].len() == 1 {
                    self.start(phone);
                }
            }
            Act::Turn(on) => {
                // SimGrid fails what is on the air; what waits behind it fails here.
                let now = self.world.clock();
                let waiting = self.queues[phone as usize].drain(..).skip(1);
                self.ends
                    .extend(waiting.map(|(token, _)| (token, (now, false))));
                self.world.set_on(NodeId(phone), on);
            }
        }
    }
}

impl Listener for Director<'_> {
    fn work_ended(&mut self, token: u32, done: bool) {
        self.ends.insert(token, (self.world.clock(), done));
    }

    fn flight_ended(&mut self, token: u32, done: bool) {
        self.ends.insert(token, (self.world.clock(), done));
        let phone = self.script[token as usize].1;
        if done {
            self.queues[phone as usize].pop_front();
            self.start(phone);
        }
    }

    fn wake(&mut self) {
        let now = self.world.clock();
        while let Some(&(date, phone, act)) = self.script.get(self.next) {
            if date > now {
                return self.world.wake_at(date);
            }
            self.act(self.next as u32, phone, act);
            self.next += 1;
        }
    }
}
