//! What happens on lanes: inputs to machines, steps to work, and what leaves the phone.
//!
//! One loop runs every lane that has something to do until all of them wait for time to pass.
//! What deliberately does not live here: datagrams once they are on the air, and who asks
//! applications for what. Of both the loop only says that it is their turn ([`Effect`]).

use std::collections::VecDeque;

use pocketsim_protocols::contract::{
    AppRequest, Application, Datagram, Delivery, Lane, NodeId, Operation, OutputsOf, Reason,
    Seconds, Transport,
};

use crate::base::prefetch::prefetch;
use crate::base::rng::Stream;
use crate::events::sim_context::{Due, Layer, SimContext};
use crate::network::forwarding::FORWARDING;
use crate::phone::cpu_work::CpuWork;
use crate::phone::keepalive::upkeep::Upkeeps;
use crate::phone::lane::{Input, Next, Round, Spare, Step};
use crate::phone::policy::{Policy, PolicyState, Verdict};
use crate::phone::power_off::PowerOff;
use crate::phone::send_window::SendWindow;
use crate::phone::timers::Timers;
use crate::phone::turns::Turns;
use crate::phone::Phone;
use crate::plan::Plan;
use crate::record::recorder::Recorder;
use crate::record::trace::Tally;
use crate::resources::{Thread, World};

/// Runs the lanes of every phone of a run.
pub(crate) struct Executor<A: Application, T: Transport<A::Block>> {
    pub(crate) phones: Vec<Phone<A, T>>,
    /// What they compute.
    pub(crate) cpu: CpuWork,
    /// How much the receive buffer of a socket holds, by profile.
    socket_bytes: Vec<u64>,
    /// Lanes with something to do, in the order they got it.
    ready: VecDeque<(u32, Lane)>,
    /// What waits for a thread that takes turns with others.
    turns: Turns<A, T>,
    timers: Timers,
    spare: Spare<A, T>,
    /// Says when messages are handed to transports.
    policy: Option<PolicyState<A::Block>>,
    /// Of phones whose loops stop at so many.
    outstanding: SendWindow,
    /// Of conversations at rest (`fast_forward.rs`).
    pub(crate) upkeeps: Upkeeps,
    app_out: OutputsOf<A>,
    net_out: OutputsOf<T>,
}

/// What a step of a lane asks of others.
pub(crate) enum Effect<B> {
    /// A datagram goes on the air.
    Launch {
        from: u32,
        to: NodeId,
        datagram: Datagram<B>,
    },
    /// Sender loop number n sleeps.
    Sleep(u32),
}

impl<A: Application, T: Transport<A::Block>> Executor<A, T> {
    /// With the idle lanes of `plan`'s phones, with the machines that `make` makes.
    pub(crate) fn new(plan: &Plan, takes_turns: bool, mut make: impl FnMut(u32) -> (A, T)) -> Self {
        let phone = |(number, &profile): (u32, &u32)| {
            let costs = Stream::new(plan.seed, "cost", number);
            Phone::new(make(number), profile, costs)
        };
        Self {
            phones: (0..).zip(&plan.phones.profile).map(phone).collect(),
            cpu: CpuWork::new(plan, takes_turns),
            socket_bytes: plan.socket_buffers_bytes().collect(),
            ready: VecDeque::new(),
            turns: Turns::new(),
            timers: Timers::new(plan.transport.options.timer_tick_s),
            spare: Spare::new(),
            policy: None,
            outstanding: SendWindow::new(&plan.workload),
            upkeeps: Upkeeps::new(plan),
            app_out: Vec::new(),
            net_out: Vec::new(),
        }
    }

    /// Asks `policy` when messages are handed to transports.
    pub(crate) fn govern(&mut self, policy: Box<dyn Policy>) {
        self.policy = Some(PolicyState::new(policy));
    }

    /// Some applications want to be woken before anything happens to them.
    pub(crate) fn arm_applications<W: World>(&mut self, context: &mut SimContext<W>) {
        for phone in 0..self.phones.len() as u32 {
            self.arm(context, phone, Layer::Application);
        }
    }

    /// Queues `input` on a lane of a phone and marks the lane as ready.
    pub(crate) fn post(&mut self, phone: u32, lane: Lane, input: Input<A, T>) {
        self.phones[phone as usize].post(lane, input, &mut self.spare);
        self.ready.push_back((phone, lane));
    }

