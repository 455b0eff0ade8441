//! Who has a place at a listener's QUIC port, and who must leave for whom. No sockets and no clock.
//!
//! Everybody can ask for places from as many addresses as he has, and again when he lost one. So:
//!
//! 1. **Proof.** Nobody has a place before his address is proved, by QUIC's own cookie (RFC 9000,
//!    8.1.2). Where somebody has introduced himself to control, which asks for a cookie too, a few
//!    handshakes go on without a second proof, so that a trade in peace measures no round trip
//!    more; they are free places only, and nobody leaves for them.
//! 2. **Bounds.** So many places in all, half of them for one [`Prefix`], and of these half for its
//!    handshakes. A quarter is for the known alone: those from where somebody introduced himself
//!    with a valid signature and had a block stored.
//! 3. **Turns.** Where there is no room, a newcomer takes the place of one whose prefix would still
//!    have as many as his own; of one more, if his is known for longer; and of one as crowded as
//!    his own whose connection had its time and brought no block. So nobody loses his only
//!    place to a crowd, and whoever comes from elsewhere always takes from the crowd.
//! 4. **Service.** Who leaves is of the most crowded prefix, the last known of these. There, whoever
//!    had no block stored leaves first, the longest waiting of them; then who began last.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use pocketsim_protocols::contract::Seconds;

use super::prefix::Prefix;

/// Somebody at the door.
#[derive(Clone, Copy, Debug)]
pub struct Guest {
    /// Where he is from.
    pub prefix: Prefix,
    /// Whether his address is proved by a cookie of QUIC.
    pub is_proved: bool,
    /// Whether somebody has introduced himself from there to control.
    pub is_introduced: bool,
}

/// What is said at the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Come in.
    Seated {
        /// The number of the place.
        place: u64,
        /// The place that was taken away for it.
        instead_of: Option<u64>,
    },
    /// Prove the address first.
    Prove,
    /// No room.
    Refused,
}

/// The places of one listener.
#[derive(Clone, Debug)]
pub struct Places {
    seats: BTreeMap<u64, Seat>,
    /// Since when, by the number of the place that was first served there. Only where somebody
    /// introduced himself, so never more than there are sessions.
    known: BTreeMap<Prefix, u64>,
    next: u64,
    first_block_s: Seconds,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    guest: Guest,
    stage: Stage,
}

/// How far a connection is, and since when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Handshake,
    Connected(Seconds),
    /// With the number of the place that it was given when it was first served: its age of service.
    Served(u64),
}

impl Places {
    /// All free; `first_block_s`: how long a connection may take for one, if others wait.
    pub fn new(first_block_s: Seconds) -> Self {
        Self {
            seats: BTreeMap::new(),
            known: BTreeMap::new(),
            next: 0,
            first_block_s,
        }
    }

    /// A place for a guest, if need be that of another.
    pub fn ask(&mut self, guest: Guest, now_s: Seconds) -> Verdict {
        if !guest.is_proved {
            let may_enter = guest.is_introduced && self.unproved() < UNPROVED_MAX;
            return match may_enter && self.has_room(guest.prefix) {
                true => self.seat(guest, None),
                false => Verdict::Prove,
            };
        }
        if self.handshakes(guest.prefix) >= HANDSHAKES_OF_PREFIX_MAX {
            return Verdict::Refused;
        }
        if self.has_room(guest.prefix) {
            return self.seat(guest, None);
        }
        match self.who_leaves(guest.prefix, now_s) {
            Some(leaves) => {
                self.seats.remove(&leaves);
                self.seat(guest, Some(leaves))
            }
            None => Verdict::Refused,
        }
    }

    /// The handshake went well.
    pub fn connected(&mut self, place: u64, now_s: Seconds) {
        if let Some(seat) = self.seats.get_mut(&place) {
            seat.guest.is_proved = true;
            seat.stage = Stage::Connected(now_s);
        }
    }

    /// A block was stored by the connection, and answered.
    pub fn served(&mut self, place: u64) {
        let Some(seat) = self.seats.get_mut(&place) else {
            return;
        };
        if matches!(seat.stage, Stage::Served(_)) {
            return;
        }
        self.next += 1;
        seat.stage = Stage::Served(self.next);
        if seat.guest.is_introduced {
            self.known.entry(seat.guest.prefix).or_insert(self.next);
        }
    }

    /// It is over; nothing happens to a place that was taken away before.
    pub fn leave(&mut self, place: u64) {
        self.seats.remove(&place);
    }

