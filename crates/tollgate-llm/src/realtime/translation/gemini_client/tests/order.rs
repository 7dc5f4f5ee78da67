//! The order of Gemini's messages, as a client may rely on it.

use serde_json::Value;

/// Checks each message against those before it.
#[derive(Default)]
pub(super) struct OrderCheck {
    setups: u32,
    is_generated: bool,
    calls: Vec<String>,
}

impl OrderCheck {
    pub(super) fn check(&mut self, message: &Value) {
        let fields = message.as_object().unwrap();
        if fields.contains_key("error") || fields.contains_key("tollgate") {
            return;
        }
        if fields.contains_key("setupComplete") {
            assert_eq!(self.setups, 0, "set up twice");
            self.setups += 1;
            return;
        }
        assert_eq!(self.setups, 1, "before the setup: {message}");
        let content = &message["serverContent"];
        if content.get("modelTurn").is_some() {
            assert!(!self.is_generated, "content of a generated turn: {message}");
        }
        if content.get("generationComplete").is_some() {
            assert!(!self.is_generated, "generated twice");
            self.is_generated = true;
        }
        if content.get("turnComplete").is_some() {
            self.is_generated = false;
        }
        for call in message["toolCall"]["functionCalls"].as_array().into_iter().flatten() {
            self.calls.push(call["id"].as_str().unwrap().to_owned());
        }
    }

    pub(super) fn call(&mut self) -> Option<String> {
        self.calls.pop()
    }
}
