//! Threads that take turns on a core: what waits until its thread comes to it, and which task gives way.
//!
//! What deliberately does not live here: who gets the core, and in which order a thread does what
//! it has ([`crate::resources::run_queue`]).

use std::collections::VecDeque;

use pocketsim_protocols::contract::{Application, Lane, Transport};
use slab::Slab;

use crate::events::sim_context::SimContext;
use crate::phone::cpu_work::CpuWork;
use crate::phone::lane::Input;
use crate::phone::Phone;
use crate::resources::{Thread, World};

/// The inputs and the tasks of threads that take turns.
pub(crate) struct Turns<A: Application, T: Transport<A::Block>> {
    /// Inputs that wait until a thread comes to them.
    inputs: Slab<Input<A, T>>,
    /// Lanes whose tasks have given another lane of their thread something to do, and are not over.
    have_woken: Vec<(u32, Lane)>,
}

impl<A: Application, T: Transport<A::Block>> Turns<A, T> {
    /// Nothing waits.
    pub(crate) fn new() -> Self {
        Self {
            inputs: Slab::new(),
            have_woken: Vec::new(),
        }
    }

    /// A lane of a phone gets an input when a thread comes to it.
    pub(crate) fn queue<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        cpu: &mut CpuWork,
        lane: (u32, Lane),
        input: Input<A, T>,
        thread: Thread,
    ) {
        let input = self.inputs.insert(input) as u32;
        cpu.queue_in_turn(context, lane, input, thread);
    }

    /// What a thread has come to, or never will.
    pub(crate) fn take(&mut self, input: u32) -> Input<A, T> {
        self.inputs.remove(input as usize)
    }

    /// A task has given another lane of its thread something to do.
    pub(crate) fn note_woken(&mut self, task: (u32, Lane)) {
        if !self.have_woken.contains(&task) {
            self.have_woken.push(task);
        }
    }

    /// A lane whose task is over comes after what that has woken.
    pub(crate) fn gives_way(
        &mut self,
        (phone, lane): (u32, Lane),
        phones: &mut [Phone<A, T>],
        ready: &mut VecDeque<(u32, Lane)>,
    ) -> bool {
        if self.have_woken.is_empty() {
            return false;
        }
        let mut woken = self.have_woken.iter();
        let Some(place) = woken.position(|&woken| woken == (phone, lane)) else {
            return false;
        };
        if !phones[phone as usize].is_between_inputs(lane) {
            return false;
        }
        self.have_woken.swap_remove(place);
        // It may stand there once for each of its inputs.
        let mut others = ready.iter();
        let other = others.position(|&ready| ready != (phone, lane));
        ready.rotate_left(other.unwrap_or(0));
        true
    }

    /// A phone goes off.
    pub(crate) fn shut_down(&mut self, phone: u32) {
        self.have_woken.retain(|woken| woken.0 != phone);
    }
}
