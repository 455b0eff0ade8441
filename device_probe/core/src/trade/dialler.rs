//! What the threads of a dialling end share: the node, the socket, and who listens.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use pocketsim_protocols::contract::{NodeId, Seconds};

use super::carrier::{quic_keep, quic_reconnect, tftp as tftp_carrier, udp, Carry};
use super::control::{NotControl, Summary};
use super::envelope::{seal, Envelope};
use super::negotiation::{Goal, Met, Negotiation};
use super::node::Node;
use super::outcome::Outcome;
use super::ports::{next_datagram, socket_towards, Service, LOOK_AROUND};
use super::tftp::{Endpoint, Wire};
use super::{Carrier, DialOptions};
use crate::sockets::DATAGRAM_BYTES_MAX;
use crate::stop::Stop;

/// A dialling end.
pub(super) struct Dialler {
    pub(super) node: Arc<Node>,
    socket: Arc<UdpSocket>,
    carrier: Arc<dyn Carry>,
    tftp: Option<Arc<Endpoint>>,
    peer_address: std::net::SocketAddr,
    state: Mutex<State>,
    malformed_control: AtomicU64,
    foreign: AtomicU64,
    broken: Stop,
}

struct State {
    negotiation: Negotiation,
    peer: Option<NodeId>,
    number: u32,
    run: Option<usize>,
    reintroductions: u32,
}

impl Dialler {
    /// With its sockets, but nobody met yet.
    ///
    /// # Errors
    /// When the system gives no sockets or threads.
    pub(super) fn new(options: &DialOptions, node: Arc<Node>) -> io::Result<Self> {
        let mut session = [0; 8];
        getrandom::fill(&mut session).map_err(io::Error::other)?;
        let session = u64::from_be_bytes(session);
        let socket = Arc::new(socket_towards(options.peer)?);
        socket.set_read_timeout(Some(LOOK_AROUND))?;
        let tftp = match options.carrier {
            Carrier::Tftp => Some(Endpoint::towards(options.peer, Wire::dialler())?),
            _ => None,
        };
        let tftp = tftp.map(Arc::new);
        let carrier = carry(options, &node, &socket, tftp.as_ref())?;
        let state = State {
            negotiation: Negotiation::new(session, node.key(), options.carrier),
            peer: None,
            number: 0,
            run: None,
            reintroductions: 0,
        };
        Ok(Self {
            node,
            socket,
            carrier,
            tftp,
            peer_address: options.peer,
            state: Mutex::new(state),
            malformed_control: AtomicU64::new(0),
            foreign: AtomicU64::new(0),
            broken: Stop::new(),
        })
    }