    /// Queues a datagram at the socket of `to`, or gives it back when its buffer is full. It wakes
    /// the receive lane if that sleeps, and the transport's tasks, where the profile says what that
    /// takes.
    pub(crate) fn take_in(
        &mut self,
        to: u32,
        from: NodeId,
        datagram: T::Message,
        now: Seconds,
    ) -> Option<T::Message> {
        let phone = &mut self.phones[to as usize];
        let capacity_bytes = self.socket_bytes[phone.profile()];
        if !phone.admit(capacity_bytes, datagram.udp_payload_bytes) {
            return Some(datagram);
        }
        let bytes = datagram.udp_payload_bytes;
        let costs = &self.cpu.costs[phone.profile()];
        let receives = phone.lane(Lane::RECEIVE.0 as usize);
        if receives.is_idle() {
            let rests = !costs.tells_rests() || self.cpu.idle.rests(to);
            self.cpu.idle.wake(to, costs, now);
            self.cpu.idle.rouse(to);
            for &operation in T::WAKES.iter().rev() {
                let is_asked = operation == Operation::UdpWake || rests || costs.has_queued();
                if is_asked && !costs.mean(operation, bytes).is_free() {
                    let ratio = self.cpu.idle.wake_ratio(to, operation, costs, now);
                    receives.push(Step::Wake(operation, bytes, ratio), &mut self.spare);
                }
            }
        }
        self.post(to, Lane::RECEIVE, Input::Datagram(from, datagram));
        None
    }

    /// A message of a phone has waited long enough to be handed to the transport.
    pub(crate) fn hand_over(&mut self, phone: u32, number: u64) {
        let policy = self.policy.as_mut().expect("it made it wait");
        if let Some((to, block)) = policy.take(phone, number) {
            self.post(phone, Lane::SEND, Input::HandOver(to, block));
        }
    }

