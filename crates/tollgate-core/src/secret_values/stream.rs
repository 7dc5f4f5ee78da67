//! Masks a chunked stream, including values that are split across chunks.

use std::borrow::Cow;

use super::SecretMatcher;

/// Holds back the end of the input while it may be the start of a value.
#[derive(Default)]
pub struct StreamMask {
    held: Vec<u8>,
}

impl StreamMask {
    /// The output that can be released so far. Borrowed: the chunk unchanged.
    pub fn push<'c>(&mut self, matcher: &SecretMatcher, chunk: &'c [u8]) -> Cow<'c, [u8]> {
        let joined = if self.held.is_empty() {
            Cow::Borrowed(chunk)
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(chunk);
            Cow::Owned(joined)
        };
        let done = matcher.find(&joined).last().map_or(0, |range| range.end);
        let end = joined.len() - matcher.pending_suffix_len(&joined[done..]);
        self.held.extend_from_slice(&joined[end..]);
        match joined {
            Cow::Borrowed(chunk) => matcher.mask_bytes(&chunk[..end]),
            Cow::Owned(joined) => Cow::Owned(matcher.mask_bytes(&joined[..end]).into_owned()),
        }
    }

    /// The bytes held back, at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}
