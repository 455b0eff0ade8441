//! One direction of a relayed link in simulated time: what the faults promise, counted.

use std::time::Duration;

use pocketsim_probe_core::relay::queue::{wire_bytes, Line};
use pocketsim_probe_core::relay::rule::{Faults, HELD_MAX};

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

#[test]
fn without_faults_everything_is_due_at_once() {
    let mut line = line(&Faults::default());
    let delivered = stream(&mut line, 1000, ms(1.0));
    let expected: Vec<Delivery> = (0..1000).map(|n| (ms(1.0) * n as u32, n)).collect();
    assert_eq!(delivered, expected);
    assert_eq!(
        line.counts().delivered_datagrams,
        0,
        "the driver says what was sent"
    );
}

#[test]
fn delay_is_added_exactly() {
    let mut line = line(&Faults {
        delay_s: 0.02,
        ..Faults::default()
    });
    for (due, number) in stream(&mut line, 1000, ms(0.1)) {
        assert_eq!(due, ms(0.1) * number as u32 + ms(20.0));
    }
}

#[test]
fn nothing_is_due_before_its_time() {
    let mut line = line(&Faults {
        delay_s: 0.02,
        ..Faults::default()
    });
    line.offer(1, 0, 100, ms(5.0));
    assert_eq!(line.next_due(), Some(ms(25.0)));
    assert_eq!(line.pop_due(ms(25.0) - Duration::from_nanos(1)), None);
    assert_eq!(line.pop_due(ms(25.0)), Some((ms(25.0), 0, 100)));
    assert_eq!(line.next_due(), None);
}

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
fn as_many_are_lost_as_the_ratio_says() {
    for ratio in [0.0, 0.001, 0.01, 0.3, 1.0] {
        let mut line = line(&Faults {
            loss_ratio: ratio,
            ..Faults::default()
        });
        let delivered = stream(&mut line, MANY, ms(1.0)).len() as u64;
        let lost = line.counts().dropped_datagrams.get("loss").copied();
        assert_eq!(delivered + lost.unwrap_or(0), MANY);
        assert!(fits(MANY - delivered, ratio) || delivered == 0 || delivered == MANY);
        assert_eq!(delivered == MANY, ratio == 0.0);
        assert_eq!(delivered == 0, ratio == 1.0);
    }
}

#[test]
fn losses_are_independent_of_each_other() {
    let mut line = line(&Faults {
        loss_ratio: 0.1,
        ..Faults::default()
    });
    let delivered = stream(&mut line, MANY, ms(1.0));
    let gap = |pair: &&[Delivery]| pair[1].1 == pair[0].1 + 1;
    let followed = delivered.windows(2).filter(gap).count() as u64;
    // Two in a row arrive with probability 0.9 * 0.9.
    assert!(fits(followed, 0.81), "{followed}");
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
    assert_eq!(delivered.len(), 2000);
    assert_eq!(line.counts().reordered_datagrams, reordered(&delivered) / 2);
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

#[test]
fn as_many_are_duplicated_as_the_ratio_says() {
    let mut line = line(&Faults {
        duplicate_ratio: 0.05,
        ..Faults::default()
    });
    let delivered = stream(&mut line, MANY, ms(1.0));
    let copies = delivered
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .count() as u64;
    assert_eq!(delivered.len() as u64, MANY + copies);
    assert_eq!(line.counts().duplicated_datagrams, copies);
    assert_eq!(line.counts().reordered_datagrams, 0, "a copy is not late");
    assert!(fits(copies, 0.05), "{copies}");
}

#[test]
fn a_rate_spaces_datagrams_by_their_bytes() {
    let mut line = line(&Faults {
        delay_s: 0.01,
        rate_bytes_per_s: Some(128_000.0),
        queue_bytes: 1 << 20,
        ..Faults::default()
    });
    for number in 0..50 {
        line.offer(1, number, 100, ms(3.0));
    }
    let expected: Vec<Delivery> = (0..50)
        .map(|n| (ms(13.0) + ms(1.0) * (n as u32 + 1), n)) // 128 B with headers: 1 ms each
        .collect();
    assert_eq!(due(&mut line, Duration::MAX), expected);
}

#[test]
fn a_full_queue_drops_what_comes_last() {
    let mut line = line(&Faults {
        rate_bytes_per_s: Some(128_000.0),
        queue_bytes: 3 * 128,
        ..Faults::default()
    });
    for number in 0..6 {
        line.offer(1, number, 100, ms(0.0)); // 0 is being sent, 1 to 3 wait
    }
    line.offer(1, 6, 100, ms(0.999)); // 0 is still being sent
    line.offer(1, 7, 100, ms(1.0)); // 1 is being sent: room for one
    line.offer(1, 8, 100, ms(1.0));
    let numbers: Vec<u64> = due(&mut line, Duration::MAX)
        .iter()
        .map(|due| due.1)
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3, 7]);
    assert_eq!(line.counts().dropped_datagrams["queue_full"], 4);
}

