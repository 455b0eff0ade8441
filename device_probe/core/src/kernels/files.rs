//! What TFTP takes as `probe trade` has it, beside datagrams.
//!
//! | kernel | what it times |
//! |---|---|
//! | `tftp_file` | one file over loopback, from the call until the other end has it |
//! | `tftp_turn` | an end's answer to a block that it has slept for, each way |
//!
//! Blocks of a file over loopback follow each other; over a network an end sleeps until the next
//! comes, and then finds its caches cold. It looks around by itself as often as `LOOK_AROUND` says,
//! so there are no turns after longer rests than that. `calibration.fit.files` makes costs of the
//! implementation of both. What deliberately does not live here: datagrams without files
//! (`kernels::waking`).

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{mpsc, Arc};
use std::thread;
use std::time::{Duration, Instant};

use pocketsim_protocols::contract::{MessageId, NodeId};
use pocketsim_protocols::transport::tftp::{TftpPacket, TransferMode, BLOCK_BYTES};

use super::experiment::{case, collect};
use super::inputs::ensure;
use super::waking::{rests_s, two_cores};
use crate::clock::Clock;
use crate::host::affinity::on_cores;
use crate::kernel::{Budget, Case, Depth, Group, Series, Unmeasured};
use crate::stop::Stop;
use crate::trade::ports::LOOK_AROUND;
use crate::trade::tftp::{Action, Endpoint, Parcel, Wire};

/// The cases: files of one block and turns by how long both ends have slept, and files of more.
pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let file = |blocks: usize, rest_s: f64| {
        let parameters = [("blocks", blocks as f64), ("rest_s", rest_s)];
        case(Group::Udp, "tftp_file", &parameters, move |budget| {
            let rest = Duration::from_secs_f64(rest_s);
            file_at_pace(&budget.rested(rest), blocks, rest)
        })
    };
    let rests_s = rests_s(depth);
    let few = rests_s.iter().map(|&rest_s| file(1, rest_s));
    let many = MANY_RESTS_S.map(|rest_s| file(MANY_BLOCKS, rest_s));
    let turn = |rest: Duration| {
        let parameters = [("rest_s", rest.as_secs_f64())];
        case(Group::Udp, "tftp_turn", &parameters, move |budget| {
            turns(&budget.rested(2 * rest), rest)
        })
    };
    let rests = rests_s.iter().copied().map(Duration::from_secs_f64);
    let slept = rests.filter(|rest| *rest < LOOK_AROUND);
    few.chain(many).chain(slept.map(turn)).collect()
}

