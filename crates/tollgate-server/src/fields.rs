//! Typed access to the fields of a JSON request body. A field with an invalid value is refused by
//! name.

use axum::extract::Query;
use http::{StatusCode, Uri};
use serde_json::value::RawValue;
use tollgate_core::budget::Tier;
use tollgate_core::json::{self, MalformedJsonError, Object};
use tollgate_core::nearest::nearest;
use tollgate_core::text::truncate_chars;

use crate::api_error::{ApiError, MAX_ECHOED_CHARS};

/// A JSON object of the REST API. `null` counts as absent.
pub(crate) struct BodyFields<'a>(Object<'a>);

impl<'a> BodyFields<'a> {
    /// Refuses keys that are not `known`: they are probably misspelt.
    pub(crate) fn read(body: &'a [u8], known: &[&str]) -> Result<Self, ApiError> {
        let object = Object::parse_bytes(body).map_err(|error| bad(unreadable(&error)))?;
        let strange = object.iter().map(|(key, _)| key).find(|key| !known.contains(key));
        if let Some(key) = strange {
            return Err(bad(unknown("field", key, known)));
        }
        Ok(Self(object))
    }

    pub(crate) fn raw(&self, key: &str) -> Option<&RawValue> {
        self.0.get(key).filter(|raw| raw.get() != "null")
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, ApiError> {
        self.read_as(key, "a string", |raw| json::string(raw).map(std::borrow::Cow::into_owned))
    }

    pub(crate) fn needed_text(&self, key: &str) -> Result<String, ApiError> {
        self.text(key)?.ok_or_else(|| bad(format!("`{key}` is missing")))
    }

    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, ApiError> {
        self.read_as(key, "a list of strings", |raw| serde_json::from_str(raw.get()).ok())
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, ApiError> {
        self.read_as(key, "true or false", |raw| raw.get().parse().ok())
    }

    pub(crate) fn count(&self, key: &str) -> Result<Option<u32>, ApiError> {
        self.read_as(key, "a whole number, 0 or more", |raw| raw.get().parse().ok())
    }

    pub(crate) fn fraction(&self, key: &str) -> Result<Option<f32>, ApiError> {
        self.read_as(key, "a number", |raw| serde_json::from_str(raw.get()).ok())
    }

    pub(crate) fn tier(&self, key: &str) -> Result<Option<Tier>, ApiError> {
        self.text(key)?.map(|text| tier(key, &text)).transpose()
    }

    fn read_as<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&RawValue) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(raw) = self.raw(key) else { return Ok(None) };
        read(raw).map(Some).ok_or_else(|| bad(format!("`{key}` must be {expected}")))
    }
}

/// Refuses parameters of the query that are not `known`.
pub(crate) fn check_query(uri: &Uri, known: &[&str]) -> Result<(), ApiError> {
    let bad = |detail| ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_query", detail);
    let Query(sent) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|_| bad("the query is malformed".to_owned()))?;
    match sent.iter().find(|(key, _)| !known.contains(&&**key)) {
        Some((key, _)) => Err(bad(unknown("parameter", key, known))),
        None => Ok(()),
    }
}

/// The first value of a parameter of the query.
pub(crate) fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let Query(sent) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    sent.into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn unreadable(error: &MalformedJsonError) -> String {
    match error {
        MalformedJsonError::Duplicate { .. } | MalformedJsonError::OutOfBounds(_) => {
            error.to_string()
        }
        MalformedJsonError::NotThis(_) => format!("the body must be an object: {error}"),
        MalformedJsonError::Syntax(_) | MalformedJsonError::NotUtf8 { .. } => {
            format!("not JSON: {error}")
        }
    }
}

fn unknown(what: &str, key: &str, known: &[&str]) -> String {
    let text = format!("there is no {what} `{}`", truncate_chars(key, MAX_ECHOED_CHARS));
    match (nearest(key, known.iter().copied()).first(), known) {
        (Some(near), _) => format!("{text}; did you mean `{near}`?"),
        (None, []) => text,
        (None, known) => format!("{text}; known here: {}", known.join(", ")),
    }
}

