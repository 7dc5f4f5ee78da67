//! What an echo server answers, in both eras and over any transport. Lean on purpose: its own
//! cost is part of everything that is measured.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::Era;

/// Size of the results of the tool `large`.
pub(crate) const LARGE_RESULT_BYTES: usize = 200_000;

/// A server with `echo`, `hang` (which never answers) and more tools that nobody calls.
pub(crate) struct EchoServer {
    tools: String,
}

pub(crate) enum EchoAnswer {
    Message(String),
    /// To a notification.
    Nothing,
    Never,
}

#[derive(Deserialize)]
struct EchoRequest<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EchoCall<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: EchoArguments<'a>,
}

#[derive(Deserialize)]
struct EchoArguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

impl EchoServer {
    /// Offers exactly so many tools, two at least.
    pub(crate) fn new(tools: usize) -> Self {
        let mut all = vec![simple("echo", "Says the text again"), simple("hang", "Says nothing")];
        all.extend((all.len()..tools).map(filler));
        Self { tools: format!("[{}]", all.join(",")) }
    }

    /// Offers `echo` and tools of these names.
    pub(crate) fn with(names: &[&str]) -> Self {
        let others = names.iter().map(|name| simple(name, "Misbehaves"));
        let all: Vec<String> =
            std::iter::once(simple("echo", "Says the text again")).chain(others).collect();
        Self { tools: format!("[{}]", all.join(",")) }
    }

    pub(crate) fn answer(&self, era: Era, message: &[u8]) -> EchoAnswer {
        let Ok(message) = serde_json::from_slice::<EchoRequest<'_>>(message) else {
            return EchoAnswer::Message(error("null", -32700, "not a message"));
        };
        let Some(id) = message.id.map(RawValue::get) else { return EchoAnswer::Nothing };
        let complete = match era {
            Era::Modern => r#""resultType":"complete","#,
            Era::Legacy => "",
        };
        let cache = match era {
            Era::Modern => r#""ttlMs":600000,"cacheScope":"public","#,
            Era::Legacy => "",
        };
        let result = match (era, message.method) {
            (_, "tools/call") => return Self::call(id, complete, message.params),
            (_, "tools/list") => format!(r#"{{{complete}{cache}"tools":{}}}"#, self.tools),
            (Era::Modern, "server/discover") => format!(
                r#"{{{complete}{cache}"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}}}}"#
            ),
            (Era::Legacy, "initialize") => INITIALIZE_RESULT.to_owned(),
            (Era::Legacy, "ping") => "{}".to_owned(),
            _ => return EchoAnswer::Message(error(id, -32601, "no such method")),
        };
        EchoAnswer::Message(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }

    fn call(id: &str, complete: &str, params: Option<&RawValue>) -> EchoAnswer {
        let Some(Ok(call)) = params.map(|it| serde_json::from_str::<EchoCall<'_>>(it.get())) else {
            return EchoAnswer::Message(error(id, -32602, "`text` is missing"));
        };
        if call.name == "hang" {
            return EchoAnswer::Never;
        }
        let large = (call.name == "large").then(large_result);
        let text = large.as_deref().unwrap_or(call.arguments.text.get());
        let mut out = String::with_capacity(text.len() + 128);
        let _ = write!(
            out,
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{{complete}"content":[{{"type":"text","text":{text}}}]}}}}"#
        );
        EchoAnswer::Message(out)
    }
}

/// Rows as a database gives them, as a JSON string.
fn large_result() -> String {
    let row = |at: usize| format!("row {at}: a guest, two nights, paid in full\\n");
    let mut text = String::with_capacity(LARGE_RESULT_BYTES + 64);
    text.push('"');
    let mut at = 0;
    while text.len() < LARGE_RESULT_BYTES {
        text.push_str(&row(at));
        at += 1;
    }
    text.push('"');
    text
}

const INITIALIZE_RESULT: &str = concat!(
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"#,
    r#""serverInfo":{"name":"bench","version":"1"}}"#
);

fn error(id: &str, code: i32, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

fn simple(name: &str, about: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"{about}","inputSchema":{{"type":"object","properties":{{"text":{{"type":"string"}}}},"required":["text"]}},"annotations":{{"readOnlyHint":true}}}}"#
    )
}

/// A tool as large as real ones are.
fn filler(at: usize) -> String {
    format!(
        concat!(
            r#"{{"name":"tool_{at:05}","title":"Tool {at}","description":"Looks up record {at} "#,
            r#"and says what is known about it, newest first; narrow it down by time and kind.","#,
            r#""inputSchema":{{"type":"object","properties":{{"#,
            r#""text":{{"type":"string","description":"What to look for"}},"#,
            r#""kind":{{"type":"string","enum":["note","mail","call","file"]}},"#,
            r#""since":{{"type":"string","description":"A date, for example 2026-01-31"}},"#,
            r#""limit":{{"type":"integer","minimum":1,"maximum":100}}}},"required":["text"]}},"#,
            r#""annotations":{{"readOnlyHint":true,"openWorldHint":false}}}}"#
        ),
        at = at
    )
}