    /// Places taken, from one prefix.
    pub fn taken(&self, prefix: Prefix) -> usize {
        let from_there = |seat: &&Seat| seat.guest.prefix == prefix;
        self.seats.values().filter(from_there).count()
    }

    /// Places taken by those who are not known.
    pub fn strangers(&self) -> usize {
        let unknown = |seat: &&Seat| !self.known.contains_key(&seat.guest.prefix);
        self.seats.values().filter(unknown).count()
    }

    /// Places taken.
    pub fn total(&self) -> usize {
        self.seats.len()
    }

    fn has_room(&self, prefix: Prefix) -> bool {
        self.total() < PLACES_MAX
            && self.taken(prefix) < PLACES_OF_PREFIX_MAX
            && self.may_come_in(prefix)
    }

    /// Whether the share of the known is left to them.
    fn may_come_in(&self, prefix: Prefix) -> bool {
        self.known.contains_key(&prefix) || self.strangers() < STRANGERS_MAX
    }

    fn unproved(&self) -> usize {
        let unproved = |seat: &&Seat| !seat.guest.is_proved;
        self.seats.values().filter(unproved).count()
    }

    fn handshakes(&self, prefix: Prefix) -> usize {
        let open = |seat: &&Seat| seat.guest.prefix == prefix && seat.stage == Stage::Handshake;
        self.seats.values().filter(open).count()
    }

    fn seat(&mut self, guest: Guest, instead_of: Option<u64>) -> Verdict {
        self.next += 1;
        let stage = Stage::Handshake;
        self.seats.insert(self.next, Seat { guest, stage });
        Verdict::Seated {
            place: self.next,
            instead_of,
        }
    }

    /// By rule 3 those who may be told to leave, by rule 4 the first of them.
    fn who_leaves(&self, newcomer: Prefix, now_s: Seconds) -> Option<u64> {
        let mut crowds: BTreeMap<Prefix, usize> = BTreeMap::new();
        for seat in self.seats.values() {
            *crowds.entry(seat.guest.prefix).or_default() += 1;
        }
        let own = crowds.get(&newcomer).copied().unwrap_or(0);
        let helps = |prefix| match () {
            () if own >= PLACES_OF_PREFIX_MAX => prefix == newcomer,
            () if !self.may_come_in(newcomer) => !self.known.contains_key(&prefix),
            () => true,
        };
        let gives_way = |seat: &Seat| {
            let (prefix, crowd) = (seat.guest.prefix, crowds[&seat.guest.prefix]);
            crowd > own + 1
                || crowd == own + 1 && self.since(newcomer) < self.since(prefix)
                || crowd >= own && self.is_overdue(seat, now_s)
        };
        let seats = self.seats.iter();
        let may = seats.filter(|(_, seat)| helps(seat.guest.prefix) && gives_way(seat));
        let first = may.max_by_key(|(&place, seat)| {
            let prefix = seat.guest.prefix;
            let order = (crowds[&prefix], self.since(prefix), prefix);
            (order, service(place, seat.stage))
        });
        first.map(|(&place, _)| place)
    }

    /// Counts up with the time; strangers come after all.
    fn since(&self, prefix: Prefix) -> u64 {
        self.known.get(&prefix).copied().unwrap_or(u64::MAX)
    }

    /// A handshake is not: it has its own patience.
    fn is_overdue(&self, seat: &Seat, now_s: Seconds) -> bool {
        matches!(seat.stage, Stage::Connected(since_s) if now_s - since_s >= self.first_block_s)
    }
}

/// The larger, the less it was served: those without a block by how long they have been here, then
/// those with one by how short they have been of service.
fn service(place: u64, stage: Stage) -> (bool, Reverse<u64>, u64) {
    match stage {
        Stage::Handshake | Stage::Connected(_) => (true, Reverse(place), 0),
        Stage::Served(since) => (false, Reverse(0), since),
    }
}

/// Four times what a reconnecting dialler has under way.
pub const PLACES_MAX: usize = 256;
/// Twice that: behind a relay or a NAT, two diallers are one host.
pub const PLACES_OF_PREFIX_MAX: usize = 128;
/// The rest, as much as a reconnecting dialler has under way, is for the known.
pub const STRANGERS_MAX: usize = 192;
/// As much as that, too.
pub const HANDSHAKES_OF_PREFIX_MAX: usize = 64;
/// Of all prefixes, and half of what one may have, so that whoever sends in its name leaves it the
/// other half.
pub const UNPROVED_MAX: usize = 32;
