//! Putting datagrams together.
//!
//! Segmentation offload is not modelled. Whether an acknowledgement that is not due yet rides along
//! with data is an option: quinn-proto bundles it, at least since 0.11.19, that of iroh 0.35
//! (iroh-quinn-proto 0.13.0) does not.

use super::connection::Connection;
use super::space::Space;
use super::states::ConnectionState;
use super::timer::Timer;
use super::wire::{
    ack_bytes, chunk_header_bytes, packet_overhead_bytes, varint_bytes, Ack, Content, Extent,
    Frame, Level, Packet, Record, CLOSE_FRAME_BYTES, INITIAL_DATAGRAM_BYTES, MTU_BYTES,
};
use super::Out;
use crate::contract::{work, Operation, Path, Payload, Seconds};

impl<P: Payload> Connection<P> {
    /// Sends whatever may be sent now.
    pub(super) fn flush(&mut self, now: Seconds, out: &mut Out<P>) {
        if !matches!(
            self.state(),
            ConnectionState::Handshaking | ConnectionState::Established
        ) {
            return;
        }
        while let Some((packets, bytes)) = self.next_datagram(now) {
            self.sent_bytes = self.sent_bytes.saturating_add(bytes);
            work(out, Operation::PacketSeal, bytes);
            self.send(Content::Packets(packets), bytes, self.path(now), out);
        }
        self.probe_mtu(now, out);
        let waits = |space: &Space| !space.pending.is_empty() && space.probes == 0;
        self.congestion.blocked = self.spaces.iter().flatten().any(|space| waits(space))
            && (self.timers.is_set(Timer::Pacing) || !self.congestion.allows());
        self.set_recovery_timer(now);
    }

    /// CONNECTION_CLOSE in a packet of its own.
    pub(super) fn send_close(&mut self, now: Seconds, out: &mut Out<P>) {
        let Some(space) = &mut self.spaces[Level::Data as usize] else {
            return;
        };
        let (number, acked) = space.numbers();
        space.on_sent(Vec::new(), None, 0, 0.0);
        let bytes = packet_overhead_bytes(Level::Data, number, acked) + CLOSE_FRAME_BYTES;
        let frames = vec![Frame::Close];
        let packet = Packet {
            level: Level::Data,
            number,
            ack: None,
            frames,
        };
        work(out, Operation::PacketSeal, bytes);
        self.send(Content::Packets(vec![packet]), bytes, self.path(now), out);
    }

    pub(super) fn path(&self, now: Seconds) -> Path {
        match now <= self.direct_until_s {
            true => Path::Direct,
            false => Path::Relay,
        }
    }

    /// The next datagram: handshake packets share one, data has its own.
    fn next_datagram(&mut self, now: Seconds) -> Option<(Vec<Packet<P>>, u32)> {
        // Whether iroh's fork of quinn asks for it is not known (docs/limitations.md).
        let asks_at_once = self.path_management.is_some();
        for level in Level::ALL {
            if let Some(space) = &mut self.spaces[level as usize] {
                space.queue_probe(asks_at_once && level == Level::Data);
            }
        }
        if self.busy || !self.may_amplify() || self.is_paced(now) {
            return None;
        }
        let (mut composed, mut bytes) = (Vec::new(), 0);
        for level in Level::ALL {
            if level > self.keys || (level == Level::Data && !composed.is_empty()) {
                break;
            }
            let limit_bytes = self.limit_bytes(level);
            if let Some(packet) = self.next_packet(level, limit_bytes - bytes, now) {
                bytes += packet.bytes;
                composed.push(packet);
            }
        }
        if composed.first()?.packet.level == Level::Initial {
            // The last packet is the one that is padded, and counts so.
            let padding_bytes = INITIAL_DATAGRAM_BYTES.saturating_sub(bytes);
            bytes += padding_bytes;
            composed.last_mut()?.bytes += padding_bytes;
        }
        let note = |composed: Composed<P>| {
            self.note_sent(&composed.packet, composed.records, composed.bytes, now);
            composed.packet
        };
        Some((composed.into_iter().map(note).collect(), bytes))
    }

    /// The largest datagram: repetitions must pass whatever the path has become.
    fn limit_bytes(&self, level: Level) -> u32 {
        let space = self.spaces[level as usize].as_ref();
        match level {
            Level::Data if space.is_none_or(|space| space.probes == 0) => self.mtu_bytes(),
            _ => MTU_BYTES,
        }
    }

    /// Whether the next datagram has to wait for its turn, which a timer tells then.
    ///
    /// As in quinn-proto's `Connection::poll_transmit`, its first packet decides. Probes and mere
    /// acknowledgements leave at once; what is due with data that waits, waits as well.
    fn is_paced(&mut self, now: Seconds) -> bool {
        let allowed = self.congestion.allows();
        let mut spaces = self.spaces[..=self.keys as usize].iter().flatten();
        let first = spaces.find(|space| space.may_send(allowed));
        let turn_s = match first {
            Some(space) if space.carries(allowed) && space.probes == 0 => {
                let (window_bytes, smoothed_s) =
                    (self.congestion.window_bytes(), self.rtt.smoothed_s());
                self.pacer
                    .waits_until(self.mtu_bytes(), window_bytes, smoothed_s, now)
            }
            _ => None,
        };
        self.timers
            .set(Timer::Pacing, turn_s.unwrap_or(Seconds::INFINITY));
        turn_s.is_some()
    }

