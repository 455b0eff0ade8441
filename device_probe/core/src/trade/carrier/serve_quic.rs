//! The listener's end of QUIC: every stream is a message, its answer goes back on it.
//!
//! Bounded: connections, streams and bytes by quinn's windows, and the time of a stream, so that
//! a peer that reads nothing or sends a byte a second holds nothing for long.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use pocketsim_protocols::contract::Reason;
use quinn::{Connection, Endpoint, Incoming, ReadToEndError, RecvStream, SendStream, VarInt};
use tokio::sync::Semaphore;

use super::quic::EXCHANGE_TIMEOUT;
use crate::stop::Stop;
use crate::trade::node::{Node, MESSAGE_BYTES_MAX};
use crate::trade::ports::LOOK_AROUND;

/// What went wrong with connections and streams.
#[derive(Debug, Default)]
pub(in crate::trade) struct QuicCounts {
    /// Connections beyond the limit.
    pub(in crate::trade) refused: AtomicU64,
    /// Handshakes that did not end well.
    pub(in crate::trade) failed: AtomicU64,
    /// Streams that took too long.
    pub(in crate::trade) slow: AtomicU64,
    /// Streams with more bytes than a message has.
    pub(in crate::trade) oversized: AtomicU64,
    /// Streams that broke off, either way.
    pub(in crate::trade) broken: AtomicU64,
}

/// Serve until `stop` is raised.
///
/// # Errors
/// When the system gives no threads, or the socket is of no use.
pub(in crate::trade) fn serve(
    socket: UdpSocket,
    node: &Arc<Node>,
    counts: &Arc<QuicCounts>,
    stop: &Stop,
) -> io::Result<()> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(WORKERS).enable_all().build()?;
    runtime.block_on(async {
        let endpoint = Endpoint::new(
            quinn::EndpointConfig::default(),
            Some(server_config()),
            socket,
            Arc::new(quinn::TokioRuntime),
        )?;
        let served = accept(&endpoint, node, counts, stop).await;
        endpoint.close(0u32.into(), b"the listener stops");
        let _ = tokio::time::timeout(SHUT_DOWN, endpoint.wait_idle()).await;
        served
    })
}

fn server_config() -> quinn::ServerConfig {
    let mut transport = quinn::TransportConfig::default();
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(MESSAGE_BYTES_MAX as u32))
        .receive_window(VarInt::from_u32(CONNECTION_BYTES_MAX));
    let mut config = crate::quic::server_config();
    config.transport_config(Arc::new(transport));
    config
}

/// # Errors
/// When the endpoint takes no connections any more.
async fn accept(
    endpoint: &Endpoint,
    node: &Arc<Node>,
    counts: &Arc<QuicCounts>,
    stop: &Stop,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while !stop.is_raised() {
        let next = tokio::time::timeout(LOOK_AROUND, endpoint.accept()).await;
        let incoming = match next {
            Ok(Some(incoming)) => incoming,
            Ok(None) => return Err(io::Error::other("the socket of QUIC is of no use any more")),
            Err(_) => continue,
        };
        let Ok(permit) = room.clone().try_acquire_owned() else {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            incoming.refuse();
            continue;
        };
        let (node, counts) = (Arc::clone(node), Arc::clone(counts));
        tokio::spawn(async move {
            match greet(incoming).await {
                Some(connection) => serve_connection(&connection, &node, &counts).await,
                None => add(&counts.failed),
            }
            drop(permit);
        });
    }
    Ok(())
}

async fn greet(incoming: Incoming) -> Option<Connection> {
    let connecting = incoming.accept().ok()?;
    let connected = tokio::time::timeout(HANDSHAKE_TIMEOUT, connecting).await;
    connected.ok()?.ok()
}

async fn serve_connection(connection: &Connection, node: &Arc<Node>, counts: &Arc<QuicCounts>) {
    while let Ok((send, receive)) = connection.accept_bi().await {
        let (node, counts) = (Arc::clone(node), Arc::clone(counts));
        tokio::spawn(async move {
            let served = serve_stream(send, receive, &node, &counts);
            if tokio::time::timeout(EXCHANGE_TIMEOUT, served)
                .await
                .is_err()
            {
                add(&counts.slow);
            }
        });
    }
}

/// A stream that is dropped ends, with nothing on it: whoever waits at the other end learns of it.
async fn serve_stream(
    mut send: SendStream,
    mut receive: RecvStream,
    node: &Node,
    counts: &QuicCounts,
) {
    let message = match receive.read_to_end(MESSAGE_BYTES_MAX).await {
        Ok(message) => message,
        Err(ReadToEndError::TooLong) => return add(&counts.oversized),
        Err(ReadToEndError::Read(_)) => return add(&counts.broken),
    };
    let answers = match node.waits_for_disk() {
        // The other connections are not to wait for the disk with this one.
        true => tokio::task::block_in_place(|| node.receive(&message)),
        false => node.receive(&message),
    };
    for letter in answers.unwrap_or_default() {
        if send.write_all(&letter.bytes).await.is_err() {
            add(&counts.broken);
            // The answer will be missed at the other end, which still has the proposal.
            node.undelivered(&letter, Reason::ConnectionLost);
        }
    }
    // Fails only if the peer stopped it, and then nobody waits.
    let _ = send.finish();
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// quinn's driver and a task that signs.
const WORKERS: usize = 2;
/// Twice what a reconnecting dialler has under way.
const CONNECTIONS_MAX: usize = 128;
/// Of one connection; with all of them 128 MiB.
const CONNECTION_BYTES_MAX: u32 = 1 << 20;
/// As the dialler's.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// For the farewells to leave.
const SHUT_DOWN: Duration = Duration::from_millis(500);
