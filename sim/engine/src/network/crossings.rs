//! Datagrams that cross links which flows share: where each is, and the order in which they go on.
//!
//! A small flow may overtake a large one that began before it. Where a way keeps its order, what is
//! across early waits for what entered before. What deliberately does not live here: how long a
//! flow takes, which is the world's ([`crate::resources::simgrid::joined`]).

use std::collections::HashMap;

use pocketsim_protocols::contract::Seconds;

use crate::network::core_routes::Stops;
use crate::network::resequencer::{Resequencer, Way};

/// Those of one run.
#[derive(Debug, Default)]
pub(crate) struct Crossings {
    /// By token; asked, never gone through.
    under_way: HashMap<u32, Crossing>,
    order: Resequencer,
}

/// A datagram that will cross, or does.
#[derive(Debug)]
pub(crate) struct Crossing {
    /// What lies before it.
    pub(crate) stops: Stops,
    /// From the far site to its phone, seconds.
    pub(crate) far_s: Seconds,
    /// Whether datagrams arrive in the order they left.
    pub(crate) keeps_order: bool,
    /// Whether the world carries it now.
    pub(crate) is_inside: bool,
}

/// What is next for a datagram at the end of a leg.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// Another leg, from netpoint to netpoint.
    Leg(u32, u32),
    /// It is across, and with it those that waited for it: tokens, and how far each is from its phone.
    Across(Vec<(u32, Seconds)>),
}

impl Crossings {
    /// A datagram has left for the links.
    pub(crate) fn expect(&mut self, token: u32, crossing: Crossing) {
        self.under_way.insert(token, crossing);
    }

    /// Whether a datagram will cross and has not begun to.
    pub(crate) fn awaits(&self, token: u32) -> bool {
        let crossing = self.under_way.get(&token);
        crossing.is_some_and(|crossing| !crossing.is_inside)
    }

    /// When a datagram may enter that is there at `date`, if others of its way must not be overtaken.
    pub(crate) fn entry(&mut self, token: u32, way: Way, epoch: u32, date: Seconds) -> Seconds {
        if !self.under_way[&token].keeps_order {
            return date;
        }
        self.order.delivery(way, epoch, date)
    }

    /// A datagram enters: its first leg.
    pub(crate) fn enter(&mut self, token: u32, way: Way) -> (u32, u32) {
        let crossing = self.under_way.get_mut(&token).expect("it is awaited");
        crossing.is_inside = true;
        if crossing.keeps_order {
            self.order.launch(way, token);
        }
        crossing.stops.take().expect("it comes from somewhere")
    }

    /// A leg of a datagram has ended; none of what does not cross.
    pub(crate) fn end_leg(&mut self, token: u32, way: Way, now: Seconds) -> Option<Next> {
        let crossing = self.under_way.get_mut(&token)?;
        if !crossing.is_inside {
            return None;
        }
        if let Some((from, to)) = crossing.stops.take() {
            return Some(Next::Leg(from, to));
        }
        let mut across = Vec::new();
        if crossing.keeps_order {
            self.order.land(way, token, |token| across.push(token));
            self.order.settle(way, now);
        } else {
            across.push(token);
        }
        let far = |token| {
            (
                token,
                self.under_way.remove(&token).map_or(0.0, |it| it.far_s),
            )
        };
        Some(Next::Across(across.into_iter().map(far).collect()))
    }

    /// A datagram is gone before it entered.
    pub(crate) fn forget(&mut self, token: u32, way: Way, now: Seconds) {
        if self.under_way.remove(&token).is_some() {
            self.order.settle(way, now);
        }
    }
}