pub(crate) fn tier(key: &str, text: &str) -> Result<Tier, ApiError> {
    let wrong = || format!("`{key}` is fast, standard or deep");
    Tier::parse(text)
        .ok_or_else(|| ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_tier", wrong()))
}

pub(crate) fn bad(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_request", detail)
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::{BodyFields, check_query};

    fn check(body: &str) -> String {
        let known = ["text", "depth", "partial", "override"];
        let read = BodyFields::read(body.as_bytes(), &known).and_then(|fields| {
            let text = fields.needed_text("text")?;
            let depth = fields.count("depth")?;
            let partial = fields.flag("partial")?;
            let tier = fields.tier("override")?;
            Ok(format!("{text} {depth:?} {partial:?} {tier:?}"))
        });
        read.unwrap_or_else(|problem| problem.detail.into_owned())
    }

    #[test]
    fn a_field_without_a_sound_value_is_named() {
        for (body, expected) in [
            (r#"{"text": "hi"}"#, "hi None None None"),
            (
                r#"{"text": "", "depth": 0, "partial": true, "override": "deep"}"#,
                " Some(0) Some(true) Some(Deep)",
            ),
            (r#"{"text": "hi", "depth": null}"#, "hi None None None"),
            (r#"{"text": null}"#, "`text` is missing"),
            (r#"{"text": 5}"#, "`text` must be a string"),
            (r#"{"text": "hi", "depth": -1}"#, "`depth` must be a whole number, 0 or more"),
            (r#"{"text": "hi", "depth": 1.5}"#, "`depth` must be a whole number, 0 or more"),
            (r#"{"text": "hi", "depth": "2"}"#, "`depth` must be a whole number, 0 or more"),
            (
                r#"{"text": "hi", "depth": 99999999999}"#,
                "`depth` must be a whole number, 0 or more",
            ),
            (r#"{"text": "hi", "partial": 1}"#, "`partial` must be true or false"),
            (r#"{"text": "hi", "override": "soon"}"#, "`override` is fast, standard or deep"),
            (r#"{"text": "hi", "override": 3}"#, "`override` must be a string"),
            (r#"{"text": "hi", "Depth": 1}"#, "there is no field `Depth`; did you mean `depth`?"),
            (r#"{"txt": "hi"}"#, "there is no field `txt`; did you mean `text`?"),
            (
                r#"{"text": "hi", "unheard_of": []}"#,
                "there is no field `unheard_of`; known here: text, depth, partial, override",
            ),
            (r#"{"text": "hi", "text": "ho"}"#, "duplicate key `text`"),
        ] {
            assert_eq!(check(body), expected, "{body}");
        }
        for body in ["[]", "5", "null", "\"text\""] {
            assert!(check(body).starts_with("the body must be an object: "), "{body}");
        }
        for body in ["", "{", "text"] {
            assert!(check(body).starts_with("not JSON: "), "{body}");
        }
    }

    #[test]
    fn parameters_that_nobody_reads_are_named() {
        let check = |uri: &'static str| {
            let checked = check_query(&Uri::from_static(uri), &["agent", "tier"]);
            checked.err().map(|problem| (problem.code, problem.detail.into_owned()))
        };
        for uri in ["/", "/?", "/?agent=a&tier=b&", "/?tier=%20"] {
            assert_eq!(check(uri), None, "{uri}");
        }
        for (uri, expected) in [
            ("/?tire=fast", "there is no parameter `tire`; did you mean `tier`?"),
            ("/?tier=fast&x", "there is no parameter `x`; known here: agent, tier"),
        ] {
            assert_eq!(check(uri), Some(("bad_query", expected.to_owned())), "{uri}");
        }
    }
}
