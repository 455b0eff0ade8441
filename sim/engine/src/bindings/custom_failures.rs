//! How objects of somebody's own, written in Python, failed.

use std::cell::RefCell;

use pocketsim_protocols::contract::Seconds;
use pyo3::prelude::*;

use crate::base::progress::Brake;

/// How objects failed; the first ends the run.
pub(crate) struct Failures {
    first: RefCell<Option<Failed>>,
    brake: Brake,
}

impl Failures {
    /// None yet; `brake` ends the run.
    pub(crate) fn new(brake: Brake) -> Self {
        Self {
            first: RefCell::new(None),
            brake,
        }
    }

    /// Whether one has failed.
    pub(crate) fn any(&self) -> bool {
        self.first.borrow().is_some()
    }

    /// The first of them.
    pub(crate) fn take(&self) -> Option<Failed> {
        self.first.take()
    }

    /// One has failed.
    pub(crate) fn fail(&self, failed: Failed) {
        self.first.borrow_mut().get_or_insert(failed);
        self.brake.pull();
    }
}

/// The first failure of a run.
pub(crate) struct Failed {
    pub(crate) call: &'static str,
    pub(crate) phone: u32,
    pub(crate) time_s: Seconds,
    /// What the method answered, if it did.
    pub(crate) answer: Option<Py<PyAny>>,
    pub(crate) error: PyErr,
}
