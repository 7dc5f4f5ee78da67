//! Token counting of conversations and tools. Called by the window, and for usage reports without a
//! provider.
//!
//! One vocabulary is used for all models: OpenAI's. Provider overhead around messages and tools,
//! and a margin for other vocabularies, depend on the dialect. Knows no limits.

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

/// Required precision of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountPrecision {
    /// Upper bound: no vocabulary makes more tokens of a text than it has bytes.
    AtMost,
    /// By length: accurate within some percent for prose and catalogues. Other text (digests,
    /// base64) may have three times as many tokens.
    Estimated,
    /// By the vocabulary: some 50 microseconds per kilobyte of uncached text. Of a request, what
    /// is beyond `MAX_EXACT_BYTES` is estimated.
    Exact,
}

/// Counting megabytes by the vocabulary takes seconds, which the requests of others would wait.
const MAX_EXACT_BYTES: u64 = 1 << 20;

impl CountPrecision {
    /// The same for so many bytes.
    pub fn for_bytes(self, bytes: u64) -> Self {
        if self == Self::Exact && bytes > MAX_EXACT_BYTES { Self::Estimated } else { self }
    }
}

/// Overhead per message: role, begin, end.
const TOKENS_PER_MESSAGE: u64 = 4;
/// Overhead per call and per result: the id and the type.
const TOKENS_PER_CALL: u64 = 12;

/// Tokens of an image of any size: the maximum of the large providers.
pub const TOKENS_PER_IMAGE: u64 = 1_600;
/// Tokens of audio of any length: about a minute of speech.
pub const TOKENS_PER_AUDIO: u64 = 2_000;
/// Tokens of a video: half a minute.
pub const TOKENS_PER_VIDEO: u64 = 8_000;
/// Tokens of a document: two pages, as text and as images.
pub const TOKENS_PER_DOCUMENT: u64 = 6_000;

/// The tokens of a text.
pub fn text(text: &str, precision: CountPrecision) -> u64 {
    match precision {
        CountPrecision::AtMost => text.len() as u64,
        CountPrecision::Estimated => estimate(text),
        CountPrecision::Exact => count_cached(text),
    }
}

/// 4.3 bytes per token. Beyond ASCII the characters are counted: the longer their encoding, the
/// fewer of them make a token.
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

/// Tokens of the system prompts of a request, and of all other messages.
pub fn conversation(request: &ChatRequest, precision: CountPrecision) -> (u64, u64) {
    let mut bytes = 0;
    request.messages.iter().fold((0, 0), |(system, others), it| {
        if precision == CountPrecision::Exact {
            bytes += message(it, CountPrecision::AtMost);
        }
        let tokens = message(it, precision.for_bytes(bytes));
        match it.role {
            ChatRole::System | ChatRole::Developer => (system + tokens, others),
            ChatRole::User | ChatRole::Assistant => (system, others + tokens),
        }
    })
}

/// Tokens of one message with all parts.
pub fn message(message: &ChatMessage, precision: CountPrecision) -> u64 {
    TOKENS_PER_MESSAGE + parts(&message.parts, precision)
}

fn parts(all: &[MessagePart], precision: CountPrecision) -> u64 {
    all.iter().map(|it| part(&it.content, precision)).sum()
}

fn part(content: &PartContent, precision: CountPrecision) -> u64 {
    match content {
        PartContent::Text(message)
        | PartContent::Refusal(message)
        | PartContent::Thinking { text: message, .. } => text(message, precision),
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
        // Mostly encrypted thoughts: only the provider can count their content.
        PartContent::Opaque { value, .. } => by_length(length(value)),
    }
}

/// Tokens of the tools of a request, without the overhead around them.
pub fn tools(tools: &[ChatTool], precision: CountPrecision) -> u64 {
    let mut bytes = 0;
    let one = |tool: &ChatTool| match tool {
        ChatTool::Function(it) => {
            bytes += written_length(it);
            function(it, precision.for_bytes(bytes))
        }
        ChatTool::Hosted { value, .. } => by_length(length(value)),
    };
    tools.iter().map(one).sum()
}

/// Tokens of one tool: its name, description and parameters.
pub fn function(function: &Function, precision: CountPrecision) -> u64 {
    let length = || written_length(function);
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

/// Overhead around this many tools: some providers also add an explanation of tools to the prompt.
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

/// Margin for a dialect whose models may need more tokens. Anthropic's vocabularies are not public;
/// the newer ones make some 40 % more of the same text than OpenAI's.
pub fn margin(tokens: u64, dialect: Dialect) -> u64 {
    match dialect {
        Dialect::Anthropic => tokens.saturating_mul(2) / 5,
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Gemini => 0,
    }
}

/// Keyed by the text. Tools recur with every version of a catalogue, and messages with every turn.
static COUNT_CACHE: LazyLock<Cache<[u8; 32], u64>> = LazyLock::new(|| Cache::new(32 * 1024));

/// From this size on, a cache lookup is cheaper than counting.
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

fn written_length(function: &Function) -> u64 {
    let mut length = WrittenLength(0);
    write(function, &mut length);
    length.0
}

/// Length of the JSON in bytes.
fn length(value: &Value) -> u64 {
    let mut length = WrittenLength(0);
    write!(length, "{value}").expect("a counter takes all");
    length.0
}

/// A writer that only counts bytes.
struct WrittenLength(u64);

impl fmt::Write for WrittenLength {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
