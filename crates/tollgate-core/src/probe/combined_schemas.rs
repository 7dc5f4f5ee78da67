//! All schemas that apply to one value, and the open choices between their alternatives.

use std::collections::VecDeque;

use serde_json::{Map, Number, Value};

use super::ProbeSynthesisError;
use super::document::SchemaDocument;
use super::value_path::ValuePath;

pub(super) type SchemaKeywords<'a> = &'a Map<String, Value>;

#[derive(Clone, Default)]
pub(super) struct CombinedSchemas<'a> {
    pub(super) parts: Vec<SchemaKeywords<'a>>,
    /// Each choice is a list of alternatives; an alternative is a list of further schemas.
    choices: VecDeque<Vec<Vec<&'a Value>>>,
}

/// The kinds of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeValueKind {
    Text,
    Integer,
    Number,
    Boolean,
    Object,
    List,
    Null,
}

impl<'a> CombinedSchemas<'a> {
    /// This set with further schemas, including those they refer to.
    pub(super) fn with(
        &self,
        document: &SchemaDocument<'a>,
        schemas: &[&'a Value],
        place: &ValuePath<'_>,
    ) -> Result<Self, ProbeSynthesisError> {
        document.spend(1 + self.parts.len() + self.choices.len())?;
        let mut form = self.clone();
        let mut waiting: VecDeque<&Value> = schemas.iter().copied().collect();
        while let Some(schema) = waiting.pop_front() {
            document.spend(1)?;
            match schema {
                Value::Object(part) if !form.has(part) => {
                    let references = document.references(part);
                    waiting.extend(references.targets);
                    if references.stands_alone {
                        continue;
                    }
                    waiting.extend(list(part, "allOf"));
                    form.choices.extend(choices(part));
                    form.parts.push(part);
                }
                Value::Bool(false) => return Err(place.contradiction("nothing is allowed there")),
                _ => {}
            }
        }
        Ok(form)
    }

    pub(super) fn has(&self, part: SchemaKeywords<'_>) -> bool {
        self.parts.iter().any(|it| std::ptr::eq(*it, part))
    }

    /// The alternatives of the first open choice.
    pub(super) fn choose(&mut self) -> Option<Vec<Vec<&'a Value>>> {
        self.choices.pop_front()
    }

