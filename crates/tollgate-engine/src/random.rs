//! Where chance comes from: ids that nobody can guess, and jitter. Injected as the clock is, so that
//! a simulation repeats by its seed.

pub trait RandomSource: Send + Sync {
    /// Each value as likely as the others.
    fn bits(&self) -> u128;

    /// From 0 up to, and not including, 1.
    fn fraction(&self) -> f64 {
        // As many bits as a number of this type holds.
        (self.bits() >> (u128::BITS - f64::MANTISSA_DIGITS)) as f64
            / (1_u64 << f64::MANTISSA_DIGITS) as f64
    }
}

/// The generator of the running thread, which is seeded by the system.
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
