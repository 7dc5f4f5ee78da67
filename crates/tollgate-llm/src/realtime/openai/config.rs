//! Session configuration from three points of view: the client's tools and instructions, our
//! additions, and the declaration sent to the provider.
//!
//! Merges on the way to the provider, strips on the way back.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tollgate_core::json::{self, MalformedJsonError, Object};
use tollgate_core::tool::ResultDelivery;

use super::question::ResponseRequester;
use super::recent::RecentNames;
use super::turn_detection::TurnDetection;
use super::wire::{OpenAiOutbox, OutboxPurpose, ensure_event_id};
use crate::realtime::events::RealtimeOffer;

mod provider_session;
mod settings;

pub(in crate::realtime) use settings::remember as remember_settings;

/// Offer changes within this time become one update.
const OFFER_DEBOUNCE: Duration = Duration::from_millis(250);

/// Limit for a provider that does not answer updates.
const MAX_PENDING_UPDATES: usize = 64;

pub(super) struct OpenAiSessionConfig {
    role: ConnectionRole,
    kind: OpenAiSessionKind,
    offer: RealtimeOffer,
    /// Our last declaration to the provider.
    declared: Option<OpenAiDeclaration>,
    client: OpenAiClientConfig,
    /// The provider's default instructions, used when none are set.
    default_instructions: Option<String>,
    /// Updates without an answer from the provider; oldest first.
    updates: VecDeque<PendingSessionUpdate>,
    /// All names that we ever declared.
    ours: HashSet<String>,
    /// Names that the client ever declared.
    theirs: RecentNames,
    /// Names that the client declared for a single response.
    borrowed: HashSet<String>,
    last: Option<Instant>,
    due: Option<Instant>,
    pub(super) turn_detection: TurnDetection,
    other_side: OtherSideConfig,
}

/// Whether the configuration of the other side of a call is known. Until then nothing may be
/// declared, because a declaration replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherSideConfig {
    Unknown,
    Known,
}

