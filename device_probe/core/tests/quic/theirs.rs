//! quinn's machine with its defaults, but for what the head of the test names; sealed for real.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use pocketsim_probe_core::quic::{client_config, server_config, SERVER_NAME};
use quinn_proto::{
    Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
    Event, FrameStats, ReadError, ReadableError, StreamEvent, StreamId, TransportConfig,
};

use super::conversation::{Conversation, End, Kind, Script, Seen};

/// One end, the app included.
struct Phone {
    endpoint: Endpoint,
    peer: SocketAddr,
    transport: Arc<TransportConfig>,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Messages that the handshake, or want of credit for their streams, keeps waiting.
    waiting: Vec<usize>,
    /// What came so far of each stream that is not whole.
    read_bytes: BTreeMap<StreamId, usize>,
}

struct World {
    phones: [Phone; 2],
    start: Instant,
    agenda: BTreeMap<(Duration, u64), (End, Input)>,
    serial: u64,
    /// What the last input had: a timer that is set to the past is due at once.
    now: Duration,
    script: Script,
    seen: Conversation,
}

enum Input {
    Say(usize),
    Datagram(BytesMut),
    Timeout,
}

/// The conversation, as quinn has it.
pub fn converse(script: Script) -> Conversation {
    let mut world = World {
        phones: End::BOTH.map(|end| phone(end, script)),
        start: Instant::now(),
        agenda: BTreeMap::new(),
        serial: 0,
        now: Duration::ZERO,
        script,
        seen: Conversation::default(),
    };
    for (at_s, bytes) in script.said() {
        let at = Duration::from_secs_f64(at_s);
        world.schedule(at, End::Client, Input::Say(bytes));
    }
    while let Some((now, end, input)) = world.next() {
        if now > Duration::from_secs_f64(script.end_s()) {
            break;
        }
        world.handle(now, end, input);
    }
    world.seen
}

fn phone(end: End, script: Script) -> Phone {
    let transport = Arc::new(transport(script));
    let server = (end == End::Server).then(|| {
        let mut config = server_config();
        config.transport_config(transport.clone());
        Arc::new(config)
    });
    let seed = [end as u8; 32];
    Phone {
        endpoint: Endpoint::new(
            Arc::new(EndpointConfig::default()),
            server,
            script.manages_path(),
            Some(seed),
        ),
        peer: address(end.other()),
        transport,
        connection: None,
        waiting: Vec::new(),
        read_bytes: BTreeMap::new(),
    }
}

/// quinn's defaults, but for its signs of life.
fn transport(script: Script) -> TransportConfig {
    let mut config = TransportConfig::default();
    config.keep_alive_interval(script.keep_alive_s().map(Duration::from_secs_f64));
    config
}

impl World {
    fn schedule(&mut self, at: Duration, end: End, input: Input) {
        self.serial += 1;
        self.agenda.insert((at, self.serial), (end, input));
    }

    /// The next input and its time; what arrives goes before a timer of the same time.
    fn next(&mut self) -> Option<(Duration, End, Input)> {
        let (start, now) = (self.start, self.now);
        let due = |(phone, end): (&mut Phone, End)| {
            let (_, connection) = phone.connection.as_mut()?;
            let at = connection.poll_timeout()?.saturating_duration_since(start);
            Some((at.max(now), end))
        };
        let timeouts = self.phones.iter_mut().zip(End::BOTH).filter_map(due);
        let timeout = timeouts.min_by_key(|timeout| timeout.0);
        let arrival = self.agenda.keys().next().map(|key| key.0);
        match (arrival, timeout) {
            (arrival, Some((at, end))) if arrival.is_none_or(|first| at < first) => {
                Some((at, end, Input::Timeout))
            }
            _ => {
                let ((at, _), (end, input)) = self.agenda.pop_first()?;
                Some((at, end, input))
            }
        }
    }

