//! How many tokens a conversation and its tools come to. Called by the window, and by whoever
//! answers for usage without a provider.
//!
//! One vocabulary counts for all models: OpenAI's own. What a provider adds around messages and
//! tools, and what its vocabulary may make more of them, is its dialect's. Knows nothing of limits.

use std::fmt::{self, Write as _};
use std::sync::LazyLock;

use quick_cache::sync::Cache;
use serde_json::Value;
use tollgate_core::digest::DigestBuilder;

use crate::conversation::{
    CallResult, ChatMessage, ChatRequest, ChatRole, ChatTool, Function, FunctionCall, MediaKind,
    MessagePart, PartContent,
};
use crate::dialect::Dialect;

mod bpe;

/// How well a number must be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountPrecision {
    /// Certainly no more than this: no vocabulary makes more tokens of a text than it has bytes.
    AtMost,
    /// By the length: right within some per cent for prose and catalogues. Text that is neither
    /// (digests, base64) may come to three times as much.
    Estimated,
    /// By the vocabulary: some 50 microseconds for each kilobyte of a text that was not seen before.
    Exact,
}

/// Around each message: role, begin, end.
const TOKENS_PER_MESSAGE: u64 = 4;
/// Around each call and each result: the id, and what says which is which.
const TOKENS_PER_CALL: u64 = 12;

/// What a picture costs, whatever its size: the most that the large providers take for one.
pub const TOKENS_PER_IMAGE: u64 = 1_600;
/// What a sound costs, whatever its length: some minute of speech.
pub const TOKENS_PER_AUDIO: u64 = 2_000;
/// What a film costs: half a minute of it.
pub const TOKENS_PER_VIDEO: u64 = 8_000;
/// What a document costs: two pages, as text and as pictures.
pub const TOKENS_PER_DOCUMENT: u64 = 6_000;

/// The tokens of a text.
pub fn text(text: &str, precision: CountPrecision) -> u64 {
    match precision {
        CountPrecision::AtMost => text.len() as u64,
        CountPrecision::Estimated => estimate(text),
        CountPrecision::Exact => count_cached(text),
    }
}

/// 4.3 bytes for a token. Beyond ASCII it is the letters that count: the longer they are written,
/// the fewer of them make one.
pub fn estimate(text: &str) -> u64 {
    let mut letters = [0_u64; 4];
    for byte in text.bytes() {
        match byte {
            0..0x80 => letters[0] += 1,
            0x80..0xc0 => {}
            0xc0..0xe0 => letters[1] += 1,
            0xe0..0xf0 => letters[2] += 1,
            0xf0.. => letters[3] += 1,
        }
    }
    by_length(letters[0]) + (letters[1] * 6 + letters[2] * 15 + letters[3] * 30).div_ceil(20)
}

fn by_length(bytes: u64) -> u64 {
    (bytes * 10).div_ceil(43)
}

/// The system prompts of a request, and all other messages.
pub fn conversation(request: &ChatRequest, precision: CountPrecision) -> (u64, u64) {
    request.messages.iter().fold((0, 0), |(system, others), it| {
        let tokens = message(it, precision);
        match it.role {
            ChatRole::System | ChatRole::Developer => (system + tokens, others),
            ChatRole::User | ChatRole::Assistant => (system, others + tokens),
        }
    })
}

/// One message with all of its parts.
pub fn message(message: &ChatMessage, precision: CountPrecision) -> u64 {
    TOKENS_PER_MESSAGE + parts(&message.parts, precision)
}

fn parts(all: &[MessagePart], precision: CountPrecision) -> u64 {
    all.iter().map(|it| part(&it.content, precision)).sum()
}

