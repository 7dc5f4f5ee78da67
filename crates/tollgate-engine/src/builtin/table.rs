//! The built-in servers that ship: one line each.

use std::sync::Arc;

use super::dice::tables::Tables;
use super::rules::book::Book;
use super::{Server, dice, files, images, memory, rules, web};
use crate::memory::Mind;
use crate::settings::Builtin;

/// Reads the user's tables; a file that cannot be used is left out with a warning. Without a mind
/// there are no tools for it.
pub fn servers(settings: &Builtin, mind: Option<&Arc<Mind>>) -> Vec<Server> {
    let folder = files::folder(&settings.files);
    let mut servers = vec![
        Server { name: "dice", tools: dice::tools(tables(settings), &dice::thread_random()) },
        Server { name: "files", tools: files::tools(&folder) },
        Server { name: "rules", tools: rules::tools(&book(settings)) },
    ];
    if let Some(mind) = mind {
        servers.push(Server { name: "memory", tools: memory::tools(mind) });
        servers.push(Server { name: "sessions", tools: memory::session_tools(mind) });
    }
    if let Some(settings) = &settings.web {
        servers.push(Server { name: "web", tools: web::tools(settings) });
    }
    if let Some(settings) = &settings.images {
        servers.push(Server { name: "images", tools: images::tools(settings, folder) });
    }
    servers
}

fn tables(settings: &Builtin) -> Tables {
    let Some(directory) = &settings.tables else { return Tables::shipped() };
    let (tables, broken) = Tables::with_directory(directory);
    for broken in broken {
        tracing::warn!(path = %broken.path.display(), "{broken}");
    }
    tables
}

fn book(settings: &Builtin) -> Arc<Book> {
    let Some(directory) = &settings.rules else { return Book::shipped() };
    let (book, flaws) = Book::with_directory(directory);
    for flaw in flaws {
        tracing::warn!(path = %flaw.path.display(), "a rule or a rule pack is left out: {flaw}");
    }
    book
}

#[cfg(test)]
mod tests;
