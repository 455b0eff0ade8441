//! Whichever transport a run asks for, behind one type.
//!
//! It only wraps: datagrams and requests are tagged with their transport, and
//! what came for another transport than this phone's is dropped.

use super::quic::{self, Quic, QuicDatagram};
use super::tftp::{Tftp, TftpMessage, TftpRequest};
use super::udp::Udp;
use super::{TransportConfig, TransportKind};
use crate::contract::{
    Datagram, Delivery, Machine, NodeId, Output, Outputs, OutputsOf, Payload, Seconds, Transport,
};

/// The transport of one phone.
pub struct AnyTransport<P: Payload>(Kind<P>);

enum Kind<P: Payload> {
    Udp(Wrapped<Udp<P>>),
    Quic(Box<Wrapped<Quic<P>>>),
    Tftp(Box<Wrapped<Tftp<P>>>),
}

/// The content of a datagram of any transport.
#[derive(Clone, Debug, PartialEq)]
pub enum Body<P> {
    /// UDP: the message itself.
    Plain(P),
    /// Packets of a QUIC connection, or a probe of its path.
    Quic(QuicDatagram<P>),
    /// A TFTP packet.
    Tftp(Box<TftpMessage<P>>),
}

/// A step of any transport.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<P> {
    /// Of a QUIC connection.
    Quic(quic::Request<P>),
    /// Of a TFTP transfer.
    Tftp(TftpRequest<P>),
}

/// The outputs of [`AnyTransport`].
type Out<P> = Outputs<Datagram<Body<P>>, Request<P>, Delivery<P>>;

impl<P: Payload> AnyTransport<P> {
    /// The transport `kind` of phone `node`.
    pub fn new(kind: TransportKind, config: &TransportConfig, node: NodeId) -> Self {
        Self(match kind {
            TransportKind::Udp => Kind::Udp(Wrapped::new(Udp::new(config))),
            TransportKind::Quic => Kind::Quic(Box::new(Wrapped::new(Quic::new(config, node)))),
            TransportKind::Tftp => Kind::Tftp(Box::new(Wrapped::new(Tftp::new()))),
        })
    }
}

/// A transport with the place where its outputs wait to be tagged.
struct Wrapped<T: Machine> {
    machine: T,
    scratch: OutputsOf<T>,
}

impl<T: Machine> Wrapped<T> {
    const fn new(machine: T) -> Self {
        Self { machine, scratch: Vec::new() }
    }

    /// Runs `input` and tags what it puts out.
    fn run<P, B>(
        &mut self,
        out: &mut Out<P>,
        input: impl FnOnce(&mut T, &mut OutputsOf<T>),
        body: impl Fn(B) -> Body<P>,
        request: impl Fn(T::Request) -> Request<P>,
    ) where
        T: Machine<Message = Datagram<B>, Value = Delivery<P>>,
    {
        input(&mut self.machine, &mut self.scratch);
        for output in self.scratch.drain(..) {
            out.push(tag(output, &body, &request));
        }
    }
}

fn tag<P, B, R>(
    output: Output<Datagram<B>, R, Delivery<P>>,
    body: impl Fn(B) -> Body<P>,
    request: impl Fn(R) -> Request<P>,
) -> Output<Datagram<Body<P>>, Request<P>, Delivery<P>> {
    match output {
        Output::Work { operation, bytes } => Output::Work { operation, bytes },
        Output::Observe(event) => Output::Observe(event),
        Output::Deliver { from, value } => Output::Deliver { from, value },
        Output::Halt(reason) => Output::Halt(reason),
        Output::Post { lane, request: step } => Output::Post { lane, request: request(step) },
        Output::Send { to, message } => Output::Send { to, message: retag(message, body) },
    }
}

fn retag<A, B>(datagram: Datagram<A>, body: impl FnOnce(A) -> B) -> Datagram<B> {
    Datagram {
        udp_payload_bytes: datagram.udp_payload_bytes,
        path: datagram.path,
        message: datagram.message,
        body: body(datagram.body),
    }
}

