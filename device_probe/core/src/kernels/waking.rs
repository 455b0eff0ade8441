//! The kernel `udp_wake_up`: a datagram to a thread that sleeps on another core, and one back.
//!
//! A thread that receives from a network is woken by that network, never by a sender on its own
//! core. Threads that may move end up on one core, where waking is a change of threads; so here
//! each has cores of its own. What deliberately does not live here: waking on whatever core
//! (`kernels::scheduling`), and sends that wake nobody (`kernels::udp`).

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::experiment::{case, collect};
use crate::host::affinity::{allowed_cores, first_and_last_core, on_cores};
use crate::kernel::{Budget, Case, Depth, Group, Series, Unmeasured};

/// The cases: by payload, and by how long both ends have slept.
pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let sizes = match depth {
        Depth::Quick => &BYTES[1..],
        Depth::Full => &BYTES[..],
    };
    let of_size = |&bytes: &usize| {
        rests_s(depth).iter().map(move |&rest_s| {
            let parameters = [("bytes", bytes as f64), ("rest_s", rest_s)];
            case(Group::Udp, "udp_wake_up", &parameters, move |budget| {
                let rest = Duration::from_secs_f64(rest_s);
                wake_up(&budget.rested(rest), bytes, rest)
            })
        })
    };
    sizes.iter().flat_map(of_size).collect()
}

/// `latency_s` is from the call of `send` to the return of the other's `recv`, `sent_s` the time of
/// the call, which wakes him; `rtt_s` until his answer has woken the sender.
fn wake_up(budget: &Budget<'_>, bytes: usize, rest: Duration) -> Result<Vec<Series>, Unmeasured> {
    let cores = allowed_cores();
    let Some((own, others)) = cores.split_last().filter(|(_, others)| !others.is_empty()) else {
        return Err(Unmeasured::because("it takes two cores"));
    };
    let (near, far) = pair()?;
    // It has told by the time its answer is read.
    let (tell, woke) = mpsc::channel();
    thread::scope(|scope| {
        let answers = scope.spawn(|| on_cores(&[*own], || answer_all(&far, &tell)));
        let near = &near;
        let measured = on_cores(others, move || {
            let (datagram, mut answer) = (vec![0x5a; bytes], vec![0; bytes]);
            let sampled = collect(budget, ["latency_s", "sent_s", "rtt_s"], || {
                if !rest.is_zero() {
                    thread::sleep(rest);
                }
                let start = Instant::now();
                near.send(&datagram)?;
                let sent_s = budget.clock.since(start);
                near.recv(&mut answer)?;
                let rtt_s = budget.clock.since(start);
                let arrived: Instant = woke.recv().map_err(|_| lost())?;
                let latency_s = arrived.duration_since(start).as_secs_f64() - budget.clock.read_s;
                Ok([latency_s.max(0.0), sent_s, rtt_s])
            });
            // An empty datagram ends the other thread.
            near.send(&[])?;
            sampled
        });
        let answered = answers.join().expect("it only receives and sends");
        answered.and(measured)
    })
}

fn lost() -> Unmeasured {
    Unmeasured::because("the thread that answers has ended")
}

/// The last core that may be used, for the end that is measured, and the first, for the other.
pub(super) fn two_cores() -> Result<(u32, u32), Unmeasured> {
    let [near, own] = first_and_last_core()?;
    Ok((own, near))
}

/// Two sockets on loopback, each connected to the other.
pub(super) fn pair() -> std::io::Result<(UdpSocket, UdpSocket)> {
    let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    for socket in [&near, &far] {
        socket.set_read_timeout(Some(ANSWER_LIMIT))?;
    }
    Ok((near, far))
}

/// Until an empty datagram comes, or none for too long.
fn answer_all(socket: &UdpSocket, tell: &mpsc::Sender<Instant>) -> Result<(), Unmeasured> {
    let mut buffer = vec![0; BYTES[BYTES.len() - 1]];
    while let Ok(bytes @ 1..) = socket.recv(&mut buffer) {
        let woke = Instant::now();
        if tell.send(woke).is_err() {
            break;
        }
        socket.send(&buffer[..bytes])?;
    }
    Ok(())
}

/// A small datagram, and a block of the theses.
const BYTES: [usize; 2] = [128, 668];

/// The rests that cases of this depth are timed after. The longest takes as long as all others, and a
/// quick run leaves it out: messages that are rarer than 10/s take what those after 0.1 s do.
pub(super) fn rests_s(depth: Depth) -> &'static [f64] {
    match depth {
        Depth::Quick => &RESTS_S[..RESTS_S.len() - 1],
        Depth::Full => &RESTS_S,
    }
}

/// For how long both ends sleep before a datagram: not at all, as a hot loop; within a message and
/// between it and its answer; what `wake_up_latency` waits; between messages at 100/s, at 10/s and at
/// 2.5/s: cores sleep deeper, and caches are others', the longer they rest. A hypervisor polls for
/// some 0.2 ms before it lets a core sleep.
const RESTS_S: [f64; 7] = [0.0, 50e-6, 0.3e-3, 2e-3, 10e-3, 100e-3, 0.4];

/// Longer than any rest.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
