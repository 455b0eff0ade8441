//! The lanes of a phone that come and go, found by their numbers.
//!
//! Most phones have a few, which are looked through. A phone that dials faster than its calls are
//! answered has thousands, so beyond some they are in a map, too. What deliberately does not live
//! here: what a lane does.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{Application, Lane, Transport};

use crate::phone::lane::LaneState;

/// Lanes in no order; a lane's place changes when another goes.
pub(crate) struct LaneTable<A: Application, T: Transport<A::Block>> {
    lanes: Vec<LaneState<A, T>>,
    /// The place of each by its number; empty while there are few.
    places: BTreeMap<u32, usize>,
}

impl<A: Application, T: Transport<A::Block>> LaneTable<A, T> {
    /// None.
    pub(crate) fn new() -> Self {
        Self {
            lanes: Vec::new(),
            places: BTreeMap::new(),
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// The place of `lane`, if it is there.
    pub(crate) fn find(&self, lane: Lane) -> Option<usize> {
        if self.lanes.len() > FEW {
            return self.places.get(&lane.0).copied();
        }
        self.lanes.iter().position(|state| state.lane() == lane)
    }

    /// Adds an idle `lane`, which is not there; returns its place.
    pub(crate) fn add(&mut self, lane: Lane) -> usize {
        let place = self.lanes.len();
        self.lanes.push(LaneState::new(lane));
        if place == FEW {
            let numbers = self.lanes.iter().map(|state| state.lane().0);
            self.places = numbers.zip(0..).collect();
        } else if place > FEW {
            self.places.insert(lane.0, place);
        }
        place
    }

    /// The lane at `place`.
    pub(crate) fn at(&mut self, place: usize) -> &mut LaneState<A, T> {
        &mut self.lanes[place]
    }

    /// Forgets the lane at `place`; the last one is there then.
    pub(crate) fn remove(&mut self, place: usize) {
        let gone = self.lanes.swap_remove(place);
        if self.lanes.len() <= FEW {
            return self.places.clear();
        }
        self.places.remove(&gone.lane().0);
        if let Some(moved) = self.lanes.get(place) {
            self.places.insert(moved.lane().0, place);
        }
    }

    /// All of them.
    pub(crate) fn into_lanes(self) -> Vec<LaneState<A, T>> {
        self.lanes
    }
}

/// As many are looked through in the time that a map takes.
const FEW: usize = 16;

#[cfg(test)]
mod tests {
    use pocketsim_protocols::compute::{Compute, Nothing};
    use pocketsim_protocols::transport::udp::Udp;

    use super::*;

    #[test]
    fn each_is_found_however_many_come_and_go() {
        let mut lanes = LaneTable::<Compute, Udp<Nothing>>::new();
        let mut there: Vec<u32> = Vec::new();
        // As many come as go in turn: up to forty, down to none, and up again.
        for step in 0..240_u32 {
            let grows = step % 120 < 40 || step % 3 == 0;
            if grows {
                lanes.add(Lane(100 + step));
                there.push(100 + step);
            } else if !there.is_empty() {
                let number = there.remove(step as usize * 7 % there.len());
                let place = lanes.find(Lane(number)).expect("it is there");
                lanes.remove(place);
                assert!(lanes.find(Lane(number)).is_none());
            }
            for &number in &there {
                let place = lanes.find(Lane(number)).expect("it is there");
                assert_eq!(lanes.at(place).lane(), Lane(number));
            }
            assert_eq!(lanes.is_empty(), there.is_empty());
        }
    }
}
