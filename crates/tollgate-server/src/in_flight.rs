//! Load shedding by number: limits on requests in flight, in total and per key.
//!
//! A request over the limit is refused before its body is read. Streams that only listen are not
//! counted: they cost nothing while idle.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::Response;
use http::{Method, StatusCode};
use parking_lot::Mutex;
use tollgate_core::turn::Principal;

use crate::api_error::ApiError;
use crate::body::holding;
use crate::events;
use crate::limits::Limits;

/// Most requests finish within this time.
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(crate) struct InFlightLimit {
    of: InFlightClass,
    most: usize,
    all: AtomicUsize,
    /// Counts of keys with requests in flight.
    by_key: Mutex<HashMap<Principal, u32>>,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InFlightClass {
    Requests,
    LiveSessions,
    /// Streams that only listen.
    Streams,
    /// Those of them that get an event for every call, or read the audit trail for it.
    OperatorStreams,
}

/// Streams of operators, of one key and in total. Each costs time for every call, unlike those that
/// listen to what changes rarely; pages and commands need a few.
const MAX_OPERATOR_STREAMS: usize = 128;
const MAX_OPERATOR_STREAMS_PER_KEY: u32 = 16;

impl InFlightClass {
    fn too_many(self, most: usize) -> ApiError {
        let detail = match self {
            Self::Requests => {
                "the limit of concurrent requests is reached; try again in a moment".to_owned()
            }
            Self::LiveSessions => format!("the limit of {most} live sessions is reached"),
            Self::Streams => format!("the limit of {most} listening streams is reached"),
            Self::OperatorStreams => format!("the limit of {most} event streams is reached"),
        };
        ApiError::with_detail(StatusCode::SERVICE_UNAVAILABLE, "too_busy", detail)
            .later(RETRY_AFTER)
    }

    fn too_many_of_one(self, most: u32) -> ApiError {
        let detail = match self {
            Self::Requests => {
                format!("this key has reached its limit of {most} concurrent requests")
            }
            Self::LiveSessions => format!("this key has reached its limit of {most} live sessions"),
            Self::Streams => format!("this key has reached its limit of {most} listening streams"),
            Self::OperatorStreams => {
                format!("this key has reached its limit of {most} event streams")
            }
        };
        ApiError::with_detail(StatusCode::TOO_MANY_REQUESTS, "too_many_at_once", detail)
            .later(RETRY_AFTER)
    }
}

/// The key of a request, and its limit.
pub(crate) struct PrincipalShare {
    pub(crate) principal: Principal,
    pub(crate) most: u32,
}

/// Permit for one request, released when dropped.
pub(crate) struct InFlightPermit {
    limit: Arc<InFlightLimit>,
    key: Option<Principal>,
}

/// Marks a response that became a listening stream. Kept in its extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListeningResponse;

impl InFlightLimit {
    pub(crate) fn new(of: InFlightClass, limits: &Limits) -> Arc<Self> {
        let most = match of {
            InFlightClass::Requests => limits.in_flight,
            InFlightClass::LiveSessions => limits.live_sessions,
            InFlightClass::Streams => limits.streams,
            InFlightClass::OperatorStreams => MAX_OPERATOR_STREAMS,
        };
        Arc::new(Self { of, most, all: AtomicUsize::new(0), by_key: Mutex::default() })
    }

    pub(crate) fn inside(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Without a share, only the total is limited.
    pub(crate) fn enter(
        self: &Arc<Self>,
        share: Option<PrincipalShare>,
    ) -> Result<InFlightPermit, ApiError> {
        let room = |count: usize| (count < self.most).then_some(count + 1);
        let order = Ordering::Relaxed;
        self.all.fetch_update(order, order, room).map_err(|_| self.of.too_many(self.most))?;
        let mut place = InFlightPermit { limit: Arc::clone(self), key: None };
        if let Some(PrincipalShare { principal, most }) = share {
            let mut by_key = self.by_key.lock();
            let count = by_key.entry(principal.clone()).or_insert(0);
            if *count >= most {
                return Err(self.of.too_many_of_one(most));
            }
            *count += 1;
            drop(by_key);
            place.key = Some(principal);
        }
        Ok(place)
    }
}

impl InFlightLimit {
    /// A permit for one more stream of an operator.
    pub(crate) fn enter_operator(
        self: &Arc<Self>,
        principal: Principal,
    ) -> Result<InFlightPermit, ApiError> {
        self.enter(Some(PrincipalShare { principal, most: MAX_OPERATOR_STREAMS_PER_KEY }))
    }
}

impl InFlightPermit {
    /// Holds the permit while the response is produced: the events of a call come while it runs.
    /// Other responses are complete already.
    pub(crate) fn keep_for(self, response: Response) -> Response {
        if !events::is_stream(&response) {
            return response;
        }
        response.map(|body| holding(body, self))
    }
}

/// Whether the response is a stream that waits for events.
pub(crate) fn listens(method: &Method, response: &Response) -> bool {
    let is_listening =
        *method == Method::GET || response.extensions().get::<ListeningResponse>().is_some();
    is_listening && events::is_stream(response)
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        self.limit.all.fetch_sub(1, Ordering::Relaxed);
        let Some(key) = &self.key else { return };
        let mut by_key = self.limit.by_key.lock();
        if let Some(count) = by_key.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                by_key.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
