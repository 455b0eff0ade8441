//! Kernels of the group `link`: the way to a peer that serves.

use crate::kernel::Case;
use crate::kernels::Surroundings;

/// The cases of this group; none without a peer.
pub fn cases(_surroundings: &Surroundings) -> Vec<Case> {
    Vec::new()
}
