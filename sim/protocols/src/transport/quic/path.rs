//! What a connection does for its path once the handshake is done: spare connection ids, tickets to
//! resume with, and the search for the largest datagram that passes.
//!
//! No message waits for any of it, and nobody resumes here. But each datagram asks for an
//! acknowledgement, and what is acknowledged tells which earlier ones are lost: without them the last
//! word of a lossy exchange is only missed when a probe timeout is over. The search is that of
//! quinn-proto 0.11.19 (`connection/mtud.rs`, after RFC 8899) with its defaults, and once: it begins
//! anew after ten minutes there, and finds what it had.

use super::connection::Connection;
use super::states::ConnectionState;
use super::wire::{Content, Control, Frame, Level, Packet, Record, MTU_BYTES, MTU_BYTES_MAX};
use super::Out;
use crate::contract::{work, Operation, Payload, Seconds};

/// What there is of it at one end.
#[derive(Clone, Debug)]
pub(super) struct PathManagement<P> {
    pub search: MtuSearch,
    /// Server: gave up the id that the client had in the handshake; client: gave another for it.
    has_renewed: bool,
    /// Data that came while the flight before it was worked on.
    early: Vec<Packet<P>>,
}

impl<P> PathManagement<P> {
    /// Nothing has begun.
    pub const fn new() -> Self {
        Self {
            search: MtuSearch::new(),
            has_renewed: false,
            early: Vec::new(),
        }
    }
}

/// A binary search with datagrams that are padded: one at a time, and only when nothing else leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuSearch {
    /// Has passed.
    lower_bytes: u32,
    upper_bytes: u32,
    probed_bytes: u32,
    is_in_flight: bool,
    /// How many probes of the size were lost, all since one passed.
    lost: u32,
    is_over: bool,
}

impl MtuSearch {
    const fn new() -> Self {
        Self {
            lower_bytes: MTU_BYTES,
            upper_bytes: MTU_BYTES_MAX,
            probed_bytes: MTU_BYTES,
            is_in_flight: false,
            lost: 0,
            is_over: false,
        }
    }

    /// The largest UDP payload that is known to pass.
    pub const fn bytes(&self) -> u32 {
        self.lower_bytes
    }

    /// How large a probe is to leave now, if any.
    fn next(&mut self) -> Option<u32> {
        if self.is_in_flight || self.is_over {
            return None;
        }
        if self.lost == 0 || self.lost >= PROBES_PER_SIZE {
            if self.lost > 0 {
                self.upper_bytes = self.probed_bytes - 1;
                self.lost = 0;
            }
            let Some(bytes) = self.next_size() else {
                self.is_over = true;
                return None;
            };
            self.probed_bytes = bytes;
        }
        self.is_in_flight = true;
        Some(self.probed_bytes)
    }

    /// The middle, unless that is near; then the upper bound, if that is not.
    fn next_size(&self) -> Option<u32> {
        let middle = u32::midpoint(self.lower_bytes, self.upper_bytes);
        if middle.abs_diff(self.probed_bytes) >= CHANGE_BYTES_MIN {
            return Some(middle);
        }
        let is_far = self.upper_bytes.saturating_sub(self.probed_bytes) >= CHANGE_BYTES_MIN;
        is_far.then_some(self.upper_bytes)
    }

    /// The probe has passed.
    pub fn on_acknowledged(&mut self) {
        self.lower_bytes = self.probed_bytes;
        self.is_in_flight = false;
        self.lost = 0;
    }

    /// It has not.
    pub fn on_lost(&mut self) {
        self.is_in_flight = false;
        self.lost += 1;
    }
}

impl<P: Payload> Connection<P> {
    /// The other end may use so many more connection ids of this one.
    pub(super) fn offer_connection_ids(&mut self, now: Seconds, out: &mut Out<P>) {
        if self.path_management.is_none() {
            return;
        }
        // What is said is probed first, and the ids leave before the app knows: a datagram each.
        self.flush(now, out);
        self.queue(
            Level::Data,
            Record::Control(Control::NewConnectionIds(SPARE_CONNECTION_IDS)),
        );
        self.flush(now, out);
    }

    /// The largest datagram of data.
    pub(super) fn mtu_bytes(&self) -> u32 {
        let management = self.path_management.as_ref();
        management.map_or(MTU_BYTES, |management| management.search.bytes())
    }

