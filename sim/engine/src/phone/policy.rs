//! A policy of the transport: when a message is handed to it, and what becomes of one it gave up.
//!
//! It stands between application and transport of a phone and neither can tell. What deliberately
//! does not live here: who decides (`custom_policy.rs`, or a test), and the lanes that ask.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{NodeId, Payload, Reason, Seconds};

/// Decides for all phones of a run. A date before `now` counts as `now`; none gives the message up.
pub trait Policy {
    /// When to hand over what `message`'s phone has just sent.
    fn hand_over(&mut self, message: &Message, now: Seconds) -> Option<Seconds>;

    /// When to hand over again what has been handed over `attempts` times and was given up.
    fn failed(
        &mut self,
        message: &Message,
        reason: Reason,
        attempts: u32,
        now: Seconds,
    ) -> Option<Seconds>;
}

/// What a policy is told of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The phone that sends it.
    pub phone: u32,
    /// The phone it is for.
    pub to: NodeId,
    /// Its size as the transport is given it.
    pub size_bytes: u32,
}

/// A policy, and the messages that wait by it.
pub(crate) struct PolicyState<B> {
    policy: Box<dyn Policy>,
    /// By phone, and in order of their numbers.
    waiting: BTreeMap<(u32, u64), (NodeId, B)>,
    waited: u64,
    /// How often a message of a phone to another was given up.
    failures: BTreeMap<(u32, NodeId, u64), u32>,
}

/// What becomes of a message that is sent.
pub(crate) enum Verdict<B> {
    /// It is handed over.
    Now(B),
    /// It waits, by this number, until then.
    Later(u64, Seconds),
    /// The application is told that it is lost.
    Never(B),
}

impl<B: Payload> PolicyState<B> {
    /// No message waits.
    pub(crate) fn new(policy: Box<dyn Policy>) -> Self {
        Self {
            policy,
            waiting: BTreeMap::new(),
            waited: 0,
            failures: BTreeMap::new(),
        }
    }

    /// The application of `phone` sends `block`.
    pub(crate) fn hand_over(
        &mut self,
        phone: u32,
        to: NodeId,
        block: B,
        now: Seconds,
    ) -> Verdict<B> {
        let date = self.policy.hand_over(&told(phone, to, &block), now);
        match date {
            Some(date) if date > now => {
                let (number, date) = self.wait(phone, to, block, date);
                Verdict::Later(number, date)
            }
            Some(_) => Verdict::Now(block),
            None => Verdict::Never(block),
        }
    }

    /// The transport of `phone` has given `block` up: by which number it waits, and until when, or
    /// the block, if it is lost.
    pub(crate) fn fail(
        &mut self,
        phone: u32,
        to: NodeId,
        block: B,
        reason: Reason,
        now: Seconds,
    ) -> Result<(u64, Seconds), B> {
        let key = (phone, to, block.serial());
        let attempts = self.failures.entry(key).or_default();
        *attempts += 1;
        let (message, attempts) = (told(phone, to, &block), *attempts);
        match self.policy.failed(&message, reason, attempts, now) {
            Some(date) => Ok(self.wait(phone, to, block, date.max(now))),
            None => {
                self.failures.remove(&key);
                Err(block)
            }
        }
    }

    /// The message that has waited long enough; none if its phone went off.
    pub(crate) fn take(&mut self, phone: u32, number: u64) -> Option<(NodeId, B)> {
        self.waiting.remove(&(phone, number))
    }

    /// The phone goes off: what waits on it, in the order in which it began to.
    pub(crate) fn abandon(&mut self, phone: u32) -> Vec<(NodeId, B)> {
        let from = (phone, 0)..=(phone, u64::MAX);
        let numbers: Vec<u64> = self.waiting.range(from).map(|(key, _)| key.1).collect();
        let mut take = |number| self.waiting.remove(&(phone, number)).expect("it waits");
        numbers.into_iter().map(&mut take).collect()
    }

    fn wait(&mut self, phone: u32, to: NodeId, block: B, date: Seconds) -> (u64, Seconds) {
        self.waited += 1;
        self.waiting.insert((phone, self.waited), (to, block));
        (self.waited, date)
    }
}

fn told(phone: u32, to: NodeId, block: &impl Payload) -> Message {
    Message {
        phone,
        to,
        size_bytes: block.wire_bytes(),
    }
}
