//! Places for connections: so many in all, half of them for one host, and none for ever for a
//! connection by which no block ever came.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use quinn::Connection;

/// The places of one server.
#[derive(Clone, Debug)]
pub(super) struct Places {
    taken: Arc<Mutex<Table>>,
    first_block: Duration,
}

#[derive(Debug, Default)]
struct Table {
    seats: BTreeMap<u64, Seat>,
    next: u64,
}

#[derive(Debug)]
struct Seat {
    host: IpAddr,
    since: Instant,
    is_earned: bool,
    connection: Option<Connection>,
}

/// One of them, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    taken: Arc<Mutex<Table>>,
    number: u64,
}

/// What came of asking for a place.
pub(super) struct Taken {
    pub(super) place: Option<Place>,
    /// Connections that were closed for it.
    pub(super) evicted: u64,
}

impl Places {
    /// `first_block`: how long a connection may take for one, if others wait.
    pub(super) fn new(first_block: Duration) -> Self {
        Self {
            taken: Arc::default(),
            first_block,
        }
    }

    /// Whether more than half are taken.
    pub(super) fn are_scarce(&self) -> bool {
        lock(&self.taken).seats.len() > CONNECTIONS_MAX / 2
    }

    /// A place for a connection from `host`, if need be that of one that has brought nothing.
    pub(super) fn take(&self, host: IpAddr) -> Taken {
        let mut table = lock(&self.taken);
        let mut evicted = 0;
        if !table.has_room(host) {
            evicted = table.evict(self.first_block);
        }
        let place = table.has_room(host).then(|| Place {
            taken: Arc::clone(&self.taken),
            number: table.seat(host),
        });
        Taken { place, evicted }
    }
}

impl Table {
    fn has_room(&self, host: IpAddr) -> bool {
        let of_host = self.seats.values().filter(|seat| seat.host == host).count();
        self.seats.len() < CONNECTIONS_MAX && of_host < CONNECTIONS_OF_HOST_MAX
    }

    fn seat(&mut self, host: IpAddr) -> u64 {
        self.next += 1;
        let seat = Seat {
            host,
            since: Instant::now(),
            is_earned: false,
            connection: None,
        };
        self.seats.insert(self.next, seat);
        self.next
    }

    /// Close those that have had their time; how many they were.
    fn evict(&mut self, first_block: Duration) -> u64 {
        let before = self.seats.len();
        self.seats.retain(|_, seat| {
            let is_idle = !seat.is_earned && seat.since.elapsed() >= first_block;
            let idle = seat.connection.as_ref().filter(|_| is_idle);
            if let Some(connection) = idle {
                connection.close(0u32.into(), b"no block came, and others wait");
            }
            idle.is_none()
        });
        (before - self.seats.len()) as u64
    }
}

impl Place {
    /// It is that of this connection, which is closed when the place is given to another.
    pub(super) fn holds(&self, connection: Connection) {
        if let Some(seat) = lock(&self.taken).seats.get_mut(&self.number) {
            seat.connection = Some(connection);
        }
    }

    /// A block came by the connection: it may stay.
    pub(super) fn is_earned(&self) {
        if let Some(seat) = lock(&self.taken).seats.get_mut(&self.number) {
            seat.is_earned = true;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.taken).seats.remove(&self.number);
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table
        .lock()
        .expect("a thread that holds it has panicked: a bug")
}

/// Four times what a reconnecting dialler has under way.
const CONNECTIONS_MAX: usize = 256;
/// Twice that: behind a relay or a NAT, two diallers are one host.
const CONNECTIONS_OF_HOST_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    #[test]
    fn one_host_leaves_half_of_the_places_to_others() {
        let places = Places::new(Duration::from_secs(3_600));
        let take = |number| places.take(host(number)).place;
        let first: Vec<_> = (0..200).map_while(|_| take(1)).collect();
        assert_eq!((first.len(), places.are_scarce()), (128, false));
        let second: Vec<_> = (0..200).map_while(|_| take(2)).collect();
        assert_eq!((second.len(), places.are_scarce()), (128, true));
        assert!(take(3).is_none(), "there are no more");
        drop(first);
        assert!(take(3).is_some() && take(1).is_some());
    }

    #[test]
    fn a_handshake_keeps_its_place() {
        let places = Places::new(Duration::ZERO);
        let kept: Vec<_> = (0..128).map(|_| places.take(host(1))).collect();
        assert!(kept.iter().all(|taken| taken.place.is_some()));
        let one_more = places.take(host(1));
        assert!(one_more.place.is_none() && one_more.evicted == 0);
    }
}
