//! How many times as long something takes after a rest.

use pocketsim_protocols::contract::Seconds;

use crate::plan;

/// Logarithms of rests, ascending, and a ratio for each; none where rests do not matter.
#[derive(Clone, Debug)]
pub(crate) struct AfterRest(Vec<(f64, f64)>);

impl AfterRest {
    /// As a plan has it.
    ///
    /// # Panics
    /// When there is not one ratio for each rest.
    pub fn new(known: &plan::AfterRest) -> Self {
        assert_eq!(
            known.rest_s.len(),
            known.ratio.len(),
            "one ratio for each rest"
        );
        let rests = known.rest_s.iter().map(|&rest_s| logarithm(rest_s));
        Self(rests.zip(known.ratio.iter().copied()).collect())
    }

    /// Whether it matters for how long a phone has rested.
    pub fn matters(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether it is told of what has not rested.
    pub fn is_known_of_none(&self) -> bool {
        self.0
            .first()
            .is_some_and(|&(rest, _)| rest == logarithm(0.0))
    }

    /// The ratio after a rest: between two that are known, along a line over the logarithm of the
    /// rest, and beyond them that of the nearest. No rest is far below all others: what is known of
    /// it is that of nobody who has rested.
    pub fn ratio(&self, rest_s: Seconds) -> f64 {
        let rest = logarithm(rest_s);
        let next = self.0.partition_point(|&(known, _)| known < rest);
        match (
            next.checked_sub(1).map(|last| self.0[last]),
            self.0.get(next),
        ) {
            (Some((from, low)), Some(&(to, high))) => {
                low + (high - low) * (rest - from) / (to - from)
            }
            (Some((_, ratio)), None) | (None, Some(&(_, ratio))) => ratio,
            (None, None) => 1.0,
        }
    }
}

fn logarithm(rest_s: Seconds) -> f64 {
    rest_s.max(f64::MIN_POSITIVE).ln()
}
