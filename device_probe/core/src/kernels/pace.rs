//! The kernel `message_at_pace`: what a message takes on a thread that slept until it came.
//!
//! Other kernels repeat one operation on a core that does nothing else. A program signs once, after
//! system calls, on a thread that was just woken, for a message whose neighbours are milliseconds
//! away. So here two threads on cores of their own trade blocks of the theses by datagrams, and the
//! one that countersigns has a watch over each of its steps. What deliberately does not live here:
//! how long waking takes (`kernels::waking`), and the bookkeeping of a program.

use std::net::UdpSocket;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use pocketsim_protocols::block::{Block, Text};
use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::crypto::{Crypto, Real};

use super::experiment::{case, collect};
use super::waking::{pair, rests_s};
use crate::clock::Clock;
use crate::host::affinity::{allowed_cores, on_cores};
use crate::kernel::{Budget, Case, Depth, Group, Series, Unmeasured};

/// The cases: by how long both ends have slept before a message, and of messages that wait already
/// when the one before is done, so that nobody sleeps.
pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let after = |&rest_s: &f64| {
        let parameters = [("rest_s", rest_s)];
        case(Group::Udp, KERNEL, &parameters, move |budget| {
            at_pace(budget, Duration::from_secs_f64(rest_s), 1)
        })
    };
    let queued = case(Group::Udp, KERNEL, &[("queued", 1.0)], |budget| {
        at_pace(budget, Duration::ZERO, 1 + QUEUED)
    });
    let rested = rests_s(depth).iter().map(after);
    rested.chain([queued]).collect()
}

/// The steps of one message at the end that countersigns, and `cpu_s`, the core time of its thread
/// from one answer to the next: with falling asleep, being woken and reading.
const QUANTITIES: [&str; STEPS] = [
    "decode_s", "verify_s", "sign_s", "hash_s", "encode_s", "sent_s", "cpu_s",
];
const STEPS: usize = 7;

fn at_pace(
    budget: &Budget<'_>,
    rest: Duration,
    messages: usize,
) -> Result<Vec<Series>, Unmeasured> {
    let cores = allowed_cores();
    let Some((own, others)) = cores.split_last().filter(|(_, others)| !others.is_empty()) else {
        return Err(Unmeasured::because("it takes two cores"));
    };
    let (near, far) = pair()?;
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        // It owns what it tells by: who waits learns of its end.
        let serving =
            scope.spawn(move || on_cores(&[*own], || countersign_all(&far, budget, &tell)));
        let near = &near;
        let measured = on_cores(others, move || {
            propose_all(budget, near, (rest, messages), &told)
        });
        let served = serving
            .join()
            .expect("it only receives, computes and sends");
        served.and(measured)
    })
}

fn propose_all(
    budget: &Budget<'_>,
    near: &UdpSocket,
    (rest, messages): (Duration, usize),
    told: &Receiver<[f64; STEPS]>,
) -> Result<Vec<Series>, Unmeasured> {
    let proposals = proposals();
    let mut turn = proposals.iter().cycle();
    let mut answer = vec![0; BLOCK_BYTES_MAX];
    let sampled = collect(budget, QUANTITIES, || {
        if !rest.is_zero() {
            thread::sleep(rest);
        }
        for proposal in turn.by_ref().take(messages) {
            near.send(proposal.as_bytes())?;
        }
        for _ in 0..messages {
            near.recv(&mut answer)?;
        }
        let first = wait(told)?;
        if messages == 1 {
            return Ok(first);
        }
        // The first was woken for, the others have waited.
        let mut mean = [0.0; STEPS];
        for _ in 1..messages {
            let steps = wait(told)?;
            for (sum, step) in mean.iter_mut().zip(steps) {
                *sum += step / (messages - 1) as f64;
            }
        }
        Ok(mean)
    });
    // An empty datagram ends the other thread.
    near.send(&[])?;
    sampled
}

/// Without sleeping, as being woken is work of whoever wakes: he would be measured with it.
fn wait(told: &Receiver<[f64; STEPS]>) -> Result<[f64; STEPS], Unmeasured> {
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
    budget: &Budget<'_>,
    tell: &Sender<[f64; STEPS]>,
) -> Result<(), Unmeasured> {
    let crypto = Real::from_secret([2; 32]);
    let mut buffer = vec![0; BLOCK_BYTES_MAX];
    let mut cpu = Clock::thread_cpu();
    while let Ok(bytes @ 1..) = socket.recv(&mut buffer) {
        let mut steps = Steps::begin(budget.clock);
        let mut block = decoded(&buffer[..bytes])?;
        steps.end();
        let holds = block.sender_signed::<Real>();
        steps.end();
        if !holds {
            return Err(Unmeasured::because("a signature does not verify"));
        }
        block.sign_as_receiver(&crypto);
        steps.end();
        std::hint::black_box(block.digest::<Real>());
        steps.end();
        let answer = block.to_json();
        steps.end();
        socket.send(answer.as_bytes())?;
        steps.end();
        let before = std::mem::replace(&mut cpu, Clock::thread_cpu());
        steps.say(cpu.saturating_sub(before).as_secs_f64());
        if tell.send(steps.told).is_err() {
            break;
        }
    }
    Ok(())
}

/// A watch over one step after the other.
struct Steps<'a> {
    clock: &'a Clock,
    began: Instant,
    told: [f64; STEPS],
    next: usize,
}

impl<'a> Steps<'a> {
    fn begin(clock: &'a Clock) -> Self {
        Self {
            clock,
            began: Instant::now(),
            told: [0.0; STEPS],
            next: 0,
        }
    }

    /// The step is over, and the next one begins.
    fn end(&mut self) {
        let step_s = self.clock.since(self.began);
        self.say(step_s);
        self.began = Instant::now();
    }

    fn say(&mut self, value_s: f64) {
        self.told[self.next] = value_s;
        self.next += 1;
    }
}

fn decoded(bytes: &[u8]) -> Result<Block, Unmeasured> {
    let refused = |error: &dyn std::fmt::Display| Unmeasured::because(error.to_string());
    let json = std::str::from_utf8(bytes).map_err(|error| refused(&error))?;
    Block::from_json(json, PROPOSER).map_err(|error| refused(&error))
}

/// Signed blocks as they travel, no two alike: of one key, as a phone has.
fn proposals() -> Vec<String> {
    let (proposer, receiver) = (Real::from_secret([1; 32]), Real::from_secret([2; 32]));
    let propose = |number: u32| {
        let mut block = Block {
            proposer: PROPOSER,
            payload: Text::new(number, PAYLOAD_BYTES),
            sender_pubkey: proposer.public_key(),
            receiver_pubkey: receiver.public_key(),
            sender_sig: None,
            receiver_sig: None,
            prev_hash_sender: None,
            prev_hash_receiver: None,
            index: u64::from(number) + 1,
        };
        block.sign_as_sender(&proposer);
        block.prev_hash_sender = Some(block.digest::<Real>());
        block.sign_as_sender(&proposer);
        block.to_json()
    };
    (0..PROPOSALS).map(propose).collect()
}

const KERNEL: &str = "message_at_pace";
const PROPOSER: NodeId = NodeId(0);
/// A transaction of the theses.
const PAYLOAD_BYTES: u32 = 100;
const BLOCK_BYTES_MAX: usize = 2_048;
/// Enough that the branch predictor learns none of them.
const PROPOSALS: u32 = 64;
/// Enough that they are there before the first is done, and few enough for any socket's buffer.
const QUEUED: usize = 8;
