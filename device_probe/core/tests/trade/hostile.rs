//! Garbage, replays and slow peers: counted, never fatal, and the trade goes on.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use pocketsim_probe_core::quic::{client_config, client_endpoint, SERVER_NAME};
use pocketsim_probe_core::trade::ports::Service;
use pocketsim_probe_core::trade::{Carrier, ListenOptions, Patience};

use super::ends::{options, trade, until, Listener};

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("a port")
}

/// Bytes of every kind, from a small generator: nothing here depends on the seed.
fn garbage(count: u32) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..count).map(move |number| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let head: &[u8] = match number % 6 {
            0 => b"{\"payload\":\"0001\",\"sender_pubkey\":\"",
            1 => b"{",
            2 => b"\xc5pst\x02\x01",
            3 => b"\xc5pst\x06",
            4 => b"\0\x02",
            _ => b"",
        };
        let tail = std::iter::repeat_n((state >> 33) as u8, (state >> 40) as usize % 600);
        head.iter().copied().chain(tail).collect()
    })
}

/// What waits at a UDP port of this machine, in bytes, and how many datagrams were dropped there.
///
/// None if the kernel's table leaves it out, as it does now and then while sockets come and go.
fn kernel_sees(port: u16) -> Option<(u64, u64)> {
    let table = std::fs::read_to_string("/proc/net/udp").expect("Linux");
    let mut rows = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row[1].ends_with(&format!(":{port:04X}")))?;
    let (_, received) = row[4].split_once(':').expect("two queues");
    let waiting = u64::from_str_radix(received, 16).expect("hexadecimal");
    let dropped = row[row.len() - 1].parse().expect("a number");
    Some((waiting, dropped))
}

const SERVICES: [Service; 3] = [Service::Base, Service::Tftp, Service::Quic];

/// Send to the three ports of a listener, no more at once than their buffers hold.
fn flood(listener: &Listener, messages: impl Iterator<Item = Vec<u8>>) {
    let socket = socket();
    let ports = SERVICES.map(|service| service.at(listener.address));
    for (number, bytes) in messages.enumerate() {
        for port in ports {
            socket.send_to(&bytes, port).expect("sent");
        }
        if number % 32 == 31 {
            until(|| ports.iter().all(is_read));
        }
    }
    until(|| ports.iter().all(is_read));
}

/// Whether the listener has read all that was sent to a port of its; none of it may be dropped.
fn is_read(port: &SocketAddr) -> bool {
    kernel_sees(port.port()).is_some_and(|(waiting, dropped)| {
        assert_eq!(dropped, 0, "at {port}");
        waiting == 0
    })
}

#[test]
fn ten_thousand_malformed_datagrams_are_counted_and_the_trade_goes_on() {
    let listener = Listener::start();
    flood(&listener, garbage(10_000));
    for &carrier in Carrier::ALL {
        let mut options = options(listener.address, carrier);
        options.rates_per_s = vec![20.0];
        let outcome = trade(&options);
        assert!(outcome.complete, "{outcome:#?}");
    }
    let counted = listener.end().counted;
    let count = |name: &str| counted.get(name).copied().unwrap_or(0);
    // All are counted, those of two kinds of heads as control and the others as blocks.
    let control = garbage(10_000)
        .filter(|bytes| bytes.starts_with(b"\xc5pst"))
        .count() as u64;
    assert_eq!(count("control_malformed"), control, "{counted:?}");
    assert_eq!(count("malformed") + count("strangers"), 10_000 - control);
    assert_eq!(count("tftp_malformed"), 10_000);
}

/// Open files and threads of this process.
fn held() -> (usize, usize) {
    let count = |path: &str| std::fs::read_dir(path).expect("Linux").count();
    (count("/proc/self/fd"), count("/proc/self/task"))
}

