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

use super::recent::RecentNames;
use super::wire::{OpenAiOutbox, OutboxPurpose};
use crate::realtime::events::RealtimeOffer;

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

#[derive(Debug, Clone, Default, PartialEq)]
struct OpenAiClientConfig {
    tools: Vec<Value>,
    instructions: Option<String>,
}

enum PendingSessionUpdate {
    Ours,
    Clients { event_id: String, before: OpenAiClientConfig },
}

/// What the client gets of the provider's answer to an update.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SessionUpdateEcho {
    Nothing,
    AsItIs,
    Instead(String),
}

impl OpenAiSessionConfig {
    pub(super) fn new(role: ConnectionRole, offer: RealtimeOffer) -> Self {
        Self {
            role,
            kind: OpenAiSessionKind::Conversation,
            offer,
            declared: None,
            client: OpenAiClientConfig::default(),
            default_instructions: None,
            updates: VecDeque::new(),
            ours: HashSet::new(),
            theirs: RecentNames::default(),
            borrowed: HashSet::new(),
            last: None,
            due: None,
        }
    }

    pub(super) fn role(&self) -> ConnectionRole {
        self.role
    }

    pub(super) fn is_declared(&self) -> bool {
        self.declared.is_some()
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
        if before.and_then(|told| told.prompt) != wanted.prompt {
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
        let mut changed = false;
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
        let callable = self.declared.as_ref().is_some_and(|told| !told.tools.is_empty());
        if callable {
            response.insert("tools".to_owned(), self.client.tools.clone().into());
        }
        callable
    }

    /// No response with borrowed names is left.
    pub(super) fn give_back(&mut self) {
        self.borrowed.clear();
    }

    // === from the provider ===

    /// Reads the initial session.
    pub(super) fn on_session_created(&mut self, session: &Map<String, Value>) {
        if session.get("type").and_then(Value::as_str) == Some("transcription") {
            self.kind = OpenAiSessionKind::Transcription;
        }
        if self.client.tools.is_empty() {
            self.adopt(session)
        } else {
            self.adopt_instructions(session)
        }
    }

    /// Handles the provider's answer to the oldest update.
    pub(super) fn on_session_updated(&mut self, mut message: Object<'_>) -> SessionUpdateEcho {
        let answered = self.updates.pop_front();
        let session = message.get("session").and_then(|raw| json::value(raw.get()).ok());
        let Some(Value::Object(mut session)) = session else { return SessionUpdateEcho::AsItIs };
        if self.role == ConnectionRole::Sideband && self.updates.is_empty() {
            self.adopt(&session);
        }
        if matches!(answered, Some(PendingSessionUpdate::Ours)) {
            return SessionUpdateEcho::Nothing;
        }
        if !self.strip(&mut session) {
            return SessionUpdateEcho::AsItIs;
        }
        message.set("session", json::raw_value(&session.into()));
        SessionUpdateEcho::Instead(message.to_text())
    }

    /// An update was rejected: reverts it.
    pub(super) fn on_update_refused(&mut self, event_id: &str, purpose: Option<OutboxPurpose>) {
        let at = self.updates.iter().position(|update| match update {
            PendingSessionUpdate::Ours => purpose == Some(OutboxPurpose::Update),
            PendingSessionUpdate::Clients { event_id: known, .. } => known == event_id,
        });
        match at.and_then(|at| self.updates.remove(at)) {
            Some(PendingSessionUpdate::Ours) => self.declared = Some(OpenAiDeclaration::default()),
            Some(PendingSessionUpdate::Clients { before, .. }) => self.client = before,
            None => {}
        }
    }

    /// On a sideband connection, everything that is not ours is the other side's.
    fn adopt(&mut self, session: &Map<String, Value>) {
        if let Some(Value::Array(tools)) = session.get("tools") {
            let foreign = |tool: &&Value| name_of(tool).is_none_or(|name| !self.is_ours(name));
            self.client.tools = tools.iter().filter(foreign).cloned().collect();
            let names = self.client.tools.iter().filter_map(name_of);
            names.for_each(|name| self.theirs.insert(name));
            self.notice_loss(tools);
        }
        self.adopt_instructions(session);
    }

    fn adopt_instructions(&mut self, session: &Map<String, Value>) {
        if let Some(Value::String(text)) = session.get("instructions") {
            let text = self.without_prompt(text).unwrap_or(text).to_owned();
            match self.role {
                ConnectionRole::Holder => self.default_instructions = Some(text),
                ConnectionRole::Sideband => {
                    self.client.instructions = (!text.is_empty()).then_some(text)
                }
            }
        }
    }

    /// The other side's update may have removed our tools.
    fn notice_loss(&mut self, tools: &[Value]) {
        let Some(told) = &mut self.declared else { return };
        let is_there = |ours: &Arc<Value>| tools.iter().any(|tool| name_of(tool) == name_of(ours));
        if !told.tools.iter().all(is_there) {
            told.tools.clear();
            self.due = self.last.map(|last| last + OFFER_DEBOUNCE).or(self.due);
        }
    }

    /// Removes our part; `false` if there was none.
    fn strip(&self, session: &mut Map<String, Value>) -> bool {
        let mut changed = false;
        if let Some(Value::Array(tools)) = session.get_mut("tools") {
            let before = tools.len();
            tools.retain(|tool| name_of(tool).is_none_or(|name| !self.is_ours(name)));
            changed = tools.len() != before;
        }
        if let Some(Value::String(text)) = session.get("instructions")
            && let Some(rest) = self.without_prompt(text)
        {
            let shown = match (rest, &self.client.instructions) {
                ("", None) => self.default_instructions.clone().unwrap_or_default(),
                (rest, _) => rest.to_owned(),
            };
            session.insert("instructions".to_owned(), shown.into());
            changed = true;
        }
        changed
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
    fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.prompt.is_none()
    }
}

impl OpenAiClientConfig {
    fn declares(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| name_of(tool) == Some(name))
    }
}

fn name_of(tool: &Value) -> Option<&str> {
    tool.get("name").and_then(Value::as_str)
}

/// The event id of the message, to which errors refer; generated by us if the client set none.
pub(super) fn ensure_event_id(message: &mut Object<'_>, post: &mut OpenAiOutbox) -> String {
    if let Some(id) = message.string("event_id") {
        return id.into_owned();
    }
    let id = post.id(OutboxPurpose::ClientUnnamed);
    message.set_string("event_id", &id);
    id
}
