//! What the plan makes happen: open arrivals, sender loops, phones going off and on.

use std::collections::VecDeque;

use pocketsim_protocols::contract::{
    AppRequest, Application, Conduct, Delivery, Event, EventKind, Lane, MessageId, NodeId, Payload,
    Reason, Transport,
};

use crate::driver::{Driver, Due};
use crate::lane::{Input, Step};
use crate::phone::Alarm;
use crate::plan::Workload;
use crate::resources::World;
use crate::trace::Tally;

impl<A: Application, T: Transport<A::Block>, W: World> Driver<A, T, W> {
    /// Queues the first of everything that the plan holds.
    pub(crate) fn schedule_all(&mut self) {
        if let Some(&date) = self.plan.churn.time_s.first() {
            self.queue.push(date, Due::Transition);
        }
        if let Some(&date) = self.plan.workload.time_s.first() {
            self.queue.push(date, Due::Arrival);
        }
        for (number, sender) in self.plan.workload.loops.iter().enumerate() {
            self.queue.push(sender.start_s, Due::Loop(number as u32));
        }
    }

    /// Asks for every arrival that is due; arrivals at a phone that is off do not happen.
    pub(crate) fn take_arrivals(&mut self) {
        let now = self.world.clock();
        while let Some(&date) = self.plan.workload.time_s.get(self.next_arrival) {
            if date > now {
                return self.queue.push(date, Due::Arrival);
            }
            let (from, request) = arrival(&self.plan.workload, self.next_arrival);
            self.next_arrival += 1;
            if self.phones[from as usize].on {
                self.post(from, Lane::SEND, Input::App(request));
            } else {
                self.trace.count(Tally::ArrivalsWhileOff);
            }
        }
    }

    /// Queues a round of a sender loop on its phone's send lane.
    pub(crate) fn start_round(&mut self, number: u32) {
        let from = self.plan.workload.loops[number as usize].from_phone;
        if self.phones[from as usize].on {
            self.post(from, Lane::SEND, Input::Loop(number));
        } else {
            self.paused_loops.push(number);
        }
    }

    /// Sender loops go on where they were when their phone went off.
    fn resume_loops(&mut self, phone: u32) {
        let loops = &self.plan.workload.loops;
        let here = |number: &u32| loops[*number as usize].from_phone == phone;
        let (resumed, paused) = self.paused_loops.drain(..).partition(here);
        self.paused_loops = paused;
        let resumed: Vec<u32> = resumed;
        resumed
            .into_iter()
            .for_each(|number| self.start_round(number));
    }

    /// One round: propose, then sleep.
    pub(crate) fn feed_round(&mut self, phone: u32, at: usize, number: u32) {
        let sender = &self.plan.workload.loops[number as usize];
        if self.world.clock() >= sender.start_s + sender.duration_s {
            return;
        }
        let (peer, payload_bytes) = (NodeId(sender.to_phone), sender.payload_bytes);
        self.phones[phone as usize].lanes[at]
            .steps
            .push_back(Step::Sleep(number));
        self.feed_app(phone, at, |app, now, out| {
            app.command(
                AppRequest::Transact {
                    peer,
                    payload_bytes,
                },
                now,
                out,
            );
        });
    }

    /// The loop's sleep, which the operating system always makes longer than asked.
    pub(crate) fn sleep(&mut self, number: u32) {
        let sender = &self.plan.workload.loops[number as usize];
        let stream = &mut self.phones[sender.from_phone as usize].sleep_stream;
        let overshoot_s = sender.overshoot_s * stream.factor(sender.overshoot_sigma);
        let date = self.world.clock() + sender.interval_s + overshoot_s;
        self.queue.push(date, Due::Loop(number));
    }

    /// Turns phones off and on as the plan says.
    pub(crate) fn take_transitions(&mut self) {
        let now = self.world.clock();
        while let Some(&date) = self.plan.churn.time_s.get(self.next_transition) {
            if date > now {
                return self.queue.push(date, Due::Transition);
            }
            let phone = self.plan.churn.phone[self.next_transition];
            let on = self.plan.churn.on[self.next_transition];
            self.next_transition += 1;
            if on == self.phones[phone as usize].on {
                continue;
            }
            if on {
                self.turn_on(phone);
            } else {
                self.turn_off(phone);
            }
        }
    }

    fn turn_on(&mut self, phone: u32) {
        self.phones[phone as usize].on = true;
        self.world.set_on(NodeId(phone), true);
        self.record_phone(phone, EventKind::PhoneOn);
        self.resume_loops(phone);
        self.arm(phone);
    }

