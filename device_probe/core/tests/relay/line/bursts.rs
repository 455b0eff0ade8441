//! Bursts of loss: what comes of them is what was put in, in closed form.

use pocketsim_probe_core::relay::rule::Bursts;
use serde_json::Value;

use super::*;

/// Enough that chance moves no figure of the vectors by more than the bar.
const PACKETS: u64 = 1_000_000;
/// How far apart, relative to what was put in, a figure may be.
const BAR: f64 = 0.05;

/// What chance came to: mean, autocorrelation of neighbours, and quantiles of losses in a row.
type Figures = [f64; 5];
const NAMES: [&str; 5] = [
    "loss_ratio",
    "autocorrelation",
    "p50_packets",
    "p90_packets",
    "p99_packets",
];

/// Chains of the vectors with what is to come of them.
fn chains() -> Vec<(Faults, Figures)> {
    let vectors = include_str!("../../../../../tests/vectors/bursts.json");
    let vectors: Value = serde_json::from_str(vectors).unwrap();
    let rows = vectors["chains"].as_array().unwrap().clone();
    rows.iter().map(chain).collect()
}

fn chain(row: &Value) -> (Faults, Figures) {
    let number = |value: &Value| value.as_f64().unwrap();
    let bursts = &row["bursts"];
    let faults = Faults {
        loss_ratio: number(&row["loss_ratio"]),
        bursts: Some(Bursts {
            share: number(&bursts["share"]),
            mean_packets: number(&bursts["mean_packets"]),
            loss_ratio: number(&bursts["loss_ratio"]),
        }),
        ..Faults::default()
    };
    (faults, NAMES.map(|name| number(&row["expected"][name])))
}

/// Which of `PACKETS` datagrams of one packet each are lost.
fn losses(faults: &Faults) -> Vec<bool> {
    let mut lost = vec![true; PACKETS as usize];
    for (_, number) in stream(&mut line(faults), PACKETS, ms(0.001)) {
        lost[number as usize] = false;
    }
    lost
}

fn figures(lost: &[bool]) -> Figures {
    let number = |lost: bool| f64::from(u8::from(lost));
    let mean = lost.iter().map(|&lost| number(lost)).sum::<f64>() / lost.len() as f64;
    let pairs = lost.windows(2);
    let products = pairs.map(|pair| (number(pair[0]) - mean) * (number(pair[1]) - mean));
    let covariance = products.sum::<f64>() / (lost.len() - 1) as f64;
    let runs = lost.chunk_by(|one, other| one == other);
    let mut lengths: Vec<_> = runs.filter(|run| run[0]).map(<[bool]>::len).collect();
    lengths.sort_unstable();
    let quantile = |share: f64| lengths[(share * lengths.len() as f64) as usize] as f64;
    let quantiles = [0.5, 0.9, 0.99].map(quantile);
    let [p50, p90, p99] = quantiles;
    [mean, covariance / (mean * (1.0 - mean)), p50, p90, p99]
}

/// The figure that is furthest off, relative to what was put in.
fn furthest(found: Figures, expected: Figures) -> (&'static str, f64) {
    let off = |at: usize| (NAMES[at], (found[at] / expected[at] - 1.0).abs());
    let all = (0..NAMES.len()).map(off);
    all.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap()
}

#[test]
fn they_are_what_was_put_in() {
    for (faults, expected) in chains() {
        let found = figures(&losses(&faults));
        let (name, off) = furthest(found, expected);
        assert!(
            off <= BAR,
            "{name} is off by {off}: {found:?}, {expected:?}"
        );
    }
}

#[test]
fn independent_losses_of_the_same_mean_are_not() {
    for (faults, expected) in chains() {
        let independent = Faults {
            loss_ratio: expected[0],
            bursts: None,
            ..faults
        };
        let found = figures(&losses(&independent));
        assert!((found[0] / expected[0] - 1.0).abs() <= BAR, "the same mean");
        assert!(furthest(found, expected).1 > 0.5, "{found:?}");
    }
}

#[test]
fn they_are_the_links_and_not_one_flows() {
    let (faults, _) = chains().remove(0);
    let delivered = |flows: u64| {
        let mut line = line(&faults);
        for number in 0..5000 {
            line.offer(number % flows, number, 100, ms(number as f64));
        }
        due(&mut line, Duration::MAX)
    };
    assert_eq!(delivered(1), delivered(3));
}

#[test]
fn another_loss_ratio_moves_no_burst() {
    let (faults, _) = chains().remove(0);
    let lost = |inside: f64, outside: f64| {
        let bursts = faults.bursts.map(|bursts| Bursts {
            loss_ratio: inside,
            ..bursts
        });
        losses(&Faults {
            loss_ratio: outside,
            bursts,
            ..Faults::default()
        })
    };
    let [bursts, half, nothing] =
        [(1.0, 0.0), (0.5, 0.0), (0.0, 0.0)].map(|(one, two)| lost(one, two));
    assert!(!nothing.contains(&true));
    let pairs = || bursts.iter().zip(&half);
    assert!(pairs().all(|(all, half)| all | !half));
    let share = pairs().filter(|(_, half)| **half).count() as f64
        / bursts.iter().filter(|lost| **lost).count() as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
    // What is lost outside bursts is what would be lost without them.
    let none = Faults {
        loss_ratio: 0.1,
        ..Faults::default()
    };
    let alone = losses(&none);
    let both = lost(1.0, 0.1);
    for at in 0..both.len() {
        assert_eq!(both[at], alone[at] | bursts[at], "{at}");
    }
}

#[test]
fn a_datagram_is_lost_with_any_of_its_packets() {
    let independent = Faults {
        loss_ratio: 0.03,
        ..Faults::default()
    };
    let share = 0.1;
    let bursts = |mean_packets: f64| Faults {
        bursts: Some(Bursts {
            share,
            mean_packets,
            loss_ratio: 1.0,
        }),
        ..Faults::default()
    };
    // Packets 2 to 4 stay outside, each with probability 1 - share / (mean (1 - share)).
    let stays = |mean: f64| (1.0 - share) * (1.0 - share / (mean * (1.0 - share))).powi(3);
    for (faults, arrives) in [
        (independent, 0.97_f64.powi(4)),
        (bursts(2.0), stays(2.0)),
        (bursts(100.0), stays(100.0)),
    ] {
        let mut line = line(&faults);
        let mut delivered = 0;
        for number in 0..MANY {
            line.offer(1, number, 5000, ms(0.01 * number as f64)); // four packets
            delivered += due(&mut line, Duration::MAX).len();
        }
        let found = delivered as f64 / MANY as f64;
        // With bursts of 100 packets, of which there are 400, the standard error is 0.0064.
        assert!((found - arrives).abs() < 0.02, "{found}, {arrives}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let faults = Faults {
        bursts: Some(Bursts {
            share: 0.2,
            mean_packets: 1.2,
            loss_ratio: 1.0,
        }),
        ..Faults::default()
    };
    assert_eq!(
        faults.check("down"),
        Err(
            "down: bursts: mean_packets 1.2 is not between 1.25, as long as runs of chance are \
             with a share of 0.2, and 1000000"
                .to_owned()
        )
    );
}
