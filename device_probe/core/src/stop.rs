//! A flag that one thread raises and others look at: the user wants the run to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Cloned handles share one flag; raised once, it stays raised.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ask everybody who holds a handle to end.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
