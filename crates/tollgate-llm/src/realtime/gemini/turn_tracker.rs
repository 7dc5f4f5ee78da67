//! Turn tracker: derives utterances and turns from `serverContent` and from text that a client
//! sends. Called by the state machine; independent of tools and connections.

use std::time::{Duration, Instant};

use memchr::memmem;
use serde_json::Value;

use crate::realtime::events::{DialectAction, TurnEvent, UtteranceStage};
use crate::realtime::json_peek;

/// Silence after which the caller counts as not speaking.
const CALLER_QUIET_AFTER: Duration = Duration::from_secs(2);

/// How long sound of the caller that nothing else confirms is taken for speech.
const SOUND_IS_SPEECH_FOR: Duration = Duration::from_secs(30);

/// Maximum bytes kept of an utterance or an answer. More is not needed to select a tier.
const MAX_TEXT_BYTES: usize = 8 << 10;

#[derive(Debug, Default)]
pub(super) struct GeminiTurnTracker {
    turn: GeminiTurnState,
    /// Transcript of the unfinished utterance.
    caller_text: String,
    /// Time of its last word.
    caller_text_at: Option<Instant>,
    /// Set by the client, if it does its own activity detection.
    caller: GeminiCaller,
    /// When the client's audio first had sound in it that the provider has not answered.
    sound: Option<Instant>,
    agent_text: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum GeminiTurnState {
    #[default]
    None,
    Open,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum GeminiCaller {
    #[default]
    Quiet,
    Speaks,
}

/// The fields of one `serverContent`, unparsed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ServerContent<'a> {
    caller_text: Option<&'a str>,
    interim: Option<&'a str>,
    model: Option<&'a str>,
    agent_text: Option<&'a str>,
    interrupted: Option<&'a str>,
    complete: Option<&'a str>,
    status: Option<&'a str>,
}

impl<'a> ServerContent<'a> {
    pub(super) fn read(content: &'a str) -> Self {
        let mut it = Self::default();
        json_peek::for_each_field(content, |key, value| {
            match key {
                "inputTranscription" => it.caller_text = Some(value),
                "interimInputTranscription" => it.interim = Some(value),
                "modelTurn" => it.model = Some(value),
                "outputTranscription" => it.agent_text = Some(value),
                "interrupted" => it.interrupted = Some(value),
                "turnComplete" => it.complete = Some(value),
                "interactionStatus" => it.status = Some(value),
                _ => (),
            }
            true
        });
        it
    }

    /// Whether it contains speech of the caller.
    pub(super) fn has_caller_speech(&self) -> bool {
        self.caller_text.is_some() || self.interim.is_some()
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted == Some("true")
    }

    /// Whether the model has finished: some continue thinking after a turn.
    fn is_end(&self) -> bool {
        match self.status {
            Some(r#""IN_PROGRESS""#) => false,
            Some(r#""IDLE""# | r#""REQUIRES_ACTION""#) => true,
            _ => self.complete == Some("true"),
        }
    }
}

/// Whether the end of the model's speech ends its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GeminiTurnEnd {
    Ends,
    /// It waits for a tool, and will continue.
    Waits,
}

impl GeminiTurnTracker {
    pub(super) fn content(
        &mut self,
        content: &ServerContent<'_>,
        ending: GeminiTurnEnd,
        now: Instant,
    ) -> Vec<DialectAction> {
        let mut actions = Vec::new();
        if let Some(received) = content.caller_text {
            self.hear(received, now, &mut actions);
        }
        if let Some(interim) = content.interim {
            self.hear_interim(interim, now, &mut actions);
        }
        if content.model.is_some() || content.agent_text.is_some() {
            actions.extend(self.begin());
        }
        match (content.agent_text, content.model) {
            (Some(text), _) => self.add_agent_text(&words(text).0),
            (None, Some(model)) => self.add_agent_text(&model_turn_text(model)),
            (None, None) => (),
        }
        if content.complete == Some("true") {
            self.forget_sound();
        }
        if content.is_end() && !content.is_interrupted() && ending == GeminiTurnEnd::Ends {
            actions.extend(self.end(TurnEvent::Ended));
        }
        actions
    }

    /// The model acts: starts a turn if there is none. The caller's utterance is final now.
    pub(super) fn begin(&mut self) -> Vec<DialectAction> {
        if self.turn == GeminiTurnState::Open {
            return Vec::new();
        }
        let mut actions = Vec::new();
        self.finish(&mut actions);
        self.turn = GeminiTurnState::Open;
        actions.push(DialectAction::Turn(TurnEvent::Began));
        actions
    }

    /// Ends the turn, if there is one.
    pub(super) fn end(&mut self, event: TurnEvent) -> Vec<DialectAction> {
        if self.turn != GeminiTurnState::Open {
            return Vec::new();
        }
        self.turn = GeminiTurnState::None;
        let text = std::mem::take(&mut self.agent_text);
        let text = text.trim();
        let mut actions = Vec::new();
        if !text.is_empty() {
            actions.push(DialectAction::AgentSpeech(text.to_owned()));
        }
        actions.push(DialectAction::Turn(event));
        actions
    }

