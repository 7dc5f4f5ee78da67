//! The tracks of a library file, and the selection of one for a mood. Reads the file once;
//! randomness is an argument, so tests decide the selection.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_core::relevance::{RelevanceDocument, RelevanceIndex, RelevanceQuery};

use super::moods;
use crate::builtin::dice::DiceRandom;
use crate::builtin::document::{self, DocumentError, DocumentLineError, DocumentNode};

const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
const MAX_TRACKS: usize = 10_000;
const MAX_TITLE_BYTES: usize = 200;
const MAX_LOCATION_BYTES: usize = 2_000;
const MAX_MOOD_BYTES: usize = 64;
const MAX_MOODS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    pub title: String,
    pub place: TrackLocation,
    /// In lower case.
    pub moods: Vec<String>,
    pub seconds: Option<u32>,
}

/// Where a player finds the track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrackLocation {
    /// A path of the player's, exactly as in the library.
    File(String),
    Url(String),
}

impl Track {
    pub(super) fn as_json(&self) -> Value {
        let (key, place) = match &self.place {
            TrackLocation::File(place) => ("file", place),
            TrackLocation::Url(place) => ("url", place),
        };
        let mut json = json!({ "title": self.title, key: place, "moods": self.moods });
        if let Some(seconds) = self.seconds {
            json["length_s"] = json!(seconds);
        }
        json
    }
}

/// Invariant: at least one track. The index has the moods in the same order.
#[derive(Debug)]
pub struct MusicLibrary {
    tracks: Vec<Arc<Track>>,
    moods: Vec<Mood>,
    index: RelevanceIndex,
}

#[derive(Debug)]
struct Mood {
    name: String,
    /// Synonyms of the mood.
    also: Vec<String>,
}

/// A library without a track that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the music library is invalid: {0}")]
pub struct MusicLibraryError(String);

impl MusicLibrary {
    /// Invalid tracks are reported and skipped; `Err` if no track is left.
    pub fn read(path: &Path) -> (Result<Self, MusicLibraryError>, Vec<DocumentError>) {
        let read = document::read(path, MAX_FILE_BYTES).and_then(|node| library(&node));
        match read {
            Ok((library, wrong)) => {
                (Ok(library), wrong.into_iter().map(|wrong| wrong.of(path)).collect())
            }
            Err(wrong) => {
                let flaw = wrong.of(path);
                (Err(MusicLibraryError(flaw.to_string())), vec![flaw])
            }
        }
    }

    pub fn moods(&self) -> impl Iterator<Item = &str> {
        self.moods.iter().map(|mood| mood.name.as_str())
    }

    /// A track for a mood, and the mood of the library that matched. Not the last track again, if
    /// there is another.
    pub(super) fn pick(
        &self,
        requested: &str,
        last: Option<&Track>,
        random: &DiceRandom,
    ) -> Option<(Arc<Track>, String)> {
        let query = self.index.correct_spelling(&RelevanceQuery::new(requested));
        let meant: Vec<&Mood> =
            self.index.best(&query, self.moods.len()).iter().map(|at| &self.moods[*at]).collect();
        let named: Vec<&Mood> =
            meant.iter().copied().filter(|mood| mood.is_named(&query)).collect();
        let expected = if named.is_empty() { meant } else { named };
        let fits = |track: &Arc<Track>| {
            expected.iter().filter(|mood| track.moods.contains(&mood.name)).count()
        };
        let most = self.tracks.iter().map(fits).max().filter(|most| *most > 0)?;
        let mut fitting: Vec<&Arc<Track>> =
            self.tracks.iter().filter(|track| fits(track) == most).collect();
        // Among tracks that match equally, prefer those with the best matching mood.
        if let Some(mood) = expected.iter().find(|mood| fitting.iter().any(|it| it.has(mood))) {
            fitting.retain(|track| track.has(mood));
        }
        if fitting.len() > 1 {
            fitting.retain(|track| Some(&***track) != last);
        }
        let sides = u32::try_from(fitting.len()).unwrap_or(u32::MAX);
        let track = fitting[random(sides) as usize - 1];
        let mood = expected.iter().find(|mood| track.has(mood))?;
        Some((Arc::clone(track), mood.name.clone()))
    }
}

impl Track {
    fn has(&self, mood: &Mood) -> bool {
        self.moods.contains(&mood.name)
    }
}

