//! Garbage, replays and slow peers: counted, never fatal, and the trade goes on.

use std::net::UdpSocket;
use std::time::Duration;

use pocketsim_probe_core::quic::{client_config, client_endpoint, SERVER_NAME};
use pocketsim_probe_core::trade::ports::Service;
use pocketsim_probe_core::trade::Carrier;

use super::ends::{options, trade, Listener};

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
            3 => b"\xc5pst\x03",
            4 => b"\0\x02",
            _ => b"",
        };
        let tail = std::iter::repeat_n((state >> 33) as u8, (state >> 40) as usize % 600);
        head.iter().copied().chain(tail).collect()
    })
}

#[test]
fn ten_thousand_malformed_datagrams_are_counted_and_the_trade_goes_on() {
    let listener = Listener::start();
    let socket = socket();
    for bytes in garbage(10_000) {
        for service in [Service::Base, Service::Tftp, Service::Quic] {
            // A full buffer drops; the listener is what is tested, not the kernel.
            let _ = socket.send_to(&bytes, service.at(listener.address));
        }
    }
    for &carrier in Carrier::ALL {
        let mut options = options(listener.address, carrier);
        options.rates_per_s = vec![20.0];
        let outcome = trade(&options);
        assert!(outcome.complete, "{outcome:#?}");
    }
    let counted = listener.end().counted;
    for name in ["malformed", "control_malformed", "tftp_malformed"] {
        assert!(
            counted.get(name).is_some_and(|&count| count > 0),
            "{name}: {counted:?}"
        );
    }
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
    let listener = Listener::start();
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
    beside(|connection| async move {
        for _ in 0..100 {
            let (mut send, receive) = connection.open_bi().await.expect("a stream");
            send.write_all(b"{").await.expect("sent");
            // Left open: neither finished nor reset.
            std::mem::forget((send, receive));
        }
        let one_more = tokio::time::timeout(Duration::from_millis(200), connection.open_bi());
        assert!(
            one_more.await.is_err(),
            "a hundred are open, no more are granted"
        );
    });
}

#[test]
fn connections_beyond_the_limit_are_refused() {
    let listener = Listener::start();
    let server = Service::Quic.at(listener.address);
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let (granted, refused) = runtime.block_on(async {
        let mut endpoint = client_endpoint(server).expect("a port");
        endpoint.set_default_client_config(client_config());
        let mut granted = Vec::new();
        let mut refused = 0;
        for _ in 0..140 {
            match endpoint
                .connect(server, SERVER_NAME)
                .expect("possible")
                .await
            {
                Ok(connection) => granted.push(connection),
                Err(_) => refused += 1,
            }
        }
        (granted.len(), refused)
    });
    assert_eq!((granted, refused), (128, 12));
    assert_eq!(listener.end().counted["quic_connections_refused"], 12);
}
