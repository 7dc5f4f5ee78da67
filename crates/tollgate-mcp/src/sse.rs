//! Server-sent events: an incremental decoder for untrusted streams. Independent of MCP.

use std::time::Duration;

/// Decodes bytes into events. Memory is bounded by the event limit, for any chunking.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    /// The current line, without its end. A line within a single chunk is not copied here.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: Option<String>,
    id: Option<String>,
    retry: Option<Duration>,
    at: SsePosition,
    fault: Option<SseError>,
}

/// Position of the next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SsePosition {
    /// Start of the stream: a byte order mark may follow.
    Start,
    Inside,
    /// A following `\n` belongs to the line that just ended.
    AfterReturn,
}

/// One event with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// `None` means `message`.
    pub name: Option<String>,
    pub data: String,
}

/// Why an event was dropped. The stream continues with the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// All events together exceed the limit; nothing more is read.
    #[error("the answer is larger than {limit} bytes")]
    TooMuch { limit: usize },
    #[error("an event is not UTF-8")]
    NotUtf8,
    #[error("there is no memory for an event (`limits.memory_mb`)")]
    NoRoom,
}

impl SseDecoder {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: None,
            id: None,
            retry: None,
            at: SsePosition::Start,
            fault: None,
        }
    }

    /// Consumes `chunk` until an event is complete. `None`: the chunk is exhausted.
    pub fn next(&mut self, chunk: &mut &[u8]) -> Option<Result<SseEvent, SseError>> {
        while !chunk.is_empty() {
            if self.at == SsePosition::AfterReturn {
                self.at = SsePosition::Inside;
                if let Some(rest) = chunk.strip_prefix(b"\n") {
                    *chunk = rest;
                    continue;
                }
            }
            let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.keep(chunk);
                *chunk = &[];
                return None;
            };
            let head = &chunk[..end];
            let rest = &chunk[end + 1..];
            let ended_by_return = chunk[end] == b'\r';
            *chunk = rest;
            let complete = self.end_line(head);
            self.at = if ended_by_return { SsePosition::AfterReturn } else { SsePosition::Inside };
            if complete.is_some() {
                return complete;
            }
        }
        None
    }

    /// The error of the current event: it will be dropped when it ends.
    pub fn fault(&self) -> Option<SseError> {
        self.fault
    }

    /// Bytes of the current event that are kept.
    pub fn buffered_bytes(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Drops the current event: the error is reported when it ends.
    pub fn drop_event(&mut self, fault: SseError) {
        let has_line = !self.line.is_empty();
        self.fail(fault);
        if has_line {
            // The rest of the line must not be taken for a new one.
            self.line.push(b':');
        }
    }

    /// The last `id` of the stream, for `Last-SseEvent-ID`.
    pub fn last_id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The reconnection delay that the server requests.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn keep(&mut self, part: &[u8]) {
        if self.line.len() + self.data.len() + part.len() > self.limit {
            self.fail(SseError::TooLarge { limit: self.limit });
        }
        match self.fault {
            None => self.line.extend_from_slice(part),
            // One byte suffices to mark the line as not blank.
            Some(_) if self.line.is_empty() && !part.is_empty() => self.line.push(b':'),
            Some(_) => {}
        }
    }

    fn end_line(&mut self, tail: &[u8]) -> Option<Result<SseEvent, SseError>> {
        if self.line.is_empty() {
            return self.read_line(tail);
        }
        self.keep(tail);
        let line = std::mem::take(&mut self.line);
        let complete = self.read_line(&line);
        if line.capacity() <= 1 << 16 {
            self.line = line;
            self.line.clear();
        }
        complete
    }

    fn read_line(&mut self, mut line: &[u8]) -> Option<Result<SseEvent, SseError>> {
        if self.at == SsePosition::Start {
            self.at = SsePosition::Inside;
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        if self.fault.is_some() || line[0] == b':' {
            return None;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.push_data(value),
            b"event" => match std::str::from_utf8(value) {
                Ok(name) => self.name = Some(name.to_owned()).filter(|name| !name.is_empty()),
                Err(_) => self.fail(SseError::NotUtf8),
            },
            b"id" if !value.contains(&0) => match std::str::from_utf8(value) {
                Ok(id) => self.id = Some(id.to_owned()).filter(|id| !id.is_empty()),
                Err(_) => self.fail(SseError::NotUtf8),
            },
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let text = std::str::from_utf8(value).unwrap_or_default();
                self.retry = text.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        None
    }

    fn push_data(&mut self, value: &[u8]) {
        if self.data.len() + value.len() + 1 > self.limit {
            return self.fail(SseError::TooLarge { limit: self.limit });
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    fn fail(&mut self, fault: SseError) {
        self.fault.get_or_insert(fault);
        self.line = Vec::new();
        self.data = Vec::new();
    }

    fn dispatch(&mut self) -> Option<Result<SseEvent, SseError>> {
        let name = self.name.take();
        let data = std::mem::take(&mut self.data);
        let has_data = std::mem::take(&mut self.has_data);
        if let Some(fault) = self.fault.take() {
            return Some(Err(fault));
        }
        if !has_data {
            return None;
        }
        Some(match String::from_utf8(data) {
            Ok(data) => Ok(SseEvent { name, data }),
            Err(_) => Err(SseError::NotUtf8),
        })
    }
}

#[cfg(test)]
mod tests;
