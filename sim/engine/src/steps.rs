//! What happens on a lane: inputs to machines, steps to work, datagrams and rows.

use pocketsim_protocols::contract::{
    AppRequest, Application, Delivery, Lane, NodeId, Operation, OutputsOf, Transport,
};

use crate::costs::Cost;
use crate::driver::{Driver, Due, Work};
use crate::lane::{Input, Step};
use crate::phone::Alarm;
use crate::resources::{CpuDemand, World};

impl<A: Application, T: Transport<A::Block>, W: World> Driver<A, T, W> {
    /// Runs one lane until it is idle or a step takes time.
    pub(crate) fn run_lane(&mut self, phone: u32, lane: Lane) {
        loop {
            let state = &mut self.phones[phone as usize];
            let Some(at) = state.find(lane) else { return };
            let lane_state = &mut state.lanes[at];
            if lane_state.busy {
                return;
            }
            if let Some(step) = lane_state.steps.pop_front() {
                self.perform(phone, at, step);
            } else if let Some(input) = lane_state.inbox.pop_front() {
                self.feed(phone, at, input);
            } else {
                state.retire(at);
                return;
            }
        }
    }

    fn perform(&mut self, phone: u32, at: usize, step: Step<A, T>) {
        match step {
            Step::Work(operation, bytes) => self.spend(phone, at, operation, bytes),
            Step::AppSend(to, block) => {
                let now = self.world.clock();
                let state = &mut self.phones[phone as usize];
                state.transport.transmit(to, block, now, &mut self.net_out);
                state.lanes[at].splice_net(&mut self.net_out);
                self.arm_net(phone);
            }
            Step::NetSend(to, datagram) => self.launch(phone, to, datagram),
            Step::Observe(event) => {
                self.trace.record(self.world.clock(), NodeId(phone), &event);
            }
            Step::Deliver(from, delivery) => self.hand_up(phone, at, from, delivery),
            Step::AppPost(lane, request) => self.post(phone, lane, Input::App(request)),
            Step::NetPost(lane, request) => self.post(phone, lane, Input::Net(request)),
            Step::Sleep(number) => self.sleep(number),
        }
    }

    /// Spends this operation as one piece of work with those that follow it
    /// directly and use as many threads.
    fn spend(&mut self, phone: u32, at: usize, operation: Operation, bytes: u32) {
        let table = &self.costs[self.plan.phones.profile[phone as usize] as usize];
        let state = &mut self.phones[phone as usize];
        let mut cost = table.draw(operation, bytes, &mut state.cost_stream);
        self.trace.spend(operation, cost.cpu_s);
        let lane = &mut state.lanes[at];
        let threads = table.threads(operation);
        while let Some(&Step::Work(operation, bytes)) = lane.steps.front() {
            if table.threads(operation) != threads {
                break;
            }
            lane.steps.pop_front();
            let next = table.draw(operation, bytes, &mut state.cost_stream);
            self.trace.spend(operation, next.cpu_s);
            cost = cost.plus(next);
        }
        if let Some(energy) = &mut self.energy {
            energy.compute(phone, cost.cpu_s);
        }
        if cost.is_free() {
            return;
        }
        lane.busy = true;
        let (lane, epoch) = (lane.lane, state.epoch);
        self.start_work(
            cost,
            threads,
            Work {
                phone,
                lane,
                epoch,
                wait_s: cost.wait_s,
            },
        );
    }

    fn start_work(&mut self, cost: Cost, threads: u32, work: Work) {
        if cost.cpu_s > 0.0 {
            let (phone, priority) = (NodeId(work.phone), self.priority(&work));
            let token = self.works.insert(work) as u32;
            self.world.spend(
                token,
                phone,
                CpuDemand {
                    cpu_s: cost.cpu_s,
                    threads,
                    priority,
                },
            );
        } else {
            let free = self.world.clock() + cost.wait_s;
            self.queue
                .push(free, Due::LaneFree(work.phone, work.lane, work.epoch));
        }
    }

    /// The weight of a lane's work when the phone's cores are shared.
    ///
    /// Between threads alone weights are equal and need not be told, which spares
    /// the world a change of every piece of work where no tasks are (plain UDP).
    fn priority(&self, work: &Work) -> f64 {
        let is_thread = work.lane.0 < Lane::FIRST_TASK;
        if is_thread && self.phones[work.phone as usize].has_tasks() {
            THREAD_PRIORITY
        } else {
            1.0
        }
    }

    fn hand_up(&mut self, phone: u32, at: usize, from: NodeId, delivery: Delivery<A::Block>) {
        let now = self.world.clock();
        let state = &mut self.phones[phone as usize];
        let out = &mut self.app_out;
        match delivery {
            Delivery::Received(block) => state.application.receive(from, block, now, out),
            Delivery::Failed { payload, reason } => {
                let request = AppRequest::Undelivered {
                    to: from,
                    payload,
                    reason,
                };
                state.application.command(request, now, out);
            }
        }
        state.lanes[at].splice_app(out);
        self.arm_app(phone);
    }

