//! Both halves of control against each other, on a lossy table.

use std::net::SocketAddr;
use std::sync::Arc;

use pocketsim_probe_core::trade::control::{Control, Hello};
use pocketsim_probe_core::trade::envelope::{seal, Envelope};
use pocketsim_probe_core::trade::host::Host;
use pocketsim_probe_core::trade::negotiation::{Goal, Met, Negotiation};
use pocketsim_probe_core::trade::node::Node;
use pocketsim_probe_core::trade::store::Store;
use pocketsim_probe_core::trade::Carrier;
use proptest::prelude::*;

fn node(secret: u8) -> Node {
    Node::new([secret; 32], Store::default(), Arc::new(|| 0.0))
}

/// A dialler: its secret is its session.
struct Dialler {
    node: Node,
    asks: Negotiation,
}

fn dialler(session: u8) -> Dialler {
    let node = node(session);
    let asks = Negotiation::new(session.into(), node.key(), Carrier::Udp);
    Dialler { node, asks }
}

/// The first ten proposals are of repetition 0, the next of 1, and so on.
fn trading(repetition: u32) -> Goal {
    Goal::Trading {
        repetition,
        first_sequence: 10 * repetition,
    }
}

impl Dialler {
    /// What comes of an answer that `node` signed.
    fn hear(&mut self, answer: &Control, node: &Node) -> Option<Met> {
        let bytes = seal(answer, node);
        self.asks.receive(&Envelope::open(&bytes).expect("sealed"))
    }
}

pub fn host() -> Host {
    Host::new([7; 32])
}

fn address() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 5_000))
}

/// The answer to a question that `by` signed.
fn ask(host: &mut Host, question: &Control, by: &Node, node: &Node) -> Option<Control> {
    ask_from(host, question, by, node, address())
}

fn ask_from(
    host: &mut Host,
    question: &Control,
    by: &Node,
    node: &Node,
    from: SocketAddr,
) -> Option<Control> {
    let bytes = seal(question, by);
    host.answer(&Envelope::open(&bytes).expect("sealed"), from, node)
}

fn hello(session: u64, by: &Node, number: u32, cookie: [u8; 16]) -> Control {
    Control::Hello(Hello {
        session,
        key: by.key(),
        carrier: Carrier::Tftp,
        repetition: 0,
        number,
        round: 0,
        cookie,
    })
}

/// The answer to a hello that says its cookie.
fn admit(
    host: &mut Host,
    session: u64,
    by: &Node,
    node: &Node,
    from: SocketAddr,
) -> Option<Control> {
    let asked = ask_from(host, &hello(session, by, 0, [0; 16]), by, node, from);
    let Some(Control::Cookie { cookie, .. }) = asked else {
        panic!("{asked:?}")
    };
    ask_from(host, &hello(session, by, 0, cookie), by, node, from)
}

/// Lets time pass until the goal is reached; the questions that were put.
fn talk(
    dialler: &mut Dialler,
    host: &mut Host,
    node: &Node,
    mut arrives: impl FnMut() -> bool,
) -> Vec<Control> {
    let mut asked = Vec::new();
    for step in 0..10_000 {
        if dialler.asks.is_reached() {
            return asked;
        }
        let Some(question) = dialler.asks.poll(f64::from(step) * 0.05) else {
            continue;
        };
        asked.push(question.clone());
        if arrives() {
            let answer = ask(host, &question, &dialler.node, node);
            if let Some(answer) = answer.filter(|_| arrives()) {
                dialler.hear(&answer, node);
            }
        }
    }
    panic!("no agreement after {asked:?}");
}

fn names(asked: &[Control]) -> Vec<&'static str> {
    let name = |control: &Control| match control {
        Control::Hello(_) => "hello",
        Control::Start { .. } => "start",
        Control::Finish { .. } => "finish",
        _ => "no question",
    };
    asked.iter().map(name).collect()
}

