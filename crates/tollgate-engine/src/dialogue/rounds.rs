//! Multi-round-trip questions: parsing and writing `input_required`, and the sealed state that
//! binds an answer to its call.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tollgate_core::approval::ApprovalId;
use tollgate_core::json::{self, Object};
use tollgate_core::policy::Permitted;
use tollgate_core::sanitize;
use tollgate_core::shaping::ResultCaps;
use tollgate_core::turn::Principal;
use tollgate_mcp::error_code::JsonRpcError;

use super::{ANSWER_TIMEOUT, LiveCaller, ask, default_answer, missing_capability};
use crate::caller::{CallError, RoundAnswers};
use crate::seal::{Seal, SealPurpose};

/// A server that needs more rounds is assumed to ask forever.
pub(crate) const MAX_ROUNDS: usize = 10;

/// Upper bound of an approval's lifetime, whatever the config says.
const MAX_APPROVAL_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// The questions in an `input_required` result.
pub(crate) struct InputRequests {
    pub(crate) requests: Vec<InputQuestion>,
    pub(crate) state: Option<String>,
}

/// One question of a round, and the key of its answer.
pub(crate) struct InputQuestion {
    pub(crate) key: String,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

impl InputRequests {
    /// `None`: a question that no caller could be asked.
    pub(crate) fn read(result: &RawValue) -> Option<Self> {
        if json::is_deeper_than(ResultCaps::default().depth, result.get()) {
            return None;
        }
        let result = Object::parse(result.get()).ok()?;
        let mut requests = Vec::new();
        for (key, request) in result.object("inputRequests").unwrap_or_default().iter() {
            let request = Object::parse(request.get()).ok()?;
            requests.push(InputQuestion {
                key: key.to_owned(),
                method: request.string("method")?.into_owned(),
                params: request.get("params").map(clean),
            });
        }
        let state = result.string("requestState").map(std::borrow::Cow::into_owned);
        (state.is_some() || !requests.is_empty()).then_some(Self { requests, state })
    }
}

/// The server's questions, sanitized for people and models. Its own state is not changed.
pub(crate) fn clean(query: &RawValue) -> Box<RawValue> {
    match sanitize::json(query.get()) {
        Some(sanitized) => json::raw(sanitized.text),
        None => query.to_owned(),
    }
}

/// Builds our own `input_required` result.
pub(crate) fn input_required(requests: &[InputQuestion], state: Option<&str>) -> Box<RawValue> {
    let mut all = Object::new();
    for asking in requests {
        let mut request = Object::new();
        request.set_string("method", &asking.method);
        let params = asking.params.clone();
        request.set("params", params.unwrap_or_else(|| json::raw("{}".to_owned())));
        all.set(asking.key.clone(), request.to_raw());
    }
    let mut result = Object::new();
    result.set_string("resultType", "input_required");
    if !all.is_empty() {
        result.set("inputRequests", all.to_raw());
    }
    if let Some(state) = state {
        result.set_string("requestState", state);
    }
    result.to_raw()
}

/// Asks a live caller all questions of a round. Questions that the caller cannot be asked get the
/// default answer.
pub(crate) async fn ask_all(
    caller: &LiveCaller<'_>,
    wanted: InputRequests,
) -> Result<RoundAnswers, JsonRpcError> {
    let mut responses = Object::new();
    for InputQuestion { key, method, params } in wanted.requests {
        let is_elicitation = method == "elicitation/create";
        let answer = match missing_capability(caller.client, &method, params.as_deref()) {
            Some(_) => default_answer(&method),
            None => ask(caller.events, method, params).await,
        };
        let answer = match answer {
            Ok(answer) => answer,
            // A person who cannot answer has not agreed.
            Err(_) if is_elicitation => json::raw("{\"action\":\"cancel\"}".to_owned()),
            Err(error) => return Err(error),
        };
        responses.set(key, answer);
    }
    let responses = (!responses.is_empty()).then(|| responses.to_raw());
    Ok(RoundAnswers { state: wanted.state, responses })
}

/// The caller's answer with this key.
pub(crate) fn answer(responses: &RawValue, key: &str) -> Option<Box<RawValue>> {
    Object::parse(responses.get()).ok()?.get(key).map(ToOwned::to_owned)
}

/// The params of a retry: the same request, with the answers and the server's own state.
pub(crate) fn with_answers<'a>(params: &Object<'a>, retry: &RoundAnswers) -> Object<'a> {
    let mut params = params.clone();
    if let Some(responses) = &retry.responses {
        params.set("inputResponses", responses.clone());
    }
    if let Some(state) = &retry.state {
        params.set_string("requestState", state);
    }
    params
}

