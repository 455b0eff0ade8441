//! Lanes: the FIFO executors of a phone, and what waits in them.
//!
//! A lane handles one input at a time. The outputs of that input are its steps,
//! performed in order; outputs of a layer called on the way take the place of
//! the step that called it. The next input is taken when no step is left. What deliberately does
//! not live here: what a step does.

use std::collections::VecDeque;

use pocketsim_protocols::contract::{
    AppRequest, Application, Delivery, Event, Lane, Machine, NodeId, Operation, Output, OutputsOf,
    Seconds, Transport,
};

use crate::cost::table::Priced;
use crate::events::sim_context::Layer;

/// One round of a sender loop: a proposal, and then a sleep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Round {
    /// Number of the loop.
    pub number: u32,
    /// The counterparty.
    pub peer: NodeId,
    /// Nominal payload.
    pub payload_bytes: u32,
    /// From this time on it does not take place.
    pub end_s: Seconds,
    /// Nor while so many proposals have no answer; 0 for no limit.
    pub outstanding_max: u32,
    /// Nor while so many endpoints of single messages are still there.
    pub outstanding_until_drained: bool,
    /// Whether its thread has slept until then: one that is late does not.
    pub has_slept: bool,
}

/// What is still to be done on a lane, in order.
pub(crate) enum Step<A: Application, T: Transport<A::Block>> {
    /// Spend an operation.
    Work(Priced, u32),
    /// Wake whom a datagram of so many bytes is for, which takes so many times as long as after the
    /// rest that the operation is of.
    Wake(Operation, u32, f64),
    /// Give a block to the transport.
    AppSend(NodeId, A::Block),
    /// Give a datagram to the network.
    NetSend(NodeId, <T as Machine>::Message),
    /// Write a row of the trace.
    Observe(Event),
    /// Give the application what the transport has for it.
    Deliver(NodeId, Delivery<A::Block>),
    /// Queue a request of the application on a lane.
    AppPost(Lane, AppRequest<A::Block>),
    /// Queue a request of the transport on a lane.
    NetPost(Lane, <T as Machine>::Request),
    /// The core is interrupted by the timer of who sleeps on it.
    Interrupt,
    /// Let sender loop number n sleep.
    Sleep(u32),
}

/// What waits for a lane to become free.
pub(crate) enum Input<A: Application, T: Transport<A::Block>> {
    /// A datagram in the socket buffer.
    Datagram(NodeId, <T as Machine>::Message),
    /// A request to the application.
    App(AppRequest<A::Block>),
    /// A request to the transport.
    Net(<T as Machine>::Request),
    /// A message that has waited to be given to the transport.
    HandOver(NodeId, A::Block),
    /// A machine's timeout.
    Timeout(Layer),
    /// The phone has joined another access network.
    Network,
    /// Another round of a sender loop.
    Round(Round),
}

/// What a free lane does next.
pub(crate) enum Next<A: Application, T: Transport<A::Block>> {
    /// It goes on with its input.
    Step(Step<A, T>),
    /// It takes another one.
    Input(Input<A, T>),
}

/// One lane of one phone.
pub(crate) struct LaneState<A: Application, T: Transport<A::Block>> {
    lane: Lane,
    /// Whether work is being spent on it.
    busy: bool,
    /// What it has to do; none while it is idle.
    tasks: Option<Box<Tasks<A, T>>>,
}

/// What a lane has to do.
pub(crate) struct Tasks<A: Application, T: Transport<A::Block>> {
    /// What is left of the current input, the next step last.
    pub(crate) steps: Vec<Step<A, T>>,
    /// What comes after.
    pub(crate) inbox: VecDeque<Input<A, T>>,
}

/// Memory for what lanes have to do, of those that have become idle.
///
/// Few lanes of a population have something to do at once, so what they need stays in the
/// processor's cache, which what each phone owned would not.
#[allow(clippy::vec_box)] // boxes go from here to a lane and back as they are
pub(crate) struct Spare<A: Application, T: Transport<A::Block>>(Vec<Box<Tasks<A, T>>>);

impl<A: Application, T: Transport<A::Block>> Spare<A, T> {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    fn take(&mut self) -> Box<Tasks<A, T>> {
        self.0.pop().unwrap_or_default()
    }
}

impl<A: Application, T: Transport<A::Block>> LaneState<A, T> {
    /// An idle lane.
    pub(crate) fn new(lane: Lane) -> Self {
        Self {
            lane,
            busy: false,
            tasks: None,
        }
    }

