//! Lanes of a phone: what runs after what, what is asked of the cores, and with which weight.

use crate::common::puppet::{act, act_in, post, said, say, send, work, Act, Cue};
use crate::common::{arrive, cost, plan, times, Closed};
use _engine::plan::Plan;
use _engine::resources::{CpuDemand, Thread};
use pocketsim_protocols::contract::{EventKind, Lane, NodeId, Operation, Output, Path};

const TASK: u32 = Lane::FIRST_TASK;

/// A phone that is asked for something at 1 s.
fn asked() -> Plan {
    let mut plan = plan(2);
    arrive(&mut plan, 1.0, 0, 1);
    plan
}

/// What cores are asked for when a phone acts on the plan's arrivals.
fn demands(plan: Plan, mut acts: impl FnMut() -> Vec<Act> + Clone) -> Vec<CpuDemand> {
    let world = Closed::default();
    act_in(world.clone(), Path::Direct, plan, move |_, cue| match cue {
        Cue::Asked(_) => acts(),
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    let demands = world.demands().into_iter();
    demands.map(|(_, demand)| demand).collect()
}

fn sign_verify_store() -> Vec<Act> {
    [Operation::Sign, Operation::Verify, Operation::Store]
        .map(work)
        .to_vec()
}

#[test]
fn operations_one_after_the_other_are_one_piece_of_work() {
    let mut plan = asked();
    cost(&mut plan, Operation::Sign, 0.25);
    cost(&mut plan, Operation::Verify, 0.5);
    cost(&mut plan, Operation::Store, 1.0);
    let demand = CpuDemand {
        cpu_s: 1.75,
        threads: 1,
        priority: 1.0,
        thread: Thread::Number(Lane::SEND.0),
    };
    assert_eq!(demands(plan, sign_verify_store), [demand]);
}

#[test]
fn an_operation_on_other_threads_is_a_piece_of_its_own() {
    let mut plan = asked();
    for operation in [Operation::Sign, Operation::Verify, Operation::Store] {
        cost(&mut plan, operation, 1.0);
    }
    plan.profiles[0].threads[Operation::Verify as usize] = 4;
    let pieces = demands(plan, sign_verify_store);
    let pieces: Vec<_> = pieces.iter().map(|of| (of.cpu_s, of.threads)).collect();
    assert_eq!(pieces, [(1.0, 1), (1.0, 4), (1.0, 1)]);
}

#[test]
fn a_row_between_two_operations_separates_them() {
    let mut plan = asked();
    cost(&mut plan, Operation::Sign, 1.0);
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(_) => vec![work(Operation::Sign), say(1), work(Operation::Sign), say(2)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    assert_eq!(times(&trace, EventKind::Take), [2.0, 3.0]);
}

#[test]
fn waits_of_one_piece_follow_its_core_seconds() {
    let mut plan = asked();
    cost(&mut plan, Operation::Sign, 1.0);
    plan.profiles[0].wait_s[Operation::Sign as usize] = 0.5;
    plan.profiles[0].wait_s[Operation::Verify as usize] = 0.25;
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(_) => vec![work(Operation::Sign), work(Operation::Verify), say(1)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    assert_eq!(times(&trace, EventKind::Take), [2.75]);
}

#[test]
fn what_costs_nothing_asks_for_no_core() {
    assert!(demands(asked(), sign_verify_store).is_empty());
}

#[test]
fn each_phone_computes_at_its_profiles_cost() {
    let mut plan = plan(2);
    plan.profiles.push(plan.profiles[0].clone());
    plan.phones.profile[1] = 1;
    for (profile, cpu_s) in plan.profiles.iter_mut().zip([1.0, 3.0]) {
        profile.cpu_s[Operation::Sign as usize] = cpu_s;
    }
    arrive(&mut plan, 1.0, 0, 1);
    arrive(&mut plan, 1.0, 1, 0);
    let world = Closed::default();
    act_in(world.clone(), Path::Direct, plan, |_, cue| match cue {
        Cue::Asked(_) => vec![work(Operation::Sign)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    let asked = world.demands().into_iter();
    let asked: Vec<_> = asked.map(|(phone, demand)| (phone, demand.cpu_s)).collect();
    assert_eq!(asked, [(NodeId(0), 1.0), (NodeId(1), 3.0)]);
}

#[test]
fn lanes_of_a_phone_work_beside_each_other() {
    let mut plan = asked();
    cost(&mut plan, Operation::Sign, 1.0);
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(100) => vec![post(TASK, 1), post(TASK + 1, 2), post(TASK, 3)],
        Cue::Asked(number) => vec![work(Operation::Sign), say(number)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    // Each on a core of its own in this world; the first task's second request waits for its first.
    assert_eq!(said(&trace), [1, 2, 3]);
    assert_eq!(times(&trace, EventKind::Take), [2.0, 2.0, 3.0]);
}

#[test]
fn what_a_layer_asks_for_comes_before_what_was_left_of_its_caller() {
    let trace = act(asked(), |_, cue| match cue {
        Cue::Asked(100) => vec![say(1), send(1, 0, 1000), say(2), post(Lane::SEND.0, 5)],
        Cue::Asked(number) => vec![say(number)],
        Cue::Got(_) | Cue::Failed(_) => vec![say(9)],
    });
    assert_eq!(said(&trace), [1, 2, 5, 9]);
}

#[test]
fn what_an_application_hands_up_goes_nowhere() {
    let trace = act(asked(), |_, cue| match cue {
        Cue::Asked(_) => vec![
            Output::Deliver {
                from: NodeId(1),
                value: (),
            },
            say(1),
        ],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    assert_eq!(said(&trace), [1]);
}

/// The priority of the send thread's work, which begins at 1 s like that of `tasks` tasks.
fn priority_beside(tasks: u32) -> f64 {
    let mut plan = asked();
    cost(&mut plan, Operation::Sign, 1.0);
    cost(&mut plan, Operation::Verify, 2.0);
    let world = Closed::default();
    act_in(world.clone(), Path::Direct, plan, move |_, cue| match cue {
        Cue::Asked(100) => {
            let mut acts: Vec<Act> = (0..tasks).map(|task| post(TASK + task, 1)).collect();
            acts.push(work(Operation::Sign));
            acts
        }
        Cue::Asked(_) => vec![work(Operation::Verify)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    let demands = world.demands();
    let is_task = |cpu_s: f64| cpu_s > 1.5;
    let of_tasks = demands.iter().filter(|(_, of)| is_task(of.cpu_s));
    assert!(of_tasks.clone().all(|(_, of)| of.priority == 1.0));
    assert_eq!(of_tasks.count(), tasks as usize);
    let thread = demands.iter().find(|(_, of)| !is_task(of.cpu_s));
    thread.expect("the thread works").1.priority
}

#[test]
fn a_thread_outweighs_tasks_where_there_are_any() {
    assert_eq!(priority_beside(0), 1.0);
    assert!(priority_beside(1) >= 1000.0);
    assert_eq!(priority_beside(1), priority_beside(7));
}

#[test]
fn a_task_that_is_done_weighs_no_more() {
    let mut plan = asked();
    arrive(&mut plan, 10.0, 0, 1);
    cost(&mut plan, Operation::Sign, 1.0);
    let world = Closed::default();
    act_in(world.clone(), Path::Direct, plan, |_, cue| match cue {
        Cue::Asked(100) => vec![work(Operation::Sign), post(TASK, 1)],
        Cue::Asked(_) => vec![work(Operation::Sign)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    let demands = world.demands().into_iter();
    let priorities: Vec<_> = demands.map(|(_, of)| of.priority).collect();
    // Thread, task, and nine seconds later the same again.
    assert_eq!(priorities, [1.0; 4]);
}

#[test]
fn a_thread_serves_what_it_got_before_it_goes_on_to_the_next() {
    let mut plan = asked();
    arrive(&mut plan, 1.5, 0, 1);
    cost(&mut plan, Operation::Sign, 1.0);
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(_) => vec![work(Operation::Sign), say(1), work(Operation::Sign), say(2)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    assert_eq!(said(&trace), [1, 2, 1, 2]);
    assert_eq!(times(&trace, EventKind::Take), [2.0, 3.0, 4.0, 5.0]);
}
