//! How far a run is: told in order, to its end, and without a trace.

use std::sync::{Arc, Mutex};

use crate::common::{arrive, plan, run, Closed};
use _engine::base::progress::{Brake, Progress};
use _engine::driver::Driver;
use _engine::plan::Plan;
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::pairwise::Pairwise;
use pocketsim_protocols::transport::udp::Udp;
use pocketsim_protocols::transport::TransportConfig;

/// A trade every 3.7 s of a hundred.
fn sparse() -> Plan {
    let mut plan = plan(2);
    for number in 0..27 {
        arrive(&mut plan, f64::from(number) * 3.7, 0, 1);
    }
    plan
}

fn trade(plan: Plan, progress: Option<Progress>) -> Trace {
    let (world, end, config) = (
        Closed::default(),
        plan.duration_s,
        TransportConfig::default(),
    );
    let mut driver = Driver::new(plan, world.clone(), |node| {
        (Pairwise::new(NodeId(node)), Udp::new(&config))
    });
    if let Some(progress) = progress {
        driver.watch(progress);
    }
    run(&world, &mut driver, end);
    driver.finish().0
}

fn told(plan: Plan) -> Vec<(f64, u64)> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let progress = Progress::to(move |share, events| {
        heard.lock().expect("one thread").push((share, events));
    });
    trade(plan, Some(progress));
    let told = told.lock().expect("one thread");
    told.clone()
}

#[test]
fn a_run_tells_each_hundredth_it_reaches() {
    let expected: Vec<f64> = (1..27)
        .map(|number| (f64::from(number) * 3.7).floor() / 100.0)
        .collect();
    let shares: Vec<f64> = told(sparse()).iter().map(|(share, _)| *share).collect();
    assert_eq!(shares, expected);
}

#[test]
fn a_crowded_run_tells_no_hundredth_twice() {
    let mut plan = plan(2);
    plan.duration_s = 1.0;
    (0..2000).for_each(|number| arrive(&mut plan, f64::from(number) / 2000.0, 0, 1));
    let told = told(plan);
    assert!(told.len() > 90);
    assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn every_trade_of_a_run_takes_as_many_events() {
    // A trade is over before the next one begins, so that each is told with those before it.
    let events: Vec<u64> = told(sparse()).iter().map(|(_, events)| *events).collect();
    let of_one = events[0];
    assert!(of_one > 0);
    let expected: Vec<u64> = (1..)
        .map(|trades| trades * of_one)
        .take(events.len())
        .collect();
    assert_eq!(events, expected);
}

#[test]
fn who_listens_gets_the_same_run() {
    let listening = trade(sparse(), Some(Progress::to(|_, _| {})));
    let alone = trade(sparse(), None);
    assert_eq!(listening.columns.time_s, alone.columns.time_s);
    assert_eq!(listening.columns.message, alone.columns.message);
    assert_eq!(listening.counters(), alone.counters());
}

#[test]
fn nothing_more_happens_in_a_run_whose_brake_is_pulled() {
    let brake = Arc::new(Mutex::new(None::<Brake>));
    let pulled = brake.clone();
    let progress = Progress::to(move |share, _| {
        if share > 0.5 {
            pulled
                .lock()
                .expect("one thread")
                .as_ref()
                .expect("made")
                .pull();
        }
    });
    *brake.lock().expect("one thread") = Some(progress.brake());
    let (whole, ended) = (trade(sparse(), None), trade(sparse(), Some(progress)));
    let rows = ended.columns.time_s.len();
    assert_eq!(ended.columns.time_s[..], whole.columns.time_s[..rows]);
    let last_s = ended.columns.time_s[rows - 1];
    assert!((50.0..60.0).contains(&last_s), "{last_s}");
}
