//! How far two cores are from each other: the core-to-core latency, and how virtual ones come near.
//!
//! Two threads, each confined to a core, pass one cache line to and fro. On one chip of caches that
//! takes some 24 ns one way, between two some 200 (AMD EPYC), and everything that two threads do
//! together takes longer with it: a datagram over loopback 1.4 times, after rests up to 3 times. A
//! virtual core is a thread of its hypervisor, which moves it when it likes; pinning within the
//! guest does not hold it. One that sleeps is placed anew when it is woken, near who wakes it, so
//! letting both sleep and wake each other brings them together, within a second or some. What
//! deliberately does not live here: which measurements need them near.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::affinity;
use crate::stop::Stop;
use crate::unmeasured::Unmeasured;

/// Cores at most so far apart share a cache of their chip.
///
/// Measured on AMD EPYC: 22 to 25 ns where they do, 200 to 226 where they do not, nothing between.
pub const NEAR_S: f64 = 100e-9;

/// The first and the last core that the calling thread may use.
///
/// # Errors
/// The kernel names fewer than two.
pub fn two_cores() -> Result<[u32; 2], Unmeasured> {
    let allowed = affinity::allowed_cores();
    match (allowed.first(), allowed.last()) {
        (Some(&first), Some(&last)) if first != last => Ok([first, last]),
        _ => Err(Unmeasured::because("one core has no distance to another")),
    }
}

/// Time that a cache line takes from one core to the other, one way, in seconds: the median of some
/// batches, within a millisecond.
///
/// # Errors
/// The kernel does not grant the cores, or they are the same.
pub fn latency_s(cores: [u32; 2]) -> Result<f64, Unmeasured> {
    let [near, far] = cores;
    if near == far {
        return Err(Unmeasured::because("one core has no distance to another"));
    }
    let line = Line::default();
    // Who does not get its core says so to the other, which waits for it.
    let over = |_: &Unmeasured| line.over.raise();
    thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let answered = affinity::on_cores(&[far], || {
                line.answer();
                Ok(())
            });
            answered.inspect_err(over)
        });
        let asked = affinity::on_cores(&[near], || Ok(line.ask())).inspect_err(over);
        let answered = answering.join().expect("it only reads and writes a number");
        answered.and(asked)
    })
}

/// Let two cores sleep and wake each other until they are near, for so long at most; how far apart
/// they are then, in seconds.
///
/// # Errors
/// Those of [`latency_s`].
pub fn gather(cores: [u32; 2], patience: Duration) -> Result<f64, Unmeasured> {
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
#[derive(Default)]
#[repr(align(128))] // two lines of 64 bytes are fetched together
struct Line {
    number: AtomicU32,
    /// One of the two is not there.
    over: Stop,
}

impl Line {
    /// Raise it from every even number; the median of batches, in seconds for one way.
    fn ask(&self) -> f64 {
        let mut ways_s: Vec<f64> = (0..BATCHES).map(|batch| self.batch_s(batch)).collect();
        ways_s.sort_by(f64::total_cmp);
        ways_s[ways_s.len() / 2]
    }

    fn batch_s(&self, batch: u32) -> f64 {
        let start = Instant::now();
        for pass in batch * PASSES..(batch + 1) * PASSES {
            self.number.store(2 * pass + 1, Ordering::Release);
            self.wait(2 * pass + 2);
        }
        start.elapsed().as_secs_f64() / f64::from(2 * PASSES)
    }

    /// Raise it from every odd number.
    fn answer(&self) {
        for pass in 0..BATCHES * PASSES {
            self.wait(2 * pass + 1);
            self.number.store(2 * pass + 2, Ordering::Release);
        }
    }

    /// Until it is that number; no longer once it is over.
    fn wait(&self, wanted: u32) {
        let mut looks = 0_u32;
        while self.number.load(Ordering::Acquire) != wanted {
            looks += 1;
            // The other has not begun, or its core is taken: whoever took it may need this one.
            if looks % LOOKS == 0 {
                if self.over.is_raised() {
                    return;
                }
                thread::yield_now();
            }
            std::hint::spin_loop();
        }
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
/// Of a batch: 20 us on one chip.
const PASSES: u32 = 256;
/// A tenth of a millisecond or so.
const LOOKS: u32 = 4096;
const WAKES: u32 = 25;
/// Long enough for a core to go idle, and for a hypervisor that polls for a moment to let it.
const NAP: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_time_from_core_to_core() {
        let Ok(cores) = two_cores() else {
            return; // a computer of one core
        };
        let apart_s = latency_s(cores).expect("granted");
        assert!(apart_s > 0.0, "{apart_s}");
    }

    #[test]
    fn one_core_has_no_distance() {
        let reason = latency_s([0, 0]).expect_err("refused");
        assert!(reason.0.contains("no distance"), "{reason}");
    }

    #[test]
    fn a_core_that_is_not_granted_ends_both_threads() {
        let Ok([near, _]) = two_cores() else {
            return;
        };
        for cores in [[near, 1023], [1023, near]] {
            assert!(latency_s(cores).is_err());
            assert!(wake_each_other(cores).is_err());
        }
    }

    #[test]
    fn cores_that_have_slept_say_how_far_apart_they_are() {
        let Ok(cores) = two_cores() else {
            return;
        };
        wake_each_other(cores).expect("granted");
        assert!(gather(cores, Duration::ZERO).expect("granted") > 0.0);
    }
}
