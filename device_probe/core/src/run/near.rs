//! Steps of two cores are taken while these are near each other, if asked for.
//!
//! A hypervisor migrates virtual cores within a run, and what a step of two takes is up to 3 times
//! as long while they do not share a cache. Calibration would take the mixture for one device. What
//! deliberately does not live here: how far apart cores are, and how they come near
//! ([`core_to_core`]).

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use super::Options;
use crate::host::affinity::allowed_cores;
use crate::host::core_to_core::{self, NEAR_S};
use crate::host::idle::{Awake, PLACE};
use crate::kernel::Unmeasured;
use crate::stop::Stop;

/// Two cores that may be migrated.
pub trait TwoCores {
    /// How far apart they are, in seconds.
    ///
    /// # Errors
    /// The system does not let it be measured.
    fn latency_s(&self) -> Result<f64, Unmeasured>;

    /// Let them come near, and say how far apart they are then, in seconds.
    ///
    /// # Errors
    /// The system does not let it be measured.
    fn bring_near(&self) -> Result<f64, Unmeasured>;
}

/// The cores of this process, as the options want them: awake, and near each other.
pub struct Here {
    cores: Option<[u32; 2]>,
    awake: Option<Awake>,
}

impl Here {
    /// Hold what is to be held while this lives.
    ///
    /// # Errors
    /// There are not two cores; the system does not let this user keep cores awake.
    pub fn of(options: &Options) -> Result<Self, Unmeasured> {
        let hold = || {
            let held = Awake::hold(Path::new(PLACE));
            held.map_err(|error| Unmeasured::because(format!("{PLACE}: {error}")))
        };
        Ok(Self {
            cores: options.near.then(|| two_of(&allowed_cores())).transpose()?,
            awake: options.awake.then(hold).transpose()?,
        })
    }

    /// The cores that are to be near, if any are.
    pub fn two(&self) -> Option<&dyn TwoCores> {
        self.cores.is_some().then_some(self as &dyn TwoCores)
    }

    fn cores(&self) -> [u32; 2] {
        self.cores.expect("asked of cores that are to be near")
    }
}

/// Threads are where the system puts them: of more than two cores it would be any two.
fn two_of(allowed: &[u32]) -> Result<[u32; 2], Unmeasured> {
    <[u32; 2]>::try_from(allowed).map_err(|_| {
        let count = allowed.len();
        let confine = "confine the probe to two, as `taskset -c 0,1` does";
        Unmeasured::because(format!(
            "two cores are near each other, and it has {count}: {confine}"
        ))
    })
}

impl TwoCores for Here {
    fn latency_s(&self) -> Result<f64, Unmeasured> {
        core_to_core::latency_s(self.cores())
    }

    fn bring_near(&self) -> Result<f64, Unmeasured> {
        let bring = || core_to_core::bring_near(self.cores(), PATIENCE);
        match &self.awake {
            // One that polls is never placed anew.
            Some(awake) => awake.resting(bring)?,
            None => bring(),
        }
    }
}

/// Steps that were to be taken while cores are near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenApart {
    /// Those before or after which they were not.
    pub apart: u32,
    /// All of them.
    pub steps: u32,
}

/// Takes steps while two cores are near, as often as there is patience for.
pub struct Near<'a> {
    cores: Option<&'a dyn TwoCores>,
    attempts_left: Cell<u32>,
    repeats_left: Cell<u32>,
    taken: Cell<TakenApart>,
}

impl<'a> Near<'a> {
    /// Without cores every step is taken as it comes.
    pub fn new(cores: Option<&'a dyn TwoCores>) -> Self {
        Self {
            cores,
            attempts_left: Cell::new(ATTEMPTS_MAX),
            repeats_left: Cell::new(REPEATS_MAX),
            taken: Cell::new(TakenApart { apart: 0, steps: 0 }),
        }
    }

    /// Take a step, again where the cores were near before it and are not after, unless `stop` is
    /// raised by then. A step that was measured stays so, whatever comes of another attempt.
    ///
    /// # Errors
    /// Those of the step.
    pub fn take<T>(
        &self,
        step: impl Fn() -> Result<T, Unmeasured>,
        stop: &Stop,
    ) -> Result<T, Unmeasured> {
        let Some(cores) = self.cores else {
            return step();
        };
        let mut near = self.are_near(cores);
        let mut taken = step()?;
        loop {
            let stayed = near && is_near(cores.latency_s());
            if stayed || !near || stop.is_raised() || !spend(&self.repeats_left) {
                self.count(stayed);
                return Ok(taken);
            }
            near = self.are_near(cores);
            match step() {
                Ok(again) => taken = again,
                Err(_) => near = false,
            }
        }
    }

    /// How many steps were taken apart, if any were.
    pub fn taken_apart(&self) -> Option<TakenApart> {
        Some(self.taken.get()).filter(|taken| taken.apart > 0)
    }

    fn count(&self, stayed: bool) {
        let TakenApart { apart, steps } = self.taken.get();
        self.taken.set(TakenApart {
            apart: apart + u32::from(!stayed),
            steps: steps + 1,
        });
    }

