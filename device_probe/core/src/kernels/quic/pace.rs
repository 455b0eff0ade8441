//! The kernel `quic_message_at_pace`: messages over a kept connection of QUIC as a program sends
//! them, one at a time at the pace of a workload.
//!
//! Packets and streams are priced without sockets, and `quic_message_keep` in a loop that never
//! sleeps. A program has its endpoint in tasks of a runtime, whose threads sleep between messages
//! and wake each other: for the socket, for the connection, for the stream. So here both ends have
//! a runtime on a core of its own, with one worker, and a thread of its own proposes at a pace. What
//! deliberately does not live here: cryptography and bookkeeping of blocks (`super::reconnect`,
//! `super::at_once`).

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use quinn::{Connection, Endpoint};
use tokio::runtime::Runtime;

use super::GROUP;
use crate::host::affinity::{allowed_cores, on_cores};
use crate::kernel::{Budget, Case, Series, Unmeasured};
use crate::kernels::experiment::{case, collect, Watch};
use crate::quic::{client_config, client_endpoint, server_config, SERVER_NAME};
use crate::trade::carrier::quic::threads;

/// The cases: by how long the proposing thread sleeps after an answer.
pub(super) fn cases() -> Vec<Case> {
    let after = |&rest_s: &f64| {
        let parameters = [("bytes", MESSAGE_BYTES as f64), ("rest_s", rest_s)];
        case(GROUP, "quic_message_at_pace", &parameters, move |budget| {
            let rest = Duration::from_secs_f64(rest_s);
            at_pace(&budget.rested(BATCH as u32 * rest), rest)
        })
    };
    RESTS_S.iter().map(after).collect()
}

/// `rtt_s` is from the call that starts a task until that has the answer, the mean of a batch;
/// `cpu_s` the core time of both ends for each message, with that of the thread that proposes.
fn at_pace(budget: &Budget<'_>, rest: Duration) -> Result<Vec<Series>, Unmeasured> {
    beside_a_server(|address| {
        let runtime = threads().build()?;
        let connection = runtime.block_on(async {
            let endpoint = client_endpoint(address)?;
            let connecting = endpoint.connect_with(client_config(), address, SERVER_NAME);
            Ok::<_, Unmeasured>((endpoint, connecting.map_err(failed)?.await.map_err(failed)?))
        });
        let (endpoint, connection) = connection?;
        let sampled = collect(budget, ["rtt_s", "cpu_s"], || {
            batch(budget, &runtime, &connection, rest)
        });
        endpoint.close(0u32.into(), b"");
        runtime.shutdown_timeout(SHUT_DOWN);
        sampled
    })
}

/// What `measure` finds on a core of its own, beside a server on another.
fn beside_a_server(
    measure: impl FnOnce(SocketAddr) -> Result<Vec<Series>, Unmeasured> + Send,
) -> Result<Vec<Series>, Unmeasured> {
    let cores = allowed_cores();
    let Some((own, others)) = cores.split_last().filter(|(_, others)| !others.is_empty()) else {
        return Err(Unmeasured::because("it takes two cores"));
    };
    let (server, address) = on_cores(&[*own], || {
        let runtime = threads().build()?;
        let inside = runtime.enter();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let endpoint = Endpoint::server(server_config(), any)?;
        let address = endpoint.local_addr()?;
        runtime.spawn(serve(endpoint));
        drop(inside);
        Ok::<_, Unmeasured>((runtime, address))
    })?;
    let measured = on_cores(&others[..1], || measure(address));
    server.shutdown_timeout(SHUT_DOWN);
    measured
}

fn batch(
    budget: &Budget<'_>,
    runtime: &Runtime,
    connection: &Connection,
    rest: Duration,
) -> Result<[f64; 2], Unmeasured> {
    let (tell, told) = mpsc::channel();
    let mut whole_s = 0.0;
    let watch = Watch::process();
    for _ in 0..BATCH {
        let (tell, connection) = (tell.clone(), connection.clone());
        let start = Instant::now();
        runtime.spawn(async move {
            let asked = ask(&connection).await;
            let _ = tell.send(asked.map(|()| start.elapsed()));
        });
        let answered = told.recv_timeout(ANSWER_LIMIT);
        let rtt = answered.map_err(too_late)??;
        whole_s += rtt.as_secs_f64() - budget.clock.read_s;
        thread::sleep(rest);
    }
    let [_, cpu_s] = watch.per_operation(budget.clock, BATCH);
    Ok([whole_s / BATCH as f64, cpu_s])
}

async fn ask(connection: &Connection) -> Result<(), Unmeasured> {
    let (mut send, mut receive) = connection.open_bi().await.map_err(failed)?;
    send.write_all(&[0x5a; MESSAGE_BYTES])
        .await
        .map_err(failed)?;
    send.finish().map_err(failed)?;
    let answer = receive.read_to_end(MESSAGE_BYTES).await.map_err(failed)?;
    match answer.len() {
        MESSAGE_BYTES => Ok(()),
        other => Err(Unmeasured::because(format!("an answer of {other} bytes"))),
    }
}

async fn serve(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else {
                return;
            };
            while let Ok((mut answer, mut message)) = connection.accept_bi().await {
                tokio::spawn(async move {
                    if let Ok(whole) = message.read_to_end(MESSAGE_BYTES).await {
                        let _ = answer.write_all(&whole).await;
                        let _ = answer.finish();
                    }
                });
            }
        });
    }
}

pub(super) fn too_late(_: RecvTimeoutError) -> Unmeasured {
    Unmeasured::because("QUIC on loopback took more than 10 s")
}

pub(super) fn failed(error: impl std::fmt::Display) -> Unmeasured {
    Unmeasured::because(format!("QUIC on loopback failed: {error}"))
}

/// A block of the theses.
const MESSAGE_BYTES: usize = 668;

/// Nearly as fast as it goes; between messages at 500/s, 100/s and 10/s.
pub(super) const RESTS_S: [f64; 4] = [0.2e-3, 2e-3, 10e-3, 100e-3];

/// For one sample: acknowledgements that come alone are those of some messages.
const BATCH: usize = 2;

/// A thousand times what any of this takes on a phone's core.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// For threads to end.
pub(super) const SHUT_DOWN: Duration = Duration::from_millis(100);
