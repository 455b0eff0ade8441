//! Order of the datagrams between two phones.
//!
//! A flow model shares a link between everything on it, so that a small datagram
//! overtakes a large one that left before; a radio sends one frame after the
//! other. On a path that keeps order, what lands early waits for what left
//! before it.

use std::collections::{HashMap, VecDeque};

use pocketsim_protocols::contract::{NodeId, Seconds};

/// The datagrams in the air, per ordered pair of phones.
#[derive(Debug, Default)]
pub struct Order {
    // Looked up by key only, never walked: the map's own order decides nothing.
    pairs: HashMap<u64, Pair>,
}

#[derive(Debug, Default)]
struct Pair {
    /// Tokens in the order they left, and whether each has landed.
    in_air: VecDeque<(u32, bool)>,
    /// When the latest one reaches the far socket.
    last_delivery: Seconds,
}

impl Order {
    /// `token` leaves.
    pub fn launch(&mut self, from: NodeId, to: NodeId, token: u32) {
        self.pairs
            .entry(key(from, to))
            .or_default()
            .in_air
            .push_back((token, false));
    }

    /// `token` has landed: gives `release` every token that may go on now, in order.
    pub fn land(&mut self, from: NodeId, to: NodeId, token: u32, mut release: impl FnMut(u32)) {
        let Some(pair) = self.pairs.get_mut(&key(from, to)) else {
            return release(token);
        };
        if let Some(entry) = pair.in_air.iter_mut().find(|entry| entry.0 == token) {
            entry.1 = true;
        }
        while let Some(&(token, true)) = pair.in_air.front() {
            pair.in_air.pop_front();
            release(token);
        }
    }

    /// The date at which a datagram due at `date` reaches the socket: not before the last one.
    pub fn delivery(&mut self, from: NodeId, to: NodeId, date: Seconds) -> Seconds {
        let pair = self.pairs.entry(key(from, to)).or_default();
        pair.last_delivery = pair.last_delivery.max(date);
        pair.last_delivery
    }

    /// Forgets a pair with nothing on the way.
    pub fn settle(&mut self, from: NodeId, to: NodeId, now: Seconds) {
        let key = key(from, to);
        let idle = |pair: &Pair| pair.in_air.is_empty() && pair.last_delivery <= now;
        if self.pairs.get(&key).is_some_and(idle) {
            self.pairs.remove(&key);
        }
    }
}

fn key(from: NodeId, to: NodeId) -> u64 {
    u64::from(from.0) << 32 | u64::from(to.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: (NodeId, NodeId) = (NodeId(0), NodeId(1));

    fn land(order: &mut Order, token: u32) -> Vec<u32> {
        let mut released = Vec::new();
        order.land(PAIR.0, PAIR.1, token, |token| released.push(token));
        released
    }

    #[test]
    fn what_lands_early_waits_for_what_left_before() {
        let mut order = Order::default();
        (0..4).for_each(|token| order.launch(PAIR.0, PAIR.1, token));
        assert!(land(&mut order, 2).is_empty());
        assert_eq!(land(&mut order, 0), [0]);
        assert_eq!(land(&mut order, 1), [1, 2]);
        assert_eq!(land(&mut order, 3), [3]);
    }

    #[test]
    fn pairs_do_not_wait_for_each_other() {
        let mut order = Order::default();
        order.launch(PAIR.1, PAIR.0, 7);
        order.launch(PAIR.0, PAIR.1, 8);
        assert_eq!(land(&mut order, 8), [8]);
    }

    #[test]
    fn deliveries_of_a_pair_never_go_back_and_idle_pairs_are_forgotten() {
        let mut order = Order::default();
        assert_eq!(order.delivery(PAIR.0, PAIR.1, 5.0), 5.0);
        assert_eq!(order.delivery(PAIR.0, PAIR.1, 4.0), 5.0);
        order.settle(PAIR.0, PAIR.1, 4.5);
        assert_eq!(order.pairs.len(), 1);
        order.settle(PAIR.0, PAIR.1, 5.0);
        assert!(order.pairs.is_empty());
    }
}
