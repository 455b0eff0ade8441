//! Steps in which two cores work together are taken while they are near each other, if asked for.
//!
//! A hypervisor moves virtual cores between two chips of caches within a run, and what such a step
//! takes is 1.4 to 3 times as long while they are apart. Calibration would take the mixture for one
//! device. What deliberately does not live here: how far apart cores are, and how they come near
//! ([`core_to_core`]).

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use super::Options;
use crate::host::core_to_core::{self, NEAR_S};
use crate::host::idle::{Awake, PLACE};
use crate::kernel::Unmeasured;

/// Two cores that may be moved.
pub trait Apart {
    /// How far apart they are, in seconds.
    ///
    /// # Errors
    /// The system does not let it be measured.
    fn latency_s(&self) -> Result<f64, Unmeasured>;

    /// Let them come near, and say how far apart they are then, in seconds.
    ///
    /// # Errors
    /// The system does not let it be measured.
    fn gather(&self) -> Result<f64, Unmeasured>;
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
    /// Only one core may be used; the system does not let this user keep cores awake.
    pub fn of(options: &Options) -> Result<Self, Unmeasured> {
        let near = options.near;
        let hold = || {
            let held = Awake::hold(Path::new(PLACE));
            held.map_err(|error| Unmeasured::because(format!("{PLACE}: {error}")))
        };
        Ok(Self {
            cores: near.then(core_to_core::two_cores).transpose()?,
            awake: options.awake.then(hold).transpose()?,
        })
    }

    /// The cores that are to be near, if any are.
    pub fn apart(&self) -> Option<&dyn Apart> {
        self.cores.is_some().then_some(self as &dyn Apart)
    }

    fn two(&self) -> [u32; 2] {
        self.cores.expect("asked of cores that are to be near")
    }
}

impl Apart for Here {
    fn latency_s(&self) -> Result<f64, Unmeasured> {
        core_to_core::latency_s(self.two())
    }

    fn gather(&self) -> Result<f64, Unmeasured> {
        let gather = || core_to_core::gather(self.two(), PATIENCE);
        match &self.awake {
            // One that polls is never placed anew.
            Some(awake) => awake.resting(gather)?,
            None => gather(),
        }
    }
}

/// Takes steps while two cores are near, as often as there is patience for.
pub struct Near<'a> {
    apart: Option<&'a dyn Apart>,
    gatherings: Cell<u32>,
    repeats: Cell<u32>,
}

impl<'a> Near<'a> {
    /// With nobody's cores every step is taken as it comes.
    pub fn new(apart: Option<&'a dyn Apart>) -> Self {
        Self {
            apart,
            gatherings: Cell::new(GATHERINGS_MAX),
            repeats: Cell::new(REPEATS_MAX),
        }
    }

    /// Take a step, again where the cores were near before it and are not after.
    ///
    /// # Errors
    /// Those of the step, and of [`Apart`].
    pub fn take<T>(&self, step: impl Fn() -> Result<T, Unmeasured>) -> Result<T, Unmeasured> {
        let Some(apart) = self.apart else {
            return step();
        };
        loop {
            let near = self.has_gathered(apart)?;
            let taken = step()?;
            if !near || apart.latency_s()? <= NEAR_S || !spend(&self.repeats) {
                return Ok(taken);
            }
        }
    }

    fn has_gathered(&self, apart: &dyn Apart) -> Result<bool, Unmeasured> {
        if apart.latency_s()? <= NEAR_S {
            return Ok(true);
        }
        if self.gatherings.get() == 0 {
            return Ok(false);
        }
        let near = apart.gather()? <= NEAR_S;
        // Cores that stay apart are those of a computer whose cores do.
        if !near {
            spend(&self.gatherings);
        }
        Ok(near)
    }
}

/// One less, if there is one.
fn spend(left: &Cell<u32>) -> bool {
    let some = left.get() > 0;
    left.set(left.get().saturating_sub(1));
    some
}

/// Of one attempt to gather: most take less than a second.
const PATIENCE: Duration = Duration::from_secs(3);
/// Attempts that may come to nothing.
const GATHERINGS_MAX: u32 = 8;
/// Of all steps together; a step of a quick run takes a fraction of a second.
const REPEATS_MAX: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    /// Cores that are far where the script says so; the last word of it holds for ever.
    struct Scripted {
        far: Vec<bool>,
        looked: Cell<usize>,
        gathered: Cell<u32>,
        gathers: bool,
    }

    impl Scripted {
        fn new(far: &[bool], gathers: bool) -> Self {
            Self {
                far: far.to_vec(),
                looked: Cell::new(0),
                gathered: Cell::new(0),
                gathers,
            }
        }
    }

    impl Apart for Scripted {
        fn latency_s(&self) -> Result<f64, Unmeasured> {
            let at = self.looked.replace(self.looked.get() + 1);
            let far = self.far[at.min(self.far.len() - 1)];
            Ok(if far { 190e-9 } else { 42e-9 })
        }

        fn gather(&self) -> Result<f64, Unmeasured> {
            self.gathered.set(self.gathered.get() + 1);
            Ok(if self.gathers { 42e-9 } else { 190e-9 })
        }
    }

    fn steps(cores: &Scripted, takes: usize) -> Vec<u32> {
        let near = Near::new(Some(cores));
        let times = |()| {
            let count = Cell::new(0);
            let step = || {
                count.set(count.get() + 1);
                Ok(())
            };
            near.take(step).expect("taken");
            count.get()
        };
        vec![(); takes].into_iter().map(times).collect()
    }

    #[test]
    fn near_cores_take_each_step_once() {
        let cores = Scripted::new(&[false], true);
        assert_eq!(steps(&cores, 3), [1, 1, 1]);
        assert_eq!(cores.gathered.get(), 0);
    }

    #[test]
    fn a_step_during_which_they_moved_apart_is_taken_again() {
        // Near before, far after; far before the second attempt, gathered, near after.
        let cores = Scripted::new(&[false, true, true, false], true);
        assert_eq!(steps(&cores, 1), [2]);
        assert_eq!(cores.gathered.get(), 1);
    }

    #[test]
    fn cores_that_stay_apart_are_waited_for_no_more_than_some_times() {
        let cores = Scripted::new(&[true], false);
        assert_eq!(steps(&cores, 20), [1; 20]);
        assert_eq!(cores.gathered.get(), GATHERINGS_MAX);
    }

    #[test]
    fn cores_that_always_move_apart_end_by_patience() {
        let cores = Scripted::new(&[true], true);
        let taken = steps(&cores, 2);
        assert_eq!(taken, [REPEATS_MAX + 1, 1]);
    }

    #[test]
    fn where_nobody_asks_steps_are_as_they_come() {
        let near = Near::new(None);
        assert_eq!(near.take(|| Ok(7)), Ok(7));
    }
}
