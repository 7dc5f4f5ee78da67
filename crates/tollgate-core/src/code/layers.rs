//! A schema as callers of a tool care for it: what it says itself, what it refers to and what its
//! `allOf` adds, as one. Bounded, whatever a stranger wrote; nothing is fetched.

use std::collections::HashSet;
use std::ops::BitOr;

use serde_json::{Map, Value};

use crate::schema::graph::decode;
use crate::schema::shape::subschemas;

/// Schemas that hold in the same place.
const MOST_LAYERS: usize = 32;
/// Alternatives within alternatives.
const DEEPEST: usize = 8;

/// Words beside a reference that change nothing of the type.
const REMARKS: &[&str] =
    &["$ref", "$comment", "default", "deprecated", "description", "examples", "title"];

/// A schema and all that holds in the same place.
#[derive(Debug, Clone)]
pub(super) struct Layers<'a> {
    root: &'a Value,
    layers: Vec<&'a Map<String, Value>>,
    /// Where it stands for nothing but what it refers to.
    reference: Option<&'a str>,
}

impl<'a> Layers<'a> {
    /// Of `schema`, which stands somewhere in `root`.
    pub(super) fn of(root: &'a Value, schema: &'a Value) -> Self {
        let is_plain =
            |fields: &Map<String, Value>| fields.keys().all(|it| REMARKS.contains(&&**it));
        let plain = schema.as_object().filter(|fields| is_plain(fields));
        let reference = plain.and_then(|fields| fields.get("$ref")?.as_str());
        let mut all = Self { root, layers: Vec::new(), reference };
        all.add(schema);
        all
    }

    /// With a schema more: an alternative of this one.
    pub(super) fn and(&self, schema: &'a Value) -> Self {
        let mut all = Self { reference: None, ..self.clone() };
        all.add(schema);
        all
    }

    fn add(&mut self, schema: &'a Value) {
        let mut waiting = vec![schema];
        while let Some(schema) = waiting.pop() {
            let Value::Object(fields) = schema else { continue };
            let is_known = self.layers.iter().any(|known| std::ptr::eq(*known, fields));
            if is_known || self.layers.len() == MOST_LAYERS {
                continue;
            }
            self.layers.push(fields);
            let further = fields.get("allOf").and_then(Value::as_array).into_iter().flatten().rev();
            waiting.extend(further);
            for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                let Some(reference) = fields.get(keyword).and_then(Value::as_str) else { continue };
                waiting.extend(target(self.root, reference));
            }
        }
    }

    pub(super) fn reference(&self) -> Option<&'a str> {
        self.reference
    }

    /// What is said first under this keyword.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.all(keyword).next()
    }

    pub(super) fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword).and_then(Value::as_str)
    }

    pub(super) fn has(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.get(keyword).is_some())
    }

    pub(super) fn all<'k>(
        &self,
        keyword: &'k str,
    ) -> impl Iterator<Item = &'a Value> + use<'a, 'k> {
        let layers = self.layers.clone();
        layers.into_iter().filter_map(move |layer| layer.get(keyword))
    }

    /// `anyOf`, or else `oneOf`.
    pub(super) fn alternatives(&self) -> &'a [Value] {
        let found = ["anyOf", "oneOf"].into_iter().find_map(|it| self.get(it)?.as_array());
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// Each once, in order.
    pub(super) fn properties(&self) -> Vec<(&'a str, &'a Value)> {
        let mut seen = HashSet::new();
        let all = self.all("properties").filter_map(Value::as_object).flatten();
        all.map(|(name, schema)| (name.as_str(), schema))
            .filter(|(name, _)| seen.insert(*name))
            .collect()
    }

    pub(super) fn required(&self) -> HashSet<&'a str> {
        let all = self.all("required").filter_map(Value::as_array).flatten();
        all.filter_map(Value::as_str).collect()
    }

    /// Which kinds of values it may take. Never too few.
    pub(super) fn kinds(&self) -> Kinds {
        self.kinds_within(DEEPEST)
    }

    fn kinds_within(&self, depth: usize) -> Kinds {
        let mut kinds = Kinds::ALL;
        for said in self.all("type") {
            kinds = kinds.and(match said {
                Value::String(name) => Kinds::named(name),
                Value::Array(names) => {
                    let each = names.iter().filter_map(Value::as_str).map(Kinds::named);
                    each.fold(Kinds::NONE, BitOr::bitor)
                }
                _ => Kinds::ALL,
            });
        }
        for values in self.all("enum").filter_map(Value::as_array) {
            kinds = kinds.and(values.iter().map(Kinds::of).fold(Kinds::NONE, BitOr::bitor));
        }
        for value in self.all("const") {
            kinds = kinds.and(Kinds::of(value));
        }
        let alternatives = self.alternatives();
        if depth > 0 && !alternatives.is_empty() {
            let each = alternatives.iter().map(|it| match it {
                Value::Bool(false) => Kinds::NONE,
                it => Layers::of(self.root, it).kinds_within(depth - 1),
            });
            kinds = kinds.and(each.fold(Kinds::NONE, BitOr::bitor));
        }
        kinds
    }
}

/// Where a reference leads within its own document.
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = decode(reference.strip_prefix('#')?)?;
    match fragment.is_empty() || fragment.starts_with('/') {
        true => root.pointer(&fragment),
        false => anchored(root, &fragment),
    }
}

fn anchored<'a>(root: &'a Value, anchor: &str) -> Option<&'a Value> {
    let mut waiting = vec![root];
    while let Some(schema) = waiting.pop() {
        let Value::Object(fields) = schema else { continue };
        let named = ["$anchor", "$dynamicAnchor"].iter().filter_map(|it| fields.get(*it)?.as_str());
        if named.into_iter().any(|it| it == anchor) {
            return Some(schema);
        }
        waiting.extend(subschemas(fields).into_iter().map(|step| step.schema));
    }
    None
}

/// A set of kinds of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    const BOOLEAN: Self = Self(2);
    const NUMBER: Self = Self(4);
    const STRING: Self = Self(8);
    const ARRAY: Self = Self(16);
    pub(super) const OBJECT: Self = Self(32);
    pub(super) const ALL: Self = Self(63);

    fn named(name: &str) -> Self {
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

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
