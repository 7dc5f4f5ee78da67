//! What the caller has heard of the agent. Twilio holds audio that is not played yet; marks say how
//! far it is, and `clear` drops the rest.

use std::collections::VecDeque;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::frames;

/// Bytes of µ-law audio in a millisecond.
const BYTES_PER_MS: u64 = 8;
/// Longest audio between two marks, 200 ms: the exactness of what was heard.
const MAX_CHUNK_BYTES: usize = 1_600;
/// Marks that are on their way. Beyond it the position is counted in larger steps.
const MAX_PENDING_MARKS: usize = 4_096;
/// Interrupted items whose further audio is dropped.
const MAX_CUT_ITEMS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Playback {
    /// Whether Twilio may hold audio.
    has_sent: bool,
    pending: VecDeque<PendingMark>,
    marks: u64,
    /// The item that was sent last.
    current: Option<PlayedItem>,
    /// The last position that a mark confirmed.
    confirmed: Option<HeardPosition>,
    cut: VecDeque<String>,
}

#[derive(Debug)]
struct PendingMark {
    name: String,
    position: HeardPosition,
}

#[derive(Debug)]
struct PlayedItem {
    item: ItemPart,
    bytes: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct HeardPosition {
    item: ItemPart,
    ms: u64,
}

/// A part of a conversation item that is audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemPart {
    pub(super) id: String,
    pub(super) content_index: u64,
}

/// How much of an item was heard.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Truncation {
    pub(super) item: ItemPart,
    pub(super) audio_end_ms: u64,
}

impl Playback {
    /// The messages to Twilio that play a piece of audio.
    pub(super) fn play(&mut self, stream: &str, item: &ItemPart, audio: &str) -> Vec<String> {
        if self.cut.contains(&item.id) {
            return Vec::new();
        }
        let Ok(bytes) = STANDARD.decode(audio) else {
            tracing::debug!("audio of a provider is not base64");
            return Vec::new();
        };
        let mut messages = Vec::new();
        for chunk in bytes.chunks(MAX_CHUNK_BYTES) {
            let payload = STANDARD.encode(chunk);
            messages.push(frames::media(stream, &payload));
            let position = self.advance(item, chunk.len() as u64);
            if self.pending.len() < MAX_PENDING_MARKS {
                self.marks += 1;
                let name = format!("tg-{}", self.marks);
                messages.push(frames::mark(stream, &name));
                self.pending.push_back(PendingMark { name, position });
            }
            self.has_sent = true;
        }
        messages
    }

    fn advance(&mut self, item: &ItemPart, bytes: u64) -> HeardPosition {
        let is_same = self.current.as_ref().is_some_and(|current| current.item == *item);
        let before = self.current.as_ref().filter(|_| is_same).map_or(0, |current| current.bytes);
        let bytes = before + bytes;
        self.current = Some(PlayedItem { item: item.clone(), bytes });
        HeardPosition { item: item.clone(), ms: bytes / BYTES_PER_MS }
    }

    /// Marks of cleared audio come back as well, and are not known any more.
    pub(super) fn on_mark(&mut self, name: &str) {
        let Some(at) = self.pending.iter().position(|mark| mark.name == name) else { return };
        let mut passed = self.pending.drain(..=at);
        self.confirmed = passed.next_back().map(|mark| mark.position);
    }

    /// The caller speaks: what is still to be played is dropped. `None`: nothing was sent.
    pub(super) fn interrupt(&mut self) -> Option<Vec<Truncation>> {
        if !std::mem::take(&mut self.has_sent) {
            return None;
        }
        let mut truncations: Vec<Truncation> = Vec::new();
        for PendingMark { position, .. } in std::mem::take(&mut self.pending) {
            if truncations.iter().any(|known| known.item == position.item) {
                continue;
            }
            let heard = self.confirmed.as_ref().filter(|heard| heard.item == position.item);
            let audio_end_ms = heard.map_or(0, |heard| heard.ms);
            self.drop_rest_of(&position.item);
            truncations.push(Truncation { item: position.item, audio_end_ms });
        }
        // It may go on for a moment, although all of it so far was heard.
        if let Some(PlayedItem { item, .. }) = self.current.take() {
            self.drop_rest_of(&item);
        }
        self.confirmed = None;
        Some(truncations)
    }

