//! Both ends of a trade on loopback, every carrier; and what the other tests need of them.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pocketsim_probe_core::stop::Stop;
use pocketsim_probe_core::trade::outcome::Role;
use pocketsim_probe_core::trade::{
    dial, listen, Carrier, DialOptions, ListenOptions, Outcome, Pacing, Progress, TradeError,
    TradeObserver,
};

/// Looks at progress, and passes on where a listener is.
struct Watch {
    address: mpsc::Sender<SocketAddr>,
    look: Box<dyn Fn(&Progress) + Sync>,
}

impl TradeObserver for Watch {
    fn progress(&self, progress: &Progress) {
        (self.look)(progress);
    }

    fn listening(&self, address: SocketAddr) {
        self.address.send(address).expect("the test waits for it");
    }
}

/// A listener in a thread.
pub struct Listener {
    pub address: SocketAddr,
    pub stop: Stop,
    thread: JoinHandle<Result<Outcome, TradeError>>,
}

impl Listener {
    pub fn start() -> Self {
        Self::with(ListenOptions::new(SocketAddr::from(([127, 0, 0, 1], 0))))
    }

    pub fn with(options: ListenOptions) -> Self {
        let stop = Stop::new();
        let stopped = stop.clone();
        let (send, addresses) = mpsc::channel();
        let thread = thread::spawn(move || {
            let look = Box::new(|_: &Progress| {});
            let address = send;
            listen(&options, &Watch { address, look }, &stopped)
        });
        let address = addresses.recv_timeout(PATIENCE).expect("it listens");
        Self {
            address,
            stop,
            thread,
        }
    }

    pub fn end(self) -> Outcome {
        self.stop.raise();
        self.thread.join().expect("no panic").expect("no error")
    }
}

/// A short trade with a listener.
pub fn options(peer: SocketAddr, carrier: Carrier) -> DialOptions {
    DialOptions {
        rates_per_s: vec![100.0],
        duration: Duration::from_millis(200),
        repetitions: 1,
        pause: Duration::ZERO,
        ..DialOptions::new(peer, carrier)
    }
}

pub fn trade(options: &DialOptions) -> Outcome {
    watched(options, &Stop::new(), |_| {})
}

pub fn watched(
    options: &DialOptions,
    stop: &Stop,
    look: impl Fn(&Progress) + Sync + 'static,
) -> Outcome {
    let (address, _unused) = mpsc::channel();
    let look = Box::new(look);
    dial(options, &Watch { address, look }, stop).expect("a trade")
}

/// Waits for a condition, not for a time.
pub fn until(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "it never came true");
        thread::sleep(Duration::from_millis(2));
    }
}

pub const PATIENCE: Duration = Duration::from_secs(60);
/// That a listener lets a dialler have open at a time.
const STREAMS: u64 = 100;

fn completes(carrier: Carrier) {
    let listener = Listener::start();
    let mut options = options(listener.address, carrier);
    options.rates_per_s = vec![20.0, 40.0];
    options.repetitions = 2;
    let outcome = trade(&options);
    assert!(outcome.complete, "{outcome:#?}");
    assert_eq!(
        (outcome.role, outcome.carrier),
        (Role::Dialler, Some(carrier.name()))
    );
    let sent: Vec<u64> = outcome.repetitions.iter().map(|one| one.sent).collect();
    assert_eq!(sent, [4, 4, 8, 8]);
    for one in &outcome.repetitions {
        let rtt = one.rtt.expect("round trips");
        assert_eq!(rtt.count, one.stored);
        assert!(0.0 < rtt.p50_s && rtt.p50_s <= rtt.p99_s && rtt.p99_s <= rtt.maximum_s);
    }
    let theirs = listener.end();
    let stored: Vec<u64> = theirs.repetitions.iter().map(|one| one.stored).collect();
    assert_eq!(
        (stored, theirs.counted.len()),
        (sent, 0),
        "{:?}",
        theirs.counted
    );
}

#[test]
fn udp_loses_nothing_on_loopback() {
    completes(Carrier::Udp);
}

#[test]
fn a_kept_connection_loses_nothing() {
    completes(Carrier::QuicKeep);
}