#[test]
fn one_question_each_when_nothing_is_lost() {
    let (mut dialler, mut host, node) = (dialler(1), host(), node(9));
    let asked = talk(&mut dialler, &mut host, &node, || true);
    assert_eq!(names(&asked), ["hello", "hello", "start"], "for the cookie");
    dialler.asks.aim(Goal::Summarised(0));
    assert_eq!(
        names(&talk(&mut dialler, &mut host, &node, || true)),
        ["finish"]
    );
    assert_eq!(dialler.asks.summary().map(|tally| tally.stored), Some(0));
    dialler.asks.aim(trading(1));
    assert_eq!(
        names(&talk(&mut dialler, &mut host, &node, || true)),
        ["start"]
    );
    assert_eq!(node.with_log(|log| log.runs.len()), 2);
    assert_eq!(host.counts(), Default::default());
}

#[test]
fn questions_are_repeated_with_growing_patience() {
    let mut dialler = dialler(1);
    let times: Vec<f64> = (0..100)
        .map(|step| f64::from(step) * 0.05)
        .filter(|&now_s| dialler.asks.poll(now_s).is_some())
        .collect();
    let expected = [0.0, 0.2, 0.6, 1.4, 2.4, 3.4, 4.4];
    assert_eq!(times.len(), expected.len(), "{times:?}");
    for (time, expected) in times.iter().zip(expected) {
        assert!((time - expected).abs() < 0.06, "{times:?}");
    }
}

#[test]
fn a_listener_that_was_started_again_is_met_again() {
    let (mut dialler, mut first_host, first) = (dialler(1), host(), node(9));
    talk(&mut dialler, &mut first_host, &first, || true);
    dialler.asks.aim(trading(7));
    talk(&mut dialler, &mut first_host, &first, || true);
    let (mut host, node) = (Host::new([8; 32]), node(8));
    dialler.asks.aim(Goal::Summarised(7));
    let asked = talk(&mut dialler, &mut host, &node, || true);
    let expected = ["finish", "hello", "hello", "start", "finish"];
    assert_eq!(names(&asked), expected);
    assert!(asked.contains(&Control::Start {
        session: 1,
        repetition: 7,
        first_sequence: 70,
    }));
    assert_eq!(node.with_log(|log| log.runs[0].repetition), 7);
}

#[test]
fn doubt_asks_without_giving_up_the_peer() {
    let (mut dialler, mut host, node) = (dialler(1), host(), node(9));
    talk(&mut dialler, &mut host, &node, || true);
    // Anybody may say it: it is no more than a reason to ask.
    assert_eq!(dialler.hear(&Control::WhoAreYou, &node), None);
    assert!(dialler.asks.is_reached());
    let question = dialler.asks.poll(100.0).expect("who is there?");
    let answer = ask(&mut host, &question, &dialler.node, &node).expect("the same");
    assert_eq!(dialler.hear(&answer, &node), None, "nobody new");
    assert_eq!(dialler.asks.poll(200.0), None);
    // The answer to an earlier question says nothing, nor does one that nobody asked for.
    dialler.asks.doubt();
    assert_eq!(dialler.hear(&answer, &node), None);
    assert!(dialler.asks.poll(300.0).is_some(), "still asked");
}

#[test]
fn what_another_signed_changes_nothing() {
    let (mut dialler, mut host, node, thief) = (dialler(1), host(), node(9), node_of_a_thief());
    talk(&mut dialler, &mut host, &node, || true);
    let (session, repetition) = (1, 0);
    let tally = Default::default();
    dialler.asks.aim(Goal::Summarised(0));
    let answers = [
        Control::Welcome {
            session,
            key: thief.key(),
            number: 5,
            round: 0,
        },
        Control::Welcome {
            session,
            key: node.key(),
            number: 5,
            round: 1,
        },
        Control::Summary {
            session,
            repetition,
            tally,
        },
        Control::Full { session },
    ];
    for answer in answers {
        dialler.asks.doubt();
        assert_eq!(dialler.hear(&answer, &thief), None);
    }
    assert!(!dialler.asks.is_reached() && !dialler.asks.is_full());
    dialler.hear(&Control::Full { session }, &node);
    assert!(dialler.asks.is_full(), "the listener itself may say so");
}

