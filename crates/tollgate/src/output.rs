//! Output of commands: text and aligned tables for people, JSON for programs. Results go to
//! standard output, everything else to standard error. Colours on a terminal only.
//!
//! Secret values are masked, except where a command was asked to print one.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use rustix::termios;
use serde_json::{Value, json};
use tollgate_config::{ColorMode, ConfigReport, Environment};
use tollgate_core::secret_values;
use tollgate_core::text::HumanDuration;

use crate::command_error::CommandError;
use crate::logging;

mod pretty;
mod progress_bar;
mod table;

pub use pretty::pretty;
pub use progress_bar::ProgressBar;
pub use table::{TableWidth, TextTable};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy)]
pub struct Output {
    pub form: OutputFormat,
    stdout: ColorMode,
    stderr: ColorMode,
    room: TableWidth,
    /// Whether standard error is a terminal.
    watched: bool,
    /// Format of lines on standard error.
    notes: logging::LogFormat,
}

impl Output {
    pub fn new(form: OutputFormat, environment: &dyn Environment) -> Self {
        let is_requested = environment.variable("NO_COLOR").is_none_or(|value| value.is_empty())
            && environment.variable("TERM").is_none_or(|value| value != "dumb");
        let paint = |is_terminal: bool| {
            if is_requested && is_terminal { ColorMode::Coloured } else { ColorMode::Plain }
        };
        let stdout = io::stdout().is_terminal();
        let stderr = io::stderr().is_terminal();
        let room =
            if stdout { TableWidth::Columns(columns(environment)) } else { TableWidth::Unbounded };
        let watched = stderr && form == OutputFormat::Text;
        let notes = logging::LogFormat::from_environment(environment);
        Self { form, stdout: paint(stdout), stderr: paint(stderr), room, watched, notes }
    }

    /// A line of the result.
    pub fn line(self, text: &str) {
        to_stdout(&secret_values::mask(&format!("{text}\n")));
    }

    /// The result without changes, such as a script, or a text with a requested key.
    pub fn raw(self, text: &str) {
        to_stdout(text);
    }

    /// Output of a user's program: unchanged, except for terminal control characters.
    pub fn print_program_output(self, text: &str) {
        let text = &*secret_values::mask(text);
        match self.room {
            TableWidth::Unbounded => to_stdout(text),
            TableWidth::Columns(_) => {
                let lines: Vec<String> = text.split('\t').map(clean).collect();
                to_stdout(&lines.join("\t"));
            }
        }
    }

    pub fn table(self, table: &TextTable) {
        to_stdout(&secret_values::mask(&table.render(self.stdout, self.room)));
    }

    pub fn json(self, value: &Value) {
        to_stdout(&secret_values::mask(&format!("{value:#}\n")));
    }

    /// A message beside the result.
    pub fn note(self, text: &str) {
        logging::note(self.notes, "INFO", text);
    }

    /// A link that contains a secret. Shown only on a terminal: anything else would store it.
    /// Returns whether it was shown.
    pub fn link_on_terminal(self, text: &str) -> bool {
        let is_shown = io::stderr().is_terminal() && self.notes == logging::LogFormat::Text;
        if is_shown {
            to_stderr(&format!("{text}\n"));
        }
        is_shown
    }

    /// A part of a line beside the result, dimmed where colours are used.
    pub fn beside(self, text: &str) {
        let text = &*secret_values::mask(text);
        match self.stderr {
            // A part of a line is not a log event.
            _ if self.notes == logging::LogFormat::Json => {}
            ColorMode::Coloured => to_stderr(&format!("\u{1b}[2m{text}\u{1b}[0m")),
            ColorMode::Plain => to_stderr(text),
        }
    }

    /// A progress bar. `None` if nobody watches.
    pub fn bar(self) -> Option<ProgressBar> {
        self.watched.then(ProgressBar::default)
    }

    pub fn report(self, report: &ConfigReport) {
        match self.notes {
            logging::LogFormat::Text => {
                to_stderr(&secret_values::mask(&report.render(self.stderr)));
            }
            logging::LogFormat::Json => {
                for (level, line) in report.lines_with_levels() {
                    logging::note(self.notes, level, &line);
                }
            }
        }
    }

    /// An error message. As JSON it goes to standard output like every result.
    pub fn failure(self, failure: &CommandError) {
        match (failure, self.form) {
            (CommandError::AlreadyPrinted, _) => {}
            (CommandError::Config(report), OutputFormat::Text) => self.report(report),
            (CommandError::Config(report), OutputFormat::Json) => self.json(&report.to_json()),
            (CommandError::Failed(_) | CommandError::Usage(_), OutputFormat::Text) => {
                let words = format!("error: {}", clean(&failure.to_string()));
                logging::note(self.notes, "ERROR", &words);
            }
            (CommandError::Failed(message) | CommandError::Usage(message), OutputFormat::Json) => {
                self.json(&json!({ "ok": false, "error": message }));
            }
        }
    }
}

/// Width of the terminal.
fn columns(environment: &dyn Environment) -> usize {
    let stated = environment.variable("COLUMNS").and_then(|text| text.parse().ok());
    let found = || termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    stated.or_else(found).filter(|columns| *columns > 0).unwrap_or(100)
}

/// `1 tool`, `2 tools`.
pub fn pluralize(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Milliseconds for people. The value is untrusted.
pub fn span(milliseconds: f64) -> String {
    let span = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1_000.0);
    HumanDuration(span.unwrap_or(Duration::MAX)).to_string()
}

/// Untrusted text without terminal control characters.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_harmless(c) { c } else { '\u{fffd}' }).collect()
}

fn is_harmless(c: char) -> bool {
    let turns_text_around = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c == '\n' || !(c.is_control() || turns_text_around)
}

/// A closed pipe (`tollgate tools | head`) is not a failure.
fn to_stdout(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::{clean, span};

    #[test]
    fn any_number_of_milliseconds_is_a_span() {
        for (milliseconds, expected) in [
            (0.0, "0 ms"),
            (0.4, "0.4 ms"),
            (619.6, "620 ms"),
            (12_345.0, "12.4 s"),
            (-1.0, "0 ms"),
        ] {
            assert_eq!(span(milliseconds), expected);
        }
        assert!(span(f64::MAX).ends_with(" h"));
    }

    #[test]
    fn a_tool_cannot_steer_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\rc\u{202e}d\ne"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\ne");
    }
}
