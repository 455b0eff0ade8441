//! Bare packets of Kotlin-IPv8, as the offline token thesis sends them to see what the
//! overlay alone carries (figure 6): unsigned, one for each message, sealed or not.
//!
//! As in EVA, the packet is made where it is asked for, another thread calls `sendto`,
//! nothing holds the maker back, and the receiving thread opens boxes and offers what it
//! read to every overlay. Nobody acknowledges, so nobody notices a loss.
//!
//! What deliberately does not live here: signed packets, which only EVA sends here, and
//! the bytes of a packet.

use std::collections::VecDeque;

use crate::contract::{
    work, Datagram, Delivery, Lane, Machine, NodeId, Operation, Output, OutputsOf, Path, Payload,
    Reason, Seconds, Transport,
};
use crate::transport::eva::UDP_PAYLOAD_LIMIT_BYTES;

/// The overlay of one phone; its packets carry the payload itself.
#[derive(Clone, Debug)]
pub struct Ipv8<P> {
    sealed: bool,
    /// Made, and not yet with `sendto`.
    waiting: VecDeque<(NodeId, P)>,
}

/// The sending thread's turn: the packet that has waited longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendNext;

impl<P: Payload> Ipv8<P> {
    /// An overlay whose packets are sealed boxes, or are not.
    pub fn new(sealed: bool) -> Self {
        Self {
            sealed,
            waiting: VecDeque::new(),
        }
    }

    fn packet_bytes(&self, payload: &P) -> u32 {
        let box_bytes = if self.sealed { SEALED_BOX_BYTES } else { 0 };
        UNSIGNED_PACKET_BYTES + payload.wire_bytes() + box_bytes
    }
}

impl<P: Payload> Machine for Ipv8<P> {
    type Message = Datagram<P>;
    type Request = SendNext;
    type Value = Delivery<P>;

    fn receive(
        &mut self,
        from: NodeId,
        message: Datagram<P>,
        _now: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        let bytes = message.udp_payload_bytes;
        work(out, Operation::UdpReceive, bytes);
        work(out, Operation::OverlayReceive, bytes);
        if self.sealed {
            work(out, Operation::SealedBoxOpen, message.body.wire_bytes());
        }
        let value = Delivery::Received(message.body);
        out.push(Output::Deliver { from, value });
    }

    fn command(&mut self, _: SendNext, _now: Seconds, out: &mut OutputsOf<Self>) {
        // None if the phone has been off since.
        let Some((to, payload)) = self.waiting.pop_front() else {
            return;
        };
        let message = Datagram {
            udp_payload_bytes: self.packet_bytes(&payload),
            path: Path::Direct,
            message: Some(payload.message_id()),
            body: payload,
        };
        work(out, Operation::UdpSend, message.udp_payload_bytes);
        out.push(Output::Send { to, message });
    }

    fn handle_timeout(&mut self, _now: Seconds, _out: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl<P: Payload> Transport<P> for Ipv8<P> {
    type Body = P;

    fn transmit(&mut self, to: NodeId, payload: P, _now: Seconds, out: &mut OutputsOf<Self>) {
        let bytes = self.packet_bytes(&payload);
        work(out, Operation::OverlaySend, bytes);
        if self.sealed {
            work(out, Operation::SealedBoxSeal, payload.wire_bytes());
        }
        if bytes > UDP_PAYLOAD_LIMIT_BYTES {
            let reason = Reason::Oversized;
            let value = Delivery::Failed { payload, reason };
            return out.push(Output::Deliver { from: to, value });
        }
        self.waiting.push_back((to, payload));
        let (lane, request) = (Lane(Lane::FIRST_TASK), SendNext);
        out.push(Output::Post { lane, request });
    }

    fn shut_down(&mut self, _now: Seconds) -> Vec<(NodeId, Delivery<P>)> {
        let reason = Reason::SenderOff;
        let lost = |(to, payload)| (to, Delivery::Failed { payload, reason });
        self.waiting.drain(..).map(lost).collect()
    }
}

/// Prefix 22, message id 1, global time 8 (Community.kt:309-378).
const UNSIGNED_PACKET_BYTES: u32 = 22 + 1 + 8;
/// An ephemeral key and an authenticator (libsodium, `crypto_box_SEALBYTES`).
const SEALED_BOX_BYTES: u32 = 48;
