//! Denominations, and change for an amount against a search of all ways.

use pocketsim_protocols::token::{Change, Denomination, Held};
use proptest::prelude::*;

const COUNT: usize = Denomination::COUNT;

fn held(tokens: &[(u64, u32)]) -> Held {
    let mut held = [0; COUNT];
    for &(cents, count) in tokens {
        let denomination = Denomination::from_cents(cents).expect("a denomination");
        held[denomination.place()] = count;
    }
    held
}

fn worth(counts: &Held) -> u64 {
    let each = Denomination::all().zip(counts);
    each.map(|(denomination, &count)| denomination.cents() * u64::from(count))
        .sum()
}

fn tokens(counts: &Held) -> u32 {
    counts.iter().sum()
}

/// Smallest sum of at least `amount`, and the fewest tokens for it, by trying everything.
fn best_of_all(amount: u64, held: &Held) -> Option<(u64, u32)> {
    let mut ways = vec![(0, 0)];
    for (denomination, &count) in Denomination::all().zip(held) {
        let more = |&(sum, tokens): &(u64, u32)| {
            (0..=count).map(move |taken| {
                (
                    sum + denomination.cents() * u64::from(taken),
                    tokens + taken,
                )
            })
        };
        ways = ways.iter().flat_map(more).collect();
    }
    ways.into_iter().filter(|(sum, _)| *sum >= amount).min()
}

#[test]
fn fifteen_bytes_are_money() {
    let cents: Vec<u64> = Denomination::all().map(Denomination::cents).collect();
    assert_eq!(cents.first(), Some(&1));
    assert_eq!(cents.last(), Some(&50_000));
    assert!(cents.windows(2).all(|pair| pair[0] < pair[1]));
    for value in 0..=u8::MAX {
        let denomination = Denomination::from_byte(value);
        assert_eq!(denomination.is_some(), (1..=15).contains(&value), "{value}");
        if let Some(denomination) = denomination {
            assert_eq!(denomination.byte(), value);
            assert_eq!(denomination.cents(), cents[usize::from(value) - 1]);
            assert_eq!(
                Denomination::from_cents(denomination.cents()),
                Some(denomination)
            );
        }
    }
    assert_eq!(Denomination::from_cents(3), None);
}

#[test]
fn largest_first_would_be_wrong() {
    // 5 and then nothing: the 1 that it needs is not there.
    let change = Change::nearest(6, &held(&[(5, 1), (2, 3)])).expect("enough");
    assert_eq!(change.counts, held(&[(2, 3)]));
    assert_eq!(change.sum_cents, 6);
    // 50 + 5 x 2 is six tokens, 3 x 20 is three.
    let change = Change::nearest(60, &held(&[(50, 1), (20, 3), (2, 5)])).expect("enough");
    assert_eq!(change.counts, held(&[(20, 3)]));
}

#[test]
fn of_ways_that_leave_the_same_amount_the_short_one_goes_on() {
    // 2 x 50 and 5 x 20 both leave 30 of 130.
    let change = Change::nearest(130, &held(&[(50, 2), (20, 6), (10, 1)])).expect("enough");
    assert_eq!(change.counts, held(&[(50, 2), (20, 1), (10, 1)]));
}

#[test]
fn without_exact_change_the_next_amount_is_named() {
    let purse = held(&[(200, 1), (50, 1), (20, 1)]);
    for (amount, sum) in [(1, 20), (21, 50), (51, 70), (71, 200), (251, 270)] {
        let change = Change::nearest(amount, &purse).expect("enough");
        assert_eq!((change.sum_cents, worth(&change.counts)), (sum, sum));
    }
    assert_eq!(Change::nearest(271, &purse), None);
    assert_eq!(Change::nearest(1, &[0; COUNT]), None);
    let nothing = Change::nearest(0, &purse).expect("nothing is payable");
    assert_eq!((nothing.sum_cents, nothing.counts), (0, [0; COUNT]));
}

/// How many tokens the largest first would take: the fewest, where none runs out.
fn largest_first(mut amount: u64, purse: &Held) -> u32 {
    let mut taken = 0;
    for denomination in Denomination::all().rev() {
        let count = (amount / denomination.cents()).min(purse[denomination.place()].into());
        amount -= count * denomination.cents();
        taken += count as u32;
    }
    assert_eq!(amount, 0);
    taken
}

#[test]
fn large_purses_and_amounts_are_no_harder() {
    // All but three cents of 1.8 million EUR: what stays is a token of two cents and one of one.
    let purse = [2_000; COUNT];
    let amount = worth(&purse) - 3;
    let change = Change::nearest(amount, &purse).expect("enough");
    assert_eq!(change.sum_cents, amount);
    // Half of it, where nearly every number of every denomination has to be thought of.
    let amount = worth(&purse) / 2 + 3;
    let change = Change::nearest(amount, &purse).expect("enough");
    assert_eq!(change.sum_cents, amount);
    assert_eq!(tokens(&change.counts), largest_first(amount, &purse));
    assert_eq!(worth(&change.counts), amount);
}

proptest! {
    #[test]
    fn change_is_the_best_of_all_ways(
        few in prop::collection::vec((0..COUNT, 1..4u32), 0..6),
        amount in prop_oneof![0..60u64, 0..3_000u64, 0..200_000u64],
    ) {
        let mut purse = [0; COUNT];
        for (place, count) in few {
            purse[place] = count;
        }
        let change = Change::nearest(amount, &purse);
        let found = change.map(|change| (change.sum_cents, tokens(&change.counts)));
        prop_assert_eq!(found, best_of_all(amount, &purse));
        if let Some(change) = change {
            prop_assert_eq!(worth(&change.counts), change.sum_cents);
            prop_assert!(change.counts.iter().zip(purse).all(|(&taken, held)| taken <= held));
        }
    }
}
