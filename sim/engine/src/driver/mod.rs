//! The driver: gives machines their inputs and turns their outputs into work,
//! datagrams and rows of the trace.
//!
//! Something ends in the world or comes due in the queue, an input reaches a lane, and lanes run
//! until each of them waits for time to pass. Here only the parts meet that own all this: lanes
//! ([`crate::phone::executor`]), datagrams ([`crate::network`]), arrivals and churn
//! ([`crate::driver::schedule`]), time ([`crate::events::sim_context`]) and what is written down
//! ([`crate::record::recorder`]). Nothing here knows which protocol runs, how many phones there
//! are, or whether SimGrid or a closed form keeps the time.

pub(crate) mod backpressure;
pub(crate) mod habits;
pub(crate) mod moving;
mod power;
pub(crate) mod schedule;

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{
    Application, Datagram, EventKind, Lane, NodeId, Reason, Seconds, Transport,
};

use crate::base::progress::Progress;
use crate::driver::backpressure::SendBlocking;
use crate::driver::moving::Moving;
use crate::driver::schedule::Schedule;
use crate::events::sim_context::{Due, SimContext};
use crate::network::contacts::Contacts;
use crate::network::forwarding::Forwarders;
use crate::network::radio_states::RadioStates;
use crate::network::reach::Reach;
use crate::network::relay::Relay;
use crate::network::routes::Routes;
use crate::network::{Arrived, Network};
use crate::phone::battery::Batteries;
use crate::phone::executor::{Effect, Executor};
use crate::phone::keepalive::upkeep::{Find, Silence};
use crate::phone::lane::Input;
use crate::phone::policy::Policy;
use crate::plan::Plan;
use crate::record::paths::ReachSummary;
use crate::record::recorder::{Dropped, Recorder};
use crate::record::trace::{Tally, Trace};
use crate::resources::attachments::{Attached, Attachments};
use crate::resources::queue_delay::QueueDelays;
use crate::resources::{Advance, Happening, Listener, World};

/// Drives one run of a plan with applications `A` over transports `T` in world `W`.
pub struct Driver<A: Application, T: Transport<A::Block>, W> {
    context: SimContext<W>,
    recorder: Recorder,
    executor: Executor<A, T>,
    network: Network<T::Body>,
    /// None where nobody is blocked.
    blocking: Option<SendBlocking>,
    schedule: Schedule,
    /// None where nobody changes networks.
    moving: Option<Moving>,
    /// None where none is ever empty.
    batteries: Option<Batteries>,
    failed: Failed,
    /// Whether phones are so many that hints to the processor are worth their time.
    foresees: bool,
    progress: Progress,
    duration_s: Seconds,
    /// Until when something was only reckoned.
    reckoned_s: Seconds,
}

/// Tokens of what the world has failed and the driver has not taken to its end yet.
///
/// A world may name what fails together in any order: SimGrid's is that of addresses, which
/// differ from process to process. The driver takes them in order of their tokens.
#[derive(Default)]
struct Failed {
    works: Vec<u32>,
    flights: Vec<u32>,
}

impl<A: Application, T: Transport<A::Block>, W: World> Driver<A, T, W> {
    /// A driver at time 0 with the phones that `make` makes.
    pub fn new(plan: Plan, world: W, make: impl FnMut(u32) -> (A, T)) -> Self {
        let (seed, phones) = (plan.seed, plan.phones.profile.len());
        let (takes_turns, is_carried) = (world.takes_turns(), !world.stores_and_forwards());
        let mut context = SimContext::new(world, phones);
        let recorder = Recorder::new(&plan);
        let mut executor = Executor::new(&plan, takes_turns, make);
        let blocking = SendBlocking::new(&plan);
        let detained = (Forwarders::new(&plan), RadioStates::new(&plan));
        let limits = (Reach::new(&plan), Relay::new(plan.relay.as_ref()));
        let (attached, attachments) = (Attached::new(&plan), Attachments::new(&plan));
        let moving = Moving::new(plan.moves, phones, &mut context);
        let routes = Routes::new(
            &plan.access,
            (phones, &attachments),
            plan.backbone,
            plan.outages,
        );
        let routes = routes.over(plan.core, is_carried);
        let duration_s = plan.duration_s;
        let batteries = plan.battery.map(|one| Batteries::new(one, duration_s));
        let phones = phones as u32;
        let schedule = Schedule::new(seed, phones, plan.workload, plan.churn, &mut context);
        let mut proximity = plan.proximity;
        for link in &mut proximity.links {
            link.shares_air &= plan.contention;
        }
        let contacts = Contacts::new(proximity);
        let network = Network::new(
            seed,
            phones,
            routes,
            contacts,
            detained,
            limits,
            (&attachments, attached),
        );
        executor.arm_applications(&mut context);
        let mut made = Self {
            context,
            recorder,
            executor,
            network,
            blocking,
            schedule,
            moving,
            batteries,
            failed: Failed::default(),
            foresees: phones >= FORESEEN_PHONES_MIN,
            progress: Progress::default(),
            duration_s,
            reckoned_s: 0.0,
        };
        made.look_at_all(phones);
        made.context.set_alarm();
        made
    }