    fn drop_rest_of(&mut self, item: &ItemPart) {
        if self.cut.contains(&item.id) {
            return;
        }
        if self.cut.len() == MAX_CUT_ITEMS {
            self.cut.pop_front();
        }
        self.cut.push_back(item.id.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn item(id: &str) -> ItemPart {
        ItemPart { id: id.to_owned(), content_index: 0 }
    }

    /// Plays so many milliseconds. Returns the names of the marks.
    fn play(playback: &mut Playback, id: &str, ms: usize) -> Vec<String> {
        let audio = STANDARD.encode(vec![0xff; ms * 8]);
        let messages = playback.play("MZ1", &item(id), &audio);
        let parsed: Vec<Value> =
            messages.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let payload = |frame: &Value| {
            STANDARD.decode(frame["media"]["payload"].as_str().unwrap_or_default()).unwrap().len()
        };
        assert_eq!(parsed.iter().map(payload).sum::<usize>(), ms * 8, "all of it is sent");
        let marks = parsed.iter().filter_map(|frame| frame["mark"]["name"].as_str());
        marks.map(str::to_owned).collect()
    }

    fn cut(id: &str, audio_end_ms: u64) -> Truncation {
        Truncation { item: item(id), audio_end_ms }
    }

    #[test]
    fn what_was_heard_is_counted_by_marks() {
        let mut playback = Playback::default();
        assert_eq!(playback.interrupt(), None, "nothing was sent");
        let marks = play(&mut playback, "a", 1_000);
        assert_eq!(marks.len(), 5);
        playback.on_mark(&marks[0]);
        playback.on_mark(&marks[2]);
        playback.on_mark(&marks[1]);
        playback.on_mark("of somebody else");
        assert_eq!(playback.interrupt(), Some(vec![cut("a", 600)]));
        assert_eq!(playback.interrupt(), None, "it is cleared already");
    }

    #[test]
    fn marks_of_cleared_audio_count_for_nothing() {
        let mut playback = Playback::default();
        let old = play(&mut playback, "a", 400);
        playback.interrupt();
        let new = play(&mut playback, "b", 400);
        // Twilio returns the marks of what was cleared.
        old.iter().for_each(|mark| playback.on_mark(mark));
        assert_eq!(playback.interrupt(), Some(vec![cut("b", 0)]));
        new.iter().for_each(|mark| playback.on_mark(mark));
        assert_eq!(playback.interrupt(), None);
    }

    #[test]
    fn what_is_played_is_cleared_even_if_all_of_it_was_generated_long_ago() {
        let mut playback = Playback::default();
        let first = play(&mut playback, "a", 200);
        play(&mut playback, "b", 200);
        play(&mut playback, "b", 200);
        first.iter().for_each(|mark| playback.on_mark(mark));
        assert_eq!(playback.interrupt(), Some(vec![cut("b", 0)]), "a was heard to its end");
    }

    #[test]
    fn audio_of_an_interrupted_item_is_not_played_any_more() {
        let mut playback = Playback::default();
        let marks = play(&mut playback, "a", 200);
        marks.iter().for_each(|mark| playback.on_mark(mark));
        assert_eq!(playback.interrupt(), Some(Vec::new()), "nothing of it was lost");
        assert!(playback.play("MZ1", &item("a"), "////").is_empty());
        assert_eq!(play(&mut playback, "b", 20).len(), 1);
    }

    #[test]
    fn odd_sizes_and_bad_audio_are_no_problem() {
        let mut playback = Playback::default();
        assert!(playback.play("MZ1", &item("a"), "").is_empty());
        assert!(playback.play("MZ1", &item("a"), "no base64").is_empty());
        assert_eq!(playback.interrupt(), None);
        let audio = STANDARD.encode([0xff; 13]);
        assert_eq!(playback.play("MZ1", &item("a"), &audio).len(), 2);
        let audio = STANDARD.encode([0xff; 12]);
        let last = playback.play("MZ1", &item("a"), &audio).pop().unwrap();
        let last: Value = serde_json::from_str(&last).unwrap();
        let more = play(&mut playback, "a", 100);
        playback.on_mark(last["mark"]["name"].as_str().unwrap());
        assert_eq!(playback.interrupt(), Some(vec![cut("a", 3)]), "25 bytes are 3 ms");
        assert_eq!(more.len(), 1);
    }

    #[test]
    fn marks_are_bounded_however_long_the_agent_speaks() {
        let mut playback = Playback::default();
        for _ in 0..2 * MAX_PENDING_MARKS {
            playback.play("MZ1", &item("a"), "////");
        }
        assert_eq!(playback.pending.len(), MAX_PENDING_MARKS);
        for number in 0..100 {
            playback.play("MZ1", &item(&number.to_string()), "////");
            playback.interrupt();
        }
        assert_eq!(playback.cut.len(), MAX_CUT_ITEMS);
    }
}
