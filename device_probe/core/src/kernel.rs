//! What can be measured: a case of a kernel, and the two ways to do its work.
//!
//! A *kernel* is an operation (`ed25519_verify`); a *case* is a kernel with its parameters
//! (147 bytes). What deliberately does not live here: how long to measure, on which cores, and
//! what becomes of the samples; the [`sampler`](crate::sampler) and the
//! [`run`](crate::run) decide that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pocketsim_protocols::named_enum;

use crate::clock::Clock;
use crate::stop::Stop;
pub use crate::unmeasured::Unmeasured;

named_enum! {
    /// What a kernel is about; the order is that of a run.
    Group {
        /// Signatures, hashes, key agreement, ciphers.
        Crypto = "crypto",
        /// Blocks and tokens to bytes and back.
        Serialisation = "serialisation",
        /// Files and SQLite.
        Storage = "storage",
        /// Threads, sleeps and wake-ups.
        Scheduling = "scheduling",
        /// Datagrams on this device.
        Udp = "udp",
        /// QUIC on this device.
        Quic = "quic",
        /// The way to a peer.
        Link = "link",
        /// Current drawn from the battery.
        Battery = "battery",
    }
}

named_enum! {
    /// How thorough a run is.
    Depth {
        /// The cases a profile needs most, in about half a minute.
        Quick = "quick",
        /// Every case.
        Full = "full",
    }
}

/// Parameters of a case: name with its unit last, and value (`bytes`, `recipients`, `requested_s`).
pub type Parameters = BTreeMap<&'static str, f64>;

/// One kernel with its parameters.
#[derive(Clone)]
pub struct Case {
    /// Name of the kernel, snake case; the same in reports and in calibration.
    pub kernel: &'static str,
    /// What it is about.
    pub group: Group,
    /// Its parameters; threads and core class are added by the run.
    pub parameters: Parameters,
    /// How its work is done.
    pub work: Work,
    /// Whether it is worth running on 1..n threads at once and on each class of cores.
    pub scales: bool,
}

impl Case {
    /// A case whose operation the sampler repeats, on one thread only; `make` makes one instance.
    pub fn repeat<R: Repeat + 'static>(
        group: Group,
        kernel: &'static str,
        parameters: impl IntoIterator<Item = (&'static str, f64)>,
        make: impl Fn() -> Result<R, Unmeasured> + Send + Sync + 'static,
    ) -> Self {
        Self {
            kernel,
            group,
            parameters: parameters.into_iter().collect(),
            work: Work::Repeat(Arc::new(move || Ok(Box::new(make()?)))),
            scales: false,
        }
    }

    /// The same, on 1..n threads and each class of cores too.
    pub fn scaling(self) -> Self {
        Self {
            scales: true,
            ..self
        }
    }
}

/// How the work of a case is done.
#[derive(Clone)]
pub enum Work {
    /// An operation that the sampler repeats and times. The closure makes an instance of its own
    /// for each thread.
    Repeat(Arc<MakeRepeat<'static>>),
    /// An experiment that takes its samples itself.
    Experiment(Arc<TakeSamples>),
}

/// Makes an instance of an operation.
pub type MakeRepeat<'a> = dyn Fn() -> Result<Box<dyn Repeat>, Unmeasured> + Send + Sync + 'a;
/// Takes the samples of an experiment.
pub type TakeSamples = dyn Fn(&Budget<'_>) -> Result<Vec<Series>, Unmeasured> + Send + Sync;

/// An operation that can be repeated.
pub trait Repeat: Send {
    /// Do it `iterations` times, with results that the compiler cannot leave out.
    ///
    /// # Errors
    /// What the system refused; the case is then reported as not measured.
    fn run(&mut self, iterations: u64) -> Result<(), Unmeasured>;

    /// After how many operations what they cost repeats itself, because every so often one has more
    /// to do; samples are made of multiples, so that each has its share.
    fn period(&self) -> u64 {
        1
    }

    /// Undo what piled up; called before each sample, outside its time.
    ///
    /// # Errors
    /// What the system refused.
    fn tidy(&mut self) -> Result<(), Unmeasured> {
        Ok(())
    }
}

impl<F: FnMut() -> Result<(), Unmeasured> + Send> Repeat for F {
    fn run(&mut self, iterations: u64) -> Result<(), Unmeasured> {
        (0..iterations).try_for_each(|_| self())
    }
}

/// Samples of one quantity of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name with its unit last: `wall_s`, `cpu_s`, `capacity_datagrams`, `loss_ratio`.
    pub quantity: &'static str,
    /// One number for each sample, in order of time.
    pub values: Vec<f64>,
}

/// What an experiment may spend.
pub struct Budget<'a> {
    /// The clock, with what it costs to read it.
    pub clock: &'a Clock,
    /// Samples that are enough.
    pub samples: usize,
    /// Time after which it must come to an end with what it has.
    pub time_limit: Duration,
    /// Raised when the user wants no more.
    pub stop: &'a Stop,
}

impl Budget<'_> {
    /// The same, with time enough for some samples with such a rest before each.
    #[must_use]
    pub fn rested(&self, rest: Duration) -> Self {
        Self {
            time_limit: self.time_limit.max(RESTED_SAMPLES * rest),
            ..*self
        }
    }
}

/// In a round; with fewer, nothing would tell how they scatter.
const RESTED_SAMPLES: u32 = 4;