    /// Tells `progress` from now on.
    pub fn watch(&mut self, progress: Progress) {
        self.progress = progress;
    }

    /// Asks `policy` from now on when messages are handed to transports.
    pub fn govern(&mut self, policy: Box<dyn Policy>) {
        self.executor.govern(policy);
    }

    /// Asks `find` for the habits of conversations that rest where ways vary.
    pub(crate) fn learn(&mut self, find: Find) {
        self.executor.upkeeps.find = Some(find);
    }

    /// Lets no conversation rest, but notes when each phone's first might have.
    pub(crate) fn note_silences(&mut self) {
        self.executor.note_silences();
    }

    /// Those dates, by phone.
    pub(crate) fn silences(&self) -> Vec<Silence> {
        self.executor.silences()
    }

    /// Simulated time, seconds.
    pub fn clock_s(&self) -> Seconds {
        self.context.now().max(self.reckoned_s)
    }

    /// What phones spend in the whole run, joules by component; empty if the plan does not ask.
    pub fn energy_j(&self) -> BTreeMap<&'static str, f64> {
        self.recorder.energy_j(self.duration_s)
    }

    /// The same by number of the access network or of the kind of link.
    pub fn energy_by_part_j(&self) -> BTreeMap<&'static str, Vec<f64>> {
        self.recorder.energy_by_part_j(self.duration_s)
    }

    /// How long datagrams waited in the queues of radios; none where there are no queues.
    pub fn waits(&self) -> Option<QueueDelays> {
        self.context.waits()
    }

    /// Who reached whom how until `end_s`; none where the plan limits neither that nor the relay.
    pub(crate) fn reach_summary(&mut self, end_s: Seconds) -> Option<ReachSummary> {
        let mut summary = self.recorder.reach_summary()?;
        self.network.add_to(&mut summary, end_s);
        Some(summary)
    }

    /// What was traced, and each phone's application for its final state.
    pub fn finish(self) -> (Trace, Vec<A>) {
        (
            self.recorder.into_trace(),
            self.executor.into_applications(),
        )
    }

    /// Runs every ready lane until all of them wait for time to pass.
    fn settle(&mut self) {
        while let Some(effect) = self
            .executor
            .next_effect(&mut self.context, &mut self.recorder)
        {
            match effect {
                Effect::Launch { from, to, datagram } if self.blocking.is_some() => {
                    self.launch_by_gate(from, to, datagram);
                }
                Effect::Launch { from, to, datagram } => self.launch(from, to, datagram),
                Effect::Sleep(number) => self.end_round(number),
            }
        }
    }

    /// Puts a datagram on the air, and lets threads forward it.
    fn launch(&mut self, from: u32, to: NodeId, datagram: Datagram<T::Body>) {
        let (context, recorder) = (&mut self.context, &mut self.recorder);
        if let Some(token) = self.network.launch(context, recorder, from, to, datagram) {
            for (phone, cpu_s) in self.network.forward(context, token) {
                self.executor.forward(context, recorder, phone, cpu_s);
            }
        }
    }

    /// A phone's forwarding thread is done with a datagram.
    fn end_forwarding(&mut self, phone: u32) {
        let (context, recorder) = (&mut self.context, &mut self.recorder);
        let (arrived, next) = self.network.end_forwarding(context, recorder, phone);
        if let Some(cpu_s) = next {
            self.executor.forward(context, recorder, phone, cpu_s);
        }
        self.take_in(arrived);
    }

    /// Puts a datagram on the air, or lets its lane wait for room at the phone.
    fn launch_by_gate(&mut self, from: u32, to: NodeId, datagram: Datagram<T::Body>) {
        let context = &mut self.context;
        let (Some(blocking), Some(lane)) = (&mut self.blocking, self.executor.running()) else {
            return;
        };
        if !blocking.pass(context, &mut self.network, (from, lane), (to, &datagram)) {
            return self.executor.hold(to, datagram);
        }
        self.launch(from, to, datagram);
        let (context, blocking) = (&mut self.context, self.blocking.as_mut());
        if let Some(next) = blocking.and_then(|blocking| blocking.sent(context, from)) {
            let epoch = context.epoch(from);
            self.executor
                .free(context, &mut self.recorder, from, next, epoch);
        }
    }

    /// There may be room at a phone: who waits for it first tries again.
    fn open_gate(&mut self, phone: u32) {
        let (context, recorder) = (&mut self.context, &mut self.recorder);
        let blocking = self.blocking.as_ref();
        if let Some(lane) = blocking.and_then(|blocking| blocking.first(phone)) {
            let epoch = context.epoch(phone);
            self.executor.free(context, recorder, phone, lane, epoch);
        }
    }

    /// Lets the processor fetch what is probably needed next, while it does what is to be done now.
    #[inline(always)]
    fn foresee(&self) {
        if !self.foresees {
            return;
        }
        let mut coming = self.context.coming();
        let phone = match coming.next() {
            Some(&(Due::Crossing(token) | Due::Heard(token) | Due::Delivery(token))) => {
                self.network.receiver(token)
            }
            Some(&(Due::LaneFree(phone, ..) | Due::Timeout(_, phone, _))) => Some(phone),
            Some(Due::Arrival) => self.schedule.next_proposer(),
            _ => None,
        };
        phone.into_iter().for_each(|phone| self.prefetch(phone));
        for due in coming {
            if let Due::Crossing(token) | Due::Heard(token) | Due::Delivery(token) = due {
                self.network.prefetch_flight(*token);
            }
        }
    }

    /// The same where work has ended, after which other work may end.
    #[inline(always)]
    fn foresee_work(&self, next: Option<u32>) {
        if self.foresees {
            next.into_iter().for_each(|phone| self.prefetch(phone));
        }
    }

    #[inline(always)]
    fn prefetch(&self, phone: u32) {
        self.context.prefetch(phone);
        self.executor.prefetch(phone);
        self.network.prefetch(phone);
    }

    fn take_due(&mut self, due: Due) {
        let (context, recorder) = (&mut self.context, &mut self.recorder);
        match due {
            Due::Arrival => self.take_arrivals(),
            Due::Transition => self.take_transitions(),
            Due::Battery(phone, version) => self.take_battery(phone, version),
            Due::Move => self.take_moves(),
            Due::Join(number) => self.join(number),
            Due::Loop(number) => self.start_round(number),
            Due::LaneFree(phone, lane, epoch) => {
                self.executor.free(context, recorder, phone, lane, epoch)
            }
            Due::Delivery(token) => {
                let arrived = self.network.deliver(context, recorder, token);
                self.take_in(arrived);
            }
            Due::Crossing(token) => {
                let arrived = self.network.cross(context, recorder, token);
                self.take_in(arrived);
            }
            Due::Relayed(token, stage) => self.network.relay(context, recorder, token, stage),
            Due::Heard(token) => {
                let arrived = self.network.hear(context, recorder, token);
                self.take_in(arrived);
            }
            Due::ContactEnd(token, epoch) => {
                self.network
                    .land_from_contact(context, recorder, token, epoch);
                self.take_landed();
            }
            Due::Timeout(layer, phone, epoch) => self.executor.look(context, layer, phone, epoch),
            Due::Failures => self.take_failures(),
            Due::Room(phone, epoch) => {
                if self.context.epoch(phone) == epoch {
                    self.open_gate(phone);
                }
            }
            Due::RadioOpens(phone, direction) => {
                self.network
                    .open_radio(context, recorder, (phone, direction));
                if let Some(blocking) = &mut self.blocking {
                    blocking.sent(context, phone);
                    self.open_gate(phone);
                }
            }
            Due::HandOver(phone, number) => self.executor.hand_over(phone, number),
        }
    }

    /// Asks for every arrival that is due.
    fn take_arrivals(&mut self) {
        let (context, recorder) = (&mut self.context, &mut self.recorder);
        while let Some((from, request)) = self.schedule.next_arrival(context, recorder) {
            self.executor.post(from, Lane::SEND, Input::App(request));
        }
    }

    /// Queues a round of a sender loop on its phone's send lane.
    fn start_round(&mut self, number: u32) {
        if let Some((from, round)) = self.schedule.start_round(&self.context, number) {
            self.executor.post(from, Lane::SEND, Input::Round(round));
        }
    }

    /// A loop sleeps until its next round. A thread that is late goes on with the core that it has.
    fn end_round(&mut self, number: u32) {
        let (phone, date_s) = self.schedule.sleep(&self.context, number);
        if date_s <= self.context.now() && self.executor.cpu.takes_turns(phone) {
            return self.start_round(number);
        }
        self.context.push(date_s, Due::Loop(number));
    }

    /// Turns phones off and on as the plan says.
    fn take_transitions(&mut self) {
        while let Some((phone, on)) = self.schedule.next_transition(&mut self.context) {
            self.want(phone, on);
        }
    }

    /// Phones leave their networks as the plan says.
    fn take_moves(&mut self) {
        while let Some((number, phone)) = self.next_move() {
            let now = self.context.now();
            self.network.leave(now, &mut self.recorder, phone);
            self.recorder.leave_network(now, phone);
            // The world fails what was in its queues, and reports it later.
            self.context.world().leave(NodeId(phone));
            if let Some(blocking) = &mut self.blocking {
                blocking.leave(phone);
                self.open_gate(phone);
            }
            let moving = self.moving.as_ref();
            match moving.map_or(0.0, |moving| moving.interruption_s(number)) {
                0.0 => self.join(number),
                interruption_s => self.context.push(now + interruption_s, Due::Join(number)),
            }
        }
    }

    fn next_move(&mut self) -> Option<(u32, u32)> {
        self.moving.as_mut()?.next(&mut self.context)
    }

    /// A phone joins the network that it moves to.
    fn join(&mut self, number: u32) {
        let moving = self.moving.as_ref();
        let Some((phone, attachment)) = moving.and_then(|moving| moving.arrival(number)) else {
            return;
        };
        let network = self.network.join(self.context.now(), phone, attachment);
        self.context.world().join(NodeId(phone), attachment);
        self.recorder.join_network(phone, network);
        if self.context.is_on(phone) {
            self.executor.post(phone, Lane::RECEIVE, Input::Network);
        }
        if let Some(blocking) = &mut self.blocking {
            blocking.join(phone, attachment);
        }
    }

    fn turn_on(&mut self, phone: u32) {
        self.context.turn_on(phone);
        let now = self.context.now();
        self.recorder.record_phone(now, phone, EventKind::PhoneOn);
        for round in self.schedule.resume(phone) {
            self.executor.post(phone, Lane::SEND, Input::Round(round));
        }
        self.executor.wake(&mut self.context, phone);
    }

    /// Everything the phone was doing ends; what others will miss is accounted for.
    fn turn_off(&mut self, phone: u32) {
        let now = self.context.now();
        self.network.silence(now, &mut self.recorder, phone);
        if let Some(blocking) = &mut self.blocking {
            blocking.forget(phone);
        }
        self.recorder.switch_off(now, phone);
        let loops = self
            .executor
            .shut_down(&mut self.context, &mut self.recorder, phone);
        self.schedule.pause(loops);
        // Last: the world fails what the phone was doing, and reports it later.
        self.context.turn_off(phone);
    }

    /// Takes what has landed to its socket, in order.
    fn take_landed(&mut self) {
        while let Some(arrived) = self
            .network
            .next_arrived(&mut self.context, &mut self.recorder)
        {
            self.take_in(Some(arrived));
        }
    }

    /// A datagram is at a socket: into its buffer, or lost.
    fn take_in(&mut self, arrived: Option<Arrived<T::Body>>) {
        let Some(arrived) = arrived else {
            return;
        };
        let Arrived {
            from,
            to,
            datagram,
            row,
        } = arrived;
        let now = self.context.now();
        let Some(datagram) = self.executor.take_in(to.0, from, datagram, now) else {
            self.recorder.land(now, row, None);
            return self.recorder.count(Tally::DatagramsDelivered);
        };
        self.recorder.land(now, row, Some(Reason::BufferFull));
        let dropped = Dropped {
            from,
            to,
            datagram: &datagram,
            reason: Reason::BufferFull,
        };
        self.recorder.drop(now, Tally::DatagramsDropped, dropped);
    }

    /// The air that several share has lost a datagram.
    fn lose_on_air(&mut self, token: u32) {
        self.network.lose_on_air(token);
        self.flight_ended(token, true);
    }

    /// Something failed: it is taken to its end when all that fails with it is known.
    fn await_failures(&mut self) {
        if self.failed.works.len() + self.failed.flights.len() == 1 {
            self.context.push(self.context.now(), Due::Failures);
        }
        self.context.set_alarm();
    }

    fn take_failures(&mut self) {
        let Failed {
            mut works,
            mut flights,
        } = std::mem::take(&mut self.failed);
        works.sort_unstable();
        flights.sort_unstable();
        for token in works {
            self.executor.forget_work(token);
        }
        for token in flights {
            self.end_leg(token, false);
        }
    }

    fn end_leg(&mut self, token: u32, done: bool) {
        let (context, recorder) = (&mut self.context, &mut self.recorder);
        let arrived = self.network.end_leg(context, recorder, token, done);
        self.take_in(arrived);
        self.take_landed();
    }
}

