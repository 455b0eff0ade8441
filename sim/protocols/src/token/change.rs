//! Which denominations pay an amount: exactly if they can, with the fewest tokens.
//!
//! Taking the largest first is wrong when coins run out: 6 from 5, 2, 2, 2 is
//! 2 + 2 + 2. So all ways are followed, from the largest denomination down, and
//! of those that leave the same amount missing the one with fewest tokens is
//! kept. Equal tokens are taken in bundles of 1, 2, 4 and so on, which make up every
//! number of them. An amount that what follows cannot make up is left out, and what
//! is missing differs by multiples of the greatest common divisor so far: so for
//! each bundle about as many ways are open as there are smaller tokens, and the
//! work grows with their number (times its logarithm), whatever the amount.
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
        let start = (amount_cents > 0).then_some((amount_cents, 0));
        let mut open: BTreeMap<u64, usize> = start.into_iter().collect();
        for denomination in Denomination::all().rev() {
            let place = denomination.place();
            let (smaller_cents, mut left) = (worth_below(place, held), held[place]);
            for taken in bundles(left) {
                left -= taken;
                let later_cents = smaller_cents + denomination.cents() * u64::from(left);
                open = search.follow(&open, denomination, taken, later_cents);
            }
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

    /// The open ways by the cents that they lack, with and without a bundle of `denomination`;
    /// what is left to take after it is worth `later_cents`.
    fn follow(
        &mut self,
        open: &BTreeMap<u64, usize>,
        denomination: Denomination,
        taken: u32,
        later_cents: u64,
    ) -> BTreeMap<u64, usize> {
        let (place, tokens) = (denomination.place(), u64::from(taken));
        let added_cents = denomination.cents() * tokens;
        let left_out = open.range(..=later_cents);
        let mut next = left_out.map(|(&missing, &way)| (missing, way)).collect();
        for (&missing, &before) in open.range(..=later_cents + added_cents) {
            let way = Way {
                tokens: self.ways[before].tokens + tokens,
                place,
                taken,
                before,
            };
            self.offer(way, missing, added_cents, &mut next);
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
            counts[way.place] += way.taken;
            number = way.before;
        }
        counts
    }
}

/// Numbers that add up to every number from 0 to `count`.
fn bundles(count: u32) -> impl Iterator<Item = u32> {
    let mut left = count;
    let sizes = (0..u32::BITS).map(|power| 1 << power);
    sizes
        .map(move |size: u32| {
            let taken = size.min(left);
            left -= taken;
            taken
        })
        .take_while(|&taken| taken > 0)
}

fn worth_below(place: usize, held: &Held) -> u64 {
    let smaller = Denomination::all().zip(held).take(place);
    smaller
        .map(|(denomination, &count)| denomination.cents() * u64::from(count))
        .sum()
}
