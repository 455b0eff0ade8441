//! The door of the QUIC port: what [`Places`] decides, told to those whom it concerns.
//!
//! A guest that has a place hears when it is taken away, and gives it back however it ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::trade::node::TradeClock;
use crate::trade::places::{Guest, Places, Verdict};

/// Lets in.
pub(super) struct Door {
    inside: Arc<Inside>,
}

struct Inside {
    clock: TradeClock,
    table: Mutex<Table>,
}

struct Table {
    places: Places,
    /// Dropped, it tells whoever has the place of this number to leave.
    leave: BTreeMap<u64, oneshot::Sender<()>>,
}

/// A place inside, free again when it is dropped.
pub(super) struct Place {
    inside: Arc<Inside>,
    number: u64,
}

/// What came of knocking.
pub(super) enum Answer {
    /// A place, and what ends when it is given to another.
    In {
        place: Place,
        leave: oneshot::Receiver<()>,
        /// Whether somebody had to leave for it.
        evicts: bool,
    },
    /// Come back with a proof of the address.
    Prove,
    /// Come back another time.
    Refused,
}

impl Door {
    /// `first_block`: how long a connection may take for one, if others wait.
    pub(super) fn new(first_block: Duration, clock: TradeClock) -> Self {
        let table = Table {
            places: Places::new(first_block.as_secs_f64()),
            leave: BTreeMap::new(),
        };
        let table = Mutex::new(table);
        Self {
            inside: Arc::new(Inside { clock, table }),
        }
    }

    /// Somebody knocks.
    pub(super) fn knock(&self, guest: Guest) -> Answer {
        let mut table = self.inside.table();
        let (number, instead_of) = match table.places.ask(guest, (self.inside.clock)()) {
            Verdict::Seated { place, instead_of } => (place, instead_of),
            Verdict::Prove => return Answer::Prove,
            Verdict::Refused => return Answer::Refused,
        };
        let (sender, leave) = oneshot::channel();
        table.leave.insert(number, sender);
        if let Some(evicted) = instead_of {
            table.leave.remove(&evicted);
        }
        drop(table);
        Answer::In {
            place: Place {
                inside: Arc::clone(&self.inside),
                number,
            },
            leave,
            evicts: instead_of.is_some(),
        }
    }
}

impl Place {
    /// The handshake went well.
    pub(super) fn is_connected(&self) {
        let now_s = (self.inside.clock)();
        self.inside.table().places.connected(self.number, now_s);
    }

    /// A block came by the connection, and was stored.
    pub(super) fn is_served(&self) {
        self.inside.table().places.served(self.number);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.inside.table();
        table.places.leave(self.number);
        table.leave.remove(&self.number);
    }
}

impl Inside {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table
            .lock()
            .expect("a thread that holds it has panicked: a bug")
    }
}
