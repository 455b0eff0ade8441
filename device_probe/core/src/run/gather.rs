//! What the rounds of one case add up to.

use super::plan::Step;
use crate::kernel::Unmeasured;
use crate::report::{Measurement, Quantity, Round, Status, WarmUp};
use crate::sampler::Taken;
use crate::sketch::{median, rounded, sketch};

/// One step with everything that was measured of it so far.
#[derive(Clone)]
pub struct Gathered {
    step: Step,
    quantities: Vec<(&'static str, Vec<f64>)>,
    warm_up: Option<WarmUp>,
    iterations: Option<u64>,
    rounds: Vec<Round>,
    reason: Option<String>,
}

/// Where a round ended; nothing where that is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whereabouts {
    /// Number of the core.
    pub core: Option<u32>,
    /// Its frequency, in hertz.
    pub frequency_hz: Option<f64>,
}

impl Gathered {
    /// Nothing yet.
    pub fn new(step: Step) -> Self {
        Self {
            step,
            quantities: Vec::new(),
            warm_up: None,
            iterations: None,
            rounds: Vec::new(),
            reason: None,
        }
    }

    /// What is measured.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// Take in a round that began at `at_s`.
    pub fn add(&mut self, at_s: f64, taken: Taken, whereabouts: Whereabouts) {
        let series: Vec<_> = taken
            .series
            .into_iter()
            .filter(|s| !s.values.is_empty())
            .collect();
        let Some(first) = series.first() else {
            self.reason = Some("it gave no sample".to_owned());
            return;
        };
        self.rounds.push(Round {
            at_s: rounded(at_s),
            samples: first.values.len() as u64,
            median: rounded(median(&first.values).expect("there are values")),
            iterations_per_sample: taken.iterations,
            core: whereabouts.core,
            frequency_hz: whereabouts.frequency_hz,
        });
        for one in series {
            self.values_of(one.quantity).extend(one.values);
        }
        self.iterations = taken.iterations;
        self.reason = taken.reason.or(self.reason.take());
        self.warm_up = joined(self.warm_up.take(), taken.warm_up);
    }

    /// A round came to nothing; that does not spoil the rounds before.
    pub fn fail(&mut self, Unmeasured(reason): Unmeasured) {
        self.reason = Some(reason);
    }

    /// As a part of the report; raw values are kept up to `values_max` for each quantity.
    pub fn measurement(&self, values_max: usize) -> Measurement {
        let case = &self.step.case;
        let parameters = case.parameters.iter();
        let measured = !self.quantities.is_empty();
        Measurement {
            kernel: case.kernel.to_owned(),
            group: case.group,
            parameters: parameters
                .map(|(name, &value)| (String::from(*name), value))
                .collect(),
            threads: self.step.threads as u32,
            core_class: self.step.cores.as_ref().map(|(class, _)| *class),
            status: if measured {
                Status::Measured
            } else {
                Status::NotMeasured
            },
            reason: self.reason(),
            noisy: false,
            warm_up: self.warm_up.clone(),
            iterations_per_sample: self.iterations,
            rounds: self.rounds.clone(),
            quantities: self
                .quantities
                .iter()
                .map(|(name, values)| quantity(name, values, values_max))
                .collect(),
        }
    }

    /// Raw values that the report would keep, of all quantities: those of a quantity with more than
    /// `values_max` become quantiles anyway.
    pub fn values_kept(&self, values_max: usize) -> usize {
        let counts = self.quantities.iter().map(|(_, values)| values.len());
        counts.filter(|&count| count <= values_max).sum()
    }

    fn reason(&self) -> Option<String> {
        let none = self
            .quantities
            .is_empty()
            .then(|| "the run ended before it".to_owned());
        self.reason.clone().or(none)
    }

    fn values_of(&mut self, quantity: &'static str) -> &mut Vec<f64> {
        let known = self
            .quantities
            .iter()
            .position(|(name, _)| *name == quantity);
        let place = known.unwrap_or_else(|| {
            self.quantities.push((quantity, Vec::new()));
            self.quantities.len() - 1
        });
        &mut self.quantities[place].1
    }
}

fn quantity(name: &str, values: &[f64], values_max: usize) -> Quantity {
    Quantity {
        name: name.to_owned(),
        samples: sketch(values, values_max),
    }
}

fn joined(before: Option<WarmUp>, now: Option<WarmUp>) -> Option<WarmUp> {
    match (before, now) {
        (Some(before), Some(now)) => Some(WarmUp {
            samples: before.samples + now.samples,
            settled: before.settled && now.settled,
        }),
        (before, now) => before.or(now),
    }
}
