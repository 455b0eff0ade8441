//! Processes that forward all datagrams of a phone on its own cores: the emulator of a link that
//! runs on the same computer.
//!
//! Each has one thread, which takes the phone's datagrams of both directions in the order in which
//! they are sent, also those that its link loses. A datagram is at the far socket when its thread
//! is done with it and its way is over: what a network's latency says of it has the work in it, and
//! what that ordinarily waits for. Nobody forwards what never gets on its way. What deliberately
//! does not live here: how cores are shared ([`crate::resources::capacity`]), and the way
//! ([`crate::network`]).

use std::collections::{HashMap, VecDeque};

use pocketsim_protocols::contract::{Lane, Seconds};
use slab::Slab;

use crate::plan::Plan;

/// Whose work it is, where others are lanes: no machine asks for this one.
pub(crate) const FORWARDING: Lane = Lane(u32::MAX);

/// The forwarding threads of a run.
#[derive(Debug)]
pub(crate) struct Forwarders {
    /// By phone.
    threads: Vec<Thread>,
    /// What threads have to do, with the datagram unless that is gone.
    jobs: Slab<Option<u32>>,
    /// By datagram; asked, never gone through.
    waiting: HashMap<u32, Waiting>,
}

#[derive(Debug)]
struct Thread {
    /// Of a core, for a datagram; 0 where nothing forwards.
    cpu_s: Seconds,
    /// The first is being done.
    jobs: VecDeque<u32>,
}

/// A datagram that a thread is not done with.
#[derive(Debug, Default)]
struct Waiting {
    jobs: Vec<u32>,
    /// Whether its way is over.
    has_landed: bool,
    /// Whether its sender's thread has ended before it was sent on.
    is_cut: bool,
}

/// What threads say of a datagram whose way is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// They are done with it.
    Open,
    /// They are not.
    Waits,
    /// They never will be.
    Cut,
}

impl Forwarders {
    /// None where nothing forwards.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let thread = |&network: &u32| Thread {
            cpu_s: plan.access[network as usize].forwarding_cpu_s,
            jobs: VecDeque::new(),
        };
        let threads: Vec<_> = plan.phones.access.iter().map(thread).collect();
        let forwards = threads.iter().any(|thread| thread.cpu_s > 0.0);
        forwards.then(|| Self {
            threads,
            jobs: Slab::new(),
            waiting: HashMap::new(),
        })
    }

    /// A datagram goes from one phone to another, those of them that are on: whose threads begin with
    /// it, and their core time.
    pub(crate) fn take(
        &mut self,
        datagram: u32,
        ends: impl Iterator<Item = u32>,
    ) -> Vec<(u32, Seconds)> {
        let mut begin = Vec::new();
        for phone in ends {
            let thread = &mut self.threads[phone as usize];
            if thread.cpu_s > 0.0 {
                let job = self.jobs.insert(Some(datagram)) as u32;
                self.waiting.entry(datagram).or_default().jobs.push(job);
                thread.jobs.push_back(job);
                if thread.jobs.len() == 1 {
                    begin.push((phone, thread.cpu_s));
                }
            }
        }
        begin
    }

    /// A thread is done with its first: the datagram, if that waits for nothing else, and the core
    /// time of the next.
    pub(crate) fn end(&mut self, phone: u32) -> (Option<u32>, Option<Seconds>) {
        let thread = &mut self.threads[phone as usize];
        let job = thread.jobs.pop_front().expect("it has worked on one");
        let next = (!thread.jobs.is_empty()).then_some(thread.cpu_s);
        let datagram = self.jobs.remove(job as usize);
        let landed = datagram.filter(|&datagram| self.is_done(datagram, job));
        (landed, next)
    }

    /// A thread does this no more: whether the datagram has landed and nobody else has to do anything.
    fn is_done(&mut self, datagram: u32, job: u32) -> bool {
        let waiting = self.waiting.get_mut(&datagram).expect("its job was there");
        waiting.jobs.retain(|&other| other != job);
        let (is_free, has_landed) = (waiting.jobs.is_empty(), waiting.has_landed);
        if is_free && !waiting.is_cut {
            self.waiting.remove(&datagram);
        }
        is_free && has_landed
    }

    /// The way of a datagram is over.
    pub(crate) fn land(&mut self, datagram: u32) -> Passage {
        match self.waiting.get_mut(&datagram) {
            None => Passage::Open,
            Some(waiting) if waiting.is_cut => Passage::Cut,
            Some(waiting) => {
                waiting.has_landed = true;
                Passage::Waits
            }
        }
    }

    /// A datagram is gone, whatever threads still do for it.
    pub(crate) fn forget(&mut self, datagram: u32) {
        let waiting = self.waiting.remove(&datagram).unwrap_or_default();
        for job in waiting.jobs {
            self.jobs[job as usize] = None;
        }
    }

    /// A phone goes off, and its thread with it: datagrams that had landed and wait no more. Those
    /// that `is_sent` says it sent are cut.
    pub(crate) fn shut_down(&mut self, phone: u32, is_sent: impl Fn(u32) -> bool) -> Vec<u32> {
        let jobs = std::mem::take(&mut self.threads[phone as usize].jobs);
        let mut landed = Vec::new();
        for job in jobs {
            let Some(datagram) = self.jobs.remove(job as usize) else {
                continue;
            };
            let waiting = self.waiting.get_mut(&datagram).expect("its job was there");
            waiting.is_cut |= is_sent(datagram);
            if waiting.is_cut && waiting.has_landed {
                waiting.jobs.retain(|&other| other != job);
                landed.push(datagram);
            } else if self.is_done(datagram, job) {
                landed.push(datagram);
            }
        }
        landed
    }
}
