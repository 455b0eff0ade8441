//! The asking side of `peer::codec`: echoes, trains of data, and reports on them.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use crate::kernel::Unmeasured;
use crate::peer::codec::{decode, Counts, Kind, Message, HEADER_BYTES, REPORT_BYTES};
use crate::sockets::any_port;
use crate::stop::Stop;

/// A socket towards a peer that answered.
pub(super) struct Prober {
    socket: UdpSocket,
    peer: SocketAddr,
    start: Instant,
    sequence: u64,
}

/// Data datagrams at a steady rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    /// Each one's UDP payload.
    pub bytes: usize,
    /// Payload per second.
    pub rate_bytes_per_s: f64,
    /// For how long.
    pub duration: Duration,
}

/// What became of a train.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Datagrams handed to the system.
    pub sent: u64,
    /// How long that took.
    pub sending_s: f64,
    /// What the peer counted.
    pub arrived: Counts,
}

impl Outcome {
    /// Of those sent, the part that did not arrive.
    pub fn loss_ratio(&self) -> f64 {
        1.0 - self.arrived.datagrams.min(self.sent) as f64 / self.sent.max(1) as f64
    }
}

impl Prober {
    /// Opens a socket and waits for the first answer.
    pub fn dial(peer: SocketAddr) -> Result<Self, Unmeasured> {
        let socket = UdpSocket::bind(any_port(peer.ip()))?;
        socket.connect(peer)?;
        let mut prober = Self {
            socket,
            peer,
            start: Instant::now(),
            sequence: 0,
        };
        prober.rtt_s(HEADER_BYTES)?;
        Ok(prober)
    }

    /// One echo there and back; another one if that is lost.
    pub fn rtt_s(&mut self, bytes: usize) -> Result<f64, Unmeasured> {
        let echo = self.question(Kind::Echo, 0);
        self.ask(echo, bytes).map(|(_, rtt_s)| rtt_s)
    }

    /// Sends a train under a session of its own and asks what arrived of it.
    pub fn run(&mut self, train: Train, stop: &Stop) -> Result<Outcome, Unmeasured> {
        let session = new_session()?;
        let start = Instant::now();
        let sent = send_train(&self.socket, session, train, stop)?;
        let sending_s = start.elapsed().as_secs_f64();
        if sent == 0 {
            return Err(Unmeasured::because("stopped before the first datagram"));
        }
        // A link that reorders may let the query overtake the last of them.
        thread::sleep(SETTLE);
        let query = self.question(Kind::Query, session);
        let (report, _) = self.ask(query, REPORT_BYTES)?;
        Ok(Outcome {
            sent,
            sending_s,
            arrived: report.counts,
        })
    }

    /// A socket for a load beside the measurement.
    pub fn socket(&self) -> io::Result<UdpSocket> {
        self.socket.try_clone()
    }

    fn question(&self, kind: Kind, session: u32) -> Message {
        Message {
            kind,
            session,
            sequence: 0,
            time_ns: 0,
            counts: Counts::default(),
        }
    }

    /// Asks until an answer comes, a few times; the answer and its round trip.
    fn ask(&mut self, question: Message, bytes: usize) -> Result<(Message, f64), Unmeasured> {
        for _ in 0..TRIES {
            self.sequence += 1;
            let sent = Instant::now();
            let question = Message {
                sequence: self.sequence,
                time_ns: sent.duration_since(self.start).as_nanos() as u64,
                ..question
            };
            self.socket
                .send(&question.encode(bytes))
                .map_err(|error| self.gone(&error))?;
            if let Some(answer) = self.answer(&question, sent)? {
                return Ok((answer, sent.elapsed().as_secs_f64()));
            }
        }
        let peer = self.peer;
        let limit_s = (ANSWER_LIMIT * TRIES).as_secs_f64();
        let reason = format!("no answer from {peer} within {limit_s} s: does a probe serve there?");
        Err(Unmeasured::because(reason))
    }

    /// The answer to `question`, if it comes in time; whatever else comes is left aside.
    fn answer(&self, question: &Message, sent: Instant) -> Result<Option<Message>, Unmeasured> {
        let mut buffer = [0; BUFFER_BYTES];
        loop {
            let left = ANSWER_LIMIT.saturating_sub(sent.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.recv(&mut buffer) {
                Ok(bytes) => {
                    let answer = decode(&buffer[..bytes]).ok();
                    if let Some(answer) = answer.filter(|answer| answers(answer, question)) {
                        return Ok(Some(answer));
                    }
                }
                Err(error) if is_quiet(&error) => {}
                Err(error) => return Err(self.gone(&error)),
            }
        }
    }

    fn gone(&self, error: &io::Error) -> Unmeasured {
        let peer = self.peer;
        match error.kind() {
            ErrorKind::ConnectionRefused => Unmeasured::because(format!(
                "nobody listens at {peer}: start `probe serve` there"
            )),
            _ => Unmeasured::because(format!("the way to {peer}: {error}")),
        }
    }
}

fn answers(answer: &Message, question: &Message) -> bool {
    let kind = match question.kind {
        Kind::Echo => Kind::EchoReply,
        _ => Kind::Report,
    };
    let counts = answer.counts;
    *answer
        == Message {
            kind,
            counts,
            ..*question
        }
}

fn is_quiet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// Sends as many datagrams as are due, naps, and sends again; how many it were.
pub(super) fn send_train(
    socket: &UdpSocket,
    session: u32,
    train: Train,
    stop: &Stop,
) -> Result<u64, Unmeasured> {
    let start = Instant::now();
    let per_s = train.rate_bytes_per_s / train.bytes as f64;
    let mut sequence = 0;
    while start.elapsed() < train.duration && !stop.is_raised() {
        let due = (start.elapsed().as_secs_f64() * per_s) as u64 + 1;
        let until = due.min(sequence + BURST_MAX);
        while sequence < until {
            let message = Message {
                kind: Kind::Data,
                session,
                sequence,
                time_ns: start.elapsed().as_nanos() as u64,
                counts: Counts::default(),
            };
            socket.send(&message.encode(train.bytes))?;
            sequence += 1;
        }
        thread::sleep(NAP);
    }
    Ok(sequence)
}

/// A number that no earlier train from this address had.
pub(super) fn new_session() -> Result<u32, Unmeasured> {
    let mut bytes = [0; 4];
    let drawn = getrandom::fill(&mut bytes);
    drawn.map_err(|error| Unmeasured::because(error.to_string()))?;
    Ok(u32::from_be_bytes(bytes))
}

/// Longer than a loaded mobile network holds a datagram (seconds are rare), short enough that an
/// absent peer ends a case soon.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
const TRIES: u32 = 3;

/// More jitter than any link has that reorders.
const SETTLE: Duration = Duration::from_millis(100);

/// Between looks at what is due: below the overshoot of a sleep on a phone (about 1 ms).
const NAP: Duration = Duration::from_micros(500);

/// What a late wake-up may send at once; a sender that is always late falls behind its rate.
const BURST_MAX: u64 = 64;

const BUFFER_BYTES: usize = 2048;
