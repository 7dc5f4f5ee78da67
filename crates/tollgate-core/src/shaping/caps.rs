//! How much of a result each consumer gets. A table of the consumers that there are.

/// How much of a result goes on to the caller, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultCaps {
    /// Of all that goes on, as JSON: the result; for those who listen, its data together with the
    /// sentence and the status words.
    pub total_bytes: usize,
    /// Of all texts together, and of structured content.
    pub text_bytes: usize,
    /// Of one image, audio or blob, as it is encoded.
    pub binary_bytes: usize,
    pub items: usize,
    /// Arrays and objects within each other.
    pub depth: usize,
    /// Of one page of what was cut.
    pub page_bytes: usize,
    pub structured: StructuredPolicy,
    pub wording: MessageWording,
}

/// What becomes of structured content that is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredPolicy {
    /// Clients hold it against the tool's output schema: left out if it would not fit any more.
    Checked,
    /// A model reads it: cut and marked it says more than nothing.
    Read,
}

/// How plain text becomes the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageWording {
    /// For eyes: as the tool wrote it, without what cannot be seen.
    AsWritten,
    /// For ears: one line without markup, no longer than this, ended between sentences.
    Spoken { bytes: usize },
}

impl Default for ResultCaps {
    fn default() -> Self {
        Self::mcp()
    }
}

impl ResultCaps {
    /// Every consumer by the name under which a front or a config may ask for it.
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

    /// Programs that speak MCP, and those who ask over plain HTTP.
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

    /// Models with a context window that is paid by the word.
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

    /// Programs that models write. They have to get all or nothing: what was cut would pass for
    /// whole.
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

    /// A voice that says the message; nobody sees the rest.
    pub const fn speech() -> Self {
        Self::for_voice(4_000, 8, MessageWording::Spoken { bytes: 600 })
    }

    pub const fn openai_realtime() -> Self {
        Self::for_voice(12_000, 16, MessageWording::Spoken { bytes: 800 })
    }

    /// Closes the connection after answers that are large or deeply nested.
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

    /// What of the total is the result's. The sentence may double where it is escaped.
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

/// The status words, the handle, the figures of an outcome.
const STATUS_BYTES: usize = 400;

/// A result that says what was cut and where the rest is always fits.
const LEAST_RESULT_BYTES: usize = 1_024;