    /// Which.
    pub(crate) fn lane(&self) -> Lane {
        self.lane
    }

    /// Whether nothing runs or waits here, as [`Self::next`] has found.
    pub(crate) fn is_idle(&self) -> bool {
        !self.busy && self.tasks.is_none()
    }

    /// Work is being spent on it from now on, or no longer.
    pub(crate) fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }

    /// Queues `input`.
    pub(crate) fn post(&mut self, input: Input<A, T>, spare: &mut Spare<A, T>) {
        self.tasks(spare).inbox.push_back(input);
    }

    /// Takes what it does next; none while it is busy, or when it is idle.
    #[inline(always)] // what it takes is large, and would be copied once more
    pub(crate) fn next(&mut self, spare: &mut Spare<A, T>) -> Option<Next<A, T>> {
        if self.busy {
            return None;
        }
        let tasks = self.tasks.as_mut()?;
        let next = tasks.next();
        if next.is_none() {
            spare.0.extend(self.tasks.take());
        }
        next
    }

    /// Whether it is done with an input.
    pub(crate) fn is_between_inputs(&self) -> bool {
        let tasks = self.tasks.as_ref();
        !self.busy && tasks.is_none_or(|tasks| tasks.steps.is_empty())
    }

    /// Takes the next step if that is an operation that `joins`.
    pub(crate) fn next_work(
        &mut self,
        joins: impl FnOnce(Priced) -> bool,
    ) -> Option<(Priced, u32)> {
        let steps = &mut self.tasks.as_mut()?.steps;
        match steps.last() {
            Some(&Step::Work(operation, bytes)) if joins(operation) => {
                steps.pop();
                Some((operation, bytes))
            }
            _ => None,
        }
    }

    /// Puts a step before what is left of the current input.
    pub(crate) fn push(&mut self, step: Step<A, T>, spare: &mut Spare<A, T>) {
        self.tasks(spare).steps.push(step);
    }

    /// Puts the application's outputs before what is left.
    pub(crate) fn splice_app(&mut self, outputs: &mut OutputsOf<A>, spare: &mut Spare<A, T>) {
        if outputs.is_empty() {
            return;
        }
        let steps = &mut self.tasks(spare).steps;
        for output in outputs.drain(..).rev() {
            let step = match output {
                Output::Work { operation, bytes } => Step::Work(operation.into(), bytes),
                Output::OwnWork { number, bytes } => Step::Work(Priced::own(number), bytes),
                Output::Send { to, message } => Step::AppSend(to, message),
                Output::Observe(event) => Step::Observe(event),
                Output::Post { lane, request } => Step::AppPost(lane, request),
                Output::Deliver { .. } | Output::Halt(_) => continue,
            };
            steps.push(step);
        }
    }

    /// Puts the transport's outputs before what is left.
    pub(crate) fn splice_net(&mut self, outputs: &mut OutputsOf<T>, spare: &mut Spare<A, T>) {
        if outputs.is_empty() {
            return;
        }
        let steps = &mut self.tasks(spare).steps;
        for output in outputs.drain(..).rev() {
            let step = match output {
                Output::Work { operation, bytes } => Step::Work(operation.into(), bytes),
                Output::OwnWork { number, bytes } => Step::Work(Priced::own(number), bytes),
                Output::Send { to, message } => Step::NetSend(to, message),
                Output::Observe(event) => Step::Observe(event),
                Output::Post { lane, request } => Step::NetPost(lane, request),
                Output::Deliver { from, value } => Step::Deliver(from, value),
                Output::Halt(_) => continue,
            };
            steps.push(step);
        }
    }

    /// What it had to do.
    pub(crate) fn into_tasks(self) -> Tasks<A, T> {
        self.tasks.map(|tasks| *tasks).unwrap_or_default()
    }

    fn tasks(&mut self, spare: &mut Spare<A, T>) -> &mut Tasks<A, T> {
        self.tasks.get_or_insert_with(|| spare.take())
    }
}

impl<A: Application, T: Transport<A::Block>> Tasks<A, T> {
    #[inline(always)] // as above
    fn next(&mut self) -> Option<Next<A, T>> {
        let step = self.steps.pop().map(Next::Step);
        step.or_else(|| self.inbox.pop_front().map(Next::Input))
    }
}

impl<A: Application, T: Transport<A::Block>> Default for Tasks<A, T> {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            inbox: VecDeque::new(),
        }
    }
}
