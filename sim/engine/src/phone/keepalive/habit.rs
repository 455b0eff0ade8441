//! A habit: how many datagrams two ends send each other while neither has anything to say.
//!
//! Where ways vary or lose, when the ends of a kept connection ping is chance: both at once until
//! one ping is late, in turn until another is, and a few more after each loss. What many
//! connections did that fell silent says how many datagrams pass on average, by how long it lasts.
//! What deliberately does not live here: the run in which they did ([`crate::driver::habits`]).

use pocketsim_protocols::contract::Seconds;

/// What pairs of two networks sent each other on average; sides are the two networks'.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Habit {
    /// Of UDP payloads.
    sizes_bytes: Vec<u32>,
    /// By stretch of silence, side and size, datagrams per second.
    rates_per_s: Vec<[Vec<f64>; 2]>,
    /// By side, how many of what it sends arrive.
    pub(crate) delivered_ratio: [f64; 2],
    unit_s: Seconds,
}

/// A datagram that an observed pair sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) side: usize,
    /// Since the pair fell silent.
    pub(crate) after_s: Seconds,
    pub(crate) bytes: u32,
    pub(crate) arrived: bool,
}

impl Habit {
    /// The habit of so many pairs that were seen for [`length_s`] of silence each; `unit_s` is after
    /// how much of it they ask.
    pub(crate) fn new(unit_s: Seconds, pairs: usize, seen: &[Seen]) -> Self {
        let mut sizes_bytes: Vec<u32> = seen.iter().map(|one| one.bytes).collect();
        sizes_bytes.sort_unstable();
        sizes_bytes.dedup();
        let none = || [0, 1].map(|_| vec![0.0; sizes_bytes.len()]);
        let mut rates_per_s: Vec<_> = (0..STRETCHES).map(|_| none()).collect();
        let (mut sent, mut arrived) = ([0.0; 2], [0.0; 2]);
        for one in seen {
            sent[one.side] += 1.0;
            arrived[one.side] += f64::from(u8::from(one.arrived));
            let stretch = rates_per_s.iter_mut().zip(stretches(unit_s));
            let mut stretch = stretch.filter(|(_, [_, end_s])| one.after_s < *end_s);
            let Some((rates, [start_s, end_s])) = stretch.next() else {
                continue;
            };
            let size = sizes_bytes.partition_point(|&bytes| bytes < one.bytes);
            rates[one.side][size] += 1.0 / (pairs as f64 * (end_s - start_s));
        }
        let delivered_ratio = [0, 1].map(|side| match sent[side] {
            0.0 => 1.0,
            sent => arrived[side] / sent,
        });
        Self {
            sizes_bytes,
            rates_per_s,
            delivered_ratio,
            unit_s,
        }
    }

    /// Sizes of what a side sends in so long a silence, and how many of each; after what was
    /// observed it goes on as at its end.
    pub(crate) fn sent(
        &self,
        side: usize,
        silence_s: Seconds,
    ) -> impl Iterator<Item = (u32, f64)> + '_ {
        let count = move |size: usize| {
            let last = STRETCHES - 1;
            let parts = stretches(self.unit_s).zip(&self.rates_per_s).enumerate();
            let counts = parts.map(|(number, ([start_s, end_s], rates))| {
                let end_s = if number == last { silence_s } else { end_s };
                rates[side][size] * (silence_s.min(end_s) - start_s).max(0.0)
            });
            counts.sum()
        };
        let sizes = self.sizes_bytes.iter().enumerate();
        sizes.map(move |(size, &bytes)| (bytes, count(size)))
    }
}

/// For how long pairs are observed from when they fall silent.
pub(crate) fn length_s(unit_s: Seconds) -> Seconds {
    stretches(unit_s).last().map_or(0.0, |[_, end_s]| end_s)
}

/// Each twice as long as the one before: what pairs do changes ever more slowly.
fn stretches(unit_s: Seconds) -> impl Iterator<Item = [Seconds; 2]> {
    let edge_s = move |number: usize| unit_s * ((1u64 << number) - 1) as f64;
    (0..STRETCHES).map(move |number| [edge_s(number), edge_s(number + 1)])
}

/// The last one is half of 511 units.
const STRETCHES: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(side: usize, after_s: Seconds, bytes: u32, arrived: bool) -> Seen {
        Seen {
            side,
            after_s,
            bytes,
            arrived,
        }
    }

    #[test]
    fn counts_are_means_over_pairs_and_go_on_as_at_the_end() {
        let steady = (0..511).map(|second| seen(0, f64::from(second) + 0.5, 40, true));
        let start = [seen(1, 0.5, 60, true), seen(1, 0.6, 60, false)];
        let habit = Habit::new(1.0, 2, &steady.chain(start).collect::<Vec<_>>());
        let sent = |side, silence_s| habit.sent(side, silence_s).collect::<Vec<_>>();
        assert_eq!(habit.delivered_ratio, [1.0, 0.5]);
        for (silence_s, count) in [(1.0, 0.5), (100.0, 50.0), (511.0, 255.5), (3e6, 1.5e6)] {
            let (bytes, sent) = sent(0, silence_s)[0];
            assert_eq!(bytes, 40);
            assert!((sent / count - 1.0).abs() < 1e-9, "{silence_s}: {sent}");
        }
        assert_eq!(sent(1, 0.5)[1], (60, 0.5));
        assert_eq!(sent(1, 5000.0)[1], (60, 1.0));
        assert_eq!(length_s(2.0), 1022.0);
    }
}
