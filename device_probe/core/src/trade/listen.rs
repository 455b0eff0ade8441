//! The listening end: three sockets, one node, any number of diallers.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use pocketsim_protocols::contract::Seconds;

use super::carrier::serve_quic::{self, QuicCounts};
use super::carrier::{tftp as tftp_carrier, udp};
use super::control::{Control, NotControl};
use super::export::{self, Export};
use super::host::Host;
use super::node::{Letter, Node, Unattributed};
use super::outcome::{Outcome, Role};
use super::ports::{next_datagram, reachable, Ports, LOOK_AROUND};
use super::tftp::{Endpoint, Wire};
use super::{ListenOptions, Progress, TradeError, TradeObserver};
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
    let export = Export::to(options.output.as_deref(), &options.label)?;
    let ports = Ports::bind(options.bind)?;
    let address = ports.base.local_addr()?;
    let station = Station::new(export::node(options.storage, options.output.as_deref())?);
    observer.listening(reachable(address));
    let served = station.serve(ports, observer, stop);
    let outcome = station.outcome();
    export.write(&station.node)?;
    served?;
    Ok(outcome)
}

/// What the threads of a listener share.
struct Station {
    node: Arc<Node>,
    host: Mutex<Host>,
    quic: Arc<QuicCounts>,
    malformed_control: AtomicU64,
    tftp: Mutex<super::tftp::WireCounts>,
}

impl Station {
    fn new(node: Arc<Node>) -> Self {
        Self {
            node,
            host: Mutex::default(),
            quic: Arc::default(),
            malformed_control: AtomicU64::new(0),
            tftp: Mutex::default(),
        }
    }

    /// One thread for each socket; the first that fails ends them all.
    fn serve(&self, ports: Ports, observer: &dyn TradeObserver, stop: &Stop) -> io::Result<()> {
        let over = Stop::new();
        let Ports { base, quic, tftp } = ports;
        thread::scope(|scope| {
            let threads = [
                scope.spawn(|| self.serve_base(&base, &over)),
                scope.spawn(|| serve_quic::serve(quic, &self.node, &self.quic, &over)),
                scope.spawn(|| self.serve_tftp(tftp, &over)),
            ];
            while !stop.is_raised() && !threads.iter().any(ScopedJoinHandle::is_finished) {
                thread::sleep(LOOK_AROUND);
                self.report(observer);
            }
            over.raise();
            let join = |thread: ScopedJoinHandle<'_, io::Result<()>>| {
                thread
                    .join()
                    .expect("a thread of the listener panicked: a bug")
            };
            threads.into_iter().try_for_each(join)
        })
    }

    fn serve_base(&self, socket: &UdpSocket, over: &Stop) -> io::Result<()> {
        socket.set_read_timeout(Some(LOOK_AROUND))?;
        let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
        let mut questions = Limiter::default();
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
        questions: &mut Limiter,
    ) {
        let answer = match Control::decode(bytes) {
            Ok(control) => self.host().answer(&control, &self.node),
            Err(NotControl::Foreign) => return self.on_block(socket, bytes, from, questions),
            Err(NotControl::Version(_) | NotControl::Malformed) => {
                self.malformed_control.fetch_add(1, Ordering::Relaxed);
                None
            }
        };
        if let Some(answer) = answer {
            // Lost is lost: it will be asked for again.
            let _ = socket.send_to(&answer.encode(), from);
        }
    }

    fn on_block(
        &self,
        socket: &UdpSocket,
        bytes: &[u8],
        from: SocketAddr,
        questions: &mut Limiter,
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

    fn outcome(&self) -> Outcome {
        let mut outcome = Outcome::of(Role::Listener, &self.node);
        outcome.repetitions = self.node.with_log(|log| {
            let runs = log.runs.iter().enumerate();
            runs.map(|(place, run)| super::outcome::listened(place, run))
                .collect()
        });
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        outcome.count("control_malformed", load(&self.malformed_control));
        outcome.count("quic_connections_refused", load(&self.quic.refused));
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

/// Lets so many through in a second: whoever floods the port must not be answered each time.
#[derive(Debug, Default)]
struct Limiter {
    second: u64,
    passed: u32,
}

impl Limiter {
    fn allows(&mut self, now_s: Seconds) -> bool {
        if self.second != now_s as u64 {
            *self = Self {
                second: now_s as u64,
                passed: 0,
            };
        }
        self.passed += 1;
        self.passed <= QUESTIONS_PER_S
    }
}

/// A clock that begins now.
pub(super) fn trade_clock() -> super::node::TradeClock {
    let began = Instant::now();
    Arc::new(move || began.elapsed().as_secs_f64())
}

/// Calls back about twice a second.
pub(super) const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// The largest datagram there is, and a byte more to see that there is none larger.
pub(super) const DATAGRAM_BYTES_MAX: usize = 65_536;
/// A dialler that is not known any more needs one.
const QUESTIONS_PER_S: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_asked_a_few_times_a_second() {
        let mut limiter = Limiter::default();
        let passed =
            |limiter: &mut Limiter, at_s: f64| (0..1_000).filter(|_| limiter.allows(at_s)).count();
        assert_eq!(passed(&mut limiter, 0.5), 20);
        assert_eq!(passed(&mut limiter, 0.9), 0);
        assert_eq!(passed(&mut limiter, 1.0), 20);
    }
}