#[test]
fn messages_that_wait_for_a_stream_of_a_kept_connection_go_in_turn() {
    let listener = Listener::start();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.jsonl");
    let outcome = trade(&DialOptions {
        // All at once: far more than any core signs. A core that does much else signs 350 in 200 ms.
        rates_per_s: vec![100_000.0],
        duration: Duration::from_secs(1),
        output: Some(path.clone()),
        ..options(listener.address, Carrier::QuicKeep)
    });
    listener.end();
    let sent = outcome.repetitions[0].sent;
    assert!(sent > 5 * STREAMS, "only {sent} at once");
    let events = std::fs::read_to_string(path).expect("there");
    let stored = events.lines().filter_map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
        (event["kind"] == "store").then(|| event["message_id"].as_u64().expect("a number"))
    });
    let stored: Vec<u64> = stored.collect();
    assert_eq!(stored.len() as u64, sent);
    let first = stored.iter().min().expect("some");
    // Those of the streams that are open at a time end in any order, whoever is under way.
    let places = stored.iter().enumerate();
    let late = places.map(|(place, message)| (place as u64).abs_diff(message - first));
    let mut late: Vec<u64> = late.collect();
    late.sort_unstable();
    // A thread that the system has taken the core from may hold some of them.
    let most = late[late.len() * 9 / 10];
    assert!(most < 2 * STREAMS, "{most} of {sent} others came between");
}

#[test]
fn reconnecting_loses_nothing() {
    completes(Carrier::QuicReconnect);
}

#[test]
fn tftp_loses_nothing() {
    completes(Carrier::Tftp);
}

#[test]
fn several_diallers_at_once_and_one_after_the_other() {
    let listener = Listener::start();
    let address = listener.address;
    let carriers = [Carrier::Udp, Carrier::QuicKeep, Carrier::Tftp];
    let threads = carriers.map(|carrier| thread::spawn(move || trade(&options(address, carrier))));
    for thread in threads {
        let outcome = thread.join().expect("no panic");
        assert!(outcome.complete, "{outcome:#?}");
    }
    assert!(trade(&options(address, Carrier::Udp)).complete);
    let theirs = listener.end();
    let mut diallers: Vec<u32> = theirs.repetitions.iter().map(|one| one.dialler).collect();
    diallers.sort_unstable();
    assert_eq!(diallers, [1, 2, 3, 4]);
}

#[test]
fn a_large_payload_arrives_by_every_carrier() {
    let listener = Listener::start();
    for &carrier in Carrier::ALL {
        let mut options = options(listener.address, carrier);
        options.payload_bytes = 20_000;
        options.rates_per_s = vec![20.0];
        let outcome = trade(&options);
        assert!(outcome.complete, "{outcome:#?}");
    }
    listener.end();
}

#[test]
fn both_ends_write_their_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| Some(folder.path().join(name));
    let bind = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::with(ListenOptions {
        output: file("listener.jsonl"),
        ..ListenOptions::new(bind)
    });
    let mut options = options(listener.address, Carrier::Udp);
    options.output = file("dialler.csv");
    options.pacing = Pacing::App;
    let sent = trade(&options).repetitions[0].sent as usize;
    listener.end();
    let lines = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join(name)).expect("written");
        text.lines().count()
    };
    assert_eq!(lines("listener.jsonl"), 2 * sent, "process and store_peer");
    assert_eq!(
        lines("dialler.csv"),
        1 + 3 * sent,
        "send, receive_back and store"
    );
}

#[test]
fn a_stopped_trade_says_so_and_writes_what_it_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.csv");
    let listener = Listener::start();
    let mut options = options(listener.address, Carrier::Udp);
    options.duration = Duration::from_secs(1_000);
    options.output = Some(path.clone());
    let stop = Stop::new();
    let stopper = stop.clone();
    let outcome = watched(&options, &stop, move |progress| {
        if progress.stored >= 5 {
            stopper.raise();
        }
    });
    assert!(outcome.stopped && !outcome.complete);
    assert!(outcome.repetitions[0].stopped && outcome.repetitions[0].stored >= 5);
    let agrees = |one: &pocketsim_probe_core::trade::outcome::Repetition| {
        one.listener.as_ref().is_some_and(|says| says.agrees)
    };
    assert!(agrees(&outcome.repetitions[0]));
    let text = std::fs::read_to_string(path).expect("written");
    assert!(text.contains("probe_stopped#0"));
    listener.end();
}

