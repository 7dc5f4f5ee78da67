//! Encodes results and errors for clients of each era. Results of the gate are era-neutral. They
//! are written once, directly into the message, without building a JSON tree.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use serde_json::value::RawValue;
use tollgate_core::call::{ORIGIN_META, ResultOrigin};
use tollgate_core::json::{self, Object};
use tollgate_core::view::{InvalidCursorError, ListEra, ListKind, View};
use tollgate_mcp::Revision;
use tollgate_mcp::envelope::JsonRpcId;
use tollgate_mcp::meta;

mod body;

/// Display-only, like every `serverInfo`.
pub(crate) const SERVER_INFO: &str = concat!(
    r#"{"name":"tollgate","title":"Tollgate","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}"#
);

/// How long a client may cache a list. Changes are also notified.
const LIST_TTL_MS: u64 = 5_000;
const DISCOVER_TTL_MS: u64 = 60_000;

const CAPABILITIES: &str = concat!(
    r#""tools":{"listChanged":true},"prompts":{"listChanged":true},"#,
    r#""resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}"#
);

/// A complete message, ready to send.
#[derive(Debug, Clone)]
pub(crate) enum EncodedMessage {
    Whole(String),
    /// A long list is not copied but sent from the view.
    Framed {
        before: String,
        items: Bytes,
        after: String,
    },
}

impl EncodedMessage {
    pub(crate) fn into_string(self) -> String {
        match self {
            Self::Whole(text) => text,
            Self::Framed { before, items, after } => {
                let mut text = before;
                text.reserve_exact(items.len() + after.len());
                text.push_str(&String::from_utf8_lossy(&items));
                text.push_str(&after);
                text
            }
        }
    }

    pub(crate) fn into_body(self) -> Body {
        match self {
            Self::Whole(text) => Body::from(text),
            Self::Framed { before, items, after } => {
                Body::new(body::SegmentedBody::new([before.into(), items, after.into()]))
            }
        }
    }
}

/// Kind of a modern result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModernResultShape {
    /// An ordinary result.
    Complete,
    /// Content of a resource: includes a cache lifetime.
    Cacheable,
    /// As [`ModernResultShape::Cacheable`], but it depends on a person's answers: not cacheable.
    Stale,
    /// `resultType` is already present: questions, or a task.
    AsIs,
}

pub(crate) fn modern_result(
    id: &JsonRpcId,
    result: &RawValue,
    origin: Option<&ResultOrigin>,
    shape: ModernResultShape,
) -> String {
    let object = Object::parse(result.get()).unwrap_or_default();
    let mut out = begin_result(id, result.get().len() + 192);
    let is_caching = matches!(shape, ModernResultShape::Cacheable | ModernResultShape::Stale);
    for (key, value) in object.iter() {
        let is_ours = match key {
            "resultType" => shape != ModernResultShape::AsIs,
            "ttlMs" | "cacheScope" => is_caching,
            "_meta" => true,
            _ => false,
        };
        if !is_ours {
            push_field(&mut out, key, value.get());
        }
    }
    if shape != ModernResultShape::AsIs {
        push_field(&mut out, "resultType", "\"complete\"");
    }
    if is_caching {
        let given = object.get("ttlMs").filter(|_| shape == ModernResultShape::Cacheable);
        let ttl = given.and_then(|raw| raw.get().parse::<u64>().ok()).unwrap_or(0);
        push_field(&mut out, "ttlMs", &ttl.to_string());
        push_field(&mut out, "cacheScope", "\"private\"");
    }
    push_meta(&mut out, object.object("_meta").unwrap_or_default(), origin);
    out.push_str("}}");
    out
}