/// `file_s` is from the call that writes a file, after both ends have slept, until the other has
/// it. As the dialler does it: a port for each file, and a thread of its own for what comes back.
fn file_at_pace(
    budget: &Budget<'_>,
    blocks: usize,
    rest: Duration,
) -> Result<Vec<Series>, Unmeasured> {
    let (own, near) = two_cores()?;
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
            on_cores(&[own], || {
                step_all(server, over, &mut |action| {
                    if let Action::Received(_) = action {
                        let _ = tell.send(Instant::now());
                    }
                })
            })
        });
        let stepping =
            scope.spawn(move || on_cores(&[near], || step_all(client, over, &mut |_| {})));
        let measured = on_cores(&[near], move || {
            let mut number = 0;
            collect(budget, ["file_s"], || {
                number += 1;
                thread::sleep(rest);
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

/// From the call of `send` until the answer has woken the sender: `taken_s` of an end that is given
/// a block and acknowledges it, `given_s` of one whose block is acknowledged and that gives the
/// next. The thread that measures is the other end of both, without a machine.
fn turns(budget: &Budget<'_>, rest: Duration) -> Result<Vec<Series>, Unmeasured> {
    let (own, near) = two_cores()?;
    let service = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let takes_at = service.local_addr()?;
    let giver = bound()?;
    let gives_to = giver.local_addr()?;
    let taking = Endpoint::new(service, Wire::server())?;
    let giving = Endpoint::towards(gives_to, Wire::client())?;
    let over = Stop::new();
    thread::scope(|scope| {
        let ended_whatever_happens = over.when_dropped();
        let (over, giving) = (&over, &giving);
        let stepping = [&taking, giving]
            .map(|end| scope.spawn(move || on_cores(&[own], || step_all(end, over, &mut |_| {}))));
        let measured = on_cores(&[near], move || {
            let mut number = 0;
            collect(budget, ["taken_s", "given_s"], || {
                number += 1;
                let parcel = file(number, TURN_BLOCKS);
                let taken_s = taken_s(takes_at, &parcel, rest, budget.clock)?;
                giving.write(gives_to, parcel.clone());
                Ok([taken_s, given_s(&giver, &parcel, rest, budget.clock)?])
            })
        });
        drop(ended_whatever_happens);
        for thread in stepping {
            thread.join().expect("it only steps an endpoint")?;
        }
        measured
    })
}

/// As the client of an end that takes a file, from a port of its own.
fn taken_s(
    server: SocketAddr,
    parcel: &Parcel,
    rest: Duration,
    clock: &Clock,
) -> Result<f64, Unmeasured> {
    let socket = bound()?;
    let request = TftpPacket::Write {
        filename: parcel.filename.clone(),
        mode: TransferMode::Octet,
    };
    turn_s(&socket, server, &request, &acknowledged(0), clock)?;
    let [first, last] = data(parcel);
    thread::sleep(rest);
    let taken_s = turn_s(&socket, server, &first, &acknowledged(1), clock)?;
    turn_s(&socket, server, &last, &acknowledged(2), clock)?;
    Ok(taken_s)
}

/// As the server of an end that has begun to give a file.
fn given_s(
    socket: &UdpSocket,
    parcel: &Parcel,
    rest: Duration,
    clock: &Clock,
) -> Result<f64, Unmeasured> {
    let (_, client) = socket.recv_from(&mut [0; PACKET_BYTES_MAX])?; // its request
    let [first, last] = data(parcel);
    turn_s(socket, client, &acknowledged(0), &first, clock)?;
    thread::sleep(rest);
    let given_s = turn_s(socket, client, &acknowledged(1), &last, clock)?;
    socket.send_to(&acknowledged(2).encode(), client)?;
    Ok(given_s)
}

/// From the call that sends one packet until the other that answers it is here.
fn turn_s(
    socket: &UdpSocket,
    to: SocketAddr,
    sent: &TftpPacket,
    answer: &TftpPacket,
    clock: &Clock,
) -> Result<f64, Unmeasured> {
    let (sent, answer) = (sent.encode(), answer.encode());
    let mut buffer = [0; PACKET_BYTES_MAX];
    let start = Instant::now();
    socket.send_to(&sent, to)?;
    let bytes = socket.recv(&mut buffer)?;
    let turn_s = clock.since(start);
    ensure(buffer[..bytes] == answer, "another packet answers")?;
    Ok(turn_s)
}

/// Both blocks of a file of two.
fn data(parcel: &Parcel) -> [TftpPacket; TURN_BLOCKS] {
    let (first, last) = parcel.bytes.split_at(BLOCK_BYTES as usize);
    [(1, first), (2, last)].map(|(block, data)| TftpPacket::Data {
        block,
        data: data.to_vec(),
    })
}

fn acknowledged(block: u16) -> TftpPacket {
    TftpPacket::Ack { block }
}

fn bound() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(FILE_LIMIT))?;
    Ok(socket)
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

/// The last block is a byte short of a full one, which ends the file.
const MANY_BLOCKS: usize = 5;
/// Before files of many blocks: as between messages at 100/s, the rest that prices waking a thread
/// (`kernels::waking`).
const MANY_RESTS_S: [f64; 2] = [0.0, 10e-3];
/// One that is timed, and one that ends the file.
const TURN_BLOCKS: usize = 2;
/// A thousand times what a file takes on a phone.
const FILE_LIMIT: Duration = Duration::from_secs(10);
/// More than any packet here has.
const PACKET_BYTES_MAX: usize = 1_024;
