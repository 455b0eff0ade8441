//! Radios and cores in arithmetic beside flows of SimGrid's, with one clock. One test: SimGrid allows
//! one engine per process.

mod common;

use std::collections::BTreeMap;

use _engine::plan::{Core, Plan};
use _engine::resources::simgrid::joined::Joined;
use _engine::resources::{
    Advance, Carried, Carrier, CpuDemand, Happening, Hop, Spender, Thread, World,
};
use common::{plan, Numbers};
use pocketsim_protocols::contract::{NodeId, Seconds};

const LATENCY_S: Seconds = 0.125;
const BYTES_PER_S: f64 = 1e6;
const PLATFORM: &str = r#"<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <host id="here" speed="1Gf"/>
    <host id="there" speed="1Gf"/>
    <router id="far"/>
    <link id="shared" bandwidth="1MBps" latency="125ms" sharing_policy="SPLITDUPLEX"/>
    <link id="pipe" bandwidth="1MBps" latency="125ms" sharing_policy="FATPIPE"/>
    <route src="here" dst="there"><link_ctn id="shared" direction="UP"/></route>
    <route src="here" dst="far"><link_ctn id="pipe"/></route>
    <route src="there" dst="far"><link_ctn id="pipe"/></route>
  </zone>
</platform>
"#;

/// What is asked of the world.
#[derive(Clone, Copy)]
enum Act {
    Cross(u32, u32, u32),
    Work(Seconds),
}

fn joined(path: &str) -> Plan {
    let mut plan = plan(1);
    plan.fidelity = "hybrid".into();
    let (no, yes) = (false, true);
    plan.core = Some(Core {
        netpoint: vec![0],
        names: ["here", "there", "far"].map(String::from).to_vec(),
        latency_s: vec![0.0; 9],
        bytes_per_s: vec![f64::INFINITY; 9],
        shared: vec![no, yes, no, yes, no, no, no, no, no],
        relay: None,
        platform: Some(path.into()),
    });
    plan
}

/// Flows both ways over the shared link, over the pipe, and work, by time; tokens are places.
fn script() -> Vec<(Seconds, Act)> {
    let mut numbers = Numbers(11);
    let mut draw = |below: u32| ((u64::from(numbers.draw()) * u64::from(below)) >> 32) as u32;
    let mut script = Vec::new();
    for step in 0..400 {
        let date_s = f64::from(step / 2) * 0.125;
        let bytes = 1 + draw(400_000);
        let act = match draw(5) {
            0 | 1 => Act::Cross(0, 1, bytes),
            2 => Act::Cross(1, 0, bytes),
            3 => Act::Cross(0, 2, bytes),
            _ => Act::Work(f64::from(bytes) * 1e-7),
        };
        script.push((date_s, act));
    }
    // One of each that end at the same moment, whose dates have no rounding.
    script.push((128.0, Act::Work(LATENCY_S + 0.5)));
    script.push((128.0, Act::Cross(0, 1, 500_000)));
    script
}

/// When each act ends, in the order in which the world says so.
fn ends(world: &mut Joined, script: &[(Seconds, Act)]) -> Vec<(u32, Seconds)> {
    let (mut next, mut ends) = (0, Vec::new());
    world.wake_at(0.0);
    while let Some(happening) = world.advance(1000.0) {
        let now = world.clock();
        match happening {
            Happening::Work(token, true) | Happening::Hop(token, true) => ends.push((token, now)),
            Happening::Work(..) | Happening::Hop(..) => panic!("nothing goes off"),
            Happening::Lost(token) => panic!("{token} is on no Wi-Fi"),
            Happening::Wake => {
                while next < script.len() && script[next].0 <= now {
                    begin(world, next as u32, script[next].1);
                    next += 1;
                }
                if let Some(&(date_s, _)) = script.get(next) {
                    world.wake_at(date_s);
                }
            }
        }
    }
    ends
}

