//! The built-in servers that ship: one line each.

use super::dice::tables::Tables;
use super::{Server, dice, files};
use crate::settings::Builtin;

/// Reads the user's tables; a file that cannot be used is left out with a warning.
pub fn servers(settings: &Builtin) -> Vec<Server> {
    vec![
        Server { name: "dice", tools: dice::tools(tables(settings), &dice::thread_random()) },
        Server { name: "files", tools: files::tools(&settings.files) },
    ]
}

fn tables(settings: &Builtin) -> Tables {
    let Some(directory) = &settings.tables else { return Tables::shipped() };
    let (tables, broken) = Tables::with_directory(directory);
    for broken in broken {
        tracing::warn!(path = %broken.path.display(), "{broken}");
    }
    tables
}

#[cfg(test)]
mod tests;
