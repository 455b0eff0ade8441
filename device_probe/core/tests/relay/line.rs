//! One direction of a relayed link in simulated time: what the faults promise, counted.

use std::collections::BTreeSet;
use std::time::Duration;

use pocketsim_probe_core::relay::queue::Line;
use pocketsim_probe_core::relay::rule::Faults;

mod bursts;
mod faults;
mod order;
mod properties;
mod rate;

const SEED: u64 = 7;
const MANY: u64 = 100_000;

/// One delivery: when, and which datagram (numbered from 0 as they came).
type Delivery = (Duration, u64);

fn ms(milliseconds: f64) -> Duration {
    Duration::from_secs_f64(milliseconds * 1e-3)
}

fn line(faults: &Faults) -> Line<u64> {
    Line::new(faults, SEED, "up")
}

/// Offer `count` datagrams of 100 B, one each `gap`, and take what is due in between.
fn stream(line: &mut Line<u64>, count: u64, gap: Duration) -> Vec<Delivery> {
    let mut delivered = Vec::new();
    for number in 0..count {
        let now = gap * number as u32;
        delivered.extend(due(line, now));
        line.offer(1, number, 100, now);
    }
    delivered.extend(due(line, Duration::MAX));
    delivered
}

fn due(line: &mut Line<u64>, now: Duration) -> Vec<Delivery> {
    std::iter::from_fn(|| line.pop_due(now).map(|(due, number, _)| (due, number))).collect()
}

/// Datagrams that a later one came before, straight from the definition (RFC 4737, 3.3).
fn reordered(delivered: &[Delivery]) -> u64 {
    let mut next_expected = 0;
    let late = |&&(_, number): &&Delivery| {
        let late = number < next_expected;
        next_expected = next_expected.max(number + 1);
        late
    };
    delivered.iter().filter(late).count() as u64
}

/// Whether `count` of `MANY` fits probability `ratio` within five standard deviations.
fn fits(count: u64, ratio: f64) -> bool {
    let expected = MANY as f64 * ratio;
    (count as f64 - expected).abs() < 5.0 * (expected * (1.0 - ratio)).sqrt()
}
