//! Core time and waits of lanes: what the world spends for them, and when they are free again.
//!
//! What deliberately does not live here: what an operation costs ([`crate::cost::table`]), and how cores are
//! shared, which is the world's.

use pocketsim_protocols::contract::{Application, Lane, Operation, Seconds, Transport};

use crate::cost::table::{Cost, Priced};
use crate::events::sim_context::{Due, SimContext};
use crate::network::forwarding::FORWARDING;
use crate::phone::executor::{Executor, Work};
use crate::record::recorder::Recorder;
use crate::resources::{CpuDemand, Thread, World};

impl<A: Application, T: Transport<A::Block>> Executor<A, T> {
    /// Spends this operation as one piece of work with those that follow it
    /// directly and use as many threads.
    pub(crate) fn charge<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        at: usize,
        operation: (Priced, u32),
    ) {
        let now = context.now();
        let phase = self.phases.factor(phone, now);
        let state = &mut self.phones[phone as usize];
        let costs = &self.costs[state.profile()];
        let draw = |work: (Priced, u32), hot: Cost| {
            let cost = self.idle.paced(phone, work.0, hot, costs, now).times(phase);
            recorder.operate(work, cost);
            cost
        };
        let drawn = state.draw_work(at, operation, &self.costs, draw);
        self.occupy(context, recorder, phone, at, drawn);
    }

    /// Keeps a lane busy with what was drawn, on so many threads.
    pub(crate) fn occupy<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        at: usize,
        drawn: (Cost, u32),
    ) {
        let lane = self.phones[phone as usize].lane(at).lane();
        let thread = self.thread_of(phone, lane);
        self.occupy_as(context, recorder, phone, at, drawn, thread);
    }

    /// The same, on this thread.
    pub(crate) fn occupy_as<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        at: usize,
        (cost, threads): (Cost, u32),
        thread: Thread,
    ) {
        recorder.compute(phone, cost.cpu_s);
        if cost.is_free() {
            return;
        }
        self.idle.begin(phone);
        let lane = self.phones[phone as usize].lane(at);
        lane.set_busy(true);
        recorder.begin_work(context.now(), phone, lane.lane());
        let work = Work {
            phone,
            lane: lane.lane(),
            epoch: context.epoch(phone),
            wait_s: cost.wait_s,
            in_turn: None,
        };
        if cost.cpu_s > 0.0 {
            let demand = CpuDemand {
                cpu_s: cost.cpu_s,
                threads,
                priority: self.priority(&work),
                thread,
            };
            context.spend(self.works.insert(work) as u32, phone, demand);
        } else {
            work.wait(context);
        }
    }

    /// What it takes to wake a phone for a datagram, so many times as long as it is priced.
    pub(crate) fn charge_wakeup<W: World>(
        &mut self,
        context: &SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        work: (Priced, u32),
        ratio: f64,
    ) -> Cost {
        let ratio = ratio * self.phases.factor(phone, context.now());
        let cost = self.phones[phone as usize].draw_wake(work, ratio, &self.costs);
        recorder.operate(work, cost);
        cost
    }

    /// The core that a lane has slept on is interrupted, whoever computes there.
    pub(crate) fn interrupt<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
        at: usize,
    ) {
        let work = (Operation::TimerInterrupt.into(), 0);
        let cost = self.charge_wakeup(context, recorder, phone, work, 1.0);
        self.occupy_as(context, recorder, phone, at, (cost, 1), Thread::Interrupt);
    }

    /// The weight of a lane's work when the phone's cores are shared.
    ///
    /// Between threads alone weights are equal and need not be told, which spares
    /// the world a change of every piece of work where no tasks are (plain UDP). Whoever shares its
    /// cores may meet tasks of others.
    fn priority(&self, work: &Work) -> f64 {
        let is_thread = work.lane.0 < Lane::FIRST_TASK || work.lane == FORWARDING;
        let may_meet_tasks =
            !self.cores_of.is_empty() || self.phones[work.phone as usize].has_tasks();
        if self.threads_first && is_thread && may_meet_tasks {
            THREAD_PRIORITY
        } else {
            1.0
        }
    }

    /// The thread that a lane is of, where that matters.
    fn thread_of(&mut self, phone: u32, lane: Lane) -> Thread {
        Thread::Number(match self.takes_turns(phone) && lane != FORWARDING {
            true => self.number_of_thread(phone, lane),
            false => lane.0,
        })
    }

    pub(crate) fn number_of_thread(&mut self, phone: u32, lane: Lane) -> u32 {
        self.phones[phone as usize].transport().thread_of(lane).0
    }

    /// Spends what a phone's forwarding thread takes for a datagram.
    pub(crate) fn forward<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        phone: u32,
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
        let demand = CpuDemand {
            cpu_s,
            threads: 1,
            priority: self.priority(&work),
            thread: self.thread_of(phone, FORWARDING),
        };
        context.spend(self.works.insert(work) as u32, phone, demand);
    }

    /// The world has spent what a lane asked for, or a forwarding thread: its phone, if that stayed on.
    pub(crate) fn end_work<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
        token: u32,
    ) -> Option<u32> {
        let work = self.works.remove(token as usize);
        if let Some(input) = work.in_turn.map(|key| self.in_turn.remove(key as usize)) {
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
        let work = self.works.remove(token as usize);
        if let Some(key) = work.in_turn {
            // A request names what its machine still has, and gives back when it is shut down; alarms
            // are set anew.
            self.in_turn.remove(key as usize);
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
            self.idle.end(phone, context.now());
            self.ready.push_back((phone, lane));
        }
    }
}

impl Work {
    /// The lane waits without a core.
    fn wait<W: World>(&self, context: &mut SimContext<W>) {
        let free_s = context.now() + self.wait_s;
        context.push(free_s, Due::LaneFree(self.phone, self.lane, self.epoch));
    }
}

// Assumed: a thread that sleeps most of the time runs at once when it wakes, since
// the scheduler places it before tasks that have been computing (wake-up preemption
// of Linux's CFS). Large enough that it keeps a core against thousands of tasks.
const THREAD_PRIORITY: f64 = 1e4;