    /// A server no longer uses the id that the client had in the handshake (quinn-proto
    /// `Connection::process_payload`), and a client gives another for it.
    pub(super) fn renew_connection_id(&mut self) {
        let Some(management) = &mut self.path_management else {
            return;
        };
        if std::mem::replace(&mut management.has_renewed, true) {
            return;
        }
        let control = match self.dialler {
            true => Control::NewConnectionIds(1),
            false => Control::RetireConnectionId,
        };
        self.queue(Level::Data, Record::Control(control));
    }

    /// Of another path nobody knows what passes.
    pub(super) fn search_mtu_again(&mut self) {
        if let Some(management) = &mut self.path_management {
            management.search = MtuSearch::new();
        }
    }

    /// So large datagrams pass.
    pub(super) fn on_mtu_probe_acknowledged(&mut self) {
        if let Some(management) = &mut self.path_management {
            management.search.on_acknowledged();
            self.congestion.on_mtu(management.search.bytes());
        }
    }

    /// Keeps data that came right after the flight that is worked on: then it can be read.
    pub(super) fn keep_early(&mut self, packet: Packet<P>) {
        if let Some(management) = &mut self.path_management {
            if self.dialler && self.busy {
                management.early.push(packet);
            }
        }
    }

    /// Takes what was kept.
    pub(super) fn take_early(&mut self) -> Vec<Packet<P>> {
        let management = self.path_management.as_mut();
        management.map_or_else(Vec::new, |management| std::mem::take(&mut management.early))
    }

    /// Sends a probe of the path, if it is time for one; neither window nor pacing hold it.
    pub(super) fn probe_mtu(&mut self, now: Seconds, out: &mut Out<P>) {
        if self.state() != ConnectionState::Established || self.busy {
            return;
        }
        let management = self.path_management.as_mut();
        let Some(bytes) = management.and_then(|management| management.search.next()) else {
            return;
        };
        let Some(space) = &self.spaces[Level::Data as usize] else {
            return;
        };
        let (number, _) = space.numbers();
        let packet = Packet {
            level: Level::Data,
            number,
            ack: None,
            frames: vec![Frame::MtuProbe],
        };
        self.note_sent(&packet, vec![Record::MtuProbe], bytes, now);
        self.sent_bytes = self.sent_bytes.saturating_add(bytes);
        work(out, Operation::PacketSeal, bytes);
        self.send(Content::Packets(vec![packet]), bytes, self.path(now), out);
    }
}

/// Beside the one of the handshake: active_connection_id_limit 5 (quinn-proto
/// `Connection::issue_first_cids`, `CidQueue::LEN`).
const SPARE_CONNECTION_IDS: u8 = 4;

/// A size is given up after so many losses (quinn-proto `mtud::MAX_PROBE_RETRANSMITS`).
const PROBES_PER_SIZE: u32 = 3;

/// quinn-proto `MtuDiscoveryConfig::default`.
const CHANGE_BYTES_MIN: u32 = 20;

#[cfg(test)]
mod tests {
    use super::MtuSearch;

    /// Which sizes are probed where nothing larger than `passes` does.
    fn probed(passes: u32) -> (Vec<u32>, u32) {
        let mut search = MtuSearch::new();
        let mut sizes = Vec::new();
        while let Some(bytes) = search.next() {
            assert_eq!(search.next(), None, "one at a time");
            sizes.push(bytes);
            match bytes <= passes {
                true => search.on_acknowledged(),
                false => search.on_lost(),
            }
        }
        (sizes, search.bytes())
    }

    #[test]
    fn the_search_ends_at_the_largest_that_passes() {
        assert_eq!(probed(1452), (vec![1326, 1389, 1420, 1452], 1452));
        assert_eq!(probed(1200).1, 1200);
        for passes in 1200..=1452 {
            let (sizes, found) = probed(passes);
            assert!(
                found <= passes && passes - found < 40,
                "{passes}: {sizes:?}"
            );
        }
    }

    #[test]
    fn a_size_is_given_up_after_three_losses() {
        let (sizes, _) = probed(1325);
        assert_eq!(sizes[..4], [1326, 1326, 1326, 1262]);
        let mut search = MtuSearch::new();
        assert_eq!(search.next(), Some(1326));
        search.on_lost();
        assert_eq!(search.next(), Some(1326));
        search.on_acknowledged();
        assert_eq!((search.bytes(), search.next()), (1326, Some(1389)));
    }
}
