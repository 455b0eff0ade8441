//! QUIC over real loopback sockets, as an application sees it.
//!
//! Both ends are in this process and `cpu_s` counts both, with their kernels' work. The server has
//! one runtime and endpoint for a whole measurement. Every connection is a full handshake: a client
//! configuration holds session tickets, so each sample has its own.
//!
//! | kernel | includes |
//! |---|---|
//! | `quic_handshake` | connecting on a kept endpoint: `wall_s` until the client may send, `cpu_s` until the server has confirmed |
//! | `quic_endpoint_setup` | a tokio runtime of as many threads as cores, a UDP socket, TLS configuration, the endpoint and its task |
//! | `quic_endpoint_close` | closing that endpoint, which has no connection, and waiting for the runtime's threads to end |
//! | `quic_message_keep` | on a connection and endpoint that are kept: a bidirectional stream, the message, the server's empty answer |
//! | `quic_message_reconnect` | setup, handshake, the message as above, the close until the server knows of it, endpoint and runtime; not the draining period |
//! | `quic_handshakes_concurrent` | that many connections begun at once on one endpoint, until the last is ready at both ends |

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use quinn::{Connection, Endpoint, VarInt};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::GROUP;
use crate::kernel::{Budget, Case, Depth, Series, Unmeasured};
use crate::kernels::experiment::{case, collect, Watch, WALL_AND_CPU};
use crate::quic::{client_config, client_endpoint, server_config, SERVER_NAME};

/// The cases over sockets.
pub(super) fn cases(depth: Depth) -> Vec<Case> {
    let (sizes, crowds) = match depth {
        Depth::Quick => (&MESSAGE_BYTES_QUICK[..], &CONNECTIONS_QUICK[..]),
        Depth::Full => (&MESSAGE_BYTES[..], &CONNECTIONS[..]),
    };
    let single = [
        case(GROUP, "quic_handshake", &[], handshake),
        case(GROUP, "quic_endpoint_setup", &[], endpoint_setup),
        case(GROUP, "quic_endpoint_close", &[], endpoint_close),
    ];
    let messages = sizes.iter().flat_map(|&bytes| {
        let parameters = [("bytes", bytes as f64)];
        [
            case(GROUP, "quic_message_keep", &parameters, move |budget| {
                message_keep(budget, bytes)
            }),
            case(
                GROUP,
                "quic_message_reconnect",
                &parameters,
                move |budget| message_reconnect(budget, bytes),
            ),
        ]
    });
    let crowds = crowds.iter().map(|&connections| {
        let parameters = [("connections", connections as f64)];
        case(
            GROUP,
            "quic_handshakes_concurrent",
            &parameters,
            move |budget| handshakes(budget, connections),
        )
    });
    single.into_iter().chain(messages).chain(crowds).collect()
}

fn handshake(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    let mut server = Server::start()?;
    let client = Client::start(server.address)?;
    collect(budget, WALL_AND_CPU, || {
        let config = client_config();
        let watch = Watch::process();
        let connection = client.run(connect(&client.endpoint, config, server.address))?;
        let [wall_s, _] = watch.per_operation(budget.clock, 1);
        client.run(server.confirmed(1))?;
        let [_, cpu_s] = watch.per_operation(budget.clock, 1);
        connection.close(DONE, b"");
        client.run(server.closed(1))?;
        Ok([wall_s, cpu_s])
    })
}

fn endpoint_setup(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    collect(budget, WALL_AND_CPU, || {
        let watch = Watch::process();
        let client = Client::start(peer)?;
        client.wait_for_workers();
        let sample = watch.per_operation(budget.clock, 1);
        client.end();
        Ok(sample)
    })
}

fn endpoint_close(budget: &Budget<'_>) -> Result<Vec<Series>, Unmeasured> {
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    collect(budget, WALL_AND_CPU, || {
        let client = Client::start(peer)?;
        client.wait_for_workers();
        let watch = Watch::process();
        client.end();
        Ok(watch.per_operation(budget.clock, 1))
    })
}

