//! Who has a place at a listener's QUIC port, and who must leave for whom. No sockets and no clock.
//!
//! A guest can ask for places from as many addresses as it has, and again when it lost one. So:
//!
//! 1. **Proof.** No guest has a place before its address is proved, by QUIC's own cookie (RFC 9000,
//!    8.1.2). Where a guest has introduced itself to control, which asks for a cookie too, a few
//!    handshakes go on without a second proof, so that a trade in peace measures no round trip
//!    more; they get free places only, and no guest leaves for them.
//! 2. **Bounds.** So many places in all, half of them for one [`Prefix`], and of these half for its
//!    handshakes. A quarter is for the known alone: prefixes from which a guest introduced itself
//!    with a valid signature and had a block stored.
//! 3. **Turns.** Where there is no room, a newcomer takes the place of one whose prefix would still
//!    have as many as its own; of one more, if its own is known for longer; and of one as crowded
//!    as its own whose connection had its time and brought no block. So no guest loses its only
//!    place to a crowd, and one that comes from elsewhere always takes from the crowd.
//! 4. **Service.** Who leaves is of the most crowded prefix, the last known of these. There, whoever
//!    had no block stored leaves first, the longest waiting of them; then who began last.

use std::cmp::Reverse;
use std::collections::btree_map::{BTreeMap, Entry};

use pocketsim_protocols::contract::Seconds;

use super::prefix::Prefix;

/// Somebody at the door.
#[derive(Clone, Copy, Debug)]
pub struct Guest {
    /// Where it is from.
    pub prefix: Prefix,
    /// Whether its address is proved by a cookie of QUIC.
    pub is_proved: bool,
    /// Whether a guest has introduced itself from there to control.
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
    crowds: BTreeMap<Prefix, Crowd>,
    /// From where whoever has a place is, by its number.
    homes: BTreeMap<u64, Prefix>,
    /// Since when, by the number that came with the first block. Only where a guest introduced
    /// itself, so never more than there are sessions.
    known: BTreeMap<Prefix, u64>,
    next: u64,
    first_block_s: Seconds,
}

/// Those from one prefix who have a place.
#[derive(Clone, Debug)]
struct Crowd {
    seats: BTreeMap<u64, Seat>,
    /// As in `known`; strangers are [`NEVER`].
    since: u64,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    is_proved: bool,
    is_introduced: bool,
    stage: Stage,
}

/// How far a connection is, and since when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Handshake,
    Connected(Seconds),
    /// With the number that it was given with its first block: its age of service.
    Served(u64),
}

impl Places {
    /// All free; `first_block_s`: how long a connection may take for one, if others wait.
    pub fn new(first_block_s: Seconds) -> Self {
        Self {
            crowds: BTreeMap::new(),
            homes: BTreeMap::new(),
            known: BTreeMap::new(),
            next: 0,
            first_block_s,
        }
    }

    /// A place for a guest, if need be that of another.
    pub fn ask(&mut self, guest: Guest, now_s: Seconds) -> Verdict {
        if !guest.is_proved {
            let may_enter = guest.is_introduced && self.has_room(guest.prefix);
            return match may_enter && self.unproved() < UNPROVED_MAX {
                true => self.seat(guest, None),
                false => Verdict::Prove,
            };
        }
        let own = self.crowds.get(&guest.prefix);
        if own.is_some_and(|own| own.handshakes() >= HANDSHAKES_OF_PREFIX_MAX) {
            return Verdict::Refused;
        }
        if self.has_room(guest.prefix) {
            return self.seat(guest, None);
        }
        match self.who_leaves(guest.prefix, now_s) {
            Some(leaves) => {
                self.leave(leaves);
                self.seat(guest, Some(leaves))
            }
            None => Verdict::Refused,
        }
    }

    /// The handshake went well.
    pub fn connected(&mut self, place: u64, now_s: Seconds) {
        if let Some((_, seat)) = self.find(place) {
            seat.is_proved = true;
            seat.stage = Stage::Connected(now_s);
        }
    }

    /// A block was stored by the connection, and answered.
    pub fn served(&mut self, place: u64) {
        let number = self.next + 1;
        let Some((prefix, seat)) = self.find(place) else {
            return;
        };
        if matches!(seat.stage, Stage::Served(_)) {
            return;
        }
        seat.stage = Stage::Served(number);
        let is_introduced = seat.is_introduced;
        self.next = number;
        if is_introduced {
            let since = *self.known.entry(prefix).or_insert(number);
            self.crowds
                .entry(prefix)
                .and_modify(|crowd| crowd.since = since);
        }
    }

