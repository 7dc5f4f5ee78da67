//! Renders a report for people (source line, caret, advice) and for programs (JSON).

use serde_json::{Value, json};

use super::diagnostic::{ConfigReport, Diagnostic, DiagnosticLocation, Severity};

/// Whether to use colours, which belong on a terminal only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorMode {
    Plain,
    Coloured,
}

/// Longer lines are truncated around the caret.
const MAX_EXCERPT_COLUMNS: usize = 120;

impl ConfigReport {
    /// Every diagnostic with its source line. Empty when there is none.
    pub fn render(&self, paint: ColorMode) -> String {
        let mut text = String::new();
        for found in &self.diagnostics {
            self.render_one(found, paint, &mut text);
            text.push('\n');
        }
        if let Some(summary) = self.summary() {
            text.push_str(&summary);
            text.push('\n');
        }
        text
    }

    /// The stable shape of `check --json` and of the admin API.
    pub fn to_json(&self) -> Value {
        let diagnostics: Vec<Value> = self.diagnostics.iter().map(as_json).collect();
        json!({
            "file": self.file,
            "ok": self.count(Severity::Error) == 0,
            "diagnostics": diagnostics,
        })
    }

    fn render_one(&self, found: &Diagnostic, paint: ColorMode, text: &mut String) {
        let (word, colour) = match found.severity {
            Severity::Error => ("error", "31"),
            Severity::Warning => ("warning", "33"),
        };
        let head = colorize(&format!("{word}:"), colour, paint);
        text.push_str(&format!("{head} {}\n", found.message));
        let mut margin = 2;
        match found.place {
            DiagnosticLocation::File => text.push_str(&format!(" --> {}\n", self.file)),
            DiagnosticLocation::Flag(flag) => text.push_str(&format!(" --> {flag}\n")),
            DiagnosticLocation::At(span) => {
                margin = span.line.to_string().len().max(2);
                let file = &self.file;
                text.push_str(&format!(" --> {file}:{}:{}\n", span.line, span.column));
                if let Some(line) = self.lines.get(&span.line) {
                    let last =
                        if span.end_line == span.line { span.end_column } else { usize::MAX };
                    let SourceExcerpt { text: shown, indent, width } =
                        SourceExcerpt::of(line, span.column, last);
                    let caret = colorize(&"^".repeat(width), colour, paint);
                    text.push_str(&format!("{:margin$} |\n", ""));
                    text.push_str(&format!("{:>margin$} | {shown}\n", span.line));
                    text.push_str(&format!("{:margin$} | {:indent$}{caret}\n", "", ""));
                }
            }
        }
        for help in &found.help {
            text.push_str(&format!("{:margin$} = {help}\n", ""));
        }
    }

    fn summary(&self) -> Option<String> {
        let errors = self.count(Severity::Error);
        let warnings = self.count(Severity::Warning);
        let counted = |count: usize, word: &str| match count {
            0 => None,
            1 => Some(format!("1 {word}")),
            _ => Some(format!("{count} {word}s")),
        };
        let parts: Vec<String> = [counted(errors, "error"), counted(warnings, "warning")]
            .into_iter()
            .flatten()
            .collect();
        if parts.is_empty() { None } else { Some(format!("{} in {}", parts.join(", "), self.file)) }
    }
}

fn as_json(found: &Diagnostic) -> Value {
    let mut value = json!({
        "severity": match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "key": found.key,
        "message": found.message,
        "help": found.help,
    });
    match found.place {
        DiagnosticLocation::At(span) => {
            value["line"] = json!(span.line);
            value["column"] = json!(span.column);
            value["end_line"] = json!(span.end_line);
            value["end_column"] = json!(span.end_column);
        }
        DiagnosticLocation::Flag(flag) => value["flag"] = json!(flag),
        DiagnosticLocation::File => {}
    }
    value
}

/// The displayed line, and the indentation and width of the caret.
pub struct SourceExcerpt {
    pub text: String,
    pub indent: usize,
    pub width: usize,
}

impl SourceExcerpt {
    pub fn of(line: &str, column: usize, end: usize) -> Self {
        let clean: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let start = (column - 1).min(clean.len());
        let stop = (end.saturating_sub(1)).clamp(start, clean.len());
        let from = if start > MAX_EXCERPT_COLUMNS - 20 { start - 40 } else { 0 };
        let shown: String = clean[from..].iter().take(MAX_EXCERPT_COLUMNS).collect();
        let width = (stop - start).clamp(1, MAX_EXCERPT_COLUMNS - (start - from));
        let shown = shown.trim_end().to_owned();
        if from == 0 {
            Self { text: shown, indent: start, width }
        } else {
            Self { text: format!("…{shown}"), indent: start - from + 1, width }
        }
    }
}

fn colorize(text: &str, colour: &str, paint: ColorMode) -> String {
    match paint {
        ColorMode::Plain => text.to_owned(),
        ColorMode::Coloured => format!("\u{1b}[1;{colour}m{text}\u{1b}[0m"),
    }
}
