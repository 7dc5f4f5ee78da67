//! What comes out of files of other programs, good and bad.

mod hostile;
mod lines;
mod samples;
mod secrets;

use serde_json::{Map, Value, json};

use super::{ImportContext, ImportError, ImportedConfig, SecretPlacement, read};

fn import_context() -> ImportContext<'static> {
    ImportContext {
        name: None,
        file: None,
        client: None,
        secrets: SecretPlacement::InTheEnvironment,
        given: &[],
    }
}

fn import_text(text: &str) -> ImportedConfig {
    read(text, &import_context()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn refusal(text: &str) -> ImportError {
    match read(text, &import_context()) {
        Ok(imported) => panic!("{imported:?}"),
        Err(error) => error,
    }
}

/// Servers by name.
fn servers(imported: &ImportedConfig) -> Value {
    let servers = imported.servers.iter().map(|it| (it.name.clone(), json!(it.keys)));
    Value::Object(servers.collect::<Map<String, Value>>())
}

/// `what: why`, one on each line.
fn dropped_keys(imported: &ImportedConfig) -> String {
    let lines = imported.dropped.iter().map(|it| format!("{}: {}\n", it.what, it.why));
    lines.collect()
}
