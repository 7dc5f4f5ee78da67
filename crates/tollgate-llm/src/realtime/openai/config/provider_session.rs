//! What the provider says of the session: the other side's part is learnt from it, and ours is removed
//! from what the client sees.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use tollgate_core::json::{self, Object};

use super::super::wire::OutboxPurpose;
use super::{
    ConnectionRole, OFFER_DEBOUNCE, OpenAiDeclaration, OpenAiSessionConfig, OpenAiSessionKind,
    OtherSideConfig, PendingSessionUpdate, SessionUpdateEcho, TurnDetection, name_of,
};

impl OpenAiSessionConfig {
    /// Reads the initial session.
    pub(in super::super) fn on_session_created(
        &mut self,
        session: &Map<String, Value>,
        now: Instant,
    ) {
        if session.get("type").and_then(Value::as_str) == Some("transcription") {
            self.kind = OpenAiSessionKind::Transcription;
        }
        self.turn_detection.begin(session);
        if self.turn_detection.detects() && !self.turn_detection.provider_asks() {
            self.client.creates_responses = false;
        }
        if self.client.tools.is_empty() {
            self.adopt(session, now)
        } else {
            self.adopt_instructions(session)
        }
    }

    /// Handles the provider's answer to the oldest update.
    pub(in super::super) fn on_session_updated(
        &mut self,
        mut message: Object<'_>,
        now: Instant,
    ) -> SessionUpdateEcho {
        let answered = self.updates.pop_front();
        let session = message.get("session").and_then(|raw| json::value(raw.get()).ok());
        let Some(Value::Object(mut session)) = session else { return SessionUpdateEcho::AsItIs };
        if self.role == ConnectionRole::Sideband && self.updates.is_empty() {
            if answered.is_none() {
                self.notice_lost_prompt(&session, now);
            }
            self.adopt(&session, now);
        }
        let is_hold = matches!(answered, Some(PendingSessionUpdate::TurnDetection));
        self.turn_detection.confirm(&session, is_hold);
        if is_hold || matches!(answered, Some(PendingSessionUpdate::Ours)) {
            return SessionUpdateEcho::Nothing;
        }
        if !self.strip(&mut session) {
            return SessionUpdateEcho::AsItIs;
        }
        message.set("session", json::raw_value(&session.into()));
        SessionUpdateEcho::Instead(message.to_text())
    }

    /// An update was rejected: reverts it.
    pub(in super::super) fn on_update_refused(
        &mut self,
        event_id: &str,
        purpose: Option<OutboxPurpose>,
    ) {
        let at = self.updates.iter().position(|update| match update {
            PendingSessionUpdate::Ours => purpose == Some(OutboxPurpose::Update),
            PendingSessionUpdate::TurnDetection => purpose == Some(OutboxPurpose::TurnDetection),
            PendingSessionUpdate::Clients { event_id: known, .. } => known == event_id,
        });
        match at.and_then(|at| self.updates.remove(at)) {
            Some(PendingSessionUpdate::Ours) => self.declared = Some(OpenAiDeclaration::default()),
            Some(PendingSessionUpdate::TurnDetection) => self.turn_detection.on_refused(),
            Some(PendingSessionUpdate::Clients { before, .. }) => self.client = before,
            None => {}
        }
    }

    /// On a sideband connection, everything that is not ours is the other side's.
    fn adopt(&mut self, session: &Map<String, Value>, now: Instant) {
        self.other_side = OtherSideConfig::Known;
        if let Some(Value::Array(tools)) = session.get("tools") {
            let foreign = |tool: &&Value| name_of(tool).is_none_or(|name| !self.is_ours(name));
            self.client.tools = tools.iter().filter(foreign).cloned().collect();
            let names = self.client.tools.iter().filter_map(name_of);
            names.for_each(|name| self.theirs.insert(name));
            self.notice_loss(tools, now);
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
    fn notice_loss(&mut self, tools: &[Value], now: Instant) {
        let Some(declaration) = &mut self.declared else { return };
        let is_there = |ours: &Arc<Value>| tools.iter().any(|tool| name_of(tool) == name_of(ours));
        if !declaration.tools.iter().all(is_there) {
            declaration.tools.clear();
            self.due = Some(self.last.map_or(now, |last| last + OFFER_DEBOUNCE));
        }
    }

    /// The other side's update may have replaced our prompt.
    fn notice_lost_prompt(&mut self, session: &Map<String, Value>, now: Instant) {
        let Some(Value::String(text)) = session.get("instructions") else { return };
        let Some(declaration) = &mut self.declared else { return };
        if declaration.prompt.as_deref().is_some_and(|prompt| !text.starts_with(prompt)) {
            declaration.prompt = None;
            self.due = Some(self.last.map_or(now, |last| last + OFFER_DEBOUNCE));
        }
    }

    /// Removes our part; `false` if there was none.
    fn strip(&self, session: &mut Map<String, Value>) -> bool {
        let mut changed = TurnDetection::strip(session, self.client.creates_responses);
        if let Some(Value::Array(tools)) = session.get_mut("tools") {
            let before = tools.len();
            tools.retain(|tool| name_of(tool).is_none_or(|name| !self.is_ours(name)));
            changed |= tools.len() != before;
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
}
