//! The relay on real sockets: one thread that waits for datagrams and for absolute deadlines.
//!
//! What deliberately does not live here: what happens to a datagram ([`Line`]), and who talks to
//! whom ([`Table`]).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arrival::{receive, Clocks};
use super::flow::{FlowId, Table, Way};
use super::queue::Line;
use super::rule::{Faults, Reason};
use super::socket::{bind, Sockets};
use super::statistics::{Counts, QuantileRecorder, Statistics};
use super::Options;
use crate::sockets::{allow_files, any_port, bind_consecutive, DATAGRAM_BYTES_MAX};
use crate::stop::Stop;

/// A relay whose ports are bound.
#[derive(Debug)]
pub struct Relay {
    to: SocketAddr,
    address: SocketAddr,
    began: Instant,
    clocks: Clocks,
    sockets: Sockets,
    table: Table,
    up: Direction,
    down: Direction,
    buffer: Vec<u8>,
    next_sweep: Duration,
}

#[derive(Debug)]
struct Direction {
    line: Line<Parcel>,
    added: QuantileRecorder,
    lateness: QuantileRecorder,
}

/// A datagram under way: what, since when, through which socket, to whom.
#[derive(Clone, Debug)]
struct Parcel {
    content: Arc<[u8]>,
    arrived: Duration,
    way: Way,
    to: SocketAddr,
}

impl Relay {
    /// Bind every port.
    ///
    /// # Errors
    /// When one of the ports cannot be bound, or the options cannot be.
    pub fn bind(options: &Options) -> io::Result<Self> {
        options
            .check()
            .map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
        let mut sockets = Sockets::new()?;
        let fronts = bind_consecutive(options.listen, options.ports, bind)?;
        let address = fronts[0].local_addr()?;
        for (port, front) in (0..).zip(fronts) {
            sockets.watch(Way::Front(port), front)?;
        }
        let began = Instant::now();
        Ok(Self {
            to: options.to,
            address,
            began,
            clocks: Clocks::new(began),
            sockets,
            table: Table::new(allow_files(FILES) / 4 * 3, options.idle),
            up: Direction::new(&options.up, options.seed, "up"),
            down: Direction::new(&options.down, options.seed, "down"),
            buffer: vec![0; DATAGRAM_BYTES_MAX],
            next_sweep: SWEEP_EVERY,
        })
    }

    /// The first of the ports that clients send to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Relay until `stop` is raised.
    ///
    /// # Errors
    /// When the system refuses to wait for sockets; faults of single datagrams are counted.
    pub fn run(mut self, stop: &Stop) -> io::Result<Statistics> {
        while !stop.is_raised() {
            for way in self.sockets.wait(self.began + self.wake_at())? {
                self.read(way);
                self.deliver();
            }
            self.deliver();
            self.sweep();
        }
        Ok(self.statistics())
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn wake_at(&self) -> Duration {
        let due = [self.up.line.next_due(), self.down.line.next_due()];
        let look = self.now() + STOP_LOOK_EVERY;
        due.into_iter().flatten().fold(look, Duration::min)
    }

    /// Read what waits at one socket, but not for so long that others are late.
    fn read(&mut self, way: Way) {
        self.clocks.refresh();
        for _ in 0..READ_MAX {
            let Some(socket) = self.sockets.get(way) else {
                return; // closed to make room for another
            };
            let Ok(received) = receive(socket, &mut self.buffer) else {
                return;
            };
            let content = Arc::from(&self.buffer[..received.bytes]);
            let arrived = self.clocks.arrival(received.stamp, self.now());
            self.arrived(way, received.from, content, arrived);
        }
    }

    fn arrived(&mut self, way: Way, from: SocketAddr, content: Arc<[u8]>, arrived: Duration) {
        let now = self.now();
        let bytes = content.len() as u64;
        let (up, routed) = match way {
            Way::Front(port) => (true, self.route_from_client(port, from, now)),
            Way::Door(flow, port) => (true, self.route_from_door(flow, port, from)),
            Way::Upstream(flow) => (false, self.route_from_server(flow, from, now)),
        };
        let direction = if up { &mut self.up } else { &mut self.down };
        match routed {
            Ok((flow, way, to)) => {
                self.table.touch(flow, now);
                let parcel = Parcel {
                    content,
                    arrived,
                    way,
                    to,
                };
                direction.line.offer(flow, parcel, bytes, arrived);
            }
            Err(reason) => {
                direction.line.counts().received(bytes);
                direction.line.counts().dropped(reason);
            }
        }
    }

    fn route_from_client(&mut self, port: u16, client: SocketAddr, now: Duration) -> Routed {
        let flow = match self.table.find(port, client) {
            Some(flow) => flow,
            None => self.open_flow(port, client, now)?,
        };
        Ok((flow, Way::Upstream(flow), self.server(port)))
    }

    fn route_from_door(&mut self, flow: FlowId, port: u16, from: SocketAddr) -> Routed {
        match self.table.get(flow) {
            Some(known) if known.client == from => {
                let to = SocketAddr::new(self.to.ip(), port);
                Ok((flow, Way::Upstream(flow), to))
            }
            _ => Err(Reason::UnknownSender),
        }
    }

    fn route_from_server(&mut self, flow: FlowId, from: SocketAddr, now: Duration) -> Routed {
        let known = self.table.get(flow).ok_or(Reason::FlowClosed)?;
        let (port, client) = (known.port, known.client);
        if from.ip() != self.to.ip() {
            return Err(Reason::UnknownSender);
        }
        if from.port() == self.server(port).port() {
            return Ok((flow, Way::Front(port), client));
        }
        if !self.table.has_door(flow, from.port()) {
            self.open_door(flow, from.port(), now)?;
        }
        Ok((flow, Way::Door(flow, from.port()), client))
    }

    fn server(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.to.ip(), self.to.port() + port)
    }

