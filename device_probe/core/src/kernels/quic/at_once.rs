//! The kernel `quic_trades_at_once`: the core time of a trade over QUIC at either end, when others
//! wait.
//!
//! Steps of a trade are timed on one thread that does nothing else, and messages by how long they
//! take where none waits. A program that is behind proposes on one thread and takes answers on
//! others, of one core: they take it from each other, and free what another has allocated. So this
//! is `probe trade` itself, its two ends on cores of their own, proposing as fast as it can, until
//! all of a batch are over. What deliberately does not live here: messages at a pace
//! (`super::pace`).

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use tokio::runtime::Runtime;

use super::listening::beside_a_listener;
use super::pace::{failed, too_late, ANSWER_LIMIT, SHUT_DOWN};
use super::GROUP;
use crate::clock::{Clock, ThreadClock};
use crate::kernel::{Budget, Case, Series, Unmeasured};
use crate::kernels::experiment::{case, collect};
use crate::kernels::trading::{Traders, PAYLOAD_BYTES};
use crate::quic::{client_config, client_endpoint, SERVER_NAME};
use crate::trade::carrier::quic::Channel;

/// The case: trades of one size.
pub(super) fn cases() -> Vec<Case> {
    let parameters = [
        ("payload_bytes", f64::from(PAYLOAD_BYTES)),
        ("trades", AT_ONCE as f64),
    ];
    vec![case(GROUP, "quic_trades_at_once", &parameters, at_once)]
}

/// Core time of a trade at the end that proposes, in all its threads, and at the other.
fn at_once(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    let traders = Traders::new(PAYLOAD_BYTES)?;
    beside_a_listener(&traders, |address| sampled(budget, &traders, address))
}

fn sampled(
    budget: &Budget<'_>,
    traders: &Traders,
    address: SocketAddr,
) -> Result<Vec<Series>, Unmeasured> {
    let threads = Threads::default();
    let runtime = threads.runtime()?;
    threads.note();
    let connected = runtime.block_on(async {
        let endpoint = client_endpoint(address)?;
        let connecting = endpoint.connect_with(client_config(), address, SERVER_NAME);
        let connection = connecting.map_err(failed)?.await.map_err(failed)?;
        Ok::<_, Unmeasured>((endpoint, Channel::new(connection)))
    });
    let (endpoint, channel) = connected?;
    let sampled = collect(budget, ["proposer_cpu_s", "countersigner_cpu_s"], || {
        let (near_s, all_s) = (threads.cpu_s(), Clock::process_cpu().as_secs_f64());
        batch(traders, &runtime, &channel)?;
        let near_s = threads.cpu_s() - near_s;
        let far_s = Clock::process_cpu().as_secs_f64() - all_s - near_s;
        Ok([near_s, far_s].map(|cpu_s| cpu_s / AT_ONCE as f64))
    });
    endpoint.close(0u32.into(), b"");
    runtime.shutdown_timeout(SHUT_DOWN);
    sampled
}

/// Propose, and wait until all of it is answered.
fn batch(traders: &Traders, runtime: &Runtime, channel: &Channel) -> Result<(), Unmeasured> {
    let (tell, told) = mpsc::channel();
    let open = Arc::new(AtomicUsize::new(AT_ONCE));
    for _ in 0..AT_ONCE {
        let letter = traders.propose()?;
        let (channel, node) = (channel.clone(), Arc::clone(&traders.proposer));
        let (tell, open) = (tell.clone(), Arc::clone(&open));
        runtime.spawn(async move {
            let answered = channel.exchange(&letter, &node).await;
            // Who waits is woken once: a program that trades waits for nobody.
            if answered.is_err() || open.fetch_sub(1, Ordering::AcqRel) == 1 {
                let _ = tell.send(answered);
            }
        });
    }
    let answered = told.recv_timeout(ANSWER_LIMIT).map_err(too_late)?;
    answered.map_err(|reason| failed(reason.name()))
}

/// The threads of the end that proposes.
#[derive(Clone, Default)]
struct Threads(Arc<Mutex<Vec<ThreadClock>>>);

impl Threads {
    /// As many workers as `probe trade` has, which are noted.
    fn runtime(&self) -> std::io::Result<Runtime> {
        let threads = self.clone();
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(WORKERS).enable_all();
        builder.on_thread_start(move || threads.note()).build()
    }

    /// The calling thread is one of them.
    fn note(&self) {
        let mut clocks = self.0.lock().expect("a thread that holds it has panicked");
        clocks.push(ThreadClock::of_this_thread());
    }

    fn cpu_s(&self) -> f64 {
        let clocks = self.0.lock().expect("a thread that holds it has panicked");
        clocks.iter().map(|clock| clock.read().as_secs_f64()).sum()
    }
}

const WORKERS: usize = 2;
/// More than streams at a time, so that some wait for theirs, and little beside what caches hold.
const AT_ONCE: usize = 256;