#[test]
fn garbage_leaves_no_files_and_no_threads_behind() {
    // In a process of its own, where nothing else opens and closes files.
    let own = "trade::hostile::garbage_leaves_no_files_and_no_threads_behind";
    if std::env::var_os("ALONE").is_none() {
        let program = std::env::current_exe().expect("this test");
        let mut alone = std::process::Command::new(program);
        let done = alone.args(["--exact", own]).env("ALONE", "1").output();
        let done = done.expect("it runs");
        let said = String::from_utf8_lossy(&done.stdout);
        // Where no test has that name, none fails.
        assert!(done.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let once = || {
        let listener = Listener::start();
        flood(&listener, garbage(300));
        for &carrier in Carrier::ALL {
            assert!(trade(&options(listener.address, carrier)).complete);
        }
        listener.end();
    };
    // The first time, libraries open what they keep.
    once();
    let before = held();
    for _ in 0..3 {
        once();
    }
    // A joined thread may be seen in /proc for a moment.
    until(|| held() == before);
}

#[test]
fn oversized_datagrams_do_no_harm() {
    let listener = Listener::start();
    let socket = socket();
    for _ in 0..100 {
        let _ = socket.send_to(&[b'{'; 65_507], listener.address);
    }
    assert!(trade(&options(listener.address, Carrier::Udp)).complete);
    let counted = listener.end().counted;
    assert!(counted["malformed"] > 0, "{counted:?}");
}

/// Does something unpleasant on a connection to the listener, while another one trades.
fn beside<F, T>(unpleasant: F) -> std::collections::BTreeMap<&'static str, u64>
where
    F: FnOnce(quinn::Connection) -> T,
    T: std::future::Future<Output = ()>,
{
    beside_with(Patience::default().stream, unpleasant)
}

/// The same at a listener that waits so long for a message.
fn beside_with<F, T>(
    stream: Duration,
    unpleasant: F,
) -> std::collections::BTreeMap<&'static str, u64>
where
    F: FnOnce(quinn::Connection) -> T,
    T: std::future::Future<Output = ()>,
{
    let listener = Listener::with(ListenOptions {
        patience: Patience {
            stream,
            ..Patience::default()
        },
        ..ListenOptions::new(([127, 0, 0, 1], 0).into())
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("threads");
    runtime.block_on(async {
        let server = Service::Quic.at(listener.address);
        let mut endpoint = client_endpoint(server).expect("a port");
        endpoint.set_default_client_config(client_config());
        let connecting = endpoint.connect(server, SERVER_NAME).expect("possible");
        let connection = connecting.await.expect("a handshake");
        unpleasant(connection.clone()).await;
        let options = options(listener.address, Carrier::QuicKeep);
        let traded = tokio::task::spawn_blocking(move || trade(&options));
        let outcome = traded.await.expect("no panic");
        assert!(outcome.complete, "{outcome:#?}");
        drop(connection);
    });
    listener.end().counted
}

#[test]
fn a_stream_with_garbage_gets_an_empty_answer() {
    let counted = beside(|connection| async move {
        let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
        send.write_all(b"what is this").await.expect("sent");
        send.finish().expect("once");
        assert_eq!(receive.read_to_end(10).await.expect("an end"), b"");
    });
    assert_eq!(counted["malformed"], 1);
}

#[test]
fn a_stream_that_is_too_long_is_given_up() {
    let counted = beside(|connection| async move {
        let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
        // It is stopped somewhere on the way.
        let _ = send.write_all(&vec![b'{'; 1 << 20]).await;
        let _ = receive.read_to_end(10).await;
    });
    assert_eq!(counted["quic_streams_oversized"], 1);
}

#[test]
fn streams_that_trickle_hold_nobody_up() {
    let counted = beside_with(PATIENCE_SHORT, |connection| async move {
        let mut open = Vec::new();
        for _ in 0..100 {
            let (mut send, receive) = connection.open_bi().await.expect("a stream");
            send.write_all(b"{").await.expect("sent");
            // Left open: neither finished nor reset.
            open.push((send, receive));
        }
        let one_more = tokio::time::timeout(Duration::from_millis(200), connection.open_bi());
        assert!(
            one_more.await.is_err(),
            "a hundred are open, no more are granted"
        );
        for (_, receive) in &mut open {
            assert_eq!(receive.read_to_end(10).await.expect("given up"), b"");
        }
    });
    assert_eq!(counted["quic_streams_slow"], 100);
}

#[test]
fn connections_without_a_block_make_room_for_others() {
    let listener = Listener::with(ListenOptions {
        patience: Patience {
            first_block: Duration::ZERO,
            ..Patience::default()
        },
        ..ListenOptions::new(([127, 0, 0, 1], 0).into())
    });
    let (granted, refused) = connect(&listener, 140);
    assert_eq!((granted, refused), (140, 0));
    let counted = listener.end().counted;
    assert!(counted["quic_connections_evicted"] >= 12, "{counted:?}");
}

#[test]
fn connections_beyond_the_limit_are_refused() {
    let listener = Listener::with(ListenOptions {
        patience: Patience {
            first_block: Duration::from_secs(3_600),
            ..Patience::default()
        },
        ..ListenOptions::new(([127, 0, 0, 1], 0).into())
    });
    assert_eq!(connect(&listener, 140), (128, 12));
    assert_eq!(listener.end().counted["quic_connections_refused"], 12);
}

/// Connect so often and keep what is granted: how many are granted, and how many refused.
fn connect(listener: &Listener, connections: usize) -> (usize, usize) {
    let server = Service::Quic.at(listener.address);
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(async {
        let mut endpoint = client_endpoint(server).expect("a port");
        endpoint.set_default_client_config(client_config());
        let mut granted = Vec::new();
        for _ in 0..connections {
            let connecting = endpoint.connect(server, SERVER_NAME).expect("possible");
            granted.extend(connecting.await);
        }
        (granted.len(), connections - granted.len())
    })
}

/// No stream of a test is so slow, and none that is meant to be waits long.
const PATIENCE_SHORT: Duration = Duration::from_secs(2);
