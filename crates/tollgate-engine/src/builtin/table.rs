//! The built-in servers that ship: one line each.

use std::sync::Arc;

use super::dice::tables::Tables;
use super::document::Flaw;
use super::music::library::Library;
use super::music::webhook::Webhook;
use super::rules::book::Book;
use super::{Server, Surroundings, dice, files, images, memory, music, rules, web};
use crate::settings::{Builtin, Music};

/// Reads the user's files; what cannot be used is left out with a warning. Without a mind there are
/// no tools for it, without a library none for music.
pub fn servers(settings: &Builtin, around: &Surroundings) -> Vec<Server> {
    let random = dice::thread_random();
    let folder = files::folder(&settings.files);
    let mut servers = vec![
        Server { name: "dice", tools: dice::tools(told(tables(settings)), &random) },
        Server { name: "files", tools: files::tools(&folder) },
        Server { name: "rules", tools: rules::tools(&told(book(settings))) },
    ];
    if let Some(mind) = &around.mind {
        servers.push(Server { name: "memory", tools: memory::tools(mind) });
        servers.push(Server { name: "sessions", tools: memory::session_tools(mind) });
    }
    if let Some(settings) = &settings.web {
        servers.push(Server { name: "web", tools: web::tools(settings) });
    }
    if let Some(settings) = &settings.images {
        servers.push(Server { name: "images", tools: images::tools(settings, folder) });
    }
    if let Some(settings) = &settings.music {
        servers.push(Server { name: "music", tools: music::tools(stage(settings, around)) });
    }
    servers
}

/// All that would be left out of the user's files.
pub fn flaws(settings: &Builtin) -> Vec<Flaw> {
    let music = settings.music.iter().flat_map(|music| Library::read(&music.library).1);
    tables(settings).1.into_iter().chain(book(settings).1).chain(music).collect()
}

fn tables(settings: &Builtin) -> (Tables, Vec<Flaw>) {
    let shipped = || (Tables::shipped(), Vec::new());
    settings.tables.as_deref().map_or_else(shipped, Tables::with_directory)
}

fn book(settings: &Builtin) -> (Arc<Book>, Vec<Flaw>) {
    let shipped = || (Book::shipped(), Vec::new());
    settings.rules.as_deref().map_or_else(shipped, Book::with_directory)
}

fn stage(settings: &Music, around: &Surroundings) -> music::Stage {
    let webhook = settings.webhook.as_ref().map(|url| Webhook::new(url.reveal())).transpose();
    music::Stage {
        library: told(Library::read(&settings.library)),
        webhook: webhook.unwrap_or_else(|why| {
            tracing::warn!(why, "the webhook of the music is left out");
            None
        }),
        playing: around.playing.clone(),
        notices: around.notices.clone(),
        random: dice::thread_random(),
    }
}

fn told<T>((made, flaws): (T, Vec<Flaw>)) -> T {
    for flaw in flaws {
        tracing::warn!(path = %flaw.path.display(), "left out: {flaw}");
    }
    made
}

#[cfg(test)]
mod tests;
