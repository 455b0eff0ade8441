//! How far a run has come, told in hundredths of its duration to whoever asked, with what has
//! happened so far, and whether it is to go on.
//!
//! Reads no clock but the run's own, and nothing of it reaches the simulation:
//! who asks gets the same events as who does not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use pocketsim_protocols::contract::Seconds;

/// Tells a hook the share of the run that is done and the number of its events, each time the share
/// has grown by a hundredth.
#[derive(Default)]
pub struct Progress {
    hook: Option<Box<dyn FnMut(f64, u64) + Send>>,
    told: u32,
    events: u64,
    brake: Brake,
}

/// Ends a run before its time, for whoever cannot go on in the middle of it.
#[derive(Clone, Debug, Default)]
pub struct Brake(Arc<AtomicBool>);

impl Brake {
    /// Nothing more happens in the run.
    pub fn pull(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has pulled it.
    pub fn is_pulled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Progress {
    /// Tells `hook`.
    pub fn to(hook: impl FnMut(f64, u64) + Send + 'static) -> Self {
        Self {
            hook: Some(Box::new(hook)),
            ..Self::default()
        }
    }

    /// What ends the run.
    pub fn brake(&self) -> Brake {
        self.brake.clone()
    }

    /// Whether the run is to end now.
    pub fn is_over(&self) -> bool {
        self.brake.is_pulled()
    }

    /// Something has happened: work or a flight has ended, or something came due.
    pub fn count(&mut self) {
        self.events += 1;
    }

    /// The run has come to `now` of `duration_s`.
    pub fn reach(&mut self, now: Seconds, duration_s: Seconds) {
        let Some(hook) = &mut self.hook else {
            return;
        };
        let done = (now / duration_s * STEPS) as u32;
        if done > self.told {
            self.told = done;
            hook(f64::from(done) / STEPS, self.events);
        }
    }
}

const STEPS: f64 = 100.0; // what a bar on a terminal can show

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn each_hundredth_is_told_once_and_those_skipped_are_not() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        let mut progress = Progress::to(move |share, _| heard.lock().unwrap().push(share));
        for now in [0.0, 0.1, 2.0, 2.1, 2.5, 10.0, 200.0] {
            progress.reach(now, 200.0);
        }
        assert_eq!(*told.lock().unwrap(), [0.01, 0.05, 1.0]);
    }

    #[test]
    fn what_has_happened_is_told_with_it() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        let mut progress = Progress::to(move |_, events| heard.lock().unwrap().push(events));
        for now in [0.0, 1.0, 1.0, 2.0] {
            progress.count();
            progress.reach(now, 2.0);
        }
        assert_eq!(*told.lock().unwrap(), [2, 4]);
    }
}
