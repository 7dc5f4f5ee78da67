//! The client's audio that no other connection has heard: of the running utterance, and of the last
//! one until its words are known or it is answered. Bounded.

use std::collections::VecDeque;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::realtime::audio::LENIENT_BASE64;

/// While the caller is silent: half a second of PCM at 24 kHz.
const MAX_SILENT_BYTES: usize = 24_000;
/// Of an utterance: eight seconds.
const MAX_SPOKEN_BYTES: usize = 384_000;

#[derive(Debug, Default)]
pub(super) struct CallerAudio {
    /// Oldest first. Decoded: base64 takes a third more.
    frames: VecDeque<Box<[u8]>>,
    bytes: usize,
    speech: CallerSpeechState,
    last: Option<LastUtterance>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CallerSpeechState {
    #[default]
    Silent,
    Speaking,
}

#[derive(Debug)]
struct LastUtterance {
    item: String,
    frames: VecDeque<Box<[u8]>>,
}

impl CallerAudio {
    /// Takes base64; the provider refuses anything else. If it does not detect speech, all of it may
    /// be an utterance.
    pub(super) fn push(&mut self, audio: &str, detects_speech: bool) {
        let Ok(frame) = LENIENT_BASE64.decode(audio) else { return };
        self.bytes += frame.len();
        self.frames.push_back(frame.into());
        let is_speech = self.speech == CallerSpeechState::Speaking || !detects_speech;
        let limit = if is_speech { MAX_SPOKEN_BYTES } else { MAX_SILENT_BYTES };
        while self.bytes > limit {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    pub(super) fn start_speech(&mut self) {
        self.speech = CallerSpeechState::Speaking;
    }

    /// Whether an utterance has begun that is no item yet: between its end and its item nobody
    /// speaks.
    pub(super) fn has_utterance(&self) -> bool {
        self.speech == CallerSpeechState::Speaking
    }

    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
        self.speech = CallerSpeechState::Silent;
    }

    /// The utterance is an item of the conversation now.
    pub(super) fn commit(&mut self, item: &str) {
        let frames = std::mem::take(&mut self.frames);
        self.clear();
        self.last = Some(LastUtterance { item: item.to_owned(), frames });
    }

    /// The words of the item are known, or it has been answered.
    pub(super) fn forget_item(&mut self, item: Option<&str>) {
        self.last.take_if(|last| item.is_none_or(|item| item == last.item));
    }

    /// Item and audio of the last utterance, if nothing else tells what was said.
    pub(super) fn last_utterance(&self) -> Option<(&str, String)> {
        let last = self.last.as_ref().filter(|last| !last.frames.is_empty())?;
        let bytes: Vec<u8> = last.frames.iter().flatten().copied().collect();
        Some((&last.item, STANDARD.encode(bytes)))
    }

    /// The audio of the running utterance.
    pub(super) fn running_utterance(&self) -> Vec<u8> {
        self.frames.iter().flatten().copied().collect()
    }

    /// Messages with the running utterance for another connection.
    pub(super) fn replay(&self) -> impl Iterator<Item = String> {
        self.frames.iter().map(|frame| {
            let audio = STANDARD.encode(frame);
            json!({ "type": "input_audio_buffer.append", "audio": audio }).to_string()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CallerAudio, MAX_SILENT_BYTES, MAX_SPOKEN_BYTES};

    fn bytes(heard: &CallerAudio) -> usize {
        heard.frames.iter().map(|frame| frame.len()).sum()
    }

    #[test]
    fn silence_is_kept_short_and_an_utterance_whole_up_to_its_bound() {
        let mut heard = CallerAudio::default();
        let frame = "A".repeat(1_000);
        for _ in 0..100 {
            heard.push(&frame, true);
        }
        assert!(bytes(&heard) <= MAX_SILENT_BYTES);
        heard.start_speech();
        for _ in 0..100 {
            heard.push(&frame, true);
        }
        assert!(bytes(&heard) > 75_000);
        for _ in 0..1_000 {
            heard.push(&frame, true);
        }
        assert!(bytes(&heard) <= MAX_SPOKEN_BYTES);
    }

    #[test]
    fn without_detection_of_speech_all_of_it_may_be_an_utterance() {
        let mut heard = CallerAudio::default();
        for _ in 0..100 {
            heard.push(&"A".repeat(1_000), false);
        }
        assert_eq!(bytes(&heard), 75_000);
    }

    #[test]
    fn audio_without_padding_is_sent_again_as_well() {
        let mut heard = CallerAudio::default();
        heard.push("QQ", true);
        heard.push("not base64", true);
        let again: Vec<String> = heard.replay().collect();
        assert_eq!(again, [r#"{"type":"input_audio_buffer.append","audio":"QQ=="}"#]);
    }

    #[test]
    fn the_last_utterance_is_kept_until_its_words_are_known() {
        let mut heard = CallerAudio::default();
        heard.push("QQ==", true);
        heard.push("Qg==", true);
        heard.commit("item_1");
        assert_eq!(heard.replay().count(), 0);
        assert_eq!(heard.last_utterance(), Some(("item_1", "QUI=".to_owned())));
        heard.forget_item(Some("item_0"));
        assert!(heard.last_utterance().is_some());
        heard.forget_item(Some("item_1"));
        assert_eq!(heard.last_utterance(), None);
    }
}
