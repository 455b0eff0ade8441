//! A serving probe among strangers: it stays up, counts, never says more than it was told, and
//! still serves whoever asks properly.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use super::serving::Serving;
use pocketsim_probe_core::peer::codec::{decode, Counts, Kind, Message, HEADER_BYTES};
use pocketsim_probe_core::quic::{client_config, client_endpoint, SERVER_NAME};
use quinn::{Connection, Endpoint, RecvStream, SendStream};

fn message(kind: Kind, sequence: u64) -> Message {
    Message {
        kind,
        session: 1,
        sequence,
        time_ns: 2,
        counts: Counts::default(),
    }
}

fn stranger(serving: &Serving) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    socket.connect(serving.addresses.udp).expect("an address");
    let long = Some(Duration::from_secs(30));
    socket.set_read_timeout(long).expect("a time");
    socket
}

/// Sends, and waits for the answer to it, which shows that everything before was looked at.
fn answered(socket: &UdpSocket, question: Message, bytes: usize) -> Vec<u8> {
    let mut answer = vec![0; 70_000];
    socket.send(&question.encode(bytes)).expect("it listens");
    let received = socket.recv(&mut answer).expect("it answers");
    answer.truncate(received);
    answer
}

#[test]
fn garbage_is_counted_by_its_reason_and_never_answered() {
    let serving = Serving::start();
    let socket = stranger(&serving);
    let mut version = message(Kind::Echo, 0).encode(100);
    version[4] = 9;
    let mut unknown = message(Kind::Echo, 0).encode(100);
    unknown[5] = 9;
    let mut oversized = message(Kind::Query, 0).encode(0);
    oversized.resize(1400, 0);
    let garbage = [
        ("truncated", vec![]),
        (
            "truncated",
            message(Kind::Echo, 0).encode(0)[..HEADER_BYTES - 1].to_vec(),
        ),
        (
            "truncated",
            message(Kind::Report, 0).encode(0)[..HEADER_BYTES].to_vec(),
        ),
        ("foreign", vec![0xff; 1472]),
        ("foreign", vec![0; 65_507]),
        ("version", version),
        ("unknown_kind", unknown),
        ("oversized", oversized),
        ("unasked", message(Kind::EchoReply, 0).encode(100)),
        ("unasked", message(Kind::Report, 0).encode(0)),
    ];
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    for (reason, datagram) in &garbage {
        socket.send(datagram).expect("it listens");
        *expected.entry(reason).or_default() += 1;
    }
    // The first that comes back is the answer to the first real question.
    let answer = answered(&socket, message(Kind::Echo, 77), 100);
    assert_eq!(decode(&answer), Ok(message(Kind::EchoReply, 77)));
    let stats = serving.end();
    assert_eq!(stats.udp_refused, expected);
    assert_eq!(stats.udp_answered, 1);
}

#[test]
fn ten_thousand_datagrams_of_noise_leave_it_serving() {
    let serving = Serving::start();
    let socket = stranger(&serving);
    let mut noise: u32 = 1;
    for count in 0..10_000_u32 {
        let datagram: Vec<u8> = (0..count % 300)
            .map(|_| {
                // Numerical Recipes' generator: reproducible noise is enough.
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (noise >> 24) as u8
            })
            .collect();
        socket.send(&datagram).expect("it listens");
        if count % 50 == 0 {
            // Keeps the socket buffer from filling up, so that all are looked at.
            answered(&socket, message(Kind::Echo, 0), 100);
        }
    }
    answered(&socket, message(Kind::Echo, 0), 100);
    let stats = serving.end();
    assert_eq!(stats.udp_refused.values().sum::<u64>(), 10_000);
    assert_eq!(stats.udp_answered, 201);
}

#[test]
fn an_answer_is_as_long_as_its_question() {
    let serving = Serving::start();
    let socket = stranger(&serving);
    for bytes in [HEADER_BYTES, 100, 1472, 65_507] {
        assert_eq!(
            answered(&socket, message(Kind::Echo, 0), bytes).len(),
            bytes
        );
    }
    let query = message(Kind::Query, 0);
    assert_eq!(answered(&socket, query, 0).len(), query.encode(0).len());
}

#[test]
fn trains_are_counted_for_whoever_sent_them() {
    let serving = Serving::start();
    let (socket, other) = (stranger(&serving), stranger(&serving));
    for sequence in [0, 1, 3, 2] {
        socket
            .send(&message(Kind::Data, sequence).encode(500))
            .expect("it listens");
    }
    other
        .send(&message(Kind::Data, 0).encode(400))
        .expect("it listens");
    let report = decode(&answered(&socket, message(Kind::Query, 9), 0)).expect("a report");
    let Counts {
        datagrams,
        bytes,
        late,
        ..
    } = report.counts;
    assert_eq!((report.kind, report.sequence), (Kind::Report, 9));
    assert_eq!((datagrams, bytes, late), (4, 2000, 1));
}

/// Strangers over QUIC, in a runtime of their own.
fn over_quic<F: std::future::Future<Output = ()>>(work: F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let limited = async { tokio::time::timeout(Duration::from_secs(60), work).await };
    let done = runtime.expect("threads").block_on(limited);
    done.expect("nothing hangs");
}

async fn connect(
    endpoint: &Endpoint,
    peer: SocketAddr,
) -> Result<Connection, quinn::ConnectionError> {
    let connecting = endpoint.connect_with(client_config(), peer, SERVER_NAME);
    connecting.expect("an address").await
}