    fn feed(&mut self, phone: u32, at: usize, input: Input<A, T>) {
        match input {
            Input::Datagram(from, datagram) => self.feed_datagram(phone, at, from, datagram),
            Input::App(request) => self.feed_app(phone, at, |app, now, out| {
                app.command(request, now, out);
            }),
            Input::Net(request) => self.feed_net(phone, at, |transport, now, out| {
                transport.command(request, now, out);
            }),
            Input::AppTimeout => {
                self.phones[phone as usize].app_alarm.pending = false;
                self.feed_app(phone, at, |app, now, out| app.handle_timeout(now, out));
            }
            Input::NetTimeout => {
                self.phones[phone as usize].net_alarm.pending = false;
                self.feed_net(phone, at, |transport, now, out| {
                    transport.handle_timeout(now, out)
                });
            }
            Input::Loop(number) => self.feed_round(phone, at, number),
        }
    }

    fn feed_datagram(&mut self, phone: u32, at: usize, from: NodeId, datagram: T::Message) {
        let size = datagram.udp_payload_bytes;
        self.phones[phone as usize].socket.release(size);
        self.feed_net(phone, at, |transport, now, out| {
            transport.receive(from, datagram, now, out);
        });
    }

    pub(crate) fn feed_app(
        &mut self,
        phone: u32,
        at: usize,
        call: impl FnOnce(&mut A, f64, &mut OutputsOf<A>),
    ) {
        let now = self.world.clock();
        let state = &mut self.phones[phone as usize];
        call(&mut state.application, now, &mut self.app_out);
        state.lanes[at].splice_app(&mut self.app_out);
        self.arm_app(phone);
    }

    fn feed_net(
        &mut self,
        phone: u32,
        at: usize,
        call: impl FnOnce(&mut T, f64, &mut OutputsOf<T>),
    ) {
        let now = self.world.clock();
        let state = &mut self.phones[phone as usize];
        call(&mut state.transport, now, &mut self.net_out);
        state.lanes[at].splice_net(&mut self.net_out);
        self.arm_net(phone);
    }

    /// Some applications want to be woken before anything happens to them.
    pub(crate) fn arm_applications(&mut self) {
        (0..self.phones.len() as u32).for_each(|phone| self.arm_app(phone));
    }

    fn arm_app(&mut self, phone: u32) {
        let state = &mut self.phones[phone as usize];
        if let Some(date) = sooner(&mut state.app_alarm, state.application.next_timeout()) {
            self.queue.push(date, Due::AppAlarm(phone, state.epoch));
        }
    }

    fn arm_net(&mut self, phone: u32) {
        let state = &mut self.phones[phone as usize];
        if let Some(date) = sooner(&mut state.net_alarm, state.transport.next_timeout()) {
            self.queue.push(date, Due::NetAlarm(phone, state.epoch));
        }
    }

    /// A phone that comes back is woken for what came due meanwhile, too.
    pub(crate) fn arm(&mut self, phone: u32) {
        self.arm_app(phone);
        self.arm_net(phone);
    }

    pub(crate) fn check_app_alarm(&mut self, phone: u32, epoch: u32) {
        let now = self.world.clock();
        let state = &mut self.phones[phone as usize];
        if state.epoch != epoch {
            return; // It has been off since, and is armed anew when it is on.
        }
        if state.app_alarm.ring(now, state.application.next_timeout()) {
            self.post(phone, Lane::RECEIVE, Input::AppTimeout);
        } else {
            self.arm_app(phone);
        }
    }

    pub(crate) fn check_net_alarm(&mut self, phone: u32, epoch: u32) {
        let now = self.world.clock();
        let state = &mut self.phones[phone as usize];
        if state.epoch != epoch {
            return;
        }
        if state.net_alarm.ring(now, state.transport.next_timeout()) {
            self.post(phone, Lane::RECEIVE, Input::NetTimeout);
        } else {
            self.arm_net(phone);
        }
    }
}

impl Alarm {
    /// The alarm rings: whether the machine's timeout is due, and so now pending.
    fn ring(&mut self, now: f64, timeout: Option<(f64, &'static str)>) -> bool {
        if self.armed <= now {
            self.armed = f64::INFINITY;
        }
        self.pending |= timeout.is_some_and(|(date, _)| date <= now);
        self.pending
    }
}

/// Arms the alarm for `timeout` if that comes before what it is armed for.
fn sooner(alarm: &mut Alarm, timeout: Option<(f64, &'static str)>) -> Option<f64> {
    let (date, _) = timeout?;
    if alarm.pending || date >= alarm.armed {
        return None;
    }
    alarm.armed = date;
    Some(date)
}

// Assumed: a thread that sleeps most of the time runs at once when it wakes, since
// the scheduler places it before tasks that have been computing (wake-up preemption
// of Linux's CFS). Large enough that it keeps a core against thousands of tasks.
const THREAD_PRIORITY: f64 = 1e4;
