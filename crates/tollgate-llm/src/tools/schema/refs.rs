//! Resolves `$ref`: gathers all targets into `$defs` of the root, or inlines them. Never fetches
//! anything.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::limits;
use super::merge::and;
use super::shape;
use super::{MAX_VALUES, SchemaFitError, SchemaFitLog};
use crate::tools::conversion_loss::{ConversionLoss, ConversionLossKind, step};
use crate::tools::tool_format::ToolFormat;

const REF_KEYWORDS: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords that only serve references.
const ANCHOR_KEYWORDS: [&str; 6] =
    ["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment"];
/// Total number of schemas that may be inlined.
const MAX_INLINED_SCHEMAS: usize = 500;
/// Nesting depth below which nothing is inlined.
const MAX_LEVELS: usize = 32;
const DEFS_PREFIX: &str = "#/$defs/";

/// Rewrites every reference to `#/$defs/NAME`. Unused definitions are dropped.
pub(super) fn gather(root: &mut Value, log: &mut SchemaFitLog) -> Result<(), SchemaFitError> {
    let original = root.clone();
    let mut gatherer = RefGatherer { root: &original, names: HashMap::new(), used: HashSet::new() };
    let mut waiting = VecDeque::new();
    let mut left = MAX_VALUES;
    let at = log.at.clone();
    gatherer.rewrite(root, &at, log, &mut waiting);
    let mut gathered = Map::new();
    while let Some((name, mut schema)) = waiting.pop_front() {
        left = left.checked_sub(size(&schema)).ok_or(SchemaFitError::TooLarge)?;
        let at = step(&format!("{at}/$defs"), &name);
        gatherer.rewrite(&mut schema, &at, log, &mut waiting);
        gathered.insert(name, schema);
    }
    if let (Value::Object(fields), false) = (root, gathered.is_empty()) {
        fields.insert("$defs".to_owned(), Value::Object(gathered));
    }
    Ok(())
}

struct RefGatherer<'a> {
    root: &'a Value,
    /// Names of definitions, by the original reference.
    names: HashMap<String, String>,
    used: HashSet<String>,
}

impl RefGatherer<'_> {
    /// Records losses in the log, and definitions still to rewrite in `waiting`.
    fn rewrite(
        &mut self,
        schema: &mut Value,
        at: &str,
        log: &mut SchemaFitLog,
        waiting: &mut VecDeque<(String, Value)>,
    ) {
        let Value::Object(fields) = schema else { return };
        for group in ["$defs", "definitions"].into_iter().chain(ANCHOR_KEYWORDS) {
            fields.shift_remove(group);
        }
        for keyword in REF_KEYWORDS {
            let Some(Value::String(reference)) = fields.shift_remove(keyword) else { continue };
            match self.name(&reference, waiting) {
                Some(name) => {
                    fields.insert("$ref".to_owned(), format!("{DEFS_PREFIX}{name}").into());
                }
                None => {
                    let what = format!("the reference to `{reference}` points to nothing");
                    log.lost.push(ConversionLoss::new(
                        ConversionLossKind::Limit,
                        step(at, keyword),
                        what,
                    ));
                    limits::tell(fields, &[limits::of(keyword, &reference.into())]);
                }
            }
        }
        shape::each(fields, at, |schema, at| self.rewrite(schema, at, log, waiting));
    }

    /// Name of the definition that a reference now points to.
    fn name(&mut self, reference: &str, waiting: &mut VecDeque<(String, Value)>) -> Option<String> {
        if let Some(name) = self.names.get(reference) {
            return Some(name.clone());
        }
        let target = target(self.root, reference)?;
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let plain: String =
            last.chars().filter(|c| c.is_ascii_alphanumeric() || "_-.".contains(*c)).collect();
        let stem = if plain.is_empty() { "root".to_owned() } else { plain };
        let mut name = stem.clone();
        for count in 2.. {
            if self.used.insert(name.clone()) {
                break;
            }
            name = format!("{stem}_{count}");
        }
        self.names.insert(reference.to_owned(), name.clone());
        waiting.push_back((name.clone(), target.clone()));
        Some(name)
    }
}

fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = percent_decode(reference.strip_prefix('#')?)?;
    let found = if fragment.is_empty() || fragment.starts_with('/') {
        root.pointer(&fragment)?
    } else {
        find_anchor(root, &fragment)?
    };
    (found.is_object() || found.is_boolean()).then_some(found)
}

fn find_anchor<'a>(value: &'a Value, anchor: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            let is_it = |key| fields.get(key).and_then(Value::as_str) == Some(anchor);
            if is_it("$anchor") || is_it("$dynamicAnchor") {
                Some(value)
            } else {
                fields.values().find_map(|field| find_anchor(field, anchor))
            }
        }
        Value::Array(items) => items.iter().find_map(|item| find_anchor(item, anchor)),
        _ => None,
    }
}

/// Percent-decoding of a URI fragment.
fn percent_decode(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                u8::try_from(digit(rest.next()?)? * 16 + digit(rest.next()?)?).ok()?
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Inlines references. A recursive schema keeps them if the format supports references; otherwise
/// it is described in text.
pub(super) fn inline(root: Value, form: ToolFormat, log: &mut SchemaFitLog) -> Value {
    let Value::Object(mut fields) = root else { return root };
    let Some(Value::Object(definitions)) = fields.shift_remove("$defs") else {
        return Value::Object(fields);
    };
    let mut whole = Value::Object(fields.clone());
    let mut lost = Vec::new();
    let mut inliner = RefInliner {
        definitions: &definitions,
        lost: &mut lost,
        left: MAX_INLINED_SCHEMAS,
        level: 0,
    };
    inliner.session_request(&mut whole, &log.at, &mut Vec::new());
    if form == ToolFormat::Gemini && !lost.is_empty() {
        fields.insert("$defs".to_owned(), Value::Object(definitions));
        return Value::Object(fields);
    }
    log.lost.append(&mut lost);
    whole
}

struct RefInliner<'a> {
    definitions: &'a Map<String, Value>,
    lost: &'a mut Vec<ConversionLoss>,
    left: usize,
    level: usize,
}

impl<'a> RefInliner<'a> {
    /// `within` are the definitions that are being inlined.
    fn session_request(&mut self, schema: &mut Value, at: &str, within: &mut Vec<&'a str>) {
        self.left = self.left.saturating_sub(1);
        let Value::Object(fields) = schema else { return };
        let mut entered = 0;
        while let Some(name) = take_ref(fields) {
            let Some((name, definition)) = self.definitions.get_key_value(&name) else { break };
            let is_too_much = self.left == 0 || self.level > MAX_LEVELS;
            if within.contains(&name.as_str()) || is_too_much {
                self.lost.push(describe_instead(fields, name, definition, at));
                break;
            }
            within.push(name);
            entered += 1;
            replace(fields, definition.clone());
        }
        self.level += 1;
        shape::each(fields, at, |schema, at| self.session_request(schema, at, within));
        self.level -= 1;
        within.truncate(within.len() - entered);
    }
}

fn take_ref(fields: &mut Map<String, Value>) -> Option<String> {
    let reference = fields.shift_remove("$ref")?;
    Some(reference.as_str()?.strip_prefix(DEFS_PREFIX)?.to_owned())
}

fn replace(fields: &mut Map<String, Value>, definition: Value) {
    match definition {
        Value::Object(definition) => {
            let (merged, rest) = and(std::mem::take(fields), definition);
            *fields = merged;
            if let Some(rest) = rest {
                let all = fields.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(all) = all {
                    all.push(Value::Object(rest));
                }
            }
        }
        Value::Bool(false) => drop(fields.insert("not".to_owned(), Value::Object(Map::new()))),
        _ => {}
    }
}

/// Replaces a definition that is recursive or too large by a description.
fn describe_instead(
    fields: &mut Map<String, Value>,
    name: &str,
    definition: &Value,
    at: &str,
) -> ConversionLoss {
    if let (Some(kind), false) = (definition.get("type"), fields.contains_key("type")) {
        fields.insert("type".to_owned(), kind.clone());
    }
    limits::tell(fields, &[format!("the same form as `{name}` further up")]);
    ConversionLoss::new(
        ConversionLossKind::Limit,
        step(at, "$ref"),
        format!("`{name}` is recursive or too large"),
    )
}
