//! Samples become moments and quantiles that agree with naive formulas.

use pocketsim_probe_core::sketch::{median, quantile, rounded, sketch, QUANTILES};
use proptest::prelude::*;

fn values() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1e-9..1e3_f64, 1..400)
}

proptest! {
    #[test]
    fn moments_are_those_of_the_textbook(values in values()) {
        let samples = sketch(&values, 1_000);
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        let deviation = if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let largest = values.iter().copied().fold(0.0, f64::max);
        prop_assert_eq!(samples.count, values.len() as u64);
        prop_assert!((samples.mean - mean).abs() <= 1e-6 * largest);
        prop_assert!((samples.standard_deviation - deviation).abs() <= 1e-6 * largest);
        prop_assert_eq!(samples.maximum, rounded(largest));
    }

    #[test]
    fn minimum_median_and_maximum_are_in_order(values in values()) {
        let samples = sketch(&values, 0);
        prop_assert!(samples.minimum <= samples.median && samples.median <= samples.maximum);
        prop_assert!(samples.minimum <= samples.mean && samples.mean <= samples.maximum);
    }

    #[test]
    fn few_values_are_kept_in_their_order(values in values()) {
        let samples = sketch(&values, values.len());
        let kept: Vec<f64> = values.iter().copied().map(rounded).collect();
        prop_assert_eq!(samples.values, Some(kept));
        prop_assert_eq!(samples.quantiles, None);
    }

    #[test]
    fn many_values_become_quantiles_that_rise(values in values()) {
        let samples = sketch(&values, values.len() - 1);
        prop_assert_eq!(samples.values, None);
        let quantiles = samples.quantiles.unwrap();
        prop_assert_eq!(quantiles.len(), QUANTILES);
        prop_assert!(quantiles.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert_eq!(quantiles[0], samples.minimum);
        prop_assert_eq!(quantiles[QUANTILES / 2], samples.median);
        prop_assert_eq!(quantiles[QUANTILES - 1], samples.maximum);
    }

    #[test]
    fn the_order_of_samples_changes_no_moment(mut values in values()) {
        let forwards = sketch(&values, 0);
        values.reverse();
        prop_assert_eq!(forwards, sketch(&values, 0));
    }

    #[test]
    fn rounding_keeps_seven_digits_and_is_final(value in -1e9..1e9_f64) {
        let once = rounded(value);
        prop_assert!((once - value).abs() <= 5e-7 * value.abs());
        prop_assert_eq!(once, rounded(once));
    }
}

#[test]
fn quantiles_lie_between_neighbours() {
    let sorted = [1.0, 2.0, 4.0];
    assert_eq!(quantile(&sorted, 0.0), 1.0);
    assert_eq!(quantile(&sorted, 0.25), 1.5);
    assert_eq!(quantile(&sorted, 0.75), 3.0);
    assert_eq!(quantile(&sorted, 1.0), 4.0);
}

#[test]
fn a_median_of_nothing_is_nothing() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
}

#[test]
#[should_panic(expected = "not finite")]
fn what_is_no_number_is_a_fault_of_ours() {
    sketch(&[1.0, f64::NAN], 10);
}
