//! A relay between real sockets on loopback.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pocketsim_probe_core::relay::arrival::{self, ask_for_stamps};
use pocketsim_probe_core::relay::flow::{Way, IN_USE};
use pocketsim_probe_core::relay::queue::Line;
use pocketsim_probe_core::relay::rule::{Bursts, Faults};
use pocketsim_probe_core::relay::socket::Sockets;
use pocketsim_probe_core::relay::statistics::Statistics;
use pocketsim_probe_core::relay::{Options, Relay, IDLE};
use pocketsim_probe_core::stop::Stop;

/// A relay in a thread; `end` gives its statistics.
struct Running {
    address: SocketAddr,
    stop: Stop,
    thread: JoinHandle<io::Result<Statistics>>,
}

impl Running {
    fn with(to: SocketAddr, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = options(to);
        change(&mut options);
        let relay = Relay::bind(&options).unwrap();
        let (address, stop) = (relay.address(), Stop::new());
        let raised = stop.clone();
        let thread = std::thread::spawn(move || relay.run(&raised));
        Self {
            address,
            stop,
            thread,
        }
    }

    fn end(self) -> Statistics {
        self.stop.raise();
        self.thread.join().unwrap().unwrap()
    }
}

fn options(to: SocketAddr) -> Options {
    Options {
        listen: loopback(0),
        to,
        ports: 1,
        up: Faults::default(),
        down: Faults::default(),
        seed: 1,
        idle: IDLE,
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind(loopback(0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 65_536];
    let (bytes, from) = socket.recv_from(&mut buffer).unwrap();
    buffer.truncate(bytes);
    (buffer, from)
}

/// Payload of the n-th datagram: all lengths that matter, every byte depends on `number`.
/// More than fit into the files that most systems let a process begin with, 1024.
const CLIENTS: u32 = 1000;

fn payload(number: u32) -> Vec<u8> {
    let bytes = [0, 1, 100, 1472, 9000][number as usize % 5];
    (0..bytes)
        .map(|at: u32| (at ^ number.wrapping_mul(31)) as u8)
        .collect()
}

#[test]
fn a_thousand_datagrams_come_through_unchanged_in_both_directions() {
    let (server, client) = (socket(), socket());
    let relay = Running::with(server.local_addr().unwrap(), |_| ());
    for number in 0..1000 {
        client.send_to(&payload(number), relay.address).unwrap();
        let (up, through) = receive(&server);
        assert_eq!(up, payload(number));
        server.send_to(&payload(number + 1), through).unwrap();
        assert_eq!(receive(&client), (payload(number + 1), relay.address));
    }
    let statistics = relay.end();
    for counts in [&statistics.up, &statistics.down] {
        assert_eq!(counts.received_datagrams, 1000);
        assert_eq!(counts.delivered_datagrams, 1000);
        assert_eq!(counts.received_bytes, counts.delivered_bytes);
        assert_eq!(counts.missed_datagrams, 0);
        assert!(counts.dropped_datagrams.is_empty());
        assert!(counts.lateness.p50_s <= counts.lateness.p99_s);
        assert!(counts.lateness.p50_s.unwrap() > 0.0);
        assert!(counts.lateness.mean_s.unwrap() > 0.0);
        assert!(counts.lateness.mean_s <= counts.lateness.maximum_s);
    }
    assert_eq!((statistics.flows_opened, statistics.flows_closed), (1, 0));
}

#[test]
fn the_largest_datagram_fits() {
    let (server, client) = (socket(), socket());
    let relay = Running::with(server.local_addr().unwrap(), |_| ());
    client.send_to(&vec![7; 65_507], relay.address).unwrap();
    assert_eq!(receive(&server).0, vec![7; 65_507]);
    relay.end();
}

#[test]
fn a_thousand_clients_in_a_moment_are_all_heard() {
    let server = socket();
    let relay = Running::with(server.local_addr().unwrap(), |_| ());
    let clients: Vec<_> = (0..CLIENTS).map(|_| socket()).collect();
    for (number, client) in (0..).zip(&clients) {
        client.send_to(&payload(number), relay.address).unwrap();
        assert_eq!(receive(&server).0, payload(number));
    }
    assert_eq!(relay.end().flows_opened, CLIENTS as u64);
}

#[test]
fn clients_are_told_apart() {
    let (server, clients) = (socket(), [socket(), socket(), socket()]);
    let relay = Running::with(server.local_addr().unwrap(), |_| ());
    let mut sources = BTreeSet::new();
    for (name, client) in (0u8..).zip(&clients) {
        client.send_to(&[name], relay.address).unwrap();
        let (content, through) = receive(&server);
        sources.insert(through);
        server.send_to(&content, through).unwrap();
    }
    for (name, client) in (0u8..).zip(&clients) {
        assert_eq!(receive(client), (vec![name], relay.address));
    }
    assert_eq!(sources.len(), 3);
    assert_eq!(relay.end().flows_opened, 3);
}

#[test]
fn each_port_leads_to_its_own() {
    let (first, second) = two_consecutive();
    let client = socket();
    let relay = Running::with(first.local_addr().unwrap(), |options| options.ports = 2);
    let next = loopback(relay.address.port() + 1);
    client.send_to(b"second", next).unwrap();
    let (content, through) = receive(&second);
    assert_eq!(content, b"second");
    second.send_to(b"answer", through).unwrap();
    assert_eq!(receive(&client), (b"answer".to_vec(), next));
    client.send_to(b"first", relay.address).unwrap();
    assert_eq!(receive(&first).0, b"first");
    relay.end();
}

fn two_consecutive() -> (UdpSocket, UdpSocket) {
    let pair = || {
        let first = socket();
        let port = first.local_addr().unwrap().port().checked_add(1)?;
        let second = UdpSocket::bind(loopback(port)).ok()?;
        second.set_read_timeout(Some(PATIENCE)).unwrap();
        Some((first, second))
    };
    (0..20).find_map(|_| pair()).expect("free neighbours")
}

#[test]
fn a_server_that_answers_from_a_new_port_reaches_the_client_from_a_new_port() {
    let (server, client) = (socket(), socket());
    let relay = Running::with(server.local_addr().unwrap(), |_| ());
    client.send_to(b"write request", relay.address).unwrap();
    let (_, through) = receive(&server);

    let transfers = [socket(), socket()]; // two transfer ids of the server
    let doors = transfers.each_ref().map(|transfer| {
        transfer.send_to(b"ack 0", through).unwrap();
        receive(&client).1
    });
    assert_eq!(BTreeSet::from([relay.address, doors[0], doors[1]]).len(), 3);

    for (transfer, door) in transfers.iter().zip(doors) {
        client.send_to(b"data 1", door).unwrap();
        assert_eq!(receive(transfer), (b"data 1".to_vec(), through));
        transfer.send_to(b"ack 1", through).unwrap();
        assert_eq!(
            receive(&client),
            (b"ack 1".to_vec(), door),
            "the same door again"
        );
    }
    let statistics = relay.end();
    assert_eq!(
        (
            statistics.up.delivered_datagrams,
            statistics.down.delivered_datagrams
        ),
        (3, 4)
    );
}

#[test]
fn a_stranger_at_a_door_is_counted_and_not_let_in() {
    let (server, client, stranger) = (socket(), socket(), socket());
    let relay = Running::with(server.local_addr().unwrap(), |_| ());
    client.send_to(b"write request", relay.address).unwrap();
    let (_, through) = receive(&server);
    let transfer = socket();
    transfer.send_to(b"ack 0", through).unwrap();
    let (_, door) = receive(&client);
    stranger.send_to(b"data 1", door).unwrap();
    client.send_to(b"data 1 of the client", door).unwrap();
    assert_eq!(receive(&transfer).0, b"data 1 of the client");
    let statistics = relay.end();
    assert_eq!(statistics.up.dropped_datagrams["unknown_sender"], 1);
}

#[test]
fn delay_is_never_less_than_asked_for() {
    let (server, client) = (socket(), socket());
    let relay = Running::with(server.local_addr().unwrap(), |options| {
        options.up.delay_s = 0.02;
        options.down.delay_s = 0.01;
    });
    for number in 0..5 {
        let began = Instant::now();
        client.send_to(&payload(number), relay.address).unwrap();
        let (content, through) = receive(&server);
        assert!(began.elapsed() >= Duration::from_millis(20));
        server.send_to(&content, through).unwrap();
        receive(&client);
        assert!(began.elapsed() >= Duration::from_millis(30));
    }
    relay.end();
}

#[test]
fn what_waits_in_the_socket_of_the_relay_counts() {
    let (server, client, _stamped) = (socket(), socket(), stamped_socket());
    let mut options = options(server.local_addr().unwrap());
    options.up.delay_s = 0.01;
    let relay = Relay::bind(&options).unwrap();
    client.send_to(b"early", relay.address()).unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(30) {
        std::thread::yield_now(); // nobody reads yet
    }
    let stop = Stop::new();
    let up = std::thread::scope(|scope| {
        let running = scope.spawn(|| relay.run(&stop));
        assert_eq!(receive(&server).0, b"early");
        stop.raise();
        running.join().unwrap().unwrap().up
    });
    let added_s = up.delay_added.maximum_s.unwrap();
    let late_s = up.lateness.maximum_s.unwrap();
    assert!(added_s >= 0.03, "{added_s}");
    assert!(late_s >= 0.02, "{late_s}");
    // Both to three digits.
    assert!((added_s - late_s - 0.01).abs() < 2e-3 * added_s);
}

/// While it is open the kernel stamps on arrival; Linux switches that on in the background, and
/// until then stamps when a datagram is read.
fn stamped_socket() -> UdpSocket {
    let (stamped, sender) = (socket(), socket());
    ask_for_stamps(&stamped);
    let began = Instant::now();
    loop {
        sender
            .send_to(b"now", stamped.local_addr().unwrap())
            .unwrap();
        let sent = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let received = arrival::receive(&stamped, &mut [0; 10]).unwrap();
        assert_eq!(
            (received.bytes, received.from),
            (3, sender.local_addr().unwrap())
        );
        if received.stamp.expect("Linux stamps") <= sent {
            return stamped;
        }
        assert!(began.elapsed() < PATIENCE, "never stamped on arrival");
    }
}

#[test]
fn what_is_lost_is_counted() {
    let (server, client) = (socket(), socket());
    let relay = Running::with(server.local_addr().unwrap(), |options| {
        options.up.loss_ratio = 1.0;
        options.down.duplicate_ratio = 1.0;
    });
    let both = Running::with(relay.address, |_| ());
    client.send_to(b"lost", both.address).unwrap();
    wait_for_nothing(&server);
    assert_eq!(both.end().up.delivered_datagrams, 1);
    let statistics = relay.end();
    assert_eq!(statistics.up.dropped_datagrams["loss"], 1);
    assert_eq!(statistics.up.delivered_datagrams, 0);
}

#[test]
fn bursts_on_sockets_are_those_of_the_rule() {
    let (server, client) = (socket(), socket());
    let faults = Faults {
        loss_ratio: 0.01,
        bursts: Some(Bursts {
            share: 0.2,
            mean_packets: 5.0,
            loss_ratio: 0.9,
        }),
        ..Faults::default()
    };
    let relay = Running::with(server.local_addr().unwrap(), |options| {
        options.up = faults.clone();
    });
    let mut rule = Line::new(&faults, 1, "up");
    let mut expected = 0;
    for first in (0..1000u32).step_by(50) {
        for number in first..first + 50 {
            rule.offer(1, number, 4, Duration::ZERO);
            client
                .send_to(&number.to_be_bytes(), relay.address)
                .unwrap();
        }
        while let Some((_, number, _)) = rule.pop_due(Duration::ZERO) {
            assert_eq!(receive(&server).0, number.to_be_bytes());
            expected += 1;
        }
    }
    assert!((700..900).contains(&expected), "{expected}");
    let up = relay.end().up;
    assert_eq!(up.delivered_datagrams, expected);
    // What came last may have been lost after the last that arrived was read.
    let lost = up.dropped_datagrams["loss"];
    assert!(lost <= 1000 - expected && lost > 0, "{lost}");
}

/// Nothing comes within the time that everything else takes many times over.
fn wait_for_nothing(socket: &UdpSocket) {
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    assert!(socket.recv_from(&mut [0; 10]).is_err());
}

#[test]
fn a_copy_arrives_too() {
    let (server, client) = (socket(), socket());
    let relay = Running::with(server.local_addr().unwrap(), |options| {
        options.up.duplicate_ratio = 1.0;
    });
    client.send_to(b"twice", relay.address).unwrap();
    assert_eq!(receive(&server), receive(&server));
    let up = relay.end().up;
    assert_eq!(
        (
            up.received_datagrams,
            up.duplicated_datagrams,
            up.delivered_datagrams
        ),
        (1, 1, 2)
    );
}

#[test]
fn an_idle_flow_is_closed_and_opened_anew() {
    let (server, client) = (socket(), socket());
    let relay = Running::with(server.local_addr().unwrap(), |options| {
        options.idle = IN_USE;
    });
    client.send_to(b"first", relay.address).unwrap();
    let (_, through) = receive(&server);
    // The flow is gone when its socket no longer takes what it would count.
    let gone = || UdpSocket::bind(loopback(through.port())).is_ok();
    let began = Instant::now();
    while !gone() {
        assert!(began.elapsed() < PATIENCE, "the flow never expired");
        std::thread::yield_now();
    }
    client.send_to(b"second", relay.address).unwrap();
    assert_eq!(receive(&server).0, b"second");
    let statistics = relay.end();
    assert_eq!(statistics.flows_opened, 2);
    assert!(statistics.flows_closed >= 1);
}

#[test]
fn what_the_system_dropped_is_known() {
    let mut sockets = Sockets::new().unwrap();
    let way = Way::Front(0);
    sockets.open(way, loopback(0)).unwrap();
    let (address, sender) = (sockets.get(way).unwrap().local_addr().unwrap(), socket());
    let sent = 400; // 24 MB: more than any receive buffer here
    for _ in 0..sent {
        sender.send_to(&vec![0; 60_000], address).unwrap();
    }
    let reader = sockets.get(way).unwrap();
    let read = std::iter::from_fn(|| reader.recv_from(&mut [0; 10]).ok()).count() as u64;
    assert!(0 < read && read < sent, "{read}");
    assert_eq!(sockets.close(way), sent - read);
    assert_eq!(sockets.close(way), 0, "closed once");
}

#[test]
fn ports_that_are_taken_are_refused() {
    let taken = socket();
    let mut options = options(loopback(9));
    options.listen = taken.local_addr().unwrap();
    assert_eq!(
        Relay::bind(&options).unwrap_err().kind(),
        io::ErrorKind::AddrInUse
    );
}

#[test]
fn impossible_options_are_refused() {
    let mut beyond = options(loopback(65_535));
    beyond.ports = 3;
    let error = Relay::bind(&beyond).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("highest first port is 65533"));
    let mut nowhere = options(loopback(0));
    nowhere.ports = 1;
    assert!(Relay::bind(&nowhere)
        .unwrap_err()
        .to_string()
        .contains("its port is 0"));
    let everywhere = options(SocketAddr::from(([0, 0, 0, 0], 9)));
    assert!(Relay::bind(&everywhere)
        .unwrap_err()
        .to_string()
        .contains("0.0.0.0 is every address"));
    let mut hasty = options(loopback(9));
    hasty.idle = IN_USE - Duration::from_nanos(1);
    assert!(Relay::bind(&hasty)
        .unwrap_err()
        .to_string()
        .contains("is less than 2 s"));
    let mut faulty = options(loopback(9));
    faulty.down.loss_ratio = -0.1;
    assert!(Relay::bind(&faulty)
        .unwrap_err()
        .to_string()
        .contains("down: loss_ratio -0.1"));
}

/// Longer than a busy machine makes a datagram on loopback wait.
const PATIENCE: Duration = Duration::from_secs(20);