    /// Three times what came in, until the peer's address is proven (RFC 9000 8.1).
    pub(super) fn may_amplify(&self) -> bool {
        let limit = self.received_bytes.saturating_mul(AMPLIFICATION_LIMIT);
        self.validated || self.sent_bytes + MTU_BYTES <= limit
    }

    fn next_packet(&mut self, level: Level, room: u32, now: Seconds) -> Option<Composed<P>> {
        let allowed = self.congestion.allows();
        let space = self.spaces[level as usize].as_mut()?;
        let carries = space.carries(allowed);
        if !space.may_send(allowed) {
            return None;
        }
        let (number, acked) = space.numbers();
        let mut bytes = packet_overhead_bytes(level, number, acked);
        let due = space.received.take_ack(now);
        bytes += due.as_ref().map_or(0, ack_bytes);
        let records = match carries {
            true => self.take_records(level, room - bytes, &mut bytes),
            false => Vec::new(),
        };
        let ack = self.with_ack(level, due, room, &mut bytes, now);
        let frames = records
            .iter()
            .filter_map(|record| self.streams.frame(*record));
        let frames = frames.collect();
        let packet = Packet {
            level,
            number,
            ack,
            frames,
        };
        Some(Composed {
            packet,
            records,
            bytes,
        })
    }

    /// What is acknowledged in a packet of so many bytes: what is due, or what rides along.
    fn with_ack(
        &mut self,
        level: Level,
        due: Option<Ack>,
        room: u32,
        bytes: &mut u32,
        now: Seconds,
    ) -> Option<Ack> {
        let pause_s = self.rtt.bundling_pause_s();
        let space = self.spaces[level as usize].as_mut()?;
        let ack = match due {
            None if self.config.ack_bundling && level == Level::Data => {
                let bundled = space.received.bundled_ack(room - *bytes, now);
                *bytes += bundled.as_ref().map_or(0, ack_bytes);
                bundled
            }
            due => due,
        };
        if level == Level::Data && ack.is_some() {
            space.received.pause_bundling(now + pause_s);
            self.timers.stop(Timer::AckDelay);
        }
        ack
    }

    /// Pending records that fit into `room`, the last one perhaps cut in two.
    fn take_records(&mut self, level: Level, mut room: u32, bytes: &mut u32) -> Vec<Record> {
        let mut taken = Vec::new();
        let Some(space) = &mut self.spaces[level as usize] else {
            return taken;
        };
        while let Some(mut record) = space.pending.take() {
            if matches!(record, Record::Credit { .. }) {
                record = self.streams.credit();
            }
            let (fits, rest) = cut(record, room);
            let Some((record, frame_bytes)) = fits else {
                rest.into_iter()
                    .for_each(|rest| space.pending.put_back(rest));
                break;
            };
            if let Record::Chunk(extent) = record {
                space.pending.end_turn(extent.half, rest);
            }
            taken.push(record);
            room -= frame_bytes;
            *bytes += frame_bytes;
        }
        taken
    }

    pub(super) fn note_sent(
        &mut self,
        packet: &Packet<P>,
        records: Vec<Record>,
        bytes: u32,
        now: Seconds,
    ) {
        let eliciting = !records.is_empty();
        if let Some(space) = &mut self.spaces[packet.level as usize] {
            space.on_sent(records, packet.ack.as_ref(), bytes, now);
        }
        self.reset_keep_alive(now);
        if eliciting {
            self.congestion.on_sent(bytes);
            self.pacer.on_sent(bytes);
            if !std::mem::replace(&mut self.asked, true) {
                self.reset_idle(now);
            }
        }
    }
}

/// A packet that leaves with the datagram that is put together.
struct Composed<P> {
    packet: Packet<P>,
    /// What is in it, for when it is lost.
    records: Vec<Record>,
    bytes: u32,
}

/// What of `record` fits into `room`, with its frame's length, and what is left.
fn cut(record: Record, room: u32) -> (Option<(Record, u32)>, Option<Record>) {
    let Record::Chunk(extent) = record else {
        let frame_bytes = record.frame_bytes();
        return match frame_bytes <= room {
            true => (Some((record, frame_bytes)), None),
            false => (None, Some(record)),
        };
    };
    if room <= STREAM_FRAME_BYTES {
        return (None, Some(record));
    }
    let header_bytes = chunk_header_bytes(&extent);
    let most = room - header_bytes;
    // A length is left out where data fills the packet; where it does not, there is room for any.
    let (length, length_bytes) = match extent.length < most {
        true => {
            let length = extent.length.min(most - LENGTH_BYTES);
            (length, varint_bytes(length))
        }
        false => (most, 0),
    };
    let frame_bytes = header_bytes + length_bytes + length;
    if length == extent.length {
        return (Some((record, frame_bytes)), None);
    }
    let first = Extent {
        length,
        last: false,
        ..extent
    };
    let rest = Extent {
        offset: extent.offset + length,
        length: extent.length - length,
        ..extent
    };
    (
        Some((Record::Chunk(first), frame_bytes)),
        Some(Record::Chunk(rest)),
    )
}

