//! Chunking: splits a transcript into passages that are long enough for semantic search and short
//! enough to be read at once. Consecutive passages overlap, so that nothing is lost at a boundary.

use super::sentences::{one_line, sentences};
use super::{FactSource, NewFact, TranscriptEntry};

/// Maximum characters of a passage.
const MAX_PASSAGE_CHARS: usize = 900;
/// Longer entries are not repeated in the overlap.
const MAX_REPEATED_CHARS: usize = 300;
/// Maximum characters of a name.
const MAX_NAME_CHARS: usize = 64;

/// `entries` are in order; a passage never spans two sessions.
pub fn passages(entries: &[TranscriptEntry]) -> Vec<NewFact> {
    let sessions = entries.chunk_by(|one, two| one.session == two.session);
    sessions.flat_map(of_session).collect()
}

fn of_session(entries: &[TranscriptEntry]) -> Vec<NewFact> {
    let mut passages = Vec::new();
    let mut open: Vec<SpeakerLine<'_>> = Vec::new();
    for entry in entries {
        let speaker: String = one_line(&entry.speaker).chars().take(MAX_NAME_CHARS).collect();
        let line = SpeakerLine::new(entry, format!("{speaker}: {}", one_line(&entry.text)));
        if line.length > MAX_PASSAGE_CHARS {
            passages.extend(passage(&open));
            open.clear();
            passages.extend(
                cut(&line, &speaker).iter().filter_map(|it| passage(std::slice::from_ref(it))),
            );
            continue;
        }
        if length(&open) + 1 + line.length > MAX_PASSAGE_CHARS {
            passages.extend(passage(&open));
            let last = open.pop().filter(|it| it.length <= MAX_REPEATED_CHARS);
            let fits = |it: &SpeakerLine<'_>| it.length + 1 + line.length <= MAX_PASSAGE_CHARS;
            open = last.filter(fits).into_iter().collect();
        }
        open.push(line);
    }
    passages.extend(passage(&open));
    passages
}

/// One utterance of a speaker.
struct SpeakerLine<'e> {
    entry: &'e TranscriptEntry,
    text: String,
    /// In characters.
    length: usize,
}

impl<'e> SpeakerLine<'e> {
    fn new(entry: &'e TranscriptEntry, text: String) -> Self {
        let length = text.chars().count();
        Self { entry, text, length }
    }
}

fn length(lines: &[SpeakerLine<'_>]) -> usize {
    lines.iter().map(|it| it.length + 1).sum::<usize>().saturating_sub(1)
}

fn passage(lines: &[SpeakerLine<'_>]) -> Option<NewFact> {
    let first = lines.first()?;
    let last = lines.last()?;
    let texts: Vec<&str> = lines.iter().map(|it| it.text.as_str()).collect();
    Some(NewFact {
        text: texts.join("\n"),
        at: last.entry.at,
        source: FactSource::Transcript { first: first.entry.id, last: last.entry.id },
        session: Some(first.entry.session.clone()),
        entity: None,
        topic: None,
    })
}

/// Splits an utterance that is too long: between sentences, else between words, else anywhere.
fn cut<'e>(line: &SpeakerLine<'e>, speaker: &str) -> Vec<SpeakerLine<'e>> {
    let message = &line.text[speaker.len() + 2..];
    let room = MAX_PASSAGE_CHARS - speaker.chars().count() - 2;
    let mut ends: Vec<usize> = Vec::new();
    let mut from = 0;
    let mut used = 0;
    for part in sentences(message).into_iter().flat_map(|it| pieces(message, it, room)) {
        let length = message[from..part].chars().count();
        if length > room {
            ends.push(used);
            from = used;
        }
        used = part;
    }
    ends.push(used);
    let mut from = 0;
    let mut piece = |end: usize| {
        let text = format!("{speaker}: {}", message[from..end].trim());
        from = end;
        SpeakerLine::new(line.entry, text)
    };
    ends.into_iter().map(&mut piece).collect()
}

/// The possible ends of pieces: at the end of the sentence, and where it has to be split.
fn pieces(text: &str, sentence: std::ops::Range<usize>, room: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut from = sentence.start;
    while let Some((over, _)) = text[from..sentence.end].char_indices().nth(room) {
        let space = text[from..from + over].rfind(' ').filter(|it| *it > over / 2);
        from += space.unwrap_or(over);
        ends.push(from);
    }
    ends.push(sentence.end);
    ends
}

#[cfg(test)]
mod tests;