    /// The only permitted values, if they are enumerated.
    pub(super) fn allowed_values(&self) -> Option<Vec<&'a Value>> {
        let constant = self.parts.iter().find_map(|part| part.get("const"));
        constant.map(|it| vec![it]).or_else(|| {
            let listed = self.parts.iter().find_map(|part| part.get("enum")?.as_array());
            listed.map(|values| values.iter().collect())
        })
    }

    /// Defaults and examples of the author.
    pub(super) fn suggested_values(&self) -> Vec<&'a Value> {
        let defaults = self.parts.iter().filter_map(|part| part.get("default"));
        let examples = self.parts.iter().flat_map(|part| list(part, "examples"));
        let example = self.parts.iter().filter_map(|part| part.get("example"));
        defaults.chain(examples).chain(example).collect()
    }

    /// The possible kinds, best first; inferred from other keywords if there is no `type`.
    pub(super) fn kinds(
        &self,
        place: &ValuePath<'_>,
    ) -> Result<Vec<ProbeValueKind>, ProbeSynthesisError> {
        let mut kinds: Option<Vec<ProbeValueKind>> = None;
        let mut lines = Vec::new();
        for types in self.parts.iter().filter_map(|part| part.get("type")) {
            lines.push(types.to_string());
            let these = parse_kinds(types);
            kinds = Some(match kinds {
                None => these,
                Some(those) => those.into_iter().filter_map(|it| it.also(&these)).collect(),
            });
        }
        let mut kinds = kinds.unwrap_or_else(|| self.guess_kinds());
        if kinds.is_empty() {
            let lines = crate::text::truncate_chars(&lines.join(" and "), 80);
            return Err(place.contradiction(format!("its type must be {lines} at the same time")));
        }
        kinds.sort_by_key(|kind| *kind == ProbeValueKind::Null);
        Ok(kinds)
    }

    fn guess_kinds(&self) -> Vec<ProbeValueKind> {
        const HINTS: &[(ProbeValueKind, &[&str])] = &[
            (
                ProbeValueKind::Object,
                &["properties", "required", "minProperties", "additionalProperties"],
            ),
            (
                ProbeValueKind::List,
                &["items", "prefixItems", "minItems", "contains", "uniqueItems"],
            ),
            (
                ProbeValueKind::Number,
                &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
            ),
            (ProbeValueKind::Number, &["multipleOf"]),
        ];
        let hinted = |(kind, keywords): &(ProbeValueKind, &[&str])| {
            let is_there =
                |part: &SchemaKeywords<'_>| keywords.iter().any(|it| part.contains_key(*it));
            self.parts.iter().any(is_there).then_some(*kind)
        };
        let mut kinds: Vec<ProbeValueKind> = HINTS.iter().filter_map(hinted).collect();
        let others: Vec<ProbeValueKind> =
            ProbeValueKind::ANY.into_iter().filter(|it| !kinds.contains(it)).collect();
        kinds.extend(others);
        kinds.dedup();
        kinds
    }

    pub(super) fn numbers(&self, keyword: &'static str) -> impl Iterator<Item = &'a Number> {
        self.parts.iter().filter_map(move |part| match part.get(keyword) {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        })
    }

    pub(super) fn texts(&self, keyword: &'static str) -> Vec<&'a str> {
        self.parts.iter().filter_map(|part| part.get(keyword)?.as_str()).collect()
    }

    /// The strictest lower and upper bound of a size.
    pub(super) fn sizes(
        &self,
        place: &ValuePath<'_>,
        [least, most]: [&'static str; 2],
    ) -> Result<SizeBounds, ProbeSynthesisError> {
        let low = self.numbers(least).map(size).max().unwrap_or(0);
        let high = self.numbers(most).map(size).min();
        match high {
            Some(high) if low > high => {
                Err(place.contradiction(format!("{least} {low} is above {most} {high}")))
            }
            _ => Ok(SizeBounds { least: low, most: high }),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SizeBounds {
    pub(super) least: usize,
    pub(super) most: Option<usize>,
}

impl ProbeValueKind {
    const ANY: [Self; 6] =
        [Self::Text, Self::Number, Self::Boolean, Self::Object, Self::List, Self::Null];

    fn also(self, others: &[Self]) -> Option<Self> {
        match self {
            it if others.contains(&it) => Some(it),
            Self::Integer if others.contains(&Self::Number) => Some(Self::Integer),
            Self::Number if others.contains(&Self::Integer) => Some(Self::Integer),
            _ => None,
        }
    }
}

fn parse_kinds(types: &Value) -> Vec<ProbeValueKind> {
    let kind = |name: &Value| match name.as_str()? {
        "string" => Some(ProbeValueKind::Text),
        "integer" => Some(ProbeValueKind::Integer),
        "number" => Some(ProbeValueKind::Number),
        "boolean" => Some(ProbeValueKind::Boolean),
        "object" => Some(ProbeValueKind::Object),
        "array" => Some(ProbeValueKind::List),
        "null" => Some(ProbeValueKind::Null),
        _ => None,
    };
    match types {
        Value::Array(names) => names.iter().filter_map(kind).collect(),
        name => kind(name).into_iter().collect(),
    }
}

/// Integers may also be written as `3.0`.
fn size(number: &Number) -> usize {
    let whole = number.as_u64().and_then(|it| usize::try_from(it).ok());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    whole.unwrap_or_else(|| number.as_f64().unwrap_or(0.0) as usize)
}

/// Alternatives are tried in the order of the schema.
fn choices(part: SchemaKeywords<'_>) -> Vec<Vec<Vec<&Value>>> {
    let mut choices = Vec::new();
    for keyword in ["anyOf", "oneOf"] {
        if part.get(keyword).is_some_and(Value::is_array) {
            choices.push(list(part, keyword).map(|it| vec![it]).collect());
        }
    }
    if let Some(condition) = part.get("if") {
        let otherwise = part.get("else").into_iter().collect();
        let then = std::iter::once(condition).chain(part.get("then")).collect();
        choices.push(vec![otherwise, then]);
    }
    choices
}

pub(super) fn list<'a>(part: SchemaKeywords<'a>, keyword: &str) -> impl Iterator<Item = &'a Value> {
    part.get(keyword).and_then(Value::as_array).into_iter().flatten()
}
