//! Both halves of control against each other, on a lossy table.

use std::sync::Arc;

use pocketsim_probe_core::trade::control::Control;
use pocketsim_probe_core::trade::host::Host;
use pocketsim_probe_core::trade::negotiation::{Goal, Negotiation};
use pocketsim_probe_core::trade::node::Node;
use pocketsim_probe_core::trade::store::Store;
use pocketsim_probe_core::trade::Carrier;
use pocketsim_protocols::crypto::Key;
use proptest::prelude::*;

fn node(secret: u8) -> Node {
    Node::new([secret; 32], Store::default(), Arc::new(|| 0.0))
}

fn negotiation(session: u64) -> Negotiation {
    Negotiation::new(session, Key([session as u8; 32]), Carrier::Udp)
}

/// Lets time pass until the goal is reached; the questions that were put.
fn talk(
    dialler: &mut Negotiation,
    host: &mut Host,
    node: &Node,
    mut arrives: impl FnMut() -> bool,
) -> Vec<Control> {
    let mut asked = Vec::new();
    for step in 0..10_000 {
        if dialler.is_reached() {
            return asked;
        }
        let Some(question) = dialler.poll(f64::from(step) * 0.05) else {
            continue;
        };
        asked.push(question.clone());
        if arrives() {
            let answer = host.answer(&question, node);
            if let Some(answer) = answer.filter(|_| arrives()) {
                dialler.receive(answer);
            }
        }
    }
    panic!("no agreement after {asked:?}");
}

fn names(asked: &[Control]) -> Vec<&'static str> {
    let name = |control: &Control| match control {
        Control::Hello { .. } => "hello",
        Control::Start { .. } => "start",
        Control::Finish { .. } => "finish",
        _ => "no question",
    };
    asked.iter().map(name).collect()
}

#[test]
fn one_question_each_when_nothing_is_lost() {
    let (mut dialler, mut host, node) = (negotiation(1), Host::default(), node(1));
    let asked = talk(&mut dialler, &mut host, &node, || true);
    assert_eq!(names(&asked), ["hello", "start"]);
    dialler.aim(Goal::Summarised(0));
    assert_eq!(
        names(&talk(&mut dialler, &mut host, &node, || true)),
        ["finish"]
    );
    assert_eq!(dialler.summary().map(|tally| tally.stored), Some(0));
    dialler.aim(Goal::Trading(1));
    assert_eq!(
        names(&talk(&mut dialler, &mut host, &node, || true)),
        ["start"]
    );
    assert_eq!(node.with_log(|log| log.runs.len()), 2);
}

#[test]
fn questions_are_repeated_with_growing_patience() {
    let mut dialler = negotiation(1);
    let times: Vec<f64> = (0..100)
        .map(|step| f64::from(step) * 0.05)
        .filter(|&now_s| dialler.poll(now_s).is_some())
        .collect();
    let expected = [0.0, 0.2, 0.6, 1.4, 2.4, 3.4, 4.4];
    assert_eq!(times.len(), expected.len(), "{times:?}");
    for (time, expected) in times.iter().zip(expected) {
        assert!((time - expected).abs() < 0.06, "{times:?}");
    }
}

#[test]
fn a_listener_that_was_started_again_is_met_again() {
    let (mut dialler, mut host, first) = (negotiation(1), Host::default(), node(1));
    talk(&mut dialler, &mut host, &first, || true);
    dialler.aim(Goal::Trading(7));
    talk(&mut dialler, &mut host, &first, || true);
    let (mut host, node) = (Host::default(), node(2));
    dialler.aim(Goal::Summarised(7));
    let asked = talk(&mut dialler, &mut host, &node, || true);
    assert_eq!(names(&asked), ["finish", "hello", "start", "finish"]);
    assert_eq!(node.with_log(|log| log.runs[0].repetition), 7);
}

#[test]
fn doubt_asks_without_giving_up_the_peer() {
    let (mut dialler, mut host, node) = (negotiation(1), Host::default(), node(1));
    talk(&mut dialler, &mut host, &node, || true);
    dialler.doubt();
    assert!(dialler.is_reached());
    let question = dialler.poll(100.0).expect("who is there?");
    let answer = host.answer(&question, &node).expect("the same");
    assert_eq!(dialler.receive(answer), None);
    assert_eq!(dialler.poll(200.0), None);
}

#[test]
fn another_session_s_answers_change_nothing() {
    let mut dialler = negotiation(1);
    for stray in [
        Control::Welcome {
            session: 2,
            key: Key([2; 32]),
            number: 1,
        },
        Control::Ready {
            session: 2,
            repetition: 0,
        },
        Control::Full { session: 2 },
    ] {
        assert_eq!(dialler.receive(stray), None);
    }
    assert!(!dialler.is_reached() && !dialler.is_full());
}

#[test]
fn diallers_get_numbers_and_keep_them() {
    let (mut host, node) = (Host::default(), node(1));
    let mut hello = |session: u64, number| {
        let key = Key([session as u8; 32]);
        let hello = Control::Hello {
            session,
            key,
            carrier: Carrier::Tftp,
            repetition: 0,
            number,
        };
        match host.answer(&hello, &node) {
            Some(Control::Welcome { number, .. }) => number,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(hello(10, 0), 1);
    assert_eq!(hello(11, 5), 5, "after a restart of the listener");
    assert_eq!(hello(12, 5), 2, "taken");
    assert_eq!(hello(10, 0), 1, "asked again");
    assert_eq!(node.with_log(|log| log.runs.len()), 3);
}

#[test]
fn a_listener_remembers_so_many_and_says_so() {
    let (mut host, node) = (Host::default(), node(1));
    let mut full = 0;
    for session in 0..4_200u64 {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&session.to_be_bytes());
        let hello = Control::Hello {
            session,
            key: Key(key),
            carrier: Carrier::Udp,
            repetition: 0,
            number: 0,
        };
        full += u32::from(host.answer(&hello, &node) == Some(Control::Full { session }));
    }
    assert_eq!(full, 4_200 - 4_095, "everybody but itself");
}

#[test]
fn unknown_sessions_are_asked_who_they_are() {
    let (mut host, node) = (Host::default(), node(1));
    let (session, repetition) = (1, 0);
    for question in [
        Control::Start {
            session,
            repetition,
        },
        Control::Finish {
            session,
            repetition,
        },
    ] {
        assert_eq!(host.answer(&question, &node), Some(Control::WhoAreYou));
    }
    assert_eq!(host.answer(&Control::WhoAreYou, &node), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn they_agree_over_any_link(losses in proptest::collection::vec(any::<bool>(), 1..40)) {
        let (mut dialler, mut host, node) = (negotiation(1), Host::default(), node(1));
        let mut losses = losses.into_iter();
        for repetition in 0..3 {
            dialler.aim(Goal::Trading(repetition));
            talk(&mut dialler, &mut host, &node, || losses.next().unwrap_or(true));
            dialler.aim(Goal::Summarised(repetition));
            talk(&mut dialler, &mut host, &node, || losses.next().unwrap_or(true));
        }
        let repetitions: Vec<u32> =
            node.with_log(|log| log.runs.iter().map(|run| run.repetition).collect());
        prop_assert_eq!(repetitions, [0, 1, 2]);
    }
}
