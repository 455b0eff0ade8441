//! The network: what becomes of a datagram between two phones, until it is lost or at a socket.
//!
//! The world carries datagrams: all the way, with the latency of links, where they are flows; else
//! over the sender's radio and then over the receiver's, and what lies between is reckoned here.
//! The world never deals with jitter, loss, order or the relay's detour. What phones in reach of each
//! other send goes over a contact, in closed form. What deliberately does not live here: sockets,
//! and what is in a datagram.

pub(crate) mod burst_loss;
pub mod contacts;
pub(crate) mod core_routes;
pub(crate) mod crossings;
pub(crate) mod forwarding;
pub(crate) mod hops;
pub(crate) mod movers;
pub(crate) mod radio_states;
pub(crate) mod reach;
pub(crate) mod relay;
pub mod resequencer;
pub(crate) mod routes;
pub mod socket_buffer;

use std::collections::VecDeque;

use pocketsim_protocols::contract::{Datagram, NodeId, Path, Reason, Seconds};
use slab::Slab;

use crate::base::prefetch::prefetch;
use crate::base::rng::Stream;
use crate::events::sim_context::{Due, SimContext};
use crate::network::burst_loss::Chains;
use crate::network::contacts::Contacts;
use crate::network::crossings::Crossings;
use crate::network::forwarding::{Forwarders, Passage};
use crate::network::movers::Movers;
use crate::network::radio_states::{sleeper, RadioStates};
use crate::network::reach::Reach;
use crate::network::relay::Relay;
use crate::network::resequencer::{Resequencer, Way};
use crate::network::routes::{AccessLink, Route, Routes};
use crate::network::socket_buffer::{fragments, wire_bytes};
use crate::record::paths::ReachSummary;
use crate::record::recorder::{Dropped, Recorder};
use crate::record::timeline::Row;
use crate::record::trace::Tally;
use crate::resources::attachments::{Attached, Attachments};
use crate::resources::{Hop, World};

/// The datagrams of one run that are under way, with a body of type `B`.
pub(crate) struct Network<B> {
    pub(crate) routes: Routes,
    /// None where everybody reaches everybody.
    pub(crate) reach: Option<Box<Reach>>,
    /// None where the relay is a delay alone.
    pub(crate) relay: Option<Box<Relay>>,
    contacts: Contacts,
    pub(crate) resequencer: Resequencer,
    chains: Chains,
    /// None where flows share no links between sites.
    crossings: Option<Box<Crossings>>,
    /// None where nothing forwards.
    forwarders: Option<Forwarders>,
    /// None where no radio sleeps.
    states: Option<RadioStates>,
    /// None where nobody changes networks.
    movers: Option<Box<Movers>>,
    /// By phone.
    senders: Vec<Sender>,
    /// By token; what has ended leaves its token to what begins next.
    pub(crate) flights: Slab<Flight<B>>,
    /// Tokens of what has landed, in the order in which it goes on.
    landed: VecDeque<u32>,
}

/// What a phone draws for what it sends.
struct Sender {
    loss_stream: Stream,
    jitter_stream: Stream,
}

/// A datagram between two sockets.
pub(crate) struct Flight<B> {
    pub(crate) way: Way,
    datagram: Datagram<B>,
    pub(crate) row: Row,
    /// The epochs of both phones when it was sent, the sender's first.
    pub(crate) epochs: [u32; 2],
    /// Delay beyond that of what carries it.
    pub(crate) extra_s: Seconds,
    /// Whether it is lost, on the sender's link and on the receiver's.
    pub(crate) lost: [bool; 2],
    /// When it is out of the sender's radio, once that is known.
    pub(crate) out_s: Seconds,
    /// Whether the links failed under it.
    failed: bool,
    /// Whether what left later must not arrive before it.
    pub(crate) ordered: bool,
}

/// A datagram at the far socket.
pub(crate) struct Arrived<B> {
    pub from: NodeId,
    pub to: NodeId,
    pub datagram: Datagram<B>,
    pub row: Row,
}

