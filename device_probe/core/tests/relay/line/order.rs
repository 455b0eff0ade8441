//! Jitter, reordering and the order of flows.

use super::*;
use pocketsim_probe_core::relay::rule::HELD_MAX;

#[test]
fn jitter_is_uniform_when_datagrams_are_far_apart() {
    let mut line = line(&Faults {
        delay_s: 0.02,
        jitter_s: 0.01,
        ..Faults::default()
    });
    let gap = ms(20.0);
    let added = |(due, number): &Delivery| (*due - gap * *number as u32).as_secs_f64() - 0.02;
    let added: Vec<f64> = stream(&mut line, MANY, gap).iter().map(added).collect();
    assert!(added.iter().all(|added_s| (-1e-9..0.01).contains(added_s)));
    let mean = added.iter().sum::<f64>() / MANY as f64;
    // Standard error of a uniform's mean: 0.01 / sqrt(12 * 100 000) = 9.1e-6.
    assert!((mean - 0.005).abs() < 5.0 * 9.1e-6, "{mean}");
    let below = added.iter().filter(|&&added_s| added_s < 0.0025).count() as u64;
    assert!(fits(below, 0.25), "{below}");
}

#[test]
fn jitter_keeps_the_order_unless_it_may_not() {
    let mut faults = Faults {
        jitter_s: 0.01,
        ..Faults::default()
    };
    let kept = stream(&mut line(&faults), 10_000, ms(0.5));
    assert_eq!(reordered(&kept), 0);
    faults.jitter_reorders = true;
    let mut shuffling = line(&faults);
    let shuffled = stream(&mut shuffling, 10_000, ms(0.5));
    assert!(
        reordered(&shuffled) > 5_000,
        "20 datagrams share one jitter"
    );
    assert_eq!(shuffling.counts().reordered_datagrams, reordered(&shuffled));
}

#[test]
fn as_many_are_reordered_as_the_ratio_says() {
    let mut line = line(&Faults {
        delay_s: 0.02,
        reorder_ratio: 0.02,
        ..Faults::default()
    });
    let delivered = stream(&mut line, MANY, ms(10.0));
    assert_eq!(delivered.len() as u64, MANY);
    assert_eq!(line.counts().reordered_datagrams, reordered(&delivered));
    assert!(
        fits(reordered(&delivered), 0.02),
        "{}",
        reordered(&delivered)
    );
}

#[test]
fn a_datagram_that_is_held_follows_the_next_one_at_once() {
    let mut line = line(&Faults {
        reorder_ratio: 0.5,
        ..Faults::default()
    });
    let delivered = stream(&mut line, 1000, ms(10.0));
    for (due, number) in delivered {
        let gaps = (due - ms(10.0) * number as u32).as_secs_f64() / 0.01;
        assert!(
            (gaps - gaps.round()).abs() < 1e-6,
            "held until a later one came, {gaps}"
        );
    }
}

#[test]
fn a_datagram_that_nobody_follows_is_not_held_for_ever() {
    let mut line = line(&Faults {
        delay_s: 0.02,
        reorder_ratio: 1.0,
        ..Faults::default()
    });
    let delivered = stream(&mut line, 100, ms(1.0));
    let alone: Vec<Delivery> = (0..100)
        .map(|n| (ms(1.0) * n as u32 + ms(20.0) + HELD_MAX, n))
        .collect();
    assert_eq!(delivered, alone);
    assert_eq!(line.counts().reordered_datagrams, 0);
}

#[test]
fn a_datagram_is_not_held_for_one_that_comes_too_late() {
    let mut line = line(&Faults {
        reorder_ratio: 0.5,
        rate_bytes_per_s: Some(128.0), // one datagram each second
        queue_bytes: 1 << 20,
        ..Faults::default()
    });
    for number in 0..50 {
        line.offer(1, number, 100, ms(0.0));
    }
    let delivered = due(&mut line, Duration::MAX);
    let held = |(due, number): &&Delivery| *due > ms(1000.0) * (*number as u32 + 1);
    let late: Vec<_> = delivered.iter().filter(held).collect();
    assert!((10..40).contains(&late.len()), "{}", late.len());
    for (due, number) in late {
        assert_eq!(*due, ms(1000.0) * (*number as u32 + 1) + HELD_MAX);
    }
    assert_eq!(line.counts().reordered_datagrams, 0);
}

#[test]
fn a_late_datagram_and_its_copy_count_once() {
    let mut line = line(&Faults {
        reorder_ratio: 0.3,
        duplicate_ratio: 1.0,
        ..Faults::default()
    });
    let delivered = stream(&mut line, 1000, ms(10.0));
    assert!(delivered.chunks(2).all(|pair| pair[0] == pair[1]));
    let originals: Vec<Delivery> = delivered.into_iter().step_by(2).collect();
    assert_eq!(originals.len(), 1000);
    assert_eq!(line.counts().reordered_datagrams, reordered(&originals));
}

#[test]
fn a_flow_does_not_wait_for_the_jitter_of_another() {
    let faults = Faults {
        jitter_s: 0.01,
        ..Faults::default()
    };
    let mut line = line(&faults);
    // Each flow sends once: nothing to keep in order, so every delay is a uniform share.
    for number in 0..10_000 {
        line.offer(number, number, 100, ms(0.0));
    }
    let delivered = due(&mut line, Duration::MAX);
    let below = delivered.iter().filter(|(due, _)| *due < ms(2.5)).count();
    // Four standard deviations of a binomial: sqrt(10 000 * 0.25 * 0.75) = 43.
    assert!(below.abs_diff(2_500) < 4 * 43, "{below}");
}

#[test]
fn flows_do_not_overtake_for_each_other() {
    let mut line = line(&Faults {
        reorder_ratio: 1.0,
        ..Faults::default()
    });
    line.offer(1, 10, 100, ms(0.0));
    line.offer(2, 20, 100, ms(1.0));
    assert_eq!(due(&mut line, ms(100.0)), vec![]);
    let both = vec![(HELD_MAX, 10), (HELD_MAX + ms(1.0), 20)];
    assert_eq!(due(&mut line, Duration::MAX), both);
}