fn node_of_a_thief() -> Node {
    node(66)
}

#[test]
fn a_forged_question_moves_nobody() {
    let (mut dialler, mut host, node) = (dialler(1), host(), node(9));
    let thief = node_of_a_thief();
    talk(&mut dialler, &mut host, &node, || true);
    let session = 1;
    let start = Control::Start {
        session,
        repetition: u32::MAX,
        first_sequence: 0,
    };
    let finish = Control::Finish {
        session,
        repetition: 0,
    };
    for question in [start, finish] {
        assert_eq!(ask(&mut host, &question, &thief, &node), None);
    }
    assert_eq!(host.counts().forged, 2);
    dialler.asks.aim(trading(1));
    talk(&mut dialler, &mut host, &node, || true);
    let repetitions: Vec<u32> =
        node.with_log(|log| log.runs.iter().map(|run| run.repetition).collect());
    assert_eq!(repetitions, [0, 1]);
}

#[test]
fn a_key_is_of_one_session_and_of_its_owner() {
    let (mut host, node, owner) = (host(), node(9), node(1));
    assert!(admit(&mut host, 1, &owner, &node, address()).is_some());
    // The owner's own second session, or its hello said again by others.
    assert_eq!(admit(&mut host, 2, &owner, &node, address()), None);
    assert_eq!(host.counts().taken, 1);
    let asked = ask(&mut host, &hello(3, &owner, 0, [0; 16]), &owner, &node);
    let Some(Control::Cookie { cookie, .. }) = asked else {
        panic!("{asked:?}")
    };
    let thief = node_of_a_thief();
    let forged = hello(3, &owner, 0, cookie);
    assert_eq!(ask(&mut host, &forged, &thief, &node), None);
    assert_eq!(host.counts().forged, 1);
    // And the listener is no dialler of its own.
    assert_eq!(admit(&mut host, 4, &node, &node, address()), None);
    assert_eq!(host.current_runs().count(), 1);
}

#[test]
fn a_session_is_of_one_key() {
    let (mut host, node, owner) = (host(), node(9), node(1));
    assert!(admit(&mut host, 1, &owner, &node, address()).is_some());
    let thief = node_of_a_thief();
    assert_eq!(admit(&mut host, 1, &thief, &node, address()), None);
}

#[test]
fn nothing_is_remembered_of_a_hello_without_its_cookie() {
    let (mut host, node) = (host(), node(9));
    for secret in 0..200 {
        let by = self::node(secret);
        let hello = hello(secret.into(), &by, 0, [1; 16]);
        let answer = ask(&mut host, &hello, &by, &node);
        assert!(matches!(answer, Some(Control::Cookie { .. })), "{answer:?}");
    }
    assert_eq!(host.current_runs().count(), 0);
}

#[test]
fn another_session_s_answers_change_nothing() {
    let (mut dialler, node) = (dialler(1), node(9));
    for stray in [
        Control::Welcome {
            session: 2,
            key: node.key(),
            number: 1,
            round: 0,
        },
        Control::Ready {
            session: 2,
            repetition: 0,
        },
        Control::Full { session: 2 },
    ] {
        assert_eq!(dialler.hear(&stray, &node), None);
    }
    assert!(!dialler.asks.is_reached() && !dialler.asks.is_full());
}

