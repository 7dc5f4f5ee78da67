//! SHA-256 fingerprint of a key: the only form in which a key is stored. It identifies the key and
//! is useless to an attacker who reads it.

use std::fmt;

use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq as _;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub fn of(key: &[u8]) -> Self {
        Self(digest(&SHA256, key).as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// `sha256:` and 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let value = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(value(pair[0])? * 16 + value(pair[1])?).ok()?;
        }
        Some(Self(bytes))
    }

    /// The half used as lookup key. Timing the lookup reveals bits of a digest, not of a key.
    pub(super) fn place(&self) -> u128 {
        let (half, _) = self.0.split_at(16);
        u128::from_be_bytes(half.try_into().expect("half of 32 bytes"))
    }

    /// Constant-time comparison.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// Weak keys chosen by people could be guessed from it, so it is not printed.
impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<fingerprint>")
    }
}
