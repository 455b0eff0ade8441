//! A clock that moves only when it is told to, and devices that do not exist.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use pocketsim_probe_core::clock::{Clock, TimeSource};
use pocketsim_probe_core::kernel::{Case, Group, Parameters, Repeat, Series, Unmeasured, Work};
use pocketsim_probe_core::run::{Observer, Position};

thread_local! {
    static WALL_S: Cell<f64> = const { Cell::new(100.0) };
    static CPU_S: Cell<f64> = const { Cell::new(1.0) };
}

/// Let this thread work for a while.
pub fn work(duration_s: f64) {
    WALL_S.set(WALL_S.get() + duration_s);
    CPU_S.set(CPU_S.get() + duration_s);
}

/// Let this thread wait for a while.
pub fn wait(duration_s: f64) {
    WALL_S.set(WALL_S.get() + duration_s);
}

/// A clock of the thread's own time, with a step and a cost of reading it.
#[derive(Clone, Copy, Debug)]
pub struct FakeTime {
    pub step_s: f64,
    pub read_s: f64,
    pub cpu_read_s: f64,
}

/// A good clock.
pub const FINE: FakeTime = FakeTime {
    step_s: 1e-9,
    read_s: 50e-9,
    cpu_read_s: 400e-9,
};

impl TimeSource for FakeTime {
    fn wall_s(&self) -> f64 {
        work(self.read_s);
        (WALL_S.get() / self.step_s).floor() * self.step_s
    }

    fn thread_cpu_s(&self) -> f64 {
        work(self.cpu_read_s);
        CPU_S.get()
    }

    fn sleep(&self, duration_s: f64) {
        wait(duration_s);
    }
}

/// The fine clock, measured.
pub fn fine_clock() -> Clock {
    Clock::of(&FINE).unwrap()
}

/// An operation that always takes as long.
pub fn steady(duration_s: f64) -> Steady {
    Steady(duration_s)
}

/// See [`steady`].
pub struct Steady(f64);

impl Repeat for Steady {
    fn run(&mut self, iterations: u64) -> Result<(), Unmeasured> {
        work(self.0 * iterations as f64);
        Ok(())
    }
}

/// A case whose instances do what `operation` says.
pub fn repeated<F>(kernel: &'static str, group: Group, operation: F) -> Case
where
    F: Fn() -> Result<(), Unmeasured> + Send + Sync + Clone + 'static,
{
    Case {
        kernel,
        group,
        parameters: Parameters::new(),
        work: Work::Repeat(Arc::new(move || Ok(Box::new(operation.clone())))),
        scales: false,
    }
}

/// A case that gives these values.
pub fn experiment(kernel: &'static str, quantity: &'static str, values: Vec<f64>) -> Case {
    Case {
        kernel,
        group: Group::Scheduling,
        parameters: Parameters::new(),
        work: Work::Experiment(Arc::new(move |_| {
            let values = values.clone();
            Ok(vec![Series { quantity, values }])
        })),
        scales: false,
    }
}

/// Counts what it sees.
#[derive(Default)]
pub struct Counter {
    pub started: AtomicUsize,
    pub measured: AtomicUsize,
}

impl Observer for Counter {
    fn started(&self, position: &Position, _case: &Case) {
        assert!((1..=position.total).contains(&position.number));
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    fn measured(&self, _measurement: &pocketsim_probe_core::report::Measurement) {
        self.measured.fetch_add(1, Ordering::Relaxed);
    }
}

/// Write files below a root; each entry is a path and what is in it.
pub fn plant(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
