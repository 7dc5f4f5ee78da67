//! `GET /`: a note for people who open the address in a browser. It holds no script, and may load
//! none.

use axum::response::{Html, IntoResponse as _, Response};
use http::{HeaderName, HeaderValue, header};

const NOTE: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Tollgate</title>
<h1>Tollgate is running</h1>
<p>MCP clients connect to <code>/mcp</code>, programs to <code>/v1/tools</code>.
<p>Whoever runs it uses the command line: <code>tollgate servers list</code>,
<code>tollgate tools</code>, <code>tollgate keys list</code>.
";

const HEADERS: &[(HeaderName, &str)] = &[
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

pub(crate) async fn page() -> Response {
    let mut response = Html(NOTE).into_response();
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
