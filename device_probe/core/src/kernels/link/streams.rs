//! Round trips and goodput over QUIC.

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use quinn::{Connection, Endpoint, RecvStream, SendStream};
use tokio::runtime::Runtime;

use crate::kernel::{Budget, Series, Unmeasured};
use crate::kernels::experiment::{collect, collect_cold};
use crate::peer::quic::{ECHO, SINK};
use crate::quic::{client_endpoint, SERVER_NAME};
use crate::stop::Stop;

/// One echo at a time on one stream.
pub(super) fn rtt(
    budget: &Budget<'_>,
    peer: SocketAddr,
    bytes: usize,
) -> Result<Vec<Series>, Unmeasured> {
    let caller = Caller::dial(peer)?;
    let (mut send, mut receive) = caller.open(ECHO)?;
    let (message, mut answer) = (vec![0x5a; bytes], vec![0; bytes]);
    // The first byte comes with the first message; it is not echoed.
    let measured = collect(budget, ["rtt_s"], || {
        std::thread::sleep(ECHO_GAP);
        let start = Instant::now();
        caller.run(async {
            send.write_all(&message).await.map_err(failed)?;
            receive.read_exact(&mut answer).await.map_err(failed)
        })?;
        Ok([budget.clock.since(start)])
    })?;
    caller.run(async {
        send.finish().map_err(failed)?;
        receive.read_to_end(0).await.map_err(failed)
    })?;
    Ok(measured)
}

/// One stream for a while, as fast as it goes; one value for each.
pub(super) fn goodput(budget: &Budget<'_>, peer: SocketAddr) -> Result<Vec<Series>, Unmeasured> {
    let caller = Caller::dial(peer)?;
    let duration = (budget.time_limit / STREAMS_MAX).min(STREAM);
    let budget = Budget {
        samples: budget.samples.min(STREAMS_MAX as usize),
        ..*budget
    };
    collect_cold(&budget, ["goodput_bytes_per_s"], || {
        let streams = caller.open(SINK)?;
        let start = Instant::now();
        let bytes = caller.run(fill(streams, duration, budget.stop))?;
        Ok([bytes as f64 / budget.clock.since(start)])
    })
}

/// Writes for `duration`; how many bytes the peer says that it got.
async fn fill(
    (mut send, mut receive): (SendStream, RecvStream),
    duration: Duration,
    stop: &Stop,
) -> Result<u64, Unmeasured> {
    let start = Instant::now();
    while start.elapsed() < duration && !stop.is_raised() {
        send.write_all(&CHUNK).await.map_err(failed)?;
    }
    send.finish().map_err(failed)?;
    let mut count = [0; 8];
    receive.read_exact(&mut count).await.map_err(failed)?;
    Ok(u64::from_be_bytes(count))
}

/// A connection to the QUIC side of a serving probe.
struct Caller {
    connection: Connection,
    endpoint: Endpoint,
    runtime: Runtime,
}

impl Caller {
    /// Connects to the port above the peer's UDP port.
    fn dial(peer: SocketAddr) -> Result<Self, Unmeasured> {
        let port = peer.port().checked_add(1);
        let port = port.ok_or_else(|| Unmeasured::because("no port above 65535 for QUIC"))?;
        let address = SocketAddr::new(peer.ip(), port);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let (endpoint, connection) = run(&runtime, async {
            let endpoint = client_endpoint(address)?;
            let connecting = endpoint.connect(address, SERVER_NAME).map_err(failed)?;
            Ok((endpoint, connecting.await.map_err(failed)?))
        })?;
        Ok(Self {
            connection,
            endpoint,
            runtime,
        })
    }

    /// A new stream that asks for `service`.
    fn open(&self, service: u8) -> Result<(SendStream, RecvStream), Unmeasured> {
        self.run(async {
            let (mut send, receive) = self.connection.open_bi().await.map_err(failed)?;
            send.write_all(&[service]).await.map_err(failed)?;
            Ok((send, receive))
        })
    }

    fn run<T>(&self, work: impl Future<Output = Result<T, Unmeasured>>) -> Result<T, Unmeasured> {
        run(&self.runtime, work)
    }
}

impl Drop for Caller {
    /// Says farewell, so that the peer need not wait for the idle timeout.
    fn drop(&mut self) {
        self.connection.close(0_u8.into(), b"");
        let idle = async { tokio::time::timeout(FAREWELL, self.endpoint.wait_idle()).await };
        // A peer that does not answer it is not waited for.
        let _ = self.runtime.block_on(idle);
    }
}

fn run<T>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T, Unmeasured>>,
) -> Result<T, Unmeasured> {
    let limited = async { tokio::time::timeout(WORK_LIMIT, work).await };
    let late = |_| Unmeasured::because("no answer over QUIC within 5 s: does a probe serve there?");
    runtime.block_on(limited).map_err(late)?
}

fn failed(error: impl std::fmt::Display) -> Unmeasured {
    Unmeasured::because(format!("QUIC to the peer: {error}"))
}

/// As between echoes over UDP, which these are compared with.
const ECHO_GAP: Duration = Duration::from_millis(10);

/// Streams of one case, and how long each is filled where the budget does not ask for less: past
/// slow start at 100 ms of round trip.
const STREAMS_MAX: u32 = 5;
const STREAM: Duration = Duration::from_secs(2);

/// Filling a stream, and then a round trip behind what its queues hold.
const WORK_LIMIT: Duration = Duration::from_secs(5);

/// Half a second reaches a peer on the same network.
const FAREWELL: Duration = Duration::from_millis(500);

static CHUNK: [u8; 64 << 10] = [0x5a; 64 << 10];
