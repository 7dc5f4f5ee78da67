//! The parameters of a tool in signature order: required ones first, each under an identifier that
//! a program can write.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::identifier::{IdentifierRole, identifiers};
use super::schema_layers::{JsonTypeSet, SchemaLayers, SchemaRoot};

/// Maximum alternatives of a schema that are read for parameters.
const MAX_ALTERNATIVES: usize = 32;

#[derive(Debug)]
pub(super) struct Parameters {
    all: Vec<Parameter>,
    /// By schema name and by identifier; the schema name takes precedence.
    places: HashMap<String, usize>,
    pub(super) others: ExtraArguments,
}

#[derive(Debug)]
pub(super) struct Parameter {
    /// The name in the schema.
    pub(super) name: String,
    /// The identifier in programs.
    pub(super) identifier: String,
    pub(super) need: ParameterNeed,
    pub(super) takes: JsonTypeSet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterNeed {
    Required,
    Optional,
}

/// How arguments that the schema does not name are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExtraArguments {
    Taken,
    Refused,
}

impl Parameters {
    pub(super) fn of(schema: &Value) -> Self {
        let root = SchemaRoot::new(schema);
        let declared = DeclaredParameters::of(&root);
        let names: Vec<&str> = declared.fields.iter().map(|field| field.name).collect();
        let spelled = identifiers(&names, IdentifierRole::Parameter);
        let all: Vec<Parameter> = declared
            .fields
            .iter()
            .zip(spelled)
            .map(|(field, identifier)| Parameter {
                name: field.name.to_owned(),
                identifier,
                need: field.need,
                takes: SchemaLayers::of(&root, field.schema).kinds(),
            })
            .collect();
        let own = all.iter().enumerate().map(|(at, it)| (it.name.clone(), at));
        let mut places: HashMap<String, usize> = own.collect();
        for (at, it) in all.iter().enumerate() {
            places.entry(it.identifier.clone()).or_insert(at);
        }
        Self { all, places, others: declared.others() }
    }

    pub(super) fn all(&self) -> &[Parameter] {
        &self.all
    }

    /// By name or identifier.
    pub(super) fn find(&self, name: &str) -> Option<&Parameter> {
        self.places.get(name).map(|at| &self.all[*at])
    }
}

/// The declared parameters, in signature order.
pub(super) struct DeclaredParameters<'r, 'a> {
    pub(super) fields: Vec<DeclaredParameter<'a>>,
    whole: SchemaLayers<'r, 'a>,
}

pub(super) struct DeclaredParameter<'a> {
    pub(super) name: &'a str,
    pub(super) schema: &'a Value,
    pub(super) need: ParameterNeed,
}

impl<'r, 'a> DeclaredParameters<'r, 'a> {
    /// Must be the first read of a schema, so that all readers find the same fields within the step
    /// budget.
    pub(super) fn of(root: &'r SchemaRoot<'a>) -> Self {
        let whole = SchemaLayers::of(root, root.schema);
        let mut required = whole.required_fields();
        let mut found = whole.properties();
        let alternatives: Vec<SchemaLayers<'r, 'a>> = whole
            .alternatives()
            .iter()
            .take(MAX_ALTERNATIVES)
            .map(|it| SchemaLayers::of(root, it))
            .collect();
        // Required by every alternative means required.
        let always =
            alternatives.iter().map(SchemaLayers::required_fields).reduce(|one, two| &one & &two);
        required.extend(always.unwrap_or_default());
        let conditional = ["then", "else"].into_iter().filter_map(|it| whole.get(it));
        let conditional = conditional.map(|it| SchemaLayers::of(root, it));
        for further in alternatives.into_iter().chain(conditional) {
            found.extend(further.properties());
        }
        let mut seen = HashSet::new();
        let fields = found.into_iter().filter(|(name, _)| seen.insert(*name));
        let mut fields: Vec<DeclaredParameter<'a>> = fields
            .map(|(name, schema)| {
                let is_required = required.contains(name);
                let need =
                    if is_required { ParameterNeed::Required } else { ParameterNeed::Optional };
                DeclaredParameter { name, schema, need }
            })
            .collect();
        fields.sort_by_key(|field| field.need == ParameterNeed::Optional);
        Self { fields, whole }
    }

    pub(super) fn others(&self) -> ExtraArguments {
        let additional = self.whole.get("additionalProperties");
        let additional = additional.or_else(|| self.whole.get("unevaluatedProperties"));
        let taken = match additional {
            Some(Value::Bool(additional)) => *additional,
            Some(_) => true,
            // The schema says nothing about arguments, so any argument may be valid.
            None => self.whole.get("properties").is_none() && self.fields.is_empty(),
        };
        if taken || self.whole.get("patternProperties").is_some() {
            ExtraArguments::Taken
        } else {
            ExtraArguments::Refused
        }
    }

    /// The schema of additional arguments, if the schema accepts them explicitly.
    pub(super) fn other(&self) -> Option<&'a Value> {
        let additional = self.whole.get("additionalProperties");
        additional.filter(|it| it.is_object() || **it == Value::Bool(true))
    }
}
