//! The time that a run has left: what its steps took, on a clock that moves only when it is told to.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use pocketsim_probe_core::clock::TimeSource;
use pocketsim_probe_core::host::{Host, Properties, Tree};
use pocketsim_probe_core::kernel::{Case, Depth, Series, Work};
use pocketsim_probe_core::report::Measurement;
use pocketsim_probe_core::run::remaining::{Expected, Remaining};
use pocketsim_probe_core::run::{run_in, Observer, Options, Position, World};
use pocketsim_probe_core::stop::Stop;

use super::fakes::{experiment, steady, wait, FINE};

fn expected(given_s: f64, is_repeated: bool) -> Expected {
    Expected {
        given_s,
        is_repeated,
    }
}

fn close(left_s: f64, expected_s: f64) {
    assert!(
        (left_s - expected_s).abs() < 1e-9,
        "{left_s} s, not {expected_s} s"
    );
}

#[test]
fn before_anything_has_come_steps_take_what_they_are_given() {
    let remaining = Remaining::of(vec![expected(0.1, true), expected(0.3, false)]);
    close(remaining.left_s(&[0, 1, 0, 1], 0.0), 0.8);
}

#[test]
fn steps_that_come_again_take_as_long_as_before() {
    let mut remaining = Remaining::of(vec![expected(0.1, true), expected(0.3, false)]);
    remaining.took(0, 0.2);
    remaining.took(1, 4.0);
    close(remaining.left_s(&[0, 1], 4.2), 4.2);
}

#[test]
fn steps_to_come_take_what_others_of_their_kind_took_of_their_time() {
    let kinds = [true, true, false, false].map(|is_repeated| expected(0.2, is_repeated));
    let mut remaining = Remaining::of(kinds.to_vec());
    remaining.took(0, 0.4); // twice its time
    remaining.took(2, 0.1); // half of it
    close(remaining.left_s(&[1], 0.5), 0.4);
    close(remaining.left_s(&[3], 0.5), 0.1);
}

#[test]
fn what_lies_between_steps_goes_on() {
    let mut remaining = Remaining::of(vec![expected(1.0, true); 2]);
    remaining.took(0, 1.0);
    close(remaining.left_s(&[1], 1.5), 1.5);
    close(remaining.left_s(&[], 1.5), 0.0);
}

/// What was said at each step, and when.
#[derive(Default)]
struct Said(Mutex<Vec<(Position, f64)>>);

impl Observer for Said {
    fn started(&self, position: &Position, _case: &Case) {
        self.0.lock().unwrap().push((*position, FINE.wall_s()));
    }

    fn measured(&self, _measurement: &Measurement) {}
}

/// An experiment that waits for so long, whatever its budget is.
fn waiting(duration_s: f64) -> Case {
    let mut case = experiment("waiting", "rtt_s", vec![]);
    case.work = Work::Experiment(Arc::new(move |_| {
        wait(duration_s);
        let values = vec![duration_s];
        Ok(vec![Series {
            quantity: "rtt_s",
            values,
        }])
    }));
    case
}

#[test]
fn a_run_says_how_long_it_will_take() {
    let folder = tempfile::tempdir().unwrap();
    let world = World {
        host: Host::read(Tree::new(folder.path()), Properties::parse("")),
        time: &FINE,
        catalogue: [2.0, 8.0, 0.5, 20.0].map(waiting).to_vec(),
        fixed_kernel: Arc::new(|| Ok(Box::new(steady(1e-4)))),
        started_at: SystemTime::UNIX_EPOCH,
        core_to_core_s: || None,
    };
    let options = Options {
        threads_max: Some(1),
        ..Options::new(Depth::Quick, "unused")
    };
    let said = Said::default();
    run_in(&world, &options, &said, &Stop::new()).unwrap();
    let end_s = FINE.wall_s();
    let said = said.0.into_inner().unwrap();
    let numbers: Vec<_> = said.iter().map(|(position, _)| position.number).collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
    assert!(said.iter().all(|(position, _)| position.total == 8));
    // Every step has come once: what is left is known but for what lies between steps.
    for (position, now_s) in &said[4..] {
        let truth_s = end_s - now_s;
        let ratio = position.left_s / truth_s;
        assert!((0.9..=1.1).contains(&ratio), "{position:?}: {truth_s} s");
    }
}
