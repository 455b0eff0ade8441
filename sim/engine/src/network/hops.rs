//! Datagrams that take one radio after the other: up, across, and down.
//!
//! What deliberately does not live here: how long a radio takes, which is the world's, and
//! datagrams that are carried all the way at once ([`crate::network`]).

use pocketsim_protocols::contract::{Path, Reason, Seconds};

use crate::events::sim_context::{Due, SimContext, Stage};
use crate::network::crossings::Next;
use crate::network::radio_states::sleeper;
use crate::network::resequencer::Way;
use crate::network::routes::Route;
use crate::network::{Arrived, Flight, Network};
use crate::record::recorder::Recorder;
use crate::resources::radio::Direction;
use crate::resources::{Carried, Hop, World};

impl<B> Network<B> {
    /// Hands a datagram to the sender's radio; its token, unless that has no room. Beside its route its
    /// delays on both links, beyond their own.
    pub(crate) fn carry_up<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        mut flight: Flight<B>,
        (route, jitters_s): (&Route, [Seconds; 2]),
    ) -> Option<u32> {
        let from = flight.way.from.0;
        flight.extra_s += route.latency_s();
        // What always takes as long keeps its order by itself.
        flight.ordered &= route.has_jitter() || self.states.is_some();
        flight.out_s = Seconds::INFINITY;
        if route.crosses {
            flight.extra_s = route.links[0].latency_s + jitters_s[0];
        }
        let way = flight.way;
        let token = self.flights.insert(flight) as u32;
        if let Some(movers) = &mut self.movers {
            movers.send(token, way, self.routes.network(way.from));
        }
        if let (true, Some(crossings)) = (route.crosses, &mut self.crossings) {
            crossings.expect(token, self.routes.crossing(way, route, jitters_s[1]));
        }
        let is_taken = self.waits(context, recorder, token, (from, Direction::Up))
            || self.send(context, recorder, token);
        is_taken.then_some(token)
    }

    /// Gives a datagram to the sender's radio: whether that has room.
    fn send<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
    ) -> bool {
        let (now, flight) = (context.now(), &self.flights[token as usize]);
        let (from, bytes) = (flight.way.from, flight.wire_bytes());
        let carried = context.carry(token, Hop::Up(from), bytes);
        self.keep_awake(recorder, now, (from.0, Direction::Up), carried);
        match carried {
            Carried::Until(out_s) => {
                recorder.send(now, from, bytes);
                self.flights[token as usize].out_s = out_s;
                self.note_wait(context, recorder, token, Direction::Up);
                self.await_crossing(context, token);
            }
            Carried::UntilTold => {
                recorder.queue(now, from, Direction::Up);
                self.note_wait(context, recorder, token, Direction::Up);
            }
            Carried::Refused => {
                self.remove(now, recorder, token, Reason::QueueFull);
                return false;
            }
        }
        true
    }

    /// Whether a datagram waits until a phone's radio is awake; [`Self::open_radio`] goes on with it.
    fn waits<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
        (phone, direction): (u32, Direction),
    ) -> bool {
        let Some(sleeper) = sleeper(&mut self.states, phone) else {
            return false;
        };
        let bytes = self.flights[token as usize].wire_bytes();
        let entry = sleeper.enter(context.now(), direction, (token, bytes));
        recorder.wake(phone, sleeper.tell());
        for (direction, look_s) in [Direction::Up, Direction::Down]
            .into_iter()
            .zip(entry.looks_s)
        {
            if let Some(look_s) = look_s {
                context.push(look_s, Due::RadioOpens(phone, direction));
            }
        }
        entry.waits
    }

    /// A phone's radio is perhaps awake for what waits for it.
    pub(crate) fn open_radio<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        (phone, direction): (u32, Direction),
    ) {
        let Some(sleeper) = sleeper(&mut self.states, phone) else {
            return;
        };
        let (awake, look_s) = sleeper.open(context.now(), direction);
        recorder.wake(phone, sleeper.tell());
        if let Some(look_s) = look_s {
            context.push(look_s, Due::RadioOpens(phone, direction));
        }
        for (token, _) in awake {
            match direction {
                Direction::Up => {
                    self.send(context, recorder, token);
                }
                Direction::Down => self.receive(context, recorder, token),
            }
        }
    }

    /// A radio that sleeps stays awake for what it carries now.
    fn keep_awake(
        &mut self,
        recorder: &mut Recorder,
        now: Seconds,
        (phone, direction): (u32, Direction),
        carried: Carried,
    ) {
        let Some(sleeper) = sleeper(&mut self.states, phone) else {
            return;
        };
        sleeper.carry(now, direction, carried);
        recorder.wake(phone, sleeper.tell());
    }

    /// Whose radio a datagram is at, if that sends it.
    pub(crate) fn sender(&self, token: u32) -> Option<u32> {
        let flight = &self.flights[token as usize];
        (flight.out_s == Seconds::INFINITY).then_some(flight.way.from.0)
    }

    /// The hop that it is on loses it, at its end.
    pub(crate) fn lose_on_air(&mut self, token: u32) {
        let hop = usize::from(self.sender(token).is_none());
        self.flights[token as usize].lost[hop] = true;
    }

    /// A radio of which nobody knew how long it would take has carried it, or failed to.
    pub(crate) fn end_radio<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
        done: bool,
    ) -> Option<Arrived<B>> {
        if let Some(crossings) = &mut self.crossings {
            let way = self.flights[token as usize].way;
            if let Some(next) = crossings.end_leg(token, way, context.now()) {
                self.go_across(context, token, next);
                return None;
            }
        }
        let (now, is_up) = (context.now(), self.sender(token).is_some());
        let direction = if is_up {
            Direction::Up
        } else {
            Direction::Down
        };
        self.note_wait(context, recorder, token, direction);
        let flight = &mut self.flights[token as usize];
        let (way, bytes) = (flight.way, flight.wire_bytes());
        if !done {
            let (phone, epoch) = if is_up {
                (way.from.0, flight.epochs[0])
            } else {
                (way.to.0, flight.epochs[1])
            };
            let reason = match (is_up, context.epoch(phone) == epoch) {
                (_, true) => Reason::Moved,
                (true, false) => Reason::SenderOff,
                (false, false) => Reason::ReceiverOff,
            };
            self.remove(now, recorder, token, reason);
            None
        } else if is_up {
            flight.out_s = now;
            if let Some(sleeper) = sleeper(&mut self.states, way.from.0) {
                sleeper.rrc.end(now, Direction::Up);
            }
            recorder.end_sending(now, way.from, bytes);
            self.await_crossing(context, token);
            None
        } else {
            if let Some(sleeper) = sleeper(&mut self.states, way.to.0) {
                sleeper.rrc.end(now, Direction::Down);
            }
            let is_heard = !flight.lost[1];
            recorder.end_receiving(now, way.to, is_heard.then_some(bytes));
            self.arrive(context, recorder, token)
        }
    }

    /// Writes down when it waited in the queue that it is or was in, if there is a timeline.
    fn note_wait<W: World>(
        &self,
        context: &SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
        direction: Direction,
    ) {
        if let Some(span) = context.wait(token) {
            recorder.wait(self.flights[token as usize].row, direction, span);
        }
    }

    /// It is out of the sender's radio, and on its way to the far access point.
    fn await_crossing<W: World>(&mut self, context: &mut SimContext<W>, token: u32) {
        let flight = &mut self.flights[token as usize];
        flight.lost[0] |= self.routes.is_out(flight.way.from, flight.out_s);
        if flight.lost[0] {
            // Nothing of it is on the way, but it kept the radio busy.
            return context.push(flight.out_s, Due::Crossing(token));
        }
        if let Some(sleeper) = sleeper(&mut self.states, flight.way.from.0) {
            flight.extra_s += sleeper.rrc.retransmission_s(Direction::Up);
        }
        if let Some(reach) = &mut self.reach {
            reach.send(flight.way, flight.out_s);
        }
        if self.relay.is_some() && flight.way.path == Path::Relay {
            let (from, bytes) = (flight.way.from, flight.wire_bytes());
            let to_relay_s = self.routes.to_relay_s(from, bytes);
            let date = flight.out_s + to_relay_s;
            flight.extra_s = (flight.extra_s - to_relay_s).max(0.0);
            return context.push(date, Due::Relayed(token, Stage::Bucket));
        }
        let mut date = flight.out_s + flight.extra_s;
        let (way, ordered) = (flight.way, flight.ordered);
        let order = self.order(token);
        match &mut self.crossings {
            Some(crossings) if crossings.awaits(token) => {
                date = crossings.entry(token, way, order, date);
            }
            _ if ordered => date = self.resequencer.delivery(way, order, date),
            _ => {}
        }
        context.push(date, Due::Crossing(token));
    }

    /// It has come to a stage of the relay, if it ever left its sender's radio.
    ///
    /// What lies beyond the relay, and jitter of both networks, come after it.
    pub(crate) fn relay<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
        stage: Stage,
    ) {
        let is_sent = self.cut(context, token).is_none();
        let (now, flight) = (context.now(), &self.flights[token as usize]);
        let (way, bytes) = (flight.way, flight.wire_bytes());
        let Some(relay) = self.relay.as_mut().filter(|_| is_sent) else {
            return context.push(now, Due::Crossing(token));
        };
        let Some(out_s) = relay.pass(stage, way, now, bytes) else {
            return self.remove(now, recorder, token, Reason::RelayFull);
        };
        if let Some(next) = stage.next() {
            return context.push(out_s, Due::Relayed(token, next));
        }
        let mut date = out_s + flight.extra_s;
        if flight.ordered {
            let order = self.order(token);
            date = self.resequencer.delivery(way, order, date);
        }
        context.push(date, Due::Crossing(token));
    }

    /// It is at the end of a leg over links that flows share.
    fn go_across<W: World>(&mut self, context: &mut SimContext<W>, token: u32, next: Next) {
        let across = match next {
            Next::Leg(from, to) => {
                let bytes = self.flights[token as usize].wire_bytes();
                context.carry(token, Hop::Across(from, to), bytes);
                return;
            }
            Next::Across(across) => across,
        };
        for (token, far_s) in across {
            let (flight, mut date) = (&self.flights[token as usize], context.now() + far_s);
            if flight.ordered {
                let (way, order) = (flight.way, self.order(token));
                date = self.resequencer.delivery(way, order, date);
            }
            context.push(date, Due::Crossing(token));
        }
    }

    /// It has crossed what lies between the two radios, if it ever left the first.
    pub(crate) fn cross<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
    ) -> Option<Arrived<B>> {
        let flight = &self.flights[token as usize];
        let (way, [_, heard_in], bytes) = (flight.way, flight.epochs, flight.wire_bytes());
        let cut = self.cut(context, token);
        let is_met = self.gone_s(token).is_none();
        let crossings = self.crossings.as_mut();
        let crossings = crossings.filter(|crossings| crossings.awaits(token));
        let reason = if let Some((cut_s, reason)) = cut {
            recorder.take_back(way.from, bytes, self.network_of(token));
            recorder.cut_wait(flight.row, Direction::Up, cut_s);
            reason
        } else if flight.lost[0] {
            Reason::LinkLoss
        } else if let Some(crossings) = crossings {
            let (from, to) = crossings.enter(token, way);
            context.carry(token, Hop::Across(from, to), bytes);
            return None;
        } else if self.routes.is_out(way.to, context.now()) {
            Reason::LinkLoss
        } else if !context.is_on(way.to.0) || context.epoch(way.to.0) != heard_in {
            Reason::ReceiverOff
        } else if !is_met {
            Reason::Moved
        } else if !self.is_admitted(way, context.now()) {
            Reason::Unreachable
        } else {
            if !self.waits(context, recorder, token, (way.to.0, Direction::Down)) {
                self.receive(context, recorder, token);
            }
            return None;
        };
        self.remove(context.now(), recorder, token, reason);
        None
    }

    /// Whether the NAT of the receiver, if it has one, lets in what comes this way now.
    fn is_admitted(&mut self, way: Way, now: Seconds) -> bool {
        let reach = self.reach.as_mut();
        reach.is_none_or(|reach| reach.admits(way, now))
    }

    /// Gives a datagram to the far radio, which may have no room.
    fn receive<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
    ) {
        let (now, flight) = (context.now(), &self.flights[token as usize]);
        let (to, bytes) = (flight.way.to, flight.wire_bytes());
        let carried = context.carry(token, Hop::Down(to), bytes);
        self.keep_awake(recorder, now, (to.0, Direction::Down), carried);
        match carried {
            Carried::Until(date) => context.push(date, Due::Heard(token)),
            Carried::UntilTold => recorder.queue(now, to, Direction::Down),
            Carried::Refused => return self.remove(now, recorder, token, Reason::QueueFull),
        }
        self.note_wait(context, recorder, token, Direction::Down);
    }

    /// The far radio has carried it, as was known before.
    pub(crate) fn hear<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
    ) -> Option<Arrived<B>> {
        let (now, flight) = (context.now(), &self.flights[token as usize]);
        if let Some(off_s) = context.end_of_epoch(flight.way.to.0, flight.epochs[1]) {
            recorder.cut_wait(flight.row, Direction::Down, off_s);
        } else if let Some(gone_s) = self.gone_s(token) {
            recorder.cut_wait(flight.row, Direction::Down, gone_s);
            self.remove(now, recorder, token, Reason::Moved);
            return None;
        } else if !flight.lost[1] {
            recorder.receive(now, flight.way.to, flight.wire_bytes());
        }
        self.arrive(context, recorder, token)
    }

    /// It is out of the far radio, and at its phone once all of it is there.
    fn arrive<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
    ) -> Option<Arrived<B>> {
        if self.flights[token as usize].lost[1] {
            self.remove(context.now(), recorder, token, Reason::LinkLoss);
            return None;
        }
        let (now, to) = (context.now(), self.flights[token as usize].way.to.0);
        let sleeper = sleeper(&mut self.states, to);
        let heard_s = sleeper.map_or(now, |sleeper| sleeper.hear_s(now));
        if heard_s > now {
            context.push(heard_s, Due::Delivery(token));
            return None;
        }
        self.deliver(context, recorder, token)
    }

    /// The run ends at `end_s`: what has not left its radio by then never does.
    pub(crate) fn end<W: World>(
        &mut self,
        context: &SimContext<W>,
        recorder: &mut Recorder,
        end_s: Seconds,
    ) {
        for phone in 0..self.senders.len() as u32 {
            if let Some(sleeper) = sleeper(&mut self.states, phone) {
                sleeper.switch_off(end_s);
                recorder.wake(phone, sleeper.tell());
            }
        }
        for (token, flight) in &self.flights {
            let left_s = self
                .cut(context, token as u32)
                .map_or(end_s, |(cut_s, _)| cut_s);
            if flight.out_s.is_finite() && flight.out_s > left_s.min(end_s) {
                let network = self.network_of(token as u32);
                recorder.take_back(flight.way.from, flight.wire_bytes(), network);
            }
        }
    }

    /// The network that a datagram was sent over, where that may not be its sender's any more.
    fn network_of(&self, token: u32) -> Option<u32> {
        let movers = self.movers.as_ref();
        movers.map(|movers| movers.network(token))
    }

    /// Since when the receiver of a datagram is not at the network that it goes to, if so.
    pub(crate) fn gone_s(&self, token: u32) -> Option<Seconds> {
        let way = self.flights[token as usize].way;
        self.movers.as_ref()?.gone_s(token, way)
    }

    /// What left over one network and in one session of its sender keeps its order.
    fn order(&self, token: u32) -> u32 {
        let movers = self.movers.as_ref();
        let networks = movers.map_or(0, |movers| movers.order(token));
        self.flights[token as usize].epochs[0] + networks
    }

    /// When its sender went off or left the network before it was out of the radio, if so, and which.
    fn cut<W: World>(&self, context: &SimContext<W>, token: u32) -> Option<(Seconds, Reason)> {
        let flight = &self.flights[token as usize];
        let off_s = context.end_of_epoch(flight.way.from.0, flight.epochs[0]);
        let movers = self.movers.as_ref();
        let left_s = movers.and_then(|movers| movers.left_s(token, flight.way));
        let first = match (off_s, left_s) {
            (Some(off_s), Some(left_s)) if left_s < off_s => (left_s, Reason::Moved),
            (Some(off_s), _) => (off_s, Reason::SenderOff),
            (None, left_s) => (left_s?, Reason::Moved),
        };
        (first.0 < flight.out_s).then_some(first)
    }
}
