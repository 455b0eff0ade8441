//! The probe that answers another one, which measures the link between them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`codec`] | the datagrams of a measurement |
//! | `udp`, `quic` | the two sides of a probe that serves |
//! | `ledger` | what it counts |
//!
//! A serving probe trusts nobody: what does not parse is counted and dropped, an answer over UDP is
//! never longer than its question (over QUIC up to three times as long until the address is
//! validated, RFC 9000 8.1), and what it holds for strangers is bounded. What deliberately does not
//! live here: the probe that measures (`kernels::link`).

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::sockets::bind_consecutive;
use crate::stop::Stop;

pub mod codec;
mod ledger;
pub(crate) mod quic;
mod udp;

use codec::Refusal;

/// Where a serving probe listens; QUIC is one port above UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Addresses {
    /// Datagrams of [`codec`]; the address that a measuring probe is told.
    pub udp: SocketAddr,
    /// QUIC.
    pub quic: SocketAddr,
}

/// What a serving probe did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Stats {
    /// Echoes and queries answered.
    pub udp_answered: u64,
    /// Data datagrams counted.
    pub udp_counted: u64,
    /// Datagrams dropped, by reason.
    pub udp_refused: BTreeMap<&'static str, u64>,
    /// Connections accepted.
    pub quic_connections: u64,
    /// Connections turned away because there were too many.
    pub quic_turned_away: u64,
    /// Streams served to their end.
    pub quic_streams: u64,
    /// Bytes on those streams.
    pub quic_bytes: u64,
    /// Handshakes that failed, and streams of garbage or that broke off.
    pub quic_failed: u64,
}

/// Whoever looks on while a probe serves.
pub trait ServeObserver: Sync {
    /// It listens.
    fn bound(&self, addresses: Addresses);
    /// So far; about once a second.
    fn progress(&self, stats: &Stats);
}

/// Answer other probes until `stop` is raised.
///
/// `bind` is the port for UDP, the next one is for QUIC; port 0 takes a free pair.
///
/// # Errors
/// When the ports cannot be bound, or the system takes a socket away.
pub fn serve(bind: SocketAddr, observer: &dyn ServeObserver, stop: &Stop) -> io::Result<Stats> {
    let sockets = bind_consecutive(bind, 2, UdpSocket::bind)?;
    let [udp_socket, quic_socket] = sockets.try_into().expect("two");
    let shared = Arc::new(Shared::default());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    observer.bound(Addresses {
        udp: udp_socket.local_addr()?,
        quic: quic_socket.local_addr()?,
    });
    // Whichever ends first ends the others.
    let end = Stop::new();
    thread::scope(|scope| {
        let udp_side = scope.spawn(|| until_end(&end, || udp::serve(&udp_socket, &shared, &end)));
        let quic_side = scope.spawn(|| {
            until_end(&end, || {
                runtime.block_on(quic::serve(quic_socket, shared.clone(), &end))
            })
        });
        watch(observer, &shared, stop, &end);
        udp_side.join().expect("no panic while serving UDP")?;
        quic_side.join().expect("no panic while serving QUIC")
    })?;
    Ok(shared.stats())
}

fn until_end(end: &Stop, serve: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let served = serve();
    end.raise();
    served
}

/// Shows progress until either the user or a side wants to end.
fn watch(observer: &dyn ServeObserver, shared: &Shared, stop: &Stop, end: &Stop) {
    let mut looks = 0_u32;
    while !stop.is_raised() && !end.is_raised() {
        thread::sleep(LOOK_INTERVAL);
        looks += 1;
        if looks % LOOKS_PER_PROGRESS == 0 {
            observer.progress(&shared.stats());
        }
    }
    end.raise();
}

/// What both sides count.
#[derive(Debug, Default)]
struct Shared(Mutex<Stats>);

impl Shared {
    fn note(&self, change: impl FnOnce(&mut Stats)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn refuse(&self, refusal: Refusal) {
        self.note(|stats| *stats.udp_refused.entry(refusal.name()).or_default() += 1);
    }

    fn stats(&self) -> Stats {
        let stats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stats.clone()
    }
}

/// How long a stop may go unnoticed.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
const LOOKS_PER_PROGRESS: u32 = 10;
