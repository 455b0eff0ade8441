//! Hints to the processor about what is needed soon.
//!
//! Of a large population most of an event's time is waiting for a phone's state, which no cache
//! holds. The event after this one is known, so what it needs can be on its way meanwhile. A hint
//! changes nothing but time. What deliberately does not live here: what is needed.

/// Lets the processor fetch what `items` has at `at`, all its lines, if it knows how.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    let Some(item) = items.get(at) else {
        return;
    };
    let begin = std::ptr::from_ref(item).cast::<i8>();
    for line in 0..size_of::<T>().div_ceil(LINE_BYTES) {
        hint(begin.wrapping_add(line * LINE_BYTES));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint(address: *const i8) {
    use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
    // SAFETY: every x86-64 processor has the instruction, which reads nothing for the program and
    // never faults, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint(_address: *const i8) {}

const LINE_BYTES: usize = 64;
