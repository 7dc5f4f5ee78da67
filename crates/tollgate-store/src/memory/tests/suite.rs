//! What holds for the memory whatever the database: `holds_for!` makes a test of each sentence, with
//! a fresh database.

use std::any::Any;
use std::time::{Duration, SystemTime};

use tollgate_core::id::AgentId;
use tollgate_core::memory::{
    Audience, Author, Entry, EntryId, Namespace, NewEntry, Place, Scope, SessionId, Trust,
};

use crate::memory::{Memory, Page, Search, Stretch};

pub(crate) mod scopes;
pub(crate) mod transcripts;

/// A database with nothing in it, and what it needs as long as it is there.
pub(crate) struct Fresh {
    pub(crate) memory: Memory,
    _kept: Box<dyn Any + Send>,
}

impl Fresh {
    pub(crate) fn new(memory: Memory, kept: impl Any + Send) -> Self {
        Self { memory, _kept: Box::new(kept) }
    }
}

/// Every sentence of the suite as a test, with the database that `$fresh().await` makes for it.
macro_rules! holds_for {
    ($fresh:path) => {
        $crate::memory::tests::suite::sentences! { $fresh;
            transcripts: [
                what_was_said_is_found_with_all_that_is_known_of_it
                entries_come_in_their_order_and_in_stretches
                sessions_count_what_was_said_in_them
            ]
            scopes: [
                s_32_nothing_of_a_tenant_is_found_by_another
                s_32_what_one_author_wrote_goes_at_once
            ]
        }
    };
}
pub(crate) use holds_for;

macro_rules! sentences {
    ($fresh:path; $($module:ident: [$($sentence:ident)*])*) => {
        $(mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $sentence() {
                let fresh = $fresh().await;
                $crate::memory::tests::suite::$module::$sentence(&fresh.memory).await;
            })*
        })*
    };
}
pub(crate) use sentences;

/// Some moment, so many seconds after the first.
pub(crate) fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

pub(crate) fn namespace(text: &str) -> Namespace {
    Namespace::parse(text).unwrap()
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

pub(crate) fn author(name: &str) -> Author {
    Author { name: name.to_owned(), via: "chat".to_owned(), trust: Trust::Heard }
}

/// `waterdeep` is shared there, `waterdeep:sage` is the sage's own.
pub(crate) fn place(text: &str) -> Place {
    let (name, owner) = text.split_once(':').unwrap_or((text, ""));
    let audience = if owner.is_empty() { Audience::Shared } else { Audience::Only(agent(owner)) };
    Place { namespace: namespace(name), audience, author: author("alice") }
}

pub(crate) fn by(name: &str, place: Place) -> Place {
    Place { author: author(name), ..place }
}

/// `waterdeep` as the operator sees it, `waterdeep:sage` as the sage does.
pub(crate) fn scope(text: &str) -> Scope {
    match text.split_once(':') {
        None => Scope::of_operator(namespace(text)),
        Some((name, owner)) => Scope::of_agent(namespace(name), agent(owner)),
    }
}

pub(crate) fn session(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

/// `one | Elara: the dragon sleeps`: in which session, who, and what.
pub(crate) fn entry(text: &str, seconds: u64) -> NewEntry {
    let (name, said) = text.split_once(" | ").unwrap_or(("one", text));
    let (speaker, said) = said.split_once(": ").unwrap_or(("Elara", said));
    NewEntry::new(session(name), speaker, said, at(seconds)).unwrap()
}

/// Appends these, a second apart.
pub(crate) async fn say(memory: &Memory, place: &Place, texts: &[&str]) -> Vec<EntryId> {
    let entries = texts.iter().zip(0..).map(|(text, seconds)| entry(text, seconds)).collect();
    memory.append(place, entries).await.unwrap()
}

pub(crate) fn search(query: &str) -> Search<'_> {
    Search { query, session: None, most: 10, now: at(1_000) }
}

/// The texts of what was found, the best first.
pub(crate) async fn found(memory: &Memory, eyes: &str, query: &str) -> Vec<String> {
    let hits = memory.search_entries(&scope(eyes), &search(query)).await.unwrap();
    hits.into_iter().map(|hit| hit.found.text).collect()
}

pub(crate) fn texts(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| &*entry.text).collect()
}

pub(crate) const ALL: Page = Page { skip: 0, most: 100 };
pub(crate) const WHOLE: Stretch = Stretch { after: None, most: 1_000 };
