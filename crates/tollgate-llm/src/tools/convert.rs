//! Converts tool definitions from one format to another. Called by the command line and by fronts;
//! pure.

use serde_json::{Map, Value};

use super::conversion_loss::{ConversionLoss, ConversionLossKind, step};
use super::definition::{self, NeutralDefinition, ToolDefinitionError};
use super::schema::{self, ArgumentRenames, FittedSchema, SchemaFitError, limits};
use super::tool_format::ToolFormat;
use crate::conversation::Function;
use crate::extra::Extra;

/// A definition in another format.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedDefinition {
    pub definition: Value,
    /// What it no longer expresses, or expresses differently.
    pub lost: Vec<ConversionLoss>,
    renames: ArgumentRenames,
}

impl ConvertedDefinition {
    /// Maps arguments for the converted definition back to the original names.
    #[must_use]
    pub fn arguments(&self, sent: Map<String, Value>) -> Map<String, Value> {
        self.renames.arguments(sent)
    }
}

/// Why a definition cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionConversionError {
    #[error(transparent)]
    Unreadable(#[from] ToolDefinitionError),
    #[error(transparent)]
    Unfit(#[from] SchemaFitError),
}

pub fn convert(
    definition: &Value,
    from: ToolFormat,
    to: ToolFormat,
) -> Result<ConvertedDefinition, DefinitionConversionError> {
    convert_with(definition, from, to, |schema, at| schema::fit(schema, to, at))
}

/// For OpenAI, with a strict schema: the model sends every property, null for those that it omits.
pub fn convert_strictly(
    definition: &Value,
    from: ToolFormat,
    to: StrictToolFormat,
) -> Result<ConvertedDefinition, DefinitionConversionError> {
    let to = to.form();
    let mut made = convert_with(definition, from, to, schema::fit_strict)?;
    let function = match to {
        ToolFormat::OpenAi => made.definition.get_mut("function"),
        _ => Some(&mut made.definition),
    };
    if let Some(Value::Object(fields)) = function {
        fields.insert("strict".to_owned(), true.into());
    }
    made.lost.retain(|lost| !lost.at.ends_with("/strict"));
    Ok(made)
}

/// The formats that support strict schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrictToolFormat {
    OpenAi,
    OpenAiResponses,
}

impl StrictToolFormat {
    /// `None`: the format does not support them.
    pub fn of(form: ToolFormat) -> Option<Self> {
        match form {
            ToolFormat::OpenAi => Some(Self::OpenAi),
            ToolFormat::OpenAiResponses => Some(Self::OpenAiResponses),
            _ => None,
        }
    }

    fn form(self) -> ToolFormat {
        match self {
            Self::OpenAi => ToolFormat::OpenAi,
            Self::OpenAiResponses => ToolFormat::OpenAiResponses,
        }
    }
}

fn convert_with(
    definition: &Value,
    from: ToolFormat,
    to: ToolFormat,
    fit: impl Fn(&Value, &str) -> Result<FittedSchema, SchemaFitError>,
) -> Result<ConvertedDefinition, DefinitionConversionError> {
    let defined = definition::read(definition, from)?;
    let mut lost = Vec::new();
    let name = to.names().fit(&defined.name).into_owned();
    if name != defined.name {
        let at = step(defined.rest_at, "name");
        lost.push(ConversionLoss::new(
            ConversionLossKind::Renamed,
            at,
            format!("is renamed to `{name}`"),
        ));
    }
    let (parameters, told, renames) = match &defined.schema {
        None => (None, Vec::new(), ArgumentRenames::default()),
        Some(schema) => {
            let fitted = fit(schema, defined.schema_at)?;
            lost.extend(fitted.lost);
            (fitted.schema, fitted.notes, fitted.renames)
        }
    };
    let description = limits::beside(defined.description.as_deref(), &told);
    let is_same = parameters == defined.schema;
    let more = more(defined, from, to, is_same, &mut lost);
    let function = Function { name, description, parameters, extra: Extra::none() };
    Ok(ConvertedDefinition { definition: definition::write(&function, to, more), lost, renames })
}

/// Fields beside name, description and schema, as far as the target format has them too.
fn more(
    defined: NeutralDefinition,
    from: ToolFormat,
    to: ToolFormat,
    is_same: bool,
    lost: &mut Vec<ConversionLoss>,
) -> Map<String, Value> {
    let NeutralDefinition { strict, rest, rest_at, .. } = defined;
    let mut more = Map::new();
    let knows_strict = |form| matches!(form, ToolFormat::OpenAi | ToolFormat::OpenAiResponses);
    let left_out = |key: &str| {
        ConversionLoss::new(
            ConversionLossKind::Field,
            step(rest_at, key),
            format!("`{key}` is omitted"),
        )
    };
    match strict.filter(|_| knows_strict(from)) {
        // A changed schema may no longer meet the requirements of strict mode.
        Some(strict) if knows_strict(to) && (is_same || !strict) => {
            more.insert("strict".to_owned(), strict.into());
        }
        Some(true) => lost.push(left_out("strict")),
        Some(false) | None => {}
    }
    for (key, value) in rest {
        if from == to { drop(more.insert(key, value)) } else { lost.push(left_out(&key)) }
    }
    more
}

#[cfg(test)]
mod tests;
