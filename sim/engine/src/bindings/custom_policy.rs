//! A policy of the transport of somebody's own, written in Python: an object for each phone.

use std::rc::Rc;

use pocketsim_protocols::contract::{Reason, Seconds};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::bindings::custom_failures::{Failed, Failures};
use crate::phone::policy::{Message, Policy};

/// The bound methods of one object.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PolicyCalls {
    hand_over: Py<PyAny>,
    failed: Py<PyAny>,
}

/// The objects of all phones.
pub(crate) struct CustomPolicy {
    /// By phone.
    calls: Vec<PolicyCalls>,
    failures: Rc<Failures>,
    /// By phone, when it was last asked of a failure, and how often at that time.
    asked: Vec<(Seconds, u32)>,
}

impl CustomPolicy {
    /// One whose objects have these methods, and tell of what goes wrong.
    pub(crate) fn new(calls: Vec<PolicyCalls>, failures: Rc<Failures>) -> Self {
        let asked = vec![(0.0, 0); calls.len()];
        Self {
            calls,
            failures,
            asked,
        }
    }

    /// Counts failures at one time: what fails at once and is tried again at once never ends.
    fn count(&mut self, phone: u32, now: Seconds) -> PyResult<()> {
        let asked = &mut self.asked[phone as usize];
        *asked = match *asked {
            (time_s, count) if time_s == now => (now, count + 1),
            _ => (now, 1),
        };
        if asked.1 <= FAILURES_AT_ONCE_MAX {
            return Ok(());
        }
        let text = format!("was asked {FAILURES_AT_ONCE_MAX} times and time did not go on");
        Err(PyValueError::new_err(text))
    }

    /// Asks the object of a phone; whatever goes wrong ends the run.
    fn ask(
        &self,
        method: &'static str,
        phone: u32,
        now: Seconds,
        call: impl for<'py> FnOnce(Python<'py>, &PolicyCalls) -> PyResult<Bound<'py, PyAny>>,
    ) -> Option<Seconds> {
        Python::attach(|py| {
            let mut answer = None;
            let calls = &self.calls[phone as usize];
            let asked = call(py, calls).and_then(|found| {
                answer = Some(found.clone().unbind());
                date(&found, now)
            });
            asked.unwrap_or_else(|error| {
                self.failures.fail(Failed {
                    call: method,
                    phone,
                    time_s: now,
                    answer,
                    error,
                });
                None
            })
        })
    }
}

impl Policy for CustomPolicy {
    fn hand_over(&mut self, message: &Message, now: Seconds) -> Option<Seconds> {
        self.ask("hand_over", message.phone, now, |py, calls| {
            let told = (message.to.0, message.size_bytes, now);
            calls.hand_over.bind(py).call1(told)
        })
    }

    fn failed(
        &mut self,
        message: &Message,
        reason: Reason,
        attempts: u32,
        now: Seconds,
    ) -> Option<Seconds> {
        let counted = self.count(message.phone, now);
        self.ask("failed", message.phone, now, |py, calls| {
            counted?;
            let told = (
                message.to.0,
                message.size_bytes,
                reason.name(),
                attempts,
                now,
            );
            calls.failed.bind(py).call1(told)
        })
    }
}

/// The date that an object answers; none to give a message up.
fn date(answer: &Bound<'_, PyAny>, now: Seconds) -> PyResult<Option<Seconds>> {
    if answer.is_none() {
        return Ok(None);
    }
    match answer.extract::<Seconds>() {
        Ok(date) if date >= now && date.is_finite() => Ok(Some(date)),
        _ => {
            let text = format!(
                "must be a time in seconds, from now, {now}, on, or None, not {}",
                answer.repr()?
            );
            Err(PyTypeError::new_err(text))
        }
    }
}

// Far more than a phone loses at one moment.
const FAILURES_AT_ONCE_MAX: u32 = 100_000;
