//! Text normalizers, applied before a text is split into words.

use regex::Regex;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use super::{TokenizerPartError, text, unsupported_error};

pub(super) enum TextNormalizer {
    Lowercase,
    Form(UnicodeForm),
    /// Removes separate accents (combining marks).
    Without(Regex),
    Prepend(String),
    Replace {
        pattern: Regex,
        by: String,
    },
    /// Removes invisible characters, and replaces all whitespace by plain spaces.
    Clean {
        invisible: Regex,
    },
    /// Makes each matching character a word of its own.
    Apart(Regex),
    Trim,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum UnicodeForm {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

const CHINESE: &str = r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B920}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]";
const INVISIBLE: &str = r"[\p{Cc}\p{Cf}\p{Co}\x{FFFD}--[\t\n\r]]";
const ACCENTS: &str = r"\p{Mn}";

impl TextNormalizer {
    pub(super) fn read(json: &Value) -> Result<Vec<Self>, TokenizerPartError> {
        let one = match json["type"].as_str().unwrap_or_default() {
            "BertNormalizer" => return bert(json),
            "Lowercase" => Self::Lowercase,
            "NFC" => Self::Form(UnicodeForm::Nfc),
            "NFD" => Self::Form(UnicodeForm::Nfd),
            "NFKC" => Self::Form(UnicodeForm::Nfkc),
            "NFKD" => Self::Form(UnicodeForm::Nfkd),
            // Only useful after a normalizer that decomposes letters and accents.
            "StripAccents" => Self::Without(pattern(ACCENTS)?),
            "Strip" => Self::Trim,
            "Prepend" => Self::Prepend(text(json, "prepend")?.to_owned()),
            "Replace" => replace(json)?,
            other => return Err(unsupported_error("normalizer", other)),
        };
        Ok(vec![one])
    }

    pub(super) fn apply(&self, text: &str) -> String {
        match self {
            Self::Lowercase => text.chars().flat_map(char::to_lowercase).collect(),
            Self::Form(UnicodeForm::Nfc) => text.nfc().collect(),
            Self::Form(UnicodeForm::Nfd) => text.nfd().collect(),
            Self::Form(UnicodeForm::Nfkc) => text.nfkc().collect(),
            Self::Form(UnicodeForm::Nfkd) => text.nfkd().collect(),
            Self::Without(pattern) => pattern.replace_all(text, "").into_owned(),
            Self::Prepend(_) if text.is_empty() => String::new(),
            Self::Prepend(before) => format!("{before}{text}"),
            Self::Replace { pattern, by } => {
                pattern.replace_all(text, regex::NoExpand(by)).into_owned()
            }
            Self::Clean { invisible } => {
                let text = invisible.replace_all(text, "");
                text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect()
            }
            Self::Apart(pattern) => pattern.replace_all(text, " $0 ").into_owned(),
            Self::Trim => text.trim().to_owned(),
        }
    }
}

fn bert(json: &Value) -> Result<Vec<TextNormalizer>, TokenizerPartError> {
    let says = |key: &str, unsaid: &str| match &json[key] {
        Value::Null => json[unsaid].as_bool().unwrap_or(true),
        value => value.as_bool().unwrap_or(true),
    };
    let mut steps = Vec::new();
    if says("clean_text", "") {
        steps.push(TextNormalizer::Clean { invisible: pattern(INVISIBLE)? });
    }
    if says("handle_chinese_chars", "") {
        steps.push(TextNormalizer::Apart(pattern(CHINESE)?));
    }
    if says("strip_accents", "lowercase") {
        steps.extend([
            TextNormalizer::Form(UnicodeForm::Nfd),
            TextNormalizer::Without(pattern(ACCENTS)?),
        ]);
    }
    if says("lowercase", "") {
        steps.push(TextNormalizer::Lowercase);
    }
    Ok(steps)
}

fn replace(json: &Value) -> Result<TextNormalizer, TokenizerPartError> {
    let by = text(json, "content")?.to_owned();
    let pattern = match (&json["pattern"]["String"], &json["pattern"]["Regex"]) {
        (Value::String(plain), _) => pattern(&regex::escape(plain))?,
        (_, Value::String(expression)) => pattern(expression)?,
        _ => return Err(TokenizerPartError::ReplacementWithoutPattern),
    };
    Ok(TextNormalizer::Replace { pattern, by })
}

fn pattern(expression: &str) -> Result<Regex, TokenizerPartError> {
    Regex::new(expression)
        .map_err(|_| TokenizerPartError::UnsupportedPattern(expression.to_owned()))
}
