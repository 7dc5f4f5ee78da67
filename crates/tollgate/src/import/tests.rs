//! What comes out of files of other programs, good and bad.

mod hostile;
mod lines;
mod samples;
mod secrets;

use serde_json::{Map, Value, json};

use super::{Asked, Imported, Secrets, Unreadable, read};

fn asked() -> Asked<'static> {
    Asked { name: None, file: None, client: None, secrets: Secrets::InTheEnvironment, given: &[] }
}

fn imported(text: &str) -> Imported {
    read(text, &asked()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn refused(text: &str) -> Unreadable {
    match read(text, &asked()) {
        Ok(imported) => panic!("{imported:?}"),
        Err(error) => error,
    }
}

/// Servers by name.
fn servers(imported: &Imported) -> Value {
    let servers = imported.servers.iter().map(|it| (it.name.clone(), json!(it.keys)));
    Value::Object(servers.collect::<Map<String, Value>>())
}

/// `what: why`, one on each line.
fn dropped(imported: &Imported) -> String {
    let lines = imported.dropped.iter().map(|it| format!("{}: {}\n", it.what, it.why));
    lines.collect()
}
