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
    /// Those before or after which they were known not to be.
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

    /// Take a step, again where the cores were near before it and are not after. A step that was
    /// measured stays so, whatever comes of another attempt: one that `stop` ends does not count.
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
        let before = self.brought_near(cores);
        let mut taken = step()?;
        loop {
            let after = is_near(cores.latency_s());
            let moved = (before, after) == (Some(true), Some(false));
            if moved && !stop.is_raised() && spend(&self.repeats_left) {
                let again = (self.brought_near(cores) == Some(true)).then(&step);
                if let (Some(Ok(again)), false) = (again, stop.is_raised()) {
                    taken = again;
                    continue;
                }
            }
            self.count(before, after);
            return Ok(taken);
        }
    }

    /// How many steps were taken apart, if any were.
    pub fn taken_apart(&self) -> Option<TakenApart> {
        Some(self.taken.get()).filter(|taken| taken.apart > 0)
    }

    /// One that nobody could look at is not known to be apart.
    fn count(&self, before: Option<bool>, after: Option<bool>) {
        let apart = before == Some(false) || after == Some(false);
        let taken = self.taken.get();
        self.taken.set(TakenApart {
            apart: taken.apart + u32::from(apart),
            steps: taken.steps + 1,
        });
    }

    /// Whether they are near, by themselves or brought so; none where nobody can look.
    fn brought_near(&self, cores: &dyn TwoCores) -> Option<bool> {
        let near = is_near(cores.latency_s());
        if near != Some(false) || self.attempts_left.get() == 0 {
            return near;
        }
        let near = is_near(cores.bring_near());
        // Cores that stay apart are those of a computer whose cores do.
        if near == Some(false) {
            spend(&self.attempts_left);
        }
        near
    }
}

fn is_near(latency_s: Result<f64, Unmeasured>) -> Option<bool> {
    latency_s.ok().map(|apart_s| apart_s <= NEAR_S)
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

    const NEAR: Option<bool> = Some(true);
    const FAR: Option<bool> = Some(false);

    /// Cores that are near where the script says so, or cannot be looked at; its last word holds for
    /// ever.
    struct Scripted {
        near: Vec<Option<bool>>,
        looked: Cell<usize>,
        brought: Cell<u32>,
        comes_near: Option<bool>,
    }

    impl Scripted {
        fn new(near: &[Option<bool>], comes_near: Option<bool>) -> Self {
            Self {
                near: near.to_vec(),
                looked: Cell::new(0),
                brought: Cell::new(0),
                comes_near,
            }
        }
    }

    fn told(near: Option<bool>) -> Result<f64, Unmeasured> {
        let latency_s = near.map(|near| if near { 42e-9 } else { 190e-9 });
        latency_s.ok_or_else(|| Unmeasured::because("taken"))
    }

    impl TwoCores for Scripted {
        fn latency_s(&self) -> Result<f64, Unmeasured> {
            let at = self.looked.replace(self.looked.get() + 1);
            told(self.near[at.min(self.near.len() - 1)])
        }

        fn bring_near(&self) -> Result<f64, Unmeasured> {
            self.brought.set(self.brought.get() + 1);
            told(self.comes_near)
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
        let cores = Scripted::new(&[NEAR], NEAR);
        assert_eq!(steps(&cores, 3), (vec![1, 1, 1], None));
        assert_eq!(cores.brought.get(), 0);
    }

    #[test]
    fn a_step_during_which_they_moved_apart_is_taken_again() {
        // Near before, far after; far before the second attempt, brought near, near after.
        let cores = Scripted::new(&[NEAR, FAR, FAR, NEAR], NEAR);
        assert_eq!(steps(&cores, 1), (vec![2], None));
        assert_eq!(cores.brought.get(), 1);
    }

    #[test]
    fn cores_that_stay_apart_are_waited_for_no_more_than_some_times() {
        let cores = Scripted::new(&[FAR], FAR);
        let (taken, apart) = steps(&cores, 20);
        assert_eq!(taken, [1; 20]);
        let (all, some) = (20, ATTEMPTS_MAX);
        assert_eq!(
            apart,
            Some(TakenApart {
                apart: all,
                steps: all
            })
        );
        assert_eq!(cores.brought.get(), some);
    }

    #[test]
    fn cores_that_always_move_apart_end_by_patience() {
        let cores = Scripted::new(&[FAR], NEAR);
        let (taken, apart) = steps(&cores, 2);
        assert_eq!(taken, [REPEATS_MAX + 1, 1]);
        assert_eq!(apart, Some(TakenApart { apart: 2, steps: 2 }));
    }

    #[test]
    fn what_nobody_can_look_at_is_not_apart_and_costs_no_attempt() {
        let cores = Scripted::new(&[None], FAR);
        assert_eq!(steps(&cores, 3), (vec![1, 1, 1], None));
        assert_eq!(cores.brought.get(), 0);
        let once = Scripted::new(&[NEAR, None], FAR);
        assert_eq!(steps(&once, 1), (vec![1], None));
    }

    /// What is left of a step whose cores moved, after a second attempt.
    fn after_a_second(
        comes_near: Option<bool>,
        second: Result<&'static str, Unmeasured>,
        ends: bool,
    ) -> (&'static str, Option<TakenApart>) {
        let cores = Scripted::new(&[NEAR, FAR, FAR, NEAR], comes_near);
        let near = Near::new(Some(&cores));
        let (times, stop) = (Cell::new(0), Stop::new());
        let step = || match times.replace(times.get() + 1) {
            0 => Ok("first"),
            _ => {
                if ends {
                    stop.raise();
                }
                second.clone()
            }
        };
        (
            near.take(step, &stop).expect("measured"),
            near.taken_apart(),
        )
    }

    #[test]
    fn what_was_measured_stays_whatever_comes_of_a_second_attempt() {
        let apart = Some(TakenApart { apart: 1, steps: 1 });
        let refused = Err(Unmeasured::because("refused"));
        assert_eq!(after_a_second(NEAR, Ok("second"), false), ("second", None));
        assert_eq!(after_a_second(NEAR, refused, false), ("first", apart));
        assert_eq!(
            after_a_second(NEAR, Ok("cut short"), true),
            ("first", apart)
        );
        assert_eq!(after_a_second(FAR, Ok("far"), false), ("first", apart));
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
