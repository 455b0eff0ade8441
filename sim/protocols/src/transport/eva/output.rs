//! What a step of EVA works with: options, the time, counters, and its outputs.
//!
//! What deliberately does not live here: any decision of the protocol.

use super::message::{packet_bytes, SIGNATURE_BYTES, UDP_PAYLOAD_LIMIT_BYTES};
use super::{EvaConfig, EvaCounts, EvaMessage, EvaRequest, Out};
use crate::contract::{
    work, Datagram, Delivery, Event, EventKind, Lane, MessageId, NodeId, Operation, Output, Path,
    Reason, Seconds,
};

/// The surroundings of one step.
pub(super) struct Step<'a, P> {
    pub config: &'a EvaConfig,
    pub now: Seconds,
    pub counts: &'a mut EvaCounts,
    /// Packets handed to the sending threads so far.
    pub handed_over: &'a mut u32,
    /// Set when waiting transfers are to be looked at.
    pub start_waiting: bool,
    pub out: &'a mut Out<P>,
}

impl<P> Step<'_, P> {
    /// Makes a packet here and hands it to a sending thread (Community.kt:363-375,
    /// UdpEndpoint.kt:50-89), or drops it where Kotlin-IPv8 does.
    pub fn send(&mut self, to: NodeId, about: MessageId, message: EvaMessage<P>) {
        let body_bytes = message.body_bytes(self.config);
        let encrypted = self.config.encrypts();
        let bytes = packet_bytes(body_bytes, encrypted);
        work(self.out, Operation::OverlaySend, bytes);
        if encrypted {
            work(self.out, Operation::SealedBoxSeal, body_bytes);
        }
        work(self.out, Operation::Sign, bytes - SIGNATURE_BYTES);
        if bytes > UDP_PAYLOAD_LIMIT_BYTES {
            return self.drop_oversized(to, about, bytes);
        }
        let lane = Lane(Lane::FIRST_TASK + *self.handed_over % self.config.send_threads);
        *self.handed_over = self.handed_over.wrapping_add(1);
        let datagram = Datagram {
            udp_payload_bytes: bytes,
            path: Path::Direct,
            // Its loss is repaired, so it is no message's loss.
            message: None,
            body: message,
        };
        let request = EvaRequest { to, datagram };
        self.out.push(Output::Post { lane, request });
    }

    /// The first block of the peer's message has arrived.
    pub fn begin(&mut self, peer: NodeId, message: MessageId, size_bytes: u32) {
        let row = Event::new(EventKind::Begin, message, peer, size_bytes);
        self.out.push(Output::Observe(row));
    }

    fn drop_oversized(&mut self, peer: NodeId, message: MessageId, size_bytes: u32) {
        self.counts.packets_oversized += 1;
        let row = Event::new(EventKind::Drop, message, peer, size_bytes);
        self.out
            .push(Output::Observe(row.because(Reason::Oversized)));
    }

    pub fn deliver(&mut self, from: NodeId, payload: P) {
        let value = Delivery::Received(payload);
        self.out.push(Output::Deliver { from, value });
    }

    pub fn fail(&mut self, to: NodeId, payload: P, reason: Reason) {
        let value = Delivery::Failed { payload, reason };
        self.out.push(Output::Deliver { from: to, value });
    }
}
