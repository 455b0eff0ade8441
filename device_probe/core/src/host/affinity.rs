//! Confining a thread to some cores, as far as the kernel allows.

use std::io;
use std::mem::size_of;
use std::panic::resume_unwind;
use std::thread;

use crate::unmeasured::Unmeasured;

/// Do `work` on a thread of its own that is confined to `cores`.
///
/// The thread ends with the work: a thread that was let go again would keep the cores that it was
/// allowed when it was confined, though the system may allow others by now.
///
/// # Errors
/// The kernel grants none of them: offline cores, or those that a cpuset keeps away (Android
/// confines apps in the background so). Where it grants some, the work is done on those.
pub fn on_cores<R: Send>(
    cores: &[u32],
    work: impl FnOnce() -> Result<R, Unmeasured> + Send,
) -> Result<R, Unmeasured> {
    let confined = || {
        confine(cores)?;
        work()
    };
    let done = thread::scope(|scope| scope.spawn(confined).join());
    // A panic of a kernel is a fault of ours: pass it on.
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Do `work` as [`on_cores`] does, on the last core that the calling thread may use.
///
/// # Errors
/// The kernel names none, or does not grant it.
pub fn on_last_core<R: Send>(
    work: impl FnOnce() -> Result<R, Unmeasured> + Send,
) -> Result<R, Unmeasured> {
    let cores = allowed_cores();
    let last = cores.last();
    let last = last.ok_or_else(|| Unmeasured::because("the kernel names no core"))?;
    on_cores(&[*last], work)
}

/// The first and the last core that the calling thread may use.
///
/// # Errors
/// The kernel names fewer than two.
pub fn first_and_last_core() -> Result<[u32; 2], Unmeasured> {
    match allowed_cores()[..] {
        [first, .., last] => Ok([first, last]),
        _ => Err(Unmeasured::because("it takes two cores")),
    }
}

/// The core that the calling thread runs on now.
pub fn current_core() -> Option<u32> {
    // SAFETY: the call has no arguments and only reads.
    let core = unsafe { libc::sched_getcpu() };
    u32::try_from(core).ok()
}

fn confine(cores: &[u32]) -> Result<(), Unmeasured> {
    let refused = |error| Unmeasured::because(format!("no pinning to cores {cores:?}: {error}"));
    allow(&set_of(cores)).map_err(refused)?;
    let granted = numbers(&allowed().map_err(refused)?);
    if !granted.iter().all(|core| cores.contains(core)) {
        let reason = format!("asked for cores {cores:?}, the kernel granted {granted:?}");
        return Err(Unmeasured::because(reason));
    }
    Ok(())
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
