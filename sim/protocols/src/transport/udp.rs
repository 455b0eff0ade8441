//! Plain UDP as the benchmark app uses it: one datagram per message.
//!
//! There is no state, so there is nothing to lose when a phone goes off, and a
//! lost datagram is never noticed. The app's receiving thread blocks with a
//! timeout (5 s) and, when nothing came, only blocks again; that wake-up changes
//! nothing but the work it costs, so it is simulated only when
//! `socket_wakeups` asks for it: at a hundred thousand phones it would be most
//! of the events of a quiet run.
//!
//! What deliberately does not live here: the socket buffer, which is the driver's.

use super::{TransportConfig, UDP_PAYLOAD_BYTES_MAX};
use crate::contract::{
    work, Datagram, Delivery, Machine, NodeId, Operation, Output, OutputsOf, Path, Payload, Reason,
    Seconds, Transport,
};

/// The transport of one phone; its datagrams carry the payload itself.
#[derive(Clone, Debug)]
pub struct Udp<P> {
    wakeup_s: Seconds,
    next_wakeup_s: Seconds,
    payload: std::marker::PhantomData<fn() -> P>,
}

/// UDP never asks for a step of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {}

impl<P: Payload> Udp<P> {
    /// The transport of one phone that has just bound its socket.
    pub fn new(config: &TransportConfig) -> Self {
        let wakeup_s = match config.socket_wakeups {
            true => config.socket_timeout_s,
            false => Seconds::INFINITY,
        };
        Self {
            wakeup_s,
            next_wakeup_s: wakeup_s,
            payload: std::marker::PhantomData,
        }
    }
}

impl<P: Payload> Machine for Udp<P> {
    type Message = Datagram<P>;
    type Request = Never;
    type Value = Delivery<P>;

    fn receive(
        &mut self,
        from: NodeId,
        message: Datagram<P>,
        now: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        self.next_wakeup_s = now + self.wakeup_s;
        work(out, Operation::UdpReceive, message.udp_payload_bytes);
        out.push(Output::Deliver {
            from,
            value: Delivery::Received(message.body),
        });
    }

    fn command(&mut self, request: Never, _now: Seconds, _out: &mut OutputsOf<Self>) {
        match request {}
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        self.next_wakeup_s = now + self.wakeup_s;
        work(out, Operation::UdpReceive, 0);
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        let armed = self.next_wakeup_s.is_finite();
        armed.then_some((self.next_wakeup_s, "socket timeout"))
    }
}

impl<P: Payload> Transport<P> for Udp<P> {
    type Body = P;

    fn transmit(&mut self, to: NodeId, payload: P, _now: Seconds, out: &mut OutputsOf<Self>) {
        let bytes = payload.wire_bytes();
        if bytes > UDP_PAYLOAD_BYTES_MAX {
            let reason = Reason::Oversized;
            let value = Delivery::Failed { payload, reason };
            return out.push(Output::Deliver { from: to, value });
        }
        work(out, Operation::UdpSend, bytes);
        let message = Datagram {
            udp_payload_bytes: bytes,
            path: Path::Direct,
            message: Some(payload.message_id()),
            body: payload,
        };
        out.push(Output::Send { to, message });
    }

    fn shut_down(&mut self, _now: Seconds) -> Vec<(NodeId, Delivery<P>)> {
        Vec::new()
    }
}
