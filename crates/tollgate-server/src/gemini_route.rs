//! The paths of the Gemini API: `…/models` and `…/models/{model}:{verb}`.

use tollgate_llm::conversation::ResponseDelivery;
use tollgate_llm::provider::SideEndpoint;

/// Whether a path is one of the Gemini API.
pub(crate) fn is_gemini(path: &str) -> bool {
    let mut segments = path.trim_start_matches('/').splitn(3, '/');
    let version = segments.next();
    let models = segments.next();
    let verb = path.rsplit_once(':').map(|(_, verb)| verb);
    models == Some("models")
        && (version.is_some_and(|version| version.starts_with("v1") && version != "v1")
            || verb.is_some_and(|verb| VERBS.iter().any(|(known, _)| *known == verb)))
}

/// What can be asked of a model in the Gemini API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GeminiVerb {
    Generate(ResponseDelivery),
    CountTokens,
    /// One of the two endpoints of embeddings.
    Embed(SideEndpoint),
}

pub(crate) const VERBS: &[(&str, GeminiVerb)] = &[
    ("generateContent", GeminiVerb::Generate(ResponseDelivery::Whole)),
    ("streamGenerateContent", GeminiVerb::Generate(ResponseDelivery::Streamed)),
    ("countTokens", GeminiVerb::CountTokens),
    ("embedContent", GeminiVerb::Embed(SideEndpoint::GeminiEmbed)),
    ("batchEmbedContents", GeminiVerb::Embed(SideEndpoint::GeminiBatchEmbed)),
];
