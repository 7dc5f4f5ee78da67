//! `tollgate memory import`: converts files to JSON Lines and sends them to the gateway in batches.
//! The import is idempotent, so an interrupted one can be repeated.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde_json::{Value, json};
use tollgate_core::date;
use tollgate_engine::clock::{Clock as _, SystemClock};

use super::{MemoryCommandRun, show};
use crate::cli::memory::{MemoryImportArgs, MemoryImportFormat};
use crate::command_error::CommandError;
use crate::output::{OutputFormat, clean};
use crate::transcript::{self, ImportedTranscript, date_in};

/// Size limit of one request.
const BATCH_BYTES: usize = 1 << 20;
const BATCH_LINES: usize = 2_000;
/// Limit on a transcript, in bytes. JSON Lines have no limit.
const MAX_TRANSCRIPT_BYTES: u64 = 64 << 20;
/// Limit on one line of a file, in bytes.
const MAX_LINE_BYTES: u64 = 2 << 20;
const COUNTED_KINDS: [&str; 5] = ["sessions", "entries", "facts", "entities", "relations"];

pub(super) async fn run(
    session: &MemoryCommandRun<'_>,
    args: &MemoryImportArgs,
) -> Result<(), CommandError> {
    if args.session.is_some() && args.files.len() > 1 {
        let message = "`--session` requires a single file; several files use their own names";
        return Err(CommandError::Usage(message.to_owned()));
    }
    let mut lines = Vec::new();
    for file in &args.files {
        let mut intake = MemoryFileImport::new(session, file, args);
        match intake.format()? {
            MemoryImportFormat::Jsonl => intake.lines().await?,
            MemoryImportFormat::Text => {
                intake.transcript(transcript::TranscriptFormat::Text).await?
            }
            MemoryImportFormat::Json => {
                intake.transcript(transcript::TranscriptFormat::Json).await?
            }
            MemoryImportFormat::Vtt | MemoryImportFormat::Srt => {
                intake.transcript(transcript::TranscriptFormat::Captions).await?
            }
        }
        if session.output.form == OutputFormat::Text {
            session.output.line(&clean(&intake.sentence()));
        }
        lines.push(intake.report_json());
    }
    if session.output.form == OutputFormat::Json {
        session.output.json(&json!({ "files": lines, "dry_run": args.dry_run }));
    }
    Ok(())
}

/// Import of one file.
struct MemoryFileImport<'i> {
    session: &'i MemoryCommandRun<'i>,
    file: &'i Path,
    args: &'i MemoryImportArgs,
    batch: String,
    /// Line numbers in the file of the lines in the batch.
    places: Vec<u64>,
    read: Value,
    stored: Value,
    /// Session and start time of a transcript.
    named: Option<(String, SystemTime)>,
}

impl<'i> MemoryFileImport<'i> {
    fn new(session: &'i MemoryCommandRun<'i>, file: &'i Path, args: &'i MemoryImportArgs) -> Self {
        let read = json!({});
        let stored = json!({});
        let batch = String::new();
        let places = Vec::new();
        Self { session, file, args, batch, places, read, stored, named: None }
    }

    fn is_standard_input(&self) -> bool {
        self.file == Path::new("-")
    }

    fn format(&self) -> Result<MemoryImportFormat, CommandError> {
        let ending = self.file.extension().map(|it| it.to_string_lossy().to_lowercase());
        match (self.args.format, ending.as_deref()) {
            (Some(format), _) => Ok(format),
            (None, Some("jsonl" | "ndjson")) => Ok(MemoryImportFormat::Jsonl),
            (None, Some("json")) => Ok(MemoryImportFormat::Json),
            (None, Some("vtt")) => Ok(MemoryImportFormat::Vtt),
            (None, Some("srt")) => Ok(MemoryImportFormat::Srt),
            (None, _) if self.is_standard_input() => {
                let message = "standard input requires `--format`";
                Err(CommandError::Usage(message.to_owned()))
            }
            (None, _) => Ok(MemoryImportFormat::Text),
        }
    }

    fn open(&self) -> Result<Box<dyn Read>, CommandError> {
        if self.is_standard_input() {
            return Ok(Box::new(io::stdin()));
        }
        let opened = fs::File::open(self.file).map_err(|error| self.wrong(None, &error))?;
        Ok(Box::new(opened))
    }

    /// `FILE:LINE: why`
    fn wrong(&self, line: Option<u64>, why: &dyn std::fmt::Display) -> CommandError {
        let file = self.file.display();
        CommandError::new(match line.filter(|line| *line > 0) {
            Some(line) => format!("{file}:{line}: {why}"),
            None => format!("{file}: {why}"),
        })
    }

