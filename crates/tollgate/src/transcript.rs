//! Parsers for transcripts in common formats. Pure: the command decides what to do with them.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tollgate_core::date;

mod captions;
mod json;
mod text;

/// The lines of a transcript, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportedTranscript {
    /// Start time, if the transcript has one.
    pub date: Option<SystemTime>,
    pub lines: Vec<TranscriptLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptLine {
    pub speaker: String,
    pub text: String,
    pub when: UtteranceTime,
    /// Line number in the file, from 1.
    pub line: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UtteranceTime {
    At(SystemTime),
    /// Offset from the start.
    After(Duration),
    /// No time: after the previous line.
    Next,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptFormat {
    Text,
    Json,
    /// WebVTT and SRT.
    Captions,
}

/// Why it cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct TranscriptError {
    /// From 1. `None`: about the whole file.
    pub line: Option<u64>,
    pub why: String,
}

/// Assumed pause between two lines without times.
const UNTIMED_PAUSE: Duration = Duration::from_secs(1);

pub fn read(form: TranscriptFormat, text: &str) -> Result<ImportedTranscript, TranscriptError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = match form {
        TranscriptFormat::Text => text::read(text),
        TranscriptFormat::Json => json::read(text)?,
        TranscriptFormat::Captions => captions::read(text)?,
    };
    if found.lines.is_empty() {
        Err(TranscriptError { line: None, why: "it contains no utterances".to_owned() })
    } else {
        Ok(found)
    }
}

impl ImportedTranscript {
    /// In the format of the gateway's import, with the source line of each.
    pub fn lines(&self, session: &str, began: SystemTime) -> Vec<(u64, Value)> {
        let mut last: Option<SystemTime> = None;
        let line = |transcript_line: &TranscriptLine| {
            let at = match (transcript_line.when, last) {
                (UtteranceTime::At(at), _) => at,
                (UtteranceTime::After(after), _) => began + after,
                (UtteranceTime::Next, Some(last)) => last + UNTIMED_PAUSE,
                (UtteranceTime::Next, None) => began,
            };
            last = Some(at);
            let line = json!({
                "kind": "entry",
                "session": session,
                "speaker": transcript_line.speaker,
                "text": transcript_line.text,
                "at": date::format_rfc3339_millis(at),
            });
            (transcript_line.line, line)
        };
        self.lines.iter().map(line).collect()
    }
}

/// `2026-01-05` or `20260105` somewhere in a name or a heading.
pub fn date_in(text: &str) -> Option<SystemTime> {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let bytes = text.as_bytes();
    let starts = (0..bytes.len())
        .filter(|at| text.is_char_boundary(*at) && (*at == 0 || !bytes[*at - 1].is_ascii_digit()));
    starts
        .filter_map(|at| {
            let rest = &text[at..];
            let dashed = rest.get(..10).and_then(date::parse);
            let plain = || {
                let day = rest.get(..8).filter(|day| digits(day))?;
                date::parse(&format!("{}-{}-{}", &day[..4], &day[4..6], &day[6..]))
            };
            let (found, len) = dashed.map(|found| (found, 10)).or_else(|| Some((plain()?, 8)))?;
            let goes_on = rest.as_bytes().get(len).is_some_and(u8::is_ascii_digit);
            (!goes_on).then_some(found)
        })
        .next()
}

/// `1:02:03.250`, `02:03`, `02:03,250`
fn clock(text: &str) -> Option<Duration> {
    let (whole, fraction) = match text.split_once(['.', ',']) {
        Some((whole, fraction)) => (whole, fraction),
        None => (text, "0"),
    };
    let is_number = |part: &str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts: Vec<&str> = whole.split(':').collect();
    if !(2..=3).contains(&parts.len()) || !parts.iter().all(|it| is_number(it)) {
        return None;
    }
    if !is_number(fraction) || fraction.len() > 3 {
        return None;
    }
    let seconds =
        parts.iter().try_fold(0_u64, |sum, part| Some(sum * 60 + part.parse::<u64>().ok()?));
    let thousandths = format!("{fraction:0<3}").parse().ok()?;
    Some(Duration::from_secs(seconds?) + Duration::from_millis(thousandths))
}

#[cfg(test)]
mod tests;
