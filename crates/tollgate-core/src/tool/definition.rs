//! Intake of an untrusted tool definition: strict parsing, size limits, removal of hidden text.
//! Used only by the catalogue. Independent of the operator's rules.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::definition_error::{DefinitionError, MAX_TOOL_NAME};
use super::finding::{Finding, FindingKind};
use super::headers::HeaderParameter;
use super::{CacheScope, ContentHash, headers, prompt_injection, scrub};
use crate::id::ToolName;
use crate::json::{self, Object};
use crate::schema;

/// One tool as its server describes it, with hidden text removed.
#[derive(Debug)]
pub struct ToolDefinition {
    /// Byte for byte as sent by the server.
    pub name: ToolName,
    pub title: Option<String>,
    pub description: Option<String>,
    pub input_schema: Value,
    pub output_schema: Option<Value>,
    pub annotations: ToolAnnotations,
    pub declared: DeclaredMeta,
    /// Arguments that are also sent as `Mcp-Param-*` headers.
    pub headers: Vec<HeaderParameter>,
    pub findings: Vec<Finding>,
    /// Every field, known or not, in the original order.
    pub fields: Object<'static>,
    /// The original text, if it differs from `fields`.
    original: Option<Box<str>>,
    /// SHA-256 of the server's definition in canonical form (hidden text included).
    pub hash: ContentHash,
}

/// The annotations of MCP, as far as they are given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolAnnotations {
    pub title: Option<String>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

/// Latency and caching declared by the server in `_meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeclaredMeta {
    pub estimated: Option<Duration>,
    pub max: Option<Duration>,
    pub cacheable: Option<Duration>,
    pub scope: Option<CacheScope>,
    /// `Some(false)`: the server does not want to be probed.
    pub probe: Option<bool>,
}

const KNOWN: &[&str] =
    &["name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta"];

impl ToolDefinition {
    pub const MAX_NAME: usize = MAX_TOOL_NAME;
    pub const MAX_DESCRIPTION: usize = 4 * 1024;
    /// Before hidden text is removed.
    const MAX_RAW_DESCRIPTION: usize = 64 * 1024;
    /// Maximum size without the description, so that icons and `_meta` are limited too.
    pub const MAX_TEXT: usize = 256 * 1024;

    pub fn intake(raw: &RawValue) -> Result<Self, DefinitionError> {
        let object = Object::parse(raw.get())?;
        if let Some(twin) = object.twin_of(KNOWN) {
            return Err(DefinitionError::Twin(twin));
        }
        check_sizes(raw, &object)?;
        let mut whole = json::value(raw.get())?;
        let hash = ContentHash::of(&json::canonical(&whole));
        let name = name(&whole)?;
        let was_bounded = bound_description(&mut whole);
        let mut findings = scrub::scrub(&mut whole, raw.get())?;
        let mut fields = scrub::fields(&whole, raw.get(), &findings)?;
        let suspicious = prompt_injection::scan(&whole);
        let Value::Object(mut whole) = whole else { return Err(DefinitionError::Missing("name")) };
        let input_schema =
            whole.remove("inputSchema").ok_or(DefinitionError::Missing("inputSchema"))?;
        if input_schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(DefinitionError::NotAnObject);
        }
        let mut description = text(&whole, "description")?;
        let cut = description.as_deref().and_then(cut);
        if was_bounded || cut.is_some() {
            findings.push(Finding::new(FindingKind::Cut, "/description"));
        }
        if let Some(cut) = cut {
            fields.set_string("description", &cut);
            description = Some(cut);
        }
        let declared = read_declared_meta(&whole, &mut findings)?;
        let original = (!findings.is_empty()).then(|| raw.get().into());
        findings.extend(suspicious);
        Ok(Self {
            name,
            title: text(&whole, "title")?,
            description,
            headers: headers::parameters(&input_schema)?,
            input_schema,
            output_schema: output_schema(&mut whole)?,
            annotations: annotations(&whole)?,
            declared,
            findings,
            fields,
            original,
            hash,
        })
    }

    /// The server's definition, hidden text included: the text that `hash` is computed from, except
    /// for key order.
    pub fn source_text(&self) -> Cow<'_, str> {
        match &self.original {
            Some(original) => Cow::Borrowed(original),
            None => Cow::Owned(self.fields.to_text()),
        }
    }
}

fn check_sizes(raw: &RawValue, object: &Object<'_>) -> Result<(), DefinitionError> {
    let of = |field| object.get(field).map_or(0, |value| value.get().len());
    for field in ["inputSchema", "outputSchema"] {
        let size = of(field);
        let limit = schema::MAX_TEXT;
        if size > limit {
            return Err(DefinitionError::TooLong { field, size, limit });
        }
    }
    let size = raw.get().len() - of("description");
    let limit = ToolDefinition::MAX_TEXT;
    if size > limit {
        Err(DefinitionError::TooLong { field: "definition", size, limit })
    } else {
        Ok(())
    }
}

