//! The realtime protocols that there are, and what each can take. A new one is a variant and its
//! lines in these tables.

use std::fmt;

use tollgate_core::json;
use tollgate_core::shaping::Caps;

use super::deepgram::Deepgram;
use super::events::{Frame, Opening, RealtimeDialect};
use super::gemini::Gemini;
use super::gpt_live::GptLive;
use super::openai::OpenAi;
use crate::settings::ProviderKind;
use crate::tools::Form;

/// A protocol of live sessions; client and provider of a session speak the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::enum_variant_names, reason = "the vendor calls it so")]
pub enum Live {
    /// OpenAI Realtime, and everybody who speaks like it.
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

impl Live {
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

    /// In which tools are declared.
    pub fn form(self) -> Form {
        match self {
            Self::OpenAi | Self::OpenAiSideband | Self::Deepgram => Form::OpenAiRealtime,
            Self::GptLive => Form::OpenAiResponses,
            Self::Gemini => Form::GeminiLive,
        }
    }

    /// How much of a result it stands.
    pub fn caps(self) -> Caps {
        match self {
            Self::OpenAi | Self::OpenAiSideband | Self::GptLive => Caps::openai_realtime(),
            Self::Gemini => Caps::gemini_live(),
            Self::Deepgram => Caps::deepgram(),
        }
    }

    /// The model that a client names in its first message; `None`: it names none, or not there.
    pub fn asked_model(self, first: Frame<'_>) -> Option<String> {
        let places: &[&str] = match self {
            Self::Gemini => &["/setup/model"],
            Self::GptLive => &["/session/model"],
            // The first of several is the one; the others are for when it fails.
            Self::Deepgram => &["/agent/think/provider/model", "/agent/think/0/provider/model"],
            Self::OpenAi | Self::OpenAiSideband => &[],
        };
        let text = match first {
            Frame::Text(text) => text,
            Frame::Binary(bytes) => std::str::from_utf8(bytes).ok()?,
        };
        let first = json::value(text).ok().filter(|_| !places.is_empty())?;
        let named = places.iter().find_map(|place| first.pointer(place))?.as_str()?.to_owned();
        Some(named.strip_prefix("models/").map(str::to_owned).unwrap_or(named))
    }

    /// What a client hears before it has said anything: some say nothing until then. The provider's
    /// own is not passed on.
    pub fn greeting(self) -> Option<String> {
        let id = format!("{:032x}", rand::random::<u128>());
        (self == Self::Deepgram).then(|| format!(r#"{{"type":"Welcome","request_id":"{id}"}}"#))
    }

    pub fn machine(self, opening: Opening) -> Box<dyn RealtimeDialect> {
        match self {
            Self::OpenAi => Box::new(OpenAi::new(opening)),
            Self::OpenAiSideband => Box::new(OpenAi::sideband(opening)),
            Self::GptLive => Box::new(GptLive::new(opening)),
            Self::Gemini => Box::new(Gemini::new(opening)),
            Self::Deepgram => Box::new(Deepgram::new(opening)),
        }
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Live;
    use crate::realtime::events::Frame;

    #[test]
    fn the_first_message_names_the_model() {
        for (live, first, expected) in [
            (Live::Gemini, r#"{"setup":{"model":"models/m"}}"#, Some("m")),
            (Live::GptLive, r#"{"session":{"model":"m"}}"#, Some("m")),
            (Live::GptLive, r#"{"session":{}}"#, None),
            (Live::Deepgram, r#"{"agent":{"think":{"provider":{"model":"m"}}}}"#, Some("m")),
            (Live::Deepgram, r#"{"agent":{"think":[{"provider":{"model":"m"}},{}]}}"#, Some("m")),
            (Live::Deepgram, r#"{"agent":"id"}"#, None),
            (Live::OpenAi, r#"{"session":{"model":"m"}}"#, None),
            (Live::Gemini, "garbage", None),
        ] {
            assert_eq!(live.asked_model(Frame::Text(first)).as_deref(), expected, "{first}");
        }
    }
}
