//! The list of built-in servers that ship: one line each.

use std::sync::Arc;

use super::dice::tables::RandomTables;
use super::document::DocumentError;
use super::music::library::MusicLibrary;
use super::music::webhook::Webhook;
use super::rules::book::RuleBook;
use super::{BuiltinDeps, Server, dice, files, images, memory, music, rules, web};
use crate::settings::{BuiltinSettings, MusicSettings};

/// Reads the user's files; what is invalid is skipped with a warning. Without a memory service
/// there are no memory tools; without a library, no music tools.
pub fn servers(settings: &BuiltinSettings, around: &BuiltinDeps) -> Vec<Server> {
    let (tables, flaws) = tables(settings);
    warn_about_flaws(flaws);
    let (book, flaws) = book(settings);
    warn_about_flaws(flaws);
    let random = dice::thread_random();
    let folder = files::folder(&settings.files);
    let mut servers = vec![
        Server { name: "dice", tools: dice::tools(tables, &random) },
        Server { name: "files", tools: files::tools(&folder) },
        Server { name: "rules", tools: rules::tools(&book) },
    ];
    if let Some(memory_service) = &around.memory_service {
        servers.push(Server { name: "memory", tools: memory::tools(memory_service) });
        servers.push(Server { name: "sessions", tools: memory::session_tools(memory_service) });
    }
    if let Some(settings) = &settings.web {
        servers.push(Server { name: "web", tools: web::tools(settings) });
    }
    if let Some(settings) = &settings.images {
        servers
            .push(Server { name: "images", tools: images::tools(settings, folder, &around.links) });
    }
    if let Some(settings) = &settings.music {
        servers
            .push(Server { name: "music", tools: music::tools(music_context(settings, around)) });
    }
    servers
}

/// Everything in the user's files that would be skipped.
pub fn flaws(settings: &BuiltinSettings) -> Vec<DocumentError> {
    let music = settings.music.iter().flat_map(|music| MusicLibrary::read(&music.library).1);
    tables(settings).1.into_iter().chain(book(settings).1).chain(music).collect()
}

fn tables(settings: &BuiltinSettings) -> (RandomTables, Vec<DocumentError>) {
    let shipped = || (RandomTables::builtin(), Vec::new());
    settings.tables.as_deref().map_or_else(shipped, RandomTables::with_directory)
}

fn book(settings: &BuiltinSettings) -> (Arc<RuleBook>, Vec<DocumentError>) {
    let shipped = || (RuleBook::builtin(), Vec::new());
    settings.rules.as_deref().map_or_else(shipped, RuleBook::with_directory)
}

fn music_context(settings: &MusicSettings, around: &BuiltinDeps) -> music::MusicContext {
    let webhook = settings.webhook.as_ref().map(|url| Webhook::new(url.reveal())).transpose();
    let (library, flaws) = MusicLibrary::read(&settings.library);
    warn_about_flaws(flaws);
    music::MusicContext {
        library,
        webhook: webhook.unwrap_or_else(|why| {
            tracing::warn!(%why, "music webhook disabled");
            None
        }),
        playing: around.playing.clone(),
        notices: around.notices.clone(),
        random: dice::thread_random(),
    }
}

fn warn_about_flaws(flaws: Vec<DocumentError>) {
    for flaw in flaws {
        tracing::warn!(path = %flaw.path.display(), "left out: {flaw}");
    }
}

#[cfg(test)]
mod tests;
