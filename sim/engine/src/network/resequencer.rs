//! Order of the datagrams between two phones, on each of the paths between them.
//!
//! A flow model shares a link between everything on it, so that a small datagram
//! overtakes a large one that left before; a radio sends one frame after the
//! other. On a path that keeps order, what lands early waits for what left
//! before it.

use std::collections::{HashMap, VecDeque};

use pocketsim_protocols::contract::{NodeId, Path, Seconds};

/// From whom to whom, and by which path: the relay's detour holds nothing up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Straight or through the relay.
    pub path: Path,
}

/// The datagrams in the air, per way.
#[derive(Debug, Default)]
pub struct Resequencer {
    // Looked up by key only, never walked: the map's own order decides nothing.
    ways: HashMap<Way, Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    /// Tokens in the order they left, and whether each has landed.
    in_air: VecDeque<(u32, bool)>,
    /// When the latest one reaches the far socket.
    last_delivery: Seconds,
    /// The sender's epoch in which that one left.
    epoch: u32,
}

impl Resequencer {
    /// `token` leaves.
    pub fn launch(&mut self, way: Way, token: u32) {
        self.ways
            .entry(way)
            .or_default()
            .in_air
            .push_back((token, false));
    }

    /// `token` has landed: gives `release` every token that may go on now, in order.
    pub fn land(&mut self, way: Way, token: u32, mut release: impl FnMut(u32)) {
        let Some(queue) = self.ways.get_mut(&way) else {
            return release(token);
        };
        if let Some(entry) = queue.in_air.iter_mut().find(|entry| entry.0 == token) {
            entry.1 = true;
        }
        while let Some(&(token, true)) = queue.in_air.front() {
            queue.in_air.pop_front();
            release(token);
        }
    }

    /// The date at which a datagram due at `date` reaches the socket: not before the last one that
    /// left in the same `epoch` of its sender. What was to leave when the sender went off is lost.
    pub fn delivery(&mut self, way: Way, epoch: u32, date: Seconds) -> Seconds {
        let queue = self.ways.entry(way).or_default();
        if queue.epoch != epoch {
            (queue.last_delivery, queue.epoch) = (0.0, epoch);
        }
        queue.last_delivery = queue.last_delivery.max(date);
        queue.last_delivery
    }

    /// Forgets a way with nothing on it.
    pub fn settle(&mut self, way: Way, now: Seconds) {
        let idle = |queue: &Queue| queue.in_air.is_empty() && queue.last_delivery <= now;
        if self.ways.get(&way).is_some_and(idle) {
            self.ways.remove(&way);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE: Way = Way {
        from: NodeId(0),
        to: NodeId(1),
        path: Path::Direct,
    };

    fn land(resequencer: &mut Resequencer, token: u32) -> Vec<u32> {
        let mut released = Vec::new();
        resequencer.land(THERE, token, |token| released.push(token));
        released
    }

    #[test]
    fn what_lands_early_waits_for_what_left_before() {
        let mut resequencer = Resequencer::default();
        (0..4).for_each(|token| resequencer.launch(THERE, token));
        assert!(land(&mut resequencer, 2).is_empty());
        assert_eq!(land(&mut resequencer, 0), [0]);
        assert_eq!(land(&mut resequencer, 1), [1, 2]);
        assert_eq!(land(&mut resequencer, 3), [3]);
    }

    #[test]
    fn ways_do_not_wait_for_each_other() {
        let mut resequencer = Resequencer::default();
        let back = Way {
            from: NodeId(1),
            to: NodeId(0),
            ..THERE
        };
        let detour = Way {
            path: Path::Relay,
            ..THERE
        };
        resequencer.launch(back, 7);
        resequencer.launch(detour, 9);
        resequencer.launch(THERE, 8);
        assert_eq!(land(&mut resequencer, 8), [8]);
    }

    #[test]
    fn deliveries_on_a_way_never_go_back_and_idle_ways_are_forgotten() {
        let mut resequencer = Resequencer::default();
        assert_eq!(resequencer.delivery(THERE, 0, 5.0), 5.0);
        assert_eq!(resequencer.delivery(THERE, 0, 4.0), 5.0);
        resequencer.settle(THERE, 4.5);
        assert_eq!(resequencer.ways.len(), 1);
        resequencer.settle(THERE, 5.0);
        assert!(resequencer.ways.is_empty());
    }

    #[test]
    fn what_never_left_holds_nothing_back() {
        let mut resequencer = Resequencer::default();
        assert_eq!(resequencer.delivery(THERE, 0, 9.0), 9.0);
        assert_eq!(resequencer.delivery(THERE, 1, 4.0), 4.0);
        assert_eq!(resequencer.delivery(THERE, 1, 3.0), 4.0);
    }
}
