//! The kernel `quic_reconnect_at_pace`: trades over new connections at the pace of a workload.
//!
//! It is what `probe trade` does for each message: a thread with a runtime, an endpoint and a
//! connection of its own, at a listener that knows places and signs. What blocks take longer right
//! after a handshake neither handshakes nor blocks tell that are timed on their own.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Sender};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::listening::{beside_a_listener, Threads};
use super::pace::{failed, too_late, ANSWER_LIMIT, RESTS_S};
use super::GROUP;
use crate::kernel::{Budget, Case, Series, Unmeasured};
use crate::kernels::experiment::{case, collect};
use crate::kernels::trading::{Traders, PAYLOAD_BYTES};
use crate::quic::{client_endpoint, farewell};
use crate::trade::carrier::quic::connect;
use crate::trade::node::{Letter, Node};

/// The cases: by how long the proposing thread sleeps after an answer.
pub(super) fn cases() -> Vec<Case> {
    let after = |&rest_s: &f64| {
        let parameters = [
            ("payload_bytes", f64::from(PAYLOAD_BYTES)),
            ("rest_s", rest_s),
        ];
        case(
            GROUP,
            "quic_reconnect_at_pace",
            &parameters,
            move |budget| {
                let rest = Duration::from_secs_f64(rest_s);
                reconnecting(&budget.rested(rest), rest)
            },
        )
    };
    RESTS_S[1..].iter().map(after).collect()
}

/// `rtt_s` is from the call that starts a thread until that has completed the trade. As in `probe
/// trade`, it says farewell after that, for some 0.1 s, in which others begin: their buffers and
/// threads are others, and what it does then takes the core from them.
fn reconnecting(budget: &Budget<'_>, rest: Duration) -> Result<Vec<Series>, Unmeasured> {
    let traders = Traders::new(PAYLOAD_BYTES)?;
    beside_a_listener(&traders, &Threads::default(), |address| {
        let (tell, told) = mpsc::channel();
        let mut leaving = Vec::new();
        let measured = collect(budget, ["rtt_s"], || {
            thread::sleep(rest);
            let letter = traders.propose()?;
            let (tell, node) = (tell.clone(), Arc::clone(&traders.proposer));
            let start = Instant::now();
            leaving.push(thread::spawn(move || {
                if let Err(reason) = dial(address, &letter, &node, start, &tell) {
                    let _ = tell.send(Err(reason));
                }
            }));
            let rtt = told.recv_timeout(ANSWER_LIMIT).map_err(too_late)??;
            leaving.retain(|thread| !thread.is_finished());
            traders.ensure_all_are_over()?;
            Ok([rtt.as_secs_f64() - budget.clock.read_s])
        });
        for thread in leaving {
            thread.join().expect("it returns what goes wrong");
        }
        measured
    })
}

fn dial(
    address: SocketAddr,
    letter: &Letter,
    node: &Node,
    start: Instant,
    tell: &Sender<Completed>,
) -> Result<(), Unmeasured> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build()?.block_on(async {
        let endpoint = client_endpoint(address)?;
        let channel = connect(&endpoint, address).await;
        let channel = channel.map_err(|reason| failed(reason.name()))?;
        let answered = channel.exchange(letter, node).await;
        answered.map_err(|reason| failed(reason.name()))?;
        let _ = tell.send(Ok(start.elapsed()));
        farewell(&endpoint).await;
        Ok(())
    })
}

/// How long a trade took.
type Completed = Result<Duration, Unmeasured>;
