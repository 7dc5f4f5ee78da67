//! Utterances of the caller, as OpenAI's turn detection reports them. Gemini reports less: words of
//! a transcript, interruptions, and that the model begins to answer.

use serde_json::json;

use super::response::ResponseOutput;

#[derive(Debug, Default)]
pub(super) struct Caller {
    utterance: Option<Utterance>,
}

#[derive(Debug)]
struct Utterance {
    item_id: String,
    stage: SpeechStage,
    /// Its transcript so far.
    words: String,
    started_ms: u64,
    /// Whether the provider has said that the transcript is complete.
    is_transcribed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpeechStage {
    Speaking,
    /// It is an item of the conversation.
    Committed,
}

/// What the client has asked for, and the position in its audio.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallerView {
    pub(super) transcribes: bool,
    pub(super) detector: SpeechDetector,
    pub(super) heard_ms: u64,
}

/// Who decides when the caller has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpeechDetector {
    Client,
    Model,
}

impl Caller {
    pub(super) fn is_speaking(&self) -> bool {
        self.utterance.as_ref().is_some_and(|it| it.stage == SpeechStage::Speaking)
    }

    /// The caller begins to speak.
    pub(super) fn begin_speech(&mut self, view: CallerView, to: &mut ResponseOutput<'_>) {
        if view.detector == SpeechDetector::Client || self.is_speaking() {
            return;
        }
        self.complete(view, to);
        let item_id = to.events.id("item");
        let fields = json!({"audio_start_ms": view.heard_ms, "item_id": item_id});
        to.out.push(to.events.write("input_audio_buffer.speech_started", fields));
        self.utterance = Some(Utterance::new(item_id, view.heard_ms));
    }

    /// Words of a transcript. `is_answered`: the model is answering already, so that they belong to
    /// what it answers.
    pub(super) fn hear(
        &mut self,
        words: &str,
        is_answered: bool,
        view: CallerView,
        to: &mut ResponseOutput<'_>,
    ) {
        if words.is_empty() {
            return;
        }
        if self.utterance.is_none() {
            if is_answered || view.detector == SpeechDetector::Client {
                // Nothing else has told that they spoke; there is no beginning to report any more.
                let item_id = to.events.id("item");
                self.utterance = Some(Utterance::new(item_id, view.heard_ms));
                self.add_item(view, to);
            } else {
                self.begin_speech(view, to);
            }
        }
        let Some(utterance) = &mut self.utterance else { return };
        utterance.words.push_str(words);
        if utterance.stage == SpeechStage::Committed {
            let item_id = utterance.item_id.clone();
            transcript_delta(&item_id, words, view, to);
        }
    }

    /// The transcript is complete.
    pub(super) fn finish_transcript(&mut self, view: CallerView, to: &mut ResponseOutput<'_>) {
        let Some(utterance) = &mut self.utterance else { return };
        utterance.is_transcribed = true;
        if utterance.stage == SpeechStage::Committed {
            self.complete(view, to);
        }
    }

    /// The caller has finished: the utterance becomes an item of the conversation.
    pub(super) fn end_speech(&mut self, view: CallerView, to: &mut ResponseOutput<'_>) {
        if !self.is_speaking() {
            return;
        }
        if let Some(utterance) = &self.utterance {
            let fields = json!({"audio_end_ms": view.heard_ms, "item_id": utterance.item_id});
            to.out.push(to.events.write("input_audio_buffer.speech_stopped", fields));
        }
        self.add_item(view, to);
    }

    /// The client has committed its audio.
    pub(super) fn commit(&mut self, view: CallerView, to: &mut ResponseOutput<'_>) {
        if self.is_speaking() {
            self.end_speech(view, to);
            return;
        }
        self.complete(view, to);
        let item_id = to.events.id("item");
        self.utterance = Some(Utterance::new(item_id, view.heard_ms));
        self.add_item(view, to);
    }

    /// The turn is over: nothing is added to the transcript any more.
    pub(super) fn complete(&mut self, view: CallerView, to: &mut ResponseOutput<'_>) {
        self.end_speech(view, to);
        let Some(utterance) = self.utterance.take() else { return };
        let Utterance { item_id, words, started_ms, .. } = utterance;
        let words = words.trim();
        if words.is_empty() {
            return;
        }
        to.items.set_transcript(&item_id, words);
        if view.transcribes {
            let seconds = view.heard_ms.saturating_sub(started_ms).div_ceil(1000);
            let fields = json!({
                "item_id": item_id, "content_index": 0, "transcript": words,
                "usage": {"type": "duration", "seconds": seconds},
            });
            let kind = "conversation.item.input_audio_transcription.completed";
            to.out.push(to.events.write(kind, fields));
        }
    }

    fn add_item(&mut self, view: CallerView, to: &mut ResponseOutput<'_>) {
        let Some(utterance) = &mut self.utterance else { return };
        utterance.stage = SpeechStage::Committed;
        let item_id = utterance.item_id.clone();
        let previous = to.items.last().map(str::to_owned);
        let fields = json!({"item_id": item_id, "previous_item_id": previous});
        to.out.push(to.events.write("input_audio_buffer.committed", fields));
        let item = json!({
            "id": item_id, "object": "realtime.item", "type": "message", "role": "user",
            "status": "completed", "content": [{"type": "input_audio", "transcript": null}],
        });
        to.items.add_whole(&item, to.events, to.out);
        if !utterance.words.is_empty() {
            let words = utterance.words.clone();
            transcript_delta(&item_id, &words, view, to);
        }
        if utterance.is_transcribed {
            self.complete(view, to);
        }
    }
}

impl Utterance {
    fn new(item_id: String, started_ms: u64) -> Self {
        let stage = SpeechStage::Speaking;
        Self { item_id, stage, words: String::new(), started_ms, is_transcribed: false }
    }
}

fn transcript_delta(item_id: &str, words: &str, view: CallerView, to: &mut ResponseOutput<'_>) {
    if view.transcribes {
        let fields = json!({"item_id": item_id, "content_index": 0, "delta": words});
        let kind = "conversation.item.input_audio_transcription.delta";
        to.out.push(to.events.write(kind, fields));
    }
}
