//! JSON representation of the gate's notices, for the event stream.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tollgate_core::date;
use tollgate_core::tool::hidden_text::visible;
use tollgate_core::turn::Principal;
use tollgate_engine::notices::{Notice, NoticeCall};

use crate::events::ServerSentEvent;
use crate::wire_schema::{MusicWord, ServerStateWord, TierWord, Time};

pub(crate) mod realtime;

pub(super) fn event(notice: &Notice) -> ServerSentEvent {
    match notice {
        Notice::Slow { call, message } => ServerSentEvent::new(
            "slow",
            &SlowCallJson { call: NoticeCallJson::from(call), message },
        ),
        Notice::Late { call, handle, status } => {
            let late = LateResultJson {
                call: NoticeCallJson::from(call),
                handle: handle.to_string(),
                status: status.as_str(),
            };
            ServerSentEvent::new("late", &late)
        }
        Notice::ApprovalRequested { id, call, why, until } => {
            let requested = ApprovalRequestedJson {
                id: id.to_string(),
                call: NoticeCallJson::from(call),
                why: why.as_str(),
                until: date::format_rfc3339(*until),
            };
            ServerSentEvent::new("approval_requested", &requested)
        }
        Notice::ApprovalDecided { id, call, ending, by } => {
            let decided = ApprovalDecidedJson {
                id: id.to_string(),
                call: NoticeCallJson::from(call),
                outcome: ending.as_str(),
                by: by.as_ref().map(Principal::as_str),
            };
            ServerSentEvent::new("approval_decided", &decided)
        }
        Notice::Moved { tool, from, to, reason } => {
            let moved = TierMovedJson {
                server: tool.server.as_str(),
                tool: tool.tool.as_str(),
                from: from.as_str(),
                to: to.as_str(),
                reason,
            };
            ServerSentEvent::new("moved", &moved)
        }
        Notice::Reloaded { by, error } => ServerSentEvent::new(
            "reloaded",
            &ConfigReloadedJson { by, ok: error.is_none(), error: error.as_deref() },
        ),
        Notice::Doubted { tool, exposed, verdict, reason } => {
            let doubted = DoubtedToolJson {
                server: tool.server.as_str(),
                tool: tool.tool.as_str(),
                name: exposed.as_str(),
                verdict,
                reason: visible(reason),
            };
            ServerSentEvent::new("doubted", &doubted)
        }
        Notice::Judged { tool, hash, decision, by } => {
            let judged = ToolDecisionJson {
                server: tool.server.as_str(),
                tool: tool.tool.as_str(),
                hash: hash.to_string(),
                decision,
                by,
            };
            ServerSentEvent::new("judged", &judged)
        }
        Notice::Music { namespace, principal, played } => {
            music(namespace.as_str(), principal, played.as_ref())
        }
        Notice::Server { server, state, reason, since } => {
            let changed = ServerStateJson {
                id: server.as_str(),
                state,
                reason: visible(reason),
                since: date::format_rfc3339(*since),
            };
            ServerSentEvent::new("server_changed", &changed)
        }
        Notice::Live { session, event } => realtime::event(session, event),
    }
}

fn music(namespace: &str, by: &Principal, played: Option<&(Value, String)>) -> ServerSentEvent {
    let music = MusicNoticeJson {
        action: if played.is_some() { "play" } else { "stop" },
        namespace,
        by: by.as_str(),
        mood: played.map(|(_, mood)| mood.as_str()),
        track: played.map(|(track, _)| track),
    };
    ServerSentEvent::new("music", &music)
}

#[derive(JsonSchema, Serialize)]
struct NoticeCallJson<'a> {
    principal: &'a str,
    agent: &'a str,
    name: &'a str,
    server: &'a str,
    tool: &'a str,
}

impl<'a> From<&'a NoticeCall> for NoticeCallJson<'a> {
    fn from(call: &'a NoticeCall) -> Self {
        Self {
            principal: call.principal.as_str(),
            agent: call.agent.as_str(),
            name: &call.exposed,
            server: call.tool.server.as_str(),
            tool: call.tool.tool.as_str(),
        }
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct MusicNoticeJson<'a> {
    #[schemars(with = "MusicWord")]
    action: &'static str,
    namespace: &'a str,
    by: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mood: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    track: Option<&'a Value>,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct SlowCallJson<'a> {
    #[serde(flatten)]
    call: NoticeCallJson<'a>,
    message: &'a str,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct LateResultJson<'a> {
    #[serde(flatten)]
    call: NoticeCallJson<'a>,
    handle: String,
    status: &'static str,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ApprovalRequestedJson<'a> {
    id: String,
    #[serde(flatten)]
    call: NoticeCallJson<'a>,
    why: &'static str,
    #[schemars(with = "Time")]
    until: String,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ApprovalDecidedJson<'a> {
    id: String,
    #[serde(flatten)]
    call: NoticeCallJson<'a>,
    outcome: &'static str,
    by: Option<&'a str>,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct TierMovedJson<'a> {
    server: &'a str,
    tool: &'a str,
    #[schemars(with = "TierWord")]
    from: &'static str,
    #[schemars(with = "TierWord")]
    to: &'static str,
    reason: &'a str,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ConfigReloadedJson<'a> {
    by: &'a str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ServerStateJson<'a> {
    id: &'a str,
    #[schemars(with = "ServerStateWord")]
    state: &'static str,
    reason: String,
    #[schemars(with = "Time")]
    since: String,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct DoubtedToolJson<'a> {
    server: &'a str,
    tool: &'a str,
    name: &'a str,
    verdict: &'static str,
    reason: String,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ToolDecisionJson<'a> {
    server: &'a str,
    tool: &'a str,
    hash: String,
    decision: &'static str,
    by: &'a str,
}

#[cfg(test)]
mod tests {
    use tollgate_core::budget::Tier;
    use tollgate_core::id::{ServerId, ToolId, ToolName};
    use tollgate_core::memory::Namespace;
    use tollgate_core::turn::Principal;
    use tollgate_engine::notices::Notice;

    #[test]
    fn music_is_told_with_its_track() {
        let namespace = Namespace::parse("waterdeep").unwrap();
        let principal = Principal::from_name("key:bard");
        let played = Some((serde_json::json!({ "title": "Drums" }), "battle".to_owned()));
        for (played, expected) in [
            (
                played,
                r#"{"action":"play","namespace":"waterdeep","by":"key:bard","mood":"battle","track":{"title":"Drums"}}"#,
            ),
            (None, r#"{"action":"stop","namespace":"waterdeep","by":"key:bard"}"#),
        ] {
            let namespace = namespace.clone();
            let principal = principal.clone();
            let event = super::event(&Notice::Music { namespace, principal, played });
            assert_eq!((event.name, event.data.as_str()), ("music", expected));
        }
    }

    #[test]
    fn a_tool_that_moved_is_told_with_the_reason() {
        let tool = ToolId { server: ServerId::parse("web").unwrap(), tool: ToolName::new("find") };
        let reason = "measured p50 620 ms over 37 calls".to_owned();
        let event =
            super::event(&Notice::Moved { tool, from: Tier::Fast, to: Tier::Standard, reason });
        assert_eq!(event.name, "moved");
        assert_eq!(
            event.data,
            r#"{"server":"web","tool":"find","from":"fast","to":"standard","reason":"measured p50 620 ms over 37 calls"}"#
        );
    }
}
