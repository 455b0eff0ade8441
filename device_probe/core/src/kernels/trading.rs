//! What the program that trades takes itself, beside the operations that protocols ask for.
//!
//! | kernel | what it times |
//! |---|---|
//! | `trade_steps` | the three steps of a trade at its nodes, without sockets |
//! | `tftp_file` | one file over loopback, from the call until the other end has it |
//!
//! Both run what `probe trade` runs: `calibration.fit.own` takes off what operations are priced,
//! and what is left is the implementation's own. What deliberately does not live here: the
//! operations themselves, whose kernels are elsewhere.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pocketsim_protocols::contract::{MessageId, NodeId};
use pocketsim_protocols::transport::tftp::BLOCK_BYTES;

use super::experiment::{case, collect};
use super::inputs::ensure;
use crate::host::affinity::{allowed_cores, on_cores};
use crate::kernel::{Budget, Case, Group, Series, Unmeasured};
use crate::stop::Stop;
use crate::trade::log::Run;
use crate::trade::node::{Letter, Node, TradeClock, Unattributed};
use crate::trade::store::Store;
use crate::trade::tftp::{Action, Endpoint, Parcel, Wire};
use crate::trade::Carrier;

/// The cases: steps at one size, and files of one block and of five.
pub(super) fn cases() -> Vec<Case> {
    let steps = case(Group::Udp, "trade_steps", &[], trade_steps);
    let file = |&blocks: &usize| {
        let parameters = [("blocks", blocks as f64), ("rest_s", REST.as_secs_f64())];
        case(Group::Udp, "tftp_file", &parameters, move |budget| {
            file_at_pace(budget, blocks)
        })
    };
    [vec![steps], BLOCKS.iter().map(file).collect()].concat()
}

/// Wall time of proposing, of countersigning what was proposed, and of taking the answer.
fn trade_steps(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    let began = Instant::now();
    let clock: TradeClock = Arc::new(move || began.elapsed().as_secs_f64());
    let fresh = || Node::ephemeral(Store::default(), Arc::clone(&clock));
    let (proposer, countersigner) = (fresh()?, fresh()?);
    let peer = introduced(&proposer, &countersigner)?;
    introduced(&countersigner, &proposer)?;
    collect(budget, ["propose_s", "countersign_s", "complete_s"], || {
        let start = Instant::now();
        let proposal = only(proposer.propose(peer, PAYLOAD_BYTES))?;
        let propose_s = budget.clock.since(start);
        let start = Instant::now();
        let answer = only(countersigner.receive(&proposal.bytes).map_err(refused)?)?;
        let countersign_s = budget.clock.since(start);
        let start = Instant::now();
        let after = proposer.receive(&answer.bytes).map_err(refused)?;
        let complete_s = budget.clock.since(start);
        ensure(
            after.is_empty() && proposer.open() == 0,
            "an answer does not end its trade",
        )?;
        Ok([propose_s, countersign_s, complete_s])
    })
}

/// The other's number at `node`, which has begun to trade with it.
fn introduced(node: &Node, other: &Node) -> Result<NodeId, Unmeasured> {
    let no_room = || Unmeasured::because("a new node has no room");
    let peer = node.introduce(other.key(), OTHER).ok_or_else(no_room)?;
    let run = Run::new(OTHER, 0, Carrier::Udp, 0);
    node.begin(peer, run).ok_or_else(no_room)?;
    Ok(peer)
}

fn only(letters: Vec<Letter>) -> Result<Letter, Unmeasured> {
    let one: Result<[Letter; 1], _> = letters.try_into();
    one.map(|[letter]| letter)
        .map_err(|_| Unmeasured::because("a step of a trade does not send one letter"))
}

fn refused(why: Unattributed) -> Unmeasured {
    Unmeasured::because(format!("a node refuses a block: {why:?}"))
}

/// `file_s` is from the call that writes a file, after both ends have slept, until the other has
/// it. As the dialler does it: a port for each file, and a thread of its own for what comes back.
fn file_at_pace(budget: &Budget<'_>, blocks: usize) -> Result<Vec<Series>, Unmeasured> {
    let cores = allowed_cores();
    let Some((own, others)) = cores.split_last().filter(|(_, others)| !others.is_empty()) else {
        return Err(Unmeasured::because("it takes two cores"));
    };
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = socket.local_addr()?;
    let server = Endpoint::new(socket, Wire::server())?;
    let client = Endpoint::towards(address, Wire::client())?;
    let (tell, told) = mpsc::channel();
    let over = Stop::new();
    thread::scope(|scope| {
        let ended_whatever_happens = over.when_dropped();
        let (server, client, over) = (&server, &client, &over);
        let serving = scope.spawn(move || {
            on_cores(&[*own], || {
                step_all(server, over, &mut |action| {
                    if let Action::Received(_) = action {
                        let _ = tell.send(Instant::now());
                    }
                })
            })
        });
        let near = &others[..1];
        let stepping = scope.spawn(move || on_cores(near, || step_all(client, over, &mut |_| {})));
        let measured = on_cores(near, move || {
            let mut number = 0;
            collect(budget, ["file_s"], || {
                number += 1;
                thread::sleep(REST);
                let parcel = file(number, blocks);
                let start = Instant::now();
                client.write(address, parcel);
                let had = told.recv_timeout(FILE_LIMIT);
                let had = had.map_err(|_| Unmeasured::because("a file on loopback got lost"))?;
                Ok([had.duration_since(start).as_secs_f64() - budget.clock.read_s])
            })
        });
        drop(ended_whatever_happens);
        for thread in [serving, stepping] {
            thread.join().expect("it only steps an endpoint")?;
        }
        measured
    })
}

fn step_all(
    endpoint: &Endpoint,
    over: &Stop,
    sink: &mut dyn FnMut(Action),
) -> Result<(), Unmeasured> {
    while !over.is_raised() {
        endpoint.step(sink)?;
    }
    Ok(())
}

/// With names that differ, as those of transactions do.
fn file(number: u64, blocks: usize) -> Parcel {
    Parcel {
        filename: format!("{number:016x}"),
        bytes: Arc::from(vec![0x5a; blocks * BLOCK_BYTES as usize - 1]),
        id: MessageId(number),
        to: NodeId(0),
    }
}

/// A transaction of the theses.
const PAYLOAD_BYTES: u32 = 100;
/// The other's number in an experiment of two.
const OTHER: u32 = 1;
/// The last is a byte short of a full one, which ends the file.
const BLOCKS: [usize; 2] = [1, 5];
/// As between messages at 100/s, the rest that prices waking a thread (`kernels::waking`).
const REST: Duration = Duration::from_millis(10);
/// A thousand times what a file takes on a phone.
const FILE_LIMIT: Duration = Duration::from_secs(10);