async fn open(connection: &Connection, first: &[u8]) -> (SendStream, RecvStream) {
    let (mut send, receive) = connection.open_bi().await.expect("credit");
    send.write_all(first).await.expect("an open stream");
    (send, receive)
}

/// A well-behaved echo, on a connection of its own.
async fn is_served(endpoint: &Endpoint, peer: SocketAddr) {
    let connection = connect(endpoint, peer).await.expect("it serves");
    let (mut send, mut receive) = open(&connection, b"Ehello").await;
    send.finish().expect("an open stream");
    assert_eq!(receive.read_to_end(100).await.expect("an echo"), b"hello");
    connection.close(0_u8.into(), b"");
}

#[test]
fn streams_of_garbage_are_reset_and_counted() {
    let serving = Serving::start();
    let peer = serving.addresses.quic;
    over_quic(async {
        let endpoint = client_endpoint(peer).expect("a socket");
        let connection = connect(&endpoint, peer).await.expect("it serves");
        for first in [&b"X"[..], b"\0\0\0", b"GET / HTTP/1.1\r\n"] {
            let (_send, mut receive) = open(&connection, first).await;
            assert!(receive.read_to_end(100).await.is_err(), "reset");
        }
        let (mut send, mut receive) = open(&connection, b"").await;
        send.finish().expect("an open stream");
        assert!(receive.read_to_end(100).await.is_err(), "reset");
        is_served(&endpoint, peer).await;
    });
    let stats = serving.end();
    assert_eq!((stats.quic_failed, stats.quic_streams), (4, 1));
}

#[test]
fn streams_that_never_finish_leave_room_for_others() {
    let serving = Serving::start();
    let peer = serving.addresses.quic;
    over_quic(async {
        let endpoint = client_endpoint(peer).expect("a socket");
        let connection = connect(&endpoint, peer).await.expect("it serves");
        let mut held = Vec::new();
        for _ in 0..100 {
            held.push(open(&connection, b"Shalf of it").await);
        }
        let one_more = tokio::time::timeout(Duration::from_millis(200), connection.open_bi());
        assert!(one_more.await.is_err(), "no more than quinn's 100 at once");
        is_served(&endpoint, peer).await;
        // A sending half that is dropped on a living connection finishes its stream, which the
        // server then serves: the connection goes first.
        connection.close(0_u8.into(), b"");
        drop(held);
    });
    assert_eq!(serving.end().quic_streams, 1);
}

#[test]
fn a_peer_that_does_not_read_holds_no_more_than_the_window() {
    let serving = Serving::start();
    let peer = serving.addresses.quic;
    over_quic(async {
        let endpoint = client_endpoint(peer).expect("a socket");
        let connection = connect(&endpoint, peer).await.expect("it serves");
        let (mut send, _unread) = open(&connection, b"E").await;
        let mut written = 0;
        let chunk = vec![0; 1 << 16];
        // Until the server's echo does not go on, and so its reading neither.
        while let Ok(write) =
            tokio::time::timeout(Duration::from_secs(1), send.write_all(&chunk)).await
        {
            write.expect("an open stream");
            written += chunk.len();
            assert!(written < 40 << 20, "somebody holds it all");
        }
        is_served(&endpoint, peer).await;
    });
    drop(serving);
}

#[test]
fn streams_of_one_way_and_datagrams_are_not_taken() {
    let serving = Serving::start();
    let peer = serving.addresses.quic;
    over_quic(async {
        let endpoint = client_endpoint(peer).expect("a socket");
        let connection = connect(&endpoint, peer).await.expect("it serves");
        let one_way = tokio::time::timeout(Duration::from_millis(200), connection.open_uni());
        assert!(one_way.await.is_err(), "no credit for them");
        assert_eq!(connection.max_datagram_size(), None);
        is_served(&endpoint, peer).await;
    });
    drop(serving);
}

#[test]
fn too_many_connections_are_turned_away_and_places_come_back() {
    let serving = Serving::start();
    let peer = serving.addresses.quic;
    over_quic(async {
        let endpoint = client_endpoint(peer).expect("a socket");
        let mut held = Vec::new();
        let turned_away = loop {
            match connect(&endpoint, peer).await {
                Ok(connection) => held.push(connection),
                Err(error) => break error,
            }
            assert!(held.len() < 1000, "there is a limit");
        };
        assert!(turned_away.to_string().contains("refused"), "{turned_away}");
        for connection in held.drain(..) {
            connection.close(0_u8.into(), b"");
        }
        while connect(&endpoint, peer).await.is_err() {}
    });
    let stats = serving.end();
    assert!(stats.quic_turned_away >= 1);
    assert!(stats.quic_connections <= 34);
}

#[test]
fn noise_on_the_quic_port_leaves_it_serving() {
    let serving = Serving::start();
    let peer = serving.addresses.quic;
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    for first in 0..=255_u8 {
        for length in [1, 30, 1200, 1472] {
            let datagram = vec![first; length];
            socket.send_to(&datagram, peer).expect("it listens");
        }
    }
    over_quic(async {
        let endpoint = client_endpoint(peer).expect("a socket");
        is_served(&endpoint, peer).await;
    });
    assert_eq!(serving.end().quic_streams, 1);
}
