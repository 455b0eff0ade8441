//! One phone: its machines, its lanes, its socket, its streams.

use pocketsim_protocols::contract::{Application, Lane, Seconds, Transport};

use crate::lane::{Input, LaneState};
use crate::socket::SocketBuffer;
use crate::streams::Stream;

/// A phone as the driver sees it.
pub struct Phone<A: Application, T: Transport<A::Block>> {
    /// The upper machine.
    pub application: A,
    /// The lower machine.
    pub transport: T,
    /// Its executors; the receive and send lanes stay, tasks come and go.
    pub lanes: Vec<LaneState<A, T>>,
    /// Whether it is on.
    pub on: bool,
    /// How often it went off: what was started before is void.
    pub epoch: u32,
    /// The socket's receive buffer.
    pub socket: SocketBuffer,
    /// Draws of costs.
    pub cost_stream: Stream,
    /// Draws of its sender loops' sleeps.
    pub sleep_stream: Stream,
    /// Draws of the loss of what it sends.
    pub loss_stream: Stream,
    /// Draws of the jitter of what it sends.
    pub jitter_stream: Stream,
    /// The application's alarm.
    pub app_alarm: Alarm,
    /// The transport's alarm.
    pub net_alarm: Alarm,
}

/// What the driver knows of a machine's timeout.
#[derive(Clone, Copy, Debug)]
pub struct Alarm {
    /// When the driver will look again; infinite for never.
    pub armed: Seconds,
    /// Whether the timeout waits in the receive lane already.
    pub pending: bool,
}

impl Alarm {
    /// Nothing to wait for.
    pub const OFF: Alarm = Alarm {
        armed: Seconds::INFINITY,
        pending: false,
    };
}

impl<A: Application, T: Transport<A::Block>> Phone<A, T> {
    /// A phone that is on and idle.
    pub fn new(
        number: u32,
        seed: u64,
        socket_buffer_bytes: u64,
        application: A,
        transport: T,
    ) -> Self {
        Self {
            application,
            transport,
            lanes: vec![LaneState::new(Lane::RECEIVE), LaneState::new(Lane::SEND)],
            on: true,
            epoch: 0,
            socket: SocketBuffer::new(socket_buffer_bytes),
            cost_stream: Stream::new(seed, "cost", number),
            sleep_stream: Stream::new(seed, "sleep", number),
            loss_stream: Stream::new(seed, "loss", number),
            jitter_stream: Stream::new(seed, "jitter", number),
            app_alarm: Alarm::OFF,
            net_alarm: Alarm::OFF,
        }
    }

    /// The two lanes that every phone has, idle.
    pub fn post_idle_lanes(&mut self) {
        self.lanes = vec![LaneState::new(Lane::RECEIVE), LaneState::new(Lane::SEND)];
    }

    /// Whether anything but the two threads runs or waits.
    pub fn has_tasks(&self) -> bool {
        self.lanes.len() > THREADS
    }

    /// Where `lane` stands in [`Phone::lanes`], if it is there.
    pub fn find(&self, lane: Lane) -> Option<usize> {
        self.lanes.iter().position(|state| state.lane == lane)
    }

    /// Queues `input` on `lane`, which is made if need be.
    pub fn post(&mut self, lane: Lane, input: Input<A, T>) {
        let at = self.find(lane).unwrap_or_else(|| {
            self.lanes.push(LaneState::new(lane));
            self.lanes.len() - 1
        });
        self.lanes[at].inbox.push_back(input);
    }

    /// Draws whether a datagram that it sends is lost, which it is with any of its fragments.
    pub fn loses(&mut self, loss_ratio: f64, fragments: u32) -> bool {
        let arrives = (1.0 - loss_ratio).powi(fragments as i32);
        loss_ratio > 0.0 && self.loss_stream.uniform() >= arrives
    }

    /// Forgets the task at `at` when it is idle.
    pub fn retire(&mut self, at: usize) {
        if self.lanes[at].lane.0 >= Lane::FIRST_TASK && self.lanes[at].is_idle() {
            self.lanes.swap_remove(at);
        }
    }
}

// The receive lane and the send lane, which are always there.
const THREADS: usize = 2;
