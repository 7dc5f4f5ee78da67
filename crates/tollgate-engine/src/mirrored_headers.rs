//! Mirrors arguments into HTTP headers (`x-mcp-header`), so that proxies can route on them.

use serde_json::Value;
use tollgate_core::json;
use tollgate_core::policy::Permitted;
use tollgate_mcp::header;

/// Header suffix and value for each argument that is present. Derived from the server's schema.
pub(crate) fn headers(request: &Permitted<'_>) -> Vec<(String, String)> {
    let (Some(tool), Some(arguments)) = (request.tool(), request.arguments()) else {
        return Vec::new();
    };
    let value = |pointer: &str| text(arguments.pointer(pointer)?);
    let parameters = tool.definition.headers.iter();
    parameters.filter_map(|it| Some((it.header.clone(), value(&it.pointer)?))).collect()
}

/// `None` for values that are not mirrored.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        other => header::text_of(&json::raw_value(other)).map(std::borrow::Cow::into_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::{json, text};

    #[test]
    fn values_are_mirrored_as_every_reader_reads_them() {
        let check = |value: &str, expected: Option<&str>| {
            let value = json::value(value).unwrap();
            assert_eq!(text(&value).as_deref(), expected, "{value}");
        };
        check(r#""a\u00e4 b""#, Some("aä b"));
        check("5", Some("5"));
        check("5.0", Some("5"));
        check("1e3", Some("1000"));
        check("-7", Some("-7"));
        check("true", Some("true"));
        check("0.5", None);
        check("9007199254740993", None);
        check("null", None);
        check("{}", None);
    }
}
