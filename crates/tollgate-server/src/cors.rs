//! CORS for web pages that open live sessions: preflight requests, and the headers that let a page of
//! a configured origin read the answer. All other paths are closed to foreign pages.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

use crate::host_guard::HostGuard;

const METHODS: HeaderValue = HeaderValue::from_static("POST");
const HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, content-type, x-tollgate-agent, x-tollgate-tier");
const EXPOSED: HeaderValue = HeaderValue::from_static("location, retry-after");
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("600");

/// Grant of the CORS protocol to one page.
pub(crate) struct PageGrant {
    origin: HeaderValue,
    is_preflight: bool,
}

impl PageGrant {
    /// `None`: not a request of such a page.
    pub(crate) fn of(guard: &HostGuard, request: &Parts) -> Option<Self> {
        let origin = guard.page_origin(request)?.clone();
        let is_preflight = request.method == Method::OPTIONS
            && request.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        Some(Self { origin, is_preflight })
    }

    /// The answer to a preflight request, which has no key. Still to be allowed, as any answer.
    pub(crate) fn preflight(&self) -> Option<Response> {
        self.is_preflight.then(|| {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
            headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
            response
        })
    }

    /// Lets the page read the answer, errors as well. Cookies are never allowed.
    pub(crate) fn allow(&self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.origin.clone());
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        headers.append(VARY, HeaderValue::from_static("origin"));
        response
    }
}
