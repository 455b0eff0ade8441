//! The machine of `sim/protocols`, whose work takes no time here: what is left is the protocol.

use std::collections::{BTreeMap, VecDeque};

use pocketsim_protocols::contract::{
    Datagram, Delivery, Event, Machine, MessageId, NodeId, Output, OutputsOf, Payload, Reason,
    Seconds, Transport,
};
use pocketsim_protocols::transport::quic::wire::{Content, Control, Frame, Level, Packet};
use pocketsim_protocols::transport::quic::{Quic, QuicDatagram, Request};
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

use super::conversation::{Conversation, End, Kind, Script, Seen};

/// A message of which only the length matters.
#[derive(Clone, Debug, PartialEq)]
struct Parcel {
    id: MessageId,
    bytes: u32,
}

impl Payload for Parcel {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn message_id(&self) -> MessageId {
        self.id
    }
}

enum Input {
    Transmit(Parcel),
    Datagram(Datagram<QuicDatagram<Parcel>>),
    Step(Request<Parcel>),
    Timeout,
}

/// Two phones and what is on its way, by the time at which it is due.
struct World {
    phones: [Quic<Parcel>; 2],
    agenda: BTreeMap<(u64, u64), (End, Input)>,
    serial: u64,
    script: Script,
    seen: Conversation,
}

/// The conversation, as the machine has it.
pub fn converse(script: Script) -> Conversation {
    let config = config(script);
    let mut world = World {
        phones: [node(End::Client), node(End::Server)].map(|node| Quic::new(&config, node)),
        agenda: BTreeMap::new(),
        serial: 0,
        script,
        seen: Conversation::default(),
    };
    for (number, (at_s, bytes)) in (0..).zip(script.said()) {
        let parcel = parcel(MessageId::new(node(End::Client), number), bytes);
        world.schedule(at_s, End::Client, Input::Transmit(parcel));
    }
    while let Some((now, end, input)) = world.next() {
        if now > script.end_s() {
            break;
        }
        world.handle(now, end, input);
    }
    world.seen
}

/// quinn's defaults: what iroh and the benchmark app add is left away.
fn config(script: Script) -> TransportConfig {
    TransportConfig {
        mode: ConnectionMode::Keep,
        poll_interval_s: 0.0,
        keep_alive_s: script.keep_alive_s().unwrap_or(0.0),
        relay_first: false,
        answer_on_same_connection: true,
        answer_on_same_stream: script.is_traded(),
        ack_bundling: true,
        path_management: script.manages_path(),
        ..TransportConfig::default()
    }
}

impl World {
    fn schedule(&mut self, at_s: Seconds, end: End, input: Input) {
        self.serial += 1;
        self.agenda
            .insert((at_s.to_bits(), self.serial), (end, input));
    }

    /// The next input and its time; what arrives goes before a timer of the same time.
    fn next(&mut self) -> Option<(Seconds, End, Input)> {
        let due = |end: &End| Some((self.phones[*end as usize].next_timeout()?.0, *end));
        let timeouts = End::BOTH.iter().filter_map(due);
        let timeout = timeouts.min_by(|a, b| a.0.total_cmp(&b.0));
        let arrival_s = self.agenda.keys().next().map(|key| f64::from_bits(key.0));
        match (arrival_s, timeout) {
            (arrival_s, Some((at_s, end))) if arrival_s.is_none_or(|first_s| at_s < first_s) => {
                Some((at_s, end, Input::Timeout))
            }
            _ => {
                let ((bits, _), (end, input)) = self.agenda.pop_first()?;
                Some((f64::from_bits(bits), end, input))
            }
        }
    }

    /// Gives one end an input, and then what follows from it without delay.
    fn handle(&mut self, now: Seconds, end: End, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let mut out = OutputsOf::<Quic<Parcel>>::new();
            let phone = &mut self.phones[end as usize];
            match input {
                Input::Transmit(parcel) => phone.transmit(node(end.other()), parcel, now, &mut out),
                Input::Datagram(datagram) => {
                    phone.receive(node(end.other()), datagram, now, &mut out);
                }
                Input::Step(request) => phone.command(request, now, &mut out),
                Input::Timeout => phone.handle_timeout(now, &mut out),
            }
            for output in out {
                self.obey(now, end, output, &mut inputs);
            }
        }
    }

    fn obey(
        &mut self,
        now: Seconds,
        end: End,
        output: Output<Datagram<QuicDatagram<Parcel>>, Request<Parcel>, Delivery<Parcel>>,
        inputs: &mut VecDeque<Input>,
    ) {
        match output {
            Output::Send { message, .. } => {
                let before = self.seen.count(end);
                self.seen.datagrams.push(seen(now, end, &message));
                if self.script.passes(end, now, before) {
                    self.schedule(
                        now + self.script.latency_s(end, now, before),
                        end.other(),
                        Input::Datagram(message),
                    );
                }
            }
            Output::Post { request, .. } => inputs.push_back(Input::Step(request)),
            Output::Deliver {
                value: Delivery::Received(Parcel { bytes, id }),
                ..
            } => {
                let bytes = bytes as usize;
                self.seen.received.push((now, end, bytes));
                let answer = match end {
                    End::Client => None,
                    End::Server => self.script.answer_to(bytes),
                };
                inputs.extend(answer.map(|bytes| Input::Transmit(parcel(id, bytes))));
            }
            Output::Observe(Event {
                reason: Some(Reason::IdleTimeout | Reason::ConnectTimeout),
                ..
            }) => self.seen.given_up_s = Some(now),
            Output::Work { .. }
            | Output::OwnWork { .. }
            | Output::Observe(_)
            | Output::Deliver { .. } => {}
            Output::Halt(reason) => panic!("halted: {reason:?}"),
        }
    }
}

fn node(end: End) -> NodeId {
    NodeId(end as u32)
}

fn parcel(id: MessageId, bytes: usize) -> Parcel {
    let bytes = bytes as u32;
    Parcel { id, bytes }
}

fn seen(at_s: f64, from: End, message: &Datagram<QuicDatagram<Parcel>>) -> Seen {
    let Content::Packets(packets) = &message.body.content else {
        panic!("no relay to get away from");
    };
    Seen {
        at_s,
        from,
        kind: kind(&packets[0]),
        bytes: message.udp_payload_bytes as usize,
    }
}

fn kind(packet: &Packet<Parcel>) -> Kind {
    let is_stream = |frame: &Frame<_>| matches!(frame, Frame::Chunk { .. } | Frame::Finish { .. });
    match packet.level {
        Level::Initial => Kind::Initial,
        Level::Handshake => Kind::Handshake,
        Level::Data if packet.frames.iter().any(is_stream) => Kind::Stream,
        Level::Data if packet.frames.is_empty() => Kind::Ack,
        Level::Data => {
            let is_known = |frame: &Frame<_>| {
                matches!(
                    frame,
                    Frame::Credit(_)
                        | Frame::MtuProbe
                        | Frame::Control(
                            Control::HandshakeDone
                                | Control::NewConnectionIds(_)
                                | Control::RetireConnectionId
                                | Control::SessionTickets
                                | Control::Ping
                                | Control::ImmediateAck
                        )
                )
            };
            assert!(
                packet.frames.iter().all(is_known),
                "nothing else is said here: {packet:?}"
            );
            Kind::Control
        }
    }
}
