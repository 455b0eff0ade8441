//! Many samples as a few numbers: moments, and all of the samples or their quantiles.
//!
//! What deliberately does not live here: how samples are taken, and what they mean.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples: moments, and either all of them or their quantiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Number of samples.
    #[schemars(range(min = 1))]
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample.
    #[schemars(range(min = 0.0))]
    pub standard_deviation: f64,
    /// Smallest.
    pub minimum: f64,
    /// Median.
    pub median: f64,
    /// Largest.
    pub maximum: f64,
    /// All samples in order of time, or null beyond the limit.
    #[schemars(length(max = 1000))]
    pub values: Option<Vec<f64>>,
    /// Quantiles 0, 0.5 %, 1 %, ... 100 % where the samples themselves are not kept, else null.
    #[schemars(length(min = 201, max = 201))]
    pub quantiles: Option<Vec<f64>>,
}

impl Samples {
    /// The quantile `level`: of the samples, or between the quantiles that are kept of them.
    pub fn quantile(&self, level: f64) -> f64 {
        let kept = self.values.as_ref().or(self.quantiles.as_ref());
        let Some(mut sorted) = kept.filter(|kept| !kept.is_empty()).cloned() else {
            return self.median;
        };
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, level)
    }
}

/// What is left of `values`: moments, median, and the raw values in their order of time if there
/// are at most `values_max`, else [`QUANTILES`] quantiles.
///
/// # Panics
/// If there is no value, or one that is not finite: whoever measures must not hand over such.
pub fn sketch(values: &[f64], values_max: usize) -> Samples {
    assert!(!values.is_empty(), "a quantity without a sample");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    assert!(
        sorted.iter().all(|value| value.is_finite()),
        "a sample that is not finite"
    );
    let mean = mean(&sorted);
    let kept = values.len() <= values_max;
    Samples {
        count: values.len() as u64,
        mean: rounded(mean),
        standard_deviation: rounded(standard_deviation(&sorted, mean)),
        minimum: rounded(sorted[0]),
        median: rounded(quantile(&sorted, 0.5)),
        maximum: rounded(sorted[sorted.len() - 1]),
        values: kept.then(|| values.iter().copied().map(rounded).collect()),
        quantiles: (!kept).then(|| quantiles(&sorted)),
    }
}

/// Quantile `level` of `sorted`, linear between neighbours (R's type 7, numpy's default).
pub fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level * (sorted.len() - 1) as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    below + (above - below) * place.fract()
}

/// The median of values in any order; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| quantile(&sorted, 0.5))
}

/// Round to [`SIGNIFICANT_DIGITS`], which is finer than any clock here resolves.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", SIGNIFICANT_DIGITS - 1)
        .parse()
        .expect("a number that was just written")
}

fn quantiles(sorted: &[f64]) -> Vec<f64> {
    let steps = QUANTILES - 1;
    (0..=steps)
        .map(|step| rounded(quantile(sorted, step as f64 / steps as f64)))
        .collect()
}

/// From the sorted values, so that it does not depend on their order, and inside their range.
fn mean(sorted: &[f64]) -> f64 {
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    mean.clamp(sorted[0], sorted[sorted.len() - 1])
}

/// Of the sample (divided by n - 1); 0 of a single value.
fn standard_deviation(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len().max(2) - 1) as f64).sqrt()
}

/// 0, 0.5 %, 1 %, ... 100 %: enough for a 99.5 % quantile, and a fifth of the raw values' size.
pub const QUANTILES: usize = 201;
/// A sample lasts at least 1000 resolutions of the clock, so what follows is noise; it halves the
/// size of a report.
pub const SIGNIFICANT_DIGITS: usize = 7;
