//! The kernel `quic_trades_at_once`: the core time of a trade over QUIC at either end, when others
//! wait.
//!
//! Steps of a trade are timed on one thread that does nothing else, and messages by how long they
//! take where none waits. A program that is behind proposes on one thread and takes answers on
//! others, of one core: they take it from each other, and free what another has allocated. So here
//! are the nodes, carrier and listener of `probe trade`, its two ends on cores of their own, which
//! propose as fast as they can until all of a batch are over. The end that has less to do waits for
//! the other now and then: what its threads take to sleep and to wake then is in its core time.
//! What deliberately does not live here: messages at a pace (`super::pace`).

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::Arc;

use tokio::runtime::Runtime;

use super::listening::{beside_a_listener, Threads};
use super::pace::{failed, too_late, ANSWER_LIMIT, SHUT_DOWN};
use super::GROUP;
use crate::kernel::{Budget, Case, Series, Unmeasured};
use crate::kernels::experiment::{case, collect};
use crate::kernels::trading::{Traders, PAYLOAD_BYTES};
use crate::quic::client_endpoint;
use crate::trade::carrier::quic::{connect, threads, Channel};

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
    let far = Threads::default();
    beside_a_listener(&traders, &far, |address| {
        sampled(budget, &traders, address, &far)
    })
}

fn sampled(
    budget: &Budget<'_>,
    traders: &Traders,
    address: SocketAddr,
    far: &Threads,
) -> Result<Vec<Series>, Unmeasured> {
    let near = Threads::default();
    let runtime = near.noted(threads())?;
    let connected = runtime.block_on(async {
        let endpoint = client_endpoint(address)?;
        let channel = connect(&endpoint, address).await;
        Ok::<_, Unmeasured>((endpoint, channel.map_err(|reason| failed(reason.name()))?))
    });
    let (endpoint, channel) = connected?;
    let sampled = collect(budget, ["proposer_cpu_s", "countersigner_cpu_s"], || {
        let before_s = [near.cpu_s()?, far.cpu_s()?];
        batch(traders, &runtime, &channel)?;
        let after_s = [near.cpu_s()?, far.cpu_s()?];
        Ok([0, 1].map(|end| (after_s[end] - before_s[end]) / AT_ONCE as f64))
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
    answered.map_err(|reason| failed(reason.name()))?;
    traders.ensure_all_are_over()
}

/// More than streams at a time, so that some wait for theirs, and little beside what caches hold.
const AT_ONCE: usize = 256;
