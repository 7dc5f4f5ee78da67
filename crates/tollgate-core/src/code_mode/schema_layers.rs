//! A schema with its references and `allOf` parts merged into one. Work is bounded for untrusted
//! schemas; nothing is fetched.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::ops::BitOr;

use serde_json::{Map, Value};

use crate::schema::graph::decode;
use crate::schema::subschema::subschemas;

/// Maximum schemas that apply to one place.
const MAX_LAYERS: usize = 32;
/// Maximum nesting of alternatives.
const MAX_ALTERNATIVE_DEPTH: usize = 8;
/// Step budget for reading one tool's schema; ordinary schemas take a few hundred.
const MAX_STEPS: usize = 20_000;
/// Characters or items examined in one step.
const STRIDE: usize = 64;

/// Keywords beside a reference that do not affect the type.
const REMARKS: &[&str] =
    &["$ref", "$comment", "default", "deprecated", "description", "examples", "title"];

/// The document that schemas are in, and its remaining step budget. Once it is exhausted, schemas
/// read as empty: the description of a tool gets less detailed, never wrong.
#[derive(Debug)]
pub(super) struct SchemaRoot<'a> {
    pub(super) schema: &'a Value,
    anchors: OnceCell<HashMap<&'a str, &'a Value>>,
    left: Cell<usize>,
}

impl<'a> SchemaRoot<'a> {
    pub(super) fn new(schema: &'a Value) -> Self {
        Self { schema, anchors: OnceCell::new(), left: Cell::new(MAX_STEPS) }
    }

    /// Charges the budget for examining so many characters or items. `None` once it is exhausted.
    pub(super) fn spend(&self, items: usize) -> Option<()> {
        let left = self.left.get().checked_sub(1 + items / STRIDE);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ())
    }

    #[cfg(test)]
    pub(super) fn count_steps(&self) -> usize {
        MAX_STEPS - self.left.get()
    }

    /// Resolves a reference within this document.
    fn target(&self, reference: &str) -> Option<&'a Value> {
        self.spend(reference.len())?;
        let fragment = decode(reference.strip_prefix('#')?)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            self.schema.pointer(&fragment)
        } else {
            self.anchors.get_or_init(|| anchors(self.schema)).get(&*fragment).copied()
        }
    }
}

/// A schema and all others that apply to the same place.
#[derive(Debug, Clone)]
pub(super) struct SchemaLayers<'r, 'a> {
    root: &'r SchemaRoot<'a>,
    layers: Vec<&'a Map<String, Value>>,
    /// Set if the schema is nothing but a reference.
    reference: Option<&'a str>,
}

impl<'r, 'a> SchemaLayers<'r, 'a> {
    /// The layers of `schema`, which is part of `root`.
    pub(super) fn of(root: &'r SchemaRoot<'a>, schema: &'a Value) -> Self {
        let is_plain =
            |fields: &Map<String, Value>| fields.keys().all(|it| REMARKS.contains(&&**it));
        let plain = schema.as_object().filter(|fields| is_plain(fields));
        let reference = plain.and_then(|fields| fields.get("$ref")?.as_str());
        let mut all = Self { root, layers: Vec::new(), reference };
        all.add(schema);
        all
    }

    /// With one more schema: an alternative of this one.
    pub(super) fn and(&self, schema: &'a Value) -> Self {
        let mut all = Self { reference: None, ..self.clone() };
        all.add(schema);
        all
    }

