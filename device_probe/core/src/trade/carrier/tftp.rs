//! Every message a file, and every answer one the other way.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pocketsim_protocols::contract::Reason;
use pocketsim_protocols::transport::tftp::CLIENT_TIMEOUT_S;

use super::{Carry, REST};
use crate::trade::node::{Letter, Node};
use crate::trade::tftp::{Action, Endpoint, Parcel};

/// Writes proposals; its own thread steps the endpoint.
pub(in crate::trade) struct Tftp {
    pub(in crate::trade) endpoint: Arc<Endpoint>,
    pub(in crate::trade) listener: SocketAddr,
    pub(in crate::trade) node: Arc<Node>,
}

impl Carry for Tftp {
    fn has_room(&self) -> bool {
        !self.endpoint.is_full()
    }

    /// With time for lost packets to be repeated.
    fn rest(&self) -> Duration {
        REST + Duration::from_secs_f64(REPEATS * CLIENT_TIMEOUT_S)
    }

    fn send(&self, letter: Letter) {
        write(&self.endpoint, self.listener, letter, &self.node);
    }

    fn renew(&self) {
        self.endpoint.forget_writes();
    }

    fn forget(&self) {
        self.endpoint.forget_writes();
    }
}

/// Write a letter as a file called by its transaction, as the simulation does.
fn write(endpoint: &Endpoint, to: SocketAddr, letter: Letter, node: &Node) {
    let parcel = Parcel {
        filename: format!("{:016x}", letter.message.0),
        bytes: Arc::from(&letter.bytes[..]),
        id: letter.message,
        to: letter.to,
    };
    if !endpoint.write(to, parcel) {
        // Nothing was tried yet.
        node.undelivered(&letter, Reason::BufferFull);
    }
}

/// What either end does about files: give them to the node, and write its answers to whoever
/// wrote them.
pub(in crate::trade) fn react(endpoint: &Endpoint, action: Action, node: &Node) {
    match action {
        Action::Received(file) => {
            for letter in node.receive(&file.bytes).unwrap_or_default() {
                write(endpoint, file.from, letter, node);
            }
        }
        Action::Failed { parcel, reason, .. } => {
            let letter = Letter {
                to: parcel.to,
                message: parcel.id,
                bytes: parcel.bytes.to_vec(),
            };
            node.undelivered(&letter, reason);
        }
        Action::Send { .. } => {}
    }
}

/// Of one packet, that are waited for; a link that loses one of ten packets loses three in a row
/// once in a thousand times.
const REPEATS: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trade::log::Run;
    use crate::trade::store::Store;
    use crate::trade::tftp::Wire;
    use crate::trade::Carrier;

    #[test]
    fn what_the_queue_has_no_room_for_is_lost_for_that_reason() {
        let node = |secret| Node::new([secret; 32], Store::default(), Arc::new(|| 0.0));
        let (dialler, listener) = (node(1), node(2));
        let peer = dialler.introduce(listener.key(), 0).expect("room");
        dialler
            .begin(peer, Run::new(1, 0, Carrier::Tftp, 0))
            .expect("room");
        let nobody = SocketAddr::from(([127, 0, 0, 1], 9));
        let endpoint = Endpoint::towards(nobody, Wire::dialler()).expect("a poller");
        let propose = || {
            let letter = dialler.propose(peer, 1).pop().expect("one letter");
            write(&endpoint, nobody, letter, &dialler);
        };
        while !endpoint.is_full() {
            propose();
        }
        assert!(dialler.tally(0).lost.is_empty(), "as many as fit");
        propose();
        let lost: Vec<_> = dialler.tally(0).lost.into_iter().collect();
        assert_eq!(lost, [(Reason::BufferFull, 1)]);
    }
}
