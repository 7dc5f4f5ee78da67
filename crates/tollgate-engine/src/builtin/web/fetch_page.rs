//! `fetch_page`: a page of the public web as text.
//!
//! Fetches one page per call, at the request of a user or model. robots.txt is for crawlers and is
//! not consulted, and only the named page is fetched. The page's scripts are never run.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::text::truncate_chars;

use super::readable::{self, ReadablePage};
use super::{UNTRUSTED_CONTENT_NOTICE, charset, failure, strip_invisible};
use crate::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, latency_outside, text_argument,
};
use crate::web::FetchError;
use crate::web::egress::{BodyEnd, Egress, FetchedPage, PageRequest};

/// Of HTML, both compressed and decompressed.
const MAX_HTML_BYTES: usize = 2 << 20;
/// Of text in a result.
const MAX_TEXT_CHARS: usize = 20_000;
const MAX_URL_LEN: usize = 4_096;

const ACCEPT: &str = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, \
                      application/json;q=0.9, application/xml;q=0.8, text/*;q=0.5";

pub(super) struct FetchPage {
    egress: Arc<Egress>,
}

impl FetchPage {
    pub(super) fn new(egress: Arc<Egress>) -> Self {
        Self { egress }
    }
}

#[async_trait]
impl BuiltinTool for FetchPage {
    fn definition(&self) -> Value {
        json!({
            "name": "fetch_page",
            "title": "Read a web page",
            "description": "Fetches a page from the public web and returns its title and text, up \
                            to 20,000 characters, without menus and scripts. Also for plain text, \
                            Markdown, JSON and XML.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "url": {
                        "type": "string",
                        "description": "The whole address, for example `https://example.com/page`",
                        "minLength": 1,
                        "maxLength": MAX_URL_LEN,
                    },
                },
                "required": ["url"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "url": { "type": "string", "description": "The requested address" },
                    "source": { "type": "string", "description": "The address after redirects" },
                    "title": { "type": "string" },
                    "text": { "type": "string", "description": "Written by third parties" },
                    "characters": { "type": "integer", "description": "Length of the whole text" },
                    "truncated": { "type": "boolean" },
                    "links": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "text": { "type": "string" },
                                "url": { "type": "string" },
                            },
                            "required": ["text", "url"],
                        },
                    },
                    "refresh": {
                        "type": "string",
                        "description": "Redirect by `meta refresh`; not followed",
                    },
                },
                "required": ["url", "source", "text", "characters", "truncated", "links"],
            },
            "annotations": {
                "title": "Read a web page",
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": true,
            },
            "_meta": latency_outside(1500, 3000),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let url = text_argument(arguments, "url")?.to_owned();
        let wish = PageRequest {
            accept: ACCEPT,
            takes: is_text,
            most_bytes: MAX_HTML_BYTES,
            until: asker.until,
        };
        let page = self.egress.get(&url, &wish).await.map_err(failure)?;
        // Parsing a large page takes a while.
        let read = tokio::task::spawn_blocking(move || read(&url, &page)).await;
        read.map_err(|_| BuiltinToolError::new("the page could not be read"))?.map_err(failure)
    }
}

/// Empty: the server sent no type, and the content decides.
fn is_text(media_type: &str) -> bool {
    media_type.is_empty()
        || media_type.starts_with("text/")
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml") && !media_type.starts_with("image/")
        || matches!(
            media_type,
            "application/json" | "application/xml" | "application/markdown" | "application/yaml"
        )
}

fn read(url: &str, page: &FetchedPage) -> Result<BuiltinReply, FetchError> {
    let content = charset::text(&page.bytes, page.charset.as_deref());
    let content = content.ok_or_else(|| FetchError::Kind("binary data".to_owned()))?;
    let readable = match page.media_type.as_str() {
        "text/html" | "application/xhtml+xml" => readable::read(&content, &page.url),
        "" if content.trim_start().starts_with('<') => readable::read(&content, &page.url),
        _ => ReadablePage { text: content.trim().to_owned(), ..ReadablePage::default() },
    };
    Ok(reply(url, page, readable))
}

fn reply(url: &str, page: &FetchedPage, readable: ReadablePage) -> BuiltinReply {
    let whole = strip_invisible(&readable.text);
    let characters = whole.chars().count();
    let text: String = whole.chars().take(MAX_TEXT_CHARS).collect();
    let truncated = characters > MAX_TEXT_CHARS || page.ended == BodyEnd::Cut;
    let title = readable.title.map(|title| truncate_chars(&strip_invisible(&title), 200));
    let mut message = title.clone().map(|title| format!("{title}\n")).unwrap_or_default();
    message.push_str(&format!("Source: {}\n{UNTRUSTED_CONTENT_NOTICE}\n\n", page.url));
    message.push_str(if text.is_empty() { "(The page has no text.)" } else { &text });
    message.push_str(&cut_note(characters, page.ended));
    if let Some(to) = &readable.refresh {
        message.push_str(&format!("\n\n[The page redirects to {to}, which was not followed.]"));
    }
    let links: Vec<Value> = readable
        .links
        .iter()
        .map(|link| json!({ "text": strip_invisible(&link.text), "url": link.url }))
        .collect();
    let mut structured = json!({
        "url": url,
        "source": page.url,
        "text": text,
        "characters": characters,
        "truncated": truncated,
        "links": links,
    });
    if let Some(title) = title {
        structured["title"] = title.into();
    }
    if let Some(to) = readable.refresh {
        structured["refresh"] = to.into();
    }
    BuiltinReply { text: message, structured: Some(structured) }
}

fn cut_note(characters: usize, ended: BodyEnd) -> String {
    match (characters > MAX_TEXT_CHARS, ended) {
        (false, BodyEnd::Whole) => String::new(),
        (true, BodyEnd::Whole) => {
            format!("\n\n[Cut: the first {MAX_TEXT_CHARS} of {characters} characters.]")
        }
        (_, BodyEnd::Cut) => {
            format!("\n\n[Cut: the page is larger than {} MiB.]", MAX_HTML_BYTES >> 20)
        }
    }
}
