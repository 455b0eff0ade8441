//! How proposals are sent again, in a plan.

use pocketsim_protocols::contract::Seconds;

#[cfg(feature = "python")]
use pyo3::FromPyObject;

/// How proposals are sent again, as `pocketsim_protocols::trustchain::Retries` describes it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(from_item_all))]
pub struct Retries {
    /// Most sends of one proposal, the first included.
    pub attempts: u32,
    /// How long an answer is waited for after the first send, seconds.
    pub first_wait_s: Seconds,
    /// How many times as long each wait is as the one before.
    pub factor: f64,
    /// No wait is longer, seconds.
    pub longest_wait_s: Seconds,
    /// Share of each wait that is drawn.
    pub jitter: f64,
    /// A proposal is given up so long after it was first sent, seconds.
    pub deadline_s: Seconds,
    /// `kept`: a phone that goes off keeps its open proposals; `lost`: it loses them.
    pub while_off: String,
}
