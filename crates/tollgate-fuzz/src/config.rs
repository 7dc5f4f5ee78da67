//! What operators write: the config, edits of it, variables in it; and transcripts.

use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tollgate::transcript::{self, TranscriptFormat};
use tollgate_config::edit::{self, ConfigEdit};
use tollgate_config::secret_masking::SecretMasks;
use tollgate_config::{self as config, ColorMode, ConfigRequest, Environment, fuzzing};

/// Variables with values that look like references, and no files.
struct EchoEnvironment;

impl Environment for EchoEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        (!name.ends_with("_UNSET")).then(|| format!("${{{name}}}"))
    }

    fn file(&self, path: &str) -> io::Result<String> {
        Err(io::Error::other(format!("no file {path}")))
    }
}

const FILE: &str = "tollgate.yaml";

/// Every config loads or is refused with a report; covered secrets come back as they were.
pub(crate) fn config(data: &[u8]) {
    let file = Path::new(FILE);
    match config::load_text(file, data, &ConfigRequest::default(), &EchoEnvironment) {
        Ok(loaded) => drop(loaded.report.render(ColorMode::Plain)),
        Err(report) => {
            assert!(!report.diagnostics.is_empty(), "a refusal says why");
            drop(report.render(ColorMode::Plain));
            drop(report.to_json().to_string());
        }
    }
    let Some(text) = crate::text(data) else { return };
    if let Ok(value) = config::yaml(text) {
        assert_eq!(value, config::values(text));
    }
    let masks = SecretMasks::new();
    if let Ok(covered) = masks.cover(file, text) {
        let uncovered = masks.uncover(file, &covered, text).expect("what was covered is known");
        let before = config::values(text);
        let after = config::values(&uncovered);
        assert!(is_same(&before, &after), "covered:\n{covered}\nuncovered:\n{uncovered}");
    }
}

/// A secret comes back as text, whatever it was.
fn is_same(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.keys().eq(after.keys())
                && before.values().zip(after.values()).all(|(one, other)| is_same(one, other))
        }
        (Value::Number(_) | Value::Bool(_) | Value::Null, Value::String(_)) => true,
        _ => before == after,
    }
}

/// The first line is the edit (`add NAME`, `remove NAME`, `set NAME KEY VALUE`, `unset NAME KEY`), the rest the config.
/// What is edited says the same as before, but for the edit; comments stay.
pub(crate) fn config_edit(data: &[u8]) {
    let Some((line, text)) = crate::text(data).and_then(|text| text.split_once('\n')) else {
        return;
    };
    let Some(edit) = edit_of(line) else { return };
    let file = Path::new(FILE);
    let Ok(edited) = edit::apply(file, text, &edit) else { return };
    let before = config::values(text);
    let after = config::values(&edited);
    assert!(
        !after.is_null() || matches!(edit, ConfigEdit::Remove { .. }),
        "it cannot be read:\n{edited}"
    );
    for (key, value) in before.as_object().into_iter().flatten() {
        if key != "servers" {
            assert_eq!(after.get(key), Some(value), "`{key}` changed:\n{edited}");
        }
    }
    for name in edit::names(&before, "servers") {
        if name != edit.name() {
            let old = edit::named_entry(&before, "servers", &name);
            let new = edit::named_entry(&after, "servers", &name);
            assert_eq!(new, old, "`servers.{name}` changed:\n{edited}");
        }
    }
    let server = edit::named_entry(&after, "servers", edit.name());
    match &edit {
        ConfigEdit::Remove { .. } => assert!(server.is_none(), "it is still there:\n{edited}"),
        ConfigEdit::Set { key, value, .. } => {
            let found = server.and_then(|server| server.get(key));
            assert_eq!(found, value.as_ref(), "`{key}` of:\n{edited}");
        }
        _ => assert!(server.is_some(), "it is not there:\n{edited}"),
    }
    if matches!(edit, ConfigEdit::Add { .. }) {
        let mut lines = edited.lines().map(str::trim);
        for comment in text.lines().map(str::trim).filter(|line| line.starts_with('#')) {
            assert!(lines.any(|line| line == comment), "lost {comment:?}:\n{edited}");
        }
    }
}

fn edit_of(line: &str) -> Option<ConfigEdit> {
    let mut words = line.splitn(4, ' ');
    let verb = words.next()?;
    let name = words.next()?.to_owned();
    let key = words.next().unwrap_or_default().to_owned();
    let server = || Map::from_iter([("command".to_owned(), json!(["echo", key.clone()]))]);
    match verb {
        "add" => Some(ConfigEdit::Add { server: server(), name }),
        "remove" => Some(ConfigEdit::Remove { name }),
        "set" => {
            let value = words.next().unwrap_or_default();
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            Some(ConfigEdit::Set { section: "servers", name, key, value: Some(value) })
        }
        "unset" => Some(ConfigEdit::Set { section: "servers", name, key, value: None }),
        _ => None,
    }
}

/// What a variable brings in is never looked at again.
pub(crate) fn interpolation(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    let expanded = fuzzing::expand(text, &EchoEnvironment);
    if !text.contains("${") {
        assert_eq!(expanded.as_deref(), Ok(text));
        return;
    }
    let Ok(expanded) = expanded else { return };
    // Each variable stands for itself there, so that only defaults and escapes change anything.
    assert!(expanded.len() <= text.len(), "{expanded:?} is longer than {text:?}");
    if !text.contains("$$") && !text.contains(":-") {
        assert_eq!(expanded, text);
    }
    for (name, _) in config::references(text) {
        assert!(config::is_variable(name));
    }
}

/// The first byte chooses the form. Lines become entries that can be stored, in the order of the file.
pub(crate) fn transcripts(data: &[u8]) {
    let Some((form, text)) = data.split_first() else { return };
    let form = match form % 3 {
        0 => TranscriptFormat::Text,
        1 => TranscriptFormat::Json,
        _ => TranscriptFormat::Captions,
    };
    let Some(text) = crate::text(text) else { return };
    let Ok(transcript) = transcript::read(form, text) else { return };
    assert!(!transcript.lines.is_empty(), "an empty transcript is refused");
    let began = transcript.date.unwrap_or(UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    let lines = transcript.lines("session", began);
    assert_eq!(lines.len(), transcript.lines.len());
    let total: usize =
        transcript.lines.iter().map(|transcript_line| transcript_line.text.len()).sum();
    assert!(total <= 4 * text.len(), "{total} bytes were said in {}", text.len());
    for (_, line) in lines {
        let at = line["at"].as_str().expect("a date");
        assert!(tollgate_core::date::parse(at).is_some(), "{at}");
    }
}
