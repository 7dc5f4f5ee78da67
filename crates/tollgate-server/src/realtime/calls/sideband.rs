//! Session of a call: opens the provider's sideband connection, holds the session on it, and ends the
//! call when the session ends. It has no client of its own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tollgate_engine::model_usage::SessionUsageMeter;
use tollgate_llm::error::LlmError;
use tollgate_llm::realtime::{
    CloseReason, DialedProvider, ProviderSessionTarget, RealtimeOffer, SessionEnds, SessionRequest,
};
use tollgate_mcp::offload::offload_while_large;

use super::super::session::PendingSession;
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::call_registry::CallClaim;
use crate::in_flight::InFlightPermit;

/// A provider does not know a new call at once on its sideband: pauses between the attempts.
const ATTACH_PAUSES_MS: [u64; 7] = [250, 500, 1_000, 2_000, 2_000, 3_000, 3_000];
/// A connection that ends sooner was never a session.
const MIN_SESSION: Duration = Duration::from_secs(2);
/// How often a broken sideband is opened again.
const MAX_REATTACHMENTS: u32 = 5;
/// Close codes of connections that broke, of which the call knows nothing.
const BROKEN: [u16; 3] = [1006, 1011, 1012];
/// Close codes of sessions that are over, also of those that the gateway ended.
const FINAL: [u16; 4] = [1000, 1001, 1008, 1013];

pub(super) struct CallSession {
    front: Arc<AppState>,
    call: CallClaim,
    pending: PendingSession,
    model: String,
    /// What the call was created with.
    declared: Option<RealtimeOffer>,
    /// Room in the limits on models, for the first session.
    usage: Option<SessionUsageMeter>,
    _permit: InFlightPermit,
}

/// A session that may begin, and its sideband connection.
struct AttachedCall {
    request: SessionRequest,
    provider: DialedProvider,
}

/// Why there is no sideband connection.
enum AttachError {
    /// The session must end.
    Ends,
    Refused(LlmError),
    Impossible(ApiError),
}

impl CallSession {
    pub(super) fn new(
        front: &Arc<AppState>,
        call: CallClaim,
        pending: PendingSession,
        request: SessionRequest,
        permit: InFlightPermit,
    ) -> Self {
        let place = ProviderSessionTarget::Attached(call.id.to_string());
        Self {
            front: Arc::clone(front),
            call,
            pending: pending.at(place),
            model: request.model.settings.name.clone(),
            declared: request.declared,
            usage: request.usage,
            _permit: permit,
        }
    }

    /// Starts it on a thread for sessions: the sockets belong to the thread that opens them.
    pub(super) fn start(self) -> Result<(), ApiError> {
        let front = Arc::clone(&self.front);
        let session = front.realtime_threads.pick().run(self.run());
        front.calls.start(session)
    }

    /// Holds sessions on the call until it is over. A call does not outlive its session: it would
    /// go on without tools, limits and records.
    async fn run(mut self) {
        let mut reattached = 0;
        loop {
            let began = self.front.clock.now();
            let ended = match self.hold().await {
                Ok(ended) => ended,
                Err(AttachError::Ends) => break,
                Err(AttachError::Refused(error)) => {
                    tracing::warn!(call = %self.call.id, %error, "a call has no sideband");
                    break;
                }
                Err(AttachError::Impossible(problem)) => {
                    tracing::warn!(call = %self.call.id, error = %problem.detail, "a call has no session");
                    break;
                }
            };
            let lasted = self.front.clock.now().saturating_duration_since(began);
            let is_broken = BROKEN.contains(&ended.code) || lasted < MIN_SESSION;
            let is_over = self.call.ended.is_cancelled() || FINAL.contains(&ended.code);
            if is_over || !is_broken || reattached == MAX_REATTACHMENTS || self.is_ending() {
                break;
            }
            reattached += 1;
            tracing::info!(call = %self.call.id, code = ended.code, "a sideband broke; opening it again");
        }
        self.call.hang_up(self.front.clock.wall()).await;
    }

    fn is_ending(&self) -> bool {
        self.front.stop.is_cancelled() || self.pending.is_revoked()
    }

    /// One session, from its connection to its end.
    async fn hold(&mut self) -> Result<CloseReason, AttachError> {
        let mut ends = self.ends();
        let attached = tokio::select! {
            attached = self.attach() => attached,
            _ = &mut ends.at_once => Err(AttachError::Ends),
            _ = &mut ends.after_turn => Err(AttachError::Ends),
        };
        let AttachedCall { request, provider } = attached?;
        let request = SessionRequest { usage: self.usage.take(), ..request };
        let sessions = Arc::clone(&self.front.realtime_sessions);
        let calls = self.pending.worker().clone();
        let held = offload_while_large(move |large_work| {
            sessions.hold_sideband(request, provider, large_work, calls, ends)
        });
        Ok(held.await)
    }

    fn ends(&self) -> SessionEnds {
        let SessionEnds { at_once, after_turn, drain } = self.pending.ends();
        let hung_up = self.call.ended.clone().cancelled_owned();
        let at_once = async move {
            tokio::select! {
                end = at_once => end,
                () = hung_up => CloseReason { code: 1_000, reason: "hung up".to_owned() },
            }
        };
        SessionEnds { at_once: at_once.boxed(), after_turn, drain }
    }

    async fn attach(&self) -> Result<AttachedCall, AttachError> {
        let mut pauses = ATTACH_PAUSES_MS.into_iter();
        loop {
            let request = self.request().map_err(AttachError::Impossible)?;
            match (request.dial().await, pauses.next()) {
                (Ok(provider), _) => return Ok(AttachedCall { request, provider }),
                (Err(error), None) => return Err(AttachError::Refused(error)),
                (Err(_), Some(pause)) => tokio::time::sleep(Duration::from_millis(pause)).await,
            }
        }
    }

    fn request(&self) -> Result<SessionRequest, ApiError> {
        let request = self.pending.session_request(Some(&self.model))?;
        Ok(SessionRequest { declared: self.declared.clone(), ..request })
    }
}