    /// Everything the phone was doing ends; what others will miss is accounted for.
    fn turn_off(&mut self, phone: u32) {
        let now = self.world.clock();
        let state = &mut self.phones[phone as usize];
        state.on = false;
        state.epoch += 1;
        self.contacts.silence(phone, now);
        if let Some(energy) = &mut self.energy {
            energy.switch_off(phone, now);
        }
        state.socket.clear();
        state.app_alarm = Alarm::OFF;
        state.net_alarm = Alarm::OFF;
        let held = state.transport.shut_down(now);
        let lanes: Vec<_> = state.lanes.drain(..).collect();
        state.post_idle_lanes();
        self.record_phone(phone, EventKind::PhoneOff);
        for (peer, delivery) in held {
            self.abandon_delivery(phone, peer, delivery);
        }
        for lane in lanes {
            self.abandon_steps(phone, lane.steps);
            lane.inbox
                .into_iter()
                .for_each(|input| self.abandon_input(phone, input));
        }
        // Last: SimGrid fails what the phone was doing, and reports it later.
        self.world.set_on(NodeId(phone), false);
    }

    fn abandon_steps(&mut self, phone: u32, steps: VecDeque<Step<A, T>>) {
        let mut unmade = None;
        for step in steps {
            match step {
                // Cut off before it was made: nobody ever counts it as sent.
                Step::Observe(event) if event.kind == EventKind::Send => {
                    unmade = Some(event.message);
                    self.trace.count(Tally::ArrivalsCutOff);
                }
                Step::AppSend(_, block) if unmade == Some(block.message_id()) => {}
                step => self.abandon_step(phone, step),
            }
        }
    }

    fn abandon_step(&mut self, phone: u32, step: Step<A, T>) {
        match step {
            Step::AppSend(to, block) => {
                self.lose(phone, block.message_id(), to, Reason::SenderOff);
            }
            Step::NetSend(to, datagram) => self.cut_off(NodeId(phone), to, &datagram),
            Step::Deliver(from, delivery) => self.abandon_delivery(phone, from, delivery),
            Step::Observe(event) => self.abandon_event(phone, event),
            Step::Sleep(number) => self.paused_loops.push(number),
            _ => {}
        }
    }

    /// A row that would have told what became of a transaction.
    fn abandon_event(&mut self, phone: u32, event: Event) {
        let reason = match event.kind {
            EventKind::Store => Reason::SenderOff,
            EventKind::Lose => event.reason.unwrap_or(Reason::SenderOff),
            // The first of two is on its way or stored.
            EventKind::Refuse if event.reason == Some(Reason::Duplicate) => return,
            EventKind::Refuse => Reason::ReceiverOff,
            _ => return,
        };
        self.lose(phone, event.message, event.peer, reason);
    }

    fn abandon_delivery(&mut self, phone: u32, from: NodeId, delivery: Delivery<A::Block>) {
        let (payload, reason) = match delivery {
            Delivery::Received(payload) => (payload, Reason::ReceiverOff),
            Delivery::Failed { payload, reason } => (payload, reason),
        };
        self.lose(phone, payload.message_id(), from, reason);
    }

    fn abandon_input(&mut self, phone: u32, input: Input<A, T>) {
        match input {
            Input::Datagram(from, datagram) => self.leave_unread(from, NodeId(phone), &datagram),
            Input::App(AppRequest::Undelivered {
                to,
                payload,
                reason,
            }) => {
                self.lose(phone, payload.message_id(), to, reason);
            }
            Input::App(AppRequest::Transact { .. } | AppRequest::Pay { .. }) => {
                self.trace.count(Tally::ArrivalsCutOff);
            }
            Input::Loop(number) => self.paused_loops.push(number),
            _ => {}
        }
    }

    fn lose(&mut self, phone: u32, message: MessageId, peer: NodeId, reason: Reason) {
        let event = Event::new(EventKind::Lose, message, peer, 0).because(reason);
        self.trace.record(self.world.clock(), NodeId(phone), &event);
    }

    fn record_phone(&mut self, phone: u32, kind: EventKind) {
        let node = NodeId(phone);
        let event = Event::new(kind, MessageId::new(node, u32::MAX), node, 0);
        self.trace.record(self.world.clock(), node, &event);
    }
}

/// Who is asked for what by the arrival in row `at`: a payment where the plan has amounts.
fn arrival<P>(workload: &Workload, at: usize) -> (u32, AppRequest<P>) {
    let peer = NodeId(workload.to_phone[at]);
    let request = match workload.amount_cents.get(at) {
        Some(&amount_cents) => AppRequest::Pay {
            peer,
            amount_cents,
            conduct: Conduct::ALL[workload.conduct[at] as usize],
        },
        None => AppRequest::Transact {
            peer,
            payload_bytes: workload.payload_bytes[at],
        },
    };
    (workload.from_phone[at], request)
}
