//! Kernels of the group `quic`.

use crate::kernel::{Case, Depth};

/// The cases of this group.
pub fn cases(_depth: Depth) -> Vec<Case> {
    Vec::new()
}
