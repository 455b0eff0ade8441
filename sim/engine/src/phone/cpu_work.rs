//! Core time and waits of lanes: what the world spends for them.
//!
//! What deliberately does not live here: what an operation costs ([`crate::cost::table`]), how cores are
//! shared, which is the world's, and when a lane goes on ([`crate::phone::executor`]).

use pocketsim_protocols::contract::{Application, Lane, Operation, Seconds, Transport};
use slab::Slab;

use crate::cost::idle::Idle;
use crate::cost::table::{Cost, CostTable, Priced};
use crate::events::sim_context::{Due, SimContext};
use crate::network::forwarding::FORWARDING;
use crate::phone::Phone;
use crate::plan::{Plan, Profile};
use crate::record::recorder::Recorder;
use crate::resources::{CpuDemand, Thread, World};

/// What phones compute, and what that costs them.
pub(crate) struct CpuWork {
    /// By profile.
    pub(crate) costs: Vec<CostTable>,
    /// Since when phones rest.
    pub(crate) idle: Idle,
    /// By token; what has ended leaves its token to what begins next.
    works: Slab<Work>,
    threads_first: bool,
    /// By phone, whose cores it uses; empty if each has its own.
    cores_of: Vec<u32>,
    /// By phone, whether threads take turns on the only core; nowhere in a world without turns.
    takes_turns: Vec<bool>,
}

/// Work that the world spends for a lane.
pub(crate) struct Work {
    pub(crate) phone: u32,
    pub(crate) lane: Lane,
    pub(crate) epoch: u32,
    /// What the lane waits for after the core is done.
    pub(crate) wait_s: Seconds,
    /// What the lane gets when its thread comes to this, which is nothing but that.
    pub(crate) in_turn: Option<u32>,
}

impl CpuWork {
    /// Of phones that do nothing yet.
    pub(crate) fn new(plan: &Plan, takes_turns: bool) -> Self {
        let own = plan.protocol.own_operations.len();
        let table = |profile| CostTable::new(profile, own);
        let costs: Vec<_> = plan.profiles.iter().map(table).collect();
        let in_turn = |profile: &Profile| takes_turns && profile.takes_turns();
        let (phones, cores_of) = (&plan.phones.profile, &plan.phones.cores_of);
        let on_turns = |phone: usize| {
            let host = cores_of.get(phone).map_or(phone, |&host| host as usize);
            in_turn(&plan.profiles[phones[host] as usize])
        };
        Self {
            idle: Idle::new(plan, &costs),
            costs,
            works: Slab::new(),
            threads_first: plan.transport.threads_first,
            cores_of: cores_of.clone(),
            takes_turns: (0..phones.len()).map(on_turns).collect(),
        }
    }

