//! What operations cost: fixed and per byte, with one factor on a whole cost.

use _engine::base::rng::Stream;
use _engine::cost::table::{Cost, CostTable, Priced};
use _engine::plan::Profile;
use pocketsim_protocols::contract::Operation;

const SIGN: usize = Operation::Sign as usize;

fn profile() -> Profile {
    let mut profile = crate::common::plan(1).profiles.remove(0);
    profile.cpu_s[SIGN] = 0.5;
    profile.per_byte_s[SIGN] = 0.25;
    profile.wait_s[SIGN] = 2.0;
    profile.threads[SIGN] = 3;
    profile
}

fn stream() -> Stream {
    Stream::new(1, "cost", 0)
}

#[test]
fn a_cost_without_spread_is_what_the_profile_says() {
    let table = CostTable::new(&profile(), 0);
    let cost = |bytes| table.draw(Operation::Sign, bytes, &mut stream());
    let of = |cpu_s| Cost { cpu_s, wait_s: 2.0 };
    assert_eq!(cost(0), of(0.5));
    assert_eq!(cost(10), of(3.0));
    assert_eq!(table.threads(Operation::Sign), 3);
    assert_eq!(table.threads(Operation::Verify), 1);
}

#[test]
fn an_operation_costs_nothing_where_the_profile_says_so() {
    let table = CostTable::new(&profile(), 0);
    let cost = table.draw(Operation::Verify, 1000, &mut stream());
    assert!(cost.is_free());
    assert!(!table.draw(Operation::Sign, 0, &mut stream()).is_free());
}

#[test]
fn waiting_alone_is_not_free() {
    let cost = Cost {
        cpu_s: 0.0,
        wait_s: 1e-9,
    };
    assert!(!cost.is_free());
}

#[test]
fn costs_add_up_core_and_wait_apart() {
    let [one, other] = [(1.0, 2.0), (4.0, 8.0)].map(|(cpu_s, wait_s)| Cost { cpu_s, wait_s });
    let sum = one.plus(other);
    assert_eq!((sum.cpu_s, sum.wait_s), (5.0, 10.0));
}

#[test]
fn one_factor_falls_on_fixed_bytes_and_wait() {
    let mut profile = profile();
    profile.spread_sigma[SIGN] = 0.5;
    let (table, mut stream) = (CostTable::new(&profile, 0), stream());
    let mut factors = Vec::new();
    for _ in 0..1000 {
        let cost = table.draw(Operation::Sign, 10, &mut stream);
        assert!((cost.cpu_s / 3.0 - cost.wait_s / 2.0).abs() < 1e-12);
        factors.push(cost.wait_s / 2.0);
    }
    let mean = factors.iter().sum::<f64>() / 1000.0;
    // Four standard errors: sqrt(exp(0.25) - 1) / sqrt(1000) = 0.017.
    assert!((mean - 1.0).abs() < 0.07, "{mean}");
    assert!(factors.iter().any(|&factor| factor < 0.8));
    assert!(factors.iter().any(|&factor| factor > 1.2));
}

#[test]
fn an_operation_without_spread_draws_nothing_from_its_stream() {
    let (table, mut drawn) = (CostTable::new(&profile(), 0), stream());
    table.draw(Operation::Sign, 1, &mut drawn);
    assert_eq!(drawn.word(), stream().word());
}

#[test]
#[should_panic(expected = "one cost per operation")]
fn a_column_of_another_length_is_a_mistake() {
    let mut profile = profile();
    profile.wait_s.pop();
    CostTable::new(&profile, 0);
}

#[test]
#[should_panic(expected = "one cost per operation")]
fn threads_of_another_length_are_a_mistake() {
    let mut profile = profile();
    profile.threads.push(1);
    CostTable::new(&profile, 0);
}

#[test]
fn operations_of_a_scenarios_own_follow_those_of_everybody() {
    let mut profile = profile();
    profile.cpu_s.extend([1.0, 2.0]);
    profile.per_byte_s.extend([0.0, 0.5]);
    profile.threads.extend([1, 3]);
    profile.wait_s.extend([0.0, 4.0]);
    profile.spread_sigma.extend([0.0, 0.0]);
    let table = CostTable::new(&profile, 2);
    let own = Priced::own(1);
    assert_eq!(table.threads(own), 3);
    let cost = table.draw(own, 2, &mut stream());
    assert_eq!((cost.cpu_s, cost.wait_s), (3.0, 4.0));
    assert_eq!(Priced::own(0).place(), Operation::ALL.len());
}
