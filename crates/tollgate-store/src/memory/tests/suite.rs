//! What holds for the memory whatever the database: `holds_for!` makes a test of each sentence, with
//! a fresh database.

use std::any::Any;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use tollgate_core::id::AgentId;
use tollgate_core::memory::{
    Audience, AuthorTrust, EntityId, EntryId, FactId, MemoryAuthor, MemoryScope, MemoryTarget,
    Namespace, NewEntity, NewEntry, NewFact, NewRelation, Provenance, SessionId, TranscriptEntry,
};

use crate::memory::{
    EmbeddingVector, MemoryError, MemoryItem, MemorySearch, MemoryStore, Page, TranscriptPage,
};

pub(crate) mod bad_input;
pub(crate) mod facts;
pub(crate) mod forgetting;
pub(crate) mod graph;
pub(crate) mod ranking;
pub(crate) mod records;
pub(crate) mod scopes;
pub(crate) mod transcripts;

/// A database with nothing in it, and what it needs as long as it is there.
pub(crate) struct Fresh {
    pub(crate) memory: MemoryStore,
    _guard: Box<dyn Any + Send>,
}

impl Fresh {
    pub(crate) fn new(memory: MemoryStore, kept: impl Any + Send) -> Self {
        Self { memory, _guard: Box::new(kept) }
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
                one_session_can_be_searched_alone
                what_was_said_before_and_after_is_of_the_same_session
                history_tells_where_it_was_said
                summaries_belong_to_sessions_that_are_there
                every_script_is_found
                what_is_no_passage_yet_is_unread
            ]
            ranking: [
                all_words_go_before_some_and_rare_ones_before_common
                of_the_same_words_the_newer_go_first
                common_words_are_found_among_very_many
                words_that_are_all_common_are_found_together
                who_speaks_often_hides_nothing_that_is_said_of_him
            ]
            facts: [
                a_fact_is_found_with_all_that_is_known_of_it
                the_same_words_are_kept_once_and_become_newer
                passages_are_the_same_only_where_they_stand
                facts_are_found_by_their_meaning
                vectors_of_other_models_and_lengths_are_apart
                facts_without_a_vector_are_told_until_they_have_one
                words_and_meaning_are_found_together
                without_a_vector_what_was_said_counts_too
                facts_about_an_entity_are_listed_the_newest_first
            ]
            graph: [
                entities_are_replaced_by_their_id
                names_are_found_the_same_then_beginning_then_by_words
                names_that_many_have_are_all_found
                names_that_are_misspelt_or_misheard_are_found
                a_close_name_is_found_among_very_many
                kinds_narrow_what_is_found
                a_snapshot_has_the_surest_links_first
                cycles_and_relations_to_itself_are_fine
                relations_need_both_ends
                relations_are_listed
            ]
            scopes: [
                s_32_nothing_of_a_tenant_is_found_by_another
                s_32_facts_and_entities_stay_with_their_tenant
                s_32_what_one_author_wrote_goes_at_once
                what_is_an_agents_own_goes_before_what_is_shared
            ]
            forgetting: [
                a_session_goes_with_its_passages
                facts_entities_and_relations_go_one_by_one
                old_entries_and_passages_go
                everything_goes_and_nothing_of_others
                much_is_forgotten_at_once
                vectors_go_with_their_facts
            ]
            bad_input: [
                b_me_1_no_query_is_syntax
                b_me_2_as_many_hits_as_there_may_be
                b_me_3_ids_are_only_ever_themselves
                b_me_4_texts_come_back_as_they_were
                b_me_4_what_is_too_much_is_refused
                b_me_5_many_writers_lose_nothing
                nothing_at_all_is_fine
                moments_far_away_are_kept
            ]
            records: [
                all_that_is_kept_can_be_moved
                a_second_import_changes_nothing
                only_what_a_scope_sees_is_exported
                many_entries_are_exported_in_parts
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

/// What it comes to once the machine has the time for it: a busy one lets calls end that kept nothing.
pub(crate) async fn patiently<T, F>(mut ask: impl FnMut() -> F) -> Result<T, MemoryError>
where
    F: Future<Output = Result<T, MemoryError>>,
{
    for _ in 0..30 {
        match ask().await {
            Err(MemoryError::Slow(_)) => {}
            Err(MemoryError::Away(why)) if why.contains("did not answer") => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            ended => return ended,
        }
    }
    panic!("it never had the time for an answer");
}

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

pub(crate) fn author(name: &str) -> MemoryAuthor {
    MemoryAuthor { name: name.to_owned(), via: "chat".to_owned(), trust: AuthorTrust::Conversation }
}

/// `waterdeep` is shared there, `waterdeep:sage` is the sage's own.
pub(crate) fn place(text: &str) -> MemoryTarget {
    let (name, owner) = text.split_once(':').unwrap_or((text, ""));
    let audience = if owner.is_empty() { Audience::Shared } else { Audience::Only(agent(owner)) };
    MemoryTarget { namespace: namespace(name), audience, author: author("alice") }
}

pub(crate) fn by(name: &str, place: MemoryTarget) -> MemoryTarget {
    MemoryTarget { author: author(name), ..place }
}

/// `waterdeep` as the operator sees it, `waterdeep:sage` as the sage does.
pub(crate) fn scope(text: &str) -> MemoryScope {
    match text.split_once(':') {
        None => MemoryScope::of_operator(namespace(text)),
        Some((name, owner)) => MemoryScope::of_agent(namespace(name), agent(owner)),
    }
}

pub(crate) fn session(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

/// `one | Elara: the dragon sleeps`: in which session, who, and what.
pub(crate) fn entry(text: &str, seconds: u64) -> NewEntry {
    let (name, message) = text.split_once(" | ").unwrap_or(("one", text));
    let (speaker, message) = message.split_once(": ").unwrap_or(("Elara", message));
    NewEntry::new(session(name), speaker, message, at(seconds)).unwrap()
}

/// Appends these, a second apart.
pub(crate) async fn say(
    memory: &MemoryStore,
    place: &MemoryTarget,
    texts: &[&str],
) -> Vec<EntryId> {
    let entries = texts.iter().zip(0..).map(|(text, seconds)| entry(text, seconds));
    let entries: Vec<NewEntry> = entries.collect();
    patiently(|| memory.append(place, entries.clone())).await.unwrap()
}

pub(crate) fn search(query: &str) -> MemorySearch<'_> {
    MemorySearch { query, session: None, most: 10, now: at(1_000) }
}

/// The texts of what was found, the best first.
pub(crate) async fn found(memory: &MemoryStore, eyes: &str, query: &str) -> Vec<String> {
    let eyes = scope(eyes);
    let search = search(query);
    let hits = patiently(|| memory.search_entries(&eyes, &search)).await.unwrap();
    hits.into_iter().map(|hit| hit.found.text).collect()
}

pub(crate) fn texts(entries: &[TranscriptEntry]) -> Vec<&str> {
    entries.iter().map(|entry| &*entry.text).collect()
}

pub(crate) fn fact(text: &str, seconds: u64) -> NewFact {
    NewFact::from_statement(text, at(seconds)).unwrap()
}

/// Remembers these, a second apart.
pub(crate) async fn remember(
    memory: &MemoryStore,
    place: &MemoryTarget,
    texts: &[&str],
) -> Vec<FactId> {
    let facts = texts.iter().zip(0..).map(|(text, seconds)| fact(text, seconds));
    let facts: Vec<NewFact> = facts.collect();
    patiently(|| memory.remember(place, facts.clone())).await.unwrap()
}

/// The facts and entries that were found, the best first.
pub(crate) async fn known(
    memory: &MemoryStore,
    eyes: &str,
    query: &str,
    vector: Option<&EmbeddingVector>,
) -> Vec<String> {
    let eyes = scope(eyes);
    let search = search(query);
    let hits = patiently(|| memory.search_facts(&eyes, &search, vector)).await.unwrap();
    let text = |known| match known {
        MemoryItem::Fact(fact) => fact.text,
        MemoryItem::Utterance(entry) => entry.text,
    };
    hits.into_iter().map(|hit| text(hit.found)).collect()
}

pub(crate) fn vector(model: &str, numbers: &[f32]) -> EmbeddingVector {
    EmbeddingVector { model: model.to_owned(), numbers: numbers.to_vec() }
}

pub(crate) fn id(text: &str) -> EntityId {
    EntityId::parse(text).unwrap()
}

/// `npc-elara: Elara of the Vale`, where the kind is what stands before the `-`.
pub(crate) fn entity(text: &str) -> NewEntity {
    let (key, name) = text.split_once(": ").unwrap();
    let (kind, _) = key.split_once('-').unwrap_or((key, ""));
    NewEntity::new(id(key), kind, name, at(0)).unwrap()
}

pub(crate) async fn put(memory: &MemoryStore, place: &MemoryTarget, entities: &[&str]) {
    let entities: Vec<NewEntity> = entities.iter().map(|it| entity(it)).collect();
    patiently(|| memory.put_entities(place, entities.clone())).await.unwrap();
}

/// `npc-elara knows npc-tom 0.5`
pub(crate) fn relation(text: &str) -> NewRelation {
    let words: Vec<&str> = text.split(' ').collect();
    let confidence = words.get(3).map_or(1.0, |it| it.parse().unwrap());
    let made = NewRelation::new(id(words[0]), words[1], id(words[2]), at(0)).unwrap();
    made.with_provenance(Provenance { session: Some(session("one")), confidence }).unwrap()
}

pub(crate) async fn relate(memory: &MemoryStore, place: &MemoryTarget, relations: &[&str]) {
    let relations: Vec<NewRelation> = relations.iter().map(|it| relation(it)).collect();
    patiently(|| memory.relate(place, relations.clone())).await.unwrap();
}

pub(crate) fn attributes(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).unwrap()
}

pub(crate) const ALL: Page = Page { skip: 0, most: 100 };
pub(crate) const WHOLE: TranscriptPage = TranscriptPage { after: None, most: 1_000 };
