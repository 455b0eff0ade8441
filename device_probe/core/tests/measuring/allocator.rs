//! A buffer that was freed does not make the next one dearer.

use std::hint::black_box;
use std::mem::MaybeUninit;

use pocketsim_probe_core::host::allocator::take_large_buffers_fresh;

#[cfg(target_os = "linux")]
#[test]
fn zeroed_buffers_after_the_first_touch_no_pages() {
    take_large_buffers_fresh();
    for _ in 0..3 {
        let before = pages_touched();
        let buffer = black_box(vec![0_u8; ENDPOINT_BYTES]);
        let touched = pages_touched() - before;
        assert!(touched < PAGES / 10, "{touched} of {PAGES} pages");
        drop(buffer);
    }
}

#[cfg(target_os = "linux")]
fn pages_touched() -> libc::c_long {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: it is valid for writes, and all of it is written where the call succeeds.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    usage.ru_minflt
}

/// What an endpoint of quinn receives into.
const ENDPOINT_BYTES: usize = 32 * 64 * 1472;
const PAGES: libc::c_long = (ENDPOINT_BYTES / 4096) as libc::c_long;
