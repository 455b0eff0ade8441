//! An operation as a process does it that does nothing else: once, in a program that is started for it.
//!
//! A command of `probe tokens` is such a process. Its code is not mapped yet and its memory is fresh,
//! which for a few tokens is most of what it takes; an operation in a loop says nothing of that. So
//! the program starts itself for each sample, with the name of the kernel, and hands over what the
//! operation finds through a pipe, as a command finds files.
//!
//! What deliberately does not live here: which operations there are (`super::bookkeeping`,
//! `super::crypto::first`, `super::destination`).

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::experiment::{self, collect_cold, Watch, WALL_AND_CPU};
use super::{bookkeeping, crypto, destination};
use crate::clock::Clock;
use crate::kernel::{Budget, Case, Group, Series, Unmeasured};

/// The word after which the program takes the name of a kernel ([`measure`]).
pub const WORD: &str = "once";

/// What one operation took, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// By the clock.
    pub wall_s: f64,
    /// CPU time of the thread.
    pub cpu_s: f64,
}

/// Do the operation of a kernel once, with what `input` says that it finds.
///
/// # Errors
/// A name that no kernel has, input that is none of its; what the operation says.
pub fn measure(kernel: &str, mut input: impl Read) -> Result<Taken, Unmeasured> {
    let mut found = Vec::new();
    input.read_to_end(&mut found)?;
    let operation = match crypto::first::operation(kernel, &found)? {
        Some(operation) => operation,
        None => match destination::operation(kernel, &found)? {
            Some(operation) => operation,
            None => bookkeeping::operation(kernel, &found)?,
        },
    };
    let clock = Clock {
        resolution_s: 0.0,
        read_s: 0.0,
        cpu_read_s: 0.0,
    };
    // What a watch takes is known after the first.
    Watch::thread().per_operation(&clock, 1);
    let watch = Watch::thread();
    operation()?;
    let [wall_s, cpu_s] = watch.per_operation(&clock, 1);
    Ok(Taken { wall_s, cpu_s })
}

/// What is done once, ready to be timed.
pub(super) type Operation = Box<dyn FnOnce() -> Result<(), Unmeasured>>;

/// A case of wall and CPU time, in seconds, each sample in a process of its own.
///
/// `program` is this one ([`WORD`]); without, nothing is measured. `find` makes what the operation
/// finds.
pub(super) fn case(
    group: Group,
    kernel: &'static str,
    parameters: &[(&'static str, f64)],
    program: Option<&Path>,
    find: impl Fn() -> Result<Vec<u8>, Unmeasured> + Send + Sync + 'static,
) -> Case {
    let program: Option<PathBuf> = program.map(Path::to_owned);
    experiment::case(group, kernel, parameters, move |budget| match &program {
        Some(program) => samples(budget, program, kernel, &find()?),
        None => Err(Unmeasured::because(NO_PROGRAM)),
    })
}

fn samples(
    budget: &Budget<'_>,
    program: &Path,
    kernel: &str,
    found: &[u8],
) -> Result<Vec<Series>, Unmeasured> {
    let few = Budget {
        samples: budget.samples.min(SAMPLES_MAX),
        ..*budget
    };
    collect_cold(&few, WALL_AND_CPU, || {
        let taken = started(program, kernel, found)?;
        Ok([taken.wall_s, taken.cpu_s])
    })
}

fn started(program: &Path, kernel: &str, found: &[u8]) -> Result<Taken, Unmeasured> {
    let mut child = Command::new(program)
        .args([WORD, kernel])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut pipe = child.stdin.take().expect("it was asked for");
    // A child that has ended before says why itself.
    let written = pipe.write_all(found);
    drop(pipe);
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => {
            written?;
            let answer = serde_json::from_slice(&output.stdout);
            answer.map_err(|error| Unmeasured::because(error.to_string()))
        }
        false => Err(Unmeasured::because(said.trim())),
    }
}

const NO_PROGRAM: &str = "it is done by a program that is started for it, and this is no command";
/// In a round: a process takes some milliseconds, and medians are wanted.
const SAMPLES_MAX: usize = 50;