impl<P: Payload> Wrapped<Udp<P>> {
    fn udp(&mut self, out: &mut Out<P>, input: impl FnOnce(&mut Udp<P>, &mut OutputsOf<Udp<P>>)) {
        self.run(out, input, Body::Plain, |never| match never {});
    }
}

impl<P: Payload> Wrapped<Quic<P>> {
    fn quic(
        &mut self,
        out: &mut Out<P>,
        input: impl FnOnce(&mut Quic<P>, &mut OutputsOf<Quic<P>>),
    ) {
        self.run(out, input, Body::Quic, Request::Quic);
    }
}

impl<P: Payload> Wrapped<Tftp<P>> {
    fn tftp(
        &mut self,
        out: &mut Out<P>,
        input: impl FnOnce(&mut Tftp<P>, &mut OutputsOf<Tftp<P>>),
    ) {
        self.run(out, input, |body| Body::Tftp(Box::new(body)), Request::Tftp);
    }
}

impl<P: Payload> Machine for AnyTransport<P> {
    type Message = Datagram<Body<P>>;
    type Request = Request<P>;
    type Value = Delivery<P>;

    fn receive(
        &mut self,
        from: NodeId,
        message: Self::Message,
        now: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        let Datagram { udp_payload_bytes, path, message, body } = message;
        let head = Datagram { udp_payload_bytes, path, message, body: () };
        match (&mut self.0, body) {
            (Kind::Udp(udp), Body::Plain(body)) => {
                let message = retag(head, |()| body);
                udp.udp(out, |udp, out| udp.receive(from, message, now, out));
            }
            (Kind::Quic(quic), Body::Quic(body)) => {
                let message = retag(head, |()| body);
                quic.quic(out, |quic, out| quic.receive(from, message, now, out));
            }
            (Kind::Tftp(tftp), Body::Tftp(body)) => {
                let message = retag(head, |()| *body);
                tftp.tftp(out, |tftp, out| tftp.receive(from, message, now, out));
            }
            _ => {}
        }
    }

    fn command(&mut self, request: Request<P>, now: Seconds, out: &mut OutputsOf<Self>) {
        match (&mut self.0, request) {
            (Kind::Quic(quic), Request::Quic(request)) => {
                quic.quic(out, |quic, out| quic.command(request, now, out));
            }
            (Kind::Tftp(tftp), Request::Tftp(request)) => {
                tftp.tftp(out, |tftp, out| tftp.command(request, now, out));
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        match &mut self.0 {
            Kind::Udp(udp) => udp.udp(out, |udp, out| udp.handle_timeout(now, out)),
            Kind::Quic(quic) => quic.quic(out, |quic, out| quic.handle_timeout(now, out)),
            Kind::Tftp(tftp) => tftp.tftp(out, |tftp, out| tftp.handle_timeout(now, out)),
        }
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        match &self.0 {
            Kind::Udp(udp) => udp.machine.next_timeout(),
            Kind::Quic(quic) => quic.machine.next_timeout(),
            Kind::Tftp(tftp) => tftp.machine.next_timeout(),
        }
    }
}

impl<P: Payload> Transport<P> for AnyTransport<P> {
    type Body = Body<P>;

    fn transmit(&mut self, to: NodeId, payload: P, now: Seconds, out: &mut OutputsOf<Self>) {
        match &mut self.0 {
            Kind::Udp(udp) => udp.udp(out, |udp, out| udp.transmit(to, payload, now, out)),
            Kind::Quic(quic) => quic.quic(out, |quic, out| quic.transmit(to, payload, now, out)),
            Kind::Tftp(tftp) => tftp.tftp(out, |tftp, out| tftp.transmit(to, payload, now, out)),
        }
    }

    fn shut_down(&mut self, now: Seconds) -> Vec<(NodeId, P)> {
        match &mut self.0 {
            Kind::Udp(udp) => udp.machine.shut_down(now),
            Kind::Quic(quic) => quic.machine.shut_down(now),
            Kind::Tftp(tftp) => tftp.machine.shut_down(now),
        }
    }
}
