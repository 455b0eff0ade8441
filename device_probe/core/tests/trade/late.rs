//! What comes late: in the next repetition, or after a retransmission.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pocketsim_probe_core::stop::Stop;
use pocketsim_probe_core::trade::ports::Ports;
use pocketsim_probe_core::trade::{Carrier, Outcome};

use super::ends::{options, trade, Listener};

/// Stands before a listener; `judge` says what goes up to it in the place of each datagram, by the
/// port that it came to. Down goes everything.
struct Between {
    address: SocketAddr,
    stop: Stop,
    thread: JoinHandle<()>,
}

impl Between {
    fn with(
        to: SocketAddr,
        judge: impl FnMut(u16, &[u8]) -> Vec<Vec<u8>> + Send + 'static,
    ) -> Self {
        let ports = Ports::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("three ports");
        let address = ports.base.local_addr().expect("bound");
        let stop = Stop::new();
        let raised = stop.clone();
        let thread =
            thread::spawn(move || relay([ports.base, ports.quic, ports.tftp], to, judge, &raised));
        Self {
            address,
            stop,
            thread,
        }
    }

    fn end(self) {
        self.stop.raise();
        self.thread.join().expect("no panic");
    }
}

fn relay(
    fronts: [UdpSocket; 3],
    to: SocketAddr,
    mut judge: impl FnMut(u16, &[u8]) -> Vec<Vec<u8>>,
    stop: &Stop,
) {
    let mut flows: BTreeMap<(u16, SocketAddr), UdpSocket> = BTreeMap::new();
    let mut buffer = vec![0; 65_536];
    for front in &fronts {
        front.set_nonblocking(true).expect("a socket");
    }
    while !stop.is_raised() {
        thread::sleep(Duration::from_micros(200));
        for (port, front) in (0..).zip(&fronts) {
            while let Ok((bytes, client)) = front.recv_from(&mut buffer) {
                let server = SocketAddr::new(to.ip(), to.port() + port);
                let flow = flows
                    .entry((port, client))
                    .or_insert_with(|| upstream(server));
                for datagram in judge(port, &buffer[..bytes]) {
                    flow.send(&datagram).expect("room");
                }
            }
        }
        for ((port, client), flow) in &flows {
            while let Ok(bytes) = flow.recv(&mut buffer) {
                let front = &fronts[usize::from(*port)];
                front.send_to(&buffer[..bytes], client).expect("room");
            }
        }
    }
}

fn upstream(server: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(server).expect("there");
    socket.set_nonblocking(true).expect("a socket");
    socket
}

fn counts(of: &Outcome) -> Vec<u64> {
    of.repetitions.iter().map(|one| one.stored).collect()
}

#[test]
fn a_block_of_the_repetition_before_counts_there_at_both_ends() {
    let listener = Listener::start();
    // The fourth block comes when those of the next repetition do.
    let (mut blocks, mut held) = (0, Vec::new());
    let between = Between::with(listener.address, move |_, datagram| {
        let datagram = datagram.to_vec();
        blocks += u32::from(datagram[0] == b'{');
        match (datagram[0], blocks) {
            (b'{', 4) => {
                held = datagram;
                vec![]
            }
            (b'{', 21) => vec![held.clone(), datagram],
            _ => vec![datagram],
        }
    });
    let mut options = options(between.address, Carrier::Udp);
    options.repetitions = 2;
    let outcome = trade(&options);
    let theirs = listener.end();
    between.end();
    let [first, second] = &outcome.repetitions[..] else {
        panic!("{outcome:#?}")
    };
    // On a busy machine a repetition may end before all twenty are proposed.
    let sent: Vec<u64> = outcome.repetitions.iter().map(|one| one.sent).collect();
    assert!(sent[0] > 4 && sent[0] + sent[1] > 20, "{sent:?}");
    assert_eq!(
        (counts(&outcome), counts(&theirs)),
        (vec![sent[0] - 1, sent[1]], sent)
    );
    assert!(second.complete && !first.complete, "{outcome:#?}");
    assert_eq!(
        (
            first.lost["socket_timeout"],
            first.refused["socket_timeout"]
        ),
        (1, 1)
    );
    assert!(second.refused.is_empty(), "{second:#?}");
}

#[test]
fn the_last_file_is_waited_for_when_its_first_packet_was_lost() {
    let listener = Listener::start();
    // Of the last of twenty files the request, which comes again after 5 s.
    let mut requests = 0;
    let between = Between::with(listener.address, move |port, datagram| {
        let is_request = port == 2 && datagram.starts_with(&[0, 2]);
        requests += u32::from(is_request);
        match is_request && requests == 20 {
            true => vec![],
            false => vec![datagram.to_vec()],
        }
    });
    let outcome = trade(&options(between.address, Carrier::Tftp));
    listener.end();
    between.end();
    assert!(outcome.complete, "{outcome:#?}");
    let longest_s = outcome.repetitions[0].rtt.expect("round trips").maximum_s;
    assert!(longest_s >= 5.0, "or nothing was lost: {longest_s}");
}
