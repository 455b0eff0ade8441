//! Threads that take turns on a core: when lanes get what is posted to them, and which goes first.
//!
//! What deliberately does not live here: who gets the core, and in which order a thread does what
//! it has ([`crate::resources::run_queue`]).

use pocketsim_protocols::contract::{Application, Lane, Transport};

use crate::events::sim_context::{Layer, SimContext};
use crate::phone::executor::{Executor, Work};
use crate::phone::lane::Input;
use crate::resources::{CpuDemand, Thread, World};

impl<A: Application, T: Transport<A::Block>> Executor<A, T> {
    /// A lane posts a request of the transport on another. Where threads take turns, one of another
    /// thread gets it when that comes to it; what the receiving thread passes on has arrived.
    pub(crate) fn post_net<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        lane: Lane,
        request: T::Request,
    ) {
        let input = Input::Net(request);
        if !self.takes_turns(phone) {
            return self.post(phone, lane, input);
        }
        let from = self.phones[phone as usize].lane(at).lane();
        let [own, other] = [from, lane].map(|lane| self.number_of_thread(phone, lane));
        if own == other {
            let is_of_tasks = self.phones[phone as usize].transport().is_of_tasks(from);
            if is_of_tasks && !self.have_woken.contains(&(phone, from)) {
                self.have_woken.push((phone, from));
            }
            return self.post(phone, lane, input);
        }
        let thread = match from == Lane::RECEIVE {
            true => Thread::Number(other),
            false => Thread::Handed(other),
        };
        self.post_in_turn(context, (phone, lane), input, thread);
    }

    /// The receive lane gets a timeout; of the transport's, where threads take turns, when its thread
    /// comes to it.
    pub(crate) fn post_timeout<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        layer: Layer,
    ) {
        let (lane, input) = (Lane::RECEIVE, Input::Timeout(layer));
        if layer == Layer::Application || !self.takes_turns(phone) {
            return self.post(phone, lane, input);
        }
        let thread = Thread::Number(self.number_of_thread(phone, lane));
        self.post_in_turn(context, (phone, lane), input, thread);
    }

    /// A lane of a phone gets an input when a thread comes to it.
    fn post_in_turn<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        (phone, lane): (u32, Lane),
        input: Input<A, T>,
        thread: Thread,
    ) {
        let work = Work {
            phone,
            lane,
            epoch: context.epoch(phone),
            wait_s: 0.0,
            in_turn: Some(self.in_turn.insert(input) as u32),
        };
        let demand = CpuDemand {
            cpu_s: 0.0,
            threads: 1,
            priority: 1.0,
            thread,
        };
        context.spend(self.works.insert(work) as u32, phone, demand);
    }

    /// Whether the threads of a phone take turns on the only core, its own or another's.
    pub(crate) fn takes_turns(&self, phone: u32) -> bool {
        let host = self.cores_of.get(phone as usize).copied().unwrap_or(phone);
        self.take_turns[self.phones[host as usize].profile()]
    }

    /// A lane whose task is over comes after what that has woken.
    pub(crate) fn gives_way(&mut self, phone: u32, lane: Lane) -> bool {
        let mut woken = self.have_woken.iter();
        let Some(place) = woken.position(|&woken| woken == (phone, lane)) else {
            return false;
        };
        if !self.phones[phone as usize].is_between_inputs(lane) {
            return false;
        }
        self.have_woken.swap_remove(place);
        // It may stand there once for each of its inputs.
        let mut ready = self.ready.iter();
        let others = ready.position(|&ready| ready != (phone, lane));
        self.ready.rotate_left(others.unwrap_or(0));
        true
    }
}
