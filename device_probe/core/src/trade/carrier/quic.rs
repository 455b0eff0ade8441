//! What both kinds of QUIC share: one message and its answer on one stream.

use std::sync::Arc;
use std::time::Duration;

use pocketsim_protocols::contract::Reason;
use quinn::{ConnectError, Connection, ConnectionError, ReadError, ReadToEndError, WriteError};
use tokio::sync::Semaphore;

use crate::trade::node::{Letter, Node, MESSAGE_BYTES_MAX};

/// A connection, and who may open a stream of it.
#[derive(Clone)]
pub(crate) struct Channel {
    connection: Connection,
    /// Messages wait here for their turn, as quinn would wake all that wait for a stream, thousands
    /// perhaps, whenever the listener allows a few more, and in no order.
    turns: Arc<Semaphore>,
}

impl Channel {
    fn new(connection: Connection) -> Self {
        Self {
            connection,
            turns: Arc::new(Semaphore::new(STREAMS_MAX as usize)),
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.connection.close_reason().is_none()
    }

    pub(super) fn close(&self, why: &[u8]) {
        self.connection.close(0u32.into(), why);
    }

    /// Send a letter on a stream of its own and give the answer to the node.
    ///
    /// # Errors
    /// Why there was no answer.
    pub(crate) async fn exchange(&self, letter: &Letter, node: &Node) -> Result<(), Reason> {
        let asked = self.ask(&letter.bytes);
        let answer = tokio::time::timeout(EXCHANGE_TIMEOUT, asked).await;
        let answer = answer.unwrap_or(Err(Reason::SocketTimeout))?;
        if answer.is_empty() {
            return Err(Reason::Unserved);
        }
        // Whatever is wrong with it is counted there. One message, one answer: nothing more to send.
        let _ = node.receive(&answer);
        Ok(())
    }

    async fn ask(&self, bytes: &[u8]) -> Result<Vec<u8>, Reason> {
        let _turn = self.turns.acquire().await.expect("nobody closes it");
        let (mut send, mut receive) = self.connection.open_bi().await.map_err(|e| lost(&e))?;
        send.write_all(bytes).await.map_err(|error| match error {
            WriteError::ConnectionLost(error) => lost(&error),
            _ => Reason::Unserved,
        })?;
        // Fails only for a stream that was stopped, of which the answer will tell.
        let _ = send.finish();
        let answer = receive.read_to_end(MESSAGE_BYTES_MAX).await;
        answer.map_err(|error| match error {
            ReadToEndError::TooLong => Reason::Oversized,
            ReadToEndError::Read(ReadError::ConnectionLost(error)) => lost(&error),
            ReadToEndError::Read(_) => Reason::Unserved,
        })
    }
}

/// Dial, but not for ever.
///
/// # Errors
/// Always [`Reason::ConnectTimeout`]: nobody answers, or nobody who speaks this.
pub(crate) async fn connect(
    endpoint: &quinn::Endpoint,
    listener: std::net::SocketAddr,
) -> Result<Channel, Reason> {
    let connecting = match endpoint.connect(listener, crate::quic::SERVER_NAME) {
        Ok(connecting) => connecting,
        Err(ConnectError::EndpointStopping) => return Err(Reason::SenderOff),
        Err(_) => return Err(Reason::ConnectTimeout),
    };
    let connected = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
    match connected {
        Ok(Ok(connection)) => Ok(Channel::new(connection)),
        _ => Err(Reason::ConnectTimeout),
    }
}

/// The threads of an end that keeps its connections: quinn's driver and a task that signs run at
/// once where the calling thread may use two cores.
///
/// Two threads of one core take it from each other between an answer and the end of its stream, which
/// then has a datagram of its own, of every other message, and that an acknowledgement of its own.
pub(crate) fn threads() -> tokio::runtime::Builder {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(cores.min(WORKERS_MAX)).enable_all();
    builder
}

/// quinn's defaults, but pinged so that a pause does not end a connection.
pub(super) fn client_config() -> quinn::ClientConfig {
    let mut transport = quinn::TransportConfig::default();
    transport.keep_alive_interval(Some(KEEP_ALIVE));
    let mut config = crate::quic::client_config();
    config.transport_config(Arc::new(transport));
    config
}

fn lost(error: &ConnectionError) -> Reason {
    match error {
        ConnectionError::TimedOut => Reason::IdleTimeout,
        _ => Reason::ConnectionLost,
    }
}

/// Streams that a listener lets a dialler have open at a time; quinn's default, but said.
pub(super) const STREAMS_MAX: u32 = 100;
/// quinn's driver and a task that signs.
const WORKERS_MAX: usize = 2;
/// Longer than any handshake that ends well; quinn alone would wait 30 s.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that trickles its answer is given up after this.
pub(in crate::trade) const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(10);
/// iroh's, whose kept connections are imitated (iroh 0.35, src/endpoint.rs).
const KEEP_ALIVE: Duration = Duration::from_secs(1);
