//! Confining the calling thread to some cores, as far as the kernel allows.

use std::io;
use std::mem::size_of;

use crate::kernel::Unmeasured;

/// Holds a thread on some cores; dropping it lets the thread go where it went before.
#[derive(Debug)]
pub struct Pin {
    before: libc::cpu_set_t,
}

impl Pin {
    /// Confine the calling thread to `cores`.
    ///
    /// # Errors
    /// The kernel refuses, or grants only some: offline cores, or those that a cpuset keeps away
    /// (Android confines apps in the background so).
    pub fn to(cores: &[u32]) -> Result<Self, Unmeasured> {
        let refused =
            |error| Unmeasured::because(format!("no pinning to cores {cores:?}: {error}"));
        let before = allowed().map_err(refused)?;
        allow(&set_of(cores)).map_err(refused)?;
        let pin = Self { before };
        let granted = numbers(&allowed().map_err(refused)?);
        if granted != cores {
            let reason = format!("asked for cores {cores:?}, the kernel granted {granted:?}");
            return Err(Unmeasured::because(reason));
        }
        Ok(pin)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // Where a cpuset has changed meanwhile, the thread stays where it is.
        let _ = allow(&self.before);
    }
}

/// Cores that the calling thread may run on; none if the kernel does not say.
pub fn allowed_cores() -> Vec<u32> {
    allowed().map_or_else(|_| Vec::new(), |set| numbers(&set))
}

fn allowed() -> io::Result<libc::cpu_set_t> {
    let mut set = set_of(&[]);
    // SAFETY: `set` is valid for writes of the size given; 0 is the calling thread.
    let status = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    match status {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(set),
    }
}

fn allow(set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: `set` is valid for reads of the size given; 0 is the calling thread.
    let status = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
    match status {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn set_of(cores: &[u32]) -> libc::cpu_set_t {
    // SAFETY: a set of cores is an array of integers, for which zeros are valid: the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &core in cores.iter().filter(|&&core| core < CORES_MAX) {
        // SAFETY: the number is below the size of the set.
        unsafe { libc::CPU_SET(core as usize, &mut set) };
    }
    set
}

fn numbers(set: &libc::cpu_set_t) -> Vec<u32> {
    // SAFETY: the numbers are below the size of the set.
    let has = |&core: &u32| unsafe { libc::CPU_ISSET(core as usize, set) };
    (0..CORES_MAX).filter(has).collect()
}

/// Cores that a set has room for.
const CORES_MAX: u32 = (size_of::<libc::cpu_set_t>() * 8) as u32;