impl<A: Application, T: Transport<A::Block>, W: Advance> Driver<A, T, W> {
    /// Runs until `end_s`, or until nothing is left to do.
    pub fn run(&mut self, end_s: Seconds) {
        while let Some(happening) = self.context.world().advance(end_s) {
            match happening {
                Happening::Work(token, done) => {
                    let next = self.context.world().next_worker();
                    self.foresee_work(next);
                    self.work_ended(token, done);
                }
                Happening::Hop(token, done) => self.flight_ended(token, done),
                Happening::Lost(token) => self.lose_on_air(token),
                Happening::Wake => self.wake(),
            }
            if self.progress.is_over() {
                break;
            }
        }
        let reached_s = match self.progress.is_over() {
            true => self.context.now(),
            false => end_s,
        };
        let (context, recorder) = (&mut self.context, &mut self.recorder);
        self.network.end(context, recorder, reached_s);
        recorder.close(reached_s);
        if self.executor.end_rests(context, recorder, reached_s) {
            self.reckoned_s = reached_s;
            self.progress.reach(reached_s, self.duration_s);
        }
    }
}

impl<A: Application, T: Transport<A::Block>, W: World> Listener for Driver<A, T, W> {
    fn work_ended(&mut self, token: u32, done: bool) {
        if self.progress.is_over() {
            return;
        }
        if !done {
            self.failed.works.push(token);
            return self.await_failures();
        }
        self.progress.count();
        let forwarded = self
            .executor
            .end_work(&mut self.context, &mut self.recorder, token);
        forwarded
            .into_iter()
            .for_each(|phone| self.end_forwarding(phone));
        self.settle();
        self.drain();
        self.context.set_alarm();
    }

    fn flight_ended(&mut self, token: u32, done: bool) {
        if self.progress.is_over() {
            return;
        }
        if !done {
            self.failed.flights.push(token);
            return self.await_failures();
        }
        self.progress.count();
        let sender = self
            .blocking
            .as_ref()
            .and_then(|_| self.network.sender(token));
        self.end_leg(token, true);
        sender.into_iter().for_each(|phone| self.open_gate(phone));
        self.settle();
        self.drain();
        self.context.set_alarm();
    }

    fn wake(&mut self) {
        if self.progress.is_over() {
            return;
        }
        self.context.forget_alarm();
        self.progress.reach(self.context.now(), self.duration_s);
        while let Some(due) = self.context.pop_due() {
            self.progress.count();
            self.foresee();
            self.take_due(due);
            self.settle();
            self.drain();
            if self.progress.is_over() {
                return;
            }
        }
        self.context.set_alarm();
    }
}

/// Between 10 000 phones, where hints cost a fiftieth, and 100 000, where they save a third of the
/// time (docs/performance.md): what fewer have is in the second or third cache anyhow.
const FORESEEN_PHONES_MIN: u32 = 30_000;
