//! The rate that a link carries without losing much: doubled until it loses, then bisected.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::prober::{Outcome, Prober, Train};
use crate::kernel::{Budget, Series, Unmeasured};

/// One value for each search that came to its end.
pub(super) fn goodput(
    budget: &Budget<'_>,
    peer: SocketAddr,
    bytes: usize,
) -> Result<Vec<Series>, Unmeasured> {
    let mut prober = Prober::dial(peer)?;
    let start = Instant::now();
    let (mut values, mut longest) = (Vec::new(), Duration::ZERO);
    while values.len() < budget.samples.min(SEARCHES_MAX)
        && start.elapsed() + longest <= budget.time_limit
    {
        let begun = Instant::now();
        let Some(value) = searched(budget, &mut prober, bytes, start)? else {
            break;
        };
        values.push(value);
        longest = longest.max(begun.elapsed());
    }
    match values.is_empty() {
        true => Err(unfinished(budget)),
        false => Ok(vec![Series {
            quantity: "goodput_bytes_per_s",
            values,
        }]),
    }
}

/// The rate that a search ends at; nothing of one that the time or the user ends.
fn searched(
    budget: &Budget<'_>,
    prober: &mut Prober,
    bytes: usize,
    start: Instant,
) -> Result<Option<f64>, Unmeasured> {
    let mut search = Search::new();
    while let Some(rate_bytes_per_s) = search.next_rate() {
        if start.elapsed() >= budget.time_limit || budget.stop.is_raised() {
            return Ok(None);
        }
        let train = Train {
            bytes,
            rate_bytes_per_s,
            duration: train_duration(bytes, rate_bytes_per_s),
        };
        let outcome = prober.run(train, budget.stop)?;
        search.learn(&Round::of(&outcome, bytes, rate_bytes_per_s));
    }
    // The last train may be one that the user cut short.
    Ok((!budget.stop.is_raised()).then_some(search.best_bytes_per_s))
}

fn train_duration(bytes: usize, rate_bytes_per_s: f64) -> Duration {
    let all_s = DATAGRAMS_MIN * bytes as f64 / rate_bytes_per_s;
    Duration::from_secs_f64(all_s).max(TRAIN_MIN)
}

fn unfinished(budget: &Budget<'_>) -> Unmeasured {
    let limit_s = budget.time_limit.as_secs_f64();
    Unmeasured::because(format!(
        "no search for the highest rate came to its end within {limit_s} s"
    ))
}

/// What one rate gave.
#[derive(Clone, Copy, Debug)]
struct Round {
    rate_bytes_per_s: f64,
    offered_bytes_per_s: f64,
    goodput_bytes_per_s: f64,
    loss_ratio: f64,
}

impl Round {
    /// Goodput is by the peer's clock, from the first arrival to the last, so that a queue on the
    /// way cannot pass for capacity.
    fn of(outcome: &Outcome, bytes: usize, rate_bytes_per_s: f64) -> Self {
        let span_s = outcome.arrived.span_ns as f64 * 1e-9;
        let after_first = outcome.arrived.bytes.saturating_sub(bytes as u64);
        let goodput_bytes_per_s = match span_s > 0.0 {
            true => after_first as f64 / span_s,
            false => 0.0,
        };
        Self {
            rate_bytes_per_s,
            offered_bytes_per_s: outcome.sent as f64 * bytes as f64 / outcome.sending_s,
            goodput_bytes_per_s,
            loss_ratio: outcome.loss_ratio(),
        }
    }
}

/// Between the highest rate that went well and the lowest that did not.
#[derive(Debug)]
struct Search {
    base_loss_ratio: Option<f64>,
    good_bytes_per_s: f64,
    bad_bytes_per_s: Option<f64>,
    done: bool,
    best_bytes_per_s: f64,
}

impl Search {
    fn new() -> Self {
        Self {
            base_loss_ratio: None,
            good_bytes_per_s: RATE_BYTES_PER_S_MIN / 2.0,
            bad_bytes_per_s: None,
            done: false,
            best_bytes_per_s: 0.0,
        }
    }

    /// What to try next; nothing when the answer is close enough.
    fn next_rate(&self) -> Option<f64> {
        let good = self.good_bytes_per_s;
        let next = match self.bad_bytes_per_s {
            None => 2.0 * good,
            Some(bad) if bad > good * RESOLUTION => (good + bad) / 2.0,
            Some(_) => return None,
        };
        (!self.done && next <= RATE_BYTES_PER_S_MAX).then_some(next)
    }

