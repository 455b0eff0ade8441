//! What the user asks of a run.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::host::Extras;
use crate::kernel::Depth;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// How thorough.
    pub depth: Depth,
    /// A serving probe to measure the link to.
    pub peer: Option<SocketAddr>,
    /// A folder for files that are written and removed again.
    pub scratch: PathBuf,
    /// Groups, kernels or patterns of kernels (`*`, `?`) to measure; empty for all.
    pub only: Vec<String>,
    /// Threads at most; as many as there are cores without.
    pub threads_max: Option<usize>,
    /// What the user says about the run.
    pub note: Option<String>,
    /// What only Java knows.
    pub extras: Extras,
}

impl Options {
    /// Everything of that depth, without a peer.
    pub fn new(depth: Depth, scratch: impl Into<PathBuf>) -> Self {
        Self {
            depth,
            peer: None,
            scratch: scratch.into(),
            only: Vec::new(),
            threads_max: None,
            note: None,
            extras: Extras::default(),
        }
    }
}