/// The content of the state that a client carries, once unsealed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestState {
    /// The call is parked here, under this number.
    Parked(u64),
    /// The call waits for approval, under this id.
    Approval(ApprovalId),
    /// The server's own state.
    Inner(String),
}

/// Binds state to principal, request and time.
pub(crate) struct RequestStateSealer<'s> {
    pub(crate) seal: &'s Seal,
    pub(crate) principal: &'s Principal,
    pub(crate) now: SystemTime,
}

impl RequestStateSealer<'_> {
    pub(crate) fn close(&self, state: &RequestState, request: &Permitted<'_>) -> String {
        let (kind, content) = match state {
            RequestState::Parked(id) => ("parked", json!(id)),
            RequestState::Inner(text) => ("inner", json!(text)),
            RequestState::Approval(id) => ("approval", json!(id.to_string())),
        };
        let patience = match state {
            RequestState::Parked(_) | RequestState::Inner(_) => ANSWER_TIMEOUT,
            // Approvals have their own lifetime, set by the operator.
            RequestState::Approval(_) => MAX_APPROVAL_LIFETIME,
        };
        let until = seconds(self.now) + patience.as_secs();
        let digest = digest(request);
        let content = json!({"k": kind, "c": content, "d": digest, "x": until});
        self.seal.close(SealPurpose::State, self.principal.as_str(), &content.to_string())
    }

    pub(crate) fn open(
        &self,
        text: &str,
        request: &Permitted<'_>,
    ) -> Result<RequestState, CallError> {
        let forged = CallError::BadState("`requestState` was not issued by this server");
        let content = self.seal.open(SealPurpose::State, self.principal.as_str(), text);
        let Some(Ok(content)) = content.map(|text| serde_json::from_str::<Value>(&text)) else {
            return Err(forged);
        };
        if content["x"].as_u64().is_none_or(|until| until < seconds(self.now)) {
            return Err(CallError::BadState("`requestState` has expired; start the call again"));
        }
        if content["d"].as_str() != Some(&digest(request)) {
            return Err(CallError::BadState("`requestState` belongs to another request"));
        }
        match (content["k"].as_str(), &content["c"]) {
            (Some("parked"), id) => id.as_u64().map(RequestState::Parked).ok_or(forged),
            (Some("inner"), Value::String(text)) => Ok(RequestState::Inner(text.clone())),
            (Some("approval"), Value::String(text)) => {
                ApprovalId::parse(text).map(RequestState::Approval).ok_or(forged)
            }
            _ => Err(forged),
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// Identifies the request independent of its JSON spelling: method, server, target and arguments.
fn digest(request: &Permitted<'_>) -> String {
    let params = request.params();
    let part = |key: &str| {
        let text = params.get(key).map_or("null", RawValue::get);
        json::canonical(&json::value(text).unwrap_or(Value::Null))
    };
    let parts = [part("name"), part("uri"), part("arguments")];
    let whole = format!("{} {} {}", request.kind().method(), request.server(), parts.join(" "));
    let hash = ring::digest::digest(&ring::digest::SHA256, whole.as_bytes());
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
