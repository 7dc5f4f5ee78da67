//! Opens a session at a provider: at the first place of its models that accepts it, within one
//! bounded total. Independent of the session that follows.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;
use tollgate_core::json::Object;
use tollgate_core::trace::Trace;

use super::protocol::RealtimeProtocol;
use super::translation;
use crate::error::{LlmError, LlmErrorKind};
use crate::provider::{LiveCandidate, LiveTarget, ModelHandle, ProviderSocket, dial_order};

/// Time for all attempts together, if there are several: clients give up after ten seconds.
const DIAL_TIMEOUT: Duration = Duration::from_secs(9);
/// Reserved for each attempt that may still follow.
const MIN_ATTEMPT: Duration = Duration::from_secs(1);
/// A provider that says nothing for this long after the upgrade has accepted.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for the close frame after an error.
const CLOSE_FRAME_TIMEOUT: Duration = Duration::from_millis(500);

/// A provider that has accepted a session.
pub struct DialedProvider {
    pub(super) socket: ProviderSocket,
    pub(super) served: ServedBy,
    /// Its first message, which was read to see whether it accepts.
    pub(super) greeting: Option<Message>,
}

/// The model of a session, and where it is served.
pub(super) struct ServedBy {
    pub(super) model: Arc<ModelHandle>,
    pub(super) target: LiveTarget,
}

/// Target of the session at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderSessionTarget {
    /// A new session.
    New,
    /// An existing call (sideband) or session (GPT-Live).
    Attached(String),
    /// The API version that a Gemini client requests, such as `v1beta`.
    Version(String),
}

/// The models to connect to, in order, and what to request of them.
pub(super) struct DialPlan {
    models: Vec<Arc<ModelHandle>>,
    only: Option<LiveTarget>,
    /// The client's; each model is dialled in its own provider's.
    client: RealtimeProtocol,
    place: ProviderSessionTarget,
    trace: Option<Arc<Trace>>,
}

impl DialPlan {
    pub(super) fn new(
        models: Vec<Arc<ModelHandle>>,
        client: RealtimeProtocol,
        place: &ProviderSessionTarget,
        trace: Option<Arc<Trace>>,
    ) -> Self {
        Self { models, only: None, client, place: place.clone(), trace }
    }

    /// Only at this place of the first model: a session cannot be resumed elsewhere.
    pub(super) fn only_at(self, target: LiveTarget) -> Self {
        Self { only: Some(target), ..self }
    }

    /// Reports the first error if all fail: it is about the model that was requested.
    pub(super) async fn dial(self) -> Result<DialedProvider, LlmError> {
        let candidates = self.candidates();
        let until = candidates.first().map(|first| first.target.now() + total_time(&candidates));
        let others = candidates.len().saturating_sub(1);
        let mut first_failure = None;
        for (at, candidate) in candidates.into_iter().enumerate() {
            let following = u32::try_from(others - at).unwrap_or(u32::MAX);
            let left = until.map(|until| until.saturating_duration_since(candidate.target.now()));
            let left = left.unwrap_or_default();
            let limit = candidate.target.connect_timeout();
            let limit = match others {
                0 => limit,
                _ => limit.min(left.saturating_sub(MIN_ATTEMPT * following)),
            };
            if limit.is_zero() {
                continue;
            }
            match self.attempt(candidate, limit, others > 0).await {
                Ok(dialed) => return Ok(dialed),
                Err(failure) => {
                    if others > 0 {
                        tracing::error!(code = failure.kind.code(), %failure,
                            "a provider does not take a live session; the next one is asked");
                    }
                    first_failure.get_or_insert(failure);
                }
            }
        }
        let nobody = || LlmError::invalid("model", "the model does not support live sessions");
        Err(first_failure.unwrap_or_else(nobody))
    }

    fn candidates(&self) -> Vec<LiveCandidate> {
        match (&self.only, self.models.first()) {
            (Some(target), Some(model)) => {
                vec![LiveCandidate { model: Arc::clone(model), target: target.clone() }]
            }
            _ => dial_order(&self.models),
        }
    }

    /// Reads the provider's first message only if another one could take over: where there is none,
    /// the client sees the provider's own answer.
    async fn attempt(
        &self,
        candidate: LiveCandidate,
        limit: Duration,
        reads_greeting: bool,
    ) -> Result<DialedProvider, LlmError> {
        let LiveCandidate { model, target } = candidate;
        let live = translation::provider_protocol(self.client, &model);
        let attempt = target.begin();
        let query = query(live, &self.place, target.model_id());
        let query: Vec<(&str, &str)> =
            query.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let path = path(live, &self.place);
        let connected = attempt.connect(&path, &query, self.trace.as_deref(), limit).await;
        let mut socket = match connected {
            Ok(socket) => socket,
            Err(failure) => return Err(attempt.fail(failure)),
        };
        let mut greeting = None;
        if reads_greeting && live.provider_speaks_first() {
            greeting = match read_greeting(&mut socket, &target).await {
                Ok(greeting) => greeting,
                Err(failure) => return Err(attempt.fail(failure)),
            };
        }
        attempt.succeed();
        Ok(DialedProvider { socket, served: ServedBy { model, target }, greeting })
    }
}

