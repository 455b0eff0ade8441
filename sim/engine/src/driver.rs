//! The driver: gives machines their inputs and turns their outputs into work,
//! datagrams and rows of the trace.
//!
//! One loop: something ends in the world or comes due in the queue, an input
//! reaches a lane, the lane's steps run until one of them takes time. Nothing
//! here knows which protocol runs, how many phones there are, or whether
//! SimGrid or a closed form keeps the time. The driver's parts: steps of a lane
//! ([`crate::steps`]), datagrams ([`crate::network`], [`crate::proximity`]),
//! arrivals and churn ([`crate::schedule`]).

use std::collections::{BTreeMap, VecDeque};

use pocketsim_protocols::contract::{Application, Lane, Machine, OutputsOf, Seconds, Transport};
use slab::Slab;

use crate::costs::CostTable;
use crate::energy::Accountant;
use crate::lane::Input;
use crate::network::Flight;
use crate::order::Order;
use crate::phone::Phone;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::proximity::Contacts;
use crate::queue::Queue;
use crate::resources::{Listener, World};
use crate::trace::Trace;

/// Drives one run of `plan` with applications `A` over transports `T` in world `W`.
pub struct Driver<A: Application, T: Transport<A::Block>, W> {
    pub(crate) plan: Plan,
    pub(crate) world: W,
    pub(crate) phones: Vec<Phone<A, T>>,
    pub(crate) costs: Vec<CostTable>,
    pub(crate) queue: Queue<Due>,
    /// By token; what has ended leaves its token to what begins next.
    pub(crate) works: Slab<Work>,
    pub(crate) flights: Slab<Flight<<T as Machine>::Message>>,
    pub(crate) trace: Trace,
    pub(crate) energy: Option<Accountant>,
    /// Lanes with something to do, in the order they got it.
    pub(crate) ready: VecDeque<(u32, Lane)>,
    pub(crate) order: Order,
    pub(crate) contacts: Contacts,
    /// Sender loops of phones that are off.
    pub(crate) paused_loops: Vec<u32>,
    /// Scratch space of [`crate::network`].
    pub(crate) released: Vec<u32>,
    failed: Failed,
    progress: Progress,
    /// How far the plan's arrivals and transitions have been taken.
    pub(crate) next_arrival: usize,
    pub(crate) next_transition: usize,
    pub(crate) app_out: OutputsOf<A>,
    pub(crate) net_out: OutputsOf<T>,
    alarm: Seconds,
}

/// Work that the world spends for a lane.
pub(crate) struct Work {
    pub phone: u32,
    pub lane: Lane,
    pub epoch: u32,
    /// What the lane waits for after the core is done.
    pub wait_s: Seconds,
}

/// Tokens of what the world has failed and the driver has not taken to its end yet.
///
/// A world may name what fails together in any order: SimGrid's is that of addresses, which
/// differ from process to process. The driver takes them in order of their tokens.
#[derive(Default)]
struct Failed {
    works: Vec<u32>,
    flights: Vec<u32>,
}

/// What comes due in the queue.
pub(crate) enum Due {
    /// The next open arrival of the plan.
    Arrival,
    /// The next churn transition of the plan.
    Transition,
    /// Another round of a sender loop.
    Loop(u32),
    /// A lane's wait is over (phone, lane, epoch).
    LaneFree(u32, Lane, u32),
    /// A datagram reaches the far socket.
    Delivery(u32),
    /// A contact has carried a datagram (token, the sender's epoch).
    ContactEnd(u32, u32),
    /// The application's timeout may be due (phone, epoch).
    AppAlarm(u32, u32),
    /// The transport's timeout may be due (phone, epoch).
    NetAlarm(u32, u32),
    /// What the world has failed is taken to its end.
    Failures,
}

impl<A: Application, T: Transport<A::Block>, W: World> Driver<A, T, W> {
    /// A driver at time 0 with the phones that `make` makes.
    pub fn new(plan: Plan, world: W, mut make: impl FnMut(u32) -> (A, T)) -> Self {
        let phones = (0..plan.phones.profile.len() as u32)
            .map(|number| {
                let (application, transport) = make(number);
                let buffer = socket_buffer_bytes(&plan, number);
                Phone::new(number, plan.seed, buffer, application, transport)
            })
            .collect::<Vec<_>>();
        let mut driver = Self {
            costs: plan.profiles.iter().map(CostTable::new).collect(),
            trace: Trace::new(&plan.trace, phones.len()),
            energy: Accountant::new(&plan),
            world,
            phones,
            queue: Queue::new(),
            works: Slab::new(),
            flights: Slab::new(),
            ready: VecDeque::new(),
            order: Order::default(),
            contacts: Contacts::new(&plan.proximity),
            paused_loops: Vec::new(),
            released: Vec::new(),
            failed: Failed::default(),
            progress: Progress::default(),
            next_arrival: 0,
            next_transition: 0,
            app_out: Vec::new(),
            net_out: Vec::new(),
            alarm: Seconds::INFINITY,
            plan,
        };
        driver.schedule_all();
        driver.arm_applications();
        driver.set_alarm();
        driver
    }

