//! Writer for standard error: one line per event, with secret values masked, and without characters
//! that could control a terminal or start another line.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::json;
use tollgate_core::date;
use tollgate_core::secret_values;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tracing_subscriber::fmt::MakeWriter;

use super::LogFormat;

/// Writes `tracing` events, each of which arrives in one piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct StderrLog(pub(super) LogFormat);

impl MakeWriter<'_> for StderrLog {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

impl Write for StderrLog {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        write_all(&presentable(self.0, &String::from_utf8_lossy(event)));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a message that is not a `tracing` event. It may have several lines, like a report about a
/// config.
pub fn note(format: LogFormat, level: &str, message: &str) {
    write_all(&line(format, level, message));
}

pub(super) fn line(format: LogFormat, level: &str, message: &str) -> String {
    match format {
        LogFormat::Text => {
            let masked = secret_values::mask(message);
            let lines: Vec<Cow<'_, str>> = masked.split('\n').map(escape_text).collect();
            format!("{}\n", lines.join("\n"))
        }
        LogFormat::Json => {
            let timestamp = date::format_rfc3339_millis(SystemClock.wall());
            let message = message.trim_end();
            let event = json!({ "timestamp": timestamp, "level": level, "message": message });
            presentable(format, &event.to_string())
        }
    }
}

/// Errors are ignored: there is nowhere to report them.
fn write_all(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn presentable(format: LogFormat, line: &str) -> String {
    let masked = secret_values::mask(line.trim_end_matches('\n'));
    let escaped = match format {
        LogFormat::Text => escape_text(&masked),
        LogFormat::Json => escape_json(&masked),
    };
    format!("{escaped}\n")
}

/// Control characters, and characters that reverse or hide text.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn escape_text(text: &str) -> Cow<'_, str> {
    escape(text, |c, out| {
        let _ = match c {
            '\t' => write!(out, "\t"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            c => write!(out, "{}", c.escape_unicode()),
        };
    })
}

/// They occur only within strings: no other part of JSON has such characters.
fn escape_json(text: &str) -> Cow<'_, str> {
    escape(text, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

fn escape(text: &str, mut put: impl FnMut(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            put(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tollgate_core::secret_values;

    use super::{LogFormat, presentable};

    #[test]
    fn s_23_no_field_of_an_event_steers_the_terminal_or_begins_another_line() {
        let event = "INFO stderr: \u{1b}[31mred\u{1b}]52;c;aGk=\u{7} \u{9b}2J\rINFO forged\nINFO more\u{202e}\u{e0041}\n";
        let line = presentable(LogFormat::Text, event);
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        assert!(line.ends_with('\n'));
        let strange =
            |c: char| c != '\n' && (c.is_control() || c == '\u{202e}' || c == '\u{e0041}');
        assert!(!line.contains(strange), "{line:?}");
        assert!(line.contains("\\rINFO forged\\nINFO more"), "{line}");
    }

    #[test]
    fn s_23_a_line_of_a_json_log_stays_json() {
        let text = "\u{9b}2J \u{202e} \u{e0041} \u{7f} ü";
        let event = serde_json::json!({ "message": text }).to_string();
        let line = presentable(LogFormat::Json, &event);
        assert!(!line.contains(['\u{9b}', '\u{202e}', '\u{e0041}', '\u{7f}']), "{line:?}");
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["message"], text);
    }

    #[test]
    fn s_23_secret_values_are_masked_in_both_formats() {
        secret_values::configure(["can\"ary-of-the-log"]);
        let line = presentable(LogFormat::Text, "key can\"ary-of-the-log!\n");
        assert_eq!(line, "key [masked:secret]!\n");
        let event = serde_json::json!({ "message": "key can\"ary-of-the-log!" }).to_string();
        assert_eq!(
            presentable(LogFormat::Json, &event),
            "{\"message\":\"key [masked:secret]!\"}\n"
        );
    }
}
