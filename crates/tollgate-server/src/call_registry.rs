//! Registry of the calls whose session the gateway holds: their owners, and how to end them.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderValue, StatusCode};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tollgate_core::turn::Principal;
use tollgate_llm::provider::{ModelHandle, ProviderCallError, ProviderCallRequest};
use tollgate_mcp::tasks::TaskGroup;
use tollgate_store::Store;
use tollgate_store::live_calls::StoredCall;

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
    pub(crate) fn new(id: ProviderCallId, principal: Principal, model: Arc<ModelHandle>) -> Self {
        Self { id, principal, model, ended: CancellationToken::new() }
    }

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
    /// Owners of calls, also of those that an earlier process held.
    store: Option<Arc<Store>>,
}

impl CallRegistry {
    /// Must be called within a runtime.
    pub(crate) fn new(most: usize) -> Self {
        let sessions = TaskGroup::new("realtime call", most);
        Self { calls: Arc::default(), sessions, store: None }
    }

    pub(crate) fn set_store(&mut self, store: Option<Arc<Store>>) {
        self.store = store;
    }

    /// Records the owner of a call, so that it is known after a restart as well.
    pub(crate) async fn keep(&self, call: &LiveCall, now: SystemTime) {
        let owner = StoredCall {
            principal: call.principal.as_str().to_owned(),
            model: call.model.settings.name.clone(),
        };
        let id = call.id.to_string();
        self.read_store(move |store| store.live_calls().keep(&id, &owner, now)).await;
    }

    /// The owner of a call that an earlier process held.
    async fn stored_owner(&self, id: &ProviderCallId) -> Option<StoredCall> {
        let id = id.to_string();
        self.read_store(move |store| store.live_calls().load(&id)).await.flatten()
    }

    /// The same as [`Self::find`] for a call that an earlier process held, and its model's name.
    pub(crate) async fn find_left(
        &self,
        id: &ProviderCallId,
        principal: &Principal,
    ) -> Option<String> {
        let owner = self.stored_owner(id).await?;
        (owner.principal == principal.as_str()).then_some(owner.model)
    }

    /// A call that an earlier process held has ended.
    pub(crate) async fn forget_left(&self, id: &ProviderCallId) {
        let id = id.to_string();
        self.read_store(move |store| store.live_calls().forget(&id)).await;
    }

    /// `None`: there is no store, or it fails.
    async fn read_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, tollgate_store::Error> + Send + 'static,
    ) -> Option<T> {
        let store = Arc::clone(self.store.as_ref()?);
        match tokio::task::spawn_blocking(move || work(&store)).await.ok()? {
            Ok(done) => Some(done),
            Err(error) => {
                tracing::error!(%error, "cannot read or write the owners of calls");
                None
            }
        }
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
        let call = LiveCall::new(id.clone(), principal.clone(), Arc::clone(model));
        let call = Arc::new(call);
        calls.insert(id.clone(), Arc::clone(&call));
        Ok(CallClaim { call, calls: Arc::clone(&self.calls), store: self.store.clone() })
    }

    /// The call, if it is this principal's.
    pub(crate) fn find(&self, id: &ProviderCallId, principal: &Principal) -> Option<Arc<LiveCall>> {
        let calls = self.calls.lock();
        calls.get(id).filter(|call| call.principal == *principal).map(Arc::clone)
    }

    /// Whether another connection to a call may run tools: only if the gateway does not already.
    pub(crate) async fn check_free(&self, id: &str, principal: &Principal) -> Result<(), ApiError> {
        let Some(id) = ProviderCallId::parse(id) else { return Ok(()) };
        match self.calls.lock().get(&id) {
            None => {}
            Some(call) if call.principal == *principal => return Err(ALREADY_HELD),
            Some(_) => return Err(NO_SUCH_CALL),
        }
        match self.stored_owner(&id).await {
            Some(owner) if owner.principal != principal.as_str() => Err(NO_SUCH_CALL),
            Some(_) | None => Ok(()),
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
    store: Option<Arc<Store>>,
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
        let (Some(store), Ok(runtime)) = (self.store.take(), Handle::try_current()) else { return };
        let id = self.call.id.to_string();
        runtime.spawn_blocking(move || {
            if let Err(error) = store.live_calls().forget(&id) {
                tracing::warn!(%error, "cannot forget the owner of a call");
            }
        });
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
