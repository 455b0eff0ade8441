//! The listening end: three sockets, one node, any number of diallers.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use pocketsim_protocols::contract::Seconds;

use super::carrier::quic::threads;
use super::carrier::serve_quic::{serve, QuicCounts};
use super::carrier::{tftp as tftp_carrier, udp};
use super::control::{Control, NotControl};
use super::envelope::{seal, Envelope};
use super::export::{self, Export};
use super::host::Host;
use super::limit::PerSecond;
use super::node::{Letter, Node, Unattributed};
use super::outcome::{Outcome, Role};
use super::ports::{next_datagram, reachable, Ports, LOOK_AROUND};
use super::tftp::{Endpoint, Wire};
use super::{ListenOptions, Patience, Progress, TradeError, TradeObserver};
use crate::sockets::DATAGRAM_BYTES_MAX;
use crate::stop::Stop;

/// Answer proposals until `stop` is raised.
///
/// # Errors
/// When the ports cannot be bound or the output cannot be written.
pub fn listen(
    options: &ListenOptions,
    observer: &dyn TradeObserver,
    stop: &Stop,
) -> Result<Outcome, TradeError> {
    let last = super::ports::PORT_MAX;
    if options.bind.port() > last {
        let reason = format!("two more ports follow, so {last} is the last that works");
        return Err(TradeError::Option("bind", reason));
    }
    let export = Export::to(options.output.as_deref(), &options.label)?;
    let ports = Ports::bind(options.bind)?;
    let address = ports.base.local_addr()?;
    let (storage, limit_bytes) = (options.storage, options.store_limit_bytes);
    let output = options.output.as_deref();
    let node = export::node(storage, limit_bytes, output, export.epoch())?;
    let station = Station::new(node, export)?;
    observer.listening(reachable(address));
    let served = station.serve(ports, options.patience, observer, stop);
    let mut outcome = station.outcome(options);
    outcome.address = Some(address);
    outcome.blame(served);
    outcome.blame(station.export.finish(&station.node));
    Ok(outcome)
}

/// What the threads of a listener share.
struct Station {
    node: Arc<Node>,
    export: Export,
    host: Mutex<Host>,
    quic: Arc<QuicCounts>,
    malformed_control: AtomicU64,
    tftp: Mutex<super::tftp::WireCounts>,
}

