//! One connection, kept; when it dies, another one is dialled, with growing patience.
//!
//! What is sent while there is none is lost, with the reason: nothing is queued for later, as
//! that would make round trips of minutes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pocketsim_protocols::contract::Reason;
use quinn::Endpoint;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, Semaphore};

use super::quic::{self, Channel};
use super::Carry;
use crate::trade::node::{Letter, Node};

/// The runtime with its connection.
pub(in crate::trade) struct QuicKeep {
    // Dropped by shut-down, which does not wait for a peer.
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
    room: Arc<Semaphore>,
}

struct Shared {
    node: Arc<Node>,
    endpoint: Endpoint,
    listener: SocketAddr,
    line: Mutex<Line>,
}

/// The connection, if there is one, and when to try for the next.
struct Line {
    channel: Option<Channel>,
    not_before: Instant,
    patience: Duration,
}

impl QuicKeep {
    /// No connection yet: the first `renew` dials.
    ///
    /// # Errors
    /// When the system gives no threads or sockets.
    pub(in crate::trade) fn new(listener: SocketAddr, node: Arc<Node>) -> io::Result<Self> {
        let runtime = quic::threads().build()?;
        let endpoint = {
            let _inside = runtime.enter();
            let mut endpoint = crate::quic::client_endpoint(listener)?;
            endpoint.set_default_client_config(quic::client_config());
            endpoint
        };
        let line = Mutex::new(Line {
            channel: None,
            not_before: Instant::now(),
            patience: PATIENCE_FIRST,
        });
        Ok(Self {
            runtime: Some(runtime),
            shared: Arc::new(Shared {
                node,
                endpoint,
                listener,
                line,
            }),
            room: Arc::new(Semaphore::new(MESSAGES_MAX)),
        })
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("only drop takes it")
    }
}

impl Carry for QuicKeep {
    fn has_room(&self) -> bool {
        self.room.available_permits() > 0
    }

    fn is_ready(&self) -> bool {
        let line = self.shared.line.try_lock();
        line.is_ok_and(|line| line.alive().is_some())
    }

    fn send(&self, letter: Letter) {
        let Ok(permit) = self.room.clone().try_acquire_owned() else {
            return self.shared.node.undelivered(&letter, Reason::Unserved);
        };
        let shared = Arc::clone(&self.shared);
        self.runtime().spawn(async move {
            if let Err(reason) = shared.exchange(&letter).await {
                shared.node.undelivered(&letter, reason);
            }
            drop(permit);
        });
    }

    fn renew(&self) {
        let shared = Arc::clone(&self.shared);
        self.runtime().spawn(async move {
            let mut line = shared.line.lock().await;
            if let Some(old) = line.channel.take() {
                old.close(b"the peer is another");
            }
            line.not_before = Instant::now();
            line.patience = PATIENCE_FIRST;
            drop(line);
            // So that the first message does not pay for the handshake.
            let _ = shared.channel().await;
        });
    }
}

impl Shared {
    async fn exchange(&self, letter: &Letter) -> Result<(), Reason> {
        self.channel().await?.exchange(letter, &self.node).await
    }

    /// The connection, dialled if need be; others wait for the one who dials.
    async fn channel(&self) -> Result<Channel, Reason> {
        let mut line = self.line.lock().await;
        if let Some(alive) = line.alive() {
            return Ok(alive);
        }
        if Instant::now() < line.not_before {
            return Err(Reason::ConnectionLost);
        }
        let dialled = quic::connect(&self.endpoint, self.listener).await;
        line.patience = match dialled {
            Ok(_) => PATIENCE_FIRST,
            Err(_) => (line.patience * 2).min(PATIENCE_MAX),
        };
        line.not_before = Instant::now() + line.patience;
        line.channel = dialled.clone().ok();
        dialled
    }
}

impl Line {
    fn alive(&self) -> Option<Channel> {
        let channel = self.channel.as_ref()?;
        channel.is_alive().then(|| channel.clone())
    }
}

impl Drop for QuicKeep {
    fn drop(&mut self) {
        self.shared.endpoint.close(0u32.into(), b"");
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(SHUT_DOWN);
        }
    }
}

/// Eight seconds without an answer at 500/s.
const MESSAGES_MAX: usize = 4_096;
/// First wait after a connection that died or was refused.
const PATIENCE_FIRST: Duration = Duration::from_millis(100);
/// A restarted listener is found within about this.
const PATIENCE_MAX: Duration = Duration::from_secs(2);
/// For the farewell to leave.
const SHUT_DOWN: Duration = Duration::from_millis(500);
