//! The schema document during generation: resolves references and evaluates plain keywords. Also
//! holds the step budget for all work on one schema.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::ProbeSynthesisError;
use crate::schema::Schema;
use crate::schema::graph::decode;
use crate::schema::subschema::subschemas;

/// Step budget of one schema; in total some tens of milliseconds.
const STEP_BUDGET: u32 = 100_000;
/// Cost of compiling a few keywords, in steps.
const COMPILING: usize = 50;

/// Keywords that constrain a value without subschemas.
const PLAIN: &[&str] = &[
    "type",
    "const",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "required",
    "dependentRequired",
];

/// Keywords beside a `$ref` that have no effect.
const REMARKS: &[&str] =
    &["$ref", "title", "description", "$comment", "$defs", "definitions", "$schema"];

pub(super) struct SchemaDocument<'a> {
    pub(super) root: &'a Value,
    /// Before draft 2019-09 siblings of a `$ref` are ignored.
    references_stand_alone: bool,
    anchors: HashMap<&'a str, &'a Value>,
    time_budget: Cell<u32>,
    /// Keyed by address: the schema is borrowed for as long as this lives.
    plain: RefCell<HashMap<usize, Option<Schema>>>,
    patterns: RefCell<HashMap<&'a str, Option<Schema>>>,
}

impl<'a> SchemaDocument<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let old = ["draft-04", "draft-06", "draft-07"];
        Self {
            root,
            references_stand_alone: old.iter().any(|it| dialect.contains(it)),
            anchors: anchors(root),
            time_budget: Cell::new(STEP_BUDGET),
            plain: RefCell::default(),
            patterns: RefCell::default(),
        }
    }

    pub(super) fn spend(&self, steps: usize) -> Result<(), ProbeSynthesisError> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        let left =
            self.time_budget.get().checked_sub(steps).ok_or(ProbeSynthesisError::TooMuchWork)?;
        self.time_budget.set(left);
        Ok(())
    }

    /// The targets of a schema's references, and whether its other keywords are ignored.
    pub(super) fn references(&self, schema: &Map<String, Value>) -> SchemaReferences<'a> {
        let keywords = ["$ref", "$dynamicRef", "$recursiveRef"];
        let named = keywords.iter().filter_map(|keyword| schema.get(*keyword)?.as_str());
        let targets = named.filter_map(|reference| self.target(reference)).collect();
        let stands_alone = self.references_stand_alone && schema.contains_key("$ref");
        SchemaReferences { targets, stands_alone }
    }

    /// The schema itself, or its target if it is only a reference.
    pub(super) fn follow_reference(
        &self,
        mut schema: &'a Value,
    ) -> Result<&'a Value, ProbeSynthesisError> {
        while let Value::Object(fields) = schema
            && let Some(reference) = fields.get("$ref").and_then(Value::as_str)
            && (self.references_stand_alone || fields.keys().all(|it| REMARKS.contains(&&**it)))
            && let Some(target) = self.target(reference)
        {
            self.spend(1)?;
            schema = target;
        }
        Ok(schema)
    }

    fn target(&self, reference: &str) -> Option<&'a Value> {
        let fragment = decode(reference.strip_prefix('#')?)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            self.root.pointer(&fragment)
        } else {
            self.anchors.get(&*fragment).copied()
        }
    }

    /// Evaluates the plain keywords of a schema with the real validator.
    pub(super) fn holds(
        &self,
        schema: &'a Map<String, Value>,
        value: &Value,
    ) -> Result<bool, ProbeSynthesisError> {
        let address = std::ptr::from_ref(schema).addr();
        if let Some(known) = self.plain.borrow().get(&address) {
            return Ok(known.as_ref().is_none_or(|known| known.check(value).is_ok()));
        }
        let plain: Map<String, Value> = PLAIN
            .iter()
            .filter_map(|keyword| Some(((*keyword).to_owned(), schema.get(*keyword)?.clone())))
            .collect();
        let compiled = if plain.is_empty() { None } else { self.compile_keywords(plain)? };
        let holds = compiled.as_ref().is_none_or(|compiled| compiled.check(value).is_ok());
        self.plain.borrow_mut().insert(address, compiled);
        Ok(holds)
    }

    pub(super) fn matches(
        &self,
        pattern: &'a str,
        text: &str,
    ) -> Result<bool, ProbeSynthesisError> {
        self.spend(1)?;
        if !self.patterns.borrow().contains_key(pattern) {
            let compiled =
                self.compile_keywords(Map::from_iter([("pattern".to_owned(), pattern.into())]))?;
            self.patterns.borrow_mut().insert(pattern, compiled);
        }
        let known = self.patterns.borrow();
        let compiled = known.get(pattern).and_then(Option::as_ref);
        Ok(compiled.is_some_and(|it| it.check(&text.into()).is_ok()))
    }

    fn compile_keywords(
        &self,
        mut plain: Map<String, Value>,
    ) -> Result<Option<Schema>, ProbeSynthesisError> {
        self.spend(COMPILING)?;
        if let Some(dialect) = self.root.get("$schema") {
            plain.insert("$schema".to_owned(), dialect.clone());
        }
        Ok(Schema::compile(&Value::Object(plain)).ok())
    }
}

pub(super) struct SchemaReferences<'a> {
    pub(super) targets: Vec<&'a Value>,
    pub(super) stands_alone: bool,
}

fn anchors(root: &Value) -> HashMap<&str, &Value> {
    let mut anchors = HashMap::new();
    let mut rest = vec![root];
    while let Some(schema) = rest.pop() {
        let Value::Object(fields) = schema else { continue };
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(anchor)) = fields.get(keyword) {
                anchors.entry(anchor.as_str()).or_insert(schema);
            }
        }
        rest.extend(subschemas(fields).into_iter().map(|step| step.schema));
    }
    anchors
}