impl<B> Network<B> {
    /// An idle network of `phones` phones, each with its first attachment.
    pub(crate) fn new(
        seed: u64,
        phones: u32,
        routes: Routes,
        contacts: Contacts,
        (forwarders, states): (Option<Forwarders>, Option<RadioStates>),
        (reach, relay): (Option<Box<Reach>>, Option<Box<Relay>>),
        (attachments, attached): (&Attachments, Attached),
    ) -> Self {
        let bursts = routes.bursts();
        Self {
            crossings: routes.crossings(),
            routes,
            reach,
            relay,
            contacts,
            resequencer: Resequencer::default(),
            movers: attached.varies().then(|| Box::new(Movers::new(phones))),
            chains: Chains::new(seed, &bursts, (attachments, attached)),
            forwarders,
            states,
            senders: (0..phones).map(|phone| Sender::new(seed, phone)).collect(),
            flights: Slab::new(),
            landed: VecDeque::new(),
        }
    }

    /// Puts a datagram on the air; its token, if it is on its way by networks.
    pub(crate) fn launch<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        from: u32,
        to: NodeId,
        datagram: Datagram<B>,
    ) -> Option<u32> {
        let way = Way {
            from: NodeId(from),
            to,
            path: datagram.path,
        };
        let row = recorder.launch(context.now(), [way.from, to], &datagram);
        let epochs = [from, to.0].map(|phone| context.epoch(phone));
        let mut flight = Flight::new(way, datagram, row, epochs);
        if self.meet(way, context.now()) {
            self.launch_in_contact(context, recorder, flight);
            return None;
        }
        if self.is_away(from) {
            self.drop(context.now(), recorder, &flight, Reason::Moved);
            return None;
        }
        let route = self.routes.find(way, flight.wire_bytes());
        let now = context.now();
        let jitters_s;
        (flight.lost, jitters_s) = self.draw_path(&flight, &route, now);
        flight.extra_s = route.between_s + jitters_s[0] + jitters_s[1];
        flight.ordered = route.keeps_order;
        if context.stores_and_forwards() {
            // A radio sends what it is given, whatever is behind it and whoever is there to hear it.
            return self.carry_up(context, recorder, flight, (&route, jitters_s));
        }
        if !context.is_on(to.0) {
            self.drop(now, recorder, &flight, Reason::ReceiverOff);
            return None;
        }
        if self.routes.is_out(way.from, now) || self.routes.is_out(to, now) {
            self.drop(now, recorder, &flight, Reason::LinkLoss);
            return None;
        }
        Some(self.carry_through(context, recorder, flight))
    }

    /// The world has carried it over a hop, or failed to.
    ///
    /// What was carried all the way waits for its turn, and [`Self::next_arrived`] has it then.
    pub(crate) fn end_leg<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
        done: bool,
    ) -> Option<Arrived<B>> {
        if context.stores_and_forwards() {
            return self.end_radio(context, recorder, token, done);
        }
        let flight = &self.flights[token as usize];
        if done && !flight.is_lost() {
            recorder.receive(context.now(), flight.way.to, flight.wire_bytes());
        }
        self.land(token, done);
        None
    }

    /// A contact has carried it, if the sender stayed on for that long.
    pub(crate) fn land_from_contact<W: World>(
        &mut self,
        context: &SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
        epoch: u32,
    ) {
        let from = self.flights[token as usize].way.from;
        if context.epoch(from.0) == epoch {
            return self.land(token, true);
        }
        self.remove(context.now(), recorder, token, Reason::SenderOff);
    }

    /// The next of what has landed that is at its socket; others wait or are lost.
    pub(crate) fn next_arrived<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
    ) -> Option<Arrived<B>> {
        while let Some(token) = self.landed.pop_front() {
            let arrived = self.go_on(context, recorder, token);
            if arrived.is_some() {
                return arrived;
            }
        }
        None
    }

    /// Threads get a datagram that was put on the air to forward: who begins with it, and the core
    /// time.
    pub(crate) fn forward<W: World>(
        &mut self,
        context: &SimContext<W>,
        token: u32,
    ) -> Vec<(u32, Seconds)> {
        let (Some(forwarders), way) = (&mut self.forwarders, self.flights[token as usize].way)
        else {
            return Vec::new();
        };
        let ends = [way.from.0, way.to.0].into_iter();
        forwarders.take(token, ends.filter(|&phone| context.is_on(phone)))
    }

    /// A phone's forwarding thread is done with its first: what is at its socket by that, and the core
    /// time of the next.
    pub(crate) fn end_forwarding<W: World>(
        &mut self,
        context: &SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
    ) -> (Option<Arrived<B>>, Option<Seconds>) {
        let forwarders = self.forwarders.as_mut();
        let (landed, next) = forwarders.map_or((None, None), |threads| threads.end(phone));
        let arrived = landed.and_then(|token| self.deliver(context, recorder, token));
        (arrived, next)
    }

    /// It is at the far phone: at its socket once it is forwarded, unless the phone went off meanwhile.
    pub(crate) fn deliver<W: World>(
        &mut self,
        context: &SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
    ) -> Option<Arrived<B>> {
        let forwarders = self.forwarders.as_mut();
        match forwarders.map_or(Passage::Open, |threads| threads.land(token)) {
            Passage::Open => {}
            Passage::Waits => return None,
            Passage::Cut => {
                self.remove(context.now(), recorder, token, Reason::SenderOff);
                return None;
            }
        }
        let is_met = self.gone_s(token).is_none();
        let (now, flight) = (context.now(), self.flights.remove(token as usize));
        let to = flight.way.to;
        if !context.is_on(to.0) || context.epoch(to.0) != flight.epochs[1] {
            self.drop(now, recorder, &flight, Reason::ReceiverOff);
            return None;
        }
        if !is_met {
            self.drop(now, recorder, &flight, Reason::Moved);
            return None;
        }
        self.settle_order(now, &flight);
        recorder.deliver(flight.way.from, to, flight.way.path);
        Some(Arrived {
            from: flight.way.from,
            to,
            datagram: flight.datagram,
            row: flight.row,
        })
    }

    /// Writes down what NATs and the relay did until `end_s`.
    pub(crate) fn add_to(&mut self, summary: &mut ReachSummary, end_s: Seconds) {
        let punching = self
            .reach
            .as_mut()
            .and_then(|reach| reach.punching.as_mut());
        if let Some(punching) = punching {
            summary.punching = Some(punching.summary(end_s));
        }
        summary.relay = self.relay.as_ref().map(|relay| relay.summary());
    }

    /// For whom a datagram is.
    pub(crate) fn receiver(&self, token: u32) -> Option<u32> {
        let flight = self.flights.get(token as usize);
        flight.map(|flight| flight.way.to.0)
    }

    /// Lets the processor fetch a datagram: a slab tells nowhere where one is, so this reads it.
    #[inline(always)]
    pub(crate) fn prefetch_flight(&self, token: u32) {
        std::hint::black_box(self.receiver(token));
    }

    /// Lets the processor fetch what is drawn for what `phone` sends.
    #[inline(always)]
    pub(crate) fn prefetch(&self, phone: u32) {
        prefetch(&self.senders, phone as usize);
    }

    /// A phone goes off: what it had not sent yet no longer keeps its contacts busy, and nothing is
    /// forwarded there any more.
    pub(crate) fn silence(&mut self, now: Seconds, recorder: &mut Recorder, phone: u32) {
        self.contacts.silence(phone, now);
        if let Some(reach) = &mut self.reach {
            reach.forget(phone);
        }
        let reasons = [Reason::SenderOff, Reason::ReceiverOff];
        self.put_to_sleep(now, recorder, phone, reasons);
        let Some(forwarders) = &mut self.forwarders else {
            return;
        };
        let flights = &self.flights;
        let is_sent = |token: u32| flights[token as usize].way.from.0 == phone;
        for token in forwarders.shut_down(phone, is_sent) {
            let reason = match self.flights[token as usize].way.from.0 == phone {
                true => Reason::SenderOff,
                false => Reason::ReceiverOff,
            };
            self.remove(now, recorder, token, reason);
        }
    }

    /// A phone leaves its network at `now`: what waits for its radio to be awake is lost.
    pub(crate) fn leave(&mut self, now: Seconds, recorder: &mut Recorder, phone: u32) {
        if let Some(movers) = &mut self.movers {
            movers.leave(phone, now);
        }
        if let Some(reach) = &mut self.reach {
            reach.forget(phone);
        }
        self.put_to_sleep(now, recorder, phone, [Reason::Moved; 2]);
    }

    /// A phone joins another network; its number.
    pub(crate) fn join(&mut self, now: Seconds, phone: u32, attachment: u32) -> u32 {
        if let Some(movers) = &mut self.movers {
            movers.join(phone, now);
        }
        if let Some(reach) = &mut self.reach {
            reach.join(phone, attachment, now);
        }
        if let Some(states) = &mut self.states {
            states.join(phone, attachment);
        }
        self.chains.join(phone, attachment);
        self.routes.join(phone, attachment)
    }

    /// Whether a phone has no network now.
    #[inline(always)]
    fn is_away(&self, phone: u32) -> bool {
        let movers = self.movers.as_ref();
        movers.is_some_and(|movers| movers.is_away(phone))
    }

    /// A phone has no radio any more, and what waits until that is awake is lost, up and down.
    fn put_to_sleep(
        &mut self,
        now: Seconds,
        recorder: &mut Recorder,
        phone: u32,
        reasons: [Reason; 2],
    ) {
        let Some(sleeper) = sleeper(&mut self.states, phone) else {
            return;
        };
        let waiting = sleeper.switch_off(now);
        recorder.wake(phone, sleeper.tell());
        for (waiting, reason) in waiting.into_iter().zip(reasons) {
            for (token, _) in waiting {
                self.remove(now, recorder, token, reason);
            }
        }
    }

    /// Whether what goes this way now takes the sender's radio, as [`Self::launch`] does it.
    pub(crate) fn needs_radio(&mut self, way: Way, now: Seconds) -> bool {
        !self.meet(way, now)
    }

    /// Whether there is room for so many bytes that `from` sends now, behind what waits until its radio
    /// is awake.
    pub(crate) fn has_room<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        from: NodeId,
        wire_bytes: u32,
    ) -> bool {
        let sleeper = sleeper(&mut self.states, from.0);
        let behind = sleeper.and_then(|sleeper| sleeper.has_room(wire_bytes));
        behind.unwrap_or_else(|| context.world().has_room(from, wire_bytes))
    }

    /// Whether a contact takes what goes this way now; the relay is never near.
    fn meet(&mut self, way: Way, now: Seconds) -> bool {
        way.path == Path::Direct && self.contacts.join(way.from.0, way.to.0, now)
    }

    /// Sends a datagram to a phone in reach.
    fn launch_in_contact<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        mut flight: Flight<B>,
    ) {
        let (now, way, bytes) = (context.now(), flight.way, flight.wire_bytes());
        if !context.is_on(way.to.0) {
            return self.drop(now, recorder, &flight, Reason::ReceiverOff);
        }
        let passage = self.contacts.carry(way.from.0, way.to.0, now, bytes);
        recorder.meet([way.from, way.to], passage.link, passage.busy_s, bytes);
        let sender = &mut self.senders[way.from.0 as usize];
        flight.lost[0] = sender.loses(passage.loss_ratio, flight.fragments()) || passage.cut;
        let token = self.flights.insert(flight) as u32;
        if let Some(movers) = &mut self.movers {
            movers.send_near(token);
        }
        context.push(
            passage.end_s,
            Due::ContactEnd(token, context.epoch(way.from.0)),
        );
    }

    /// Hands a datagram to the world's links, all of them at once.
    fn carry_through<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        flight: Flight<B>,
    ) -> u32 {
        let (way, ordered, bytes) = (flight.way, flight.ordered, flight.wire_bytes());
        recorder.send(context.now(), way.from, bytes);
        let token = self.flights.insert(flight) as u32;
        if ordered {
            self.resequencer.launch(way, token);
        }
        let hop = match way.path {
            Path::Direct => Hop::Through(way.from, way.to),
            Path::Relay => Hop::Relayed(way.from, way.to),
        };
        context.carry(token, hop, bytes);
        token
    }

    /// The links have carried it (or failed), and perhaps others wait for it.
    fn land(&mut self, token: u32, done: bool) {
        let flight = &mut self.flights[token as usize];
        flight.failed = !done;
        let landed = &mut self.landed;
        if flight.ordered {
            self.resequencer
                .land(flight.way, token, |token| landed.push_back(token));
        } else {
            landed.push_back(token);
        }
    }

    /// What is left of its way?
    fn go_on<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
    ) -> Option<Arrived<B>> {
        let (now, flight) = (context.now(), &self.flights[token as usize]);
        if flight.failed || flight.is_lost() {
            self.fail(context, recorder, token);
            return None;
        }
        let mut date = now + flight.extra_s;
        if flight.ordered {
            date = self
                .resequencer
                .delivery(flight.way, flight.epochs[0], date);
        }
        if date > now {
            context.push(date, Due::Delivery(token));
            return None;
        }
        self.deliver(context, recorder, token)
    }

    fn fail<W: World>(&mut self, context: &SimContext<W>, recorder: &mut Recorder, token: u32) {
        let flight = &self.flights[token as usize];
        let reason = if !flight.failed {
            Reason::LinkLoss
        } else if context.is_on(flight.way.from.0) {
            Reason::ReceiverOff
        } else {
            Reason::SenderOff
        };
        self.remove(context.now(), recorder, token, reason);
    }

    pub(crate) fn remove(
        &mut self,
        now: Seconds,
        recorder: &mut Recorder,
        token: u32,
        reason: Reason,
    ) {
        let flight = self.flights.remove(token as usize);
        if let Some(forwarders) = &mut self.forwarders {
            forwarders.forget(token);
        }
        if let Some(crossings) = &mut self.crossings {
            crossings.forget(token, flight.way, now);
        }
        self.drop(now, recorder, &flight, reason);
    }

    fn drop(&mut self, now: Seconds, recorder: &mut Recorder, flight: &Flight<B>, reason: Reason) {
        self.settle_order(now, flight);
        recorder.land(now, flight.row, Some(reason));
        let dropped = Dropped {
            from: flight.way.from,
            to: flight.way.to,
            datagram: &flight.datagram,
            reason,
        };
        recorder.drop(now, Tally::DatagramsDropped, dropped);
    }

    fn settle_order(&mut self, now: Seconds, flight: &Flight<B>) {
        if flight.ordered {
            self.resequencer.settle(flight.way, now);
        }
    }

    /// Whether a datagram is lost on either link, and its delay on each beyond the link's own.
    ///
    /// Each link draws for itself.
    fn draw_path(
        &mut self,
        flight: &Flight<B>,
        route: &Route,
        now: Seconds,
    ) -> ([bool; 2], [Seconds; 2]) {
        let (mut lost, mut jitters_s) = ([false; 2], [0.0; 2]);
        let sender = &mut self.senders[flight.way.from.0 as usize];
        let crossings = self.chains.cross(flight.way, now, flight.fragments());
        let links = route.links.iter().zip(crossings);
        for ((link, crossing), (lost, jitter_s)) in links.zip(lost.iter_mut().zip(&mut jitters_s)) {
            *lost |= crossing.lost;
            *lost |= sender.loses(link.loss_ratio, crossing.outside_packets);
            *jitter_s = sender.jitter_s(link);
        }
        (lost, jitters_s)
    }
}

