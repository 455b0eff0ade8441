//! The listener of `probe trade`, on a core of its own, beside what is measured on another.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::runtime::{Builder, Runtime};

use crate::clock::ThreadClock;
use crate::host::affinity::on_cores;
use crate::kernel::{Series, Unmeasured};
use crate::kernels::trading::Traders;
use crate::kernels::waking::two_cores;
use crate::stop::Stop;
use crate::trade::carrier::quic::threads;
use crate::trade::carrier::serve_quic::{serve, QuicCounts};
use crate::trade::Patience;

/// What `measure` finds on a core of its own, beside who countersigns at an address, whose
/// threads are noted in `ends`.
pub(super) fn beside_a_listener(
    traders: &Traders,
    ends: &Threads,
    measure: impl FnOnce(SocketAddr) -> Result<Vec<Series>, Unmeasured> + Send,
) -> Result<Vec<Series>, Unmeasured> {
    let (own, other) = two_cores()?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = socket.local_addr()?;
    let over = Stop::new();
    thread::scope(|scope| {
        let ended_whatever_happens = over.when_dropped();
        let listening = scope.spawn(|| {
            on_cores(&[own], || {
                let runtime = ends.noted(threads())?;
                let (counts, patience) = (Arc::<QuicCounts>::default(), Patience::default());
                let node = &traders.countersigner;
                let served = serve(&runtime, socket, node, &counts, patience, &|_| true, &over);
                Ok(served?)
            })
        });
        let measured = on_cores(&[other], || measure(address));
        drop(ended_whatever_happens);
        let listened = listening.join().expect("it returns what goes wrong");
        listened.and(measured)
    })
}

/// The threads of an end.
#[derive(Clone, Default)]
pub(super) struct Threads(Arc<Mutex<Vec<ThreadClock>>>);

impl Threads {
    /// A runtime whose threads are noted, and the calling one.
    pub(super) fn noted(&self, mut builder: Builder) -> std::io::Result<Runtime> {
        let threads = self.clone();
        self.note();
        builder.on_thread_start(move || threads.note()).build()
    }

    fn note(&self) {
        let mut clocks = self.0.lock().expect("a thread that holds it has panicked");
        clocks.push(ThreadClock::of_this_thread());
    }

    /// Their core time.
    ///
    /// # Errors
    /// One of them has ended.
    pub(super) fn cpu_s(&self) -> Result<f64, Unmeasured> {
        let clocks = self.0.lock().expect("a thread that holds it has panicked");
        let read = |clock: &ThreadClock| Ok(clock.read()?.as_secs_f64());
        clocks.iter().map(read).sum()
    }
}
