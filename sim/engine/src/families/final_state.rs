//! What the applications of a run say at its end.
//!
//! What deliberately does not live here: how families come to it.

use std::collections::BTreeMap;

use crate::families::final_blocks::FinalBlocks;
use crate::families::final_tokens::FinalTokens;

/// What the applications of a run say at its end.
#[derive(Debug, Default)]
pub struct FinalState {
    /// Index of each phone's next proposal; zeros for protocols without one.
    pub final_index: Vec<u64>,
    /// Counters beside those of the trace, by name.
    pub counters: BTreeMap<&'static str, u64>,
    /// What each token is worth that somebody signed over and kept, in cents, by its serial.
    pub kept_cents: BTreeMap<u64, u64>,
    /// The tokens that phones have; only where the plan asks for them.
    pub tokens: Option<FinalTokens>,
    /// The blocks that phones have stored; only where the plan asks for them.
    pub blocks: Option<FinalBlocks>,
}

impl FinalState {
    /// Of applications that have nothing to say but an index.
    pub(crate) fn indices<A>(applications: &[A], next_index: impl Fn(&A) -> u64) -> Self {
        Self {
            final_index: applications.iter().map(next_index).collect(),
            ..Self::default()
        }
    }
}
