//! Call ids (ULID) for logs and the audit ledger: sortable by time, not guessable, and stored as
//! text so that it is formatted only once.

use std::fmt;
use std::time::SystemTime;

/// A ULID: 48 bits of milliseconds and 80 random bits, in Crockford's base 32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId([u8; Self::LENGTH]);

impl CallId {
    const LENGTH: usize = 26;
    const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const RANDOM_BITS: u32 = 80;

    /// Only the upper bits of `random` are used.
    pub fn new(at: SystemTime, random: u128) -> Self {
        let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut bits =
            since.as_millis() << Self::RANDOM_BITS | random >> (u128::BITS - Self::RANDOM_BITS);
        let mut text = [b'0'; Self::LENGTH];
        for letter in text.iter_mut().rev() {
            *letter = Self::LETTERS[(bits & 31) as usize];
            bits >>= 5;
        }
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("all letters are ASCII")
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::CallId;

    #[test]
    fn ids_are_sorted_by_their_time_and_never_alike() {
        let at = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        let zero = CallId::new(at(0), 0);
        assert_eq!(zero.as_str(), "00000000000000000000000000");
        let known = CallId::new(at(1_469_918_176_385), u128::MAX);
        assert_eq!(known.as_str(), "01ARYZ6S41ZZZZZZZZZZZZZZZZ");
        let ids = [(5, 0), (5, u128::MAX), (6, 0), (7, 0)];
        let ids = ids.map(|(millis, random)| CallId::new(at(millis), random));
        assert!(ids.is_sorted() && ids[0] != ids[1], "{ids:?}");
    }
}