#[test]
fn diallers_get_numbers_and_keep_them() {
    let (mut host, node) = (host(), node(9));
    let mut number = |session: u8, wants| {
        let by = self::node(session);
        let asked = ask(
            &mut host,
            &hello(session.into(), &by, wants, [0; 16]),
            &by,
            &node,
        );
        let Some(Control::Cookie { cookie, .. }) = asked else {
            panic!("{asked:?}")
        };
        let hello = hello(session.into(), &by, wants, cookie);
        match ask(&mut host, &hello, &by, &node) {
            Some(Control::Welcome { number, .. }) => number,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(number(10, 0), 1);
    assert_eq!(number(11, 5), 5, "after a restart of the listener");
    assert_eq!(number(12, 5), 2, "taken");
    assert_eq!(number(13, u32::MAX), 3, "no number of a dialler");
    assert_eq!(number(10, 0), 1, "asked again");
    assert_eq!(node.with_log(|log| log.runs.len()), 4);
}

/// A node whose time passes as it is told, so that nobody is in a hurry.
fn node_of_many(secret: [u8; 32]) -> Node {
    let seconds = std::sync::atomic::AtomicU64::new(0);
    let tick = move || seconds.fetch_add(1, std::sync::atomic::Ordering::Relaxed) as f64 * 0.01;
    Node::new(secret, Store::default(), Arc::new(tick))
}

#[test]
fn one_host_takes_a_quarter_of_the_places_and_leaves_the_rest() {
    let (mut host, node) = (host(), node_of_many([9; 32]));
    let mut full = 0;
    for session in 0..1_100u64 {
        let mut secret = [0; 32];
        secret[..8].copy_from_slice(&session.to_be_bytes());
        let by = Node::new(secret, Store::default(), Arc::new(|| 0.0));
        let answer = admit(&mut host, session, &by, &node, address());
        full += u64::from(answer == Some(Control::Full { session }));
    }
    assert_eq!((full, host.counts().crowded), (76, 76));
    let elsewhere = SocketAddr::from(([192, 0, 2, 2], 5_000));
    let by = node_of_a_thief();
    let welcome = admit(&mut host, 9_999, &by, &node, elsewhere);
    assert!(matches!(welcome, Some(Control::Welcome { .. })));
}

#[test]
fn who_asks_too_often_is_not_looked_at() {
    let (mut host, node, by) = (host(), node(9), node(1));
    admit(&mut host, 1, &by, &node, address());
    let start = Control::Start {
        session: 1,
        repetition: 0,
        first_sequence: 0,
    };
    let answered = (0..1_000)
        .filter(|_| ask(&mut host, &start, &by, &node).is_some())
        .count();
    assert_eq!(answered, 99, "and the hello");
    assert_eq!(host.counts().hurried, 901);
}

#[test]
fn unknown_sessions_are_asked_who_they_are() {
    let (mut host, node, by) = (host(), node(9), node(1));
    let (session, repetition) = (1, 0);
    for question in [
        Control::Start {
            session,
            repetition,
            first_sequence: 0,
        },
        Control::Finish {
            session,
            repetition,
        },
    ] {
        let answer = ask(&mut host, &question, &by, &node);
        assert_eq!(answer, Some(Control::WhoAreYou));
    }
    assert_eq!(ask(&mut host, &Control::WhoAreYou, &by, &node), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn they_agree_over_any_link(losses in proptest::collection::vec(any::<bool>(), 1..40)) {
        let (mut dialler, mut host, node) = (dialler(1), host(), node_of_many([9; 32]));
        let mut losses = losses.into_iter();
        for repetition in 0..3 {
            dialler.asks.aim(trading(repetition));
            talk(&mut dialler, &mut host, &node, || losses.next().unwrap_or(true));
            dialler.asks.aim(Goal::Summarised(repetition));
            talk(&mut dialler, &mut host, &node, || losses.next().unwrap_or(true));
        }
        let begun: Vec<(u32, u32)> = node.with_log(|log| {
            let runs = log.runs.iter();
            runs.map(|run| (run.repetition, run.first_sequence)).collect()
        });
        prop_assert_eq!(begun, [(0, 0), (1, 10), (2, 20)]);
    }
}