    /// Gives one end an input; its driver sends before its app learns of anything, as quinn's does, and
    /// again when the app has done what all of it asks for.
    fn handle(&mut self, now: Duration, end: End, input: Input) {
        self.now = now;
        let at = self.start + now;
        let phone = &mut self.phones[end as usize];
        match input {
            Input::Say(bytes) => {
                phone.dial(at);
                phone.say(bytes);
            }
            Input::Datagram(datagram) => phone.receive(at, datagram),
            Input::Timeout => phone.connection().handle_timeout(at),
        }
        loop {
            self.send_all(now, end);
            let phone = &mut self.phones[end as usize];
            if !phone.settle() {
                continue;
            }
            let events: Vec<_> = std::iter::from_fn(|| phone.connection().poll()).collect();
            if events.is_empty() {
                return;
            }
            for event in events {
                self.attend(now, end, event);
            }
        }
    }

    fn send_all(&mut self, now: Duration, end: End) {
        while let Some((datagram, kind)) = self.phones[end as usize].transmit(self.start + now) {
            let (before, at_s) = (self.seen.count(end), now.as_secs_f64());
            self.seen.datagrams.push(Seen {
                at_s,
                from: end,
                kind,
                bytes: datagram.len(),
            });
            let arrives = now + Duration::from_secs_f64(self.script.latency_s(end, at_s, before));
            if self.script.passes(end, at_s, before) {
                self.schedule(arrives, end.other(), Input::Datagram(datagram));
            }
        }
    }

    /// The app: it reads what comes, ends its half of a stream that is whole, and may answer.
    fn attend(&mut self, now: Duration, end: End, event: Event) {
        match event {
            Event::ConnectionLost {
                reason: ConnectionError::TimedOut,
            } if end == End::Client => self.seen.given_up_s = Some(now.as_secs_f64()),
            Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                while let Some(stream) = self.phones[end as usize].accept() {
                    self.read(now, end, stream);
                }
            }
            Event::Connected | Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => {
                self.phones[end as usize].write_waiting();
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(now, end, id),
            _ => {}
        }
    }

    fn read(&mut self, now: Duration, end: End, stream: StreamId) {
        let phone = &mut self.phones[end as usize];
        let Some(bytes) = phone.read(stream) else {
            return;
        };
        if bytes == 0 {
            return; // the other half of a stream of its own
        }
        self.seen.received.push((now.as_secs_f64(), end, bytes));
        let answer = self.script.answer_to(bytes);
        match answer.filter(|_| end == End::Server) {
            // On the stream that asked.
            Some(bytes) if self.script.is_traded() => phone.write(stream, bytes),
            _ if self.script.is_traded() => {}
            Some(bytes) => {
                phone.finish(stream);
                self.send_all(now, end);
                self.phones[end as usize].say(bytes);
            }
            None => phone.finish(stream),
        }
    }
}