    fn add(&mut self, schema: &'a Value) {
        let mut waiting = vec![schema];
        while let Some(schema) = waiting.pop() {
            let Value::Object(fields) = schema else { continue };
            if self.layers.len() == MAX_LAYERS || self.root.spend(0).is_none() {
                return;
            }
            if self.layers.iter().any(|known| std::ptr::eq(*known, fields)) {
                continue;
            }
            self.layers.push(fields);
            let further = fields.get("allOf").and_then(Value::as_array).map(Vec::as_slice);
            waiting.extend(further.unwrap_or_default().iter().take(MAX_LAYERS).rev());
            for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                let Some(reference) = fields.get(keyword).and_then(Value::as_str) else { continue };
                waiting.extend(self.root.target(reference));
            }
        }
    }

    pub(super) fn reference(&self) -> Option<&'a str> {
        self.reference
    }

    /// The first value of this keyword.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.layers.iter().find_map(|layer| layer.get(keyword))
    }

    pub(super) fn text(&self, keyword: &str) -> Option<&'a str> {
        let text = self.get(keyword)?.as_str()?;
        self.root.spend(text.len()).map(|()| text)
    }

    pub(super) fn has(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.get(keyword).is_some())
    }

    fn all(&self, keyword: &str) -> impl Iterator<Item = &'a Value> {
        self.layers.iter().filter_map(move |layer| layer.get(keyword))
    }

    /// Lists beyond the step budget are omitted.
    fn lists(&self, keyword: &str) -> impl Iterator<Item = &'a [Value]> {
        let lists = self.all(keyword).filter_map(|it| it.as_array().map(Vec::as_slice));
        lists.filter(|it| self.root.spend(it.len()).is_some())
    }

    /// `anyOf`, or else `oneOf`.
    pub(super) fn alternatives(&self) -> &'a [Value] {
        let found = ["anyOf", "oneOf"].into_iter().find_map(|it| self.get(it)?.as_array());
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// Without duplicates, in order.
    pub(super) fn properties(&self) -> Vec<(&'a str, &'a Value)> {
        let mut seen = HashSet::new();
        let all = self.all("properties").filter_map(Value::as_object);
        let all = all.filter(|it| self.root.spend(it.len()).is_some()).flatten();
        all.map(|(name, schema)| (name.as_str(), schema))
            .filter(|(name, _)| seen.insert(*name))
            .collect()
    }

    pub(super) fn required_fields(&self) -> HashSet<&'a str> {
        self.lists("required").flatten().filter_map(Value::as_str).collect()
    }

    /// The JSON types it may accept. Never too few.
    pub(super) fn kinds(&self) -> JsonTypeSet {
        self.kinds_within(MAX_ALTERNATIVE_DEPTH)
    }

    fn kinds_within(&self, depth: usize) -> JsonTypeSet {
        let mut kinds = JsonTypeSet::ALL;
        for name in self.all("type").filter_map(Value::as_str) {
            kinds = kinds.and(JsonTypeSet::from_name(name));
        }
        for names in self.lists("type") {
            kinds = kinds.and(JsonTypeSet::any(
                names.iter().filter_map(Value::as_str).map(JsonTypeSet::from_name),
            ));
        }
        for values in self.lists("enum") {
            kinds = kinds.and(JsonTypeSet::any(values.iter().map(JsonTypeSet::of)));
        }
        for value in self.all("const") {
            kinds = kinds.and(JsonTypeSet::of(value));
        }
        let alternatives = self.alternatives();
        if depth > 0 && !alternatives.is_empty() {
            kinds = kinds.and(JsonTypeSet::any(alternatives.iter().map(|it| match it {
                Value::Bool(false) => JsonTypeSet::NONE,
                it => SchemaLayers::of(self.root, it).kinds_within(depth - 1),
            })));
        }
        kinds
    }
}

/// All named anchors; the first of a name is used.
fn anchors(root: &Value) -> HashMap<&str, &Value> {
    let mut anchors = HashMap::new();
    let mut waiting = vec![root];
    while let Some(schema) = waiting.pop() {
        let Value::Object(fields) = schema else { continue };
        for name in ["$anchor", "$dynamicAnchor"].iter().filter_map(|it| fields.get(*it)?.as_str())
        {
            anchors.entry(name).or_insert(schema);
        }
        waiting.extend(subschemas(fields).into_iter().map(|step| step.schema));
    }
    anchors
}

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JsonTypeSet(u8);

impl JsonTypeSet {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    const BOOLEAN: Self = Self(2);
    const NUMBER: Self = Self(4);
    pub(super) const STRING: Self = Self(8);
    const ARRAY: Self = Self(16);
    pub(super) const OBJECT: Self = Self(32);
    pub(super) const ALL: Self = Self(63);

    fn from_name(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" | "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::NONE,
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// The union.
    fn any(each: impl Iterator<Item = Self>) -> Self {
        let mut kinds = Self::NONE;
        for one in each {
            kinds = kinds | one;
            if kinds == Self::ALL {
                break;
            }
        }
        kinds
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for JsonTypeSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