    /// It is over; nothing happens to a place that was taken away before.
    pub fn leave(&mut self, place: u64) {
        let Some(prefix) = self.homes.remove(&place) else {
            return;
        };
        if let Entry::Occupied(mut crowd) = self.crowds.entry(prefix) {
            crowd.get_mut().seats.remove(&place);
            if crowd.get().seats.is_empty() {
                crowd.remove();
            }
        }
    }

    /// Places taken, from one prefix.
    pub fn taken(&self, prefix: Prefix) -> usize {
        let crowd = self.crowds.get(&prefix);
        crowd.map_or(0, |crowd| crowd.seats.len())
    }

    /// Places taken by those who are not known.
    pub fn strangers(&self) -> usize {
        let unknown = self.crowds.values().filter(|crowd| crowd.since == NEVER);
        unknown.map(|crowd| crowd.seats.len()).sum()
    }

    /// Places taken.
    pub fn total(&self) -> usize {
        self.homes.len()
    }

    fn find(&mut self, place: u64) -> Option<(Prefix, &mut Seat)> {
        let prefix = *self.homes.get(&place)?;
        let seat = self.crowds.get_mut(&prefix)?.seats.get_mut(&place)?;
        Some((prefix, seat))
    }

    fn has_room(&self, prefix: Prefix) -> bool {
        self.total() < PLACES_MAX
            && self.taken(prefix) < PLACES_OF_PREFIX_MAX
            && self.is_share_left(prefix)
    }

    /// Whether one more from there leaves the share of the known to them.
    fn is_share_left(&self, prefix: Prefix) -> bool {
        self.since(prefix) != NEVER || self.strangers() < STRANGERS_MAX
    }

    fn unproved(&self) -> usize {
        let seats = self.crowds.values().flat_map(|crowd| crowd.seats.values());
        seats.filter(|seat| !seat.is_proved).count()
    }

    fn seat(&mut self, guest: Guest, instead_of: Option<u64>) -> Verdict {
        self.next += 1;
        let (place, since) = (self.next, self.since(guest.prefix));
        let seat = Seat {
            is_proved: guest.is_proved,
            is_introduced: guest.is_introduced,
            stage: Stage::Handshake,
        };
        let crowd = self.crowds.entry(guest.prefix).or_insert_with(|| Crowd {
            seats: BTreeMap::new(),
            since,
        });
        crowd.seats.insert(place, seat);
        self.homes.insert(place, guest.prefix);
        Verdict::Seated { place, instead_of }
    }

    /// By rule 3 those who may be told to leave, by rule 4 the first of them.
    fn who_leaves(&self, newcomer: Prefix, now_s: Seconds) -> Option<u64> {
        let (own, since) = (self.taken(newcomer), self.since(newcomer));
        let (is_at_bound, is_share_left) =
            (own >= PLACES_OF_PREFIX_MAX, self.is_share_left(newcomer));
        let helps = |prefix: Prefix, crowd: &Crowd| match is_at_bound {
            true => prefix == newcomer,
            false => is_share_left || crowd.since == NEVER,
        };
        let crowds = self
            .crowds
            .iter()
            .filter(|(&prefix, crowd)| helps(prefix, crowd));
        let mut crowds: Vec<_> = crowds
            .map(|(prefix, crowd)| (crowd.seats.len(), crowd.since, prefix, crowd))
            .filter(|&(size, ..)| size >= own)
            .collect();
        crowds.sort_unstable_by_key(|&(size, known, prefix, _)| Reverse((size, known, prefix)));
        crowds.into_iter().find_map(|(size, known, _, crowd)| {
            let gives_way = size > own + 1 || size == own + 1 && since < known;
            let first_block_s = self.first_block_s;
            crowd.least_served(|seat| gives_way || seat.is_overdue(first_block_s, now_s))
        })
    }

    fn since(&self, prefix: Prefix) -> u64 {
        self.known.get(&prefix).copied().unwrap_or(NEVER)
    }
}

impl Crowd {
    fn handshakes(&self) -> usize {
        let seats = self.seats.values();
        seats.filter(|seat| seat.stage == Stage::Handshake).count()
    }

    /// The place of whoever leaves first, of those who may be told to.
    fn least_served(&self, may_be_told: impl Fn(&Seat) -> bool) -> Option<u64> {
        let seats = self.seats.iter().filter(|(_, seat)| may_be_told(seat));
        let first = seats.max_by_key(|(&place, seat)| service(place, seat.stage));
        first.map(|(&place, _)| place)
    }
}

impl Seat {
    /// A handshake is not: it has its own patience.
    fn is_overdue(&self, first_block_s: Seconds, now_s: Seconds) -> bool {
        matches!(self.stage, Stage::Connected(since_s) if now_s - since_s >= first_block_s)
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

/// After all numbers.
const NEVER: u64 = u64::MAX;
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
