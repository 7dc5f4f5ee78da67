//! The fields of a request's JSON body. One that has no sound value is refused by its name.

use http::StatusCode;
use serde_json::value::RawValue;
use tollgate_core::budget::Tier;
use tollgate_core::json::{self, Object};

use crate::problem::Problem;

/// An object of the plain API. `null` is the same as nothing.
pub(crate) struct Fields<'a>(Object<'a>);

impl<'a> Fields<'a> {
    /// Keys that only look like one of `known` are refused; others are let pass.
    pub(crate) fn read(body: &'a [u8], known: &[&str]) -> Result<Self, Problem> {
        let object =
            Object::parse_bytes(body).map_err(|error| bad(format!("not JSON: {error}")))?;
        match object.twin_of(known) {
            Some(key) => Err(bad(format!("a key looks like `{key}` but is not"))),
            None => Ok(Self(object)),
        }
    }

    pub(crate) fn raw(&self, key: &str) -> Option<&RawValue> {
        self.0.get(key).filter(|raw| raw.get() != "null")
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, Problem> {
        self.read_as(key, "a string", |raw| json::string(raw).map(std::borrow::Cow::into_owned))
    }

    pub(crate) fn needed_text(&self, key: &str) -> Result<String, Problem> {
        self.text(key)?.ok_or_else(|| bad(format!("`{key}` is missing")))
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, Problem> {
        self.read_as(key, "true or false", |raw| raw.get().parse().ok())
    }

    pub(crate) fn count(&self, key: &str) -> Result<Option<u32>, Problem> {
        self.read_as(key, "a whole number, 0 or more", |raw| raw.get().parse().ok())
    }

    pub(crate) fn tier(&self, key: &str) -> Result<Option<Tier>, Problem> {
        self.text(key)?.map(|text| tier(key, &text)).transpose()
    }

    fn read_as<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&RawValue) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(raw) = self.raw(key) else { return Ok(None) };
        read(raw).map(Some).ok_or_else(|| bad(format!("`{key}` must be {expected}")))
    }
}

pub(crate) fn tier(key: &str, text: &str) -> Result<Tier, Problem> {
    let wrong = || format!("`{key}` is fast, standard or deep");
    Tier::parse(text).ok_or_else(|| Problem::told(StatusCode::BAD_REQUEST, "bad_tier", wrong()))
}

pub(crate) fn bad(detail: String) -> Problem {
    Problem::told(StatusCode::BAD_REQUEST, "bad_request", detail)
}

#[cfg(test)]
mod tests {
    use super::Fields;

    fn check(body: &str) -> String {
        let read = Fields::read(body.as_bytes(), &["text", "depth"]).and_then(|fields| {
            let text = fields.needed_text("text")?;
            let (depth, partial) = (fields.count("depth")?, fields.flag("partial")?);
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
            (r#"{"text": "hi", "depth": null, "more": []}"#, "hi None None None"),
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
            (r#"{"text": "hi", "Depth": 1}"#, "a key looks like `depth` but is not"),
        ] {
            assert_eq!(check(body), expected, "{body}");
        }
        assert!(check("[]").starts_with("not JSON"));
    }
}