    /// Whether they are near, by themselves or brought so.
    fn are_near(&self, cores: &dyn TwoCores) -> bool {
        if is_near(cores.latency_s()) {
            return true;
        }
        if self.attempts_left.get() == 0 {
            return false;
        }
        let near = is_near(cores.bring_near());
        // Cores that stay apart are those of a computer whose cores do.
        if !near {
            spend(&self.attempts_left);
        }
        near
    }
}

fn is_near(latency_s: Result<f64, Unmeasured>) -> bool {
    latency_s.is_ok_and(|apart_s| apart_s <= NEAR_S)
}

/// One less, if there is one.
fn spend(left: &Cell<u32>) -> bool {
    let some = left.get() > 0;
    left.set(left.get().saturating_sub(1));
    some
}

/// Of one attempt to bring them near: most take less than a second.
const PATIENCE: Duration = Duration::from_secs(3);
/// Attempts that may come to nothing.
const ATTEMPTS_MAX: u32 = 8;
/// Of all steps together; a step of a quick run takes a fraction of a second.
const REPEATS_MAX: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    /// Cores that are far where the script says so; the last word of it holds for ever.
    struct Scripted {
        far: Vec<bool>,
        looked: Cell<usize>,
        brought: Cell<u32>,
        comes_near: bool,
    }

    impl Scripted {
        fn new(far: &[bool], comes_near: bool) -> Self {
            Self {
                far: far.to_vec(),
                looked: Cell::new(0),
                brought: Cell::new(0),
                comes_near,
            }
        }
    }

    impl TwoCores for Scripted {
        fn latency_s(&self) -> Result<f64, Unmeasured> {
            let at = self.looked.replace(self.looked.get() + 1);
            match self.far[at.min(self.far.len() - 1)] {
                true => Ok(190e-9),
                false => Ok(42e-9),
            }
        }

        fn bring_near(&self) -> Result<f64, Unmeasured> {
            self.brought.set(self.brought.get() + 1);
            match self.comes_near {
                true => Ok(42e-9),
                false => Err(Unmeasured::because("taken")),
            }
        }
    }

    /// How often each of some steps was taken, and how many of them apart.
    fn steps(cores: &Scripted, count: u32) -> (Vec<u32>, Option<TakenApart>) {
        let near = Near::new(Some(cores));
        let times = |_| {
            let times = Cell::new(0);
            let step = || {
                times.set(times.get() + 1);
                Ok(times.get())
            };
            let last = near.take(step, &Stop::new()).expect("taken");
            assert_eq!(last, times.get(), "the last attempt counts");
            last
        };
        let taken = (0..count).map(times).collect();
        (taken, near.taken_apart())
    }

    #[test]
    fn near_cores_take_each_step_once() {
        let cores = Scripted::new(&[false], true);
        assert_eq!(steps(&cores, 3), (vec![1, 1, 1], None));
        assert_eq!(cores.brought.get(), 0);
    }

    #[test]
    fn a_step_during_which_they_moved_apart_is_taken_again() {
        // Near before, far after; far before the second attempt, brought near, near after.
        let cores = Scripted::new(&[false, true, true, false], true);
        assert_eq!(steps(&cores, 1), (vec![2], None));
        assert_eq!(cores.brought.get(), 1);
    }

    #[test]
    fn cores_that_stay_apart_are_waited_for_no_more_than_some_times() {
        let cores = Scripted::new(&[true], false);
        let (taken, apart) = steps(&cores, 20);
        assert_eq!(taken, [1; 20]);
        assert_eq!(
            apart,
            Some(TakenApart {
                apart: 20,
                steps: 20
            })
        );
        assert_eq!(cores.brought.get(), ATTEMPTS_MAX);
    }

    #[test]
    fn cores_that_always_move_apart_end_by_patience() {
        let cores = Scripted::new(&[true], true);
        let (taken, apart) = steps(&cores, 2);
        assert_eq!(taken, [REPEATS_MAX + 1, 1]);
        assert_eq!(apart, Some(TakenApart { apart: 2, steps: 2 }));
    }

    #[test]
    fn what_was_measured_stays_whatever_comes_after() {
        let cores = Scripted::new(&[false, true], true);
        let near = Near::new(Some(&cores));
        let times = Cell::new(0);
        let step = || match times.replace(times.get() + 1) {
            0 => Ok("measured"),
            _ => Err(Unmeasured::because("refused")),
        };
        assert_eq!(near.take(step, &Stop::new()), Ok("measured"));
        assert_eq!(times.get(), 2);
        let stop = Stop::new();
        stop.raise();
        times.set(0);
        let once = Scripted::new(&[false, true], true);
        assert_eq!(Near::new(Some(&once)).take(step, &stop), Ok("measured"));
        assert_eq!(times.get(), 1, "nothing again after a stop");
    }

    #[test]
    fn where_nobody_asks_steps_are_as_they_come() {
        let near = Near::new(None);
        assert_eq!(near.take(|| Ok(7), &Stop::new()), Ok(7));
        assert_eq!(near.taken_apart(), None);
    }

    #[test]
    fn of_more_than_two_cores_nobody_knows_which() {
        assert_eq!(two_of(&[3, 5]), Ok([3, 5]));
        for wrong in [&[][..], &[0], &[0, 1, 2]] {
            let reason = two_of(wrong).expect_err("refused");
            assert!(reason.0.contains("taskset"), "{reason}");
        }
    }
}