impl Phone {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().expect("it has begun").1
    }

    fn dial(&mut self, now: Instant) {
        if self.connection.is_none() {
            let mut config = client_config();
            config.transport_config(self.transport.clone());
            let dialled = self.endpoint.connect(now, config, self.peer, SERVER_NAME);
            self.connection = Some(dialled.expect("a valid address and name"));
        }
    }

    /// A message on a stream of its own.
    fn say(&mut self, bytes: usize) {
        self.waiting.push(bytes);
        if !self.connection().is_handshaking() {
            self.write_waiting();
        }
    }

    fn write_waiting(&mut self) {
        while let Some(&bytes) = self.waiting.first() {
            let Some(stream) = self.connection().streams().open(Dir::Bi) else {
                return; // until there is credit for it
            };
            self.waiting.remove(0);
            self.write(stream, bytes);
        }
    }

    /// A message, and the end of its half of the stream.
    fn write(&mut self, stream: StreamId, bytes: usize) {
        let mut sending = self.connection().send_stream(stream);
        let written = sending.write(&vec![0x5a; bytes]);
        assert_eq!(written, Ok(bytes), "the windows are wide");
        self.finish(stream);
    }

    fn finish(&mut self, stream: StreamId) {
        let finished = self.connection().send_stream(stream).finish();
        finished.expect("it is open");
    }

    fn accept(&mut self) -> Option<StreamId> {
        self.connection().streams().accept(Dir::Bi)
    }

    /// Reads what there is; the length of all of it once it is whole.
    fn read(&mut self, stream: StreamId) -> Option<usize> {
        let connection = &mut self.connection.as_mut().expect("it has begun").1;
        let mut receiving = connection.recv_stream(stream);
        let mut chunks = match receiving.read(true) {
            Ok(chunks) => chunks,
            // It was read whole before its last event came.
            Err(ReadableError::ClosedStream) => return None,
            Err(error) => panic!("{error}"),
        };
        let bytes = self.read_bytes.entry(stream).or_default();
        let is_whole = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => *bytes += chunk.bytes.len(),
                Ok(None) => break true,
                Err(ReadError::Blocked) => break false,
                Err(ReadError::Reset(code)) => panic!("reset with {code}"),
            }
        };
        // Whether the windows grew does not matter: the driver looks anyway.
        let _ = chunks.finalize();
        is_whole.then(|| self.read_bytes.remove(&stream)).flatten()
    }

    fn receive(&mut self, now: Instant, datagram: BytesMut) {
        let mut answer = Vec::new();
        let event = self
            .endpoint
            .handle(now, self.peer, None, None, datagram, &mut answer);
        match event {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.map_err(|error| error.cause).expect("accepted"));
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection().handle_event(event),
            Some(DatagramEvent::Response(_)) => panic!("an answer without a connection"),
            None => {}
        }
    }

    fn transmit(&mut self, now: Instant) -> Option<(BytesMut, Kind)> {
        let connection = self.connection();
        let before = connection.stats().frame_tx;
        let mut datagram = Vec::new();
        let sent = connection.poll_transmit(now, 1, &mut datagram)?;
        assert_eq!(sent.size, datagram.len(), "one at a time");
        let kind = kind(datagram[0], &before, &connection.stats().frame_tx);
        Some((BytesMut::from(&datagram[..]), kind))
    }

    /// Lets endpoint and connection tell each other what they must know; whether they had nothing.
    fn settle(&mut self) -> bool {
        let (handle, connection) = self.connection.as_mut().expect("it has begun");
        let mut is_settled = true;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
                is_settled = false;
            }
        }
        is_settled
    }
}

fn address(end: End) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 1 + end as u16))
}

/// By the first byte, which protection leaves readable in long headers (RFC 9000 17.2), and by what
/// quinn counted between two datagrams.
fn kind(first_byte: u8, before: &FrameStats, after: &FrameStats) -> Kind {
    const LONG_HEADER: u8 = 0x80;
    const PACKET_TYPE: u8 = 0x30;
    const HANDSHAKE: u8 = 0x20;
    if first_byte & LONG_HEADER != 0 {
        return match first_byte & PACKET_TYPE {
            0 => Kind::Initial,
            HANDSHAKE => Kind::Handshake,
            other => panic!("a long header of type {other:#x}"),
        };
    }
    if after.stream > before.stream {
        return Kind::Stream;
    }
    match signals(after) > signals(before) {
        true => Kind::Control,
        false => Kind::Ack,
    }
}

/// Frames without data that ask for an acknowledgement, as far as this conversation has any.
fn signals(frames: &FrameStats) -> u64 {
    frames.crypto
        + u64::from(frames.handshake_done)
        + frames.max_data
        + frames.max_stream_data
        + frames.max_streams_bidi
        + frames.max_streams_uni
        + frames.new_connection_id
        + frames.new_token
        + frames.ping
        + frames.immediate_ack
        + frames.retire_connection_id
}
