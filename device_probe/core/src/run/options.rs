//! What the user asks of a run.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::host::HostExtras;
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

/// Where the facts come from that only Java knows.
#[derive(Clone, Default)]
pub struct Extras(Option<Arc<dyn Fn() -> HostExtras + Send + Sync>>);

impl Extras {
    /// Asked before, during and after the run, from the thread that runs it.
    pub fn live(ask: impl Fn() -> HostExtras + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// What they are now; nothing where there is nobody to ask.
    pub fn now(&self) -> HostExtras {
        self.0.as_ref().map(|ask| ask()).unwrap_or_default()
    }
}

impl fmt::Debug for Extras {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() {
            "Extras(live)"
        } else {
            "Extras(none)"
        })
    }
}
