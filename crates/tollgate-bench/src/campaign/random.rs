//! Numbers without a pattern that are the same in every run (SplitMix64).

#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    /// The same for the same seeds.
    pub(crate) fn new(seeds: &[u64]) -> Self {
        let mut random = Self(0);
        for seed in seeds {
            random.0 = random.bits() ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        random
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Less than `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normally distributed, with the deviation 1.
    pub(crate) fn normal(&mut self) -> f32 {
        let sum: f64 = (0..6).map(|_| self.share()).sum();
        ((sum - 3.0) * std::f64::consts::SQRT_2) as f32
    }
}