    /// Tells `progress` from now on.
    pub fn watch(&mut self, progress: Progress) {
        self.progress = progress;
    }

    /// Simulated time, seconds.
    pub fn clock_s(&self) -> Seconds {
        self.world.clock()
    }

    /// What phones spend in the whole run, joules by component; empty if the plan does not ask.
    pub fn energy_j(&self) -> BTreeMap<&'static str, f64> {
        let accountant = self.energy.as_ref();
        accountant.map_or_else(BTreeMap::new, |of| of.spent_j(self.plan.duration_s))
    }

    /// What was traced, and each phone's application for its final state.
    pub fn finish(self) -> (Trace, Vec<A>) {
        (
            self.trace,
            self.phones
                .into_iter()
                .map(|phone| phone.application)
                .collect(),
        )
    }

    /// Queues `input` on a lane of a phone and marks the lane as ready.
    pub(crate) fn post(&mut self, phone: u32, lane: Lane, input: Input<A, T>) {
        self.phones[phone as usize].post(lane, input);
        self.ready.push_back((phone, lane));
    }

    /// Runs every ready lane until all of them wait for time to pass.
    fn settle(&mut self) {
        while let Some((phone, lane)) = self.ready.pop_front() {
            self.run_lane(phone, lane);
        }
        self.set_alarm();
    }

    fn set_alarm(&mut self) {
        if let Some(date) = self.queue.next_date() {
            if date < self.alarm {
                self.alarm = date;
                // A machine may ask for a time that has passed: at once, then.
                self.world.wake_at(date.max(self.world.clock()));
            }
        }
    }

    fn take_due(&mut self, due: Due) {
        match due {
            Due::Arrival => self.take_arrivals(),
            Due::Transition => self.take_transitions(),
            Due::Loop(number) => self.start_round(number),
            Due::LaneFree(phone, lane, epoch) => self.free_lane(phone, lane, epoch),
            Due::Delivery(token) => self.deliver(token),
            Due::ContactEnd(token, epoch) => self.land_from_contact(token, epoch),
            Due::AppAlarm(phone, epoch) => self.check_app_alarm(phone, epoch),
            Due::NetAlarm(phone, epoch) => self.check_net_alarm(phone, epoch),
            Due::Failures => self.take_failures(),
        }
    }

    /// Something failed: it is taken to its end when all that fails with it is known.
    fn await_failures(&mut self) {
        if self.failed.works.len() + self.failed.flights.len() == 1 {
            self.queue.push(self.world.clock(), Due::Failures);
        }
        self.set_alarm();
    }

    fn take_failures(&mut self) {
        let Failed {
            mut works,
            mut flights,
        } = std::mem::take(&mut self.failed);
        works.sort_unstable();
        flights.sort_unstable();
        for token in works {
            self.works.remove(token as usize);
        }
        for token in flights {
            self.land_from_access(token, false);
        }
    }

    fn free_lane(&mut self, phone: u32, lane: Lane, epoch: u32) {
        let state = &mut self.phones[phone as usize];
        if state.epoch != epoch {
            return;
        }
        let at = state.find(lane).expect("a busy lane stays");
        state.lanes[at].busy = false;
        self.ready.push_back((phone, lane));
    }
}

impl<A: Application, T: Transport<A::Block>, W: World> Listener for Driver<A, T, W> {
    fn work_ended(&mut self, token: u32, done: bool) {
        if !done {
            self.failed.works.push(token);
            return self.await_failures();
        }
        let work = self.works.remove(token as usize);
        if work.wait_s > 0.0 {
            let free = self.world.clock() + work.wait_s;
            self.queue
                .push(free, Due::LaneFree(work.phone, work.lane, work.epoch));
        } else {
            self.free_lane(work.phone, work.lane, work.epoch);
        }
        self.settle();
    }

    fn flight_ended(&mut self, token: u32, done: bool) {
        if !done {
            self.failed.flights.push(token);
            return self.await_failures();
        }
        self.land_from_access(token, true);
        self.settle();
    }

    fn wake(&mut self) {
        self.alarm = Seconds::INFINITY;
        let now = self.world.clock();
        self.progress.reach(now, self.plan.duration_s);
        while let Some(due) = self.queue.pop_due(now) {
            self.take_due(due);
            while let Some((phone, lane)) = self.ready.pop_front() {
                self.run_lane(phone, lane);
            }
        }
        self.set_alarm();
    }
}

fn socket_buffer_bytes(plan: &Plan, phone: u32) -> u64 {
    if plan.transport.socket_buffer_bytes > 0 {
        return plan.transport.socket_buffer_bytes;
    }
    plan.profiles[plan.phones.profile[phone as usize] as usize].socket_buffer_bytes
}
