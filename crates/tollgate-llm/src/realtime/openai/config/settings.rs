//! The client's session settings beside tools and instructions, as the provider would show them after
//! several updates, and all settings for a connection that knows nothing.

use std::time::Instant;

use serde_json::{Map, Value, json};
use tollgate_core::tool::ToolEffect;

use super::super::handover::audio_format;
use super::super::wire::OpenAiOutbox;
use super::{OpenAiSessionConfig, OpenAiSessionKind, PendingSessionUpdate};
use crate::realtime::audio::AudioFormat;

/// Fields that are told apart from these, or that no update can change.
const NOT_REMEMBERED: [&str; 3] = ["tools", "instructions", "model"];

/// Applies an update: a field that is present replaces the former one. Only `audio` and its two
/// sides are joined, as the provider does.
pub(in crate::realtime) fn remember(
    settings: &mut Map<String, Value>,
    update: &Map<String, Value>,
) {
    for (key, value) in update {
        if NOT_REMEMBERED.contains(&key.as_str()) {
            continue;
        }
        match (key.as_str(), value, settings.get_mut(key)) {
            ("audio", Value::Object(sides), Some(Value::Object(known))) => join(known, sides),
            _ => {
                settings.insert(key.clone(), value.clone());
            }
        }
    }
}

impl OpenAiSessionConfig {
    /// The updates for a connection that knows nothing: the client's settings first, so that one
    /// that is refused does not take the tools along. An update of the client without an answer is
    /// answered with the last of them.
    pub(in super::super) fn restart(
        &mut self,
        post: &mut OpenAiOutbox,
        now: Instant,
    ) -> Vec<String> {
        let unanswered = self.updates.drain(..).rev().find_map(|update| match update {
            PendingSessionUpdate::Ours | PendingSessionUpdate::TurnDetection => None,
            PendingSessionUpdate::Clients { event_id, .. } => Some(event_id),
        });
        self.declared = None;
        self.due = None;
        let mut sessions = Vec::new();
        if self.client.session.keys().any(|key| key != "type") {
            sessions.push(Value::Object(self.client.session.clone()));
        }
        let wanted = self.next_declaration();
        let tools = self.merge_tools(&self.client.tools);
        let instructions = self.manner();
        if self.kind == OpenAiSessionKind::Conversation
            && (!tools.is_empty() || instructions.is_some())
        {
            let mut session = json!({ "type": "realtime", "tools": tools });
            if let Some(instructions) = instructions {
                session["instructions"] = instructions.into();
            }
            sessions.push(session);
        }
        if sessions.is_empty() && unanswered.is_some() {
            sessions.push(json!({ "type": "realtime" }));
        }
        if self.kind == OpenAiSessionKind::Conversation {
            self.declared = Some(wanted);
        }
        self.last = Some(now);
        let last = sessions.pop();
        let mut updates: Vec<String> =
            sessions.iter().map(|session| self.update(post, session)).collect();
        match (last, unanswered) {
            (Some(session), Some(event_id)) => {
                self.remember_offered_names();
                let update =
                    json!({ "type": "session.update", "event_id": event_id, "session": session });
                updates.push(update.to_string());
                let before = self.client.clone();
                self.push_pending_update(PendingSessionUpdate::Clients { event_id, before });
            }
            (Some(session), None) => updates.push(self.update(post, &session)),
            (None, _) => {}
        }
        updates
    }

    /// The settings of a client, before a connection has them.
    pub(in super::super) fn take_settings(&mut self, session: &Map<String, Value>) {
        remember(&mut self.client.session, session);
        self.take_from_client(&mut session.clone());
        self.declared = None;
    }

    /// All settings of the client, as an update of its own.
    pub(in super::super) fn client_settings(&self) -> Value {
        let mut session = self.client.session.clone();
        if !self.client.tools.is_empty() {
            session.insert("tools".to_owned(), self.client.tools.clone().into());
        }
        if let Some(instructions) = &self.client.instructions {
            session.insert("instructions".to_owned(), instructions.as_str().into());
        }
        json!({ "type": "session.update", "session": session })
    }

    pub(in super::super) fn input_format(&self) -> AudioFormat {
        audio_format(&self.client.session)
    }

    /// Whether the provider itself notices when the caller speaks.
    pub(in super::super) fn detects_turns(&self) -> bool {
        turn_detection(&self.client.session).is_none_or(|detection| !detection.is_null())
    }

    /// Whether the provider answers by itself when the caller has finished.
    pub(in super::super) fn creates_responses(&self) -> bool {
        turn_detection(&self.client.session).is_none_or(|detection| {
            !detection.is_null() && detection.get("create_response") != Some(&Value::Bool(false))
        })
    }

    /// Whether this tool of ours changes nothing.
    pub(in super::super) fn is_read_only(&self, name: &str) -> bool {
        let tool = self.offer.tools.iter().find(|tool| tool.name == name);
        tool.is_some_and(|tool| tool.effect == ToolEffect::ReadOnly)
    }
}

/// The client's own setting; `None`: the provider's default.
fn turn_detection(settings: &Map<String, Value>) -> Option<&Value> {
    settings.get("audio")?.get("input")?.get("turn_detection")
}

fn join(known: &mut Map<String, Value>, sides: &Map<String, Value>) {
    for (side, value) in sides {
        match (value, known.get_mut(side)) {
            (Value::Object(fields), Some(Value::Object(known))) => known.extend(fields.clone()),
            _ => {
                known.insert(side.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{remember, turn_detection};

    fn update(settings: &mut Map<String, Value>, update: &Value) {
        remember(settings, update.as_object().unwrap());
    }

    #[test]
    fn later_updates_change_only_what_they_name() {
        let mut settings = Map::new();
        let vad = json!({"type": "server_vad", "threshold": 0.5});
        update(
            &mut settings,
            &json!({"type": "realtime", "tools": [], "instructions": "x",
            "audio": {"input": {"turn_detection": vad}, "output": {"voice": "marin"}}}),
        );
        let semantic = json!({"type": "semantic_vad"});
        update(&mut settings, &json!({"audio": {"input": {"turn_detection": semantic}}}));
        let expected = json!({"type": "realtime", "audio": {
            "input": {"turn_detection": semantic}, "output": {"voice": "marin"}}});
        assert_eq!(Value::Object(settings.clone()), expected);
        assert_eq!(turn_detection(&settings), Some(&semantic));
        update(&mut settings, &json!({"audio": {"input": {"turn_detection": null}}}));
        assert_eq!(turn_detection(&settings), Some(&Value::Null));
    }
}
