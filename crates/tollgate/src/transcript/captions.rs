//! WebVTT and SRT captions: blocks with a line of times, then the text. `<v Name>` or `Name:` is
//! the speaker.

use super::text::split_speaker;
use super::{ImportedTranscript, TranscriptError, TranscriptLine, UtteranceTime, clock, date_in};

const SOMEBODY: &str = "Speaker";

pub(super) fn read(text: &str) -> Result<ImportedTranscript, TranscriptError> {
    let mut found = ImportedTranscript::default();
    let mut block: Vec<(u64, &str)> = Vec::new();
    for (line, number) in text.lines().chain([""]).zip(1..) {
        if !line.trim().is_empty() {
            block.push((number, line.trim()));
            continue;
        }
        let lines = std::mem::take(&mut block);
        match cue(&lines)? {
            Some(transcript_line) => found.lines.push(transcript_line),
            None => {
                let head = lines.iter().map(|(_, line)| *line);
                found.date = found.date.or_else(|| head.into_iter().find_map(date_in));
            }
        }
    }
    Ok(found)
}

/// `None`: a heading, a note or a style.
fn cue(lines: &[(u64, &str)]) -> Result<Option<TranscriptLine>, TranscriptError> {
    let Some(at) = lines.iter().take(2).position(|(_, line)| line.contains("-->")) else {
        return Ok(None);
    };
    let (line, times) = lines[at];
    let start = times.split("-->").next().unwrap_or_default().trim();
    let after = clock(start).ok_or_else(|| TranscriptError {
        line: Some(line),
        why: format!("`{start}` is not a time like 00:01:02.500"),
    })?;
    let text: Vec<&str> = lines[at + 1..].iter().map(|(_, line)| *line).collect();
    let text = text.join(" ");
    let voice = voice(&text);
    let plain = strip_markup(&text);
    let (speaker, text) = match (voice, split_speaker(&plain)) {
        (Some(voice), _) => (voice, plain.as_str()),
        (None, Some((speaker, text))) => (speaker, text),
        (None, None) => (SOMEBODY, plain.as_str()),
    };
    let transcript_line = TranscriptLine {
        speaker: speaker.to_owned(),
        text: text.to_owned(),
        when: UtteranceTime::After(after),
        line,
    };
    Ok((!transcript_line.text.is_empty()).then_some(transcript_line))
}

/// `<v Mira>` or `<v.loud Mira>`
fn voice(text: &str) -> Option<&str> {
    let tag = text.split_once("<v")?.1.split_once('>')?.0;
    let name = tag.split_once(char::is_whitespace)?.1.trim();
    (!name.is_empty()).then_some(name)
}

/// Without tags, and with entities decoded.
fn strip_markup(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        let Some((_, after)) = tag.split_once('>') else {
            plain.push('<');
            rest = tag;
            continue;
        };
        rest = after;
    }
    plain.push_str(rest);
    let spelt = [("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", " "), ("&quot;", "\""), ("&amp;", "&")];
    spelt.iter().fold(plain, |text, (from, to)| text.replace(from, to)).trim().to_owned()
}
