//! Kernels of the group `storage`.

use super::Surroundings;
use crate::kernel::Case;

/// The cases of this group.
pub fn cases(_surroundings: &Surroundings) -> Vec<Case> {
    Vec::new()
}
