//! Webhook for incoming telephone calls (SIP): verifies the provider's signature (Standard Webhooks)
//! and answers the call with the agent that the config names. Nothing in the event is trusted but the
//! id of the call, and that only after the signature was verified.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::request::Parts;
use ring::hmac;
use serde_json::{Map, Value};
use tollgate_core::filter::RequestFilter;
use tollgate_core::turn::Principal;
use tollgate_llm::realtime::{ProviderSessionTarget, RealtimeProtocol};

use super::super::session::PendingSession;
use super::super::session_config::MAX_SESSION_BYTES;
use super::control::{IncomingCall, accept_incoming};
use super::enter;
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::auth::{CallerLease, CallerReach, Right};
use crate::call_registry::ProviderCallId;
use crate::fields::check_query;
use crate::incoming_calls::{IncomingCallSettings, IncomingCallWebhook, MAX_AGE, signing_key};
use crate::request_context::{RequestContext, RequestLink, header};
use crate::webhook;

const MAX_EVENT_ID_BYTES: usize = 256;
const INCOMING: &str = "realtime.call.incoming";

/// `POST /v1/realtime/incoming/{name}`: needs no key, but a signature.
pub(crate) async fn receive(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    match receive_event(&front, &name, &sent, body).await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(problem) => webhook::refuse(&front, webhook::peer_address(&sent.extensions), problem),
    }
}

async fn receive_event(
    front: &Arc<AppState>,
    name: &str,
    sent: &Parts,
    body: Body,
) -> Result<(), ApiError> {
    check_query(&sent.uri, &[])?;
    let webhook = front.incoming.find(name).ok_or(NO_WEBHOOK)?;
    let body = webhook::read_json(front, sent, body, MAX_SESSION_BYTES).await?;
    let now = front.clock.wall();
    let id = verify(&webhook.settings, sent, &body, now)?;
    let Some(call) = incoming_call(&body) else { return Ok(()) };
    let id = format!("{name} {id}");
    if !front.incoming.is_new(&id, now)? {
        return Ok(());
    }
    let answered = answer(front, &webhook, call).await;
    if answered.is_err() {
        front.incoming.forget(&id);
    }
    answered
}

/// The id of the event, if its signature is right.
fn verify(
    settings: &IncomingCallSettings,
    sent: &Parts,
    body: &[u8],
    now: SystemTime,
) -> Result<String, ApiError> {
    let needed = |name: &str| header(sent, name)?.ok_or_else(bad_signature);
    let id = needed("webhook-id")?;
    let timestamp = needed("webhook-timestamp")?;
    let signatures = needed("webhook-signature")?;
    let key = signing_key(settings.secret.reveal()).ok_or_else(bad_signature)?;
    let message = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    let is_right = |signature: &str| {
        let bytes = signature.strip_prefix("v1,").and_then(|it| STANDARD.decode(it).ok());
        bytes.is_some_and(|bytes| hmac::verify(&key, &message, &bytes).is_ok())
    };
    let sent_at = timestamp.parse().ok().map(|it| UNIX_EPOCH + Duration::from_secs(it));
    let is_recent = sent_at.is_some_and(|at: SystemTime| {
        let apart = now.duration_since(at).or_else(|_| at.duration_since(now));
        apart.is_ok_and(|apart| apart <= MAX_AGE)
    });
    let is_id = !id.is_empty() && id.len() <= MAX_EVENT_ID_BYTES;
    if !is_id || !is_recent || !signatures.split(' ').any(is_right) {
        return Err(bad_signature());
    }
    Ok(id.to_owned())
}

/// The call of an event; `None`: an event of another kind.
fn incoming_call(body: &[u8]) -> Option<ProviderCallId> {
    let event: Value = serde_json::from_slice(body).ok()?;
    let call = event.pointer("/data/call_id").filter(|_| event["type"] == INCOMING)?;
    ProviderCallId::parse(call.as_str()?)
}

async fn answer(
    front: &Arc<AppState>,
    webhook: &IncomingCallWebhook,
    id: ProviderCallId,
) -> Result<(), ApiError> {
    let IncomingCallSettings { name, agent, model, .. } = &webhook.settings;
    let who = RequestContext {
        principal: Principal::from_name(&format!("webhook:{name}")),
        rights: [Right::Execute, Right::AnyModel].into_iter().collect(),
        grant: None,
        agent: Some(agent.as_str().into()),
        reach: CallerReach::Everybody,
        tier: None,
        narrow: RequestFilter::default(),
        lease: CallerLease::of(&webhook.term, None),
        trace: None,
        address: None,
        link: RequestLink::default(),
    };
    let permit = enter(front, &who)?;
    // The headers of the event are not signed, so none of them may decide anything.
    let (unsigned, ()) = http::Request::new(()).into_parts();
    let protocol = RealtimeProtocol::OpenAiSideband;
    let target = ProviderSessionTarget::New;
    let pending = PendingSession::new(front, &unsigned, who, protocol, target)?;
    let request = pending.session_request(model.as_deref())?;
    let call = IncomingCall { id, pending, request, permit, session: Map::new() };
    accept_incoming(front, call).await
}

