//! Named streams of chance under one seed: each rule of each direction draws from its own, so a
//! loss ratio that changes never reshuffles the jitter.

/// One stream of random numbers (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The stream `name` under `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        let spread = |key: u64, byte: u8| (key ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        Self(mix(name.bytes().fold(mix(seed) ^ FNV_OFFSET, spread)))
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        (mix(self.0) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `ratio`; always one draw, so that runs with other ratios compare.
    pub fn happens(&mut self, ratio: f64) -> bool {
        self.uniform() < ratio
    }
}

fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

// SplitMix64's increment: the golden ratio in 64 bits, odd.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
// FNV-1a, 64 bits (Fowler, Noll, Vo): spreads short names before the finaliser.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