fn begin(world: &mut Joined, token: u32, act: Act) {
    match act {
        Act::Cross(from, to, bytes) => {
            let carried = world.carry(token, Hop::Across(from, to), bytes);
            assert_eq!(carried, Carried::UntilTold);
        }
        Act::Work(cpu_s) => {
            let demand = CpuDemand {
                cpu_s,
                threads: 1,
                priority: 1.0,
                thread: Thread::Number(0),
            };
            world.spend(token, NodeId(0), demand);
        }
    }
}

/// When claims end that share `per_s` equally from their begin on, by token.
fn shared_equally(claims: &[(u32, Seconds, f64)], per_s: f64) -> BTreeMap<u32, Seconds> {
    let mut waiting = claims.to_vec();
    let (mut now, mut left, mut ends) = (0.0, BTreeMap::<u32, f64>::new(), BTreeMap::new());
    loop {
        let next_s = waiting
            .first()
            .map_or(f64::INFINITY, |&(_, begin_s, _)| begin_s);
        let least = left.iter().min_by(|one, other| one.1.total_cmp(other.1));
        let least = least.map(|(&token, &left)| (token, left));
        let share = per_s / left.len() as f64;
        let end_s = least.map_or(f64::INFINITY, |(_, left)| now + left / share);
        if next_s.min(end_s) == f64::INFINITY {
            return ends;
        }
        let date_s = next_s.min(end_s);
        left.values_mut()
            .for_each(|left| *left -= share * (date_s - now));
        now = date_s;
        if end_s <= next_s {
            let (token, _) = least.expect("it ends");
            left.remove(&token);
            ends.insert(token, now);
        } else {
            let (token, _, amount) = waiting.remove(0);
            left.insert(token, amount);
        }
    }
}

fn expected(script: &[(Seconds, Act)]) -> BTreeMap<u32, Seconds> {
    let (mut ways, mut works, mut ends) = ([vec![], vec![]], vec![], BTreeMap::new());
    for (token, &(date_s, act)) in (0..).zip(script) {
        match act {
            Act::Cross(from, to, bytes) if to < 2 => {
                ways[from as usize].push((token, date_s + LATENCY_S, f64::from(bytes)));
            }
            Act::Cross(.., bytes) => {
                ends.insert(token, date_s + LATENCY_S + f64::from(bytes) / BYTES_PER_S);
            }
            Act::Work(cpu_s) => works.push((token, date_s, cpu_s)),
        }
    }
    ways.iter()
        .for_each(|claims| ends.extend(shared_equally(claims, BYTES_PER_S)));
    ends.extend(shared_equally(&works, 1.0));
    ends
}

#[test]
fn flows_and_work_end_by_one_clock_when_each_alone_would() {
    let path = std::env::temp_dir().join(format!("pocketsim-{}.xml", std::process::id()));
    std::fs::write(&path, PLATFORM).expect("a folder for files of tests");
    let text = path.to_str().expect("a path of text");
    let mut world = Joined::new(&joined(text)).expect("`make simgrid` was run");
    std::fs::remove_file(&path).expect("it was written");
    let script = script();
    let found = ends(&mut world, &script);
    let expected = expected(&script);
    assert_eq!(found.len(), expected.len());
    assert!(
        found.is_sorted_by(|one, other| one.1 <= other.1),
        "time does not go back"
    );
    for &(token, found_s) in &found {
        let difference_s = (found_s - expected[&token]).abs();
        assert!(
            difference_s < 1e-9 * found_s.max(1.0),
            "{token}: {found_s}, {}",
            expected[&token]
        );
    }
    let last = [script.len() as u32 - 1, script.len() as u32 - 2];
    let order: Vec<u32> = found
        .iter()
        .rev()
        .take(2)
        .rev()
        .map(|&(token, _)| token)
        .collect();
    assert_eq!(order, last, "of one moment, the flow ends before the work");
}