fn part(content: &PartContent, precision: CountPrecision) -> u64 {
    match content {
        PartContent::Text(said)
        | PartContent::Refusal(said)
        | PartContent::Thinking { text: said, .. } => text(said, precision),
        PartContent::Media(media) => match media.kind {
            MediaKind::Image => TOKENS_PER_IMAGE,
            MediaKind::Audio => TOKENS_PER_AUDIO,
            MediaKind::Video => TOKENS_PER_VIDEO,
            MediaKind::Document => TOKENS_PER_DOCUMENT,
        },
        PartContent::Call(FunctionCall { name, arguments, .. }) => {
            TOKENS_PER_CALL + text(name, precision) + text(arguments, precision)
        }
        PartContent::Result(CallResult { parts: given, .. }) => {
            TOKENS_PER_CALL + parts(given, precision)
        }
        // Mostly sealed thoughts: the provider counts what is inside, which nobody else can.
        PartContent::Opaque { value, .. } => by_length(length(value)),
    }
}

/// The tools of a request, without what stands around them.
pub fn tools(tools: &[ChatTool], precision: CountPrecision) -> u64 {
    let one = |tool: &ChatTool| match tool {
        ChatTool::Function(it) => function(it, precision),
        ChatTool::Hosted { value, .. } => by_length(length(value)),
    };
    tools.iter().map(one).sum()
}

/// What a tool says of itself: its name, its description, its parameters.
pub fn function(function: &Function, precision: CountPrecision) -> u64 {
    let length = || {
        let mut length = WrittenLength(0);
        write(function, &mut length);
        length.0
    };
    match precision {
        CountPrecision::AtMost => length(),
        CountPrecision::Estimated => by_length(length()),
        CountPrecision::Exact => {
            let mut written = String::with_capacity(1024);
            write(function, &mut written);
            count_cached(&written)
        }
    }
}

/// What stands around so many tools: some providers also explain to their models what tools are.
pub fn around_tools(tools: usize, dialect: Dialect) -> u64 {
    let (once, each) = match dialect {
        Dialect::OpenAiChat => (16, 9),
        Dialect::OpenAiResponses | Dialect::Gemini => (16, 6),
        Dialect::Anthropic => (346, 6),
    };
    match tools {
        0 => 0,
        tools => once + each * tools as u64,
    }
}

/// What the models of a dialect may make more of so many tokens. Anthropic's vocabularies are not
/// public; the newer ones make some 40 % more of the same text than OpenAI's.
pub fn margin(tokens: u64, dialect: Dialect) -> u64 {
    match dialect {
        Dialect::Anthropic => tokens.saturating_mul(2) / 5,
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Gemini => 0,
    }
}

/// By the text. Tools come again with every version of a catalogue, and messages with every turn.
static COUNT_CACHE: LazyLock<Cache<[u8; 32], u64>> = LazyLock::new(|| Cache::new(32 * 1024));

/// From here on to know a text again takes less than to count it.
const MIN_CACHED_BYTES: usize = 256;

fn count_cached(text: &str) -> u64 {
    if text.len() < MIN_CACHED_BYTES {
        return bpe::count(text);
    }
    let key = DigestBuilder::default().with(text).finish();
    if let Some(known) = COUNT_CACHE.get(&key) {
        return known;
    }
    let tokens = bpe::count(text);
    COUNT_CACHE.insert(key, tokens);
    tokens
}

/// Name, description and parameters as JSON, the form in which most providers show them.
fn write(function: &Function, into: &mut impl fmt::Write) {
    let Function { name, description, parameters, .. } = function;
    let description = description.as_deref().map(Value::from);
    let fields = [("description", description.as_ref()), ("parameters", parameters.as_ref())];
    let written = (|| {
        write!(into, "{{\"name\":{}", Value::from(name.as_str()))?;
        for (key, value) in fields {
            if let Some(value) = value {
                write!(into, ",\"{key}\":{value}")?;
            }
        }
        into.write_char('}')
    })();
    written.expect("strings and counters take all");
}

/// Bytes of the JSON.
fn length(value: &Value) -> u64 {
    let mut length = WrittenLength(0);
    write!(length, "{value}").expect("a counter takes all");
    length.0
}

/// Counts what is written and keeps nothing.
struct WrittenLength(u64);

impl fmt::Write for WrittenLength {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