impl Station {
    fn new(node: Arc<Node>, export: Export) -> io::Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        Ok(Self {
            node,
            export,
            host: Mutex::new(Host::new(secret)),
            quic: Arc::default(),
            malformed_control: AtomicU64::new(0),
            tftp: Mutex::default(),
        })
    }

    /// One thread for each socket; the first that fails ends them all.
    fn serve(
        &self,
        ports: Ports,
        patience: Patience,
        observer: &dyn TradeObserver,
        stop: &Stop,
    ) -> io::Result<()> {
        let over = Stop::new();
        let Ports { base, quic, tftp } = ports;
        let knows = |from| self.host().knows(from);
        thread::scope(|scope| {
            // Also when the observer panics: the threads would be waited for ever.
            let ended_whatever_happens = over.when_dropped();
            let threads = [
                scope.spawn(|| self.serve_base(&base, &over)),
                scope.spawn(|| {
                    let (runtime, counts) = (threads().build()?, &self.quic);
                    serve(&runtime, quic, &self.node, counts, patience, &knows, &over)
                }),
                scope.spawn(|| self.serve_tftp(tftp, &over)),
            ];
            let is_over = || stop.is_raised() || threads.iter().any(ScopedJoinHandle::is_finished);
            let written = self.look_on(observer, &is_over);
            drop(ended_whatever_happens);
            let join = |thread: ScopedJoinHandle<'_, io::Result<()>>| {
                thread
                    .join()
                    .expect("a thread of the listener panicked: a bug")
            };
            threads.into_iter().try_for_each(join).and(written)
        })
    }

    /// Say how far it is, and write events in the pauses, until it is over.
    fn look_on(&self, observer: &dyn TradeObserver, is_over: &dyn Fn() -> bool) -> io::Result<()> {
        let (mut written, mut flushed_s) = (Ok(()), 0.0);
        let mut next = Instant::now();
        while !is_over() {
            thread::sleep(LOOK_AROUND);
            if Instant::now() < next {
                continue;
            }
            next = Instant::now() + REPORT_INTERVAL;
            self.report(observer);
            let (now_s, rest_s) = (self.node.now_s(), self.node.rest_s());
            if rest_s > PAUSE_S && now_s - rest_s > flushed_s {
                flushed_s = now_s;
                written = written.and(self.export.flush(&self.node));
            }
        }
        written
    }

    fn serve_base(&self, socket: &UdpSocket, over: &Stop) -> io::Result<()> {
        socket.set_read_timeout(Some(LOOK_AROUND))?;
        let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
        let mut questions = PerSecond::new(QUESTIONS_PER_S);
        while !over.is_raised() {
            if let Some((bytes, from)) = next_datagram(socket, &mut buffer)? {
                self.on_datagram(socket, &buffer[..bytes], from, &mut questions);
            }
        }
        Ok(())
    }

    fn on_datagram(
        &self,
        socket: &UdpSocket,
        bytes: &[u8],
        from: SocketAddr,
        questions: &mut PerSecond,
    ) {
        let answer = match Envelope::open(bytes) {
            Ok(envelope) => self.host().answer(&envelope, from, &self.node),
            Err(NotControl::Foreign) => return self.on_block(socket, bytes, from, questions),
            Err(NotControl::Version(_) | NotControl::Malformed) => {
                self.malformed_control.fetch_add(1, Ordering::Relaxed);
                None
            }
        };
        if let Some(answer) = answer {
            // Lost is lost: it will be asked for again.
            let _ = socket.send_to(&seal(&answer, &self.node), from);
        }
    }

    fn on_block(
        &self,
        socket: &UdpSocket,
        bytes: &[u8],
        from: SocketAddr,
        questions: &mut PerSecond,
    ) {
        match self.node.receive(bytes) {
            Ok(letters) => self.send(socket, letters, from),
            Err(Unattributed::Stranger) if questions.allows(self.node.now_s()) => {
                let _ = socket.send_to(&Control::WhoAreYou.encode(), from);
            }
            Err(_) => {}
        }
    }

    fn send(&self, socket: &UdpSocket, letters: Vec<Letter>, to: SocketAddr) {
        for letter in letters {
            if let Err(error) = socket.send_to(&letter.bytes, to) {
                self.node.undelivered(&letter, udp::reason_of(&error));
            }
        }
    }

    fn serve_tftp(&self, socket: UdpSocket, over: &Stop) -> io::Result<()> {
        let endpoint = Endpoint::new(socket, Wire::server())?;
        while !over.is_raised() {
            endpoint.step(&mut |action| tftp_carrier::react(&endpoint, action, &self.node))?;
        }
        *self.tftp.lock().expect("only counts are written under it") = endpoint.counts();
        Ok(())
    }

    fn report(&self, observer: &dyn TradeObserver) {
        let mut progress = Progress::default();
        let host = self.host();
        for run in host.current_runs() {
            let (_, stored, refused) = self.node.counts(run);
            progress.stored += stored;
            progress.refused += refused;
        }
        progress.stage = match host.current_runs().count() {
            0 => "waiting for a dialler".to_owned(),
            diallers => format!("{diallers} dialled so far"),
        };
        drop(host);
        observer.progress(&progress);
    }

    fn outcome(&self, options: &ListenOptions) -> Outcome {
        let started_at = self.export.epoch().timestamp(0.0);
        let mut outcome = Outcome::of(Role::Listener, &self.node, options.storage, started_at);
        outcome.label.clone_from(&options.label);
        outcome.repetitions = self.node.with_log(|log| {
            let runs = log.runs.iter().enumerate();
            runs.map(|(place, run)| super::outcome::listened(place, run))
                .collect()
        });
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        outcome.count("control_malformed", load(&self.malformed_control));
        let control = self.host().counts();
        outcome.count("control_forged", control.forged);
        outcome.count("control_hurried", control.hurried);
        outcome.count("control_key_taken", control.taken);
        outcome.count("control_crowded", control.crowded);
        outcome.count("quic_addresses_to_prove", load(&self.quic.proofs));
        outcome.count("quic_connections_refused", load(&self.quic.refused));
        outcome.count("quic_connections_evicted", load(&self.quic.evicted));
        outcome.count("quic_handshakes_failed", load(&self.quic.failed));
        outcome.count("quic_streams_slow", load(&self.quic.slow));
        outcome.count("quic_streams_oversized", load(&self.quic.oversized));
        outcome.count("quic_streams_broken", load(&self.quic.broken));
        outcome.count_tftp(&self.tftp.lock().expect("only counts are written under it"));
        outcome
    }

    fn host(&self) -> std::sync::MutexGuard<'_, Host> {
        self.host
            .lock()
            .expect("a thread that holds it has panicked: a bug")
    }
}

/// Calls back about twice a second.
pub(super) const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// Nothing stored for so long is a pause, in which there is time to write.
const PAUSE_S: Seconds = 2.0;
/// A dialler that is not known any more needs one.
const QUESTIONS_PER_S: u32 = 20;