    /// Charges this operation as one piece of work with those that follow it
    /// directly and use as many threads.
    pub(crate) fn charge<A: Application, T: Transport<A::Block>, W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        (phone, state): (u32, &mut Phone<A, T>),
        at: usize,
        operation: (Priced, u32),
    ) {
        let now = context.now();
        let costs = &self.costs[state.profile()];
        let draw = |work: (Priced, u32), hot: Cost| {
            let cost = self.idle.paced(phone, work.0, hot, costs, now);
            recorder.operate(phone, work, cost);
            cost
        };
        let drawn = state.draw_work(at, operation, &self.costs, draw);
        self.occupy(context, recorder, (phone, state), at, drawn);
    }

    /// Wakes a lane for an operation, which takes so many times as long as it is priced.
    pub(crate) fn charge_wakeup<A: Application, T: Transport<A::Block>, W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        (phone, state): (u32, &mut Phone<A, T>),
        at: usize,
        (work, ratio): ((Priced, u32), f64),
    ) {
        let cost = self.draw_wakeup(recorder, (phone, state), work, ratio);
        self.occupy(context, recorder, (phone, state), at, (cost, 1));
    }

    /// The core that a lane has slept on is interrupted, whoever computes there.
    pub(crate) fn charge_interrupt<A: Application, T: Transport<A::Block>, W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        (phone, state): (u32, &mut Phone<A, T>),
        at: usize,
    ) {
        let work = (Operation::TimerInterrupt.into(), 0);
        let cost = self.draw_wakeup(recorder, (phone, state), work, 1.0);
        self.occupy_as(
            context,
            recorder,
            (phone, state),
            at,
            (cost, 1),
            Thread::Interrupt,
        );
    }

    /// A phone's forwarding thread takes so long for a datagram.
    pub(crate) fn charge_forwarding<A: Application, T: Transport<A::Block>, W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        (phone, state): (u32, &mut Phone<A, T>),
        cpu_s: Seconds,
    ) {
        recorder.compute(phone, cpu_s);
        let work = Work {
            phone,
            lane: FORWARDING,
            epoch: context.epoch(phone),
            wait_s: 0.0,
            in_turn: None,
        };
        let priority = self.priority(FORWARDING, state);
        self.spend(
            context,
            work,
            cpu_s,
            1,
            priority,
            self.thread_of((phone, state), FORWARDING),
        );
    }

    /// Nothing but an input waits for a thread, and for the core.
    pub(crate) fn queue_in_turn<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        (phone, lane): (u32, Lane),
        input: u32,
        thread: Thread,
    ) {
        let work = Work {
            phone,
            lane,
            epoch: context.epoch(phone),
            wait_s: 0.0,
            in_turn: Some(input),
        };
        self.spend(context, work, 0.0, 1, 1.0, thread);
    }

    /// The world has spent it, or failed it.
    pub(crate) fn end(&mut self, token: u32) -> Work {
        self.works.remove(token as usize)
    }

    /// Whether the threads of a phone take turns on the only core, its own or another's.
    pub(crate) fn takes_turns(&self, phone: u32) -> bool {
        self.takes_turns[phone as usize]
    }

    fn draw_wakeup<A: Application, T: Transport<A::Block>>(
        &self,
        recorder: &mut Recorder,
        (phone, state): (u32, &mut Phone<A, T>),
        work: (Priced, u32),
        ratio: f64,
    ) -> Cost {
        let cost = state.draw_wake(work, ratio, &self.costs);
        recorder.operate(phone, work, cost);
        cost
    }

    /// Keeps a lane busy with what was drawn, on so many threads.
    fn occupy<A: Application, T: Transport<A::Block>, W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        (phone, state): (u32, &mut Phone<A, T>),
        at: usize,
        drawn: (Cost, u32),
    ) {
        let lane = state.lane(at).lane();
        let thread = self.thread_of((phone, state), lane);
        self.occupy_as(context, recorder, (phone, state), at, drawn, thread);
    }

    /// The same, on this thread.
    fn occupy_as<A: Application, T: Transport<A::Block>, W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        (phone, state): (u32, &mut Phone<A, T>),
        at: usize,
        (cost, threads): (Cost, u32),
        thread: Thread,
    ) {
        recorder.compute(phone, cost.cpu_s);
        if cost.is_free() {
            return;
        }
        self.idle.begin(phone);
        let lane = state.lane(at);
        lane.set_busy(true);
        let lane = lane.lane();
        recorder.begin_work(context.now(), phone, lane);
        let work = Work {
            phone,
            lane,
            epoch: context.epoch(phone),
            wait_s: cost.wait_s,
            in_turn: None,
        };
        if cost.cpu_s > 0.0 {
            let priority = self.priority(lane, state);
            self.spend(context, work, cost.cpu_s, threads, priority, thread);
        } else {
            work.wait(context);
        }
    }

    fn spend<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        work: Work,
        cpu_s: Seconds,
        threads: u32,
        priority: f64,
        thread: Thread,
    ) {
        let phone = work.phone;
        let demand = CpuDemand {
            cpu_s,
            threads,
            priority,
            thread,
        };
        context.spend(self.works.insert(work) as u32, phone, demand);
    }

    /// The weight of a lane's work when the phone's cores are shared.
    ///
    /// Between threads alone weights are equal and need not be told, which spares
    /// the world a change of every piece of work where no tasks are (plain UDP). Whoever shares its
    /// cores may meet tasks of others.
    fn priority<A: Application, T: Transport<A::Block>>(
        &self,
        lane: Lane,
        state: &Phone<A, T>,
    ) -> f64 {
        let is_thread = lane.0 < Lane::FIRST_TASK || lane == FORWARDING;
        let may_meet_tasks = !self.cores_of.is_empty() || state.has_tasks();
        if self.threads_first && is_thread && may_meet_tasks {
            THREAD_PRIORITY
        } else {
            1.0
        }
    }

    /// The thread that a lane is of, where that matters.
    fn thread_of<A: Application, T: Transport<A::Block>>(
        &self,
        (phone, state): (u32, &mut Phone<A, T>),
        lane: Lane,
    ) -> Thread {
        Thread::Number(match self.takes_turns(phone) && lane != FORWARDING {
            true => state.number_of_thread(lane),
            false => lane.0,
        })
    }
}

impl Work {
    /// The lane waits without a core.
    pub(crate) fn wait<W: World>(&self, context: &mut SimContext<W>) {
        let free_s = context.now() + self.wait_s;
        context.push(free_s, Due::LaneFree(self.phone, self.lane, self.epoch));
    }
}

// Assumed: a thread that sleeps most of the time runs at once when it wakes, since
// the scheduler places it before tasks that have been computing (wake-up preemption
// of Linux's CFS). Large enough that it keeps a core against thousands of tasks.
const THREAD_PRIORITY: f64 = 1e4;
