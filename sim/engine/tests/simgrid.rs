//! A whole run in SimGrid against the closed form, where nothing is shared. One test: SimGrid
//! allows one engine per process.

mod common;

use _engine::run::{run, Hooks};
use common::{arrive, cost, plan, trade, turn};
use pocketsim_protocols::contract::Operation;

#[test]
fn simgrid_says_what_the_closed_form_says() {
    let mut plan = plan(3);
    plan.transport.duplicate_dial_s = vec![f64::INFINITY; 3];
    plan.transport.connection_break_s = vec![f64::INFINITY; 3];
    cost(&mut plan, Operation::Verify, 0.002);
    cost(&mut plan, Operation::UdpReceive, 0.001);
    plan.profiles[0].wait_s[Operation::Store as usize] = 0.004;
    plan.access[0].jitter_median_s = 0.001;
    plan.access[0].jitter_sigma = 0.5;
    plan.access[0].loss_ratio = 0.05;
    for number in 0..300 {
        let from = number % 3;
        arrive(&mut plan, f64::from(number) * 0.25, from, (from + 1) % 3);
    }
    turn(&mut plan, 30.1, 2, false);
    turn(&mut plan, 40.1, 2, true);
    let expected = trade(plan.clone());
    let result = run(plan, Hooks::default()).expect("the plan is known");
    let (found, columns) = (&result.trace.columns, &expected.columns);
    assert!(columns.kind.len() > 500);
    assert_eq!(found.kind, columns.kind);
    assert_eq!(found.message, columns.message);
    assert_eq!(found.reason, columns.reason);
    assert_eq!(result.trace.counters(), expected.counters());
    for (found, expected) in found.time_s.iter().zip(&columns.time_s) {
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    }
    assert_eq!(result.final_state.final_index, [0; 3]);
}
