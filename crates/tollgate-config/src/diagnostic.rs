//! Diagnostics of a config: error, position, and advice. Collected by every step, so that one run
//! shows all mistakes of a file. `render` prints them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::line_redaction;
use super::secrets::SecretValues;

/// More mistakes than this mean that it is the wrong file.
const MAX_DIAGNOSTICS: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
}

/// A range in the file: lines and columns from 1, columns in characters, the end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceSpan {
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
}

/// Location of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosticLocation {
    /// The file as a whole: missing, too large, not text.
    File,
    At(SourceSpan),
    /// A flag of the command line, or its environment variable.
    Flag(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub place: DiagnosticLocation,
    /// The key it is about, as a path: `servers.files.command`. Empty for the file as a whole.
    pub key: String,
    pub message: String,
    pub help: Vec<String>,
}

impl Diagnostic {
    fn new(severity: Severity, place: DiagnosticLocation, key: &str, message: String) -> Self {
        Self { severity, place, key: key.to_owned(), message, help: Vec::new() }
    }

    /// Adds a line of advice.
    pub fn help(&mut self, text: impl Into<String>) -> &mut Self {
        self.help.push(text.into());
        self
    }
}

/// All problems so far, and the ranges that must not be printed.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: Vec<Diagnostic>,
    secrets: Vec<SourceSpan>,
    /// Secret values read so far.
    pub(super) values: SecretValues,
    /// Whether the text could be parsed as YAML, so that its secrets are known.
    pub(super) is_read: bool,
}

impl Problems {
    pub(super) fn error(
        &mut self,
        at: impl Into<DiagnosticLocation>,
        key: &str,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Diagnostic::new(Severity::Error, at.into(), key, message.into()))
    }

    pub(super) fn warning(
        &mut self,
        at: impl Into<DiagnosticLocation>,
        key: &str,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Diagnostic::new(Severity::Warning, at.into(), key, message.into()))
    }

    /// Marks a value whose text must not be printed.
    pub(super) fn hide(&mut self, at: SourceSpan) {
        self.secrets.push(at);
    }

    pub(super) fn has_errors(&self) -> bool {
        self.list.iter().any(|found| found.severity == Severity::Error)
    }

    /// Finishes the collection. Hidden ranges are removed from the lines in the report.
    pub(super) fn into_report(self, file: &str, source: &str) -> ConfigReport {
        let mut diagnostics = self.list;
        diagnostics.sort_by_key(|found| (found.place, found.severity));
        diagnostics.dedup();
        let mut lines = BTreeMap::new();
        for found in &mut diagnostics {
            let DiagnosticLocation::At(span) = &mut found.place else { continue };
            let line = lines.entry(span.line).or_insert_with(|| {
                let text = source.lines().nth(span.line - 1).unwrap_or_default();
                text.chars().collect::<Vec<char>>()
            });
            trim(span, line);
        }
        for span in &self.secrets {
            for (number, line) in lines.range_mut(span.line..=span.end_line) {
                let from = if *number == span.line { span.column } else { 1 };
                let to = if *number == span.end_line { span.end_column } else { usize::MAX };
                overwrite(line, from, to);
            }
        }
        let matcher = self.values.matcher();
        for (number, line) in &mut lines {
            let text = String::from_iter(line.iter());
            let mut parts: Vec<Range<usize>> = matcher.find(text.as_bytes()).collect();
            if !self.is_read {
                parts.extend(line_redaction::secret_parts(source, *number));
            }
            overwrite_parts(line, &text, &parts);
        }
        for found in &mut diagnostics {
            let texts = found.help.iter_mut().chain([&mut found.message]);
            texts.for_each(|text| *text = matcher.mask(text).into_owned());
        }
        let lines = lines.into_iter().map(|(at, line)| (at, String::from_iter(line))).collect();
        ConfigReport { file: file.to_owned(), lines, diagnostics }
    }

    fn push(&mut self, found: Diagnostic) -> &mut Diagnostic {
        self.list.truncate(MAX_DIAGNOSTICS - 1);
        self.list.push(found);
        self.list.last_mut().expect("just pushed")
    }
}

impl From<SourceSpan> for DiagnosticLocation {
    fn from(span: SourceSpan) -> Self {
        Self::At(span)
    }
}

/// All diagnostics of one file. Contains no secrets: it may be logged and sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigReport {
    pub file: String,
    /// The source lines of the diagnostics.
    pub(super) lines: BTreeMap<usize, String>,
    /// In file order.
    pub diagnostics: Vec<Diagnostic>,
}

impl ConfigReport {
    /// A single error about the whole file.
    pub fn about(file: &str, message: impl Into<String>) -> Self {
        let mut problems = Problems::default();
        problems.error(DiagnosticLocation::File, "", message);
        problems.into_report(file, "")
    }

    /// One line per mistake, with its log level.
    pub fn lines_with_levels(&self) -> Vec<(&'static str, String)> {
        let line = |found: &Diagnostic| {
            let level = match found.severity {
                Severity::Error => "ERROR",
                Severity::Warning => "WARN",
            };
            let one = Self { diagnostics: vec![found.clone()], ..self.clone() };
            let help: String = found.help.iter().map(|help| format!("; {help}")).collect();
            (level, format!("{one}{help}"))
        };
        self.diagnostics.iter().map(line).collect()
    }

    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|found| found.severity == severity).count()
    }
}

/// One line per mistake, for logs.
impl fmt::Display for ConfigReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, found) in self.diagnostics.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            match found.place {
                DiagnosticLocation::At(span) => {
                    write!(f, "{separator}{}:{}:{}", self.file, span.line, span.column)?;
                }
                DiagnosticLocation::File => write!(f, "{separator}{}", self.file)?,
                DiagnosticLocation::Flag(flag) => write!(f, "{separator}{flag}")?,
            }
            write!(f, ": {}", found.message)?;
        }
        Ok(())
    }
}

/// The parser includes trailing blanks in the span of a quoted text.
fn trim(span: &mut SourceSpan, line: &[char]) {
    while span.line == span.end_line
        && span.end_column > span.column + 1
        && line.get(span.end_column - 2).is_none_or(|c| c.is_whitespace())
    {
        span.end_column -= 1;
    }
}

/// The same for parts given in bytes of the original line.
fn overwrite_parts(line: &mut [char], text: &str, parts: &[Range<usize>]) {
    if parts.is_empty() {
        return;
    }
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let column = |byte: usize| starts.partition_point(|start| *start < byte) + 1;
    for part in parts {
        overwrite(line, column(part.start), column(part.end));
    }
}

/// Columns as in [`SourceSpan`]. Trailing blanks of a hidden text do not belong to it.
fn overwrite(line: &mut [char], from: usize, to: usize) {
    let from = from - 1;
    let mut to = to.saturating_sub(1).min(line.len());
    while to > from && line[to - 1].is_whitespace() {
        to -= 1;
    }
    line[from.min(to)..to].fill('*');
}
