//! Newline-delimited framing for pipes with arbitrary content: banners, binary data, endless lines.
//! Memory is bounded by the line limit; longer lines are skipped.
//!
//! A line that does not begin like JSON cannot be a message, so only a small part of it is kept.

use std::fmt;
use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout_at};
use tollgate_core::turn::Principal;

use crate::answer_budget::AnswerPermit;
use crate::memory_budget::{NoRoomError, RESERVE_TIMEOUT};

const CHUNK: usize = 16 << 10;
/// Buffer capacity that an idle reader keeps.
const IDLE_CAPACITY: usize = 64 << 10;
/// Lines from this size on are large.
const LARGE: usize = 128 << 10;
/// Maximum length of a line that does not begin like JSON.
const MAX_NO_MESSAGE: usize = 64 << 10;
/// Bytes shown of each end of a skipped line.
const EXCERPT: usize = 64;
/// Standing still for memory, the reader spends this; it regains it slowly, while it reads on.
const WAIT_ALLOWANCE: Duration = RESERVE_TIMEOUT;
/// How much slower.
const REGAIN_DIVISOR: u32 = 4;
/// How long a line may keep memory before its end arrives.
const LARGE_LINE_TIMEOUT: Duration = Duration::from_secs(60);

/// Tells from the beginning of a line who pays for its memory.
type PayerLookup = Box<dyn Fn(&[u8]) -> Option<Principal> + Send + Sync>;

/// Reads line by line.
pub struct LineReader<R> {
    reader: R,
    limit: usize,
    buffer: BytesMut,
    /// Up to here `buffer` contains no newline.
    scanned: usize,
    /// The last bytes of a line being skipped.
    skipping: Option<BytesMut>,
    ended: bool,
    /// Memory for the current line.
    permit: AnswerPermit,
    /// When the current line loses it.
    expiry: Option<Instant>,
    payer: Option<PayerLookup>,
    patience: Patience,
}

/// For how long the reader may stand still. Lines of several callers share a pipe: a small one
/// waits behind any number of large ones for a bounded time.
#[derive(Debug, Clone, Copy)]
struct Patience {
    left: Duration,
    since: Instant,
}

impl Patience {
    fn full() -> Self {
        Self { left: WAIT_ALLOWANCE, since: now() }
    }

    fn time_left(self) -> Duration {
        (self.left + self.since.elapsed() / REGAIN_DIVISOR).min(WAIT_ALLOWANCE)
    }

    /// What is left after having stood still since `began`.
    fn spend_since(&mut self, began: Instant) {
        let regained = began.saturating_duration_since(self.since) / REGAIN_DIVISOR;
        let left = (self.left + regained).min(WAIT_ALLOWANCE);
        *self = Self { left: left.saturating_sub(began.elapsed()), since: now() };
    }
}

#[expect(clippy::disallowed_methods, reason = "a pause, as a timer would measure")]
fn now() -> Instant {
    Instant::now()
}

