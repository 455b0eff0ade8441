//! The QUIC side of a serving probe. A stream's first byte says what it wants: its bytes back, or
//! their number when it has ended.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use quinn::{Endpoint, EndpointConfig, Incoming, RecvStream, SendStream, TokioRuntime, VarInt};
use tokio::sync::Semaphore;

use super::Shared;
use crate::quic::server_config;
use crate::stop::Stop;

/// First byte of a stream whose bytes come back.
pub const ECHO: u8 = b'E';
/// First byte of a stream whose bytes are counted; the count comes back, u64 big-endian.
pub const SINK: u8 = b'S';

/// Serve until `stop` is raised.
pub(super) async fn serve(
    socket: UdpSocket,
    shared: Arc<Shared>,
    stop: &Stop,
) -> std::io::Result<()> {
    let config = Some(bounded(server_config()));
    let runtime = Arc::new(TokioRuntime);
    let endpoint = Endpoint::new(EndpointConfig::default(), config, socket, runtime)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut look = tokio::time::interval(LOOK_INTERVAL);
    while !stop.is_raised() {
        tokio::select! {
            _ = look.tick() => {}
            incoming = endpoint.accept() => match incoming {
                Some(incoming) => admit(incoming, &places, &shared),
                None => break,
            },
        }
    }
    endpoint.close(VarInt::from_u32(0), b"");
    // Lets the peers know; whoever does not answer is not waited for.
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
    Ok(())
}

/// Quinn's defaults, but for what strangers could fill: streams that nobody reads, and windows.
fn bounded(mut config: quinn::ServerConfig) -> quinn::ServerConfig {
    let mut transport = quinn::TransportConfig::default();
    transport.max_concurrent_uni_streams(0_u8.into());
    transport.datagram_receive_buffer_size(None);
    transport.receive_window(CONNECTION_WINDOW_BYTES.into());
    transport.send_window(u64::from(CONNECTION_WINDOW_BYTES));
    config.transport_config(Arc::new(transport));
    config
}

fn admit(incoming: Incoming, places: &Arc<Semaphore>, shared: &Arc<Shared>) {
    let Ok(place) = places.clone().try_acquire_owned() else {
        shared.note(|stats| stats.quic_turned_away += 1);
        return incoming.refuse();
    };
    let shared = shared.clone();
    tokio::spawn(async move {
        serve_connection(incoming, shared).await;
        drop(place);
    });
}

async fn serve_connection(incoming: Incoming, shared: Arc<Shared>) {
    let Ok(Ok(connection)) = tokio::time::timeout(QUIET_LIMIT, incoming).await else {
        return shared.note(|stats| stats.quic_failed += 1);
    };
    shared.note(|stats| stats.quic_connections += 1);
    while let Ok((send, receive)) = connection.accept_bi().await {
        tokio::spawn(serve_stream(send, receive, shared.clone()));
    }
}

async fn serve_stream(mut send: SendStream, mut receive: RecvStream, shared: Arc<Shared>) {
    let served = match wanted(&mut receive).await {
        Some(ECHO) => echo(&mut send, &mut receive).await,
        Some(SINK) => sink(&mut send, &mut receive).await,
        _ => None,
    };
    match served {
        Some(bytes) => shared.note(|stats| {
            stats.quic_streams += 1;
            stats.quic_bytes += bytes;
        }),
        None => {
            let _ = send.reset(NOT_SERVED);
            let _ = receive.stop(NOT_SERVED);
            shared.note(|stats| stats.quic_failed += 1);
        }
    }
}

/// What the stream's first byte asks for, if it comes.
async fn wanted(receive: &mut RecvStream) -> Option<u8> {
    let mut first = [0];
    let read = receive.read_exact(&mut first);
    tokio::time::timeout(QUIET_LIMIT, read).await.ok()?.ok()?;
    Some(first[0])
}

async fn echo(send: &mut SendStream, receive: &mut RecvStream) -> Option<u64> {
    let mut bytes = 0;
    while let Some(chunk) = next(receive).await? {
        bytes += chunk.len() as u64;
        let write = send.write_all(&chunk);
        tokio::time::timeout(QUIET_LIMIT, write).await.ok()?.ok()?;
    }
    send.finish().ok()?;
    Some(bytes)
}

async fn sink(send: &mut SendStream, receive: &mut RecvStream) -> Option<u64> {
    let mut bytes = 0;
    while let Some(chunk) = next(receive).await? {
        bytes += chunk.len() as u64;
    }
    let count = u64::to_be_bytes(bytes);
    let write = send.write_all(&count);
    tokio::time::timeout(QUIET_LIMIT, write).await.ok()?.ok()?;
    send.finish().ok()?;
    Some(bytes)
}

/// The next bytes of a stream; `Some(None)` at its end, `None` if it broke off or went quiet.
async fn next(receive: &mut RecvStream) -> Option<Option<bytes::Bytes>> {
    let read = receive.read_chunk(CHUNK_BYTES_MAX, true);
    let chunk = tokio::time::timeout(QUIET_LIMIT, read).await.ok()?.ok()?;
    Some(chunk.map(|chunk| chunk.bytes))
}

/// The application's code for a stream that asks for nothing we know, or stopped in the middle.
const NOT_SERVED: VarInt = VarInt::from_u32(1);

/// How long a stop may go unnoticed.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Half a second reaches a peer on the same network.
const FAREWELL: Duration = Duration::from_millis(500);

/// A stream that says nothing for so long is given up.
const QUIET_LIMIT: Duration = Duration::from_secs(10);

/// One probe at a time measures, over one connection; the rest is for strangers.
pub(super) const CONNECTIONS_MAX: usize = 32;

/// More than the 1.25 MB that quinn lets one stream have in flight. So strangers can make this side
/// hold at most 64 MiB that it received and as much that it has yet to send.
const CONNECTION_WINDOW_BYTES: u32 = 2 << 20;

const CHUNK_BYTES_MAX: usize = 64 << 10;
