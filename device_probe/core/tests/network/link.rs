//! Two probes in one process: the link between them is measured over loopback.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use super::experiment::{label, measure_within, Samples};
use super::serving::Serving;
use pocketsim_probe_core::kernel::{Case, Depth, Unmeasured};
use pocketsim_probe_core::kernels::{link, Surroundings};
use pocketsim_probe_core::peer::codec::{decode, Kind};
use pocketsim_probe_core::peer::{serve, Addresses, ServeObserver, Stats};
use pocketsim_probe_core::stop::Stop;

fn cases(peer: Option<SocketAddr>, depth: Depth) -> Vec<Case> {
    link::cases(&Surroundings {
        depth,
        scratch: PathBuf::new(),
        peer,
    })
}

fn case(kernel: &str, peer: SocketAddr) -> Case {
    let mut cases = cases(Some(peer), Depth::Quick);
    cases.retain(|case| case.kernel == kernel);
    cases.remove(0)
}

/// One search, and one or two of everything else.
fn measure(case: &Case) -> Result<Samples, Unmeasured> {
    let (samples, limit_s) = match case.kernel {
        "link_udp_goodput" => (1, 60),
        _ => (2, 1),
    };
    measure_within(case, samples, Duration::from_secs(limit_s), &Stop::new())
}

#[test]
fn there_is_no_link_without_a_peer() {
    assert!(cases(None, Depth::Full).is_empty());
}

#[test]
fn the_names_are_those_that_calibration_reads() {
    let peer = "127.0.0.1:1".parse().expect("an address");
    let expected = [
        "link_quic_goodput",
        "link_quic_rtt",
        "link_udp_goodput",
        "link_udp_loss",
        "link_udp_receive",
        "link_udp_reordering",
        "link_udp_rtt",
        "link_udp_rtt_loaded",
        "link_udp_send",
    ];
    for depth in [Depth::Quick, Depth::Full] {
        let cases = cases(Some(peer), depth);
        let kernels: BTreeSet<&str> = cases.iter().map(|case| case.kernel).collect();
        assert_eq!(kernels, BTreeSet::from(expected));
        let labels: BTreeSet<String> = cases.iter().map(label).collect();
        assert_eq!(labels.len(), cases.len(), "no case is there twice");
    }
}

#[test]
fn a_link_is_measured() {
    let serving = Serving::start();
    for case in cases(Some(serving.addresses.udp), Depth::Quick) {
        let samples = measure(&case).unwrap_or_else(|why| panic!("{}: {why}", label(&case)));
        let quantity = match case.kernel {
            "link_udp_rtt" | "link_udp_rtt_loaded" | "link_quic_rtt" => "rtt_s",
            "link_udp_goodput" | "link_quic_goodput" => "goodput_bytes_per_s",
            "link_udp_send" | "link_udp_receive" => "wall_s",
            "link_udp_loss" => "loss_ratio",
            _ => "reordered_ratio",
        };
        let values = &samples[quantity];
        let ratio = quantity.ends_with("_ratio");
        let sound = |value: &f64| match ratio {
            true => (0.0..=1.0).contains(value),
            false => value.is_finite() && *value > 0.0,
        };
        assert!(
            !values.is_empty() && values.iter().all(sound),
            "{}",
            label(&case)
        );
    }
    let stats = serving.end();
    assert!(stats.udp_answered > 0 && stats.udp_counted > 0);
    assert!(stats.quic_connections >= 2 && stats.quic_bytes > 0);
    assert_eq!((stats.quic_failed, stats.quic_turned_away), (0, 0));
    assert!(stats.udp_refused.is_empty(), "{:?}", stats.udp_refused);
}

/// Stands before a probe that serves: loses each fifth data datagram and lets each fourth of a
/// train be overtaken by the next. Ends with the first empty datagram.
fn faulty_link(far: SocketAddr) -> SocketAddr {
    let near = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let onward = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    onward.connect(far).expect("an address");
    let address = near.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let (mut buffer, mut held) = ([0; 2048], None::<Vec<u8>>);
        while let Ok((bytes @ 1.., from)) = near.recv_from(&mut buffer) {
            let datagram = &buffer[..bytes];
            let message = decode(datagram).expect("only a probe knows of it");
            match (message.kind, message.sequence) {
                (Kind::Data, number) if number % 5 == 0 => {}
                (Kind::Data, number) if number % 4 == 1 => held = Some(datagram.to_vec()),
                (Kind::Data, _) => {
                    onward.send(datagram).expect("it listens");
                    if let Some(late) = held.take() {
                        onward.send(&late).expect("it listens");
                    }
                }
                _ => {
                    if let Some(last) = held.take() {
                        onward.send(&last).expect("it listens");
                    }
                    onward.send(datagram).expect("it listens");
                    let bytes = onward.recv(&mut buffer).expect("it answers");
                    near.send_to(&buffer[..bytes], from).expect("it waits");
                }
            }
        }
    });
    address
}

