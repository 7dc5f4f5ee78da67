//! Reads a JSON Lines body as a stream. At most one line is held in memory.

use std::time::Duration;

use axum::body::Body;
use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;

use super::{BodyMediaType, check_type};
use crate::api_error::ApiError;
use crate::limits::Limits;

/// Limit on a line, in bytes: the longest allowed text with every character escaped.
const MAX_LINE_BYTES: usize = 1 << 20;

const LINES: BodyMediaType = BodyMediaType {
    names: &["application/x-ndjson", "application/ndjson", "application/jsonl"],
    code: "not_lines",
    detail: "send `content-type: application/x-ndjson`, one JSON object on each line",
};

pub(crate) struct JsonLinesBody {
    body: Body,
    buffer: BytesMut,
    /// Bytes of the buffer that were searched without finding a line break.
    looked: usize,
    /// Timeout between two chunks.
    patience: Duration,
    number: u64,
    is_over: bool,
}

impl JsonLinesBody {
    pub(crate) fn of(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Self, ApiError> {
        check_type(headers, &LINES)?;
        let buffer = BytesMut::new();
        let patience = limits.body_timeout;
        Ok(Self { body, buffer, looked: 0, patience, number: 0, is_over: false })
    }

    /// Number of the last line returned, from 1, counting empty lines. 0: none yet.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The next line that is not empty.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            let Some(line) = self.line().await? else { return Ok(None) };
            self.number += 1;
            let bare = match self.number {
                1 => line.strip_prefix(b"\xef\xbb\xbf").map_or(0..line.len(), |_| 3..line.len()),
                _ => 0..line.len(),
            };
            let line = line.slice(bare);
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    async fn line(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            let end = self.buffer[self.looked..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end {
                let line = self.buffer.split_to(self.looked + end).freeze();
                self.buffer.advance(1);
                self.looked = 0;
                return Ok(Some(line));
            }
            self.looked = self.buffer.len();
            if self.looked > MAX_LINE_BYTES {
                let detail = format!("a line has more than {MAX_LINE_BYTES} bytes");
                return Err(ApiError::with_detail(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "line_too_long",
                    detail,
                ));
            }
            if self.is_over {
                self.looked = 0;
                let rest = self.buffer.split().freeze();
                return Ok((!rest.is_empty()).then_some(rest));
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Result<(), ApiError> {
        match tokio::time::timeout(self.patience, self.body.frame()).await {
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    self.buffer.extend_from_slice(&data);
                }
            }
            Ok(None) => self.is_over = true,
            Ok(Some(Err(_))) => {
                let detail = "the body was interrupted";
                return Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_body", detail));
            }
            Err(_) => {
                let detail = "the body did not arrive in time";
                return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use bytes::Bytes;
    use futures_util::stream;
    use http::{HeaderMap, HeaderValue, header};

    use super::{JsonLinesBody, MAX_LINE_BYTES};
    use crate::limits::Limits;

    fn lines(parts: Vec<&'static str>) -> JsonLinesBody {
        let parts = parts.into_iter().map(|it| Ok::<_, std::io::Error>(Bytes::from(it)));
        let mut headers = HeaderMap::new();
        let media = HeaderValue::from_static("application/x-ndjson; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, media);
        JsonLinesBody::of(&headers, Body::from_stream(stream::iter(parts)), &Limits::default())
            .unwrap()
    }

    async fn check(parts: Vec<&'static str>, expected: &str) {
        let mut lines = lines(parts);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(format!("{}:{}", lines.number(), String::from_utf8_lossy(&line)));
        }
        assert_eq!(found.join(" "), expected);
    }

    #[tokio::test]
    async fn lines_come_whole_however_the_body_is_cut() {
        check(vec![], "").await;
        check(vec!["a\nb\n"], "1:a 2:b").await;
        check(vec!["a", "b\n\n \ncd", "e", "\nf"], "1:ab 4:cde 5:f").await;
        check(vec!["\u{feff}a\n\u{feff}b"], "1:a 2:\u{feff}b").await;
    }

    #[tokio::test]
    async fn a_line_without_end_is_refused() {
        let long: &'static str = "x".repeat(MAX_LINE_BYTES + 1).leak();
        let mut lines = lines(vec!["a\n", long, "\n"]);
        assert!(lines.next().await.unwrap().is_some());
        assert_eq!(lines.next().await.unwrap_err().code, "line_too_long");
    }
}
