//! Translates notifications of a server during a call into messages for the client of that call.

use std::sync::Arc;

use serde_json::value::RawValue;
use tollgate_core::json::{self, Object};
use tollgate_core::lease::RevokedError;
use tollgate_mcp::client::Event;
use tollgate_mcp::envelope::write;
use tollgate_mcp::meta::PROGRESS_TOKEN;

use crate::mcp_session::{McpLogLevel, McpSession};

/// Encodes events as messages for one client request.
pub(super) struct NotificationWriter {
    /// The client's progress token. Without one it gets no progress.
    pub(super) token: Option<Box<RawValue>>,
    pub(super) target: NotificationTarget,
}

pub(super) enum NotificationTarget {
    /// Minimum log level, `None` for no logs. Never a question.
    Modern(Option<McpLogLevel>),
    Legacy(Arc<McpSession>),
}

impl NotificationWriter {
    /// `None`: not sent to this client.
    pub(super) fn say(&self, event: Event) -> Option<String> {
        match event {
            Event::Progress(params) => self.progress(params),
            Event::Log(params) => {
                let level = Object::parse(params.get()).ok()?.string("level")?.into_owned();
                self.log(McpLogLevel::parse(&level)?, params.get())
            }
            Event::Announcement(message) => {
                let mut params = Object::new();
                params.set_string("level", "notice");
                params.set_string("logger", "tollgate");
                params.set_string("data", &message);
                self.log(McpLogLevel::Notice, &params.to_text())
            }
            Event::Question(question) => match &self.target {
                NotificationTarget::Legacy(session) => Some(session.ask(question)),
                NotificationTarget::Modern(_) => None,
            },
        }
    }

    fn log(&self, level: McpLogLevel, params: &str) -> Option<String> {
        let from = match &self.target {
            NotificationTarget::Modern(from) => (*from)?,
            NotificationTarget::Legacy(session) => session.log_level(),
        };
        (level >= from).then(|| write::notification("notifications/message", params))
    }

    fn progress(&self, mut params: Object<'static>) -> Option<String> {
        let token = self.token.clone()?;
        params.set(PROGRESS_TOKEN, token);
        Some(write::notification("notifications/progress", &params.to_text()))
    }
}

/// The last message of a stream that is closed because access was revoked.
pub(super) fn closing(why: &RevokedError) -> String {
    let mut params = Object::new();
    params.set_string("level", "error");
    params.set_string("logger", "tollgate");
    params.set_string("data", &format!("this stream was closed, revoked: {why}"));
    write::notification("notifications/message", &params.to_text())
}

/// The params of a notification, with the id of its subscription if it has one.
pub(super) fn with_subscription_id(
    mut params: Object<'_>,
    subscription: Option<&RawValue>,
) -> String {
    if let Some(id) = subscription {
        let mut meta = Object::new();
        meta.set(tollgate_mcp::meta::SUBSCRIPTION_ID, id.to_owned());
        params.set("_meta", json::raw(meta.to_text()));
    }
    params.to_text()
}

#[cfg(test)]
mod tests {
    use tollgate_core::json;
    use tollgate_core::json::Object;
    use tollgate_mcp::client::Event;

    use super::{McpLogLevel, NotificationTarget, NotificationWriter};

    fn log(level: &str, from: Option<McpLogLevel>) -> bool {
        let voice = NotificationWriter { token: None, target: NotificationTarget::Modern(from) };
        let params = json::raw(format!(r#"{{"level":"{level}","data":1}}"#));
        voice.say(Event::Log(params)).is_some()
    }

    #[test]
    fn logs_are_heard_from_the_level_that_was_asked_for() {
        assert!(log("error", Some(McpLogLevel::Warning)));
        assert!(log("warning", Some(McpLogLevel::Warning)));
        assert!(!log("info", Some(McpLogLevel::Warning)));
        assert!(!log("emergency", None), "nobody asked");
        assert!(!log("loud", Some(McpLogLevel::Debug)), "no such level");
    }

    #[test]
    fn b_jr_27_progress_bears_the_clients_own_token() {
        let progress = || Event::Progress(Object::parse(r#"{"progress":1}"#).unwrap());
        let voice = |token: Option<&str>| NotificationWriter {
            token: token.map(|text| json::raw(text.to_owned())),
            target: NotificationTarget::Modern(None),
        };
        assert_eq!(voice(None).say(progress()), None);
        assert_eq!(
            voice(Some("\"t\"")).say(progress()).as_deref(),
            Some(
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":"t"}}"#
            )
        );
    }
}
