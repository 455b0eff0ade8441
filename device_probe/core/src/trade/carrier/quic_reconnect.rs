//! A new runtime, endpoint and connection for every message, as the benchmark app did.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pocketsim_protocols::contract::Reason;
use tokio::sync::watch;

use super::{quic, Carry};
use crate::quic::FAREWELL;
use crate::trade::node::{Letter, Node};

/// A thread for each message under way.
pub(in crate::trade) struct QuicReconnect {
    listener: SocketAddr,
    node: Arc<Node>,
    under_way: Arc<AtomicUsize>,
    /// Dropped or changed, it cancels what is under way.
    repetition: watch::Sender<()>,
}

impl QuicReconnect {
    /// Nothing under way.
    pub(in crate::trade) fn new(listener: SocketAddr, node: Arc<Node>) -> Self {
        Self {
            listener,
            node,
            under_way: Arc::default(),
            repetition: watch::Sender::new(()),
        }
    }
}

impl Carry for QuicReconnect {
    fn has_room(&self) -> bool {
        self.under_way.load(Ordering::Acquire) < MESSAGES_MAX
    }

    fn send(&self, letter: Letter) {
        let (node, listener) = (Arc::clone(&self.node), self.listener);
        let under_way = UnderWay::begin(&self.under_way);
        let lost = letter.clone();
        let cancelled = self.repetition.subscribe();
        let thread = std::thread::Builder::new().name("trade-message".into());
        let spawned = thread.spawn(move || {
            if let Err(reason) = carry(listener, &letter, &node, cancelled) {
                node.undelivered(&letter, reason);
            }
            drop(under_way);
        });
        if spawned.is_err() {
            self.node.undelivered(&lost, Reason::SenderOff);
        }
    }

    fn forget(&self) {
        self.repetition.send_replace(());
    }
}

impl Drop for QuicReconnect {
    /// No thread outlives the trade, but for one that hangs in the system.
    fn drop(&mut self) {
        self.forget();
        let began = Instant::now();
        while self.under_way.load(Ordering::Acquire) > 0 && began.elapsed() < 2 * FAREWELL {
            std::thread::sleep(GLANCE);
        }
    }
}

/// Counts a message for as long as it lives.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn carry(
    listener: SocketAddr,
    letter: &Letter,
    node: &Node,
    mut cancelled: watch::Receiver<()>,
) -> Result<(), Reason> {
    let runtime = runtime().map_err(|_| Reason::SenderOff)?;
    runtime.block_on(async {
        let endpoint = crate::quic::client_endpoint(listener).map_err(|_| Reason::SenderOff)?;
        let exchanged = tokio::select! {
            exchanged = async {
                let channel = quic::connect(&endpoint, listener).await?;
                channel.exchange(letter, node).await
            } => exchanged,
            _ = cancelled.changed() => Err(Reason::SocketTimeout),
        };
        crate::quic::farewell(&endpoint).await;
        exchanged
    })
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Threads and sockets; the published runs broke down at about 40 dials a second.
const MESSAGES_MAX: usize = 64;
/// Between two looks at what is under way, after everything was measured.
const GLANCE: Duration = Duration::from_millis(5);