/// One attempt has the time of its provider; several share a total.
fn total_time(candidates: &[LiveCandidate]) -> Duration {
    let [first, others @ ..] = candidates else { return Duration::ZERO };
    let first = first.target.connect_timeout();
    if others.is_empty() {
        return first;
    }
    let others = u32::try_from(others.len()).unwrap_or(u32::MAX);
    DIAL_TIMEOUT.max(first.saturating_add(MIN_ATTEMPT.saturating_mul(others)))
}

/// OpenAI accepts every upgrade, and sends an error and a close frame afterwards.
async fn read_greeting(
    socket: &mut ProviderSocket,
    target: &LiveTarget,
) -> Result<Option<Message>, LlmError> {
    loop {
        let Ok(received) = tokio::time::timeout(GREETING_TIMEOUT, socket.next()).await else {
            return Ok(None);
        };
        match received {
            Some(Ok(Message::Text(text))) => {
                let Some(refusal) = StartRefusal::read(text.as_str()) else {
                    return Ok(Some(Message::Text(text)));
                };
                let closed = tokio::time::timeout(CLOSE_FRAME_TIMEOUT, socket.next()).await;
                let code = match closed {
                    Ok(Some(Ok(Message::Close(Some(frame))))) => u16::from(frame.code),
                    _ => 0,
                };
                return Err(refusal.into_error(target, code));
            }
            Some(Ok(message @ Message::Binary(_))) => return Ok(Some(message)),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(frame))) => {
                let words =
                    frame.map(|frame| format!("{}: {}", u16::from(frame.code), frame.reason));
                let words = words.unwrap_or_default();
                let what = "closed the session at its start ";
                return Err(target.refusal(LlmErrorKind::Provider, what, &words));
            }
            Some(Err(_)) | None => {
                let what = "closed the connection at the start of the session";
                return Err(target.refusal(LlmErrorKind::Provider, what, ""));
            }
        }
    }
}

/// An `error` event instead of the beginning of a session.
struct StartRefusal {
    code: Option<String>,
    message: String,
}

impl StartRefusal {
    fn read(text: &str) -> Option<Self> {
        let event = Object::parse(text).ok()?;
        if event.string("type").as_deref() != Some("error") {
            return None;
        }
        let error: Value = serde_json::from_str(event.get("error")?.get()).ok()?;
        let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self { code: text("code"), message: text("message").unwrap_or_default() })
    }

    fn into_error(self, target: &LiveTarget, close_code: u16) -> LlmError {
        let code = self.code.as_deref().unwrap_or_default();
        let kind = match code {
            "invalid_api_key" | "account_deactivated" => return target.key_refusal(),
            "" if close_code == 3000 => return target.key_refusal(),
            "insufficient_quota" | "rate_limit_exceeded" | "billing_hard_limit_reached" => {
                LlmErrorKind::RateLimited
            }
            "invalid_model" | "missing_model" | "model_not_found" => LlmErrorKind::UnknownModel,
            _ => LlmErrorKind::Provider,
        };
        target.refusal(kind, "rejected the session: ", &format!("{code} {}", self.message))
    }
}

fn path(live: RealtimeProtocol, place: &ProviderSessionTarget) -> String {
    match (live, place) {
        (RealtimeProtocol::OpenAi | RealtimeProtocol::OpenAiSideband, _) => "/realtime".to_owned(),
        (RealtimeProtocol::GptLive, ProviderSessionTarget::Attached(session)) => {
            format!("/live/sessions/{}/attach", segment(session))
        }
        (RealtimeProtocol::GptLive, _) => "/live/sessions".to_owned(),
        (RealtimeProtocol::Deepgram, _) => "/agent/converse".to_owned(),
        (RealtimeProtocol::Gemini, place) => {
            let version = match place {
                ProviderSessionTarget::Version(version) => segment(version),
                ProviderSessionTarget::New | ProviderSessionTarget::Attached(_) => {
                    "v1beta".to_owned()
                }
            };
            let service = "GenerativeService.BidiGenerateContent";
            format!("/ws/google.ai.generativelanguage.{version}.{service}")
        }
    }
}

fn query(
    live: RealtimeProtocol,
    place: &ProviderSessionTarget,
    model: &str,
) -> Vec<(&'static str, String)> {
    match (live, place) {
        (RealtimeProtocol::OpenAiSideband, ProviderSessionTarget::Attached(call)) => {
            vec![("call_id", call.clone())]
        }
        (RealtimeProtocol::OpenAi | RealtimeProtocol::OpenAiSideband, _) => {
            vec![("model", model.to_owned())]
        }
        (RealtimeProtocol::GptLive | RealtimeProtocol::Deepgram | RealtimeProtocol::Gemini, _) => {
            Vec::new()
        }
    }
}

/// Removes characters that could change the path.
fn segment(text: &str) -> String {
    let is_plain = |sign: &char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    text.chars().filter(is_plain).take(200).collect()
}
