//! The steps of QUIC one by one, without sockets; each is an `Operation` of the simulator.
//!
//! | kernel | begins with | ends with |
//! |---|---|---|
//! | `quic_handshake_start` | nothing | ClientHello made: key generation |
//! | `quic_handshake_respond` | the client's first datagram | the server's flight made: key agreement, its signature |
//! | `quic_handshake_finish` | the server's datagrams | the client's flight made: key agreement, one verification, its signature |
//! | `quic_handshake_confirm` | the client's datagrams | its signature verified, session tickets made |
//! | `quic_packet_seal` | a chunk of a stream | one datagram |
//! | `quic_packet_open` | one datagram | its frames processed |
//! | `quic_stream_open` | a connection with credit | a stream's number |
//! | `quic_stream_accept` | a stream that arrived whole | its content read to the end |
//!
//! A step's `cpu_s` includes opening the datagrams that it begins with (`opened_datagrams`) and
//! excludes sealing its answer, which `sealed_cpu_s` has. Both ends prove an Ed25519 key. The async
//! layer (locks, tasks, wakers) is not in any of them; `quic_message_keep` has it.

use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::{ClientConfig, ServerConfig};

use super::memory::{End, Pair};
use super::talk::{Streams, Talk, BATCH};
use super::{credentials, GROUP};
use crate::kernel::{Budget, Case, Depth, Series, Unmeasured};
use crate::kernels::experiment::{case, collect, Watch, WALL_AND_CPU};

/// The cases without sockets.
pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let sizes = match depth {
        Depth::Quick => &CHUNK_BYTES_QUICK[..],
        Depth::Full => &CHUNK_BYTES[..],
    };
    let handshake = STEPS.map(|(kernel, step)| {
        case(GROUP, kernel, &[], move |budget| {
            handshake_step(budget, step)
        })
    });
    let packets = sizes.iter().flat_map(|&bytes| {
        let parameters = [("bytes", bytes as f64)];
        [
            case(GROUP, "quic_packet_seal", &parameters, move |budget| {
                packet_seal(budget, bytes)
            }),
            case(GROUP, "quic_packet_open", &parameters, move |budget| {
                packet_open(budget, bytes)
            }),
        ]
    });
    let streams = [
        case(GROUP, "quic_stream_open", &[], stream_open),
        case(GROUP, "quic_stream_accept", &[], stream_accept),
    ];
    handshake
        .into_iter()
        .chain(packets)
        .chain(streams)
        .collect()
}

/// One step of a fresh handshake each time.
fn handshake_step(budget: &Budget<'_>, step: usize) -> Result<Vec<Series>, Unmeasured> {
    let server_config = Arc::new(credentials::server_config());
    let client_config = credentials::client_config();
    let quantities = ["wall_s", "cpu_s", "sealed_cpu_s", "opened_datagrams"];
    collect(budget, quantities, || {
        let mut handshake = Handshake::new(server_config.clone());
        for _ in 0..step {
            handshake.step(&client_config);
            handshake.seal();
        }
        let opened = handshake.flight.len() as f64;
        let watch = Watch::thread();
        handshake.step(&client_config);
        let [wall_s, cpu_s] = watch.per_operation(budget.clock, 1);
        let watch = Watch::thread();
        handshake.seal();
        let [_, sealed_cpu_s] = watch.per_operation(budget.clock, 1);
        Ok([wall_s, cpu_s, sealed_cpu_s, opened])
    })
}

/// Two ends in the middle of a handshake, and the datagrams between them.
struct Handshake {
    pair: Pair,
    flight: Vec<BytesMut>,
    clients_turn: bool,
}

impl Handshake {
    fn new(server_config: Arc<ServerConfig>) -> Self {
        Self {
            pair: Pair::new(server_config),
            flight: Vec::new(),
            clients_turn: true,
        }
    }

    /// Whose turn it is works on the datagrams; when there are none yet, the client begins.
    fn step(&mut self, config: &ClientConfig) {
        let (now, flight) = (self.pair.now, std::mem::take(&mut self.flight));
        let end = self.end();
        if flight.is_empty() {
            return end.connect(config.clone(), now);
        }
        for datagram in flight {
            end.handle(datagram, now);
        }
    }

