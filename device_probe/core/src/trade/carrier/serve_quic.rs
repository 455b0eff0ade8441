//! The listener's end of QUIC: every stream is a message, its answer goes back on it.
//!
//! Bounded: connections, streams and bytes by quinn's windows, and the time of a stream, so that
//! a peer that reads nothing or sends a byte a second holds nothing for long. Who is let in, and
//! who must leave for whom, says [`crate::trade::places`].

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use pocketsim_protocols::contract::Reason;
use quinn::{Connection, Endpoint, Incoming, ReadToEndError, RecvStream, SendStream, VarInt};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::door::{Answer, Door, Place};
use super::quic::STREAMS_MAX;
use crate::stop::Stop;
use crate::trade::node::{Node, MESSAGE_BYTES_MAX};
use crate::trade::places::Guest;
use crate::trade::ports::LOOK_AROUND;
use crate::trade::prefix::Prefix;
use crate::trade::Patience;

/// What went wrong with connections and streams.
#[derive(Debug, Default)]
pub(crate) struct QuicCounts {
    /// Diallers who were asked to prove their address first.
    pub(in crate::trade) proofs: AtomicU64,
    /// Connections beyond the limit.
    pub(in crate::trade) refused: AtomicU64,
    /// Connections closed for others, whose turn it was.
    pub(in crate::trade) evicted: AtomicU64,
    /// Handshakes that did not end well.
    pub(in crate::trade) failed: AtomicU64,
    /// Streams that took too long.
    pub(in crate::trade) slow: AtomicU64,
    /// Streams with more bytes than a message has.
    pub(in crate::trade) oversized: AtomicU64,
    /// Streams that broke off, either way.
    pub(in crate::trade) broken: AtomicU64,
}

/// Whether a peer has introduced itself to control from there.
pub(crate) type Knows<'a> = &'a (dyn Fn(Prefix) -> bool + Sync);

/// Serve until `stop` is raised, on such threads and this one.
///
/// # Errors
/// When the socket is of no use.
pub(crate) fn serve(
    runtime: &Runtime,
    socket: UdpSocket,
    node: &Arc<Node>,
    counts: &Arc<QuicCounts>,
    patience: Patience,
    knows: Knows<'_>,
    stop: &Stop,
) -> io::Result<()> {
    runtime.block_on(async {
        let endpoint = Endpoint::new(
            quinn::EndpointConfig::default(),
            Some(server_config()),
            socket,
            Arc::new(quinn::TokioRuntime),
        )?;
        let shared = Shared {
            node: Arc::clone(node),
            counts: Arc::clone(counts),
            patience,
        };
        let served = accept(&endpoint, &shared, knows, stop).await;
        endpoint.close(0u32.into(), b"the listener stops");
        let _ = tokio::time::timeout(SHUT_DOWN, endpoint.wait_idle()).await;
        served
    })
}

fn server_config() -> quinn::ServerConfig {
    let mut transport = quinn::TransportConfig::default();
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS_MAX))
        .stream_receive_window(VarInt::from_u32(MESSAGE_BYTES_MAX as u32))
        .receive_window(VarInt::from_u32(CONNECTION_BYTES_MAX));
    let mut config = crate::quic::server_config();
    config.transport_config(Arc::new(transport));
    config
}

/// What every task of the server needs.
#[derive(Clone)]
struct Shared {
    node: Arc<Node>,
    counts: Arc<QuicCounts>,
    patience: Patience,
}

/// # Errors
/// When the endpoint takes no connections any more.
async fn accept(
    endpoint: &Endpoint,
    shared: &Shared,
    knows: Knows<'_>,
    stop: &Stop,
) -> io::Result<()> {
    let door = Door::new(shared.patience.first_block, shared.node.clock());
    while !stop.is_raised() {
        let next = tokio::time::timeout(LOOK_AROUND, endpoint.accept()).await;
        match next {
            Ok(Some(incoming)) => admit(incoming, &door, shared, knows),
            Ok(None) => return Err(io::Error::other("the socket of QUIC is of no use any more")),
            Err(_) => {}
        }
    }
    Ok(())
}

/// Nothing is kept of those who are not let in, and no signature made.
fn admit(incoming: Incoming, door: &Door, shared: &Shared, knows: Knows<'_>) {
    let prefix = Prefix::of(incoming.remote_address());
    let guest = Guest {
        prefix,
        is_proved: incoming.remote_address_validated(),
        is_introduced: knows(prefix),
    };
    let counts = &shared.counts;
    match door.knock(guest) {
        Answer::In {
            place,
            leave,
            evicts,
        } => {
            counts
                .evicted
                .fetch_add(u64::from(evicts), Ordering::Relaxed);
            tokio::spawn(serve_guest(incoming, place, leave, shared.clone()));
        }
        Answer::Prove => {
            add(&counts.proofs);
            // Fails only for those whose address is proved.
            let _ = incoming.retry();
        }
        Answer::Refused => {
            add(&counts.refused);
            incoming.refuse();
        }
    }
}

/// From the handshake to the end, or until the place is another's.
async fn serve_guest(
    incoming: Incoming,
    place: Place,
    mut leave: oneshot::Receiver<()>,
    shared: Shared,
) {
    let greeted = tokio::select! {
        greeted = greet(incoming) => greeted,
        // What is dropped now ends the handshake.
        _ = &mut leave => return,
    };
    let Some(connection) = greeted else {
        return add(&shared.counts.failed);
    };
    place.is_connected();
    tokio::select! {
        () = serve_connection(&connection, place, &shared) => {}
        _ = leave => connection.close(0u32.into(), b"others have fewer places"),
    }
}

async fn greet(incoming: Incoming) -> Option<Connection> {
    let connecting = incoming.accept().ok()?;
    let connected = tokio::time::timeout(HANDSHAKE_TIMEOUT, connecting).await;
    connected.ok()?.ok()
}

async fn serve_connection(connection: &Connection, place: Place, shared: &Shared) {
    let place = Arc::new(place);
    while let Ok((send, receive)) = connection.accept_bi().await {
        let (shared, place) = (shared.clone(), Arc::clone(&place));
        tokio::spawn(async move {
            let served = serve_stream(send, receive, &place, &shared);
            if tokio::time::timeout(shared.patience.stream, served)
                .await
                .is_err()
            {
                add(&shared.counts.slow);
            }
        });
    }
}

/// A stream that is dropped ends, with nothing on it: whoever waits at the other end learns of it.
async fn serve_stream(
    mut send: SendStream,
    mut receive: RecvStream,
    place: &Place,
    shared: &Shared,
) {
    let Shared { node, counts, .. } = shared;
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
        place.is_served();
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

/// Of one connection; with all of them 256 MiB.
const CONNECTION_BYTES_MAX: u32 = 1 << 20;
/// As the dialler's.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// For the farewells to leave.
const SHUT_DOWN: Duration = Duration::from_millis(500);