    async fn lines(&mut self) -> Result<(), CommandError> {
        if self.args.session.is_some() || self.args.date.is_some() {
            let message =
                "JSON Lines have their own sessions and times: remove `--session` and `--date`";
            return Err(CommandError::Usage(message.to_owned()));
        }
        let mut reader = BufReader::new(self.open()?);
        for number in 1.. {
            let mut line = Vec::new();
            let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            if read.map_err(|error| self.wrong(Some(number), &error))? == 0 {
                break;
            }
            let text = std::str::from_utf8(&line)
                .map_err(|_| self.wrong(Some(number), &"it is not UTF-8"))?;
            if text.len() as u64 == MAX_LINE_BYTES {
                return Err(self.wrong(Some(number), &"the line is too long"));
            }
            let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
            if !text.is_empty() {
                self.push(number, text).await?;
            }
        }
        self.flush().await
    }

    async fn transcript(&mut self, form: transcript::TranscriptFormat) -> Result<(), CommandError> {
        let mut text = String::new();
        let read = self.open()?.take(MAX_TRANSCRIPT_BYTES + 1).read_to_string(&mut text);
        let size = read.map_err(|error| self.wrong(None, &error))?;
        if size as u64 > MAX_TRANSCRIPT_BYTES {
            return Err(self.wrong(None, &"it is larger than 64 MiB; split it"));
        }
        let found = transcript::read(form, &text);
        let found = found.map_err(|bad| self.wrong(bad.line, &bad))?;
        let id = self.session_id()?;
        let began = self.began(&found)?;
        for (number, line) in found.lines(&id, began) {
            self.push(number, &line.to_string()).await?;
        }
        self.named = Some((id, began));
        self.flush().await
    }

    fn session_id(&self) -> Result<String, CommandError> {
        if let Some(session) = &self.args.session {
            return Ok(session.clone());
        }
        if self.is_standard_input() {
            let message = "standard input requires `--session`";
            return Err(CommandError::Usage(message.to_owned()));
        }
        let stem = self.file.file_stem().unwrap_or_default();
        Ok(stem.to_string_lossy().into_owned())
    }

    /// The same for every read of the file, so that repeated imports create no duplicates.
    fn began(&self, found: &ImportedTranscript) -> Result<SystemTime, CommandError> {
        if let Some(typed) = &self.args.date {
            return date::parse(typed).ok_or_else(|| {
                let message = "`--date` must be like `2026-01-05` or `2026-01-05T19:00:00Z`";
                CommandError::Usage(message.to_owned())
            });
        }
        let named = || self.file.file_name().and_then(|name| date_in(&name.to_string_lossy()));
        Ok(found.date.or_else(named).unwrap_or_else(|| {
            let changed = fs::metadata(self.file).and_then(|it| it.modified());
            day_of(changed.unwrap_or_else(|_| SystemClock.wall()))
        }))
    }

    async fn push(&mut self, number: u64, line: &str) -> Result<(), CommandError> {
        let is_full = self.places.len() >= BATCH_LINES
            || !self.batch.is_empty() && self.batch.len() + line.len() > BATCH_BYTES;
        if is_full {
            self.flush().await?;
        }
        self.batch.push_str(line);
        self.batch.push('\n');
        self.places.push(number);
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), CommandError> {
        if self.places.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        let places = std::mem::take(&mut self.places);
        let mut query = self.session.query();
        if self.args.dry_run {
            query.push(("dry_run", "true".to_owned()));
        }
        match self.session.gateway.import(&query, Bytes::from(batch)).await? {
            Ok(taken) => {
                add(&mut self.read, &taken["read"]);
                add(&mut self.stored, &taken["kept"]);
                Ok(())
            }
            Err(untaken) => {
                let index =
                    untaken.line.and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
                let place = index.and_then(|index| places.get(index).copied());
                Err(self.wrong(place, &untaken.why))
            }
        }
    }

    fn sentence(&self) -> String {
        let file = self.file.display();
        let read = show::describe_counts(&self.read);
        let place = match &self.named {
            Some((session, began)) => {
                format!(" of session `{session}`, from {}", date::format_rfc3339(*began))
            }
            None => String::new(),
        };
        let retained = match (self.args.dry_run, self.stored == self.read) {
            (true, _) => "; nothing was saved".to_owned(),
            (false, true) => String::new(),
            (false, false) => format!("; new: {}", show::describe_counts(&self.stored)),
        };
        format!("{file}: {read}{place}{retained}")
    }

    fn report_json(&self) -> Value {
        let mut body = json!({ "file": self.file, "read": self.read, "kept": self.stored });
        if let Some((session, began)) = &self.named {
            body["session"] = json!(session);
            body["began"] = json!(date::format_rfc3339(*began));
        }
        body
    }
}

fn add(sum: &mut Value, more: &Value) {
    for key in COUNTED_KINDS {
        let both = sum[key].as_u64().unwrap_or(0) + more[key].as_u64().unwrap_or(0);
        sum[key] = json!(both);
    }
}

/// The beginning of the day.
fn day_of(time: SystemTime) -> SystemTime {
    let written = date::format_rfc3339(time);
    written.get(..10).and_then(date::parse).unwrap_or(UNIX_EPOCH)
}
