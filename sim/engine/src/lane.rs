//! Lanes: the FIFO executors of a phone, and what waits in them.
//!
//! A lane handles one input at a time. The outputs of that input are its steps,
//! performed in order; outputs of a layer called on the way take the place of
//! the step that called it. The next input is taken when no step is left.

use std::collections::VecDeque;

use pocketsim_protocols::contract::{
    AppRequest, Application, Delivery, Event, Lane, Machine, NodeId, Operation, Output, OutputsOf,
    Transport,
};

/// What the driver still has to do on a lane, in order.
pub enum Step<A: Application, T: Transport<A::Block>> {
    /// Spend an operation.
    Work(Operation, u32),
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
    /// Let sender loop number n sleep.
    Sleep(u32),
}

/// What waits for a lane to become free.
pub enum Input<A: Application, T: Transport<A::Block>> {
    /// A datagram in the socket buffer.
    Datagram(NodeId, <T as Machine>::Message),
    /// A request to the application.
    App(AppRequest<A::Block>),
    /// A request to the transport.
    Net(<T as Machine>::Request),
    /// The application's timeout.
    AppTimeout,
    /// The transport's timeout.
    NetTimeout,
    /// Another round of sender loop number n.
    Loop(u32),
}

/// One lane of one phone.
pub struct LaneState<A: Application, T: Transport<A::Block>> {
    /// Which.
    pub lane: Lane,
    /// Whether work is being spent on it.
    pub busy: bool,
    /// What is left of the current input.
    pub steps: VecDeque<Step<A, T>>,
    /// What comes after.
    pub inbox: VecDeque<Input<A, T>>,
}

impl<A: Application, T: Transport<A::Block>> LaneState<A, T> {
    /// An idle lane.
    pub fn new(lane: Lane) -> Self {
        Self {
            lane,
            busy: false,
            steps: VecDeque::new(),
            inbox: VecDeque::new(),
        }
    }

    /// Whether nothing runs or waits here.
    pub fn is_idle(&self) -> bool {
        !self.busy && self.steps.is_empty() && self.inbox.is_empty()
    }

    /// Puts the application's outputs before what is left.
    pub fn splice_app(&mut self, outputs: &mut OutputsOf<A>) {
        for output in outputs.drain(..).rev() {
            let step = match output {
                Output::Work { operation, bytes } => Step::Work(operation, bytes),
                Output::Send { to, message } => Step::AppSend(to, message),
                Output::Observe(event) => Step::Observe(event),
                Output::Post { lane, request } => Step::AppPost(lane, request),
                Output::Deliver { .. } | Output::Halt(_) => continue,
            };
            self.steps.push_front(step);
        }
    }

    /// Puts the transport's outputs before what is left.
    pub fn splice_net(&mut self, outputs: &mut OutputsOf<T>) {
        for output in outputs.drain(..).rev() {
            let step = match output {
                Output::Work { operation, bytes } => Step::Work(operation, bytes),
                Output::Send { to, message } => Step::NetSend(to, message),
                Output::Observe(event) => Step::Observe(event),
                Output::Post { lane, request } => Step::NetPost(lane, request),
                Output::Deliver { from, value } => Step::Deliver(from, value),
                Output::Halt(_) => continue,
            };
            self.steps.push_front(step);
        }
    }
}
