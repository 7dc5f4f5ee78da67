//! Plain text transcripts: `Speaker: text`. A line without a speaker continues the previous one.
//! After an empty line it belongs to the narrator. Headings and rules (`#`, `---`) are skipped.

use std::time::Duration;

use super::{ImportedTranscript, TranscriptLine, UtteranceTime, clock, date_in};

/// Longer texts are not names.
const MAX_NAME_LEN: usize = 48;
const MAX_NAME_WORDS: usize = 5;
const NARRATOR: &str = "Narrator";

pub(super) fn read(text: &str) -> ImportedTranscript {
    let mut found = ImportedTranscript::default();
    let mut is_new_paragraph = true;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || is_rule(line) {
            is_new_paragraph = true;
            continue;
        }
        if line.starts_with('#') {
            found.date = found.date.or_else(|| date_in(line));
            is_new_paragraph = true;
            continue;
        }
        let (after, rest) = split_timestamp(line);
        let when = after.map_or(UtteranceTime::Next, UtteranceTime::After);
        let render = |speaker: &str, text: &str| TranscriptLine {
            speaker: speaker.to_owned(),
            text: text.to_owned(),
            when,
            line: number,
        };
        match (split_speaker(rest), found.lines.last_mut()) {
            (Some(("Date", when)), None) => found.date = found.date.or_else(|| date_in(when)),
            (Some((speaker, text)), _) => found.lines.push(render(speaker, text)),
            (None, Some(last)) if !is_new_paragraph && after.is_none() => {
                if !last.text.is_empty() {
                    last.text.push(' ');
                }
                last.text.push_str(rest);
            }
            (None, _) => found.lines.push(render(NARRATOR, rest)),
        }
        is_new_paragraph = false;
    }
    found.lines.retain(|render| !render.text.is_empty());
    found
}

/// `---`, `***`, `===`
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && ["-", "*", "=", "_"].iter().any(|sign| line.replace(sign, "").is_empty())
}

/// `[00:12:30] Mira: …`, and the rest of the line.
fn split_timestamp(line: &str) -> (Option<Duration>, &str) {
    let bracketed = [('[', ']'), ('(', ')')].iter().find_map(|(open, close)| {
        let (stamp, rest) = line.strip_prefix(*open)?.split_once(*close)?;
        Some((clock(stamp)?, rest))
    });
    let bare = || {
        let (stamp, rest) = line.split_once(' ')?;
        Some((clock(stamp)?, rest))
    };
    match bracketed.or_else(bare) {
        Some((after, rest)) => (Some(after), rest.trim_start()),
        None => (None, line),
    }
}

/// The speaker and the text. `None`: a line that merely contains a colon.
pub(super) fn split_speaker(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.split_once(':')?;
    // Markdown: `**Mira:** …` and `**Mira**: …`.
    let bare = name.trim_matches(['*', '_']).trim();
    let is_name = !bare.is_empty()
        && bare.chars().count() <= MAX_NAME_LEN
        && bare.split_whitespace().count() <= MAX_NAME_WORDS
        && bare.starts_with(char::is_alphanumeric)
        && !bare.contains(['.', '!', '?', ',', ';', '"', '“'])
        && !text.starts_with("//");
    let text = text.trim_start();
    let text = if name.starts_with("**") { text.trim_start_matches('*') } else { text };
    is_name.then(|| (bare, text.trim()))
}