/// Role of our connection to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionRole {
    /// The connection that created it.
    Holder,
    /// A second connection, beside the one that created and configures it.
    Sideband,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenAiSessionKind {
    Conversation,
    /// There is no model that could call tools.
    Transcription,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct OpenAiDeclaration {
    tools: Vec<Arc<Value>>,
    prompt: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct OpenAiClientConfig {
    tools: Vec<Value>,
    instructions: Option<String>,
    /// Its other settings, for another connection.
    session: Map<String, Value>,
    /// Whether the provider shall request responses itself.
    creates_responses: bool,
}

impl Default for OpenAiClientConfig {
    fn default() -> Self {
        Self { tools: Vec::new(), instructions: None, session: Map::new(), creates_responses: true }
    }
}

enum PendingSessionUpdate {
    Ours,
    /// Our update of the turn detection.
    TurnDetection,
    Clients {
        event_id: String,
        before: OpenAiClientConfig,
    },
}

/// What the client gets of the provider's answer to an update.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SessionUpdateEcho {
    Nothing,
    AsItIs,
    Instead(String),
}

impl OpenAiSessionConfig {
    /// `declared`: what the provider was told when the call was created.
    pub(super) fn new(
        role: ConnectionRole,
        offer: RealtimeOffer,
        declared: Option<&RealtimeOffer>,
    ) -> Self {
        let names = declared.iter().flat_map(|it| &it.tools).map(|tool| tool.name.clone());
        Self {
            role,
            kind: OpenAiSessionKind::Conversation,
            offer,
            declared: declared.map(OpenAiDeclaration::of),
            client: OpenAiClientConfig::default(),
            default_instructions: None,
            updates: VecDeque::new(),
            ours: names.collect(),
            theirs: RecentNames::default(),
            borrowed: HashSet::new(),
            last: None,
            due: None,
            turn_detection: TurnDetection::default(),
            other_side: OtherSideConfig::Unknown,
        }
    }

    pub(super) fn role(&self) -> ConnectionRole {
        self.role
    }

    pub(super) fn is_declared(&self) -> bool {
        self.declared.is_some()
    }

    /// Always, on the connection that configures the session.
    pub(super) fn is_other_side_known(&self) -> bool {
        self.role == ConnectionRole::Holder || self.other_side == OtherSideConfig::Known
    }

    /// Whether the client has to answer a call by this name. A name that the client removed is
    /// still the client's, unless we offer it now: a call may be in flight.
    pub(super) fn is_clients(&self, name: &str) -> bool {
        self.client.declares(name)
            || self.borrowed.contains(name)
            || (self.theirs.contains(name) && !self.offers(name))
    }

    pub(super) fn delivery(&self, name: &str) -> ResultDelivery {
        let tool = self.offer.tools.iter().find(|tool| tool.name == name);
        tool.map_or_else(ResultDelivery::default, |tool| tool.delivery)
    }

    /// The joined instructions of the model, as far as known.
    pub(super) fn manner(&self) -> Option<String> {
        self.join_instructions(self.client.instructions.as_deref())
    }

    // === towards the provider ===

    /// Declares our tools and prompt, if the provider does not have the current ones.
    pub(super) fn declare(&mut self, post: &mut OpenAiOutbox, now: Instant) -> Option<String> {
        self.due = None;
        if self.kind == OpenAiSessionKind::Transcription {
            return None;
        }
        let wanted = self.next_declaration();
        let before = self.declared.replace(wanted.clone());
        if before.as_ref() == Some(&wanted) {
            return None;
        }
        let had_nothing = before.as_ref().is_none_or(OpenAiDeclaration::is_empty);
        if had_nothing && wanted.is_empty() {
            return None;
        }
        let mut session = Map::new();
        session.insert("type".to_owned(), json!("realtime"));
        session.insert("tools".to_owned(), self.merge_tools(&self.client.tools).into());
        if before.and_then(|declared| declared.prompt) != wanted.prompt {
            let instructions = self.manner().or_else(|| self.default_instructions.clone());
            session.insert("instructions".to_owned(), instructions.unwrap_or_default().into());
        }
        self.last = Some(now);
        Some(self.update(post, &session.into()))
    }

    /// An empty update: its answer contains the current session.
    pub(super) fn inquire(&mut self, post: &mut OpenAiOutbox) -> String {
        self.update(post, &json!({ "type": "realtime" }))
    }

    fn update(&mut self, post: &mut OpenAiOutbox, session: &Value) -> String {
        self.remember_offered_names();
        self.push_pending_update(PendingSessionUpdate::Ours);
        let id = post.id(OutboxPurpose::Update);
        json!({ "type": "session.update", "event_id": id, "session": session }).to_string()
    }

    // === turn detection ===

    /// Makes the provider leave the responses to us, or request them again. In an update of its
    /// own, because one bad field makes a provider reject a whole update.
    pub(super) fn declare_hold(&mut self, post: &mut OpenAiOutbox) -> Option<String> {
        // A client's update may change the settings that ours would repeat.
        let is_clients = |update: &_| matches!(update, PendingSessionUpdate::Clients { .. });
        if self.kind == OpenAiSessionKind::Transcription || self.updates.iter().any(is_clients) {
            return None;
        }
        let mut session = self.turn_detection.update(self.client.creates_responses)?;
        session["type"] = json!("realtime");
        self.push_pending_update(PendingSessionUpdate::TurnDetection);
        let id = post.id(OutboxPurpose::TurnDetection);
        let update = json!({ "type": "session.update", "event_id": id, "session": session });
        Some(update.to_string())
    }

    /// Who requests the response to a spoken utterance. `is_speaking`: whether a response runs.
    pub(super) fn requester(&self, is_speaking: bool) -> ResponseRequester {
        let detection = &self.turn_detection;
        // A provider requests none either while one runs that must not be interrupted.
        let is_left_to_us = self.role == ConnectionRole::Holder
            && self.client.creates_responses
            && (detection.interrupts() || !is_speaking);
        detection.requester(is_left_to_us)
    }

    /// Marks the offered names as ours, whoever sends them to the provider.
    fn remember_offered_names(&mut self) {
        self.ours.extend(self.offer.tools.iter().map(|tool| tool.name.clone()));
    }

    /// Declares at once, unless the last change was too recent.
    pub(super) fn offer(&mut self, offer: RealtimeOffer, now: Instant) {
        self.offer = offer;
        let earliest = self.last.map_or(now, |last| last + OFFER_DEBOUNCE);
        if self.declared.is_some() {
            self.due = Some(self.due.unwrap_or(earliest).max(now));
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The client's update, with our part merged in.
    pub(super) fn client_update(
        &mut self,
        message: &mut Object<'_>,
        post: &mut OpenAiOutbox,
    ) -> Result<(), MalformedJsonError> {
        let before = self.client.clone();
        let session = message.get("session").map(|raw| json::value(raw.get())).transpose()?;
        if let Some(Value::Object(mut session)) = session {
            settings::remember(&mut self.client.session, &session);
            if session.get("type").and_then(Value::as_str) == Some("transcription") {
                self.kind = OpenAiSessionKind::Transcription;
            } else if self.take_from_client(&mut session) {
                message.set("session", json::raw_value(&session.into()));
            }
        }
        let event_id = ensure_event_id(message, post);
        self.push_pending_update(PendingSessionUpdate::Clients { event_id, before });
        Ok(())
    }

    fn push_pending_update(&mut self, update: PendingSessionUpdate) {
        if self.updates.len() == MAX_PENDING_UPDATES {
            self.updates.pop_front();
        }
        self.updates.push_back(update);
    }

    /// `true` if our part was merged in.
    fn take_from_client(&mut self, session: &mut Map<String, Value>) -> bool {
        let (creates_responses, mut changed) = self.turn_detection.merge(session);
        if let Some(creates) = creates_responses {
            self.client.creates_responses = creates;
        }
        if let Some(Value::Array(tools)) = session.get("tools") {
            self.client.tools.clone_from(tools);
            tools.iter().filter_map(name_of).for_each(|name| self.theirs.insert(name));
            let wanted = self.next_declaration();
            if !wanted.tools.is_empty() {
                self.remember_offered_names();
                let merged = self.merge_tools(&self.client.tools);
                session.insert("tools".to_owned(), merged.into());
                changed = true;
            }
            self.declared.get_or_insert_default().tools = wanted.tools;
        }
        if let Some(Value::String(text)) = session.get("instructions") {
            self.client.instructions = Some(text.clone());
            if self.offer.prompt.is_some() {
                let joined = self.join_instructions(Some(text)).unwrap_or_default();
                session.insert("instructions".to_owned(), joined.into());
                changed = true;
            }
            self.declared.get_or_insert_default().prompt = self.next_declaration().prompt;
        }
        changed
    }

    /// The client's parameters of one response, with our part merged in; `true` if there is any.
    pub(super) fn client_response(&mut self, response: &mut Map<String, Value>) -> bool {
        let mut changed = false;
        if let Some(Value::Array(tools)) = response.get("tools")
            && !tools.is_empty()
        {
            self.borrowed.extend(tools.iter().filter_map(name_of).map(str::to_owned));
            let merged = self.merge_tools(tools);
            response.insert("tools".to_owned(), merged.into());
            changed = true;
        }
        if let Some(Value::String(text)) = response.get("instructions")
            && self.offer.prompt.is_some()
        {
            let joined = self.join_instructions(Some(text)).unwrap_or_default();
            response.insert("instructions".to_owned(), joined.into());
            changed = true;
        }
        changed
    }

    /// A response outside the conversation must not call our tools: no answer could be sent.
    pub(super) fn client_aside(&mut self, response: &mut Map<String, Value>) -> bool {
        if let Some(Value::Array(tools)) = response.get("tools") {
            self.borrowed.extend(tools.iter().filter_map(name_of).map(str::to_owned));
            return false;
        }
        let callable = self.declared.as_ref().is_some_and(|declared| !declared.tools.is_empty());
        if callable {
            response.insert("tools".to_owned(), self.client.tools.clone().into());
        }
        callable
    }

    /// No response with borrowed names is left.
    pub(super) fn give_back(&mut self) {
        self.borrowed.clear();
    }

    fn is_ours(&self, name: &str) -> bool {
        self.ours.contains(name) && !self.client.declares(name)
    }

    fn offers(&self, name: &str) -> bool {
        self.offer.tools.iter().any(|tool| tool.name == name)
    }

    fn next_declaration(&self) -> OpenAiDeclaration {
        let ours = self.offer.tools.iter().filter(|tool| !self.client.declares(&tool.name));
        OpenAiDeclaration {
            tools: ours.map(|tool| Arc::clone(&tool.definition)).collect(),
            prompt: self.offer.prompt.as_deref().map(str::to_owned),
        }
    }

    /// The client's tools followed by ours; on name conflicts the client's tool wins.
    fn merge_tools(&self, clients: &[Value]) -> Vec<Value> {
        let is_taken = |name: &str| clients.iter().any(|tool| name_of(tool) == Some(name));
        let ours = self.offer.tools.iter().filter(|tool| !is_taken(&tool.name));
        let ours = ours.map(|tool| Value::clone(&tool.definition));
        clients.iter().cloned().chain(ours).collect()
    }

    fn join_instructions(&self, instructions: Option<&str>) -> Option<String> {
        let parts = [self.offer.prompt.as_deref(), instructions];
        let parts: Vec<&str> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    fn without_prompt<'t>(&self, text: &'t str) -> Option<&'t str> {
        let prompt = self.declared.as_ref()?.prompt.as_deref()?;
        let rest = text.strip_prefix(prompt)?;
        Some(rest.strip_prefix("\n\n").unwrap_or(rest))
    }
}

impl OpenAiDeclaration {
    fn of(offer: &RealtimeOffer) -> Self {
        let tools = offer.tools.iter().map(|tool| Arc::clone(&tool.definition)).collect();
        Self { tools, prompt: offer.prompt.as_deref().map(str::to_owned) }
    }

    fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.prompt.is_none()
    }
}

impl OpenAiClientConfig {
    fn declares(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| name_of(tool) == Some(name))
    }
}

/// Adds our part to the configuration with which a client creates a call. The client's own tools
/// win over ours with the same name, which are removed from the offer.
pub(in super::super) fn configure_call(
    offer: &mut RealtimeOffer,
    model: &str,
    session: &mut Map<String, Value>,
) {
    session.insert("type".to_owned(), json!("realtime"));
    session.insert("model".to_owned(), json!(model));
    for key in ["tools", "instructions"] {
        if session.get(key).is_some_and(Value::is_null) {
            session.shift_remove(key);
        }
    }
    if !offer.tools.is_empty() {
        session.entry("tools").or_insert_with(|| json!([]));
    }
    if offer.prompt.is_some() {
        session.entry("instructions").or_insert_with(|| json!(""));
    }
    let mut config = OpenAiSessionConfig::new(ConnectionRole::Holder, offer.clone(), None);
    config.take_from_client(session);
    offer.tools.retain(|tool| !config.client.declares(&tool.name));
}

fn name_of(tool: &Value) -> Option<&str> {
    tool.get("name").and_then(Value::as_str)
}
