//! One direction of a relayed link in simulated time: what holds for any faults and any arrivals.

use pocketsim_probe_core::relay::queue::wire_bytes;
use proptest::prelude::*;

use super::*;

fn any_faults() -> impl Strategy<Value = Faults> {
    let ratio = || prop_oneof![Just(0.0), 0.0..1.0f64];
    let rate = prop::option::of(1e3..1e7f64);
    (
        0.0..0.1f64,
        0.0..0.1f64,
        any::<bool>(),
        ratio(),
        ratio(),
        ratio(),
        rate,
        0..5000u64,
    )
        .prop_map(
            |(delay_s, jitter_s, jitter_reorders, loss, reorder, duplicate, rate, queue_bytes)| {
                Faults {
                    delay_s,
                    jitter_s,
                    jitter_reorders,
                    loss_ratio: loss,
                    bursts: None,
                    reorder_ratio: reorder,
                    duplicate_ratio: duplicate,
                    rate_bytes_per_s: rate,
                    queue_bytes,
                }
            },
        )
}

/// Arrivals: gap to the one before in microseconds, flow, payload bytes.
fn any_arrivals() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    prop::collection::vec((0..20_000u64, 0..3u64, 0..3000u64), 1..200)
}

/// Deliveries with when each of them came.
fn play(
    faults: &Faults,
    arrivals: &[(u64, u64, u64)],
) -> (Line<u64>, Vec<Delivery>, Vec<Duration>) {
    let (mut line, mut delivered, mut came) = (line(faults), Vec::new(), Vec::new());
    let mut now = Duration::ZERO;
    for (number, &(gap_us, flow, bytes)) in (0..).zip(arrivals) {
        now += Duration::from_micros(gap_us);
        delivered.extend(due(&mut line, now));
        line.offer(flow, number, bytes, now);
        came.push(now);
    }
    delivered.extend(due(&mut line, Duration::MAX));
    (line, delivered, came)
}

proptest! {
    #[test]
    fn every_datagram_has_a_fate(faults in any_faults(), arrivals in any_arrivals()) {
        let (mut line, delivered, _) = play(&faults, &arrivals);
        let counts = line.counts().clone();
        let dropped: u64 = counts.dropped_datagrams.values().sum();
        prop_assert_eq!(counts.received_datagrams, arrivals.len() as u64);
        prop_assert_eq!(
            counts.received_datagrams + counts.duplicated_datagrams,
            delivered.len() as u64 + dropped
        );
        prop_assert_eq!(line.under_way(), 0);
    }

    #[test]
    fn deliveries_come_in_time_and_never_early(faults in any_faults(), arrivals in any_arrivals()) {
        let (_, delivered, came) = play(&faults, &arrivals);
        prop_assert!(delivered.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let least = Duration::from_secs_f64(faults.delay_s);
        let nanosecond = Duration::from_nanos(1);
        for (due, number) in delivered {
            prop_assert!(due + nanosecond >= came[number as usize] + least);
        }
    }

    #[test]
    fn jitter_is_the_most_that_is_added(
        faults in any_faults(),
        arrivals in any_arrivals(),
        jitter_reorders: bool,
    ) {
        let faults = Faults {
            jitter_reorders,
            rate_bytes_per_s: None,
            reorder_ratio: 0.0,
            ..faults
        };
        let most = Duration::from_secs_f64(faults.delay_s + faults.jitter_s);
        let (_, delivered, came) = play(&faults, &arrivals);
        for (due, number) in delivered {
            prop_assert!(due <= came[number as usize] + most + Duration::from_nanos(1));
        }
    }

    #[test]
    fn without_reordering_the_order_of_each_flow_is_kept(faults in any_faults(), arrivals in any_arrivals()) {
        let faults = Faults { jitter_reorders: false, reorder_ratio: 0.0, ..faults };
        let (mut line, delivered, _) = play(&faults, &arrivals);
        for flow in 0..3 {
            let of_flow = |&&(_, number): &&Delivery| arrivals[number as usize].1 == flow;
            let numbers: Vec<u64> = delivered.iter().filter(of_flow).map(|d| d.1).collect();
            prop_assert!(numbers.is_sorted());
        }
        prop_assert_eq!(line.counts().reordered_datagrams, 0);
    }

    #[test]
    fn a_rate_is_never_exceeded(
        arrivals in any_arrivals(),
        rate in 1e3..1e7f64,
        queue_bytes in 0..5000u64,
    ) {
        let faults = Faults { rate_bytes_per_s: Some(rate), queue_bytes, ..Faults::default() };
        let (_, delivered, _) = play(&faults, &arrivals);
        for pair in delivered.windows(2) {
            let bytes = wire_bytes(arrivals[pair[1].1 as usize].2);
            let took_s = (pair[1].0 - pair[0].0).as_secs_f64();
            prop_assert!(took_s + 2e-9 >= bytes as f64 / rate);
        }
    }

    #[test]
    fn what_waits_fits_the_queue(
        arrivals in any_arrivals(),
        rate in 1e3..1e6f64,
        queue_bytes in 0..20_000u64,
    ) {
        let faults = Faults { rate_bytes_per_s: Some(rate), queue_bytes, ..Faults::default() };
        let (_, delivered, came) = play(&faults, &arrivals);
        let wire = |number: u64| wire_bytes(arrivals[number as usize].2);
        let begins = |(due, number): Delivery| due.as_secs_f64() - wire(number) as f64 / rate;
        for &(_, number) in &delivered {
            let now = came[number as usize].as_secs_f64();
            let waits = |&&other: &&Delivery| other.1 <= number && begins(other) > now + 1e-8;
            let waiting: u64 = delivered.iter().filter(waits).map(|other| wire(other.1)).sum();
            prop_assert!(waiting <= queue_bytes);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_link(faults in any_faults(), arrivals in any_arrivals()) {
        let (mut first, delivered, _) = play(&faults, &arrivals);
        let (mut second, again, _) = play(&faults, &arrivals);
        prop_assert_eq!(delivered, again);
        prop_assert_eq!(first.counts(), second.counts());
    }
}
