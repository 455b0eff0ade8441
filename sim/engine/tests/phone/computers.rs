//! Phones that are processes of one computer share its cores as the work of one phone does.

use std::collections::BTreeMap;

use crate::common::sends::{choose, uniform};
use crate::common::{plan, Numbers};
use _engine::plan::Plan;
use _engine::resources::hybrid::Hybrid;
use _engine::resources::{Advance, CpuDemand, Happening, Spender, Thread, World};
use pocketsim_protocols::contract::{NodeId, Seconds};

/// Five phones of two cores: the first three are one computer, the other two have their own.
fn computer() -> Plan {
    let mut plan = plan(5);
    plan.profiles[0].cores = 2;
    plan.phones.cores_of = vec![0, 0, 0, 3, 4];
    plan
}

/// When each piece of work ends, and whether it is done, by token; `user` maps phones.
fn ends(
    plan: &Plan,
    script: &[(Seconds, u32, CpuDemand)],
    user: fn(u32) -> u32,
) -> BTreeMap<u32, (u64, bool)> {
    let mut world = Hybrid::new(plan);
    let mut found = BTreeMap::new();
    let mut take = |world: &mut Hybrid, until_s: Seconds| {
        while let Some(happening) = world.advance(until_s) {
            match happening {
                Happening::Work(token, done) => {
                    found.insert(token, (world.clock().to_bits(), done));
                }
                Happening::Wake => break,
                Happening::Hop(..) | Happening::Lost(_) => unreachable!("nothing is sent"),
            }
        }
    };
    for (token, &(date, phone, demand)) in (0..).zip(script) {
        world.wake_at(date);
        take(&mut world, date);
        world.spend(token, NodeId(user(phone)), demand);
    }
    take(&mut world, 1e9);
    found
}

#[test]
fn work_of_several_phones_ends_as_if_it_were_of_one() {
    let mut numbers = Numbers(5);
    let mut date = 0.0;
    let script: Vec<_> = (0..5000)
        .map(|_| {
            date += uniform(&mut numbers);
            let demand = CpuDemand {
                cpu_s: 4.0 * uniform(&mut numbers),
                threads: 1 + choose(&mut numbers, 3),
                priority: 1.0,
                thread: Thread::Number(0),
            };
            (date, choose(&mut numbers, 3), demand)
        })
        .collect();
    let found = ends(&computer(), &script, |phone| phone);
    let mut alone = computer();
    alone.phones.cores_of.clear();
    assert_eq!(found.len(), script.len());
    assert_eq!(found, ends(&alone, &script, |_| 0));
    assert_ne!(found, ends(&alone, &script, |phone| phone));
}

#[test]
fn a_process_that_ends_leaves_its_cores_to_the_others() {
    let mut world = Hybrid::new(&computer());
    let demand = CpuDemand {
        cpu_s: 2.0,
        threads: 1,
        priority: 1.0,
        thread: Thread::Number(0),
    };
    // Four pieces on two cores: each has half of one, until two of them fail at 1 s.
    for (token, phone) in [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3)] {
        world.spend(token, NodeId(phone), demand);
    }
    world.wake_at(1.0);
    assert_eq!(world.advance(9.0), Some(Happening::Wake));
    world.set_on(NodeId(1), false);
    let mut found = Vec::new();
    while let Some(happening) = world.advance(9.0) {
        found.push((happening, world.clock()));
    }
    let expected = [
        (Happening::Work(1, false), 1.0),
        (Happening::Work(2, false), 1.0),
        (Happening::Work(4, true), 2.0), // its phone has two cores of its own
        (Happening::Work(0, true), 2.5),
        (Happening::Work(3, true), 2.5),
    ];
    assert_eq!(found, expected);
}
