//! Named random streams: every draw belongs to a name under the run's seed, so
//! that adding a phone or a consumer never reshuffles the others.

use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream `name` of `node` under `seed`.
    pub fn new(seed: u64, name: &str, node: u32) -> Self {
        let mut key = seed ^ FNV_OFFSET;
        for byte in name.bytes().chain(node.to_le_bytes()) {
            key = (key ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(key)))
    }

    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A lognormal factor with mean 1 and the given sigma of its logarithm.
    pub fn factor(&mut self, sigma: f64) -> f64 {
        if sigma == 0.0 {
            return 1.0;
        }
        (sigma * self.normal() - 0.5 * sigma * sigma).exp()
    }

    /// A lognormal draw with the given median and sigma of its logarithm.
    pub fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        if sigma == 0.0 {
            return median;
        }
        median * (sigma * self.normal()).exp()
    }

    /// A normal draw with mean 0 and deviation 1.
    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: OOPSLA 2014).
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

// FNV-1a, 64 bits (Fowler, Noll, Vo): spreads short names before the finaliser.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_other_names_nodes_and_seeds_differ() {
        let first = |seed, name, node| Stream::new(seed, name, node).uniform().to_bits();
        let base = first(1, "cost", 0);
        assert_eq!(base, first(1, "cost", 0));
        assert_ne!(base, first(2, "cost", 0));
        assert_ne!(base, first(1, "link", 0));
        assert_ne!(base, first(1, "cost", 1));
    }

    #[test]
    fn factor_has_mean_one() {
        let mut stream = Stream::new(7, "factor", 0);
        let mean = (0..200_000).map(|_| stream.factor(0.5)).sum::<f64>() / 200_000.0;
        // Standard error: sqrt(exp(0.25) - 1) / sqrt(200 000) = 0.0012.
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
    }

    #[test]
    fn lognormal_has_its_median() {
        let mut stream = Stream::new(7, "median", 0);
        let below = (0..100_000)
            .filter(|_| stream.lognormal(3.0, 1.0) < 3.0)
            .count();
        assert!((below as f64 / 100_000.0 - 0.5).abs() < 0.01, "{below}");
    }
}
