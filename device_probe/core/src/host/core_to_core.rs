//! How far two cores are from each other, by the core-to-core latency; and how virtual ones come near.
//!
//! Two threads, each confined to a core, pass one cache line to and fro. Where the cores share a
//! last-level cache that takes some 40 ns one way, and 200 where they do not (AMD EPYC). A virtual
//! core is a thread of its hypervisor, which migrates it when it likes: pinning within the guest does
//! not hold it. One that sleeps is placed anew when it is woken, so letting both sleep and wake each
//! other brings them together, mostly within a second. What deliberately does not live here: which
//! measurements need them near.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::affinity;
use crate::stop::Stop;
use crate::unmeasured::Unmeasured;

/// Cores at most so far apart are taken to share a last-level cache.
///
/// Measured on one computer, an AMD EPYC: 33 to 69 ns or 180 to 226, nothing between.
pub const NEAR_S: f64 = 100e-9;

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

/// Let two cores sleep and wake each other until they are near, for so long at most; how far apart
/// they are then, in seconds.
///
/// # Errors
/// Those of [`latency_s`].
pub fn bring_near(cores: [u32; 2], patience: Duration) -> Result<f64, Unmeasured> {
    let start = Instant::now();
    loop {
        let apart_s = latency_s(cores)?;
        if apart_s <= NEAR_S || start.elapsed() >= patience {
            return Ok(apart_s);
        }
        wake_each_other(cores)?;
    }
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

/// Each sleeps for a moment, and then wakes the other, which sleeps until it is woken.
fn wake_each_other([one, other]: [u32; 2]) -> Result<(), Unmeasured> {
    let (to_other, from_one) = mpsc::channel();
    let (to_one, from_other) = mpsc::channel();
    let turns = |to: mpsc::Sender<()>, from: mpsc::Receiver<()>, begins: bool| {
        for turn in 0..WAKES {
            // Who is gone was not granted its core, which it says itself.
            if (turn > 0 || !begins) && from.recv().is_err() {
                return;
            }
            thread::sleep(NAP);
            if to.send(()).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let answering = scope.spawn(move || {
            affinity::on_cores(&[other], || {
                turns(to_one, from_one, false);
                Ok(())
            })
        });
        let asked = affinity::on_cores(&[one], || {
            turns(to_other, from_other, true);
            Ok(())
        });
        asked.and(answering.join().expect("it only sleeps"))
    })
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
pub const ALONE: &str = "the other core did not answer within 1 s";
const WAKES: u32 = 25;
/// Long enough for a core to go idle, and for a hypervisor that polls for a moment to let it.
const NAP: Duration = Duration::from_millis(1);

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
            let reason = wake_each_other(cores).expect_err("refused");
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

    #[test]
    fn cores_sleep_as_often_as_they_wake_each_other() {
        let Ok(cores) = affinity::first_and_last_core() else {
            return;
        };
        let start = Instant::now();
        wake_each_other(cores).expect("granted");
        // Sleeps are never shorter than asked for, and none of the two sleeps while the other does.
        assert!(start.elapsed() >= (2 * WAKES - 1) * NAP);
    }
}
