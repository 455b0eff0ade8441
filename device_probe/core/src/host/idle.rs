//! Whether idle cores sleep: a request of the system that they poll for work instead.
//!
//! The request holds while its file is open, and another number written to it replaces it (Linux,
//! Documentation/power/pm_qos_interface.rst). It takes root.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Where the longest time to wake up is asked for, a signed integer in us.
pub const PLACE: &str = "/dev/cpu_dma_latency";

/// Idle cores, which poll while this lives.
#[derive(Debug)]
pub struct Awake(File);

impl Awake {
    /// Ask for it.
    ///
    /// # Errors
    /// The system takes no such request, or none of this user.
    pub fn hold(place: &Path) -> io::Result<Self> {
        let file = File::options().write(true).open(place)?;
        let held = Self(file);
        held.ask(NONE_US)?;
        Ok(held)
    }

    /// Let idle cores sleep meanwhile.
    ///
    /// # Errors
    /// The system does not take it.
    pub fn resting<R>(&self, work: impl FnOnce() -> R) -> io::Result<R> {
        self.ask(ANY_US)?;
        let done = work();
        self.ask(NONE_US)?;
        Ok(done)
    }

    fn ask(&self, longest_us: i32) -> io::Result<()> {
        (&self.0).write_all(&longest_us.to_ne_bytes())
    }
}

const NONE_US: i32 = 0;
/// As if nobody asked: `PM_QOS_CPU_LATENCY_DEFAULT_VALUE` of include/linux/pm_qos.h.
const ANY_US: i32 = 2_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_replaced_while_cores_rest() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("latency");
        std::fs::write(&place, []).expect("written");
        let awake = Awake::hold(&place).expect("held");
        let asked = |number: usize| {
            let bytes = std::fs::read(&place).expect("read");
            i32::from_ne_bytes(bytes[4 * number..][..4].try_into().expect("four"))
        };
        assert_eq!(asked(0), NONE_US);
        assert_eq!(awake.resting(|| asked(1)).expect("asked"), ANY_US);
        assert_eq!(asked(2), NONE_US);
    }

    #[test]
    fn where_nothing_takes_it_nothing_is_held() {
        assert!(Awake::hold(Path::new("/no/such/place")).is_err());
    }
}
