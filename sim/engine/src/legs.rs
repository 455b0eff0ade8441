//! Datagrams that take one radio after the other: up, across, and down.
//!
//! What deliberately does not live here: how long a radio takes, which is the world's, and
//! datagrams that are carried all the way at once ([`crate::network`]).

use pocketsim_protocols::contract::{Reason, Seconds};

use crate::books::Books;
use crate::network::{Arrived, Flight, Network};
use crate::resources::{Carried, Leg, World};
use crate::routes::Route;
use crate::stage::{Due, Stage};

impl<B> Network<B> {
    /// Hands a datagram to the sender's radio.
    pub(crate) fn carry_up<W: World>(
        &mut self,
        stage: &mut Stage<W>,
        books: &mut Books,
        mut flight: Flight<B>,
        route: &Route,
    ) {
        let (now, way, bytes) = (stage.now(), flight.way, flight.wire_bytes());
        flight.extra_s += route.latency_s();
        // What always takes as long keeps its order by itself.
        flight.ordered &= route.has_jitter();
        flight.out_s = Seconds::INFINITY;
        let token = self.flights.insert(flight) as u32;
        match stage.carry(token, Leg::Up(way.from), bytes) {
            Carried::Until(out_s) => {
                books.send(now, way.from, bytes);
                self.flights[token as usize].out_s = out_s;
                self.await_crossing(stage, token);
            }
            Carried::UntilTold => {}
            Carried::Refused => self.remove(now, books, token, Reason::QueueFull),
        }
    }

    /// A radio of which nobody knew how long it would take has carried it, or failed to.
    pub(crate) fn end_radio<W: World>(
        &mut self,
        stage: &mut Stage<W>,
        books: &mut Books,
        token: u32,
        done: bool,
    ) -> Option<Arrived<B>> {
        let flight = &mut self.flights[token as usize];
        let is_up = flight.out_s == Seconds::INFINITY;
        if !done {
            let reason = if is_up {
                Reason::SenderOff
            } else {
                Reason::ReceiverOff
            };
            self.remove(stage.now(), books, token, reason);
            None
        } else if is_up {
            flight.out_s = stage.now();
            books.send(stage.now(), flight.way.from, flight.wire_bytes());
            self.await_crossing(stage, token);
            None
        } else {
            self.hear(stage, books, token)
        }
    }

    /// It is out of the sender's radio, and on its way to the far access point.
    fn await_crossing<W: World>(&mut self, stage: &mut Stage<W>, token: u32) {
        let flight = &self.flights[token as usize];
        if flight.lost[0] {
            // Nothing of it is on the way, but it kept the radio busy.
            return stage.push(flight.out_s, Due::Crossing(token));
        }
        let mut date = flight.out_s + flight.extra_s;
        if flight.ordered {
            date = self.order.delivery(flight.way, flight.epochs[0], date);
        }
        stage.push(date, Due::Crossing(token));
    }

    /// It has crossed what lies between the two radios, if it ever left the first.
    pub(crate) fn cross<W: World>(
        &mut self,
        stage: &mut Stage<W>,
        books: &mut Books,
        token: u32,
    ) -> Option<Arrived<B>> {
        let flight = &self.flights[token as usize];
        let (way, [sent_in, heard_in], bytes) = (flight.way, flight.epochs, flight.wire_bytes());
        let off_s = stage.end_of_epoch(way.from.0, sent_in);
        let reason = if off_s.is_some_and(|off_s| off_s < flight.out_s) {
            Reason::SenderOff
        } else if flight.lost[0] {
            Reason::LinkLoss
        } else if !stage.is_on(way.to.0) || stage.epoch(way.to.0) != heard_in {
            Reason::ReceiverOff
        } else {
            match stage.carry(token, Leg::Down(way.to), bytes) {
                Carried::Until(date) => {
                    stage.push(date, Due::Heard(token));
                    return None;
                }
                Carried::UntilTold => return None,
                Carried::Refused => Reason::QueueFull,
            }
        };
        self.remove(stage.now(), books, token, reason);
        None
    }

    /// The far radio has carried it.
    pub(crate) fn hear<W: World>(
        &mut self,
        stage: &mut Stage<W>,
        books: &mut Books,
        token: u32,
    ) -> Option<Arrived<B>> {
        let (now, flight) = (stage.now(), &self.flights[token as usize]);
        if flight.lost[1] {
            self.remove(now, books, token, Reason::LinkLoss);
            return None;
        }
        if stage.epoch(flight.way.to.0) == flight.epochs[1] {
            books.receive(now, flight.way.to, flight.wire_bytes());
        }
        self.deliver(stage, books, token)
    }
}
