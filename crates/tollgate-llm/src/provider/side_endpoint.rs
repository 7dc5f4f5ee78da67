//! Endpoints of providers beside chat: embeddings, token counts, audio.

use crate::dialect::Dialect;
use crate::settings::ProviderKind;

/// An endpoint of a provider beside chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEndpoint {
    /// OpenAI's `/embeddings`.
    Embeddings,
    /// OpenAI's `/audio/speech`.
    Speech,
    /// OpenAI's `/audio/transcriptions`.
    Transcription,
    /// Anthropic's `/v1/messages/count_tokens`.
    CountTokens,
    GeminiCountTokens,
    GeminiEmbed,
    GeminiBatchEmbed,
}

impl SideEndpoint {
    /// Whether it counts the tokens of a request that is not sent.
    pub fn counts_tokens(self) -> bool {
        matches!(self, Self::CountTokens | Self::GeminiCountTokens)
    }

    /// Kind of the providers that have it.
    pub fn provider_kind(self) -> ProviderKind {
        match self {
            Self::Embeddings | Self::Speech | Self::Transcription => ProviderKind::OpenAi,
            Self::CountTokens => ProviderKind::Anthropic,
            Self::GeminiCountTokens | Self::GeminiEmbed | Self::GeminiBatchEmbed => {
                ProviderKind::Gemini
            }
        }
    }

    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Embeddings | Self::Speech | Self::Transcription => Dialect::OpenAiChat,
            Self::CountTokens => Dialect::Anthropic,
            Self::GeminiCountTokens | Self::GeminiEmbed | Self::GeminiBatchEmbed => Dialect::Gemini,
        }
    }
}
