//! Gateway requests of programs (code mode).

use http::Method;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tollgate_core::json::Object;
use tollgate_core::text::percent_encoded;

use super::{Gateway, ToolViewQuery, decode_response, request};
use crate::command_error::CommandError;

/// Outcome of a program.
#[derive(Debug)]
pub struct CodeRunResult {
    pub prints: String,
    /// Raw JSON: its numbers may exceed our types.
    pub result: Option<Box<RawValue>>,
    pub error: Option<CodeRunFailure>,
    pub calls: usize,
    pub duration_ms: f64,
    /// The whole response, as JSON.
    pub whole: String,
}

#[derive(Debug)]
pub struct CodeRunFailure {
    pub message: String,
    /// From 1, like the column.
    pub line: Option<usize>,
    pub column: Option<usize>,
    /// The source line.
    pub text: Option<String>,
    pub hint: Option<String>,
}

impl CodeRunResult {
    fn read(body: &[u8]) -> Option<Self> {
        let fields = Object::parse_bytes(body).ok()?;
        let value = |key: &str| -> Value {
            let raw = fields.get(key).and_then(|raw| serde_json::from_str(raw.get()).ok());
            raw.unwrap_or_default()
        };
        let error = value("error");
        let result = fields.get("result").filter(|raw| raw.get() != "null");
        Some(Self {
            prints: value("prints").as_str()?.to_owned(),
            result: result.map(ToOwned::to_owned),
            error: error.is_object().then(|| CodeRunFailure::read(&error)),
            calls: count(&value("calls")).unwrap_or(0),
            duration_ms: value("duration_ms").as_f64().unwrap_or(0.0),
            whole: String::from_utf8_lossy(body).into_owned(),
        })
    }
}

impl CodeRunFailure {
    fn read(error: &Value) -> Self {
        let text = |key: &str| error[key].as_str().map(str::to_owned);
        Self {
            message: text("message").unwrap_or_else(|| "the program failed".to_owned()),
            line: count(&error["line"]),
            column: count(&error["column"]),
            text: text("text"),
            hint: text("hint"),
        }
    }
}

fn count(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|count| usize::try_from(count).ok())
}

impl Gateway {
    /// `POST /v1/code`
    pub async fn code(
        &self,
        source: &str,
        view: ToolViewQuery<'_>,
    ) -> Result<CodeRunResult, CommandError> {
        let mut body = json!({ "code": source });
        for (key, value) in [("agent", view.agent), ("tier", view.tier)] {
            if let Some(value) = value {
                body[key] = json!(value);
            }
        }
        let request = view.add_filter_headers(request(Method::POST, "/v1/code", Some(&body))?)?;
        let response = self.exchange(request).await?;
        if !response.status().is_success() {
            return Err(match decode_response(&response) {
                Err(failure) => failure,
                Ok(_) => CommandError::new(format!("the gateway answered {}", response.status())),
            });
        }
        CodeRunResult::read(response.body())
            .ok_or_else(|| CommandError::new("the gateway's response is invalid"))
    }

    /// `GET /v1/code`: documentation for writing a program: the list of files, or the requested
    /// part.
    pub async fn code_docs(
        &self,
        requested: Option<(&str, &str)>,
        view: ToolViewQuery<'_>,
    ) -> Result<Value, CommandError> {
        let requested = requested.map(|(key, value)| format!("&{key}={}", percent_encoded(value)));
        let path = format!("/v1/code?{}{}", view.query(), requested.unwrap_or_default());
        self.ask(view.add_filter_headers(request(Method::GET, &path, None)?)?).await
    }
}