#[test]
fn loss_and_reordering_are_seen() {
    let serving = Serving::start();
    let peer = faulty_link(serving.addresses.udp);
    for (kernel, quantity, expected) in [
        ("link_udp_loss", "loss_ratio", 0.15..=0.5),
        ("link_udp_reordering", "reordered_ratio", 0.1..=0.5),
    ] {
        let limit = Duration::from_secs(5);
        let samples = measure_within(&case(kernel, peer), 2, limit, &Stop::new());
        for value in &samples.expect("it answers")[quantity] {
            // A train is as long as this machine lets it be: a fifth of it is lost, about a fifth
            // of the rest is late.
            assert!(expected.contains(value), "{kernel} {value}");
        }
    }
    let end = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    end.send_to(&[], peer).expect("it listens");
}

#[test]
fn a_train_is_long_enough_for_a_loss_of_one_in_a_hundred() {
    let serving = Serving::start();
    for kernel in ["link_udp_loss", "link_udp_reordering"] {
        let samples = measure(&case(kernel, serving.addresses.udp)).expect("it answers");
        // A machine that lets it sleep too long sends fewer, but never a dozen.
        assert!(samples["sent_datagrams"].iter().all(|sent| *sent >= 100.0));
    }
}

#[test]
fn a_search_without_time_gives_a_reason_and_no_figure() {
    let serving = Serving::start();
    let case = case("link_udp_goodput", serving.addresses.udp);
    let limit = Duration::from_millis(100);
    let refused = measure_within(&case, 1, limit, &Stop::new()).expect_err("no time");
    assert!(refused.to_string().contains("within 0.1 s"), "{refused}");
}

#[test]
fn every_size_gets_through() {
    let serving = Serving::start();
    let mut cases = cases(Some(serving.addresses.udp), Depth::Full);
    cases.retain(|case| matches!(case.kernel, "link_udp_rtt" | "link_quic_rtt"));
    assert!(cases.len() >= 6);
    for case in cases {
        measure(&case).unwrap_or_else(|why| panic!("{}: {why}", label(&case)));
    }
}

#[test]
fn quic_is_one_port_above_udp() {
    let serving = Serving::start();
    let Addresses { udp, quic } = serving.addresses;
    assert_eq!(udp.port() + 1, quic.port());
    assert_eq!(serving.end(), Stats::default());
}

#[test]
fn nobody_at_all_is_said_and_not_waited_for() {
    // Bound and let go, so that nobody listens there.
    let free = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let peer = free.local_addr().expect("it is bound");
    drop(free);
    let refused = measure(&case("link_udp_rtt", peer)).expect_err("nobody listens");
    assert!(refused.to_string().contains("probe serve"), "{refused}");
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let peer = silent.local_addr().expect("it is bound");
    let refused = measure(&case("link_udp_loss", peer)).expect_err("nobody answers");
    assert!(refused.to_string().contains("no answer"), "{refused}");
}

#[test]
fn a_peer_without_quic_is_given_up() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let address = silent.local_addr().expect("it is bound");
    let peer = SocketAddr::new(address.ip(), address.port() - 1);
    let refused = measure(&case("link_quic_rtt", peer)).expect_err("nobody answers");
    assert!(refused.to_string().contains("QUIC"), "{refused}");
}

#[test]
fn a_peer_that_stops_in_the_middle_ends_the_case() {
    let peer = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let case = case("link_udp_rtt", peer.local_addr().expect("it is bound"));
    let measuring = std::thread::spawn(move || {
        // More samples than there is a peer for.
        measure_within(&case, usize::MAX, Duration::MAX, &Stop::new())
    });
    let mut echo = [0; 2048];
    for _ in 0..5 {
        let (bytes, from) = peer.recv_from(&mut echo).expect("it asks");
        echo[5] = Kind::EchoReply as u8;
        peer.send_to(&echo[..bytes], from).expect("it waits");
    }
    let refused = measuring.join().expect("no panic").expect_err("it stopped");
    assert!(refused.to_string().contains("no answer"), "{refused}");
}

#[test]
fn a_stop_ends_a_case_and_keeps_its_samples() {
    let serving = Serving::start();
    let stop = Stop::new();
    let (case, stopping) = (case("link_udp_rtt", serving.addresses.udp), stop.clone());
    let measuring =
        std::thread::spawn(move || measure_within(&case, usize::MAX, Duration::MAX, &stopping));
    while !measuring.is_finished() {
        std::thread::sleep(Duration::from_millis(50));
        stop.raise();
    }
    let measured = measuring.join().expect("no panic");
    if let Ok(samples) = measured {
        assert!(!samples["rtt_s"].is_empty());
    }
}

#[test]
fn taken_ports_are_an_error() {
    struct Nobody;
    impl ServeObserver for Nobody {
        fn bound(&self, _addresses: Addresses) {
            panic!("it must not come to this");
        }
        fn progress(&self, _stats: &Stats) {}
    }
    let serving = Serving::start();
    let Addresses { udp, quic } = serving.addresses;
    for taken in [udp, quic] {
        let refused = serve(taken, &Nobody, &Stop::new()).expect_err("it is taken");
        assert_eq!(refused.kind(), std::io::ErrorKind::AddrInUse);
    }
    let last = SocketAddr::new(udp.ip(), u16::MAX);
    assert!(serve(last, &Nobody, &Stop::new()).is_err(), "no port above");
}
