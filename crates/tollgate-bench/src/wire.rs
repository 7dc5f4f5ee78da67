//! The MCP messages of a benchmark, written and checked by hand: the client's side of both eras.
//! Uses nothing of the product, so that both cannot be wrong together.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::BenchError;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Legacy,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Modern, Self::Legacy];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }

    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }

    /// What modern requests carry in `params`, behind other fields.
    fn meta(self) -> &'static str {
        match self {
            Self::Modern => concat!(
                r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientCapabilities":{},"#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}"#
            ),
            Self::Legacy => "",
        }
    }
}

pub(crate) const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#
);
pub(crate) const INITIALIZED_NOTIFICATION: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The headers of a request; `name` is that of the tool, if one is called.
pub(crate) fn headers(era: Era, method: &'static str, name: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    let both = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(header::ACCEPT, both);
    headers.insert(VERSION, HeaderValue::from_static(era.revision()));
    if era == Era::Modern {
        headers.insert(METHOD, HeaderValue::from_static(method));
        if let Some(name) = name {
            headers.insert(NAME, HeaderValue::from_str(name).expect("names are plain ASCII"));
        }
    }
    headers
}

/// `tools/call` of an echo. No two texts are alike, so that no answer fits another request.
pub(crate) fn call(era: Era, tool: &str, number: u64) -> String {
    let mut out = String::with_capacity(512);
    let _ = write!(
        out,
        r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{TEXT}{number}"}}{}}}}}"#,
        era.meta()
    );
    out
}

/// `tools/call` of any tool; `arguments` is JSON.
pub(crate) fn call_with(tool: &str, id: u64, arguments: &str) -> String {
    let meta = Era::Modern.meta();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}{meta}}}}}"#
    )
}

/// Whether this is a result to request `number`, whatever it says.
pub(crate) fn check_result(from: &str, number: u64, body: &[u8]) -> Result<(), BenchError> {
    let wrong = |why| BenchError::wrong(from, why, body);
    let answer: CheckedRpcAnswer<'_, CheckedCallResult<'_>> =
        serde_json::from_slice(payload(body)).map_err(|_| wrong("not an answer to a call"))?;
    match (answer.id == Some(number), answer.result) {
        (true, Some(CheckedCallResult { is_error: false, .. })) => Ok(()),
        _ => Err(wrong("a call that failed")),
    }
}

/// The texts of the result to request `number`; `None` for anything else.
pub(crate) fn result_text(number: u64, body: &[u8]) -> Option<String> {
    let answer: CheckedRpcAnswer<'_, CheckedCallResult<'_>> =
        serde_json::from_slice(payload(body)).ok()?;
    let called = answer.result.filter(|it| answer.id == Some(number) && !it.is_error)?;
    Some(called.content.iter().map(|block| &*block.text).collect())
}

const TEXT: &str = "The quick brown fox jumps over the lazy dog, number ";

/// `tools/list`, of the page that `cursor` stands for.
pub(crate) fn list(era: Era, cursor: Option<&str>) -> String {
    let cursor = cursor.map_or_else(String::new, |it| format!(r#""cursor":"{it}""#));
    let meta = era.meta();
    let meta = if cursor.is_empty() { meta.trim_start_matches(',') } else { meta };
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{cursor}{meta}}}}}"#)
}

#[derive(Deserialize)]
struct CheckedRpcAnswer<'a, R> {
    id: Option<u64>,
    result: Option<R>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CheckedCallResult<'a> {
    #[serde(borrow)]
    content: Vec<CheckedTextBlock<'a>>,
    #[serde(rename = "isError", default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct CheckedTextBlock<'a> {
    #[serde(borrow)]
    text: std::borrow::Cow<'a, str>,
}

/// Whether this is the echo of request `number`, and nothing else.
pub(crate) fn check_echo(from: &str, number: u64, body: &[u8]) -> Result<(), BenchError> {
    let wrong = |why| BenchError::wrong(from, why, body);
    let answer: CheckedRpcAnswer<'_, CheckedCallResult<'_>> =
        serde_json::from_slice(payload(body)).map_err(|_| wrong("not an answer to a call"))?;
    if answer.error.is_some() {
        return Err(wrong("an error"));
    }
    if answer.id != Some(number) {
        return Err(wrong("the id of another request"));
    }
    match answer.result {
        Some(CheckedCallResult { content, is_error: false }) if content.len() == 1 => {
            let number_text = content[0].text.strip_prefix(TEXT);
            let same = number_text.and_then(|it| it.parse().ok()) == Some(number);
            if same { Ok(()) } else { Err(wrong("the text of another request")) }
        }
        _ => Err(wrong("a call that failed")),
    }
}

/// One page of `tools/list`: the names on it, and the cursor of the next.
pub(crate) fn read_list(
    from: &str,
    body: &[u8],
) -> Result<(Vec<String>, Option<String>), BenchError> {
    #[derive(Deserialize)]
    struct CheckedToolList {
        tools: Vec<CheckedToolName>,
        #[serde(rename = "nextCursor")]
        next: Option<String>,
    }
    #[derive(Deserialize)]
    struct CheckedToolName {
        name: String,
    }
    let answer: CheckedRpcAnswer<'_, CheckedToolList> = serde_json::from_slice(payload(body))
        .map_err(|_| BenchError::wrong(from, "not a list of tools", body))?;
    let listed = answer.result.ok_or_else(|| BenchError::wrong(from, "an error", body))?;
    Ok((listed.tools.into_iter().map(|it| it.name).collect(), listed.next))
}

/// The message itself, also when it came as the last event of a stream.
fn payload(body: &[u8]) -> &[u8] {
    if body.first() == Some(&b'{') {
        return body;
    }
    let lines = body.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.strip_prefix(b"data:")).next_back().unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::{Era, call, check_echo};

    #[test]
    fn an_answer_is_right_only_with_its_id_and_its_text() {
        let text = "The quick brown fox jumps over the lazy dog, number 7";
        let answer = |id: u64, text: &str, more: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]{more}}}}}"#
            )
        };
        let good = answer(7, text, "");
        assert!(check_echo("x", 7, good.as_bytes()).is_ok());
        assert!(check_echo("x", 7, format!("event: message\ndata: {good}\n\n").as_bytes()).is_ok());
        assert!(check_echo("x", 8, good.as_bytes()).is_err());
        assert!(check_echo("x", 7, answer(7, "hello", "").as_bytes()).is_err());
        assert!(check_echo("x", 7, answer(7, text, r#","isError":true"#).as_bytes()).is_err());
        assert!(check_echo("x", 7, br#"{"id":7,"error":{"code":-1,"message":""}}"#).is_err());
    }

    #[test]
    fn requests_are_json() {
        for era in Era::BOTH {
            for text in [call(era, "echo", 1), super::list(era, None), super::list(era, Some("a"))]
            {
                assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
            }
        }
    }
}