    fn learn(&mut self, round: &Round) {
        let base = *self.base_loss_ratio.get_or_insert(round.loss_ratio);
        if round.loss_ratio > base + LOSS_MORE_RATIO {
            self.bad_bytes_per_s = Some(round.rate_bytes_per_s);
            return;
        }
        self.best_bytes_per_s = self.best_bytes_per_s.max(round.goodput_bytes_per_s);
        // A queue keeps what the link does not carry: nothing is lost, but it comes ever later.
        let carried = round.offered_bytes_per_s * (1.0 - base);
        if round.goodput_bytes_per_s < CARRIED_RATIO_MIN * carried {
            self.bad_bytes_per_s = Some(round.rate_bytes_per_s);
            return;
        }
        self.good_bytes_per_s = round.rate_bytes_per_s;
        // A sender that cannot keep up would not with a higher rate either.
        self.done = round.offered_bytes_per_s < SENDER_RATIO_MIN * round.rate_bytes_per_s;
    }
}

/// 1 Mbit/s and 1 Gbit/s, below and above what phones exchange.
const RATE_BYTES_PER_S_MIN: f64 = 125_000.0;
const RATE_BYTES_PER_S_MAX: f64 = 128_000_000.0;

/// More loss than at the lowest rate that still counts as none.
const LOSS_MORE_RATIO: f64 = 0.01;

/// The bisection ends when the answer is known to 10 %.
const RESOLUTION: f64 = 1.1;

/// Naps and bursts alone cost a sender less than this.
const SENDER_RATIO_MIN: f64 = 0.8;

/// Arrivals of a short train spread less than this without a queue.
const CARRIED_RATIO_MIN: f64 = 0.8;

/// Enough that two lost ones are [`LOSS_MORE_RATIO`], and long against the jitter of arrivals.
const DATAGRAMS_MIN: f64 = 200.0;
const TRAIN_MIN: Duration = Duration::from_millis(300);

const SEARCHES_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// A link of `capacity` that always loses `loss_ratio`, and a sender that can do `sender`.
    fn searched(capacity: f64, loss_ratio: f64, sender: f64) -> (f64, usize) {
        let mut search = Search::new();
        let mut rounds = 0;
        while let Some(rate) = search.next_rate() {
            let offered = rate.min(sender);
            let goodput = offered.min(capacity) * (1.0 - loss_ratio);
            search.learn(&Round {
                rate_bytes_per_s: rate,
                offered_bytes_per_s: offered,
                goodput_bytes_per_s: goodput,
                loss_ratio: 1.0 - goodput / offered,
            });
            rounds += 1;
        }
        (search.best_bytes_per_s, rounds)
    }

    #[test]
    fn a_capacity_is_found_to_a_tenth() {
        for capacity in [2e5, 3.3e6, 5e7] {
            for loss_ratio in [0.0, 0.05] {
                let (best, rounds) = searched(capacity, loss_ratio, f64::INFINITY);
                let found = best / (capacity * (1.0 - loss_ratio));
                assert!((0.9..=1.0).contains(&found), "{capacity} {found}");
                assert!(rounds <= 20, "{rounds}");
            }
        }
    }

    #[test]
    fn a_queue_that_loses_nothing_is_no_capacity() {
        let (mut search, mut rates) = (Search::new(), Vec::new());
        while let Some(rate) = search.next_rate() {
            search.learn(&Round {
                rate_bytes_per_s: rate,
                offered_bytes_per_s: rate,
                goodput_bytes_per_s: rate.min(3.3e6),
                loss_ratio: 0.0,
            });
            rates.push(rate);
        }
        assert_eq!(search.best_bytes_per_s, 3.3e6);
        let highest = rates.into_iter().fold(0.0, f64::max);
        assert!(highest <= 2.0 * 3.3e6 / CARRIED_RATIO_MIN, "{highest}");
    }

    #[test]
    fn every_rate_sends_enough_to_see_a_hundredth_lost() {
        for rate_bytes_per_s in [RATE_BYTES_PER_S_MIN, 1e6, RATE_BYTES_PER_S_MAX] {
            let duration_s = train_duration(1200, rate_bytes_per_s).as_secs_f64();
            assert!(duration_s * rate_bytes_per_s / 1200.0 >= 199.9);
            assert!((0.3..2.0).contains(&duration_s), "{duration_s}");
        }
    }

    #[test]
    fn a_slow_sender_ends_the_search() {
        let (best, _) = searched(f64::INFINITY, 0.0, 3e6);
        assert_eq!(best, 3e6);
    }

    #[test]
    fn the_highest_rate_ends_the_search() {
        let (best, rounds) = searched(f64::INFINITY, 0.0, f64::INFINITY);
        assert_eq!((best, rounds), (RATE_BYTES_PER_S_MAX, 11));
    }

    #[test]
    fn a_link_below_the_lowest_rate_gives_what_arrives() {
        assert_eq!(searched(50_000.0, 0.0, f64::INFINITY).0, 50_000.0);
    }
}
