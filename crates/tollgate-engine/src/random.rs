//! The source of randomness: unguessable ids, and jitter. Injected like the clock, so that a
//! simulation is reproducible by its seed.

pub trait RandomSource: Send + Sync {
    /// Uniformly distributed.
    fn bits(&self) -> u128;

    /// In [0, 1).
    fn fraction(&self) -> f64 {
        // As many bits as the mantissa holds.
        (self.bits() >> (u128::BITS - f64::MANTISSA_DIGITS)) as f64
            / (1_u64 << f64::MANTISSA_DIGITS) as f64
    }
}

/// The thread's generator, seeded by the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl RandomSource for SystemRandom {
    fn bits(&self) -> u128 {
        rand::random()
    }
}

#[cfg(test)]
mod tests {
    use super::RandomSource;

    struct Fixed(u128);

    impl RandomSource for Fixed {
        fn bits(&self) -> u128 {
            self.0
        }
    }

    #[test]
    fn a_fraction_is_below_one() {
        assert_eq!(Fixed(0).fraction(), 0.0);
        assert_eq!(Fixed(1 << 127).fraction(), 0.5);
        let largest = Fixed(u128::MAX).fraction();
        assert!((0.999..1.0).contains(&largest), "{largest}");
    }
}