    /// Do `what` while the receiving threads run: what came of it, and whether they ran until its
    /// end. If not, it was told by [`Dialler::is_broken`].
    pub(super) fn with_threads<T>(
        &self,
        what: impl FnOnce(&dyn Carry) -> T,
    ) -> (T, io::Result<()>) {
        let over = Stop::new();
        thread::scope(|scope| {
            let ended_whatever_happens = over.when_dropped();
            let base = scope.spawn(|| self.watched(|| self.serve_base(&over)));
            let tftp = scope.spawn(|| self.watched(|| self.serve_tftp(&over)));
            let done = what(&*self.carrier);
            drop(ended_whatever_happens);
            let join = |thread: thread::ScopedJoinHandle<'_, io::Result<()>>| {
                thread
                    .join()
                    .expect("a thread of the dialler panicked: a bug")
            };
            (done, [base, tftp].into_iter().try_for_each(join))
        })
    }

    /// A thread that fails or panics is noticed.
    fn watched(&self, serve: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let broken = self.broken.when_dropped();
        let served = serve();
        if served.is_ok() {
            broken.disarm();
        }
        served
    }

    /// Whether nothing can be received any more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.is_raised()
    }

    /// Want something else of the listener.
    pub(super) fn aim(&self, goal: Goal) {
        self.state().negotiation.aim(goal);
    }

    /// Whether the goal is reached.
    pub(super) fn is_reached(&self) -> bool {
        self.state().negotiation.is_reached()
    }

    /// Whether the listener takes no more.
    pub(super) fn is_full(&self) -> bool {
        self.state().negotiation.is_full()
    }

    /// What the listener said of the repetition.
    pub(super) fn summary(&self) -> Option<Summary> {
        self.state().negotiation.summary().cloned()
    }

    /// The listener's number at the agent.
    pub(super) fn peer(&self) -> Option<NodeId> {
        self.state().peer
    }

    /// Its own number in the experiment.
    pub(super) fn number(&self) -> u32 {
        self.state().number
    }

    /// Times in this repetition that the listener turned out to be another.
    pub(super) fn reintroductions(&self) -> u32 {
        self.state().reintroductions
    }

    /// A repetition begins, at `place` in the log.
    pub(super) fn begin(&self, place: usize) {
        let mut state = self.state();
        state.run = Some(place);
        state.reintroductions = 0;
    }

    /// What was counted besides blocks.
    pub(super) fn count(&self, outcome: &mut Outcome) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        outcome.count("control_malformed", load(&self.malformed_control));
        outcome.count("foreign_datagrams", load(&self.foreign));
        if let Some(endpoint) = &self.tftp {
            outcome.count_tftp(&endpoint.counts());
        }
    }

    /// Blocks and control; between two datagrams, the questions that are due.
    fn serve_base(&self, over: &Stop) -> io::Result<()> {
        let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
        let mut asked_s = 0.0;
        while !over.is_raised() {
            // Not before every datagram: it waits for the node, and an answer would wait with it.
            if self.node.now_s() >= asked_s + LOOK_AROUND.as_secs_f64() {
                asked_s = self.node.now_s();
                self.ask();
            }
            let Some((bytes, from)) = next_datagram(&self.socket, &mut buffer)? else {
                continue;
            };
            // Only the listener, or the relay before it, was given this address.
            match from == self.peer_address {
                true => self.on_datagram(&buffer[..bytes]),
                false => add(&self.foreign),
            }
        }
        Ok(())
    }

    fn serve_tftp(&self, over: &Stop) -> io::Result<()> {
        let Some(endpoint) = &self.tftp else {
            return Ok(());
        };
        while !over.is_raised() {
            endpoint.step(&mut |action| tftp_carrier::react(endpoint, action, &self.node))?;
        }
        Ok(())
    }

    fn ask(&self) {
        let is_silent = self.node.silence_s() > SILENCE_S;
        let mut state = self.state();
        if is_silent {
            state.negotiation.doubt();
        }
        if let Some(question) = state.negotiation.poll(self.node.now_s()) {
            // One that does not leave will be repeated.
            let _ = self
                .socket
                .send_to(&seal(&question, &self.node), self.peer_address);
        }
    }

    fn on_datagram(&self, bytes: &[u8]) {
        match Envelope::open(bytes) {
            Ok(envelope) => self.on_control(&envelope),
            // Counted there, whatever it is.
            Err(NotControl::Foreign) => drop(self.node.receive(bytes)),
            Err(NotControl::Version(_) | NotControl::Malformed) => add(&self.malformed_control),
        }
    }

    fn on_control(&self, envelope: &Envelope<'_>) {
        let mut state = self.state();
        let Some(Met { key, number }) = state.negotiation.receive(envelope) else {
            return;
        };
        let Some(peer) = self.node.introduce(key, LISTENER) else {
            return;
        };
        self.node.set_number(number);
        if let Some(run) = state.run {
            self.node.assign(peer, run);
        }
        state.reintroductions += u32::from(state.peer.is_some_and(|old| old != peer));
        (state.peer, state.number) = (Some(peer), number);
        drop(state);
        self.carrier.renew();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("a thread that holds it has panicked: a bug")
    }
}

fn carry(
    options: &DialOptions,
    node: &Arc<Node>,
    socket: &Arc<UdpSocket>,
    tftp: Option<&Arc<Endpoint>>,
) -> io::Result<Arc<dyn Carry>> {
    let node = Arc::clone(node);
    let quic = Service::Quic.at(options.peer);
    Ok(match (options.carrier, tftp) {
        (Carrier::Tftp, Some(endpoint)) => Arc::new(tftp_carrier::Tftp {
            endpoint: Arc::clone(endpoint),
            listener: Service::Tftp.at(options.peer),
            node,
        }),
        (Carrier::QuicKeep, _) => Arc::new(quic_keep::QuicKeep::new(quic, node)?),
        (Carrier::QuicReconnect, _) => Arc::new(quic_reconnect::QuicReconnect::new(quic, node)),
        (Carrier::Udp | Carrier::Tftp, _) => Arc::new(udp::Udp {
            socket: Arc::clone(socket),
            listener: options.peer,
            node,
        }),
    })
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// Its number in the experiment.
const LISTENER: u32 = 0;
/// Without an answer for so long, the listener may be another; longer than round trips are, so
/// that no question is asked in a trade that goes well.
const SILENCE_S: Seconds = 1.0;
