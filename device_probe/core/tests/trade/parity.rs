//! One conversation over real sockets and by machines on a table: the same observations.

use std::sync::Arc;
use std::time::Duration;

use pocketsim_probe_core::trade::control::{Control, Hello, NotControl};
use pocketsim_probe_core::trade::envelope::{seal, Envelope};
use pocketsim_probe_core::trade::log::Run;
use pocketsim_probe_core::trade::{Carrier, ListenOptions};
use pocketsim_protocols::contract::{AppRequest, Machine, NodeId, Output, Payload};
use pocketsim_protocols::crypto::{directory, Counted, Crypto, Real};
use pocketsim_protocols::trustchain::{Agent, AgentConfig};

use super::ends::Listener;
use super::node::{node, only};

/// What happened, and to which message.
type Observation = (String, u64, u64);

const DIALLER: NodeId = NodeId(1);
const LISTENER: NodeId = NodeId(0);
const MESSAGES: u32 = 20;

/// Every message is answered before the next; some are told twice.
fn is_repeated(number: u32) -> bool {
    number % 5 == 3
}

/// The same by two agents that hand each other blocks.
fn on_a_table<C: Crypto>() -> [Vec<Observation>; 2] {
    let keys = directory::<C>(1, 2);
    let agent = |node| {
        Agent::new(
            C::new(1, node),
            node,
            Arc::clone(&keys),
            AgentConfig::default(),
        )
    };
    let (mut listener, mut dialler) = (agent(LISTENER), agent(DIALLER));
    let mut seen = [Vec::new(), Vec::new()];
    let mut take = |agent: &mut Agent<C>, node: NodeId, input: Input| {
        let mut out = Vec::new();
        match input {
            Input::Propose => agent.command(
                AppRequest::Transact {
                    peer: LISTENER,
                    payload_bytes: 100,
                },
                0.0,
                &mut out,
            ),
            Input::Block(block) => {
                agent.receive(NodeId(1 - node.0), *block, 0.0, &mut out);
            }
        }
        let mut sent = None;
        for output in out {
            match output {
                Output::Observe(event) => seen[node.0 as usize].push((
                    event.kind.name().to_owned(),
                    event.message.0,
                    event.size_bytes.into(),
                )),
                Output::Send { message, .. } => sent = Some(Box::new(message)),
                _ => {}
            }
        }
        sent
    };
    for number in 0..MESSAGES {
        let proposal = take(&mut dialler, DIALLER, Input::Propose).expect("a proposal");
        let again = is_repeated(number).then(|| proposal.clone());
        let answer = take(&mut listener, LISTENER, Input::Block(proposal)).expect("an answer");
        assert_eq!(answer.message_id().sequence(), number);
        take(&mut dialler, DIALLER, Input::Block(answer));
        if let Some(again) = again {
            take(&mut listener, LISTENER, Input::Block(again));
        }
    }
    seen
}

enum Input {
    Propose,
    Block(Box<pocketsim_protocols::block::Block>),
}

fn said(bytes: &[u8]) -> Result<Control, NotControl> {
    Envelope::open(bytes).map(|envelope| envelope.control)
}

/// The dialler's node by hand, the listener a whole one behind its socket.
fn over_loopback() -> [Vec<Observation>; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("listener.jsonl");
    let listener = Listener::with(ListenOptions {
        output: Some(path.clone()),
        ..ListenOptions::new(([127, 0, 0, 1], 0).into())
    });
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(listener.address).expect("there");
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("positive");
    let mut buffer = [0; 2_000];
    let mut ask = |bytes: &[u8]| {
        socket.send(bytes).expect("sent");
        let length = socket.recv(&mut buffer).expect("an answer");
        buffer[..length].to_vec()
    };
    let dialler = node(9);
    let hello = |cookie| {
        let hello = Control::Hello(Hello {
            session: 1,
            key: dialler.key(),
            carrier: Carrier::Udp,
            repetition: 0,
            number: 0,
            round: 0,
            cookie,
        });
        seal(&hello, &dialler)
    };
    let Ok(Control::Cookie { cookie, .. }) = said(&ask(&hello([0; 16]))) else {
        panic!("no cookie")
    };
    let Ok(Control::Welcome { key, number, .. }) = said(&ask(&hello(cookie))) else {
        panic!("no welcome")
    };
    let peer = dialler.introduce(key, 0).expect("room");
    dialler.set_number(number);
    let run = Run::new(number, 0, Carrier::Udp, 0);
    dialler.begin(peer, run).expect("room");
    for number in 0..MESSAGES {
        let proposal = only(dialler.propose(peer, 100)).bytes;
        dialler.receive(&ask(&proposal)).expect("of the listener");
        if is_repeated(number) {
            socket.send(&proposal).expect("sent");
        }
    }
    // Its answer comes after the last block was dealt with: datagrams of one socket keep order.
    socket.send(&hello(cookie)).expect("sent");
    socket.recv(&mut [0; 2_000]).expect("an answer");
    listener.end();
    let ours = dialler.with_log(|log| {
        let seen = log.records.iter();
        seen.map(|one| {
            (
                one.kind.name().to_owned(),
                one.message.0,
                one.size_bytes.into(),
            )
        })
        .collect()
    });
    let text = std::fs::read_to_string(path).expect("written");
    let theirs = text.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let number = |name: &str| row[name].as_u64().expect("a number");
        let kind = row["kind"].as_str().expect("a text").to_owned();
        (kind, number("message_id"), number("message_size"))
    });
    [theirs.collect(), ours]
}

#[test]
fn sockets_and_machines_observe_the_same() {
    let seen = over_loopback();
    assert_eq!(seen, on_a_table::<Real>());
    assert_eq!(seen, on_a_table::<Counted>());
    let refused = seen[0].iter().filter(|(kind, ..)| kind == "refuse").count();
    assert_eq!(refused, 4, "the repeated ones");
}
