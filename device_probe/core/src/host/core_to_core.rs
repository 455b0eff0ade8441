//! The core-to-core latency: how long a cache line takes from one core to another.
//!
//! Two threads, each confined to a core, pass one cache line to and fro. Where the cores share a
//! last-level cache that takes some 40 ns one way, and 200 where they do not (AMD EPYC). A hypervisor
//! migrates virtual cores, so that the latency may change within a run. What deliberately does not
//! live here: what the latency spoils.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::affinity;
use crate::stop::Stop;
use crate::unmeasured::Unmeasured;

/// Cores with at most this latency are taken to share a last-level cache, in seconds.
///
/// Measured on one computer, an AMD EPYC: 33 to 69 ns or 180 to 226, nothing between.
pub const SHARED_CACHE_MAX_S: f64 = 100e-9;

/// The latency between the two cores of a process that may use exactly two, in seconds.
///
/// None where it may use another number of cores: the system then chooses which of them threads run
/// on. None, too, where the latency cannot be measured.
pub fn of_the_only_two_s() -> Option<f64> {
    let cores = <[u32; 2]>::try_from(affinity::allowed_cores()).ok()?;
    latency_s(cores).ok()
}

/// Time that a cache line takes from one core to the other, one way, in seconds: the median of some
/// batches, within some milliseconds.
///
/// # Errors
/// The kernel does not grant the cores, they are the same, or others have them so that
/// it takes a second.
pub fn latency_s(cores: [u32; 2]) -> Result<f64, Unmeasured> {
    let [asks, answers] = cores;
    if asks == answers {
        return Err(Unmeasured::because("one core has no distance to another"));
    }
    let line = Line::new();
    thread::scope(|scope| {
        let answering =
            scope.spawn(|| line.unless_over(|| affinity::on_cores(&[answers], || line.answer())));
        let asked = line.unless_over(|| affinity::on_cores(&[asks], || line.ask()));
        let answered = answering.join().expect("it only reads and writes a number");
        // Who was not granted its core knows why; the other only knows that nobody answered.
        match (asked, answered) {
            (Ok(_), Err(reason)) => Err(reason),
            (Err(alone), Err(reason)) if alone.0 == ALONE => Err(reason),
            (asked, _) => asked,
        }
    })
}

/// A cache line of its own, whose number the two threads raise in turn.
#[repr(align(128))] // two lines of 64 bytes are fetched together
struct Line {
    number: AtomicU32,
    /// One of the two is not there.
    over: Stop,
    start: Instant,
}

impl Line {
    fn new() -> Self {
        Self {
            number: AtomicU32::new(0),
            over: Stop::new(),
            start: Instant::now(),
        }
    }

    /// What one of the two does; if it fails, the other one need not wait for it.
    fn unless_over<R>(
        &self,
        work: impl FnOnce() -> Result<R, Unmeasured>,
    ) -> Result<R, Unmeasured> {
        let over = self.over.when_dropped();
        let done = work()?;
        over.disarm();
        Ok(done)
    }

    /// Raise it from every even number; the median of batches, in seconds for one way.
    fn ask(&self) -> Result<f64, Unmeasured> {
        let batches = (0..BATCHES).map(|batch| self.batch_s(batch));
        let mut ways_s = batches.collect::<Result<Vec<f64>, _>>()?;
        ways_s.sort_by(f64::total_cmp);
        Ok(ways_s[ways_s.len() / 2])
    }

    fn batch_s(&self, batch: u32) -> Result<f64, Unmeasured> {
        let start = Instant::now();
        for pass in batch * PASSES..(batch + 1) * PASSES {
            self.number.store(2 * pass + 1, Ordering::Release);
            self.wait(2 * pass + 2)?;
        }
        Ok(start.elapsed().as_secs_f64() / f64::from(2 * PASSES))
    }

    /// Raise it from every odd number.
    fn answer(&self) -> Result<(), Unmeasured> {
        for pass in 0..BATCHES * PASSES {
            self.wait(2 * pass + 1)?;
            self.number.store(2 * pass + 2, Ordering::Release);
        }
        Ok(())
    }

    /// Until it is that number.
    fn wait(&self, wanted: u32) -> Result<(), Unmeasured> {
        let mut looks = 0_u32;
        while self.number.load(Ordering::Acquire) != wanted {
            looks += 1;
            // No pause before each look: on some processors it takes as long as the line does.
            if looks == LOOKS {
                looks = 0;
                if self.over.is_raised() || self.start.elapsed() > LIMIT {
                    return Err(Unmeasured::because(ALONE));
                }
                // The other has not begun, or its core is taken: whoever took it may need this one.
                thread::yield_now();
            }
        }
        Ok(())
    }
}

/// Odd, so that one is in the middle: one in which a core was taken tells nothing.
const BATCHES: u32 = 9;
/// Of a batch: 20 us where a cache is shared.
const PASSES: u32 = 256;
/// Some microseconds.
const LOOKS: u32 = 4096;
/// Others may have a core for some milliseconds at a time.
const LIMIT: Duration = Duration::from_secs(1);
/// Why nothing is measured where other programs compute all the time.
const ALONE: &str = "the other core did not answer within 1 s";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_from_core_to_core_what_no_cache_beats_and_no_scheduler_takes() {
        let Ok(cores) = affinity::first_and_last_core() else {
            return; // a computer of one core
        };
        match latency_s(cores) {
            // A load takes a cycle or more, and a change of threads some microseconds.
            Ok(apart_s) => assert!((0.2e-9..1e-3).contains(&apart_s), "{apart_s}"),
            Err(reason) => assert_eq!(reason.0, ALONE), // a full computer
        }
    }

    #[test]
    fn one_core_has_no_distance() {
        let reason = latency_s([0, 0]).expect_err("refused");
        assert!(reason.0.contains("no distance"), "{reason}");
    }

    #[test]
    fn a_core_that_is_not_granted_is_the_reason_for_both_threads() {
        let Ok([here, _]) = affinity::first_and_last_core() else {
            return;
        };
        for cores in [[here, 1023], [1023, here]] {
            let reason = latency_s(cores).expect_err("refused");
            assert!(reason.0.contains("[1023]"), "{reason}");
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_is_not_there() {
        let line = Line::new();
        let failed = line.unless_over(|| Err::<(), _>(Unmeasured::because("refused")));
        assert!(failed.is_err());
        assert_eq!(line.ask(), Err(Unmeasured::because(ALONE)));
        assert_eq!(line.answer(), Err(Unmeasured::because(ALONE)));
    }
}
