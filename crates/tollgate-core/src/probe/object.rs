//! Generates objects: required fields and what they imply; further fields only for `minProperties`.

use serde_json::{Map, Value};

use super::ProbeSynthesisError;
use super::combined_schemas::{CombinedSchemas, SchemaKeywords, list};
use super::generator::{FormResult, InnerValue, ProbeGenerator, ProbeValueTask};
use super::{pattern, text};

/// Maximum fields or items, so that a probe is not a load on the server.
pub(super) const MAX_ENTRIES: usize = 1_000;

impl<'a> ProbeGenerator<'_, 'a> {
    pub(super) fn object(
        self,
        task: &ProbeValueTask<'_, 'a>,
        form: &CombinedSchemas<'a>,
    ) -> Result<FormResult<'a>, ProbeSynthesisError> {
        let sizes = form.sizes(task.place, ["minProperties", "maxProperties"])?;
        let names = self.required_names(form)?;
        if let Some(brought) = brought_along(form, &names) {
            return form.with(self.document, &[brought], task.place).map(FormResult::Larger);
        }
        if let Some(most) = sizes.most.filter(|most| names.len() > *most) {
            let why = format!("{} fields are required, maxProperties is {most}", names.len());
            return Err(task.place.contradiction(why));
        }
        if sizes.least > MAX_ENTRIES {
            return Err(task.place.too_large(format!("{} fields", sizes.least)));
        }
        let mut fields = Map::new();
        for name in names {
            let Some(needs) = self.field(form, name)? else {
                let why = format!("`{name}` is required and not allowed");
                return Err(task.place.contradiction(crate::text::truncate_chars(&why, 120)));
            };
            let value = self.inner(task, &InnerValue { name, needs: &needs, avoid: &[] })?;
            fields.insert(name.to_owned(), value);
        }
        if fields.len() < sizes.least {
            self.fill(task, form, &mut fields, sizes.least)?;
        }
        Ok(FormResult::Candidates(vec![Value::Object(fields)]))
    }

    /// Required names, in the order of the schema.
    fn required_names(
        self,
        form: &CombinedSchemas<'a>,
    ) -> Result<Vec<&'a str>, ProbeSynthesisError> {
        let mut names: Vec<&str> = Vec::new();
        let mut waiting: Vec<&Value> =
            form.parts.iter().flat_map(|part| list(part, "required")).collect();
        waiting.reverse();
        while let Some(name) = waiting.pop() {
            self.document.spend(1 + names.len() / 16)?;
            let Some(name) = name.as_str().filter(|name| !names.contains(name)) else { continue };
            names.push(name);
            for part in &form.parts {
                for keyword in ["dependentRequired", "dependencies"] {
                    let brings = part.get(keyword).and_then(|it| it.get(name)?.as_array());
                    waiting.extend(brings.into_iter().flatten());
                }
            }
        }
        Ok(names)
    }

    /// The schemas for a field's value; `None` if the field is forbidden.
    fn field(
        self,
        form: &CombinedSchemas<'a>,
        name: &str,
    ) -> Result<Option<Vec<&'a Value>>, ProbeSynthesisError> {
        let mut needs = Vec::new();
        for part in &form.parts {
            needs.extend(self.document.about_field(part, name)?);
        }
        Ok((!needs.iter().any(|it| **it == Value::Bool(false))).then_some(needs))
    }

    /// Adds optional fields until there are enough.
    fn fill(
        self,
        task: &ProbeValueTask<'_, 'a>,
        form: &CombinedSchemas<'a>,
        fields: &mut Map<String, Value>,
        least: usize,
    ) -> Result<(), ProbeSynthesisError> {
        let known = form.parts.iter().filter_map(|part| part.get("properties")?.as_object());
        let known = known.flat_map(|known| known.keys().cloned());
        for name in known.map(Ok).chain(self.invent_names(form, least)) {
            if fields.len() >= least {
                break;
            }
            self.document.spend(1)?;
            let name = name?;
            if fields.contains_key(&name) || !self.may_be_called(form, &name)? {
                continue;
            }
            let Some(needs) = self.field(form, &name)? else { continue };
            match self.inner(task, &InnerValue { name: &name, needs: &needs, avoid: &[] }) {
                Ok(value) => drop(fields.insert(name, value)),
                Err(ProbeSynthesisError::TooMuchWork) => {
                    return Err(ProbeSynthesisError::TooMuchWork);
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Names for additional fields: from the patterns for names, else numbered. Generated lazily,
    /// and charged to the step budget.
    fn invent_names(
        self,
        form: &CombinedSchemas<'a>,
        requested: usize,
    ) -> impl Iterator<Item = Result<String, ProbeSynthesisError>> {
        let ruled = form.parts.iter().filter_map(|part| part.get("propertyNames")?.as_object());
        let ruled = ruled.filter_map(|rule| rule.get("pattern")?.as_str());
        let named = form.parts.iter().filter_map(|part| part.get("patternProperties")?.as_object());
        let patterns = ruled.chain(named.flat_map(|named| named.keys().map(String::as_str)));
        let samples = patterns.flat_map(move |pattern| {
            let made = self.document.spend(1 + requested + pattern.len() / 16);
            match made.map(|()| pattern::samples(pattern, requested, 1)) {
                Ok(samples) => samples.into_iter().map(Ok).collect(),
                Err(spent) => vec![Err(spent)],
            }
        });
        samples.chain((0..requested).map(text::plain_text).map(Ok))
    }

    fn may_be_called(
        self,
        form: &CombinedSchemas<'a>,
        name: &str,
    ) -> Result<bool, ProbeSynthesisError> {
        let rules: Vec<&Value> =
            form.parts.iter().filter_map(|part| part.get("propertyNames")).collect();
        self.document.all_fit(&rules, &Value::from(name))
    }
}

/// A schema that applies because a field is present, and is not yet included.
fn brought_along<'a>(form: &CombinedSchemas<'a>, names: &[&str]) -> Option<&'a Value> {
    let brings = |part: &SchemaKeywords<'a>| {
        ["dependentSchemas", "dependencies"].into_iter().find_map(|keyword| {
            let brings = part.get(keyword)?.as_object()?;
            names.iter().find_map(|name| {
                brings.get(*name).filter(|schema| match schema {
                    Value::Object(part) => !form.has(part),
                    schema => **schema == Value::Bool(false),
                })
            })
        })
    };
    form.parts.iter().find_map(brings)
}