    /// Handles text from a client as an utterance of the caller.
    pub(super) fn written_by_client(&mut self, text: &str) -> Vec<DialectAction> {
        let mut actions = Vec::new();
        let text = text.trim();
        if !text.is_empty() {
            let text = text.to_owned();
            actions.push(DialectAction::CallerSpeech { text, form: UtteranceStage::Final });
        }
        actions.extend(self.begin());
        actions
    }

    pub(super) fn caller(&mut self, caller: GeminiCaller) {
        self.caller = caller;
    }

    pub(super) fn caller_speaks(&self) -> bool {
        self.caller == GeminiCaller::Speaks
    }

    /// The client's audio has sound in it. Sessions without transcripts tell nothing else of the
    /// caller.
    pub(super) fn hear_sound(&mut self, now: Instant) {
        self.sound.get_or_insert(now);
    }

    /// The provider has answered, or kept, all that was heard so far.
    pub(super) fn forget_sound(&mut self) {
        self.sound = None;
    }

    /// Until when the caller may be speaking, as far as the audio tells.
    pub(super) fn may_speak_until(&self) -> Option<Instant> {
        self.sound.map(|since| since + SOUND_IS_SPEECH_FOR)
    }

    pub(super) fn is_open(&self) -> bool {
        self.turn == GeminiTurnState::Open
    }

    /// Whether nobody speaks: the model has no turn, and the caller is silent.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let pause = self.pauses().is_none_or(|from| from <= now);
        self.turn == GeminiTurnState::None && self.caller == GeminiCaller::Quiet && pause
    }

    /// Called as time passes: a caller who paused counts as silent.
    pub(super) fn rest(&mut self, now: Instant) {
        if self.pauses().is_some_and(|from| from <= now) {
            self.caller_text_at = None;
        }
        if self.may_speak_until().is_some_and(|until| until <= now) {
            self.sound = None;
        }
    }

    /// When the caller counts as silent, if no further word arrives.
    pub(super) fn pauses(&self) -> Option<Instant> {
        self.caller_text_at.map(|at| at + CALLER_QUIET_AFTER)
    }

    fn hear(&mut self, transcription: &str, now: Instant, actions: &mut Vec<DialectAction>) {
        let (text, finished) = words(transcription);
        if !text.is_empty() && self.caller_text.len() + text.len() <= MAX_TEXT_BYTES {
            self.caller_text.push_str(&text);
            self.caller_text_at = Some(now);
            actions.extend(partial(&self.caller_text));
        }
        if finished == UtteranceFinished::Yes {
            self.finish(actions);
        }
    }

    /// An interim transcript, which the next one replaces.
    fn hear_interim(
        &mut self,
        transcription: &str,
        now: Instant,
        actions: &mut Vec<DialectAction>,
    ) {
        let (text, _) = words(transcription);
        if text.is_empty() || text.len() > MAX_TEXT_BYTES {
            return;
        }
        self.caller_text_at = Some(now);
        let whole = if text.trim_start().starts_with(self.caller_text.trim()) {
            text
        } else {
            format!("{} {}", self.caller_text.trim_end(), text.trim_start())
        };
        actions.extend(partial(&whole));
    }

    fn finish(&mut self, actions: &mut Vec<DialectAction>) {
        self.caller_text_at = None;
        let received = std::mem::take(&mut self.caller_text);
        let text = received.trim();
        if !text.is_empty() {
            actions.push(DialectAction::CallerSpeech {
                text: text.to_owned(),
                form: UtteranceStage::Final,
            });
        }
    }

    fn add_agent_text(&mut self, text: &str) {
        if self.agent_text.len() + text.len() <= MAX_TEXT_BYTES {
            self.agent_text.push_str(text);
        }
    }
}

fn partial(text: &str) -> Option<DialectAction> {
    let text = text.trim();
    let on_event =
        || DialectAction::CallerSpeech { text: text.to_owned(), form: UtteranceStage::Partial };
    (!text.is_empty()).then(on_event)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UtteranceFinished {
    Yes,
    No,
}

/// The text of a transcription, and whether it ends the utterance.
fn words(transcription: &str) -> (String, UtteranceFinished) {
    let it: Value = serde_json::from_str(transcription).unwrap_or_default();
    let text = it.get("text").and_then(Value::as_str).unwrap_or_default();
    let finished = it.get("finished").and_then(Value::as_bool) == Some(true);
    (text.to_owned(), if finished { UtteranceFinished::Yes } else { UtteranceFinished::No })
}

/// Text of a model turn. Audio is not parsed.
fn model_turn_text(model: &str) -> String {
    if memmem::find(model.as_bytes(), b"\"inlineData\"").is_some() {
        return String::new();
    }
    let turn: Value = serde_json::from_str(model).unwrap_or_default();
    text_of_parts(&turn)
}

/// All text of a `ServerContent`, without thoughts.
pub(super) fn text_of_parts(content: &Value) -> String {
    let parts = content.get("parts").and_then(Value::as_array).into_iter().flatten();
    let spoken = parts.filter(|part| part.get("thought").and_then(Value::as_bool) != Some(true));
    spoken.filter_map(|part| part.get("text")?.as_str()).collect()
}