#[test]
fn an_idle_rate_takes_what_its_queue_could_not_hold() {
    let mut line = line(&Faults {
        rate_bytes_per_s: Some(1000.0),
        queue_bytes: 0,
        ..Faults::default()
    });
    line.offer(1, 0, 1000, ms(0.0));
    line.offer(1, 1, 1000, ms(1027.0));
    line.offer(1, 2, 1000, ms(1028.0));
    assert_eq!(
        due(&mut line, Duration::MAX),
        [(ms(1028.0), 0), (ms(2056.0), 2)]
    );
}

#[test]
fn what_is_lost_has_used_its_share_of_the_rate() {
    let mut line = line(&Faults {
        rate_bytes_per_s: Some(128_000.0),
        queue_bytes: 1 << 20,
        loss_ratio: 0.5,
        ..Faults::default()
    });
    for number in 0..100 {
        line.offer(1, number, 100, ms(0.0));
    }
    for (due, number) in due(&mut line, Duration::MAX) {
        assert_eq!(due, ms(1.0) * (number as u32 + 1));
    }
}

#[test]
fn a_relay_keeps_a_bounded_amount_under_way() {
    let mut line = line(&Faults {
        delay_s: 10.0,
        ..Faults::default()
    });
    for number in 0..2000 {
        line.offer(1, number, 65_507, ms(0.0));
    }
    assert_eq!(line.under_way(), (64 << 20) / 65_507);
    let dropped = line.counts().dropped_datagrams["relay_full"];
    assert_eq!(dropped, 2000 - line.under_way());
    assert_eq!(
        due(&mut line, Duration::MAX).len() as u64,
        (64 << 20) / 65_507
    );
    line.offer(1, 0, 65_507, ms(1.0));
    assert_eq!(line.under_way(), 1, "room again");
}

#[test]
fn a_forgotten_flow_still_gets_what_was_under_way() {
    let mut line = line(&Faults {
        delay_s: 0.1,
        ..Faults::default()
    });
    line.offer(1, 0, 100, ms(0.0));
    line.forget(1);
    assert_eq!(due(&mut line, Duration::MAX), [(ms(100.0), 0)]);
}

#[test]
fn other_faults_do_not_reshuffle_the_losses() {
    let lost = |faults: Faults| {
        let mut line = line(&faults);
        let mut numbers: Vec<u64> = stream(&mut line, 5000, ms(1.0))
            .iter()
            .map(|d| d.1)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let plain = Faults {
        loss_ratio: 0.1,
        ..Faults::default()
    };
    let rich = Faults {
        jitter_s: 0.05,
        duplicate_ratio: 0.1,
        reorder_ratio: 0.1,
        delay_s: 0.01,
        ..plain.clone()
    };
    assert_eq!(lost(plain), lost(rich));
}

#[test]
fn headers_count_for_every_fragment() {
    assert_eq!(wire_bytes(0), 28);
    assert_eq!(wire_bytes(1472), 1500);
    assert_eq!(wire_bytes(1473), 1521);
    assert_eq!(wire_bytes(65_507), 65_507 + 8 + 45 * 20);
}

#[test]
fn impossible_faults_are_refused_with_their_name() {
    let refusal = |faults: Faults| faults.check("down").unwrap_err();
    let loss = Faults {
        loss_ratio: 1.01,
        ..Faults::default()
    };
    assert_eq!(
        refusal(loss),
        "down: loss_ratio 1.01 is not between 0 and 1"
    );
    let delay = Faults {
        delay_s: f64::NAN,
        ..Faults::default()
    };
    assert!(refusal(delay).contains("delay_s NaN"));
    let rate = Faults {
        rate_bytes_per_s: Some(0.0),
        ..Faults::default()
    };
    assert_eq!(refusal(rate), "down: rate_bytes_per_s 0 is less than 125");
    assert_eq!(Faults::default().check("up"), Ok(()));
}

#[test]
fn directions_and_seeds_differ() {
    let faults = Faults {
        loss_ratio: 0.5,
        ..Faults::default()
    };
    let fate = |seed, direction| stream(&mut Line::new(&faults, seed, direction), 100, ms(1.0));
    assert_eq!(fate(1, "up"), fate(1, "up"));
    assert_ne!(fate(1, "up"), fate(1, "down"));
    assert_ne!(fate(1, "up"), fate(2, "up"));
}
