//! Masks a text that comes in chunks: a value that is cut by their border is found all the same.

use std::borrow::Cow;

use super::SecretMatcher;

/// Keeps back the end of what came so far while it may be the beginning of a value.
#[derive(Default)]
pub struct StreamMask {
    held: Vec<u8>,
}

impl StreamMask {
    /// What may be handed on of all that came so far. Borrowed: the chunk as it is.
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

    /// What was kept back, once nothing more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}
