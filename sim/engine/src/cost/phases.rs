//! How fast phones are for the time being: phases of seconds in which all work takes longer or
//! less.
//!
//! A processor's clock, its temperature and whoever shares it slow down everything that a phone
//! does for a while, unlike the scatter of single executions. The logarithm of the factor is an
//! autoregressive process of order 1 in continuous time (Ornstein and Uhlenbeck): normal with one
//! deviation at every moment, and two moments are correlated by `exp(-apart / time)`. Its mean is
//! such that the factor's is 1. What deliberately does not live here: what work costs.

use pocketsim_protocols::contract::Seconds;

use crate::base::rng::Stream;
use crate::plan::Plan;

/// The phase of each phone; nothing is kept where no profile has phases.
pub(crate) struct Phases(Vec<Phase>);

struct Phase {
    sigma: f64,
    time_s: Seconds,
    /// What it was when somebody last asked, in deviations from the mean.
    level: f64,
    at_s: Seconds,
    stream: Stream,
}

impl Phases {
    /// Every phone is in some phase when the run begins.
    pub(crate) fn new(plan: &Plan) -> Self {
        if plan.profiles.iter().all(|one| one.phase_sigma == 0.0) {
            return Self(Vec::new());
        }
        let phase = |(number, &profile): (u32, &u32)| {
            let profile = &plan.profiles[profile as usize];
            let mut stream = Stream::new(plan.seed, "phase", number);
            Phase {
                sigma: profile.phase_sigma,
                time_s: profile.phase_time_s,
                level: stream.normal(),
                at_s: 0.0,
                stream,
            }
        };
        Self((0..).zip(&plan.phones.profile).map(phase).collect())
    }

    /// How many times as long as on average everything takes there now.
    pub(crate) fn factor(&mut self, phone: u32, now: Seconds) -> f64 {
        let phase = self.0.get_mut(phone as usize);
        phase.map_or(1.0, |phase| phase.factor(now))
    }
}

impl Phase {
    fn factor(&mut self, now: Seconds) -> f64 {
        if self.sigma == 0.0 {
            return 1.0;
        }
        if now > self.at_s {
            let kept = (-(now - self.at_s) / self.time_s).exp();
            self.level = kept * self.level + (1.0 - kept * kept).sqrt() * self.stream.normal();
            self.at_s = now;
        }
        (self.sigma * self.level - 0.5 * self.sigma * self.sigma).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(seed: u64) -> Phase {
        Phase {
            sigma: 0.3,
            time_s: 2.0,
            level: 0.0,
            at_s: 0.0,
            stream: Stream::new(seed, "phase", 0),
        }
    }

    /// Logarithms of factors so far apart in time, from which the mean was taken.
    fn levels(apart_s: Seconds, count: usize) -> Vec<f64> {
        let mut phase = phase(1);
        let logs = (1..=count).map(|number| phase.factor(apart_s * number as f64).ln());
        logs.map(|log| log + 0.5 * 0.3 * 0.3).collect()
    }

    fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = values.len() as f64;
        values.sum::<f64>() / count
    }

    #[test]
    fn moments_are_correlated_as_they_are_apart() {
        let all = levels(1.0, 200_000);
        let variance = mean(all.iter().map(|level| level * level));
        let common = mean(all.windows(2).map(|pair| pair[0] * pair[1]));
        // Neighbours resemble each other, so that 200 000 count as some 50 000: errors of 0.6 %.
        assert!((variance / 0.09 - 1.0).abs() < 0.03, "{variance}");
        let expected = (-0.5_f64).exp();
        assert!((common / variance - expected).abs() < 0.02, "{common}");
    }

    #[test]
    fn the_mean_factor_is_one() {
        let mut phase = phase(2);
        let mean = mean((0..200_000).map(|number| phase.factor(1.0 + f64::from(number))));
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn asking_twice_at_one_moment_changes_nothing() {
        let mut phase = phase(3);
        let first = phase.factor(1.0);
        assert_eq!(first.to_bits(), phase.factor(1.0).to_bits());
        assert_ne!(first.to_bits(), phase.factor(1.1).to_bits());
    }
}
