//! Table of the realtime protocols and their properties. A new one is a variant and its lines in
//! these tables.

use std::fmt;

use tollgate_core::json;
use tollgate_core::shaping::ResultCaps;

use super::deepgram::DeepgramVoiceAgent;
use super::events::{RealtimeDialect, RealtimeFrame, RealtimeInit};
use super::gemini::GeminiLive;
use super::gpt_live::GptLive;
use super::openai::OpenAiRealtime;
use crate::settings::ProviderKind;
use crate::tools::ToolFormat;

/// A realtime protocol; client and provider of a session speak the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RealtimeProtocol {
    /// OpenAI Realtime, and compatible servers.
    OpenAi,
    /// A second connection to a call that runs elsewhere (WebRTC, SIP).
    OpenAiSideband,
    /// OpenAI's full-duplex sessions, which delegate.
    GptLive,
    /// `BidiGenerateContent`.
    Gemini,
    /// Voice Agent.
    Deepgram,
}

impl RealtimeProtocol {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai-realtime",
            Self::OpenAiSideband => "openai-sideband",
            Self::GptLive => "gpt-live",
            Self::Gemini => "gemini-live",
            Self::Deepgram => "deepgram",
        }
    }

    /// The kind of provider that speaks it.
    pub fn provider(self) -> ProviderKind {
        match self {
            Self::OpenAi | Self::OpenAiSideband | Self::GptLive => ProviderKind::OpenAi,
            Self::Gemini => ProviderKind::Gemini,
            Self::Deepgram => ProviderKind::Deepgram,
        }
    }

    /// Format of tool declarations.
    pub fn form(self) -> ToolFormat {
        match self {
            Self::OpenAi | Self::OpenAiSideband | Self::Deepgram => ToolFormat::OpenAiRealtime,
            Self::GptLive => ToolFormat::OpenAiResponses,
            Self::Gemini => ToolFormat::GeminiLive,
        }
    }

    /// Size limits of results.
    pub fn caps(self) -> ResultCaps {
        match self {
            Self::OpenAi | Self::OpenAiSideband | Self::GptLive => ResultCaps::openai_realtime(),
            Self::Gemini => ResultCaps::gemini_live(),
            Self::Deepgram => ResultCaps::deepgram(),
        }
    }

    /// Whether a session begins with a message of the provider.
    pub(super) fn provider_speaks_first(self) -> bool {
        self == Self::OpenAi
    }

    /// The model named in a client's first message; `None`: it names none, or not there.
    pub fn model_in_first_message(self, first: RealtimeFrame<'_>) -> Option<String> {
        let places: &[&str] = match self {
            Self::Gemini => &["/setup/model"],
            Self::GptLive => &["/session/model"],
            // The first of several is used; the others are fallbacks.
            Self::Deepgram => &["/agent/think/provider/model", "/agent/think/0/provider/model"],
            Self::OpenAi | Self::OpenAiSideband => &[],
        };
        let text = match first {
            RealtimeFrame::Text(text) => text,
            RealtimeFrame::Binary(bytes) => std::str::from_utf8(bytes).ok()?,
        };
        let first = json::value(text).ok().filter(|_| !places.is_empty())?;
        let named = places.iter().find_map(|place| first.pointer(place))?.as_str()?.to_owned();
        Some(named.strip_prefix("models/").map(str::to_owned).unwrap_or(named))
    }

    /// Sent to a client before its first message: some clients wait for it. The provider's own
    /// greeting is not forwarded.
    pub fn greeting(self) -> Option<String> {
        let id = format!("{:032x}", rand::random::<u128>());
        (self == Self::Deepgram).then(|| format!(r#"{{"type":"Welcome","request_id":"{id}"}}"#))
    }

    pub fn machine(self, opening: RealtimeInit) -> Box<dyn RealtimeDialect> {
        match self {
            Self::OpenAi => Box::new(OpenAiRealtime::new(opening)),
            Self::OpenAiSideband => Box::new(OpenAiRealtime::sideband(opening)),
            Self::GptLive => Box::new(GptLive::new(opening)),
            Self::Gemini => Box::new(GeminiLive::new(opening)),
            Self::Deepgram => Box::new(DeepgramVoiceAgent::new(opening)),
        }
    }
}

impl fmt::Display for RealtimeProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::RealtimeProtocol;
    use crate::realtime::events::RealtimeFrame;

    #[test]
    fn the_first_message_names_the_model() {
        for (live, first, expected) in [
            (RealtimeProtocol::Gemini, r#"{"setup":{"model":"models/m"}}"#, Some("m")),
            (RealtimeProtocol::GptLive, r#"{"session":{"model":"m"}}"#, Some("m")),
            (RealtimeProtocol::GptLive, r#"{"session":{}}"#, None),
            (
                RealtimeProtocol::Deepgram,
                r#"{"agent":{"think":{"provider":{"model":"m"}}}}"#,
                Some("m"),
            ),
            (
                RealtimeProtocol::Deepgram,
                r#"{"agent":{"think":[{"provider":{"model":"m"}},{}]}}"#,
                Some("m"),
            ),
            (RealtimeProtocol::Deepgram, r#"{"agent":"id"}"#, None),
            (RealtimeProtocol::OpenAi, r#"{"session":{"model":"m"}}"#, None),
            (RealtimeProtocol::Gemini, "garbage", None),
        ] {
            assert_eq!(
                live.model_in_first_message(RealtimeFrame::Text(first)).as_deref(),
                expected,
                "{first}"
            );
        }
    }
}
