//! Result size limits by consumer: a table of all consumers.

/// Limits and format of results for a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultCaps {
    /// Maximum JSON bytes in all: of the result; for voice consumers, of its data together with the
    /// message and the status fields.
    pub total_bytes: usize,
    /// Maximum bytes of all texts together, and of structured content.
    pub text_bytes: usize,
    /// Maximum bytes of one image, audio or blob, encoded.
    pub binary_bytes: usize,
    pub items: usize,
    /// Maximum nesting of arrays and objects.
    pub depth: usize,
    /// Page size of a truncated result.
    pub page_bytes: usize,
    pub structured: StructuredPolicy,
    pub wording: MessageWording,
}

/// How oversized structured content is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredPolicy {
    /// Clients validate it against the output schema: omitted if pruning would make it invalid.
    Checked,
    /// Read by a model: pruned with marks, which is better than nothing.
    Read,
}

/// How plain text becomes the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageWording {
    /// For display: as written by the tool, without invisible characters.
    AsWritten,
    /// For speech: one line without markup, up to this length, ending at a sentence.
    Spoken { bytes: usize },
}

impl Default for ResultCaps {
    fn default() -> Self {
        Self::mcp()
    }
}

impl ResultCaps {
    /// Every consumer by the name that fronts and configs use.
    pub const TABLE: &[(&str, Self)] = &[
        ("mcp", Self::mcp()),
        ("chat", Self::chat()),
        ("speech", Self::speech()),
        ("openai-realtime", Self::openai_realtime()),
        ("gemini-live", Self::gemini_live()),
        ("deepgram", Self::deepgram()),
    ];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|(known, _)| *known == name).map(|(_, caps)| *caps)
    }

    /// MCP clients and plain HTTP clients.
    pub const fn mcp() -> Self {
        Self {
            total_bytes: 10 << 20,
            text_bytes: 1 << 20,
            binary_bytes: 8 << 20,
            items: 64,
            depth: 64,
            page_bytes: 64 << 10,
            structured: StructuredPolicy::Checked,
            wording: MessageWording::AsWritten,
        }
    }

    /// Models whose context window is paid per token.
    pub const fn chat() -> Self {
        Self {
            total_bytes: 6 << 20,
            text_bytes: 128 << 10,
            binary_bytes: 5 << 20,
            items: 32,
            depth: 32,
            page_bytes: 32 << 10,
            structured: StructuredPolicy::Read,
            wording: MessageWording::AsWritten,
        }
    }

    /// Programs written by models. They get all or nothing: a program could mistake a truncated
    /// result for a complete one.
    pub const fn code() -> Self {
        Self {
            total_bytes: 16 << 20,
            text_bytes: 8 << 20,
            binary_bytes: 8 << 20,
            items: 4_096,
            depth: 100,
            page_bytes: 0,
            structured: StructuredPolicy::Read,
            wording: MessageWording::AsWritten,
        }
    }

    /// A voice that speaks the message; the rest is not seen by the user.
    pub const fn speech() -> Self {
        Self::for_voice(4_000, 8, MessageWording::Spoken { bytes: 600 })
    }

    pub const fn openai_realtime() -> Self {
        Self::for_voice(12_000, 16, MessageWording::Spoken { bytes: 800 })
    }

    /// Gemini Live, which closes the connection on large or deeply nested answers.
    pub const fn gemini_live() -> Self {
        Self::for_voice(8_000, 8, MessageWording::Spoken { bytes: 600 })
    }

    pub const fn deepgram() -> Self {
        Self::for_voice(12_000, 16, MessageWording::Spoken { bytes: 800 })
    }

    const fn for_voice(total_bytes: usize, depth: usize, wording: MessageWording) -> Self {
        let caps = Self {
            total_bytes,
            text_bytes: total_bytes,
            binary_bytes: 0,
            items: 16,
            depth,
            page_bytes: 0,
            structured: StructuredPolicy::Read,
            wording,
        };
        Self { page_bytes: caps.result_bytes(), ..caps }
    }

    /// The share of the total that the result gets. The message may double in size by escaping.
    pub const fn result_bytes(&self) -> usize {
        let rest = match self.wording {
            MessageWording::AsWritten => 0,
            MessageWording::Spoken { bytes } => {
                bytes.saturating_mul(2).saturating_add(STATUS_BYTES)
            }
        };
        let bytes = self.total_bytes.saturating_sub(rest);
        if bytes < LEAST_RESULT_BYTES { LEAST_RESULT_BYTES } else { bytes }
    }
}

/// Status fields, handle and figures of an outcome.
const STATUS_BYTES: usize = 400;

/// Enough for a result that states what was truncated and where the rest is.
const LEAST_RESULT_BYTES: usize = 1_024;
