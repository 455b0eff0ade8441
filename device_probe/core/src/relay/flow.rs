//! Which client talks to which port of the server, and through which of the relay's sockets.
//!
//! A *flow* is one client on one of the relayed ports. It has a socket towards the server, and a
//! *door* for every other port that the server answers from: a TFTP server chooses a new one for
//! each transfer (RFC 1350, section 4), and the client must see a new one too. What deliberately
//! does not live here: the sockets themselves; the table only says which must be there.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// Number of a flow; never used twice in a run.
pub type FlowId = u64;

/// One of the relay's sockets, by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Where clients send to the `0`-th of the relayed ports.
    Front(u16),
    /// Where the server answers a flow.
    Upstream(FlowId),
    /// Where the client of a flow meets another port of the server.
    Door(FlowId, u16),
}

/// A client on one of the relayed ports.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The port, counted from the first.
    pub port: u16,
    /// The client.
    pub client: SocketAddr,
    doors: BTreeSet<u16>,
    used_at: Duration,
}

/// The flows that are open.
#[derive(Debug)]
pub struct Table {
    flows: BTreeMap<FlowId, Flow>,
    clients: BTreeMap<(u16, SocketAddr), FlowId>,
    sockets_max: usize,
    idle: Duration,
    opened: u64,
    closed: u64,
}

impl Table {
    /// Without flows; those that are `idle` for so long expire.
    pub fn new(sockets_max: usize, idle: Duration) -> Self {
        Self {
            flows: BTreeMap::new(),
            clients: BTreeMap::new(),
            sockets_max,
            idle,
            opened: 0,
            closed: 0,
        }
    }

    /// The flow of `client` on `port`, if it is open.
    pub fn find(&self, port: u16, client: SocketAddr) -> Option<FlowId> {
        self.clients.get(&(port, client)).copied()
    }

    /// Open a flow; the caller has made room and opens [`Way::Upstream`].
    pub fn open(&mut self, port: u16, client: SocketAddr, now: Duration) -> FlowId {
        self.opened += 1;
        let flow = Flow {
            port,
            client,
            doors: BTreeSet::new(),
            used_at: now,
        };
        self.flows.insert(self.opened, flow);
        self.clients.insert((port, client), self.opened);
        self.opened
    }

    /// A flow that is open.
    pub fn get(&self, flow: FlowId) -> Option<&Flow> {
        self.flows.get(&flow)
    }

    /// Something came for this flow.
    pub fn touch(&mut self, flow: FlowId, now: Duration) {
        if let Some(flow) = self.flows.get_mut(&flow) {
            flow.used_at = now;
        }
    }

    /// Whether the flow has a door to this port of the server.
    pub fn has_door(&self, flow: FlowId, server_port: u16) -> bool {
        self.get(flow)
            .is_some_and(|flow| flow.doors.contains(&server_port))
    }

    /// Note a door; the caller has made room and opens [`Way::Door`].
    pub fn open_door(&mut self, flow: FlowId, server_port: u16) {
        if let Some(flow) = self.flows.get_mut(&flow) {
            flow.doors.insert(server_port);
        }
    }

    /// Make room for one more socket, if need be at the cost of the flow that was idle longest.
    ///
    /// Nothing if every flow is in use; otherwise the flow that was closed, if one had to be.
    pub fn make_room(&mut self, now: Duration) -> Option<Option<FlowId>> {
        if self.sockets() < self.sockets_max {
            return Some(None);
        }
        let (&flow, oldest) = self.flows.iter().min_by_key(|(_, flow)| flow.used_at)?;
        (now.saturating_sub(oldest.used_at) >= IN_USE).then_some(Some(flow))
    }

    /// Flows that have been idle for too long by `now`.
    pub fn idle_flows(&self, now: Duration) -> Vec<FlowId> {
        let idle = |flow: &Flow| now.saturating_sub(flow.used_at) >= self.idle;
        let expired = self.flows.iter().filter(|(_, flow)| idle(flow));
        expired.map(|(&number, _)| number).collect()
    }

    /// Close a flow; the caller closes its sockets.
    pub fn close(&mut self, flow: FlowId) -> Vec<Way> {
        let Some(closed) = self.flows.remove(&flow) else {
            return Vec::new();
        };
        self.clients.remove(&(closed.port, closed.client));
        self.closed += 1;
        let doors = closed.doors.into_iter().map(|port| Way::Door(flow, port));
        std::iter::once(Way::Upstream(flow)).chain(doors).collect()
    }

    /// How many flows were opened and closed so far.
    pub fn opened_and_closed(&self) -> (u64, u64) {
        (self.opened, self.closed)
    }

    fn sockets(&self) -> usize {
        self.flows.values().map(|flow| 1 + flow.doors.len()).sum()
    }
}

/// A flow that was used so recently is not closed for another: twice the largest retransmission
/// timeout that a transport starts with (one second, RFC 6298 and RFC 9002).
pub const IN_USE: Duration = Duration::from_secs(2);
