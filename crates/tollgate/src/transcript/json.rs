//! Transcripts as a JSON list of objects, as written by speech recognisers and chats: speaker,
//! text, and optionally a time. Other keys are ignored.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tollgate_core::date;

use super::{ImportedTranscript, TranscriptError, TranscriptLine, UtteranceTime};

const LISTS: &[&str] = &["entries", "transcript", "messages", "segments", "utterances"];
const SPEAKERS: &[&str] = &["speaker", "role", "name", "speaker_name", "user"];
const TEXTS: &[&str] = &["text", "content", "message", "transcript"];
const TIMES: &[&str] = &["at", "time", "timestamp", "start", "created_at"];
const DATES: &[&str] = &["date", "began", "start_time", "created_at"];
/// Numbers from here on are Unix times. Smaller ones are offsets from the start.
const EPOCH: f64 = 100_000_000.0;

pub(super) fn read(text: &str) -> Result<ImportedTranscript, TranscriptError> {
    let bad = |line, why: String| TranscriptError { line, why };
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let line = u64::try_from(error.line()).ok();
        bad(line, format!("not JSON: {error}"))
    })?;
    let none = Map::new();
    let about = value.as_object().unwrap_or(&none);
    let list = match &value {
        Value::Array(list) => list,
        _ => first(about, LISTS).and_then(Value::as_array).ok_or_else(|| {
            let lists = LISTS.join("`, `");
            bad(None, format!("it is neither a list nor an object with one: `{lists}`"))
        })?,
    };
    let date = first(about, DATES).and_then(Value::as_str).and_then(date::parse);
    let mut lines = Vec::new();
    for (item, number) in list.iter().zip(1..) {
        let said_here =
            read_line(item).map_err(|why| bad(None, format!("entry {number}: {why}")))?;
        lines.extend(said_here);
    }
    Ok(ImportedTranscript { date, lines })
}

/// Why an entry is not a line of a transcript.
#[derive(Debug, thiserror::Error)]
enum TranscriptEntryError {
    #[error("it is not an object")]
    NotAnObject,
    #[error("it has none of `{}`", .0.join("`, `"))]
    Missing(&'static [&'static str]),
    #[error("`{0}` is not a time")]
    Time(Value),
}

/// `None`: it has no text.
fn read_line(item: &Value) -> Result<Option<TranscriptLine>, TranscriptEntryError> {
    let fields = item.as_object().ok_or(TranscriptEntryError::NotAnObject)?;
    let text = match first(fields, TEXTS) {
        Some(Value::String(text)) => text.clone(),
        // Chat format: parts, some of which are texts.
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join(" ")
        }
        Some(Value::Null) => String::new(),
        _ => return Err(TranscriptEntryError::Missing(TEXTS)),
    };
    let speaker = match first(fields, SPEAKERS) {
        Some(Value::String(speaker)) if !speaker.trim().is_empty() => speaker.clone(),
        Some(Value::Number(number)) => format!("Speaker {number}"),
        _ => return Err(TranscriptEntryError::Missing(SPEAKERS)),
    };
    let when = when(first(fields, TIMES))?;
    let is_said = !text.trim().is_empty();
    Ok(is_said.then_some(TranscriptLine { speaker, text, when, line: 0 }))
}

fn first<'f>(fields: &'f Map<String, Value>, names: &[&str]) -> Option<&'f Value> {
    names.iter().find_map(|name| fields.get(*name))
}

fn when(value: Option<&Value>) -> Result<UtteranceTime, TranscriptEntryError> {
    let wrong = |value: &Value| TranscriptEntryError::Time(value.clone());
    match value {
        None | Some(Value::Null) => Ok(UtteranceTime::Next),
        Some(value @ Value::String(text)) => match (date::parse(text), super::clock(text)) {
            (Some(at), _) => Ok(UtteranceTime::At(at)),
            (None, Some(after)) => Ok(UtteranceTime::After(after)),
            (None, None) => Err(wrong(value)),
        },
        Some(value) => {
            let seconds = value.as_f64().ok_or_else(|| wrong(value))?;
            // Unix time in milliseconds.
            let seconds = if seconds >= EPOCH * 1_000.0 { seconds / 1_000.0 } else { seconds };
            let span = Duration::try_from_secs_f64(seconds).map_err(|_| wrong(value))?;
            let at = UNIX_EPOCH.checked_add(span).filter(|at| *at < year_10000());
            match (seconds >= EPOCH, at) {
                (_, None) => Err(wrong(value)),
                (true, Some(at)) => Ok(UtteranceTime::At(at)),
                (false, Some(_)) => Ok(UtteranceTime::After(span)),
            }
        }
    }
}

fn year_10000() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(253_402_300_800)
}
