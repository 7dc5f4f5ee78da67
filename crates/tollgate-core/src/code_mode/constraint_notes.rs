//! Short notes on the constraints of a value that its type does not express: `1..100`,
//! `YYYY-MM-DD`, `max 10 items`.

use serde_json::Value;

use super::comment_text;
use super::schema_layers::SchemaLayers;
use super::type_detail::TypeDetail;

/// Limits above these are not worth a note.
const LONG_TEXT: f64 = 500.0;
const LONG_LIST: f64 = 200.0;
/// Maximum characters of a regex beside a signature, and in detailed text.
const SHORT_PATTERN: usize = 20;
const PATTERN: usize = 200;
/// Generators write this for "any integer".
const SAFE: f64 = 9_007_199_254_740_991.0;

/// `None` if there is nothing worth noting.
pub(super) fn remark(layers: &SchemaLayers<'_, '_>, detail: TypeDetail) -> Option<String> {
    let remarks =
        [notation(layers), format(layers), range(layers), letters(layers, detail), items(layers)];
    let remarks: Vec<String> = remarks.into_iter().flatten().collect();
    (!remarks.is_empty()).then(|| remarks.join(", "))
}

/// Strings that encode several values: the most common mistake is to pass a list.
fn notation(layers: &SchemaLayers<'_, '_>) -> Option<String> {
    if layers.text("type") != Some("string") || layers.get("enum").is_some() {
        return None;
    }
    let text = layers.text("description")?.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|it| text.contains(it));
    if has(&["comma-separated", "comma separated"]) {
        return Some("comma-separated".to_owned());
    }
    let is_json = has(&["json string", "json array", "json object", "json-encoded", "as json"]);
    is_json.then(|| "JSON text".to_owned())
}

fn format(layers: &SchemaLayers<'_, '_>) -> Option<String> {
    if layers.text("contentEncoding") == Some("base64") {
        return Some("base64".to_owned());
    }
    let format = match layers.text("format")? {
        "date-time" => "ISO 8601 date-time",
        "date" => "YYYY-MM-DD",
        "time" => "HH:MM:SS",
        "duration" => "ISO 8601 duration",
        "uri" | "url" | "uri-reference" | "iri" => "URL",
        "byte" | "base64" | "binary" => "base64",
        "email" => "email",
        "uuid" => "UUID",
        "ipv4" | "ipv6" | "hostname" | "regex" | "json-pointer" => {
            return layers.text("format").map(str::to_owned);
        }
        // Integer widths and server-specific formats.
        _ => return None,
    };
    Some(format.to_owned())
}

fn range(layers: &SchemaLayers<'_, '_>) -> Option<String> {
    let number = |keyword: &str| {
        let value = layers.get(keyword)?;
        value.as_f64().filter(|it| it.abs() < SAFE).map(|_| value.to_string())
    };
    let least = number("minimum");
    let most = number("maximum");
    let above = number("exclusiveMinimum");
    let below = number("exclusiveMaximum");
    let text = match (least, most, above, below) {
        (Some(least), Some(most), _, _) => Some(format!("{least}..{most}")),
        (Some(least), None, _, below) => {
            let below = below.map(|it| format!("<{it}"));
            let is_told = below.is_some() || !["0", "1"].contains(&&*least);
            let least = is_told.then(|| format!(">={least}"));
            both(least, below)
        }
        (None, most, above, below) => {
            let most = most.map(|it| format!("<={it}")).or(below.map(|it| format!("<{it}")));
            both(above.map(|it| format!(">{it}")), most)
        }
    };
    let multiple = number("multipleOf").filter(|it| it != "1");
    both(text, multiple.map(|it| format!("multiple of {it}")))
}

fn letters(layers: &SchemaLayers<'_, '_>, detail: TypeDetail) -> Option<String> {
    let limit = match detail {
        TypeDetail::Brief => SHORT_PATTERN,
        TypeDetail::Full => PATTERN,
    };
    let pattern = layers.text("pattern").filter(|it| it.chars().count() <= limit);
    let pattern = pattern.map(|it| format!("matches {}", comment_text::line(it, PATTERN)));
    let least = count(layers, "minLength");
    let most = count(layers, "maxLength");
    let length = match (least.filter(|it| *it > 1.0), most.filter(|it| *it <= LONG_TEXT)) {
        (Some(least), Some(most)) if least == most => Some(format!("{most} chars")),
        (Some(least), Some(most)) => Some(format!("{least}..{most} chars")),
        (Some(least), None) => Some(format!("min {least} chars")),
        (None, Some(most)) => Some(format!("max {most} chars")),
        (None, None) => None,
    };
    // A regex makes a length limit redundant.
    pattern.or(length)
}

fn items(layers: &SchemaLayers<'_, '_>) -> Option<String> {
    let least = count(layers, "minItems");
    let most = count(layers, "maxItems");
    match (least.filter(|it| *it > 0.0), most.filter(|it| *it <= LONG_LIST)) {
        (Some(least), Some(most)) if least == most => Some(format!("{most} items")),
        (Some(least), Some(most)) => Some(format!("{least}..{most} items")),
        (Some(1.0), None) => Some("not empty".to_owned()),
        (Some(least), None) => Some(format!("min {least} items")),
        (None, Some(most)) => Some(format!("max {most} items")),
        (None, None) => None,
    }
}

fn count(layers: &SchemaLayers<'_, '_>, keyword: &str) -> Option<f64> {
    layers.get(keyword).and_then(Value::as_f64)
}

fn both(one: Option<String>, two: Option<String>) -> Option<String> {
    match (one, two) {
        (Some(one), Some(two)) => Some(format!("{one}, {two}")),
        (one, two) => one.or(two),
    }
}
