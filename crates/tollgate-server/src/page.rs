//! Admin web page: static files embedded in the binary (`build.rs`), with a content security policy
//! that allows only these files. The page gets its data from `/api`.

use std::io::Read as _;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;

struct File {
    path: &'static str,
    /// Including quotes.
    etag: &'static str,
    gzip: &'static [u8],
}

const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Directory of scripts and styles. Their names contain a content hash.
const ASSETS: &str = "assets/";

/// Shown if the page was not built. Contains no script.
const NOTE: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Tollgate</title>
<h1>Tollgate is running</h1>
<p>This build has no admin UI: <code>make build</code> includes it.
<p>MCP clients connect to <code>/mcp</code>, programs to <code>/v1/tools</code>.
<p>Operators use the command line: <code>tollgate servers list</code>,
<code>tollgate tools</code>, <code>tollgate keys list</code>.
";

const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Files that need no key: they contain nothing confidential.
pub(crate) fn is_file(path: &str) -> bool {
    path == "/icon.svg" || path.strip_prefix('/').is_some_and(|path| path.starts_with(ASSETS))
}

/// `GET /`
pub(crate) async fn page(State(_): State<Arc<AppState>>, headers: HeaderMap) -> Response {
    match find("index.html") {
        Some(file) => file.response(&headers),
        None => with_security_headers(axum::response::Html(NOTE).into_response()),
    }
}

/// `GET /icon.svg`
pub(crate) async fn icon(headers: HeaderMap) -> Response {
    serve_file("icon.svg", &headers)
}

/// `GET /assets/{name}`
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    serve_file(&format!("{ASSETS}{name}"), &headers)
}

fn serve_file(path: &str, headers: &HeaderMap) -> Response {
    match find(path) {
        Some(file) => file.response(headers),
        None => {
            let detail = "the page has no such file; reload it";
            ApiError::new(StatusCode::NOT_FOUND, "not_found", detail)
                .response(ApiErrorFormat::ProblemDetails)
        }
    }
}

fn find(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

impl File {
    fn response(&self, asked: &HeaderMap) -> Response {
        let known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known == self.etag);
        let mut response =
            if known { StatusCode::NOT_MODIFIED.into_response() } else { self.body(asked) };
        let caching = if self.path.starts_with(ASSETS) {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
        headers.insert(header::ETAG, HeaderValue::from_static(self.etag));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        with_security_headers(response)
    }

    fn body(&self, headers: &HeaderMap) -> Response {
        let kind = HeaderValue::from_static(self.kind());
        if takes_gzip(headers) {
            let mut response = Body::from(Bytes::from_static(self.gzip)).into_response();
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            let gzip = HeaderValue::from_static("gzip");
            response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
            return response;
        }
        let mut plain = Vec::new();
        match GzDecoder::new(self.gzip).read_to_end(&mut plain) {
            Ok(_) => ([(header::CONTENT_TYPE, kind)], plain).into_response(),
            Err(_) => crate::api_error::FAULT.response(ApiErrorFormat::ProblemDetails),
        }
    }

    fn kind(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some(_) | None => "application/octet-stream",
        }
    }
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|one| {
        let (coding, weight) = one.split_once(';').unwrap_or((one, ""));
        let refused = weight.trim().trim_start_matches("q=").parse::<f32>() == Ok(0.0);
        matches!(coding.trim(), "gzip" | "*") && !refused
    })
}

fn with_security_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests;
