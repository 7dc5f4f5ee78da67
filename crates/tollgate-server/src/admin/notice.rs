//! How notices of the gate are shown.

use serde::Serialize;
use serde_json::Value;
use tollgate_core::date;
use tollgate_core::tool::hidden::visible;
use tollgate_core::turn::Principal;
use tollgate_engine::notices::{Call, Notice};

use crate::events::Event;

mod live;

pub(super) fn event(notice: &Notice) -> Event {
    match notice {
        Notice::Slow { call, message } => {
            Event::new("slow", &Slow { call: CallJson::from(call), message })
        }
        Notice::Late { call, handle, status } => {
            let late = Late {
                call: CallJson::from(call),
                handle: handle.to_string(),
                status: status.as_str(),
            };
            Event::new("late", &late)
        }
        Notice::ApprovalRequested { id, call, why, until } => {
            let requested = Requested {
                id: id.to_string(),
                call: CallJson::from(call),
                why: why.as_str(),
                until: date::written(*until),
            };
            Event::new("approval_requested", &requested)
        }
        Notice::ApprovalDecided { id, call, ending, by } => {
            let decided = Decided {
                id: id.to_string(),
                call: CallJson::from(call),
                outcome: ending.as_str(),
                by: by.as_ref().map(Principal::as_str),
            };
            Event::new("approval_decided", &decided)
        }
        Notice::Moved { tool, from, to, reason } => {
            let moved = Moved {
                server: tool.server.as_str(),
                tool: tool.tool.as_str(),
                from: from.as_str(),
                to: to.as_str(),
                reason,
            };
            Event::new("moved", &moved)
        }
        Notice::Reloaded { by, error } => {
            Event::new("reloaded", &Reloaded { by, ok: error.is_none(), error: error.as_deref() })
        }
        Notice::Doubted { tool, exposed, verdict, reason } => {
            let doubted = Doubted {
                server: tool.server.as_str(),
                tool: tool.tool.as_str(),
                name: exposed.as_str(),
                verdict,
                reason: visible(reason),
            };
            Event::new("doubted", &doubted)
        }
        Notice::Judged { tool, hash, decision, by } => {
            let judged = Judged {
                server: tool.server.as_str(),
                tool: tool.tool.as_str(),
                hash: hash.to_string(),
                decision,
                by,
            };
            Event::new("judged", &judged)
        }
        Notice::Music { namespace, principal, played } => {
            music((namespace.as_str(), principal), played.as_ref())
        }
        Notice::Server { server, state, reason, since } => {
            let changed = Changed {
                id: server.as_str(),
                state,
                reason: visible(reason),
                since: date::written(*since),
            };
            Event::new("server_changed", &changed)
        }
        Notice::Live { session, event } => live::event(session, event),
    }
}

fn music((namespace, by): (&str, &Principal), played: Option<&(Value, String)>) -> Event {
    let music = Music {
        action: if played.is_some() { "play" } else { "stop" },
        namespace,
        by: by.as_str(),
        mood: played.map(|(_, mood)| mood.as_str()),
        track: played.map(|(track, _)| track),
    };
    Event::new("music", &music)
}

#[derive(Serialize)]
struct CallJson<'a> {
    principal: &'a str,
    agent: &'a str,
    name: &'a str,
    server: &'a str,
    tool: &'a str,
}

impl<'a> From<&'a Call> for CallJson<'a> {
    fn from(call: &'a Call) -> Self {
        Self {
            principal: call.principal.as_str(),
            agent: call.agent.as_str(),
            name: &call.exposed,
            server: call.tool.server.as_str(),
            tool: call.tool.tool.as_str(),
        }
    }
}

#[derive(Serialize)]
struct Music<'a> {
    action: &'static str,
    namespace: &'a str,
    by: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mood: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    track: Option<&'a Value>,
}

#[derive(Serialize)]
struct Slow<'a> {
    #[serde(flatten)]
    call: CallJson<'a>,
    message: &'a str,
}

#[derive(Serialize)]
struct Late<'a> {
    #[serde(flatten)]
    call: CallJson<'a>,
    handle: String,
    status: &'static str,
}

#[derive(Serialize)]
struct Requested<'a> {
    id: String,
    #[serde(flatten)]
    call: CallJson<'a>,
    why: &'static str,
    until: String,
}

#[derive(Serialize)]
struct Decided<'a> {
    id: String,
    #[serde(flatten)]
    call: CallJson<'a>,
    outcome: &'static str,
    by: Option<&'a str>,
}

#[derive(Serialize)]
struct Moved<'a> {
    server: &'a str,
    tool: &'a str,
    from: &'static str,
    to: &'static str,
    reason: &'a str,
}

#[derive(Serialize)]
struct Reloaded<'a> {
    by: &'a str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct Changed<'a> {
    id: &'a str,
    state: &'static str,
    reason: String,
    since: String,
}

#[derive(Serialize)]
struct Doubted<'a> {
    server: &'a str,
    tool: &'a str,
    name: &'a str,
    verdict: &'static str,
    reason: String,
}

#[derive(Serialize)]
struct Judged<'a> {
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
        let principal = Principal::named("key:bard");
        let played = Some((serde_json::json!({ "title": "Drums" }), "battle".to_owned()));
        for (played, expected) in [
            (
                played,
                r#"{"action":"play","namespace":"waterdeep","by":"key:bard","mood":"battle","track":{"title":"Drums"}}"#,
            ),
            (None, r#"{"action":"stop","namespace":"waterdeep","by":"key:bard"}"#),
        ] {
            let (namespace, principal) = (namespace.clone(), principal.clone());
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