#[test]
fn impossible_options_are_named() {
    let peer = SocketAddr::from(([127, 0, 0, 1], 4_747));
    let refused = |change: &dyn Fn(&mut DialOptions)| {
        let mut options = options(peer, Carrier::Udp);
        change(&mut options);
        let (address, _unused) = mpsc::channel();
        let look = Box::new(|_: &Progress| {});
        match dial(&options, &Watch { address, look }, &Stop::new()) {
            Err(TradeError::Option(option, _)) => option,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&|options| options.peer.set_port(0)), "peer");
    assert_eq!(refused(&|options| options.peer.set_port(65_534)), "peer");
    assert_eq!(
        refused(&|options| options.peer.set_ip([0, 0, 0, 0].into())),
        "peer"
    );
    assert_eq!(refused(&|options| options.rates_per_s.clear()), "rate");
    assert_eq!(
        refused(&|options| options.rates_per_s = vec![f64::NAN]),
        "rate"
    );
    assert_eq!(refused(&|options| options.rates_per_s = vec![-1.0]), "rate");
    assert_eq!(
        refused(&|options| options.payload_bytes = 65_000),
        "payload"
    );
    assert_eq!(
        refused(&|options| options.duration = Duration::ZERO),
        "duration"
    );
    assert_eq!(
        refused(&|options| options.rates_per_s = vec![0.1]),
        "duration"
    );
    assert_eq!(refused(&|options| options.pause = Duration::MAX), "pause");
    assert_eq!(refused(&|options| options.repetitions = 0), "repetitions");
    assert_eq!(
        refused(&|options| options.output = Some("a.xls".into())),
        "output"
    );
}

#[test]
fn a_port_that_is_taken_is_said() {
    let listener = Listener::start();
    let (address, _unused) = mpsc::channel();
    let look = Box::new(|_: &Progress| {});
    let options = ListenOptions::new(listener.address);
    let error = listen(&options, &Watch { address, look }, &Stop::new()).expect_err("taken");
    assert!(
        matches!(error, TradeError::Io(error) if error.kind() == std::io::ErrorKind::AddrInUse)
    );
    listener.end();
}

#[test]
fn the_app_s_pacing_falls_short_and_is_complete_all_the_same() {
    let listener = Listener::start();
    let mut options = options(listener.address, Carrier::Udp);
    options.pacing = Pacing::App;
    // Each takes more than the interval of sleep, so the time is up before the last.
    options.rates_per_s = vec![1_000.0];
    let outcome = trade(&options);
    let one = &outcome.repetitions[0];
    assert!(one.sent < 200, "{one:#?}");
    assert_eq!(one.not_proposed["late"], 200 - one.sent);
    assert!(one.complete && outcome.complete, "{outcome:#?}");
    listener.end();
}

#[test]
fn rates_and_round_trips_are_those_of_the_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dialler.jsonl");
    let listener = Listener::start();
    let mut options = options(listener.address, Carrier::QuicReconnect);
    options.output = Some(path.clone());
    let outcome = trade(&options);
    listener.end();
    let text = std::fs::read_to_string(path).expect("written");
    let rows = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let rows: Vec<serde_json::Value> = rows.collect();
    let times = |kind: &str| {
        let rows = rows.iter().filter(|row| row["kind"] == kind);
        rows.map(|row| {
            (
                row["message_id"].as_u64(),
                row["time_s"].as_f64().expect("a number"),
            )
        })
        .collect::<Vec<_>>()
    };
    let (sent, stored) = (times("send"), times("store"));
    assert_eq!(sent[0].1, 0.0, "the first proposal is time zero");
    let last_s = sent
        .iter()
        .chain(&stored)
        .map(|row| row.1)
        .fold(0.0, f64::max);
    let one = &outcome.repetitions[0];
    let near = |figure: Option<f64>, value: f64| (figure.expect("a figure") - value).abs() < 1e-6;
    assert!(near(one.window_s, last_s), "{one:#?}");
    assert!(near(one.stored_per_s, stored.len() as f64 / last_s));
    let mut trips: Vec<f64> = stored
        .iter()
        .map(|(message, at_s)| at_s - sent.iter().find(|row| row.0 == *message).expect("sent").1)
        .collect();
    trips.sort_by(f64::total_cmp);
    let rtt = one.rtt.expect("round trips");
    assert!(near(Some(rtt.maximum_s), trips[trips.len() - 1]));
    assert!(rtt.mean_s > one.response.expect("responses").mean_s);
}
