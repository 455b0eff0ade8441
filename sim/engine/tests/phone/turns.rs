//! What a thread of many lanes does next, where it takes turns with another one on the only core.

use crate::common::puppet::{act_over_in_hybrid, datagram, say, send, work, Act, Cue, Parcel};
use crate::common::{arrive, cost, plan, times, turn};
use _engine::plan::Plan;
use pocketsim_protocols::contract::{
    Datagram, Delivery, EventKind, Lane, Machine, NodeId, Operation, Output, OutputsOf, Path,
    Seconds, Transport,
};

/// Reads and writes on a lane of its own, and serves on another, all of one thread; what sends is of
/// one of its own.
struct Runtime {
    /// When its timer rings, unless it has.
    rings_s: Option<Seconds>,
}

enum Step {
    Read(NodeId, Parcel),
    Serve(NodeId, Parcel),
    Write(NodeId, Parcel),
    Ring,
}

const DRIVER: Lane = Lane(Lane::FIRST_TASK);
const APP: Lane = Lane(Lane::FIRST_TASK + 1);

fn post(lane: Lane, request: Step, out: &mut OutputsOf<Runtime>) {
    out.push(Output::Post { lane, request });
}

fn seal() -> Output<Datagram<Parcel>, Step, Delivery<Parcel>> {
    Output::Work {
        operation: Operation::PacketSeal,
        bytes: 0,
    }
}

impl Machine for Runtime {
    type Message = Datagram<Parcel>;
    type Request = Step;
    type Value = Delivery<Parcel>;

    fn receive(
        &mut self,
        from: NodeId,
        datagram: Self::Message,
        _: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        out.push(Output::Work {
            operation: Operation::UdpReceive,
            bytes: 0,
        });
        post(DRIVER, Step::Read(from, datagram.body), out);
    }

    fn command(&mut self, request: Step, _: Seconds, out: &mut OutputsOf<Self>) {
        match request {
            Step::Read(from, parcel) => post(APP, Step::Serve(from, parcel), out),
            Step::Serve(from, parcel) => {
                let value = Delivery::Received(parcel);
                out.push(Output::Deliver { from, value });
            }
            Step::Ring => out.push(seal()),
            Step::Write(to, parcel) => {
                let message = datagram(parcel, Path::Direct);
                out.push(seal());
                out.push(Output::Send { to, message });
            }
        }
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        if self.rings_s.take_if(|rings_s| *rings_s <= now).is_some() {
            post(DRIVER, Step::Ring, out);
        }
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        self.rings_s.map(|rings_s| (rings_s, "timer"))
    }
}

impl Transport<Parcel> for Runtime {
    type Body = Parcel;

    fn transmit(&mut self, to: NodeId, parcel: Parcel, _: Seconds, out: &mut OutputsOf<Self>) {
        post(DRIVER, Step::Write(to, parcel), out);
    }

    fn shut_down(&mut self, _: Seconds) -> Vec<(NodeId, Delivery<Parcel>)> {
        vec![]
    }

    fn thread_of(&self, lane: Lane) -> Lane {
        match lane {
            Lane::SEND => lane,
            _ => Lane::RECEIVE,
        }
    }

    fn is_of_tasks(&self, lane: Lane) -> bool {
        lane == APP
    }
}

/// Phone 0 signs what it sends for 1 ms and checks what it gets for as long, on one core that
/// threads take turns on; phone 1 takes no time for anything.
fn two_phones() -> Plan {
    let mut plan = plan(2);
    plan.profiles.push(plan.profiles[0].clone());
    plan.phones.profile[1] = 1;
    plan.profiles[0].eevdf = true;
    cost(&mut plan, Operation::Sign, 1e-3);
    cost(&mut plan, Operation::Verify, 1e-3);
    cost(&mut plan, Operation::UdpReceive, 0.1e-3);
    cost(&mut plan, Operation::PacketSeal, SEALED_S);
    plan
}

/// When phone 0 has checked what it got, and phone 1 got something, in order.
fn run(plan: Plan, answers: bool) -> [Vec<Seconds>; 2] {
    run_with_timer(plan, answers, None)
}