    fn open_flow(
        &mut self,
        port: u16,
        client: SocketAddr,
        now: Duration,
    ) -> Result<FlowId, Reason> {
        self.make_room(None, now)?;
        let flow = self.table.open(port, client, now);
        let opened = self
            .sockets
            .open(Way::Upstream(flow), any_port(self.to.ip()));
        if opened.is_err() {
            self.close(flow);
            return Err(Reason::TooManyFlows);
        }
        Ok(flow)
    }

    fn open_door(&mut self, flow: FlowId, server_port: u16, now: Duration) -> Result<(), Reason> {
        self.make_room(Some(flow), now)?;
        let address = SocketAddr::new(self.address.ip(), 0);
        let opened = self.sockets.open(Way::Door(flow, server_port), address);
        opened.map_err(|_| Reason::TooManyFlows)?;
        self.table.open_door(flow, server_port);
        Ok(())
    }

    fn make_room(&mut self, user: Option<FlowId>, now: Duration) -> Result<(), Reason> {
        if let Some(user) = user {
            self.table.touch(user, now);
        }
        if let Some(flow) = self.table.make_room(now).ok_or(Reason::TooManyFlows)? {
            self.close(flow);
        }
        Ok(())
    }

    fn deliver(&mut self) {
        for direction in [&mut self.up, &mut self.down] {
            direction.deliver(&self.sockets, self.began);
        }
    }

    fn sweep(&mut self) {
        let now = self.now();
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP_EVERY;
        for flow in self.table.idle_flows(now) {
            self.close(flow);
        }
    }

    fn close(&mut self, flow: FlowId) {
        for way in self.table.close(flow) {
            self.close_socket(way);
        }
        self.up.line.forget(flow);
        self.down.line.forget(flow);
    }

    fn close_socket(&mut self, way: Way) {
        let missed = self.sockets.close(way);
        let direction = match way {
            Way::Upstream(_) => &mut self.down,
            Way::Front(_) | Way::Door(..) => &mut self.up,
        };
        direction.line.counts().missed_datagrams += missed;
    }

    fn statistics(mut self) -> Statistics {
        for way in self.sockets.ways() {
            self.close_socket(way);
        }
        let (flows_opened, flows_closed) = self.table.opened_and_closed();
        Statistics {
            elapsed_s: self.now().as_secs_f64(),
            flows_opened,
            flows_closed,
            up: self.up.counts(),
            down: self.down.counts(),
        }
    }
}

/// Flow, socket and receiver of a datagram, or why there are none.
type Routed = Result<(FlowId, Way, SocketAddr), Reason>;

impl Direction {
    fn new(faults: &Faults, seed: u64, name: &str) -> Self {
        Self {
            line: Line::new(faults, seed, name),
            added: QuantileRecorder::new(),
            lateness: QuantileRecorder::new(),
        }
    }

    fn deliver(&mut self, sockets: &Sockets, began: Instant) {
        let mut now = began.elapsed();
        while let Some((due, parcel, bytes)) = self.line.pop_due(now) {
            let sent = match sockets.get(parcel.way) {
                None => Err(Reason::FlowClosed),
                Some(socket) => socket
                    .send_to(&parcel.content, parcel.to)
                    .map_err(|_| Reason::Unsendable),
            };
            now = began.elapsed();
            self.added.record(parcel.arrived, now);
            self.lateness.record(due, now);
            match sent {
                Ok(_) => self.line.counts().delivered(bytes),
                Err(reason) => self.line.counts().dropped(reason),
            }
        }
    }

    fn counts(&mut self) -> Counts {
        let mut counts = self.line.counts().clone();
        counts.under_way_datagrams = self.line.under_way();
        counts.delay_added = self.added.summary();
        counts.lateness = self.lateness.summary();
        counts
    }
}

/// Three quarters of them are for the sockets of flows. A dialler over new connections makes a flow for
/// each message, and those of the last two seconds are in use.
const FILES: usize = 16_384;
/// Datagrams read from one socket before deadlines are looked at: below a millisecond.
const READ_MAX: usize = 64;
/// A user who interrupts does not notice a tenth of a second.
const STOP_LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often idle flows are looked for.
const SWEEP_EVERY: Duration = Duration::from_millis(200);