fn message_keep(budget: &Budget<'_>, bytes: usize) -> Result<Vec<Series>, Unmeasured> {
    let server = Server::start()?;
    let client = Client::start(server.address)?;
    let connecting = connect(&client.endpoint, client_config(), server.address);
    let connection = client.run(connecting)?;
    let message = vec![0x5a; bytes];
    collect(budget, WALL_AND_CPU, || {
        let watch = Watch::process();
        client.run(exchange(&connection, &message))?;
        Ok(watch.per_operation(budget.clock, 1))
    })
}

fn message_reconnect(budget: &Budget<'_>, bytes: usize) -> Result<Vec<Series>, Unmeasured> {
    let mut server = Server::start()?;
    let message = vec![0x5a; bytes];
    collect(budget, WALL_AND_CPU, || {
        let watch = Watch::process();
        let client = Client::start(server.address)?;
        let connecting = connect(&client.endpoint, client_config(), server.address);
        let connection = client.run(connecting)?;
        client.run(exchange(&connection, &message))?;
        client.run(server.confirmed(1))?;
        connection.close(DONE, b"");
        client.run(server.closed(1))?;
        drop(connection);
        client.end();
        Ok(watch.per_operation(budget.clock, 1))
    })
}

fn handshakes(budget: &Budget<'_>, connections: usize) -> Result<Vec<Series>, Unmeasured> {
    let mut server = Server::start()?;
    let client = Client::start(server.address)?;
    collect(budget, WALL_AND_CPU, || {
        let config = client_config();
        let watch = Watch::process();
        let ready = client.run(async {
            let ready = connect_all(&client.endpoint, &config, server.address, connections).await?;
            server.confirmed(connections).await?;
            Ok(ready)
        })?;
        let sample = watch.per_operation(budget.clock, 1);
        for connection in ready {
            connection.close(DONE, b"");
        }
        client.run(server.closed(connections))?;
        Ok(sample)
    })
}

/// The server of a measurement: serves streams, and says when connections begin and end.
struct Server {
    address: SocketAddr,
    confirmed: mpsc::UnboundedReceiver<()>,
    closed: mpsc::UnboundedReceiver<()>,
    _runtime: Runtime,
}

impl Server {
    fn start() -> Result<Self, Unmeasured> {
        let runtime = runtime_builder().build()?;
        let _inside = runtime.enter();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let endpoint = Endpoint::server(server_config(), any)?;
        let address = endpoint.local_addr()?;
        let (tell_confirmed, confirmed) = mpsc::unbounded_channel();
        let (tell_closed, closed) = mpsc::unbounded_channel();
        runtime.spawn(async move {
            while let Some(incoming) = endpoint.accept().await {
                tokio::spawn(serve(incoming, tell_confirmed.clone(), tell_closed.clone()));
            }
        });
        Ok(Self {
            address,
            confirmed,
            closed,
            _runtime: runtime,
        })
    }

    /// Waits until that many more handshakes are confirmed.
    async fn confirmed(&mut self, count: usize) -> Result<(), Unmeasured> {
        told(&mut self.confirmed, count).await
    }

    /// Waits until that many more connections have been closed.
    async fn closed(&mut self, count: usize) -> Result<(), Unmeasured> {
        told(&mut self.closed, count).await
    }
}

async fn told(events: &mut mpsc::UnboundedReceiver<()>, count: usize) -> Result<(), Unmeasured> {
    for _ in 0..count {
        let event = events.recv().await;
        event.ok_or_else(|| Unmeasured::because("the QUIC server ended"))?;
    }
    Ok(())
}

