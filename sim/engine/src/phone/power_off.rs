//! What a phone that goes off leaves undone: what others will miss is accounted for.
//!
//! Where applications try again what has no answer (`Protocol::retries`), they alone say what is lost
//! of that, and what is undone here is lost for nobody.
//!
//! What deliberately does not live here: what was in the world when the phone went off, which fails
//! there.

use pocketsim_protocols::contract::{
    AppRequest, Application, Delivery, Event, EventKind, MessageId, NodeId, Payload, Reason,
    Seconds, Transport,
};

use crate::phone::lane::{Input, LaneState, Step};
use crate::phone::Held;
use crate::record::recorder::{Dropped, Recorder};
use crate::record::trace::Tally;

/// Takes what `phone` was doing to its end.
pub(crate) struct PowerOff<'a> {
    now: Seconds,
    phone: u32,
    recorder: &'a mut Recorder,
    /// Sender loops of the phone, which go on when it is back.
    loops: Vec<u32>,
    /// Proposals that it was about to make.
    unmade: Vec<MessageId>,
}

impl<'a> PowerOff<'a> {
    /// Nothing yet of `phone`, which goes off now.
    pub(crate) fn new(now: Seconds, phone: u32, recorder: &'a mut Recorder) -> Self {
        Self {
            now,
            phone,
            recorder,
            loops: vec![],
            unmade: vec![],
        }
    }

    /// What its transport held.
    pub(crate) fn held<A: Application>(&mut self, held: Held<A>) {
        for (peer, delivery) in held {
            self.delivery(peer, delivery);
        }
    }

    /// What its policy made wait.
    pub(crate) fn waiting<B: Payload>(&mut self, waiting: Vec<(NodeId, B)>) {
        for (to, block) in waiting {
            self.lose(block.message_id(), to, Reason::SenderOff);
        }
    }

    /// What was running or waiting on one of its lanes.
    pub(crate) fn lane<A: Application, T: Transport<A::Block>>(&mut self, lane: LaneState<A, T>) {
        let tasks = lane.into_tasks();
        self.steps(tasks.steps.into_iter().rev());
        for input in tasks.inbox {
            self.input(input);
        }
    }

    /// The numbers of its sender loops, in the order they were met, and the proposals that it did not
    /// make.
    pub(crate) fn into_undone(self) -> (Vec<u32>, Vec<MessageId>) {
        (self.loops, self.unmade)
    }

    fn steps<A: Application, T: Transport<A::Block>>(
        &mut self,
        steps: impl Iterator<Item = Step<A, T>>,
    ) {
        let mut unmade = None;
        for step in steps {
            match step {
                // Cut off before it was made: nobody ever counts it as sent.
                Step::Observe(event) if event.kind == EventKind::Send => {
                    unmade = Some(event.message);
                    self.unmade.push(event.message);
                    self.recorder.count(Tally::ArrivalsCutOff);
                }
                Step::AppSend(_, block) if unmade == Some(block.message_id()) => {}
                step => self.step(step),
            }
        }
    }

    fn step<A: Application, T: Transport<A::Block>>(&mut self, step: Step<A, T>) {
        match step {
            Step::AppSend(to, block) => self.lose(block.message_id(), to, Reason::SenderOff),
            // It was never on the air.
            Step::NetSend(to, datagram) => {
                let dropped = Dropped {
                    from: NodeId(self.phone),
                    to,
                    datagram: &datagram,
                    reason: Reason::SenderOff,
                };
                self.recorder
                    .drop(self.now, Tally::DatagramsCutOff, dropped);
            }
            Step::Deliver(from, delivery) => self.delivery(from, delivery),
            Step::Observe(event) => self.event(event),
            Step::Sleep(number) => self.loops.push(number),
            _ => {}
        }
    }

    /// A row that would have told what became of a transaction.
    fn event(&mut self, event: Event) {
        let is_told = matches!(event.kind, EventKind::Store | EventKind::Lose);
        if self.recorder.tries_again && is_told {
            // Its proposer is done with it.
            return self.recorder.record(self.now, self.phone, &event);
        }
        let reason = match event.kind {
            EventKind::Store => Reason::SenderOff,
            EventKind::Lose => event.reason.unwrap_or(Reason::SenderOff),
            // The first of two is on its way or stored.
            EventKind::Refuse if event.reason == Some(Reason::Duplicate) => return,
            EventKind::Refuse => Reason::ReceiverOff,
            _ => return,
        };
        self.lose(event.message, event.peer, reason);
    }

    fn delivery<P: Payload>(&mut self, from: NodeId, delivery: Delivery<P>) {
        let (payload, reason) = match delivery {
            Delivery::Received(payload) => (payload, Reason::ReceiverOff),
            Delivery::Failed { payload, reason } => (payload, reason),
        };
        self.lose(payload.message_id(), from, reason);
    }

    fn input<A: Application, T: Transport<A::Block>>(&mut self, input: Input<A, T>) {
        match input {
            // Nobody will read it.
            Input::Datagram(from, datagram) => {
                let dropped = Dropped {
                    from,
                    to: NodeId(self.phone),
                    datagram: &datagram,
                    reason: Reason::ReceiverOff,
                };
                self.recorder
                    .drop(self.now, Tally::DatagramsUnread, dropped);
            }
            Input::App(AppRequest::Undelivered {
                to,
                payload,
                reason,
            }) => self.lose(payload.message_id(), to, reason),
            Input::App(AppRequest::Transact { .. } | AppRequest::Pay { .. }) => {
                self.recorder.count(Tally::ArrivalsCutOff);
            }
            Input::HandOver(to, block) => self.lose(block.message_id(), to, Reason::SenderOff),
            Input::Round(round) => self.loops.push(round.number),
            Input::Net(_) | Input::Timeout(_) | Input::Network => {}
        }
    }

    fn lose(&mut self, message: MessageId, peer: NodeId, reason: Reason) {
        if self.recorder.tries_again {
            return;
        }
        self.recorder
            .lose(self.now, self.phone, message, peer, reason);
    }
}