impl Sender {
    fn new(seed: u64, phone: u32) -> Self {
        Self {
            loss_stream: Stream::new(seed, "loss", phone),
            jitter_stream: Stream::new(seed, "jitter", phone),
        }
    }

    /// Draws whether a datagram is lost, which it is with any of so many fragments.
    ///
    /// It draws without any, too, so that bursts leave what is lost outside them as it was.
    fn loses(&mut self, loss_ratio: f64, fragments: u32) -> bool {
        let arrives = || (1.0 - loss_ratio).powi(fragments as i32);
        loss_ratio > 0.0 && self.loss_stream.uniform() >= arrives()
    }

    fn jitter_s(&mut self, link: &AccessLink) -> Seconds {
        if link.jitter_median_s > 0.0 {
            let stream = &mut self.jitter_stream;
            stream.lognormal(link.jitter_median_s, link.jitter_sigma)
        } else {
            0.0
        }
    }
}

impl<B> Flight<B> {
    /// A datagram that nothing has happened to yet.
    fn new(way: Way, datagram: Datagram<B>, row: Row, epochs: [u32; 2]) -> Self {
        Self {
            way,
            datagram,
            row,
            epochs,
            extra_s: 0.0,
            lost: [false; 2],
            out_s: 0.0,
            failed: false,
            ordered: false,
        }
    }

    fn is_lost(&self) -> bool {
        self.lost != [false; 2]
    }

    fn fragments(&self) -> u32 {
        fragments(self.datagram.udp_payload_bytes)
    }

    pub(crate) fn wire_bytes(&self) -> u32 {
        wire_bytes(self.datagram.udp_payload_bytes)
    }
}
