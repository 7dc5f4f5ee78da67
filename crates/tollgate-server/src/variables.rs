//! Prompt variables of a request, from headers and body. This is the only place that reads them.

use std::collections::BTreeMap;

use http::{HeaderMap, StatusCode};
use tollgate_core::json::{self, Object};
use tollgate_core::template::is_name;
use tollgate_core::text::truncate_chars;

use crate::api_error::{ApiError, MAX_ECHOED_CHARS};

/// `x-tollgate-var-caller-name` is `caller_name`: some proxies drop headers with `_`.
const PREFIX: &str = "x-tollgate-var-";
const MAX_VARIABLES: usize = 64;
/// Limit on all names and values together.
const MAX_VARIABLES_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
pub(crate) struct PromptVariables {
    known: BTreeMap<String, String>,
    bytes: usize,
}

impl PromptVariables {
    /// The body takes precedence over the headers.
    pub(crate) fn read(headers: &HeaderMap, body: Option<&Object<'_>>) -> Result<Self, ApiError> {
        let mut own = Self::default();
        for (name, value) in body.iter().flat_map(|body| body.iter()) {
            let text = json::string(value)
                .ok_or_else(|| bad(format!("`variables.{}` must be a string", brief(name))))?;
            own.add(name.to_owned(), &text)?;
        }
        let mut sent = Self { bytes: own.bytes, ..Self::default() };
        for (name, value) in headers {
            let Some(name) = name.as_str().strip_prefix(PREFIX) else { continue };
            let name = name.replace('-', "_");
            let text = std::str::from_utf8(value.as_bytes())
                .map_err(|_| bad(format!("`{PREFIX}{}` is not UTF-8", brief(&name))))?;
            if sent.known.contains_key(&name) {
                return Err(bad(format!("the variable `{}` appears twice", brief(&name))));
            }
            sent.add(name, text)?;
        }
        let mut all = sent.known;
        all.extend(own.known);
        Ok(Self { known: all, bytes: sent.bytes })
    }

    pub(crate) fn into_map(self) -> BTreeMap<String, String> {
        self.known
    }

    fn add(&mut self, name: String, text: &str) -> Result<(), ApiError> {
        if !is_name(&name) {
            let name = brief(&name);
            return Err(bad(format!(
                "`{name}` is not a valid variable name: use letters, digits and `_`"
            )));
        }
        self.bytes += name.len() + text.len();
        self.known.insert(name, text.to_owned());
        if self.known.len() > MAX_VARIABLES || self.bytes > MAX_VARIABLES_BYTES {
            let limits = format!("{MAX_VARIABLES} variables and {MAX_VARIABLES_BYTES} bytes");
            return Err(bad(format!("a request has at most {limits}")));
        }
        Ok(())
    }
}

fn brief(name: &str) -> String {
    truncate_chars(name, MAX_ECHOED_CHARS)
}

fn bad(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_variable", detail)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};
    use tollgate_core::json::Object;

    use super::PromptVariables;

    fn check(sent: &[(&str, &str)], body: &str, expected: &str) {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let body = Object::parse(body).unwrap();
        let found = match PromptVariables::read(&headers, Some(&body)) {
            Ok(read) => format!("{:?}", read.into_map()),
            Err(problem) => problem.detail.into_owned(),
        };
        assert_eq!(found, expected, "{sent:?}");
    }

    #[test]
    fn variables_come_by_header_and_body_and_the_body_goes_first() {
        let name = "X-Tollgate-Var-Caller-Name";
        check(&[], "{}", "{}");
        check(&[(name, "Ada")], "{}", r#"{"caller_name": "Ada"}"#);
        check(&[("x-tollgate-var-caller_name", "Äda")], "{}", r#"{"caller_name": "Äda"}"#);
        check(&[(name, "Ada")], r#"{"caller_name": "Bob"}"#, r#"{"caller_name": "Bob"}"#);
        check(&[(name, "Ada")], r#"{"a": "{b}"}"#, r#"{"a": "{b}", "caller_name": "Ada"}"#);
        check(&[("x-tollgate-vary", "no")], "{}", "{}");
    }

    #[test]
    fn what_is_no_variable_is_refused() {
        let name = "x-tollgate-var-a";
        check(&[(name, "1"), (name, "2")], "{}", "the variable `a` appears twice");
        let two = [("x-tollgate-var-a-b", "1"), ("x-tollgate-var-a_b", "2")];
        check(&two, "{}", "the variable `a_b` appears twice");
        let none = "`` is not a valid variable name: use letters, digits and `_`";
        check(&[("x-tollgate-var-", "1")], "{}", none);
        check(&[], r#"{"a": 5}"#, "`variables.a` must be a string");
        let odd = "`a b` is not a valid variable name: use letters, digits and `_`";
        check(&[], r#"{"a b": "x"}"#, odd);
        let most = "a request has at most 64 variables and 16384 bytes";
        check(&[(name, &"x".repeat(17_000))], "{}", most);
        let many: Vec<String> = (0..65).map(|at| format!("\"v{at}\": \"\"")).collect();
        check(&[], &format!("{{{}}}", many.join(",")), most);
    }
}
