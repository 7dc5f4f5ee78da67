//! SHA-256 over several parts, and hex encoding.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// An incremental digest. Parts are concatenated: callers must delimit them.
#[derive(Default)]
pub struct DigestBuilder(Sha256);

impl DigestBuilder {
    pub fn with(mut self, part: impl AsRef<[u8]>) -> Self {
        self.0.update(part);
        self
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Two lower-case hex digits per byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{DigestBuilder, hex};

    #[test]
    fn parts_make_the_digest_of_the_whole() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&DigestBuilder::default().with("abc").finish()), expected);
        assert_eq!(hex(&DigestBuilder::default().with("a").with(b"bc").finish()), expected);
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
