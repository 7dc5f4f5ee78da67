//! JSON with comments and trailing commas, as used in settings files. Nesting is limited. A
//! duplicate key is an error, because only one of them could win.

use jsonc_parser::ast::{self, Object};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};
use serde_json::{Map, Value};

use super::ImportError;

const MAX_JSON_DEPTH: usize = 64;
const KEY_MISSING: &str = "a key in double quotes is missing";

/// Comments and trailing commas; everything else is strict JSON.
pub(crate) const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<Value, ImportError> {
    let document = parse_to_ast(text, &CollectOptions::default(), &SYNTAX);
    let document = document.map_err(|error| wrong(text, error.range().start, &explain(&error)))?;
    match &document.value {
        Some(value) => convert(text, value, 0),
        None => Err(wrong(text, text.len(), "it ends unexpectedly")),
    }
}

fn convert(text: &str, node: &ast::Value<'_>, depth: usize) -> Result<Value, ImportError> {
    let is_nested = matches!(node, ast::Value::Object(_) | ast::Value::Array(_));
    if is_nested && depth == MAX_JSON_DEPTH {
        return Err(wrong(text, node.start(), &too_deep()));
    }
    match node {
        ast::Value::Object(object) => convert_object(text, object, depth + 1),
        ast::Value::Array(array) => {
            let items = array.elements.iter().map(|item| convert(text, item, depth + 1));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        ast::Value::StringLit(_)
        | ast::Value::NumberLit(_)
        | ast::Value::BooleanLit(_)
        | ast::Value::NullKeyword(_) => literal(text, node),
    }
}

fn convert_object(text: &str, object: &Object<'_>, depth: usize) -> Result<Value, ImportError> {
    let mut map = Map::new();
    for property in &object.properties {
        let Value::String(key) = literal(text, &property.name)? else {
            return Err(wrong(text, property.start(), KEY_MISSING));
        };
        if map.contains_key(&key) {
            let key = super::name::shorten_name(&key);
            return Err(wrong(text, property.start(), &format!("duplicate key `{key}`")));
        }
        let value = convert(text, &property.value, depth)?;
        map.insert(key, value);
    }
    Ok(Value::Object(map))
}

/// Read by serde_json, which is stricter: no control characters in strings, no infinite numbers.
fn literal(text: &str, node: &impl Ranged) -> Result<Value, ImportError> {
    serde_json::from_str(node.text(text)).map_err(|_| wrong(text, node.start(), "this is not JSON"))
}

fn explain(error: &ParseError) -> String {
    let why = match error.kind() {
        ParseErrorKind::UnterminatedObject => "`}` is missing: this object is not closed",
        ParseErrorKind::UnterminatedArray => "`]` is missing: this list is not closed",
        ParseErrorKind::UnterminatedCommentBlock => "a comment is not closed",
        ParseErrorKind::ExpectedColonAfterObjectKey => "`:` is missing",
        ParseErrorKind::ExpectedComma => "`,` is missing",
        ParseErrorKind::ExpectedObjectValue => "a value is missing",
        ParseErrorKind::ExpectedStringObjectProperty | ParseErrorKind::UnexpectedTokenInObject => {
            KEY_MISSING
        }
        ParseErrorKind::SingleQuotedStringsNotAllowed => "JSON needs double quotes",
        ParseErrorKind::MultipleRootJsonValues => "something follows the end",
        ParseErrorKind::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
            "a string is not closed"
        }
        ParseErrorKind::String(_) => "this is not a JSON string",
        ParseErrorKind::NestingDepthExceeded => return too_deep(),
        _ => "this is not JSON",
    };
    why.to_owned()
}

fn too_deep() -> String {
    format!("it is nested deeper than {MAX_JSON_DEPTH} levels")
}

fn wrong(text: &str, at: usize, why: &str) -> ImportError {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    ImportError::Syntax(format!("line {line}, column {column}: {why}"))
}
