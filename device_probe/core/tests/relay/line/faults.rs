//! Delay, loss, duplication, and what a line is told.

use super::*;

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

/// Loss, jitter, duplicates and reordering, far enough apart that each is seen in when a datagram
/// is delivered and how often.
fn rich() -> Faults {
    Faults {
        jitter_s: 0.05,
        jitter_reorders: true,
        reorder_ratio: 0.2,
        duplicate_ratio: 0.2,
        ..Faults::default()
    }
}

#[test]
fn losses_do_not_reshuffle_the_other_faults() {
    let faults = |loss_ratio| Faults {
        loss_ratio,
        ..rich()
    };
    let whole = stream(&mut line(&faults(0.0)), 5000, ms(1000.0));
    let lossy = stream(&mut line(&faults(0.3)), 5000, ms(1000.0));
    let survivors: BTreeSet<u64> = lossy.iter().map(|delivery| delivery.1).collect();
    assert!((3000..4000).contains(&survivors.len()));
    let expected: Vec<Delivery> = whole
        .into_iter()
        .filter(|delivery| survivors.contains(&delivery.1))
        .collect();
    assert_eq!(lossy, expected);
}

#[test]
fn what_finds_the_relay_full_or_the_queue_does_not_reshuffle_the_rest() {
    let after = |first: fn(&mut Line<u64>), faults: Faults| {
        let mut line = line(&faults);
        first(&mut line);
        due(&mut line, ms(500_000.0));
        for number in 0..1000 {
            line.offer(1, number, 100, ms(1_000_000.0) + ms(1000.0) * number as u32);
        }
        due(&mut line, Duration::MAX)
    };
    let small = |line: &mut Line<u64>| (0..2000).for_each(|n| line.offer(1, n, 100, ms(0.0)));
    let large = |line: &mut Line<u64>| (0..2000).for_each(|n| line.offer(1, n, 65_507, ms(0.0)));
    let plain = after(small, rich());
    assert_eq!(after(large, rich()), plain, "the relay was full");
    let limited = Faults {
        rate_bytes_per_s: Some(1e12),
        queue_bytes: 1000,
        ..rich()
    };
    let numbers = |deliveries: Vec<Delivery>| -> Vec<u64> {
        deliveries.into_iter().map(|delivery| delivery.1).collect()
    };
    assert_eq!(
        numbers(after(small, limited)),
        numbers(plain),
        "the queue was full"
    );
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
