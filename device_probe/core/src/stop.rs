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

    /// Raises it when it goes: whoever waits for the end of a thread that panics learns of it.
    pub(crate) fn when_dropped(&self) -> RaiseWhenDropped {
        RaiseWhenDropped(Some(self.clone()))
    }

    /// Whether somebody asked.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// See [`Stop::when_dropped`].
pub(crate) struct RaiseWhenDropped(Option<Stop>);

impl RaiseWhenDropped {
    /// All went well: leave it as it is.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for RaiseWhenDropped {
    fn drop(&mut self) {
        if let Some(stop) = &self.0 {
            stop.raise();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_holds_a_handle_sees_it_raised_for_good() {
        let stop = Stop::new();
        let other = stop.clone();
        assert!(!other.is_raised());
        stop.raise();
        drop(stop);
        assert!(other.is_raised());
        assert!(!Stop::new().is_raised());
    }

    #[test]
    fn a_guard_raises_it_when_it_goes_unless_all_went_well() {
        let stop = Stop::new();
        stop.when_dropped().disarm();
        assert!(!stop.is_raised());
        drop(stop.when_dropped());
        assert!(stop.is_raised());
    }

    #[test]
    fn a_thread_that_panics_raises_it_on_its_way_out() {
        let stop = Stop::new();
        let guard = stop.when_dropped();
        let thread = std::thread::spawn(move || {
            let guard = guard;
            assert_eq!(1, 2, "on purpose");
            guard.disarm();
        });
        assert!(thread.join().is_err());
        assert!(stop.is_raised());
    }
}
