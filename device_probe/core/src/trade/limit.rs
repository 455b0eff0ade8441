//! So many in a second and no more: whoever floods a port must not be answered each time.

use pocketsim_protocols::contract::Seconds;

/// Lets so many through in each second of the clock that it is asked by.
#[derive(Clone, Debug)]
pub(super) struct PerSecond {
    at_most: u32,
    second: u64,
    passed: u32,
}

impl PerSecond {
    pub(super) fn new(at_most: u32) -> Self {
        Self {
            at_most,
            second: 0,
            passed: 0,
        }
    }

    pub(super) fn allows(&mut self, now_s: Seconds) -> bool {
        if self.second != now_s as u64 {
            (self.second, self.passed) = (now_s as u64, 0);
        }
        let passes = self.passed < self.at_most;
        self.passed += u32::from(passes);
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_pass_each_second() {
        let mut limit = PerSecond::new(20);
        let mut passed = |at_s: f64| (0..1_000).filter(|_| limit.allows(at_s)).count();
        assert_eq!([passed(0.5), passed(0.9), passed(1.0)], [20, 0, 20]);
    }
}
