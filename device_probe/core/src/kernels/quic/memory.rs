//! Two QUIC endpoints without sockets: quinn's state machines, datagrams in memory, a clock that
//! moves by hand. What remains is computation, so that each of its steps can be timed alone.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig,
    ServerConfig,
};

use crate::quic::SERVER_NAME;

/// One of the two.
pub(super) struct End {
    endpoint: Endpoint,
    peer: SocketAddr,
    connection: Option<(ConnectionHandle, Connection)>,
}

impl End {
    /// Starts to connect: the first flight is made, but not yet sealed.
    pub fn connect(&mut self, config: ClientConfig, now: Instant) {
        let connected = self.endpoint.connect(now, config, self.peer, SERVER_NAME);
        self.connection = Some(connected.expect("a valid address and name"));
    }

    /// Opens a datagram and works on what is in it; the answer is made, but not yet sealed.
    pub fn handle(&mut self, datagram: BytesMut, now: Instant) {
        let mut answer = Vec::new();
        let event = self
            .endpoint
            .handle(now, self.peer, None, None, datagram, &mut answer);
        match event {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.map_err(|error| error.cause).expect("accepted"));
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection().handle_event(event),
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.settle();
    }

    /// Seals the next datagram into `datagram`, if one is due.
    pub fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> bool {
        datagram.clear();
        let transmit = self.connection().poll_transmit(now, 1, datagram);
        transmit.is_some()
    }

    /// Seals everything that is due.
    pub fn transmit_all(&mut self, now: Instant) -> Vec<BytesMut> {
        let mut datagram = Vec::new();
        let mut all = Vec::new();
        while self.transmit(now, &mut datagram) {
            all.push(BytesMut::from(&datagram[..]));
        }
        all
    }

    /// Does what its timers ask for.
    pub fn handle_timeouts(&mut self, now: Instant) {
        while self.connection().poll_timeout().is_some_and(|at| at <= now) {
            self.connection().handle_timeout(now);
        }
        self.settle();
    }

    /// The connection, which must have begun.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().expect("it has begun").1
    }

    /// Lets endpoint and connection tell each other what they must know.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else {
            return;
        };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while connection.poll().is_some() {}
    }
}

/// A client and a server.
pub(super) struct Pair {
    pub client: End,
    pub server: End,
    pub now: Instant,
}

impl Pair {
    /// Not connected yet.
    pub fn new(server_config: Arc<ServerConfig>) -> Self {
        let config = Arc::new(EndpointConfig::default());
        let end = |server_config, peer_port| End {
            // Without path MTU discovery, whose probes would be sealed among what is timed.
            endpoint: Endpoint::new(config.clone(), server_config, false, None),
            peer: SocketAddr::from((Ipv4Addr::LOCALHOST, peer_port)),
            connection: None,
        };
        Self {
            client: end(None, SERVER_PORT),
            server: end(Some(server_config), CLIENT_PORT),
            now: Instant::now(),
        }
    }

    /// A connection that is ready, with every acknowledgement exchanged.
    pub fn connected(server_config: Arc<ServerConfig>, client_config: ClientConfig) -> Self {
        let mut pair = Self::new(server_config);
        pair.client.connect(client_config, pair.now);
        pair.exchange();
        assert!(
            !pair.client.connection().is_handshaking(),
            "nothing gets lost in memory"
        );
        pair
    }

    /// Carries datagrams to and fro, and runs timers, until both have nothing more to say.
    pub fn exchange(&mut self) {
        let mut quiet = 0;
        while quiet < QUIET_STEPS {
            self.now += STEP;
            let carried = self.carry();
            quiet = if carried == 0 { quiet + 1 } else { 0 };
        }
    }

    fn carry(&mut self) -> usize {
        let now = self.now;
        self.client.handle_timeouts(now);
        let there = self.client.transmit_all(now);
        let mut carried = there.len();
        for datagram in there {
            self.server.handle(datagram, now);
        }
        if self.server.connection.is_none() {
            return carried;
        }
        self.server.handle_timeouts(now);
        let back = self.server.transmit_all(now);
        carried += back.len();
        for datagram in back {
            self.client.handle(datagram, now);
        }
        carried
    }
}

/// Any two; nothing listens there.
const CLIENT_PORT: u16 = 1;
const SERVER_PORT: u16 = 2;

/// A round trip of this path, and how many make an acknowledgement due (max_ack_delay is 25 ms).
const STEP: Duration = Duration::from_millis(1);
const QUIET_STEPS: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::quic::credentials;

    #[test]
    fn both_ends_of_a_handshake_prove_their_keys() {
        let server_config = Arc::new(credentials::server_config());
        let mut pair = Pair::connected(server_config, credentials::client_config());
        for end in [&mut pair.client, &mut pair.server] {
            let session = end.connection().crypto_session();
            assert!(session.peer_identity().is_some());
        }
    }

    #[test]
    fn a_connection_comes_to_rest_and_still_lives() {
        let server_config = Arc::new(credentials::server_config());
        let mut pair = Pair::connected(server_config, credentials::client_config());
        let before = pair.server.connection().stats().frame_rx.ping;
        assert_eq!(pair.carry(), 0);
        pair.client.connection().ping();
        pair.exchange();
        assert_eq!(pair.server.connection().stats().frame_rx.ping, before + 1);
        assert!(!pair.client.connection().has_pending_retransmits());
    }
}
