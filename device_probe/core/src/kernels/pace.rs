//! The kernel `trade_at_pace`: what a trade takes on threads that slept until its messages came.
//!
//! Other kernels repeat one operation on a core that does nothing else. A program signs once, after
//! system calls, on a thread that was just woken, for a message whose neighbours are milliseconds
//! away. So here the nodes of `probe trade` trade by datagrams, each on a core of its own, and there
//! is a watch over every step. What deliberately does not live here: how long waking takes
//! (`kernels::waking`), and what of a step are operations (`kernels::trading`).

use std::net::UdpSocket;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use super::experiment::{case, collect};
use super::trading::{Traders, PAYLOAD_BYTES};
use super::waking::{pair, rests_s, two_cores};
use crate::clock::Clock;
use crate::host::affinity::on_cores;
use crate::kernel::{Budget, Case, Depth, Group, Series, Unmeasured};

/// The cases: by how long both ends have slept before a trade, and of proposals that wait already
/// when the one before is answered, so that who countersigns never sleeps.
pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let after = |&rest_s: &f64| {
        let parameters = [("rest_s", rest_s)];
        case(Group::Udp, KERNEL, &parameters, move |budget| {
            let rest = Duration::from_secs_f64(rest_s);
            at_pace(&budget.rested(rest), rest, 1)
        })
    };
    let queued = case(Group::Udp, KERNEL, &[("queued", 1.0)], |budget| {
        at_pace(budget, Duration::ZERO, 1 + QUEUED)
    });
    let rested = rests_s(depth).iter().map(after);
    rested.chain([queued]).collect()
}

/// The steps of a trade; of its whole, `rtt_s` from the proposal that is made until the trade is
/// over; of who countersigns, `cpu_s` of his thread from one answer to the next: with falling
/// asleep, being woken and reading.
const QUANTITIES: [&str; 5] = ["propose_s", "countersign_s", "complete_s", "rtt_s", "cpu_s"];

/// Of one message: the step, and the core time of the thread.
type Countersigned = [f64; 2];

fn at_pace(
    budget: &Budget<'_>,
    rest: Duration,
    messages: usize,
) -> Result<Vec<Series>, Unmeasured> {
    let (own, other) = two_cores()?;
    let (near, far) = pair()?;
    let traders = Traders::new(PAYLOAD_BYTES)?;
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let (near, traders) = (&near, &traders);
        // It owns what it tells by: who waits learns of its end.
        let serving =
            scope.spawn(move || on_cores(&[own], || countersign_all(&far, traders, budget, &tell)));
        let measured = on_cores(&[other], move || {
            let mut answer = vec![0; BLOCK_BYTES_MAX];
            let sampled = collect(budget, QUANTITIES, || {
                thread::sleep(rest);
                trade(near, traders, budget.clock, messages, &mut answer, &told)
            });
            // An empty datagram ends the other thread.
            near.send(&[])?;
            sampled
        });
        let served = serving
            .join()
            .expect("it only receives, computes and sends");
        served.and(measured)
    })
}

/// One trade; or of several at once the mean of all but the first, who was woken for.
fn trade(
    near: &UdpSocket,
    traders: &Traders,
    clock: &Clock,
    messages: usize,
    answer: &mut [u8],
    told: &Receiver<Countersigned>,
) -> Result<[f64; 5], Unmeasured> {
    let start = Instant::now();
    let mut proposals = Vec::with_capacity(messages);
    for _ in 0..messages {
        proposals.push(traders.propose()?);
    }
    let propose_s = clock.since(start) / messages as f64;
    let start = Instant::now();
    for proposal in &proposals {
        near.send(&proposal.bytes)?;
    }
    let mut complete_s = 0.0;
    for _ in 0..messages {
        let bytes = near.recv(answer)?;
        let came = Instant::now();
        traders.complete(&answer[..bytes])?;
        complete_s += clock.since(came) / messages as f64;
    }
    let rtt_s = clock.since(start);
    let first = wait(told)?;
    let mut later = [0.0; 2];
    for _ in 1..messages {
        for (sum, each) in later.iter_mut().zip(wait(told)?) {
            *sum += each / (messages - 1) as f64;
        }
    }
    let [countersign_s, cpu_s] = if messages == 1 { first } else { later };
    Ok([propose_s, countersign_s, complete_s, rtt_s, cpu_s])
}

/// Without sleeping, as being woken is work of whoever wakes: he would be measured with it.
fn wait(told: &Receiver<Countersigned>) -> Result<Countersigned, Unmeasured> {
    loop {
        match told.try_recv() {
            Ok(steps) => return Ok(steps),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            Err(TryRecvError::Disconnected) => {
                return Err(Unmeasured::because(
                    "the thread that countersigns has ended",
                ))
            }
        }
    }
}

/// Until an empty datagram comes, or none for too long.
fn countersign_all(
    socket: &UdpSocket,
    traders: &Traders,
    budget: &Budget<'_>,
    tell: &Sender<Countersigned>,
) -> Result<(), Unmeasured> {
    let mut buffer = vec![0; BLOCK_BYTES_MAX];
    let mut cpu = Clock::thread_cpu();
    while let Ok(bytes @ 1..) = socket.recv(&mut buffer) {
        let start = Instant::now();
        let answer = traders.countersign(&buffer[..bytes])?;
        let countersign_s = budget.clock.since(start);
        socket.send(&answer.bytes)?;
        let before = std::mem::replace(&mut cpu, Clock::thread_cpu());
        let cpu_s = cpu.saturating_sub(before).as_secs_f64();
        if tell.send([countersign_s, cpu_s]).is_err() {
            break;
        }
    }
    Ok(())
}

const KERNEL: &str = "trade_at_pace";
const BLOCK_BYTES_MAX: usize = 2_048;
/// Enough that they are there before the first is done, and few enough for any socket's buffer.
const QUEUED: usize = 8;