/// Writes our `serverInfo` and the origin of the result, beside the server's own `_meta`.
fn push_meta(out: &mut String, mut meta: Object<'_>, origin: Option<&ResultOrigin>) {
    if meta.is_empty() {
        out.push_str(r#","_meta":{"io.modelcontextprotocol/serverInfo":"#);
        out.push_str(SERVER_INFO);
        if let Some(origin) = origin {
            push_field(out, ORIGIN_META, &origin.to_text());
        }
        out.push('}');
        return;
    }
    meta.set(meta::SERVER_INFO, json::raw(SERVER_INFO.to_owned()));
    if let Some(origin) = origin {
        meta.set(ORIGIN_META, json::raw(origin.to_text()));
    }
    push_field(out, "_meta", &meta.to_text());
}

/// Removes fields that only modern clients know, and structured content that is not an object.
pub(crate) fn legacy_result(
    id: &JsonRpcId,
    result: &RawValue,
    origin: Option<&ResultOrigin>,
) -> String {
    let object = Object::parse(result.get()).unwrap_or_default();
    let mut out = begin_result(id, result.get().len() + 48);
    for (key, value) in object.iter() {
        match key {
            "resultType" | "ttlMs" | "cacheScope" => {}
            "structuredContent" if !value.get().starts_with('{') => {}
            "_meta" => {}
            _ => push_field(&mut out, key, value.get()),
        }
    }
    let mut meta = object.object("_meta").unwrap_or_default();
    meta.remove(meta::SERVER_INFO);
    if let Some(origin) = origin {
        meta.set(ORIGIN_META, json::raw(origin.to_text()));
    }
    if !meta.is_empty() {
        push_field(&mut out, "_meta", &meta.to_text());
    }
    out.push_str("}}");
    out
}

/// A tool result with an error message, in the form that both eras share.
pub(crate) fn failure(message: &str) -> Box<RawValue> {
    let mut text = String::from(r#"{"content":[{"type":"text","text":"#);
    json::push_string(&mut text, message);
    text.push_str("}],\"isError\":true}");
    json::raw(text)
}

/// One page of a list, pre-rendered.
pub(crate) fn list(
    id: &JsonRpcId,
    view: &Arc<View>,
    list: ListKind,
    page: ListPageRequest<'_>,
) -> Result<EncodedMessage, InvalidCursorError> {
    let items = SharedListItems {
        view: Arc::clone(view),
        list,
        form: page.form,
        cursor: page.cursor.map(str::to_owned),
    };
    let found = view.page(list, page.form, page.cursor)?;
    let mut before = begin_result(id, 48);
    json::push_string(&mut before, key_of(list));
    before.push(':');
    let mut after = String::new();
    if let Some(next) = found.next {
        after.push_str(",\"nextCursor\":");
        json::push_string(&mut after, next);
    }
    if page.form == ListEra::Modern {
        after.push_str(&format!(
            r#","resultType":"complete","ttlMs":{LIST_TTL_MS},"cacheScope":"private""#
        ));
        push_meta(&mut after, Object::new(), None);
    }
    after.push_str("}}");
    Ok(EncodedMessage::Framed { before, items: Bytes::from_owner(items), after })
}

/// Selects a page of a list and its form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListPageRequest<'a> {
    pub(crate) form: ListEra,
    pub(crate) cursor: Option<&'a str>,
}

fn key_of(list: ListKind) -> &'static str {
    match list {
        ListKind::Tools => "tools",
        ListKind::Prompts => "prompts",
        ListKind::Resources => "resources",
        ListKind::Templates => "resourceTemplates",
    }
}

/// Keeps the view alive while its text is being sent.
struct SharedListItems {
    view: Arc<View>,
    list: ListKind,
    form: ListEra,
    cursor: Option<String>,
}

impl AsRef<[u8]> for SharedListItems {
    fn as_ref(&self) -> &[u8] {
        let page = self.view.page(self.list, self.form, self.cursor.as_deref());
        page.map_or(b"[]", |page| page.items.as_bytes())
    }
}

pub(crate) fn discover(id: &JsonRpcId) -> String {
    let mut out = begin_result(id, 640);
    let versions: Vec<&str> = modern_versions().collect();
    push_field(&mut out, "supportedVersions", &format!("[\"{}\"]", versions.join("\",\"")));
    let tasks = meta::TASKS_EXTENSION;
    push_field(
        &mut out,
        "capabilities",
        &format!("{{{CAPABILITIES},\"extensions\":{{\"{tasks}\":{{}}}}}}"),
    );
    push_field(&mut out, "resultType", "\"complete\"");
    push_field(&mut out, "ttlMs", &DISCOVER_TTL_MS.to_string());
    push_field(&mut out, "cacheScope", "\"private\"");
    push_meta(&mut out, Object::new(), None);
    out.push_str("}}");
    out
}

pub(crate) fn initialize(id: &JsonRpcId, revision: Revision) -> String {
    let mut out = begin_result(id, 400);
    push_field(&mut out, "protocolVersion", &format!("\"{revision}\""));
    push_field(&mut out, "capabilities", &format!("{{{CAPABILITIES}}}"));
    push_field(&mut out, "serverInfo", SERVER_INFO);
    out.push_str("}}");
    out
}

/// The empty result of a legacy request.
pub(crate) fn empty(id: &JsonRpcId) -> String {
    let mut out = begin_result(id, 2);
    out.push_str("}}");
    out
}

pub(crate) fn modern_versions() -> impl Iterator<Item = &'static str> {
    let modern = |revision: &Revision| revision.era() == tollgate_mcp::Era::Modern;
    Revision::ALL.into_iter().filter(modern).map(Revision::as_str)
}

/// The envelope up to the first field of the result.
fn begin_result(id: &JsonRpcId, more: usize) -> String {
    let mut out = String::with_capacity(more + 48);
    out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    out.push_str(id.as_json());
    out.push_str(",\"result\":{");
    out
}

fn push_field(out: &mut String, key: &str, value: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    json::push_string(out, key);
    out.push(':');
    out.push_str(value);
}

#[cfg(test)]
mod tests;
