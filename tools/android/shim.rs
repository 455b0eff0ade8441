//! The two functions that Rust's unwinder for musl wants and bionic calls otherwise.
//!
//! Rust ships the unwinder only for musl targets, built against musl's headers. Everything else
//! that it uses has the same name and layout in bionic.
#![no_std]

use core::ffi::{c_char, c_int};

extern "C" {
    fn __errno() -> *mut c_int;
    fn __assert2(file: *const c_char, line: c_int, function: *const c_char, text: *const c_char)
        -> !;
}

/// Where the thread's `errno` lies; bionic calls this `__errno`.
///
/// # Safety
/// None is asked for: the address stays valid as long as the thread.
#[no_mangle]
pub unsafe extern "C" fn __errno_location() -> *mut c_int {
    // SAFETY: bionic's function takes nothing and returns the thread's own variable.
    unsafe { __errno() }
}

/// What musl's `assert` calls; bionic has the arguments in another order.
///
/// # Safety
/// The texts are those of C's `assert`, terminated by 0.
#[no_mangle]
pub unsafe extern "C" fn __assert_fail(
    text: *const c_char,
    file: *const c_char,
    line: c_int,
    function: *const c_char,
) -> ! {
    // SAFETY: the same texts, passed on.
    unsafe { __assert2(file, line, function, text) }
}
