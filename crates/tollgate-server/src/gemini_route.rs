//! The paths of the Gemini API, `…/models/{model}:{verb}`.

use tollgate_llm::conversation::ResponseDelivery;

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
pub(crate) const VERBS: &[(&str, ResponseDelivery)] = &[
    ("generateContent", ResponseDelivery::Whole),
    ("streamGenerateContent", ResponseDelivery::Streamed),
];