#[derive(Debug, PartialEq, Eq)]
pub enum LineRead {
    /// Without its line end, and without surrounding blanks and NULs; never empty.
    Text(Bytes),
    /// A line exceeded the limit, which is smaller for lines that are not JSON. Its rest is
    /// skipped.
    TooLong { head: Bytes, limit: usize },
    /// There is no memory for a line. Its rest is skipped.
    NoRoom { head: Bytes },
    /// The end of the line that is skipped.
    Skipped { tail: Bytes },
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            limit,
            buffer: BytesMut::new(),
            scanned: 0,
            skipping: None,
            ended: false,
            permit: AnswerPermit::default(),
            expiry: None,
            payer: None,
            patience: Patience::full(),
        }
    }

    /// Charges the memory of a line to whoever `payer` tells from its beginning.
    #[must_use]
    pub fn charging(
        self,
        payer: impl Fn(&[u8]) -> Option<Principal> + Send + Sync + 'static,
    ) -> Self {
        Self { payer: Some(Box::new(payer)), ..self }
    }

    /// The next line; `None` at the end. Stops reading while there is no memory for a large line.
    /// Cancel-safe.
    pub async fn next(&mut self) -> io::Result<Option<LineRead>> {
        if self.scanned == 0 {
            self.release();
        }
        loop {
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(None);
            }
            if self.buffer.is_empty() && self.buffer.capacity() > IDLE_CAPACITY {
                self.buffer = BytesMut::new();
            }
            if self.cover_line().await.is_err() {
                return Ok(Some(self.skip_for_memory()));
            }
            self.buffer.reserve(self.room());
            let Some(read) = self.read_more().await else {
                return Ok(Some(self.skip_for_memory()));
            };
            if read? == 0 {
                self.ended = true;
            }
        }
    }

    /// `None`: the line took too long for the memory that it keeps.
    async fn read_more(&mut self) -> Option<io::Result<usize>> {
        let read = self.reader.read_buf(&mut self.buffer);
        match self.expiry {
            Some(expiry) => timeout_at(expiry, read).await.ok(),
            None => Some(read.await),
        }
    }

    fn skip_for_memory(&mut self) -> LineRead {
        self.release();
        LineRead::NoRoom { head: self.skip_rest() }
    }

    fn release(&mut self) {
        self.permit = AnswerPermit::default();
        self.expiry = None;
    }

    /// Reserves memory for the line in the buffer. Lines of other callers are behind it, so the
    /// reader does not stand still for long.
    async fn cover_line(&mut self) -> Result<(), NoRoomError> {
        let length = self.buffer.len();
        if self.permit.covers(length) {
            return Ok(());
        }
        if self.permit.is_empty() {
            self.permit.charge_to(self.payer.as_ref().and_then(|payer| payer(&self.buffer)));
        }
        let began = now();
        let covered = self.permit.cover_growing_within(length, self.patience.time_left()).await;
        self.patience.spend_since(began);
        self.expiry.get_or_insert(began + LARGE_LINE_TIMEOUT);
        covered
    }

    /// The memory of the line that was returned last, or is being read.
    pub fn take_permit(&mut self) -> AnswerPermit {
        std::mem::take(&mut self.permit)
    }

    /// How much to read at once. A large line gets its maximum capacity at once: untouched memory
    /// costs nothing, while a doubling buffer is copied and both copies are held for a while.
    fn room(&self) -> usize {
        let most = self.limit + CHUNK;
        if self.buffer.len() < LARGE {
            CHUNK
        } else {
            most.saturating_sub(self.buffer.len()).max(CHUNK)
        }
    }

    /// The next line in the buffer.
    fn take(&mut self) -> Option<LineRead> {
        loop {
            let fresh = &self.buffer[self.scanned..];
            let newline = fresh.iter().position(|byte| *byte == b'\n').map(|at| at + self.scanned);
            let end = match newline {
                Some(at) => at,
                None if self.ended && !self.buffer.is_empty() => self.buffer.len(),
                None => return self.grow(),
            };
            let mut line = self.buffer.split_to(end);
            if newline.is_some() {
                let _ = self.buffer.split_to(1);
            }
            self.scanned = 0;
            if let Some(mut tail) = self.skipping.take() {
                keep_tail(&mut tail, &line);
                return Some(LineRead::Skipped { tail: tail.freeze() });
            }
            skip_padding(&mut line);
            let limit = self.limit_of(&line);
            if line.len() > limit {
                let head = Bytes::copy_from_slice(&line[..EXCERPT.min(line.len())]);
                let mut tail = BytesMut::new();
                keep_tail(&mut tail, &line);
                // Still reported in two steps: the end follows with the next call.
                self.skipping = Some(tail);
                self.put_back_end();
                return Some(LineRead::TooLong { head, limit });
            }
            let end = line.iter().rposition(|byte| !is_padding(*byte)).map_or(0, |last| last + 1);
            line.truncate(end);
            if !line.is_empty() {
                return Some(LineRead::Text(line.freeze()));
            }
        }
    }

    /// No newline yet: switches to skipping once the line is too long.
    fn grow(&mut self) -> Option<LineRead> {
        if let Some(tail) = &mut self.skipping {
            keep_tail(tail, &self.buffer);
            self.buffer.clear();
            self.scanned = 0;
            if self.ended {
                let tail = self.skipping.take()?;
                return Some(LineRead::Skipped { tail: tail.freeze() });
            }
            return None;
        }
        if self.scanned == 0 {
            skip_padding(&mut self.buffer);
        }
        let limit = self.limit_of(&self.buffer);
        if self.buffer.len() <= limit {
            self.scanned = self.buffer.len();
            return None;
        }
        Some(LineRead::TooLong { head: self.skip_rest(), limit })
    }

    /// Skips the line in the buffer, which has no end yet. Returns its beginning.
    fn skip_rest(&mut self) -> Bytes {
        let head = Bytes::copy_from_slice(&self.buffer[..EXCERPT.min(self.buffer.len())]);
        let mut tail = BytesMut::new();
        keep_tail(&mut tail, &self.buffer);
        self.buffer = BytesMut::new();
        self.scanned = 0;
        self.skipping = Some(tail);
        head
    }

    /// The length limit of a line with this beginning.
    fn limit_of(&self, line: &[u8]) -> usize {
        match line.first() {
            None | Some(b'{' | b'[') => self.limit,
            Some(_) => self.limit.min(MAX_NO_MESSAGE),
        }
    }

    /// The newline was already removed from the buffer: the skipped line ends here.
    fn put_back_end(&mut self) {
        let mut rest = BytesMut::with_capacity(self.buffer.len() + 1);
        rest.extend_from_slice(b"\n");
        rest.extend_from_slice(&self.buffer);
        self.buffer = rest;
    }
}

impl<R> fmt::Debug for LineReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineReader").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// The message as one line. Line ends in valid JSON are only whitespace between tokens; on a pipe
/// or in an event they would end the message and start a forged one.
pub fn on_one_line(text: String) -> String {
    if text.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return text.replace(['\n', '\r'], " ");
    }
    text
}

fn keep_tail(tail: &mut BytesMut, more: &[u8]) {
    let more = &more[more.len().saturating_sub(EXCERPT)..];
    let surplus = (tail.len() + more.len()).saturating_sub(EXCERPT);
    let _ = tail.split_to(surplus.min(tail.len()));
    tail.extend_from_slice(more);
}

/// Leading padding is not part of a line.
fn skip_padding(line: &mut BytesMut) {
    let padding = line.iter().take_while(|byte| is_padding(**byte)).count();
    line.advance(padding);
}

fn is_padding(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0)
}

#[cfg(test)]
mod tests;
