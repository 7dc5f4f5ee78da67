//! Registry of the calls whose session the gateway holds: their owners, and how to end them.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderValue, StatusCode};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tollgate_core::turn::Principal;
use tollgate_llm::provider::{ModelHandle, ProviderCallError, ProviderCallRequest};
use tollgate_mcp::tasks::TaskGroup;

use crate::api_error::{ApiError, STOPPING};

const MAX_ID_BYTES: usize = 128;
/// Time for the calls to be ended at the provider when the gateway stops.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A provider's id of a call: `rtc_…` or a UUID.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ProviderCallId(Arc<str>);

impl ProviderCallId {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let named = text.strip_prefix("rtc_").is_some_and(|rest| !rest.is_empty());
        let is_id = (named || is_uuid(text)) && text.len() <= MAX_ID_BYTES;
        (is_id && text.bytes().all(is_plain)).then(|| Self(text.into()))
    }

    /// The last segment of the path that is an id. The location is never followed: it may point
    /// anywhere.
    pub(crate) fn from_location(location: &str) -> Option<Self> {
        let path = location.split(['?', '#']).next()?;
        path.rsplit('/').find_map(Self::parse)
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|it| it == b'-' || it.is_ascii_hexdigit())
}

impl fmt::Display for ProviderCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A request to one call, for `verb` behind its id.
pub(crate) fn to_call(id: &ProviderCallId, verb: &str, body: String) -> ProviderCallRequest {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    ProviderCallRequest { path: format!("/{id}/{verb}"), content_type: JSON, body: body.into() }
}

/// A call and its owner.
pub(crate) struct LiveCall {
    pub(crate) id: ProviderCallId,
    pub(crate) principal: Principal,
    pub(crate) model: Arc<ModelHandle>,
    /// Its session ends.
    pub(crate) ended: CancellationToken,
}

impl LiveCall {
    /// Ends the call at the provider. A call that is over is none there, which is as good.
    pub(crate) async fn hang_up(&self, wall: SystemTime) {
        let request = to_call(&self.id, "hangup", String::new());
        match self.model.post_call(request, None, wall).await {
            Ok(_) | Err(ProviderCallError::UnknownCall) => {}
            Err(error) => {
                tracing::warn!(call = %self.id, %error, "cannot end a call at its provider");
            }
        }
    }
}

pub(crate) struct CallRegistry {
    calls: Arc<Mutex<HashMap<ProviderCallId, Arc<LiveCall>>>>,
    sessions: TaskGroup,
}

impl CallRegistry {
    /// Must be called within a runtime.
    pub(crate) fn new(most: usize) -> Self {
        Self { calls: Arc::default(), sessions: TaskGroup::new("realtime call", most) }
    }

    /// Records the owner of a call. The record lasts as long as the claim.
    pub(crate) fn claim(
        &self,
        id: &ProviderCallId,
        principal: &Principal,
        model: &Arc<ModelHandle>,
    ) -> Result<CallClaim, ApiError> {
        let mut calls = self.calls.lock();
        if let Some(other) = calls.get(id) {
            let is_own = other.principal == *principal;
            return Err(if is_own { ALREADY_HELD } else { NO_SUCH_CALL });
        }
        let call = Arc::new(LiveCall {
            id: id.clone(),
            principal: principal.clone(),
            model: Arc::clone(model),
            ended: CancellationToken::new(),
        });
        calls.insert(id.clone(), Arc::clone(&call));
        Ok(CallClaim { call, calls: Arc::clone(&self.calls) })
    }

    /// The call, if it is this principal's.
    pub(crate) fn find(&self, id: &ProviderCallId, principal: &Principal) -> Option<Arc<LiveCall>> {
        let calls = self.calls.lock();
        calls.get(id).filter(|call| call.principal == *principal).map(Arc::clone)
    }

    /// Whether another connection to a call may run tools: only if the gateway does not already.
    pub(crate) fn check_free(&self, id: &str, principal: &Principal) -> Result<(), ApiError> {
        let Some(id) = ProviderCallId::parse(id) else { return Ok(()) };
        match self.calls.lock().get(&id) {
            None => Ok(()),
            Some(call) if call.principal == *principal => Err(ALREADY_HELD),
            Some(_) => Err(NO_SUCH_CALL),
        }
    }

    /// Starts the session of a call. It runs until the call ends, and ends the call with itself.
    pub(crate) fn start(
        &self,
        session: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ApiError> {
        // There are at most as many as permits for live sessions.
        self.sessions.spawn(session).map_err(|_| STOPPING)
    }

    /// Waits until the sessions that run have ended, at last by force, and their calls with them.
    pub(crate) async fn drain(&self, limit: Duration, cut: &CancellationToken) {
        let mut ended = std::pin::pin!(self.sessions.wait());
        if tokio::time::timeout(limit, &mut ended).await.is_ok() {
            return;
        }
        cut.cancel();
        if tokio::time::timeout(END_TIMEOUT, ended).await.is_err() {
            tracing::warn!("calls were left at their providers at the end of draining");
        }
    }
}

/// Ownership of a call. Dropping it forgets the call.
pub(crate) struct CallClaim {
    call: Arc<LiveCall>,
    calls: Arc<Mutex<HashMap<ProviderCallId, Arc<LiveCall>>>>,
}

impl std::ops::Deref for CallClaim {
    type Target = LiveCall;

    fn deref(&self) -> &LiveCall {
        &self.call
    }
}

impl Drop for CallClaim {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.call.id);
    }
}

/// The same for a call of another key and for none, so that ids cannot be guessed.
pub(crate) const NO_SUCH_CALL: ApiError = ApiError::new(
    StatusCode::NOT_FOUND,
    "call_not_found",
    "there is no such call: it has ended, or it was not created with this key",
);
const ALREADY_HELD: ApiError = ApiError::new(
    StatusCode::CONFLICT,
    "call_already_held",
    "the gateway already holds a session of this call, with the agent's tools; a second one would \
     run every tool twice",
);

#[cfg(test)]
mod tests {
    use super::ProviderCallId;

    #[test]
    fn the_id_of_a_call_is_the_last_fitting_segment_of_its_location() {
        let uuid = "0f5a7f0e-53a4-4f3e-9d5c-2a6b1c3d4e5f";
        for (location, expected) in [
            ("/v1/realtime/calls/rtc_abc-1", Some("rtc_abc-1")),
            ("https://evil.example/a/rtc_u0_9?b=/rtc_no#/rtc_no", Some("rtc_u0_9")),
            ("/v1/realtime/calls/rtc_1/hangup", Some("rtc_1")),
            ("rtc_1", Some("rtc_1")),
            ("", None),
            ("/v1/realtime/calls/", None),
            ("/v1/realtime/calls/rtc_", None),
            ("/v1/realtime/calls/..%2frtc_1", None),
            ("/v1/realtime/calls/rtc_a b", None),
            ("/v1/realtime/calls/0f5a7f0e-53a4-4f3e-9d5c", None),
        ] {
            let found = ProviderCallId::from_location(location).map(|id| id.to_string());
            assert_eq!(found.as_deref(), expected, "{location}");
        }
        assert_eq!(ProviderCallId::from_location(&format!("/x/{uuid}")).unwrap().to_string(), uuid);
        assert!(ProviderCallId::parse(&format!("rtc_{}", "a".repeat(200))).is_none());
    }
}