    /// Runs ready lanes until all of them wait for time to pass, or one has something for others.
    pub(crate) fn next_effect<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
    ) -> Option<Effect<T::Body>> {
        while let Some(&(phone, lane)) = self.ready.front() {
            if self
                .turns
                .gives_way((phone, lane), &mut self.phones, &mut self.ready)
            {
                continue;
            }
            match self.phones[phone as usize].next(lane, &mut self.spare) {
                Some((at, Next::Input(input))) => self.feed(context, recorder, phone, at, input),
                Some((at, Next::Step(step))) => {
                    let effect = self.perform(context, recorder, phone, at, step);
                    if effect.is_some() {
                        return effect;
                    }
                }
                None => drop(self.ready.pop_front()),
            }
        }
        None
    }

    /// Lets the processor fetch a phone.
    #[inline(always)]
    pub(crate) fn prefetch(&self, phone: u32) {
        prefetch(&self.phones, phone as usize);
    }

    /// The lane whose step an [`Effect`] is.
    pub(crate) fn running(&self) -> Option<Lane> {
        self.ready.front().map(|&(_, lane)| lane)
    }

    /// The lane that runs stands still before what it cannot send yet, until it is
    /// [freed](Self::free).
    pub(crate) fn hold(&mut self, to: NodeId, datagram: T::Message) {
        if let Some(&(phone, lane)) = self.ready.front() {
            let step = Step::NetSend(to, datagram);
            self.cpu.idle.begin(phone); // it is freed as if it had worked
            self.phones[phone as usize].hold(lane, step, &mut self.spare);
        }
    }

    /// It is time to look at a timeout that was armed in `epoch`.
    pub(crate) fn look<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        layer: Layer,
        phone: u32,
        epoch: u32,
    ) {
        if context.epoch(phone) != epoch {
            return; // It has been off since, and is armed anew when it is on.
        }
        if self.phones[phone as usize].ring(layer, context.now()) {
            self.post_timeout(context, phone, layer);
        } else {
            self.arm(context, phone, layer);
        }
    }

    /// A phone that comes back is woken for what came due meanwhile, too.
    pub(crate) fn wake<W: World>(&mut self, context: &mut SimContext<W>, phone: u32) {
        self.phones[phone as usize].turn_on(context.now());
        self.arm(context, phone, Layer::Application);
        self.arm(context, phone, Layer::Transport);
    }

    /// A phone goes off: everything it was doing ends. Returns the sender loops that ran on it.
    pub(crate) fn shut_down<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
    ) -> Vec<u32> {
        let now = context.now();
        let (held, lanes) = self.phones[phone as usize].shut_down(now);
        self.cpu.idle.shut_down(phone, now);
        self.turns.shut_down(phone);
        self.attend(context, now, phone);
        let mut off = PowerOff::new(now, phone, recorder);
        off.held::<A>(held);
        if let Some(policy) = &mut self.policy {
            off.waiting(policy.abandon(phone));
        }
        for lane in lanes {
            off.lane(lane);
        }
        let (loops, unmade) = off.into_undone();
        let kept = self.phones[phone as usize].end_proposals(&unmade, |event| {
            recorder.record(now, phone, &event);
        });
        self.outstanding.shut_down(phone, kept);
        loops
    }

    /// Charges a phone for what its forwarding thread takes for a datagram.
    pub(crate) fn forward<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        cpu_s: Seconds,
    ) {
        let state = &mut self.phones[phone as usize];
        self.cpu
            .charge_forwarding(context, recorder, (phone, state), cpu_s);
    }

    /// The world has spent what a lane asked for, or a forwarding thread: its phone, if that stayed on.
    pub(crate) fn end_work<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
    ) -> Option<u32> {
        let work = self.cpu.end(token);
        if let Some(input) = work.in_turn.map(|input| self.turns.take(input)) {
            if context.epoch(work.phone) == work.epoch {
                self.post(work.phone, work.lane, input);
            }
            return None;
        }
        if work.lane == FORWARDING {
            return (context.epoch(work.phone) == work.epoch).then_some(work.phone);
        }
        if work.wait_s > 0.0 {
            work.wait(context);
        } else {
            self.free(context, recorder, work.phone, work.lane, work.epoch);
        }
        None
    }

    /// The world has failed what a lane asked for: its phone is off.
    pub(crate) fn forget_work(&mut self, token: u32) {
        if let Some(input) = self.cpu.end(token).in_turn {
            // A request names what its machine still has, and gives back when it is shut down; alarms
            // are set anew.
            self.turns.take(input);
        }
    }

    /// Work that a lane began in `epoch` is over.
    pub(crate) fn free<W: World>(
        &mut self,
        context: &SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        lane: Lane,
        epoch: u32,
    ) {
        if context.epoch(phone) == epoch {
            recorder.end_work(context.now(), phone, lane);
            self.phones[phone as usize].free(lane);
            self.cpu.idle.end(phone, context.now());
            self.ready.push_back((phone, lane));
        }
    }

    /// Each phone's application, at the end.
    pub(crate) fn into_applications(self) -> Vec<A> {
        let phones = self.phones.into_iter();
        phones.map(Phone::into_application).collect()
    }

    fn feed<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        at: usize,
        input: Input<A, T>,
    ) {
        let first = self.turn(context, phone, &input);
        match input {
            Input::Datagram(from, datagram) => {
                self.phones[phone as usize].release(datagram.udp_payload_bytes);
                self.ask_net(context, phone, at, |transport, now, out| {
                    transport.receive(from, datagram, now, out);
                });
                if let Some(step) = first {
                    self.phones[phone as usize]
                        .lane(at)
                        .push(step, &mut self.spare);
                }
            }
            Input::App(request) => self.ask_app(context, phone, at, |app, now, out| {
                app.command(request, now, out);
            }),
            Input::HandOver(to, block) => self.transmit(context, phone, at, to, block),
            Input::Net(request) => self.ask_net(context, phone, at, |transport, now, out| {
                transport.command(request, now, out);
            }),
            Input::Timeout(layer) => self.feed_timeout(context, phone, at, layer),
            Input::Network => self.ask_net(context, phone, at, |transport, now, out| {
                transport.change_network(now, out);
            }),
            Input::Round(round) => self.feed_round(context, recorder, phone, at, round),
        }
    }

    /// A phone turns to an input: what comes from outside has waited, or been rested for. Returns
    /// of a datagram that has waited in the socket what the transport's tasks take to pass it on.
    pub(crate) fn turn<W: World>(
        &mut self,
        context: &SimContext<W>,
        phone: u32,
        input: &Input<A, T>,
    ) -> Option<Step<A, T>> {
        let costs = &self.cpu.costs[self.phones[phone as usize].profile()];
        let idle = &mut self.cpu.idle;
        let now = context.now();
        match input {
            Input::Datagram(_, datagram) => {
                let has_roused = idle.read(phone, costs, now);
                let passes_on = T::WAKES.contains(&Operation::QuicWake) && costs.has_queued();
                if !has_roused && passes_on {
                    let ratio = costs.wake_ratio(Operation::QuicWake, 0.0);
                    let bytes = datagram.udp_payload_bytes;
                    return Some(Step::Wake(Operation::QuicWake, bytes, ratio));
                }
            }
            Input::Timeout(_) | Input::Round(_) => idle.turn(phone, costs, now, true),
            _ => idle.turn(phone, costs, now, false),
        }
        None
    }

    /// A lane has come to a timeout: its machine is told, if it still is due.
    pub(crate) fn feed_timeout<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        layer: Layer,
    ) {
        if !self.phones[phone as usize].silence(layer, context.now()) {
            return self.arm(context, phone, layer); // It was put off while it waited.
        }
        match layer {
            Layer::Application => self.ask_app(context, phone, at, |app, now, out| {
                app.handle_timeout(now, out);
            }),
            Layer::Transport => self.ask_net(context, phone, at, |transport, now, out| {
                transport.handle_timeout(now, out);
            }),
        }
    }

    /// One round: propose if there is room, then sleep.
    fn feed_round<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        at: usize,
        round: Round,
    ) {
        if context.now() >= round.end_s {
            return;
        }
        let lane = self.phones[phone as usize].lane(at);
        lane.push(Step::Sleep(round.number), &mut self.spare);
        let transport = self.phones[phone as usize].transport();
        let is_full = round.outstanding_until_drained
            && transport.own_endpoints() >= round.outstanding_max as usize;
        if is_full || !self.outstanding.has_room(phone, round.outstanding_max) {
            self.wake_by_timer(phone, at, round.has_slept);
            return recorder.count(Tally::ProposalsWithheld);
        }
        let request = AppRequest::Transact {
            peer: round.peer,
            payload_bytes: round.payload_bytes,
        };
        self.ask_app(context, phone, at, |app, now, out| {
            app.command(request, now, out)
        });
        self.wake_by_timer(phone, at, round.has_slept);
    }

    /// Before what it does now, a lane does what its sleep until then takes, if it has slept.
    pub(crate) fn wake_by_timer(&mut self, phone: u32, at: usize, has_slept: bool) {
        let state = &mut self.phones[phone as usize];
        let costs = &self.cpu.costs[state.profile()];
        let takes = |operation: Operation| !costs.mean(operation, 0).is_free();
        let (sleeps, interrupts) = (Operation::TimedSleep, Operation::TimerInterrupt);
        if has_slept && takes(sleeps) {
            let own = Step::Work(sleeps.into(), 0);
            state.lane(at).push(own, &mut self.spare);
        }
        if has_slept && takes(interrupts) {
            state.lane(at).push(Step::Interrupt, &mut self.spare);
        }
    }

    fn perform<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        at: usize,
        step: Step<A, T>,
    ) -> Option<Effect<T::Body>> {
        match step {
            Step::Work(operation, bytes) => {
                let state = &mut self.phones[phone as usize];
                let work = (operation, bytes);
                self.cpu.charge(context, recorder, (phone, state), at, work);
            }
            Step::Wake(operation, bytes, ratio) => {
                let state = &mut self.phones[phone as usize];
                let work = ((operation.into(), bytes), ratio);
                self.cpu
                    .charge_wakeup(context, recorder, (phone, state), at, work);
            }
            Step::Interrupt => {
                let state = &mut self.phones[phone as usize];
                self.cpu
                    .charge_interrupt(context, recorder, (phone, state), at);
            }
            Step::AppSend(to, block) => self.send(context, phone, at, to, block),
            Step::NetSend(to, datagram) => {
                let from = phone;
                return Some(Effect::Launch { from, to, datagram });
            }
            Step::Observe(event) => {
                self.outstanding.note(phone, &event);
                recorder.record(context.now(), phone, &event);
            }
            Step::Deliver(from, delivery) => self.hand_up(context, phone, at, from, delivery),
            Step::AppPost(lane, request) => self.post(phone, lane, Input::App(request)),
            Step::NetPost(lane, request) => self.post_net(context, phone, at, lane, request),
            Step::Sleep(number) => return Some(Effect::Sleep(number)),
        }
        None
    }

    /// The application sends a block: now, or when the policy says.
    pub(crate) fn send<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        to: NodeId,
        block: A::Block,
    ) {
        let Some(policy) = &mut self.policy else {
            return self.transmit(context, phone, at, to, block);
        };
        match policy.hand_over(phone, to, block, context.now()) {
            Verdict::Now(block) => self.transmit(context, phone, at, to, block),
            Verdict::Later(number, date) => context.push(date, Due::HandOver(phone, number)),
            Verdict::Never(payload) => {
                let reason = Reason::Withheld;
                let failed = Delivery::Failed { payload, reason };
                self.tell_app(context, phone, at, to, failed);
            }
        }
    }

    /// The transport has something for the application, unless the policy tries it again.
    pub(crate) fn hand_up<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        from: NodeId,
        delivery: Delivery<A::Block>,
    ) {
        let delivery = match (delivery, &mut self.policy) {
            (Delivery::Failed { payload, reason }, Some(policy)) => {
                match policy.fail(phone, from, payload, reason, context.now()) {
                    Ok((number, date)) => return context.push(date, Due::HandOver(phone, number)),
                    Err(payload) => Delivery::Failed { payload, reason },
                }
            }
            (delivery, _) => delivery,
        };
        self.tell_app(context, phone, at, from, delivery);
    }

    /// Gives a block to the transport.
    pub(crate) fn transmit<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        to: NodeId,
        block: A::Block,
    ) {
        self.ask_net(context, phone, at, |transport, now, out| {
            transport.transmit(to, block, now, out);
        });
    }

    /// Gives the application what the transport has for it.
    pub(crate) fn tell_app<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        from: NodeId,
        delivery: Delivery<A::Block>,
    ) {
        self.ask_app(context, phone, at, |app, now, out| match delivery {
            Delivery::Received(block) => app.receive(from, block, now, out),
            Delivery::Failed { payload, reason } => {
                let to = from;
                let request = AppRequest::Undelivered {
                    to,
                    payload,
                    reason,
                };
                app.command(request, now, out);
            }
        });
    }

    /// A lane posts a request of the transport on another. Where threads take turns, one of another
    /// thread gets it when that comes to it; what the receiving thread passes on has arrived.
    fn post_net<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        lane: Lane,
        request: T::Request,
    ) {
        let input = Input::Net(request);
        if !self.cpu.takes_turns(phone) {
            return self.post(phone, lane, input);
        }
        let state = &mut self.phones[phone as usize];
        let from = state.lane(at).lane();
        let [own, other] = [from, lane].map(|lane| state.number_of_thread(lane));
        if own == other {
            if state.transport().is_of_tasks(from) {
                self.turns.note_woken((phone, from));
            }
            return self.post(phone, lane, input);
        }
        let thread = match from == Lane::RECEIVE {
            true => Thread::Number(other),
            false => Thread::Handed(other),
        };
        self.turns
            .queue(context, &mut self.cpu, (phone, lane), input, thread);
    }

    /// The receive lane gets a timeout; of the transport's, where threads take turns, when its thread
    /// comes to it.
    fn post_timeout<W: World>(&mut self, context: &mut SimContext<W>, phone: u32, layer: Layer) {
        let (lane, input) = (Lane::RECEIVE, Input::Timeout(layer));
        if layer == Layer::Application || !self.cpu.takes_turns(phone) {
            return self.post(phone, lane, input);
        }
        let thread = Thread::Number(self.phones[phone as usize].number_of_thread(lane));
        self.turns
            .queue(context, &mut self.cpu, (phone, lane), input, thread);
    }

    pub(crate) fn ask_app<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        call: impl FnOnce(&mut A, Seconds, &mut OutputsOf<A>),
    ) {
        let (state, now) = (&mut self.phones[phone as usize], context.now());
        let memory = (&mut self.app_out, &mut self.spare);
        state.ask_app(at, memory, |app, out| call(app, now, out));
        self.arm(context, phone, Layer::Application);
    }

    pub(crate) fn ask_net<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        call: impl FnOnce(&mut T, Seconds, &mut OutputsOf<T>),
    ) {
        let (state, now) = (&mut self.phones[phone as usize], context.now());
        let memory = (&mut self.net_out, &mut self.spare);
        state.ask_net(at, memory, |net, out| call(net, now, out));
        self.attend(context, now, phone);
        self.arm(context, phone, Layer::Transport);
    }

    /// Whoever has acted is looked at again when its machine says.
    ///
    /// With timers that tick, a transport's alarm rings when its runtime would wake up for it; a
    /// runtime that is awake has looked at the clock (quinn 0.11.12, `drive_timer`).
    pub(crate) fn arm<W: World>(&mut self, context: &mut SimContext<W>, phone: u32, layer: Layer) {
        let (now, at) = (context.now(), phone as usize);
        if self.timers.have_ticks(layer) && self.phones[at].ring(layer, now) {
            return self.post_timeout(context, phone, layer);
        }
        if let Some(date) = self.phones[at].arm(layer) {
            let date = self.timers.rings_at(layer, date, now);
            context.push(date, Due::Timeout(layer, phone, context.epoch(phone)));
        }
    }
}
