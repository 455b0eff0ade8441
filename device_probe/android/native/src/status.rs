//! How far an activity is: written by its thread, read by the app once a second.
//!
//! It is small whatever the run measures: one entry for each kernel, not for each case.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pocketsim_probe_core::kernel::Case;
use pocketsim_probe_core::report::{Measurement, Spoiled};
use pocketsim_probe_core::run::{Observer, Position};
use pocketsim_probe_core::trade::{Progress, TradeObserver};
use serde::Serialize;

/// How far an activity is.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Which activity.
    pub activity: &'static str,
    /// Where in its life.
    pub stage: Stage,
    /// Why it failed.
    pub error: Option<String>,
    /// Steps of a run that are done.
    pub done: usize,
    /// Steps that it has in all; 0 before it knows.
    pub total: usize,
    /// What is measured now.
    pub current: Option<Current>,
    /// The kernels that came so far, in that order.
    pub kernels: Vec<Kernel>,
    /// Where a peer dials a listener, as far as this phone knows.
    pub address: Option<SocketAddr>,
    /// Live figures of a trade.
    pub trade: Option<Progress>,
    /// What spoiled a finished run; null before, and for a trade.
    pub spoiled: Option<Vec<Spoiled>>,
}

/// Where in its life an activity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It goes on.
    Running,
    /// It was asked to end, and will.
    Stopping,
    /// It is done; there is a report.
    Finished,
    /// It could not go on; the error says why.
    Failed,
}

/// What is measured now.
#[derive(Clone, Debug, Serialize)]
pub struct Current {
    /// Name of the kernel.
    pub kernel: &'static str,
    /// Its parameters.
    pub parameters: BTreeMap<&'static str, f64>,
}

/// What came of a kernel so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kernel {
    /// Its name.
    pub kernel: String,
    /// Steps that gave figures.
    pub measured: usize,
    /// Steps that did not.
    pub not_measured: usize,
    /// Parameters of its last case with figures, and their median; null before.
    pub parameters: Option<BTreeMap<String, f64>>,
    /// Name of that figure, with its unit last.
    pub quantity: Option<String>,
    /// The figure.
    pub median: Option<f64>,
    /// Why the last case without figures has none.
    pub reason: Option<String>,
}

/// A status that a thread writes and others read.
#[derive(Clone, Debug)]
pub struct Board(Arc<Mutex<Status>>);

impl Board {
    /// At the beginning of an activity.
    pub fn new(activity: &'static str) -> Self {
        Self(Arc::new(Mutex::new(Status {
            activity,
            stage: Stage::Running,
            error: None,
            done: 0,
            total: 0,
            current: None,
            kernels: Vec::new(),
            address: None,
            trade: None,
            spoiled: None,
        })))
    }

    /// The status now.
    pub fn status(&self) -> Status {
        self.write().clone()
    }

    /// Somebody asked for the end; nothing else is said about an end that has come already.
    pub fn stopping(&self) {
        let mut status = self.write();
        if status.stage == Stage::Running {
            status.stage = Stage::Stopping;
        }
    }

    /// It is done.
    pub fn finished(&self, spoiled: Option<Vec<Spoiled>>) {
        let mut status = self.write();
        status.stage = Stage::Finished;
        status.current = None;
        status.spoiled = spoiled;
    }

    /// It could not go on.
    pub fn failed(&self, error: impl Into<String>) {
        let mut status = self.write();
        status.stage = Stage::Failed;
        status.error = Some(error.into());
    }

    /// A panic elsewhere leaves the status as readable as it was.
    fn write(&self) -> MutexGuard<'_, Status> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Board {
    fn started(&self, position: &Position, case: &Case) {
        let mut status = self.write();
        // Numbers count from 1.
        (status.done, status.total) = (position.number.saturating_sub(1), position.total);
        status.current = Some(Current {
            kernel: case.kernel,
            parameters: case.parameters.clone(),
        });
    }

    fn measured(&self, measurement: &Measurement) {
        let mut status = self.write();
        status.done += 1;
        entry(&mut status.kernels, &measurement.kernel).add(measurement);
    }
}

impl TradeObserver for Board {
    fn progress(&self, progress: &Progress) {
        self.write().trade = Some(progress.clone());
    }

    fn listening(&self, address: SocketAddr) {
        self.write().address = Some(address);
    }
}

impl Kernel {
    fn new(kernel: &str) -> Self {
        Self {
            kernel: kernel.to_owned(),
            measured: 0,
            not_measured: 0,
            parameters: None,
            quantity: None,
            median: None,
            reason: None,
        }
    }

    fn add(&mut self, measurement: &Measurement) {
        match measurement.quantities.first() {
            Some(quantity) => {
                self.measured += 1;
                self.parameters = Some(measurement.parameters.clone());
                self.quantity = Some(quantity.name.clone());
                self.median = Some(quantity.samples.median);
            }
            None => {
                self.not_measured += 1;
                self.reason = measurement.reason.clone();
            }
        }
    }
}

fn entry<'a>(kernels: &'a mut Vec<Kernel>, name: &str) -> &'a mut Kernel {
    let at = kernels.iter().position(|kernel| kernel.kernel == name);
    let at = at.unwrap_or_else(|| {
        kernels.push(Kernel::new(name));
        kernels.len() - 1
    });
    &mut kernels[at]
}