    /// Seals the answer; then it is the other's turn.
    fn seal(&mut self) {
        let now = self.pair.now;
        self.flight = self.end().transmit_all(now);
        self.clients_turn = !self.clients_turn;
    }

    fn end(&mut self) -> &mut End {
        match self.clients_turn {
            true => &mut self.pair.client,
            false => &mut self.pair.server,
        }
    }
}

/// Writing a chunk to a stream and sealing the datagram that carries it.
fn packet_seal(budget: &Budget<'_>, bytes: usize) -> Result<Vec<Series>, Unmeasured> {
    let mut talk = Talk::new(bytes);
    collect(budget, WALL_CPU_AND_DATAGRAM, || {
        let watch = Watch::thread();
        talk.seal_batch();
        let [wall_s, cpu_s] = watch.per_operation(budget.clock, BATCH);
        talk.arrive();
        talk.open_batch();
        talk.rest();
        Ok([wall_s, cpu_s, talk.datagram_bytes()])
    })
}

/// Opening that datagram and processing its frames; its chunk is not read yet.
fn packet_open(budget: &Budget<'_>, bytes: usize) -> Result<Vec<Series>, Unmeasured> {
    let mut talk = Talk::new(bytes);
    collect(budget, WALL_CPU_AND_DATAGRAM, || {
        talk.seal_batch();
        talk.arrive();
        let watch = Watch::thread();
        talk.open_batch();
        let [wall_s, cpu_s] = watch.per_operation(budget.clock, BATCH);
        talk.rest();
        Ok([wall_s, cpu_s, talk.datagram_bytes()])
    })
}

/// Opening streams; nothing is sent yet.
fn stream_open(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    let mut streams = Streams::new(OPENED, 1);
    collect(budget, WALL_AND_CPU, || {
        let watch = Watch::thread();
        streams.open_batch();
        let sample = watch.per_operation(budget.clock, OPENED);
        streams.send();
        streams.serve();
        streams.finish();
        Ok(sample)
    })
}

/// Accepting streams that arrived whole, and reading them.
fn stream_accept(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    let mut streams = Streams::new(BATCH, MESSAGE_BYTES);
    collect(budget, WALL_AND_CPU, || {
        streams.open_batch();
        streams.send();
        let watch = Watch::thread();
        streams.serve();
        let sample = watch.per_operation(budget.clock, BATCH);
        streams.finish();
        Ok(sample)
    })
}

/// The steps of a handshake in order, each with the number of those before it.
const STEPS: [(&str, usize); 4] = [
    ("quic_handshake_start", 0),
    ("quic_handshake_respond", 1),
    ("quic_handshake_finish", 2),
    ("quic_handshake_confirm", 3),
];

const WALL_CPU_AND_DATAGRAM: [&str; 3] = ["wall_s", "cpu_s", "datagram_bytes"];

/// From an acknowledgement's size to the most that surely fits a datagram of 1200 bytes.
const CHUNK_BYTES: [usize; 5] = [16, 128, 384, 668, 1100];
const CHUNK_BYTES_QUICK: [usize; 3] = [16, 668, 1100];

/// Streams that are opened for one sample, which costs little against reading the CPU time; less
/// than the credit of 100 that a connection begins with (quinn-proto's default).
const OPENED: usize = 64;
/// A block of the theses with 128 bytes of payload.
const MESSAGE_BYTES: usize = 668;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_steps_are_a_handshake() {
        let server_config = Arc::new(credentials::server_config());
        let client_config = credentials::client_config();
        let mut handshake = Handshake::new(server_config);
        for (kernel, _) in STEPS {
            let begun = kernel != STEPS[0].0;
            assert_eq!(!handshake.flight.is_empty(), begun, "{kernel}");
            assert!(
                !begun
                    || handshake.pair.client.connection().is_handshaking()
                    || kernel == STEPS[3].0
            );
            handshake.step(&client_config);
            handshake.seal();
        }
        assert!(!handshake.pair.client.connection().is_handshaking());
        assert!(!handshake.pair.server.connection().is_handshaking());
    }
}