async fn serve(
    incoming: quinn::Incoming,
    tell_confirmed: mpsc::UnboundedSender<()>,
    tell_closed: mpsc::UnboundedSender<()>,
) {
    let Ok(connection) = incoming.await else {
        return;
    };
    let _ = tell_confirmed.send(());
    while let Ok((mut answer, mut message)) = connection.accept_bi().await {
        tokio::spawn(async move {
            if message.read_to_end(MESSAGE_BYTES_MAX).await.is_ok() {
                let _ = answer.finish();
            }
        });
    }
    let _ = tell_closed.send(());
}

/// A dialling endpoint with a runtime of its own.
struct Client {
    endpoint: Endpoint,
    workers: std::sync::mpsc::Receiver<()>,
    runtime: Runtime,
}

impl Client {
    fn start(peer: SocketAddr) -> Result<Self, Unmeasured> {
        let (tell_started, workers) = std::sync::mpsc::channel();
        let runtime = runtime_builder()
            .on_thread_start(move || {
                let _ = tell_started.send(());
            })
            .build()?;
        let inside = runtime.enter();
        let endpoint = client_endpoint(peer)?;
        drop(inside);
        Ok(Self {
            endpoint,
            workers,
            runtime,
        })
    }

    /// Returns when every thread of the runtime runs: building it does not wait for them, and their
    /// start would count as part of whatever comes next.
    fn wait_for_workers(&self) {
        let threads = self.runtime.metrics().num_workers();
        assert_eq!(self.workers.iter().take(threads).count(), threads);
    }

    /// Runs to the end, or gives up.
    fn run<T>(&self, work: impl Future<Output = Result<T, Unmeasured>>) -> Result<T, Unmeasured> {
        let limited = async { tokio::time::timeout(WORK_LIMIT, work).await };
        let late = |_| Unmeasured::because("QUIC on loopback took more than 10 s");
        self.runtime.block_on(limited).map_err(late)?
    }

    /// Closes the endpoint and waits for the threads of its runtime.
    fn end(self) {
        self.endpoint.close(DONE, b"");
    }
}

fn runtime_builder() -> tokio::runtime::Builder {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all();
    builder
}

async fn connect(
    endpoint: &Endpoint,
    config: quinn::ClientConfig,
    address: SocketAddr,
) -> Result<Connection, Unmeasured> {
    let connecting = endpoint.connect_with(config, address, SERVER_NAME);
    connecting.map_err(failed)?.await.map_err(failed)
}

/// Begins all before it waits for the first.
async fn connect_all(
    endpoint: &Endpoint,
    config: &quinn::ClientConfig,
    address: SocketAddr,
    connections: usize,
) -> Result<Vec<Connection>, Unmeasured> {
    let begin = |_| endpoint.connect_with(config.clone(), address, SERVER_NAME);
    let begun: Result<Vec<_>, _> = (0..connections).map(begin).collect();
    let mut ready = Vec::with_capacity(connections);
    for connecting in begun.map_err(failed)? {
        ready.push(connecting.await.map_err(failed)?);
    }
    Ok(ready)
}

/// A message on a stream of its own, until the server has it whole.
async fn exchange(connection: &Connection, message: &[u8]) -> Result<(), Unmeasured> {
    let (mut send, mut receive) = connection.open_bi().await.map_err(failed)?;
    send.write_all(message).await.map_err(failed)?;
    send.finish().map_err(failed)?;
    receive.read_to_end(0).await.map_err(failed)?;
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> Unmeasured {
    Unmeasured::because(format!("QUIC on loopback failed: {error}"))
}

/// A block of the theses; that and sizes of one, a few and many packets.
const MESSAGE_BYTES_QUICK: [usize; 1] = [668];
const MESSAGE_BYTES: [usize; 4] = [128, 668, 4096, 65_536];
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Alone, and doubling to more than the cores of any phone.
const CONNECTIONS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const CONNECTIONS_QUICK: [usize; 1] = [8];

/// The application's code for an end without error.
const DONE: VarInt = VarInt::from_u32(0);

/// A thousand times what any of this takes on a phone's core.
const WORK_LIMIT: Duration = Duration::from_secs(10);