fn name(whole: &Value) -> Result<ToolName, DefinitionError> {
    let name = whole.get("name").ok_or(DefinitionError::Missing("name"))?;
    let name =
        name.as_str().ok_or(DefinitionError::Type { field: "name", expected: "a string" })?;
    match name.chars().count() {
        1..=ToolDefinition::MAX_NAME => Ok(ToolName::new(name)),
        length => Err(DefinitionError::NameLength(length)),
    }
}

/// An optional string; `null` counts as absent.
fn text(
    fields: &Map<String, Value>,
    field: &'static str,
) -> Result<Option<String>, DefinitionError> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(DefinitionError::Type { field, expected: "a string" }),
    }
}

fn object<'a>(
    fields: &'a Map<String, Value>,
    field: &'static str,
) -> Result<Option<&'a Map<String, Value>>, DefinitionError> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(DefinitionError::Type { field, expected: "an object" }),
    }
}

/// Drops the part of a description that would be truncated anyway, so that it is not scanned.
fn bound_description(whole: &mut Value) -> bool {
    let Some(Value::String(text)) = whole.get_mut("description") else { return false };
    let end = text.floor_char_boundary(ToolDefinition::MAX_RAW_DESCRIPTION);
    let is_longer = end < text.len();
    text.truncate(end);
    is_longer
}

/// `text` truncated at its limit with a mark, if it is longer.
fn cut(text: &str) -> Option<String> {
    let limit = ToolDefinition::MAX_DESCRIPTION;
    (text.len() > limit).then(|| {
        let end = text.floor_char_boundary(limit - "…".len());
        format!("{}…", &text[..end])
    })
}

fn output_schema(whole: &mut Map<String, Value>) -> Result<Option<Value>, DefinitionError> {
    match whole.remove("outputSchema") {
        None | Some(Value::Null) => Ok(None),
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => Ok(Some(schema)),
        Some(_) => Err(DefinitionError::Type { field: "outputSchema", expected: "a schema" }),
    }
}

fn annotations(whole: &Map<String, Value>) -> Result<ToolAnnotations, DefinitionError> {
    let Some(given) = object(whole, "annotations")? else { return Ok(ToolAnnotations::default()) };
    let hint = |field| match given.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(hint)) => Ok(Some(*hint)),
        Some(_) => Err(DefinitionError::Type { field, expected: "true or false" }),
    };
    Ok(ToolAnnotations {
        title: text(given, "title")?,
        read_only: hint("readOnlyHint")?,
        destructive: hint("destructiveHint")?,
        idempotent: hint("idempotentHint")?,
        open_world: hint("openWorldHint")?,
    })
}

fn read_declared_meta(
    whole: &Map<String, Value>,
    findings: &mut Vec<Finding>,
) -> Result<DeclaredMeta, DefinitionError> {
    let Some(meta) = object(whole, "_meta")? else { return Ok(DeclaredMeta::default()) };
    let mut duration = |group: &str, field: &str, unit: f64| {
        let value = meta.get(group)?.get(field)?;
        // Clamped to a day, which exceeds every limit here and keeps the arithmetic small.
        let seconds = value.as_f64().map(|it| it * unit).filter(|it| *it > 0.0);
        if seconds.is_none() {
            let at = format!("/_meta/{}/{field}", scrub::escape(group));
            findings.push(Finding::new(FindingKind::Ignored, &at));
        }
        seconds.map(|it| Duration::from_secs_f64(it.min(86_400.0)))
    };
    Ok(DeclaredMeta {
        estimated: duration("dev.tollgate/latency", "estimatedDurationMs", 0.001),
        max: duration("dev.tollgate/latency", "maxDurationMs", 0.001),
        cacheable: duration("dev.tollgate/cache", "cacheableSeconds", 1.0),
        scope: scope(meta, findings),
        probe: probe(meta, findings),
    })
}

fn probe(meta: &Map<String, Value>, findings: &mut Vec<Finding>) -> Option<bool> {
    let group = "dev.tollgate/latency";
    let is_stated = meta.get(group)?.get("probe")?.as_bool();
    if is_stated.is_none() {
        let at = format!("/_meta/{}/probe", scrub::escape(group));
        findings.push(Finding::new(FindingKind::Ignored, &at));
    }
    is_stated
}

fn scope(meta: &Map<String, Value>, findings: &mut Vec<Finding>) -> Option<CacheScope> {
    let group = "dev.tollgate/cache";
    match meta.get(group)?.get("scope")?.as_str() {
        Some("private") => Some(CacheScope::Private),
        Some("public") => Some(CacheScope::Public),
        _ => {
            let at = format!("/_meta/{}/scope", scrub::escape(group));
            findings.push(Finding::new(FindingKind::Ignored, &at));
            None
        }
    }
}

#[cfg(test)]
mod tests;
