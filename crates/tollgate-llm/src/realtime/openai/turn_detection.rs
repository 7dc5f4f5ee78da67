//! Turn detection of the session, from two points of view: what the client set, and what the
//! provider does. Where turns may be answered by another model, the provider detects the turns, but
//! leaves it to the gateway to request the responses (`create_response: false`).

use serde_json::{Map, Value, json};

use super::question::ResponseRequester;

const GA_POINTER: &str = "/audio/input/turn_detection";
const GA_TRANSCRIPTION: &str = "/audio/input/transcription";
const CREATE: &str = "create_response";
const INTERRUPT: &str = "interrupt_response";

#[derive(Default)]
pub(super) struct TurnDetection {
    /// As the provider confirmed it; `None`: unknown.
    confirmed: Option<Value>,
    form: SessionForm,
    transcripts: CallerTranscripts,
    /// Whether the gateway wants to request the responses.
    wants_hold: bool,
    support: HoldSupport,
}

/// Whether the caller's words arrive as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CallerTranscripts {
    #[default]
    Unknown,
    Arrive,
}

/// Where a session has its settings for the caller's audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SessionForm {
    /// In `audio.input`.
    #[default]
    Nested,
    /// At the top, as in the beta version and in some compatible servers.
    Flat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum HoldSupport {
    #[default]
    Assumed,
    /// An update of ours is not confirmed.
    Changing,
    /// The provider refused or ignored it.
    Missing,
}

impl CallerTranscripts {
    fn of(setting: &Value) -> Self {
        if setting.is_object() { Self::Arrive } else { Self::Unknown }
    }
}

impl TurnDetection {
    /// Whether the gateway shall request the responses.
    pub(super) fn want_hold(&mut self, wants_hold: bool) {
        self.wants_hold = wants_hold;
    }

    /// Whether transcripts of the caller arrive.
    pub(super) fn transcribes(&self) -> bool {
        self.transcripts == CallerTranscripts::Arrive
    }

    /// Whether the provider itself requests a response when the caller has finished.
    pub(super) fn provider_asks(&self) -> bool {
        match &self.confirmed {
            Some(settings) => settings.as_object().is_some_and(creates_in),
            None => true,
        }
    }

    /// Whether the provider detects turns.
    pub(super) fn detects(&self) -> bool {
        self.confirmed.as_ref().is_none_or(Value::is_object)
    }

    /// Who requests the response to a spoken utterance. `is_left_to_us`: the client wants the provider
    /// to do so.
    pub(super) fn requester(&self, is_left_to_us: bool) -> ResponseRequester {
        if self.provider_asks() {
            ResponseRequester::Provider
        } else if is_left_to_us && self.detects() {
            ResponseRequester::Gateway
        } else {
            ResponseRequester::Client
        }
    }

    /// Whether an update of ours is on its way.
    pub(super) fn is_changing(&self) -> bool {
        self.support == HoldSupport::Changing
    }

    /// Whether the caller interrupts a response by speaking.
    pub(super) fn interrupts(&self) -> bool {
        let settings = self.confirmed.as_ref();
        settings.and_then(|settings| settings.get(INTERRUPT)?.as_bool()).unwrap_or(true)
    }

    /// The session as the provider confirmed it.
    pub(super) fn confirm(&mut self, session: &Map<String, Value>, answered_ours: bool) {
        let flat = session.get("turn_detection");
        let nested = pointer(session, GA_POINTER);
        if let Some(settings) = nested.or(flat) {
            self.form = if nested.is_some() { SessionForm::Nested } else { SessionForm::Flat };
            self.confirmed = Some(settings.clone());
        }
        if answered_ours {
            let is_ignored = self.provider_asks() && self.detects() && self.wants_hold;
            self.support = if is_ignored { HoldSupport::Missing } else { HoldSupport::Assumed };
        }
        let transcription =
            pointer(session, GA_TRANSCRIPTION).or_else(|| session.get("input_audio_transcription"));
        if let Some(transcription) = transcription {
            self.transcripts = CallerTranscripts::of(transcription);
        }
    }

    /// A new session of the provider: nothing is known of it but this.
    pub(super) fn begin(&mut self, session: &Map<String, Value>) {
        *self =
            Self { wants_hold: self.wants_hold, transcripts: self.transcripts, ..Self::default() };
        self.confirm(session, false);
    }

    /// Not every provider reports the setting.
    pub(super) fn note_transcript(&mut self) {
        self.transcripts = CallerTranscripts::Arrive;
    }

    pub(super) fn on_refused(&mut self) {
        self.support = HoldSupport::Missing;
    }

    /// The client's update: reads what it sets, and keeps the provider from answering. Returns the
    /// client's `create_response`, if it sets turn detection, and whether the update was changed.
    pub(super) fn merge(&mut self, session: &mut Map<String, Value>) -> (Option<bool>, bool) {
        let transcription = pointer(session, GA_TRANSCRIPTION)
            .or_else(|| session.get("input_audio_transcription"))
            .map(CallerTranscripts::of);
        self.transcripts = transcription.unwrap_or(self.transcripts);
        // A provider that does not know the field would reject the whole update.
        let is_known =
            self.confirmed.as_ref().is_some_and(|settings| settings.get(CREATE).is_some());
        let holds = is_known && self.is_held();
        let fields = find_mut(session).and_then(Value::as_object_mut);
        let Some(fields) = fields else { return (None, false) };
        let clients = creates_in(fields);
        if clients && holds {
            fields.insert(CREATE.to_owned(), json!(false));
        }
        (Some(clients), clients && holds)
    }

    /// An update that makes the provider do what is wanted; `clients`: what the client set.
    pub(super) fn update(&mut self, clients: bool) -> Option<Value> {
        let settings = self.confirmed.as_ref()?.as_object()?;
        let should = clients && !self.is_held();
        if self.is_changing() || !clients || creates_in(settings) == should {
            return None;
        }
        // Some fields may be absent, but not null.
        let known = settings.iter().filter(|(_, value)| !value.is_null());
        let mut settings: Map<String, Value> =
            known.map(|(key, value)| (key.clone(), value.clone())).collect();
        settings.insert(CREATE.to_owned(), json!(should));
        self.support = HoldSupport::Changing;
        Some(match self.form {
            SessionForm::Nested => json!({ "audio": { "input": { "turn_detection": settings } } }),
            SessionForm::Flat => json!({ "turn_detection": settings }),
        })
    }

    /// Shows the client its own setting; `false` if that is what the provider has.
    pub(super) fn strip(session: &mut Map<String, Value>, clients: bool) -> bool {
        let Some(fields) = find_mut(session).and_then(Value::as_object_mut) else { return false };
        if creates_in(fields) || !clients {
            return false;
        }
        fields.insert(CREATE.to_owned(), json!(true));
        true
    }

    fn is_held(&self) -> bool {
        self.wants_hold && self.transcribes() && self.support != HoldSupport::Missing
    }
}

/// Without a value, a provider requests responses itself.
fn creates_in(settings: &Map<String, Value>) -> bool {
    settings.get(CREATE).and_then(Value::as_bool).unwrap_or(true)
}

fn pointer<'a>(session: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('/').skip(1);
    let first = session.get(keys.next()?)?;
    keys.try_fold(first, |value, key| value.get(key))
}

fn find_mut(session: &mut Map<String, Value>) -> Option<&mut Value> {
    if session.contains_key("turn_detection") {
        return session.get_mut("turn_detection");
    }
    session.get_mut("audio")?.get_mut("input")?.get_mut("turn_detection")
}