/// The same, of runtimes whose timer rings then, and makes a packet.
fn run_with_timer(plan: Plan, answers: bool, rings_s: Option<Seconds>) -> [Vec<Seconds>; 2] {
    let (mut checked, mut got) = (1, 100);
    let play = move |node, cue| -> Vec<Act> {
        match (node, cue) {
            (0, Cue::Asked(bytes)) => vec![work(Operation::Sign), send(1, 9, bytes)],
            (0, Cue::Got(parcel)) => {
                checked += 1;
                let done = [work(Operation::Verify), say(checked)];
                let answer = answers.then(|| send(1, parcel.number, 100));
                done.into_iter().chain(answer).collect()
            }
            (_, Cue::Asked(bytes)) => vec![send(0, bytes, bytes)],
            (_, Cue::Got(_)) => {
                got += 1;
                vec![say(got)]
            }
            (_, Cue::Failed(_)) => vec![],
        }
    };
    let trace = act_over_in_hybrid(|| Runtime { rings_s }, plan, play);
    let rows = times(&trace, EventKind::Take).into_iter();
    let nodes = crate::common::nodes(&trace, EventKind::Take);
    let rows: Vec<_> = rows.zip(nodes).collect();
    let of = |node| {
        let own = rows.iter().filter(|row| row.1 == node);
        own.map(|row| row.0).collect()
    };
    [of(0), of(1)]
}

#[test]
fn what_arrived_while_another_thread_had_the_core_comes_before_what_that_handed_over() {
    let mut plan = two_phones();
    let way_s = way_s(&plan);
    arrive(&mut plan, 1.0, 1, 0);
    // It is there in the middle of phone 0's signature.
    arrive(&mut plan, 1.0 + way_s - 0.5e-3, 0, 1);
    let [checked_s, got_s] = run(plan, false);
    let signed_s = 1.0 + way_s + 0.5e-3;
    near(&checked_s, &[signed_s + 1.1e-3]);
    near(&got_s, &[checked_s[0] + SEALED_S + way_s]);
}

#[test]
fn what_a_task_wakes_comes_before_the_next_task_and_a_timer_when_they_are_done() {
    let mut plan = two_phones();
    arrive(&mut plan, 1.0, 1, 0);
    arrive(&mut plan, 1.0 + 1e-6, 1, 0);
    let way_s = way_s(&plan);
    // Both are there when the thread wakes, and read together.
    arrive(&mut plan, 1.0 + way_s - 0.5e-3, 0, 1);
    let signed_s = 1.0 + way_s + 0.5e-3;
    // In the middle of the first check.
    for rings_s in [None, Some(signed_s + 0.7e-3)] {
        let [checked_s, got_s] = run_with_timer(plan.clone(), true, rings_s);
        near(&checked_s, &[signed_s + 1.2e-3, signed_s + 2.3e-3]);
        let sent_s = [0, 1].map(|number: usize| checked_s[number] + SEALED_S);
        near(&got_s[..2], &sent_s.map(|sent_s| sent_s + way_s));
        assert!(got_s[2] > got_s[1], "what was handed over");
    }
}

#[test]
fn what_was_handed_over_is_gone_with_the_phone() {
    let mut plan = two_phones();
    arrive(&mut plan, 1.0, 1, 0);
    let way_s = way_s(&plan);
    arrive(&mut plan, 1.0 + way_s - 0.5e-3, 0, 1);
    // Between the end of the signature and of the check.
    turn(&mut plan, 1.0 + way_s + 1e-3, 0, false);
    turn(&mut plan, 2.0, 0, true);
    arrive(&mut plan, 3.0, 0, 1);
    let [checked_s, got_s] = run(plan, false);
    near(&checked_s, &[]);
    near(&got_s, &[3.0 + 1e-3 + SEALED_S + way_s]);
}

#[test]
fn whose_computer_shares_its_core_gets_what_is_handed_over_at_once() {
    let mut plan = two_phones();
    plan.phones.cores_of = vec![1, 1];
    arrive(&mut plan, 1.0, 1, 0);
    let way_s = way_s(&plan);
    arrive(&mut plan, 1.0 + way_s - 0.5e-3, 0, 1);
    let [checked_s, got_s] = run(plan, false);
    assert_eq!((checked_s.len(), got_s.len()), (1, 1));
    // Before the check is over, with which the core is shared.
    assert!(got_s[0] - way_s < checked_s[0], "{got_s:?} {checked_s:?}");
}

/// From one phone to the other.
fn way_s(plan: &Plan) -> Seconds {
    let access = &plan.access[0];
    let wire_bytes = f64::from(100 + HEADERS_BYTES);
    2.0 * access.latency_s
        + wire_bytes / access.up_bytes_per_s
        + wire_bytes / access.down_bytes_per_s
}

fn near(found_s: &[Seconds], expected_s: &[Seconds]) {
    assert_eq!(found_s.len(), expected_s.len(), "{found_s:?}");
    for (found_s, expected_s) in found_s.iter().zip(expected_s) {
        assert!(
            (found_s - expected_s).abs() < 1e-6,
            "{found_s} {expected_s}"
        );
    }
}

/// UDP (RFC 768) over IPv4 (RFC 791).
const HEADERS_BYTES: u32 = 28;
const SEALED_S: Seconds = 0.1e-3;
