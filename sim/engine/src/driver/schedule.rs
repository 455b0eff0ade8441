//! What the plan makes happen: open arrivals, sender loops, phones going off and on.
//!
//! It says what is next; the driver sees to it. Of one moment transitions come first: a phone is on
//! from the moment at which it comes on, until before that at which it goes off. What deliberately
//! does not live here: what a phone does with it.

use pocketsim_protocols::contract::{AppRequest, Conduct, NodeId, Seconds};

use crate::base::rng::Stream;
use crate::events::sim_context::{Due, SimContext};
use crate::phone::lane::Round;
use crate::plan::{Churn, Workload};
use crate::record::recorder::Recorder;
use crate::record::trace::Tally;
use crate::resources::World;

/// A plan's arrivals, loops and transitions, and how far they have been taken.
pub(crate) struct Schedule {
    workload: Workload,
    churn: Churn,
    next_arrival: usize,
    next_transition: usize,
    /// Proposals that each loop has made.
    made: Vec<u32>,
    /// Loops of phones that are off.
    paused_loops: Vec<u32>,
    /// Whether each loop sleeps until its next round.
    sleeps: Vec<bool>,
    /// Draws of the loops' sleeps, by phone.
    sleep_streams: Vec<Stream>,
}

impl Schedule {
    /// Queues the first of everything that a plan of `phones` phones holds.
    pub(crate) fn new<W: World>(
        seed: u64,
        phones: u32,
        workload: Workload,
        churn: Churn,
        context: &mut SimContext<W>,
    ) -> Self {
        if let Some(&date) = churn.time_s.first() {
            context.push_first(date, Due::Transition);
        }
        if let Some(&date) = workload.time_s.first() {
            context.push(date, Due::Arrival);
        }
        for (number, sender) in (0..).zip(&workload.loops) {
            context.push(sender.start_s, Due::Loop(number));
        }
        let stream = |phone| Stream::new(seed, "sleep", phone);
        Self {
            made: vec![0; workload.loops.len()],
            sleeps: vec![false; workload.loops.len()],
            workload,
            churn,
            next_arrival: 0,
            next_transition: 0,
            paused_loops: Vec::new(),
            sleep_streams: (0..phones).map(stream).collect(),
        }
    }

    /// Who proposes next.
    pub(crate) fn next_proposer(&self) -> Option<u32> {
        self.workload.from_phone.get(self.next_arrival).copied()
    }

    /// The next arrival that is due: who is asked for what. At a phone that is off none happens.
    pub(crate) fn next_arrival<P, W: World>(
        &mut self,
        context: &mut SimContext<W>,
        recorder: &mut Recorder,
    ) -> Option<(u32, AppRequest<P>)> {
        while let Some(&date) = self.workload.time_s.get(self.next_arrival) {
            if date > context.now() {
                context.push(date, Due::Arrival);
                return None;
            }
            let at = self.next_arrival;
            self.next_arrival += 1;
            let from = self.workload.from_phone[at];
            if context.is_on(from) {
                return Some((from, request(&self.workload, at)));
            }
            recorder.count(Tally::ArrivalsWhileOff);
        }
        None
    }

    /// The next transition that is due: which phone, and whether its owner has it on.
    pub(crate) fn next_transition<W: World>(
        &mut self,
        context: &mut SimContext<W>,
    ) -> Option<(u32, bool)> {
        if let Some(&date) = self.churn.time_s.get(self.next_transition) {
            if date > context.now() {
                context.push_first(date, Due::Transition);
                return None;
            }
            let at = self.next_transition;
            self.next_transition += 1;
            return Some((self.churn.phone[at], self.churn.on[at]));
        }
        None
    }

    /// A round of a loop and its phone, unless that is off.
    pub(crate) fn start_round<W: World>(
        &mut self,
        context: &SimContext<W>,
        number: u32,
    ) -> Option<(u32, Round)> {
        let from = self.workload.loops[number as usize].from_phone;
        if context.is_on(from) {
            return Some((from, self.round(number)));
        }
        self.paused_loops.push(number);
        None
    }

    /// The loop's sleep, which the operating system always makes longer than asked. A loop that
    /// keeps to the clock does not sleep while it is late. Returns its phone, and until when it sleeps.
    pub(crate) fn sleep<W: World>(
        &mut self,
        context: &SimContext<W>,
        number: u32,
    ) -> (u32, Seconds) {
        let sender = &self.workload.loops[number as usize];
        let made = &mut self.made[number as usize];
        *made += 1;
        let sleep_s = match sender.by_clock {
            true => sender.start_s + f64::from(*made) * sender.interval_s - context.now(),
            false => sender.interval_s,
        };
        let stream = &mut self.sleep_streams[sender.from_phone as usize];
        let overshoot_s = sender.overshoot_s * stream.factor(sender.overshoot_sigma);
        let sleeps = sleep_s > 0.0;
        self.sleeps[number as usize] = sleeps;
        let date = match sleeps {
            true => context.now() + sleep_s + overshoot_s,
            false => context.now(),
        };
        (sender.from_phone, date)
    }

    /// These loops' phone goes off.
    pub(crate) fn pause(&mut self, loops: Vec<u32>) {
        self.paused_loops.extend(loops);
    }

    /// A phone is back: its loops go on where they were when it went off.
    pub(crate) fn resume(&mut self, phone: u32) -> Vec<Round> {
        let loops = &self.workload.loops;
        let here = |number: &u32| loops[*number as usize].from_phone == phone;
        let (resumed, paused): (Vec<u32>, _) = self.paused_loops.drain(..).partition(here);
        self.paused_loops = paused;
        for &number in &resumed {
            self.sleeps[number as usize] = false;
        }
        resumed
            .into_iter()
            .map(|number| self.round(number))
            .collect()
    }

    fn round(&self, number: u32) -> Round {
        let sender = &self.workload.loops[number as usize];
        Round {
            number,
            peer: NodeId(sender.to_phone),
            payload_bytes: sender.payload_bytes,
            end_s: sender.start_s + sender.duration_s,
            outstanding_max: sender.outstanding_max,
            outstanding_until_drained: sender.outstanding_until_drained,
            has_slept: self.sleeps[number as usize],
        }
    }
}

/// What the arrival in row `at` asks for: a payment where the plan has amounts.
fn request<P>(workload: &Workload, at: usize) -> AppRequest<P> {
    let peer = NodeId(workload.to_phone[at]);
    match workload.amount_cents.get(at) {
        Some(&amount_cents) => AppRequest::Pay {
            peer,
            amount_cents,
            conduct: Conduct::ALL[workload.conduct[at] as usize],
        },
        None => AppRequest::Transact {
            peer,
            payload_bytes: workload.payload_bytes[at],
        },
    }
}
