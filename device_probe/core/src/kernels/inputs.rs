//! What the compute kernels work on: the same bytes on every device and in every run.
//!
//! A kernel that repeats one input teaches it to the branch predictor, and verification branches on
//! the bits of the signature; in use every message is new. So each kernel rotates over a [`Pool`]
//! of inputs that differ: 64 of them, fewer when they are large, at least two.
//!
//! What deliberately does not live here: secrets. The generator is public arithmetic.

use crate::kernel::Unmeasured;

/// SplitMix64 (Steele, Lea and Flood 2014) as a source of bytes.
pub(super) struct Generator(u64);

impl Generator {
    /// From its start.
    pub fn new() -> Self {
        Self(0)
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.fill(&mut bytes);
        bytes
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        self.fill(&mut array);
        array
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.word().to_le_bytes()[..chunk.len()]);
        }
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}

/// Inputs that a kernel takes in turn.
pub(super) struct Pool<T> {
    items: Vec<T>,
    next: usize,
}

impl<T> Pool<T> {
    /// As many items of about `bytes` as [`POOL_ITEMS`] and [`POOL_BYTES`] allow, at least two.
    ///
    /// # Errors
    /// The first of `make`.
    pub fn new(
        bytes: usize,
        mut make: impl FnMut(&mut Generator) -> Result<T, Unmeasured>,
    ) -> Result<Self, Unmeasured> {
        let mut generator = Generator::new();
        let count = (POOL_BYTES / bytes.max(1)).clamp(2, POOL_ITEMS);
        let items: Result<_, _> = (0..count).map(|_| make(&mut generator)).collect();
        Ok(Self {
            items: items?,
            next: 0,
        })
    }

    /// The next item, after the last the first again.
    #[inline]
    pub fn turn(&mut self) -> &mut T {
        let at = self.next;
        self.next = if at + 1 == self.items.len() {
            0
        } else {
            at + 1
        };
        &mut self.items[at]
    }
}

/// `Ok` if a kernel's output is right; a wrong one must not be timed.
pub(super) fn ensure(right: bool, wrong: &'static str) -> Result<(), Unmeasured> {
    if right {
        Ok(())
    } else {
        Err(Unmeasured::because(wrong))
    }
}

/// More signatures than a branch predictor remembers the bits of (some 250 decisions each).
const POOL_ITEMS: usize = 64;
/// Stays in the second-level cache of a phone's little cores: in use a message has just been
/// received or made, so it is in a cache, though not always in the first.
const POOL_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // First outputs of the reference implementation for seed 0 (Vigna, splitmix64.c).
        let expected = [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4];
        let mut generator = Generator::new();
        assert_eq!(generator.array(), expected[0].to_le_bytes());
        assert_eq!(generator.bytes(5), expected[1].to_le_bytes()[..5]);
    }

    fn pool(bytes: usize) -> Pool<usize> {
        let mut number = 0;
        let count = |_: &mut Generator| {
            number += 1;
            Ok(number)
        };
        Pool::new(bytes, count).expect("numbers")
    }

    #[test]
    fn a_pool_is_bounded_in_items_and_bytes() {
        let counts = [0, 1, 4_096, 16_384, 65_536, 1 << 30].map(|bytes| pool(bytes).items.len());
        assert_eq!(counts, [64, 64, 64, 16, 4, 2]);
    }

    #[test]
    fn a_pool_turns_over_all_items() {
        let mut pool = pool(100_000);
        let turns: Vec<usize> = (0..5).map(|_| *pool.turn()).collect();
        assert_eq!(turns, [1, 2, 1, 2, 1]);
    }

    #[test]
    fn a_pool_that_cannot_be_made_says_why() {
        let broken = Pool::<()>::new(1, |_| Err(Unmeasured::because("no")));
        assert_eq!(broken.err(), Some(Unmeasured::because("no")));
    }
}
