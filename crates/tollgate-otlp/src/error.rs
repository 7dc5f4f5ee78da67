//! Errors of the exporter: why it does not start, and why something was not sent.

use std::time::Duration;

use http::StatusCode;
use tollgate_mcp::web::HttpRequestError;

/// Why nothing is exported. Names the variable or key that has to be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OtlpStartError {
    #[error("`{name}` is `{value}`: `otlp` or `none`")]
    UnknownExporter { name: String, value: String },
    #[error("`{name}` must begin with http:// or https://")]
    NoScheme { name: String },
    #[error("`{name}` is not a URL: `{value}`")]
    InvalidUrl { name: String, value: String },
    #[error("`{name}` is `{value}`, which is not supported: use `{}`", known.join("` or `"))]
    UnsupportedProtocol { name: String, value: String, known: &'static [&'static str] },
    #[error("`{name}` must be a whole number of milliseconds")]
    InvalidTimeout { name: String },
    #[error("`{name}` must be a whole number, not `{value}`")]
    InvalidNumber { name: String, value: String },
    #[error("`{name}` must be like `key=value,key=value`")]
    InvalidPairs { name: String },
    #[error("`{name}`: `{header}` is not a valid header name")]
    InvalidHeaderName { name: String, header: String },
    /// Without the value, which may be a key.
    #[error("`{name}`: the value of `{header}` is invalid")]
    InvalidHeaderValue { name: String, header: String },
    #[error("`OTEL_TRACES_SAMPLER` is `{value}` with `{argument}`, which is not a sampler")]
    UnknownSampler { value: String, argument: String },
    #[error("{0}")]
    NoHttpClient(String),
}

/// Why a request to the collector was given up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExportError {
    #[error("{0}")]
    Unsent(HttpRequestError),
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("the collector answered HTTP {}", .0.as_u16())]
    Status(StatusCode),
    #[error("a retry was pending at shutdown")]
    PendingAtShutdown,
}