impl Mood {
    fn is_named(&self, query: &RelevanceQuery) -> bool {
        query.names(&self.name) > 0 || self.also.iter().any(|word| query.names(word) > 0)
    }
}

fn library(
    node: &DocumentNode,
) -> Result<(MusicLibrary, Vec<DocumentLineError>), DocumentLineError> {
    let fields = node.fields(&["tracks", "moods"])?;
    let mut tracks = Vec::new();
    let mut wrong = Vec::new();
    for node in fields.list("tracks")? {
        match track(node) {
            Ok(_) if tracks.len() == MAX_TRACKS => {
                wrong.push(DocumentLineError::at(
                    node.line,
                    format!("the limit is {MAX_TRACKS} tracks"),
                ));
                break;
            }
            Ok(track) => tracks.push(Arc::new(track)),
            Err(found) => wrong.push(found),
        }
    }
    if tracks.is_empty() {
        let none = DocumentLineError::at(fields.line, "it has no `tracks`");
        return Err(wrong.into_iter().next().unwrap_or(none));
    }
    let mut also = usual_words(&tracks);
    if let Some(node) = fields.get("moods") {
        for (mood, words) in node.entries("moods")? {
            match also.get_mut(&mood.trim().to_lowercase()) {
                Some(known) => known.extend(words_of(words, mood)?),
                None => {
                    let problem =
                        format!("no track has the mood `{}`", document::quote_excerpt(mood));
                    wrong.push(DocumentLineError::at(words.line, problem));
                }
            }
        }
    }
    let moods: Vec<Mood> = also.into_iter().map(|(name, also)| Mood { name, also }).collect();
    let titles: Vec<String> = moods.iter().map(|mood| mood.also.join(" ")).collect();
    let index =
        RelevanceIndex::new(moods.iter().zip(&titles).map(|(mood, also)| RelevanceDocument {
            name: &mood.name,
            title: Some(also),
            description: None,
            parameters: None,
        }));
    Ok((MusicLibrary { tracks, moods, index }, wrong))
}

/// The moods of all tracks, and their common synonyms.
fn usual_words(tracks: &[Arc<Track>]) -> BTreeMap<String, Vec<String>> {
    let moods = tracks.iter().flat_map(|track| &track.moods);
    let words =
        |mood: &String| moods::alike(mood).filter(|word| word != mood).map(str::to_owned).collect();
    moods.map(|mood| (mood.clone(), words(mood))).collect()
}

fn track(node: &DocumentNode) -> Result<Track, DocumentLineError> {
    let fields = node.fields(&["title", "file", "url", "moods", "length_s"])?;
    let file = fields.text("file", MAX_LOCATION_BYTES)?;
    let url = fields.text("url", MAX_LOCATION_BYTES)?;
    let place = match (file, url) {
        (Some(file), None) => TrackLocation::File(file.to_owned()),
        (None, Some(url)) if ["http://", "https://"].iter().any(|it| url.starts_with(it)) => {
            TrackLocation::Url(url.to_owned())
        }
        (None, Some(_)) => {
            return Err(DocumentLineError::at(
                node.line,
                "`url` must begin with http:// or https://",
            ));
        }
        _ => return Err(DocumentLineError::at(node.line, "a track has either `file` or `url`")),
    };
    let moods = match fields.get("moods") {
        Some(moods) => words_of(moods, "moods")?,
        None => return Err(DocumentLineError::at(node.line, "`moods` is missing")),
    };
    let seconds = fields.whole("length_s")?;
    Ok(Track {
        title: fields.require_text("title", MAX_TITLE_BYTES)?.to_owned(),
        place,
        moods,
        seconds,
    })
}

/// One word or a list of words, in lower case.
fn words_of(node: &DocumentNode, key: &str) -> Result<Vec<String>, DocumentLineError> {
    let nodes = match &node.data {
        document::DocumentData::Scalar(_) => std::slice::from_ref(node),
        _ => node.list(key)?,
    };
    if nodes.is_empty() || nodes.len() > MAX_MOODS {
        return Err(DocumentLineError::at(
            node.line,
            format!("`{key}` has 1 to {MAX_MOODS} words"),
        ));
    }
    nodes.iter().map(|node| Ok(node.text(key, MAX_MOOD_BYTES)?.to_lowercase())).collect()
}

#[cfg(test)]
mod tests;
