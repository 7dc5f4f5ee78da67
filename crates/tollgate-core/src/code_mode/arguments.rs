//! Maps the arguments of a program's call to those of the tool. Values are kept as JSON text, so
//! nothing is rounded, added or lost.

use std::collections::HashSet;

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::parameters::{ExtraArguments, Parameter, ParameterNeed, Parameters};
use super::schema_layers::JsonTypeSet;
use crate::json::{MalformedJsonError, Object};
use crate::nearest::nearest;
use crate::text::truncate_chars;

/// Why the arguments do not fit the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallArgumentsError {
    #[error("{given} positional arguments were given, but there are {known} parameters")]
    TooMany { given: usize, known: usize },
    #[error("`{0}` was given twice")]
    Twice(String),
    #[error("there is no parameter `{name}`{}", did_you_mean(.near))]
    Unknown { name: String, near: Vec<String> },
    #[error("the arguments cannot be read: {0}")]
    Unreadable(#[from] MalformedJsonError),
}

/// A single dictionary is taken as the arguments object.
///
/// It is the first parameter's value only if that parameter accepts a dictionary, and the keys are
/// not parameter names or the first parameter would be missing.
pub(super) fn arguments(
    parameters: &Parameters,
    positional: &[Box<RawValue>],
    named: &RawValue,
) -> Result<Box<RawValue>, CallArgumentsError> {
    let named = Object::parse(named.get())?;
    if let [only] = positional
        && named.is_empty()
        && only.get().trim_start().starts_with('{')
    {
        let whole = Object::parse(only.get())?;
        if is_whole(parameters, &whole) {
            return merge_arguments(parameters, &[], &whole);
        }
    }
    merge_arguments(parameters, positional, &named)
}

fn is_whole(parameters: &Parameters, given: &Object<'_>) -> bool {
    let Some(first) = parameters.all().first() else { return true };
    if !first.takes.has(JsonTypeSet::OBJECT) {
        return true;
    }
    let has_first = given.contains(&first.name) || given.contains(&first.identifier);
    let is_complete = has_first || first.need == ParameterNeed::Optional;
    is_complete && given.iter().all(|(name, _)| parameters.find(name).is_some())
}

fn merge_arguments(
    parameters: &Parameters,
    positional: &[Box<RawValue>],
    named: &Object<'_>,
) -> Result<Box<RawValue>, CallArgumentsError> {
    let known = parameters.all();
    if positional.len() > known.len() {
        return Err(CallArgumentsError::TooMany { given: positional.len(), known: known.len() });
    }
    let mut fields = ArgumentMap::default();
    for (parameter, value) in known.iter().zip(positional) {
        fields.give(parameter, value)?;
    }
    for (name, value) in named.iter() {
        match parameters.find(name) {
            Some(parameter) => fields.give(parameter, value)?,
            None if parameters.others == ExtraArguments::Taken => fields.push(name, value)?,
            None => return Err(unknown(parameters, name)),
        }
    }
    Ok(to_raw_value(&fields).expect("all keys are strings"))
}

fn unknown(parameters: &Parameters, name: &str) -> CallArgumentsError {
    let near = nearest(name, parameters.all().iter().map(|it| it.identifier.as_str()));
    let near = near.into_iter().map(str::to_owned).collect();
    CallArgumentsError::Unknown { name: truncate_chars(name, 80), near }
}

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!("; did you mean `{}`?", near.join("` or `")),
    }
}

/// The arguments, in the order given.
#[derive(Default)]
struct ArgumentMap<'a> {
    fields: Vec<(&'a str, &'a RawValue)>,
    seen: HashSet<&'a str>,
}

impl<'a> ArgumentMap<'a> {
    /// Omits a `None` for an optional parameter that does not accept null.
    fn give(
        &mut self,
        parameter: &'a Parameter,
        value: &'a RawValue,
    ) -> Result<(), CallArgumentsError> {
        let is_left_out = value.get() == "null"
            && parameter.need == ParameterNeed::Optional
            && !parameter.takes.has(JsonTypeSet::NULL);
        if !is_left_out {
            self.push(&parameter.name, value)
        } else if self.seen.insert(&parameter.name) {
            Ok(())
        } else {
            Err(CallArgumentsError::Twice(parameter.identifier.clone()))
        }
    }

    fn push(&mut self, name: &'a str, value: &'a RawValue) -> Result<(), CallArgumentsError> {
        if !self.seen.insert(name) {
            return Err(CallArgumentsError::Twice(truncate_chars(name, 80)));
        }
        self.fields.push((name, value));
        Ok(())
    }
}

impl Serialize for ArgumentMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.fields.iter().copied())
    }
}
