//! Definitions of tools from one form into another. Called by the command line and by fronts; pure.

use serde_json::{Map, Value};

use super::definition::{self, Defined, Unreadable};
use super::form::Form;
use super::lost::{Kind, Lost, step};
use super::schema::{self, Fitted, Renames, Unfit, limits};
use crate::conversation::Function;
use crate::extra::Extra;

/// A definition in another form.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    pub definition: Value,
    /// What it does not say any more, or says in other words.
    pub lost: Vec<Lost>,
    renames: Renames,
}

impl Converted {
    /// Arguments for the definition as it is now, in the names that it had.
    #[must_use]
    pub fn arguments(&self, sent: Map<String, Value>) -> Map<String, Value> {
        self.renames.arguments(sent)
    }
}

/// Why a definition has no other form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unconvertible {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

pub fn convert(definition: &Value, from: Form, to: Form) -> Result<Converted, Unconvertible> {
    converted(definition, (from, to), |schema, at| schema::fit(schema, to, at))
}

/// For OpenAI, with a schema that binds the model: it sends every property, null for those that it
/// leaves out.
pub fn convert_strictly(
    definition: &Value,
    from: Form,
    to: Strict,
) -> Result<Converted, Unconvertible> {
    let to = to.form();
    let mut made = converted(definition, (from, to), schema::bound)?;
    let told = match to {
        Form::OpenAi => made.definition.get_mut("function"),
        _ => Some(&mut made.definition),
    };
    if let Some(Value::Object(fields)) = told {
        fields.insert("strict".to_owned(), true.into());
    }
    made.lost.retain(|lost| !lost.at.ends_with("/strict"));
    Ok(made)
}

/// The forms that know how to bind a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strict {
    OpenAi,
    OpenAiResponses,
}

impl Strict {
    /// `None`: that form does not.
    pub fn of(form: Form) -> Option<Self> {
        match form {
            Form::OpenAi => Some(Self::OpenAi),
            Form::OpenAiResponses => Some(Self::OpenAiResponses),
            _ => None,
        }
    }

    fn form(self) -> Form {
        match self {
            Self::OpenAi => Form::OpenAi,
            Self::OpenAiResponses => Form::OpenAiResponses,
        }
    }
}

fn converted(
    definition: &Value,
    (from, to): (Form, Form),
    fit: impl Fn(&Value, &str) -> Result<Fitted, Unfit>,
) -> Result<Converted, Unconvertible> {
    let defined = definition::read(definition, from)?;
    let mut lost = Vec::new();
    let name = to.names().fit(&defined.name).into_owned();
    if name != defined.name {
        let at = step(defined.rest_at, "name");
        lost.push(Lost::new(Kind::Renamed, at, format!("is called `{name}` there")));
    }
    let (parameters, told, renames) = match &defined.schema {
        None => (None, Vec::new(), Renames::default()),
        Some(schema) => {
            let fitted = fit(schema, defined.schema_at)?;
            lost.extend(fitted.lost);
            (fitted.schema, fitted.told, fitted.renames)
        }
    };
    let description = limits::beside(defined.description.as_deref(), &told);
    let is_same = parameters == defined.schema;
    let more = more(defined, (from, to, is_same), &mut lost);
    let function = Function { name, description, parameters, extra: Extra::none() };
    Ok(Converted { definition: definition::write(&function, to, more), lost, renames })
}

/// What is said beside name, description and schema, as far as the other form says it too.
fn more(
    defined: Defined,
    (from, to, is_same): (Form, Form, bool),
    lost: &mut Vec<Lost>,
) -> Map<String, Value> {
    let Defined { strict, rest, rest_at, .. } = defined;
    let mut more = Map::new();
    let knows_strict = |form| matches!(form, Form::OpenAi | Form::OpenAiResponses);
    let left_out =
        |key: &str| Lost::new(Kind::Field, step(rest_at, key), format!("`{key}` is left out"));
    match strict.filter(|_| knows_strict(from)) {
        // A schema that was changed may have lost what strictness asks of it.
        Some(strict) if knows_strict(to) && (is_same || !strict) => {
            more.insert("strict".to_owned(), strict.into());
        }
        Some(true) => lost.push(left_out("strict")),
        Some(false) | None => {}
    }
    for (key, value) in rest {
        match from == to {
            true => drop(more.insert(key, value)),
            false => lost.push(left_out(&key)),
        }
    }
    more
}

#[cfg(test)]
mod tests;