/// RFC 9000 8.1; quinn-proto
/// `PathData::anti_amplification_blocked`.
const AMPLIFICATION_LIMIT: u32 = 3;

/// The longest header of a STREAM frame: where there is no room for more, no data goes into a packet
/// (quinn-proto `frame::Stream::SIZE_BOUND`, `StreamsState::write_stream_frames`).
const STREAM_FRAME_BYTES: u32 = 1 + 8 + 8 + 8;

/// The longest length of a frame (quinn-proto `SendBuffer::poll_transmit`).
const LENGTH_BYTES: u32 = 8;

#[cfg(test)]
mod tests {
    use super::super::states::ConnectionEvent::{Finish, Launch};
    use super::super::streams::tests::Bytes;
    use super::super::wire::{ConnectionId, Control, Half};
    use super::*;
    use crate::contract::{Lane, MessageId, NodeId, Output};
    use crate::transport::TransportConfig;

    /// Ready for data, with a window of ten packets, and a bucket that has been empty since 1 s.
    fn spent() -> Connection<Bytes> {
        let id = ConnectionId {
            dialler: NodeId(0),
            number: 0,
        };
        let first = Some(MessageId::new(NodeId(0), 0));
        let config = TransportConfig::default();
        let mut connection = Connection::new(id, NodeId(1), Lane(16), first, &config);
        connection.happen(Launch);
        connection.happen(Finish);
        connection.keys = Level::Data;
        for _ in 0..2 {
            connection.pacer.on_sent(12_000);
            let (window_bytes, smoothed_s) = (12_000, connection.rtt.smoothed_s());
            connection
                .pacer
                .waits_until(MTU_BYTES, window_bytes, smoothed_s, 1.0);
        }
        connection
    }

    fn data(connection: &mut Connection<Bytes>) -> &mut super::super::space::Space {
        let space = connection.spaces[Level::Data as usize].as_mut();
        space.expect("kept")
    }

    /// How many datagrams leave at `now`.
    fn sent(connection: &mut Connection<Bytes>, now: Seconds) -> usize {
        let mut out = Vec::new();
        connection.flush(now, &mut out);
        let is_sent = |output: &&_| matches!(output, Output::Send { .. });
        out.iter().filter(is_sent).count()
    }

    #[test]
    fn data_waits_until_the_bucket_is_full() {
        let mut connection = spent();
        connection.queue(Level::Data, Record::Control(Control::Ping));
        assert_eq!(sent(&mut connection, 1.0), 0);
        let due_s = connection.timers.at(Timer::Pacing);
        assert!((due_s - 1.0 - 0.8 * 0.333).abs() < 1e-8, "{due_s}");
        assert!(connection.congestion.blocked);
        assert_eq!(sent(&mut connection, due_s), 1);
        assert!(!connection.timers.is_set(Timer::Pacing) && !connection.congestion.blocked);
    }

    #[test]
    fn probes_do_not_wait() {
        let mut connection = spent();
        connection.queue(Level::Data, Record::Control(Control::Ping));
        data(&mut connection).probes = 1;
        assert_eq!(sent(&mut connection, 1.0), 1);
    }

    #[test]
    fn acknowledgements_wait_with_data_only() {
        for (waits, leaving) in [(false, 1), (true, 0)] {
            let mut connection = spent();
            (0..2).for_each(|number| {
                data(&mut connection)
                    .received
                    .on_received(number, true, 1.0);
            });
            if waits {
                connection.queue(Level::Data, Record::Control(Control::Ping));
            }
            assert_eq!(sent(&mut connection, 1.0), leaving);
            assert_eq!(sent(&mut connection, 2.0), usize::from(waits));
        }
    }

    /// Of a message of so many bytes into so much room: how many fit, and how long their frame is.
    fn cut_of(length: u32, room: u32) -> Option<(u32, u32)> {
        let half = Half::opened(0);
        let extent = Extent {
            half,
            offset: 0,
            length,
            last: true,
        };
        let (fits, _) = cut(Record::Chunk(extent), room);
        fits.map(|(record, frame_bytes)| match record {
            Record::Chunk(extent) => (extent.length, frame_bytes),
            _ => panic!("data stays data"),
        })
    }

    #[test]
    fn a_frame_that_fills_its_packet_has_no_length_and_another_room_for_any() {
        assert_eq!(cut_of(100, 25), None);
        assert_eq!(cut_of(100, 26), Some((24, 26)));
        assert_eq!(cut_of(100, 102), Some((100, 102)));
        // Type, id, length.
        assert_eq!(cut_of(100, 103), Some((93, 1 + 1 + 2 + 93)));
        assert_eq!(cut_of(100, 110), Some((100, 1 + 1 + 2 + 100)));
    }
}