const NO_WEBHOOK: ApiError = ApiError::new(
    StatusCode::NOT_FOUND,
    "not_found",
    "there is no webhook of this name under `incoming_calls` of the config",
);

fn bad_signature() -> ApiError {
    webhook::signature_error(
        "the event has no valid signature of the webhook's secret, or is older than five minutes",
    )
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use http::{HeaderName, Request};
    use tollgate_core::id::AgentId;
    use tollgate_core::secret::Secret;

    use super::{IncomingCallSettings, incoming_call, verify};
    use crate::incoming_calls::{IncomingCalls, MAX_EVENTS};

    /// The example of the specification of Standard Webhooks.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const AT: u64 = 1_614_265_330;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn check(changed: &[(&'static str, &str)], body: &[u8], after: i64) -> &'static str {
        let settings = IncomingCallSettings {
            name: "openai".to_owned(),
            secret: Secret::new(SECRET),
            agent: AgentId::parse("barkeep").unwrap(),
            model: None,
        };
        let at = AT.to_string();
        let mut request = Request::new(());
        for (name, value) in
            [("webhook-id", ID), ("webhook-timestamp", &at), ("webhook-signature", SIGNATURE)]
                .iter()
                .chain(changed)
        {
            let name = HeaderName::from_static(name);
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let now = UNIX_EPOCH + Duration::from_secs(AT.checked_add_signed(after).unwrap());
        let verified = verify(&settings, &request.into_parts().0, body, now);
        verified.map_or_else(|problem| problem.code, |_| "ok")
    }

    #[test]
    fn only_a_signed_and_recent_event_is_taken() {
        assert_eq!(check(&[], BODY, 0), "ok");
        assert_eq!(check(&[], BODY, 300), "ok");
        assert_eq!(check(&[], BODY, -300), "ok");
        assert_eq!(check(&[], BODY, 301), "bad_signature", "replayed later");
        assert_eq!(check(&[], BODY, -301), "bad_signature");
        assert_eq!(check(&[], br#"{"test": 2432232315}"#, 0), "bad_signature");
        assert_eq!(check(&[("webhook-id", "msg_other")], BODY, 0), "bad_signature");
        assert_eq!(check(&[("webhook-timestamp", "1614265331")], BODY, 0), "bad_signature");
        assert_eq!(check(&[("webhook-timestamp", "soon")], BODY, 0), "bad_signature");
        let rotated = format!("v1,AAAA {SIGNATURE} v2,x");
        assert_eq!(check(&[("webhook-signature", &rotated)], BODY, 0), "ok", "one of several");
        let other = SIGNATURE.replace("v1,", "v1a,");
        assert_eq!(check(&[("webhook-signature", &other)], BODY, 0), "bad_signature");
        assert_eq!(check(&[("webhook-signature", "")], BODY, 0), "bad_signature");
    }

    #[test]
    fn only_events_of_incoming_calls_have_a_call() {
        let call = |body: &str| incoming_call(body.as_bytes()).map(|id| id.to_string());
        let incoming = r#"{"type": "realtime.call.incoming", "data": {"call_id": "rtc_1"}}"#;
        assert_eq!(call(incoming).as_deref(), Some("rtc_1"));
        assert_eq!(call(&incoming.replace("incoming", "ended")), None);
        assert_eq!(call(&incoming.replace("rtc_1", "../models")), None);
        assert_eq!(call("[]"), None);
        assert_eq!(call("no"), None);
    }

    #[test]
    fn an_event_is_new_once_and_the_memory_of_events_is_bounded() {
        let calls = IncomingCalls::default();
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(calls.is_new("a", at(0)).unwrap());
        assert!(!calls.is_new("a", at(10)).unwrap());
        calls.forget("a");
        assert!(calls.is_new("a", at(20)).unwrap(), "it failed the first time");
        for number in 1..MAX_EVENTS {
            assert!(calls.is_new(&number.to_string(), at(20)).unwrap());
        }
        assert_eq!(calls.is_new("more", at(600)).unwrap_err().code, "too_busy");
        assert!(calls.is_new("more", at(700)).unwrap(), "old ones are forgotten");
    }
}
