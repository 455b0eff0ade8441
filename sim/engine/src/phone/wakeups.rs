//! Datagrams that find nobody awake, and what else a phone turns to after a rest.

use pocketsim_protocols::contract::{Application, Lane, NodeId, Operation, Seconds, Transport};

use crate::cost::table::{Cost, Priced};
use crate::events::sim_context::SimContext;
use crate::phone::executor::Lanes;
use crate::phone::lane::{Input, Step};
use crate::record::recorder::Recorder;
use crate::resources::{Thread, World};

impl<A: Application, T: Transport<A::Block>> Lanes<A, T> {
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
        let costs = &self.costs[phone.profile()];
        let receives = phone.lane(Lane::RECEIVE.0 as usize);
        if receives.is_idle() {
            let rests = !costs.tells_rests() || self.idle.rests(to);
            self.idle.wake(to, costs, now);
            self.idle.rouse(to);
            for &operation in T::WAKES.iter().rev() {
                let is_asked = operation == Operation::UdpWake || rests || costs.has_queued();
                if is_asked && !costs.mean(operation, bytes).is_free() {
                    let ratio = self.idle.wake_ratio(to, operation, costs, now);
                    receives.push(Step::Wake(operation, bytes, ratio), &mut self.spare);
                }
            }
        }
        self.post(to, Lane::RECEIVE, Input::Datagram(from, datagram));
        None
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

    /// Before what it does now, a lane does what its sleep until then takes, if it has slept.
    pub(crate) fn wake_by_timer(&mut self, phone: u32, at: usize, has_slept: bool) {
        let state = &mut self.phones[phone as usize];
        let costs = &self.costs[state.profile()];
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

    /// A phone turns to an input: what comes from outside has waited, or been rested for. Returns
    /// of a datagram that has waited in the socket what the transport's tasks take to pass it on.
    pub(crate) fn turn<W: World>(
        &mut self,
        context: &SimContext<W>,
        phone: u32,
        input: &Input<A, T>,
    ) -> Option<Step<A, T>> {
        let costs = &self.costs[self.phones[phone as usize].profile()];
        let now = context.now();
        match input {
            Input::Datagram(_, datagram) => {
                let has_roused = self.idle.read(phone, costs, now);
                let passes_on = T::WAKES.contains(&Operation::QuicWake) && costs.has_queued();
                if !has_roused && passes_on {
                    let ratio = costs.wake_ratio(Operation::QuicWake, 0.0);
                    let bytes = datagram.udp_payload_bytes;
                    return Some(Step::Wake(Operation::QuicWake, bytes, ratio));
                }
            }
            Input::Timeout(_) | Input::Round(_) => self.idle.turn(phone, costs, now, true),
            _ => self.idle.turn(phone, costs, now, false),
        }
        None
    }
}
