//! Cores that are to be near each other, and never are.

use std::sync::atomic::{AtomicU32, Ordering};

use pocketsim_probe_core::kernel::{Case, Depth, Group, Unmeasured};
use pocketsim_probe_core::report::{Condition, Report};
use pocketsim_probe_core::run::near::TwoCores;
use pocketsim_probe_core::run::{run_in, World};
use pocketsim_probe_core::stop::Stop;

use super::{conditions, options, Device};
use crate::fakes::{experiment, repeated, work, Counter};

#[derive(Default)]
struct Far {
    looks: AtomicU32,
}

impl TwoCores for Far {
    fn latency_s(&self) -> Result<f64, Unmeasured> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        Ok(200e-9)
    }

    fn bring_near(&self) -> Result<f64, Unmeasured> {
        self.latency_s()
    }
}

fn run(catalogue: Vec<Case>, cores: &Far) -> Report {
    let world = World {
        near: Some(cores),
        ..Device::new(&[]).world(catalogue)
    };
    let options = options(Depth::Full);
    run_in(&world, &options, &Counter::default(), &Stop::new()).unwrap()
}

#[test]
fn steps_of_two_cores_that_are_far_apart_spoil_a_report() {
    let cores = Far::default();
    let report = run(
        vec![experiment("wake_up_latency", "latency_s", vec![1e-5; 9])],
        &cores,
    );
    assert_eq!(conditions(&report), [Condition::CoresApart]);
    let detail = &report.spoiled.last().expect("it is").detail;
    let rounds = report.made.rounds;
    assert!(
        detail.starts_with(&format!("{rounds} of {rounds} steps")),
        "{detail}"
    );
    assert!(cores.looks.load(Ordering::Relaxed) > 0);
}

#[test]
fn nobody_looks_where_cores_are_for_steps_of_one_or_to_say_how_far_they_are() {
    let hash = repeated("sha256", Group::Crypto, || {
        work(1e-6);
        Ok(())
    });
    let cores = Far::default();
    let apart = experiment("core_to_core", "latency_s", vec![2e-7; 9]);
    let report = run(vec![hash, apart], &cores);
    assert_eq!(conditions(&report), []);
    assert_eq!(cores.looks.load(Ordering::Relaxed), 0);
}
