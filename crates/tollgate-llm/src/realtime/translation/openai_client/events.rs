//! Events of the OpenAI protocol for its client: ids, envelopes, errors.

use serde_json::{Value, json};

/// Writes events; ids are unique in a process with a random salt.
#[derive(Debug)]
pub(super) struct EventWriter {
    salt: u64,
    count: u64,
}

/// Why an event of the client is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventRefusal {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// The field that is wrong, from the event's root.
    pub(super) param: Option<String>,
}

impl EventRefusal {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), param: None }
    }

    pub(super) fn of(
        param: impl Into<String>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { code, message: message.into(), param: Some(param.into()) }
    }

    /// The other protocol has nothing like it.
    pub(super) fn untranslatable(param: impl Into<String>) -> Self {
        let param = param.into();
        let message = format!(
            "`{param}` is not supported: this model is behind the Gemini Live protocol, which has \
             nothing like it"
        );
        Self { code: "unsupported_by_model", message, param: Some(param) }
    }
}

impl EventWriter {
    pub(super) fn new(salt: u64) -> Self {
        Self { salt, count: 0 }
    }

    /// At most 32 characters, like the ids of OpenAI.
    pub(super) fn id(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}_{:012x}{:06}", self.salt & 0xffff_ffff_ffff, self.count)
    }

    /// `fields`: an object.
    pub(super) fn write(&mut self, kind: &str, fields: Value) -> String {
        let mut event = json!({"type": kind, "event_id": self.id("event")});
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        event.to_string()
    }

    /// `event_id`: the client's id of its event.
    pub(super) fn error(&mut self, refusal: &EventRefusal, event_id: Option<&str>) -> String {
        let error = json!({
            "type": "invalid_request_error", "code": refusal.code, "message": refusal.message,
            "param": refusal.param, "event_id": event_id,
        });
        self.write("error", json!({"error": error}))
    }

    /// An error that no event of the client has caused.
    pub(super) fn server_error(&mut self, message: &str) -> String {
        let error = json!({
            "type": "server_error", "code": null, "message": message, "param": null,
            "event_id": null,
        });
        self.write("error", json!({"error": error}))
    }
}
