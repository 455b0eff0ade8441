//! The rate, its queue, and what is under way.

use super::*;
use pocketsim_probe_core::relay::queue::wire_bytes;

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
    let kept = (64 << 20) / (65_507 + 320);
    assert_eq!(line.under_way(), kept);
    let dropped = line.counts().dropped_datagrams["relay_full"];
    assert_eq!(dropped, 2000 - line.under_way());
    assert_eq!(due(&mut line, Duration::MAX).len() as u64, kept);
    line.offer(1, 0, 65_507, ms(1.0));
    assert_eq!(line.under_way(), 1, "room again");
}

#[test]
fn empty_datagrams_take_memory_too() {
    let mut line = line(&Faults {
        delay_s: 10.0,
        ..Faults::default()
    });
    for number in 0..300_000 {
        line.offer(1, number, 0, ms(0.0));
    }
    assert_eq!(line.under_way(), (64 << 20) / 320);
    let dropped = line.counts().dropped_datagrams["relay_full"];
    assert_eq!(dropped, 300_000 - line.under_way());
}

#[test]
fn what_waits_only_to_be_lost_is_bounded_too() {
    let mut line = line(&Faults {
        rate_bytes_per_s: Some(125.0),
        queue_bytes: u64::MAX,
        loss_ratio: 1.0,
        ..Faults::default()
    });
    for number in 0..1_100_000 {
        line.offer(1, number, 0, ms(0.0));
    }
    let dropped = line.counts().dropped_datagrams.clone();
    assert_eq!(dropped["loss"], (1 << 20) + 1, "one is being sent");
    assert_eq!(dropped["relay_full"], 1_100_000 - dropped["loss"]);
}

#[test]
fn what_finds_the_relay_full_uses_nothing_of_the_rate() {
    let mut line = line(&Faults {
        delay_s: 10.0,
        rate_bytes_per_s: Some(1e9),
        queue_bytes: 1 << 40,
        ..Faults::default()
    });
    for number in 0..2000 {
        line.offer(1, number, 65_507, ms(0.0));
    }
    let last = due(&mut line, Duration::MAX).pop().unwrap().0;
    let after = last - ms(10_000.0) + ms(1.0);
    line.offer(1, 0, 100, after);
    let took = due(&mut line, Duration::MAX)[0].0 - after;
    assert!(took < ms(10_001.0), "the line was free: {took:?}");
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
fn headers_count_for_every_fragment() {
    assert_eq!(wire_bytes(0), 28);
    assert_eq!(wire_bytes(1472), 1500);
    assert_eq!(wire_bytes(1473), 1521);
    assert_eq!(wire_bytes(65_507), 65_507 + 8 + 45 * 20);
}
