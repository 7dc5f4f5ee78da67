//! Generates strings: by format, by pattern, else a plain word of the required length.

use serde_json::Value;

use super::combined_schemas::CombinedSchemas;
use super::pattern;
use super::value_path::ValuePath;
use super::{MAX_TEXT_CHARS, ProbeSynthesisError};

const SAMPLE_WORD: &str = "test";

/// Candidate strings, best first.
pub(super) fn candidates(
    form: &CombinedSchemas<'_>,
    place: &ValuePath<'_>,
    requested: usize,
) -> Result<Vec<Value>, ProbeSynthesisError> {
    let sizes = form.sizes(place, ["minLength", "maxLength"])?;
    if sizes.least > MAX_TEXT_CHARS {
        return Err(place.too_large(format!("a text of {} characters", sizes.least)));
    }
    let mut texts: Vec<String> = Vec::new();
    for format in form.texts("format").into_iter().chain(form.texts("contentEncoding")) {
        texts.extend((0..requested).map_while(|at| of_format(format, at)));
    }
    texts.push(fit_length(SAMPLE_WORD, sizes.least, sizes.most));
    let patterns = form.texts("pattern");
    for pattern in &patterns {
        texts.extend(pattern::samples(pattern, requested, sizes.least));
        texts.push(pattern::literal_prefix(pattern));
    }
    if patterns.len() > 1 {
        // Concatenate samples of all patterns: prefix, infix and suffix may fit together.
        let each = patterns.iter().filter_map(|it| pattern::samples(it, 1, 0).pop());
        texts.push(each.collect());
    }
    texts.extend((1..=requested).map(|at| fit_length(&plain_text(at), sizes.least, sizes.most)));
    texts.extend((0..requested).map(|at| narrow(at, sizes.most.unwrap_or(1).min(8))));
    texts.retain(|text| {
        let length = text.chars().count();
        sizes.least <= length && sizes.most.is_none_or(|most| length <= most)
    });
    Ok(texts.into_iter().map(Value::String).collect())
}

/// `test`, `test2`, `test3` and so on.
pub(super) fn plain_text(at: usize) -> String {
    match at {
        0 => SAMPLE_WORD.to_owned(),
        at => format!("{SAMPLE_WORD}{}", at + 1),
    }
}

fn fit_length(word: &str, least: usize, most: Option<usize>) -> String {
    let length = word.len().max(least).min(most.unwrap_or(usize::MAX));
    word.chars().chain(SAMPLE_WORD.chars().cycle()).take(length).collect()
}

/// For tight length limits: the number in letters, of exactly this width.
fn narrow(at: usize, width: usize) -> String {
    let mut rest = at;
    let letter = |_| {
        let letter = char::from(b'a' + u8::try_from(rest % 26).unwrap_or(0));
        rest /= 26;
        letter
    };
    (0..width).map(letter).collect()
}

/// The `at`th string of a format, using names and addresses reserved for examples.
fn of_format(format: &str, at: usize) -> Option<String> {
    let day = at % 28 + 1;
    let number = at + 1;
    Some(match format {
        "date-time" => format!("2026-01-{day:02}T00:00:00Z"),
        "date" => format!("2026-01-{day:02}"),
        "time" => format!("00:00:{:02}Z", at % 60),
        "duration" => format!("PT{number}S"),
        "email" | "idn-email" => insert_number("test", at, "@example.com"),
        "hostname" | "idn-hostname" => match at {
            0 => "example.com".to_owned(),
            at => format!("host{at}.example.com"),
        },
        "ipv4" | "ip" => format!("192.0.2.{}", at % 254 + 1),
        "ipv6" => format!("2001:db8::{number:x}"),
        "uri" | "iri" | "url" => match at {
            0 => "https://example.com/".to_owned(),
            at => format!("https://example.com/{at}"),
        },
        "uri-reference" | "iri-reference" | "path" => insert_number("/test", at, ""),
        "uri-template" => insert_number("https://example.com/{id}", at, ""),
        "uuid" => format!("00000000-0000-4000-8000-{at:012x}"),
        "json-pointer" => insert_number("/test", at, ""),
        "relative-json-pointer" => format!("{at}"),
        "regex" => insert_number("test", at, ""),
        "byte" | "base64" => ["dGVzdA==", "dGVzdDI=", "dGVzdDM="].get(at)?.to_string(),
        "base16" => format!("{at:02x}"),
        _ => return None,
    })
}

fn insert_number(head: &str, at: usize, tail: &str) -> String {
    match at {
        0 => format!("{head}{tail}"),
        at => format!("{head}{}{tail}", at + 1),
    }
}
