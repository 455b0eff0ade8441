//! Which denominations pay an amount: exactly if they can, with the fewest tokens.
//!
//! Taking the largest first is wrong when coins run out: 6 from 5, 2, 2, 2 is
//! 2 + 2 + 2. So all ways are followed, from the largest denomination down, and
//! of those that leave the same amount missing the one with fewest tokens is
//! kept. That is cheap: an amount that the smaller tokens cannot make up is left
//! out, and what is missing differs by multiples of the greatest common divisor
//! so far, so there are about as many ways open as there are smaller tokens,
//! however large the amount is.
//!
//! What deliberately does not live here: which of two equal tokens is taken.

use std::collections::BTreeMap;

use super::Denomination;

/// How many tokens of each denomination there are, the smallest first.
pub type Held = [u32; Denomination::COUNT];

/// Tokens that pay an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// How many of each denomination.
    pub counts: Held,
    /// What they are worth: the amount, or the smallest payable one above it.
    pub sum_cents: u64,
}

impl Change {
    /// The smallest sum from `held` that is at least `amount_cents`, with the fewest tokens.
    ///
    /// `None` if all of `held` is less. Of ways with equal sum and as many tokens it is
    /// always the same one.
    pub fn nearest(amount_cents: u64, held: &Held) -> Option<Self> {
        let mut search = Search::new(amount_cents);
        let mut open = BTreeMap::from([(amount_cents, 0)]);
        for denomination in Denomination::all().rev() {
            open = search.follow(&open, denomination, held);
        }
        let best = search.best?;
        Some(Self {
            counts: search.counts(best.way),
            sum_cents: amount_cents + best.excess_cents,
        })
    }
}

/// A way so far: how many of one denomination were taken after another way.
#[derive(Clone, Copy)]
struct Way {
    tokens: u64,
    place: usize,
    taken: u32,
    before: usize,
}

/// A way that pays; ordered by what makes it better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Paid {
    excess_cents: u64,
    tokens: u64,
    way: usize,
}

struct Search {
    ways: Vec<Way>,
    best: Option<Paid>,
}

impl Search {
    /// With the way of no tokens, which is its own predecessor.
    fn new(amount_cents: u64) -> Self {
        let nothing = Paid {
            excess_cents: 0,
            tokens: 0,
            way: 0,
        };
        Self {
            ways: vec![Way {
                tokens: 0,
                place: 0,
                taken: 0,
                before: 0,
            }],
            best: (amount_cents == 0).then_some(nothing),
        }
    }

    /// The open ways by the cents that they lack, after those that take `denomination`.
    fn follow(
        &mut self,
        open: &BTreeMap<u64, usize>,
        denomination: Denomination,
        held: &Held,
    ) -> BTreeMap<u64, usize> {
        let (place, each) = (denomination.place(), denomination.cents());
        let smaller_cents = worth_below(place, held);
        let mut next = BTreeMap::new();
        for (&missing, &before) in open.iter().filter(|(&missing, _)| missing > 0) {
            let most = missing.div_ceil(each).min(u64::from(held[place]));
            let least = missing.saturating_sub(smaller_cents).div_ceil(each);
            for taken in least..=most {
                let way = Way {
                    tokens: self.ways[before].tokens + taken,
                    place,
                    taken: taken as u32,
                    before,
                };
                self.offer(way, missing, taken * each, &mut next);
            }
        }
        next
    }

    fn offer(
        &mut self,
        way: Way,
        missing_cents: u64,
        added_cents: u64,
        next: &mut BTreeMap<u64, usize>,
    ) {
        let number = self.ways.len();
        let kept = if added_cents >= missing_cents {
            let paid = Paid {
                excess_cents: added_cents - missing_cents,
                tokens: way.tokens,
                way: number,
            };
            let better = self.best.is_none_or(|best| paid < best);
            self.best = if better { Some(paid) } else { self.best };
            better
        } else {
            let rival = next.entry(missing_cents - added_cents).or_insert(number);
            let better = *rival == number || way.tokens < self.ways[*rival].tokens;
            *rival = if better { number } else { *rival };
            better
        };
        self.ways.extend(kept.then_some(way));
    }

    fn counts(&self, mut number: usize) -> Held {
        let mut counts = [0; Denomination::COUNT];
        while number != 0 {
            let way = self.ways[number];
            counts[way.place] = way.taken;
            number = way.before;
        }
        counts
    }
}

fn worth_below(place: usize, held: &Held) -> u64 {
    let smaller = Denomination::all().zip(held).take(place);
    smaller
        .map(|(denomination, &count)| denomination.cents() * u64::from(count))
        .sum()
}
