//! Fuzz targets: functions that take any bytes and panic if something does not hold that has to.
//!
//! libFuzzer runs them with feedback (`make fuzz`, the folder `fuzz`); the tests of this crate replay the saved corpus.

mod config;
mod headers;
mod models;
mod programs;
mod realtime;
mod results;
mod tools;
mod web;
mod websocket;
mod wire;

/// A target by its name, which is also the name of its folder in `fuzz/corpus`.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, run: fn(&[u8])) -> FuzzTarget {
    FuzzTarget { name, run }
}

/// All of them.
pub const TARGETS: &[FuzzTarget] = &[
    target("envelope", wire::envelope),
    target("json", wire::json),
    target("sse", wire::sse),
    target("stdio_lines", wire::stdio_lines),
    target("config", config::config),
    target("config_edit", config::config_edit),
    target("interpolation", config::interpolation),
    target("transcripts", config::transcripts),
    target("url", web::url),
    target("oauth_metadata", web::oauth_metadata),
    target("headers", headers::headers),
    target("tool_schema", tools::tool_schema),
    target("tool_names", tools::tool_names),
    target("openai_chat", models::openai_chat),
    target("openai_responses", models::openai_responses),
    target("anthropic", models::anthropic),
    target("gemini", models::gemini),
    target("realtime_openai", realtime::openai),
    target("realtime_gemini", realtime::gemini),
    target("realtime_deepgram", realtime::deepgram),
    target("realtime_gpt_live", realtime::gpt_live),
    target("realtime_openai_to_gemini", realtime::openai_to_gemini),
    target("realtime_gemini_to_openai", realtime::gemini_to_openai),
    target("ws_messages", websocket::ws_messages),
    target("starlark_source", programs::starlark_source),
    target("dice", programs::dice),
    target("file_path", programs::file_path),
    target("masking", results::masking),
    target("hidden_text", results::hidden_text),
];

/// The target of this name.
pub fn find(name: &str) -> Option<FuzzTarget> {
    TARGETS.iter().copied().find(|target| target.name == name)
}

/// The bytes as text; most targets read text and pass over what is none.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}
