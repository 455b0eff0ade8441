//! Files and their answers over a network that loses, doubles and delays packets.

use std::net::SocketAddr;
use std::sync::Arc;

use pocketsim_probe_core::trade::tftp::{Action, Pair, Parcel, Wire, SERVICE};
use pocketsim_protocols::contract::{MessageId, NodeId};
use proptest::prelude::*;

const SERVER: u16 = 69;
const FIRST_CLIENT_PORT: u16 = 5_000;

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

/// Contents that tell files apart in every block.
fn content(number: u16, answers: bool) -> Vec<u8> {
    let bytes = usize::from(number) * 331 % 1_500;
    let tag = number * 2 + u16::from(answers);
    tag.to_be_bytes()
        .into_iter()
        .cycle()
        .take(bytes + 2)
        .collect()
}

fn parcel(number: u16, answers: bool) -> Parcel {
    Parcel {
        filename: number.to_string(),
        bytes: Arc::from(content(number, answers)),
        id: MessageId(number.into()),
        to: NodeId(1),
    }
}

/// What the network does to each packet, in steps of 0.1 s: none is lost, several are copies.
type Fates = Box<dyn FnMut() -> Vec<u32>>;

struct Table {
    dialler: Wire,
    listener: Wire,
    /// By arrival: to the listener or not, the pair as the receiver sees it, the packet.
    under_way: Vec<(u32, bool, Pair, Vec<u8>)>,
    fates: Fates,
    asked: Vec<String>,
    answered: Vec<String>,
    failed: usize,
}

impl Table {
    fn new(fates: Fates) -> Self {
        Self {
            dialler: Wire::dialler(),
            listener: Wire::server(),
            under_way: Vec::new(),
            fates,
            asked: Vec::new(),
            answered: Vec::new(),
            failed: 0,
        }
    }

    /// Write so many files, each of which is answered with another, until all is quiet.
    fn trade(mut self, files: u16) -> Self {
        let mut actions = Vec::new();
        for number in 0..files {
            self.dialler
                .put(at(SERVER), parcel(number, false), 0.0, &mut actions);
        }
        self.perform(0, false, actions);
        for step in 0..40_000 {
            self.step(step);
        }
        assert!(!self.dialler.is_writing() && !self.listener.is_writing());
        assert_eq!(
            (self.dialler.transfers().0, self.listener.transfers().0),
            (0, 0)
        );
        self.asked.sort_unstable();
        self.answered.sort_unstable();
        self
    }

    fn step(&mut self, step: u32) {
        let now_s = f64::from(step) * 0.1;
        let arrives = |&(due, ..): &(u32, bool, Pair, Vec<u8>)| due <= step;
        let (due, later) = std::mem::take(&mut self.under_way)
            .into_iter()
            .partition(arrives);
        self.under_way = later;
        for (_, to_listener, pair, packet) in due {
            let mut actions = Vec::new();
            self.end(to_listener)
                .receive(pair, &packet, now_s, &mut actions);
            self.perform(step, to_listener, actions);
        }
        for is_listener in [true, false] {
            let mut actions = Vec::new();
            self.end(is_listener).handle_timeout(now_s, &mut actions);
            self.perform(step, is_listener, actions);
        }
    }

    fn end(&mut self, is_listener: bool) -> &mut Wire {
        match is_listener {
            true => &mut self.listener,
            false => &mut self.dialler,
        }
    }

    fn perform(&mut self, step: u32, is_listener: bool, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send { pair, packet } => {
                    let seen = match is_listener {
                        true => Pair {
                            own: u32::from(pair.peer.port() - FIRST_CLIENT_PORT),
                            peer: at(SERVER),
                        },
                        false => Pair {
                            own: SERVICE,
                            peer: at(FIRST_CLIENT_PORT + pair.own as u16),
                        },
                    };
                    let copies = (self.fates)().into_iter();
                    let packets =
                        copies.map(|later| (step + later, !is_listener, seen, packet.clone()));
                    self.under_way.extend(packets);
                }
                Action::Received(file) if is_listener => {
                    let number: u16 = file.filename.parse().expect("a number");
                    assert!(
                        file.bytes == content(number, false),
                        "blocks of another file"
                    );
                    self.asked.push(file.filename);
                    let mut actions = Vec::new();
                    let now_s = f64::from(step) * 0.1;
                    self.listener
                        .put(file.from, parcel(number, true), now_s, &mut actions);
                    self.perform(step, true, actions);
                }
                Action::Received(file) => {
                    let number: u16 = file.filename.parse().expect("a number");
                    assert!(
                        file.bytes == content(number, true),
                        "blocks of another file"
                    );
                    self.answered.push(file.filename);
                }
                Action::Failed { .. } => self.failed += 1,
            }
        }
    }
}

fn sorted(files: u16) -> Vec<String> {
    let mut names: Vec<String> = (0..files).map(|number| number.to_string()).collect();
    names.sort_unstable();
    names
}

#[test]
fn every_packet_twice_the_second_one_late() {
    let table = Table::new(Box::new(|| vec![1, 25])).trade(40);
    assert_eq!((table.asked, table.answered), (sorted(40), sorted(40)));
    assert_eq!(table.failed, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn copies_and_detours_lose_nothing(
        delays in proptest::collection::vec(proptest::collection::vec(0u32..30, 1..4), 50..200),
    ) {
        let mut fates = delays.into_iter().cycle();
        let table = Table::new(Box::new(move || fates.next().expect("a cycle"))).trade(12);
        prop_assert_eq!((table.asked, table.answered), (sorted(12), sorted(12)));
        prop_assert_eq!(table.failed, 0);
    }

    #[test]
    fn with_losses_as_well_a_file_arrives_whole_and_once_or_is_given_up(
        delays in proptest::collection::vec(proptest::collection::vec(0u32..30, 0..4), 50..200),
    ) {
        let mut fates = delays.into_iter().cycle();
        let table = Table::new(Box::new(move || fates.next().expect("a cycle"))).trade(12);
        for names in [&table.asked, &table.answered] {
            let mut once = names.clone();
            once.dedup();
            prop_assert_eq!(&once, names);
        }
        // What has not arrived was given up; what was given up may have arrived.
        let missing = 12 - table.asked.len() + table.asked.len() - table.answered.len();
        prop_assert!(table.failed >= missing);
    }
}
