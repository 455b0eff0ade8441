//! Running cases without a whole run around them.

use std::collections::BTreeMap;
use std::time::Duration;

use pocketsim_probe_core::clock::Clock;
use pocketsim_probe_core::kernel::{Budget, Case, Unmeasured, Work};
use pocketsim_probe_core::stop::Stop;

/// Samples by quantity.
pub type Samples = BTreeMap<&'static str, Vec<f64>>;

/// A few samples of an experiment, however long each takes.
pub fn measure(case: &Case, samples: usize) -> Result<Samples, Unmeasured> {
    measure_until(case, samples, &Stop::new())
}

/// The same, unless `stop` is raised.
pub fn measure_until(case: &Case, samples: usize, stop: &Stop) -> Result<Samples, Unmeasured> {
    measure_within(case, samples, Duration::from_secs(60), stop)
}

/// The same, with a time limit: trains and rounds of a link are as long as that asks for.
pub fn measure_within(
    case: &Case,
    samples: usize,
    time_limit: Duration,
    stop: &Stop,
) -> Result<Samples, Unmeasured> {
    let clock = Clock {
        resolution_s: 1e-9,
        read_s: 0.0,
        cpu_read_s: 0.0,
    };
    let budget = Budget {
        clock: &clock,
        samples,
        time_limit,
        stop,
    };
    let Work::Experiment(work) = &case.work else {
        panic!("{} is no experiment", case.kernel);
    };
    let series = work(&budget)?;
    let series = series.into_iter().map(|s| (s.quantity, s.values));
    Ok(series.collect())
}

/// Kernel and parameters, for messages.
pub fn label(case: &Case) -> String {
    format!("{} {:?}", case.kernel, case.parameters)
}
