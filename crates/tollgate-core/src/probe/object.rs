//! Objects: the fields that are required, and what those bring with them; more only where a
//! number of fields is demanded.

use serde_json::{Map, Value};

use super::Unmakeable;
use super::form::{Form, Part, list};
use super::maker::{Inner, Maker, Task, Tried};
use super::{pattern, text};

/// Fields or items beyond which a probe would be a load.
pub(super) const MOST: usize = 1_000;

impl<'a> Maker<'_, 'a> {
    pub(super) fn object(
        self,
        task: &Task<'_, 'a>,
        form: &Form<'a>,
    ) -> Result<Tried<'a>, Unmakeable> {
        let sizes = form.sizes(task.place, ["minProperties", "maxProperties"])?;
        let names = self.required(form)?;
        if let Some(brought) = brought_along(form, &names) {
            return form.with(self.document, &[brought], task.place).map(Tried::Larger);
        }
        if let Some(most) = sizes.most.filter(|most| names.len() > *most) {
            let why = format!("{} fields are required, maxProperties is {most}", names.len());
            return Err(task.place.contradiction(why));
        }
        if sizes.least > MOST {
            return Err(task.place.too_large(format!("{} fields", sizes.least)));
        }
        let mut fields = Map::new();
        for name in names {
            let Some(needs) = self.field(form, name)? else {
                let why = format!("`{name}` is required and not allowed");
                return Err(task.place.contradiction(crate::text::shortened(&why, 120)));
            };
            let value = self.inner(task, &Inner { name, needs: &needs, avoid: &[] })?;
            fields.insert(name.to_owned(), value);
        }
        if fields.len() < sizes.least {
            self.fill(task, form, (&mut fields, sizes.least))?;
        }
        Ok(Tried::Candidates(vec![Value::Object(fields)]))
    }

    /// Names that have to be there, in the order in which they are demanded.
    fn required(self, form: &Form<'a>) -> Result<Vec<&'a str>, Unmakeable> {
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

    /// What the value of a field has to fit; `None` if there must be no such field.
    fn field(self, form: &Form<'a>, name: &str) -> Result<Option<Vec<&'a Value>>, Unmakeable> {
        let mut needs = Vec::new();
        for part in &form.parts {
            needs.extend(self.document.about_field(part, name)?);
        }
        Ok((!needs.iter().any(|it| **it == Value::Bool(false))).then_some(needs))
    }

    /// Adds fields that need not be there until there are enough of them.
    fn fill(
        self,
        task: &Task<'_, 'a>,
        form: &Form<'a>,
        (fields, least): (&mut Map<String, Value>, usize),
    ) -> Result<(), Unmakeable> {
        let known = form.parts.iter().filter_map(|part| part.get("properties")?.as_object());
        let known = known.flat_map(|known| known.keys().cloned());
        for name in known.map(Ok).chain(self.invented(form, least)) {
            if fields.len() >= least {
                break;
            }
            self.document.spend(1)?;
            let name = name?;
            if fields.contains_key(&name) || !self.may_be_called(form, &name)? {
                continue;
            }
            let Some(needs) = self.field(form, &name)? else { continue };
            match self.inner(task, &Inner { name: &name, needs: &needs, avoid: &[] }) {
                Ok(value) => drop(fields.insert(name, value)),
                Err(Unmakeable::TooMuchWork) => return Err(Unmakeable::TooMuchWork),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Names for fields that nobody named: by the patterns for names, else just numbered. They are
    /// made as they are taken, and paid for.
    fn invented(
        self,
        form: &Form<'a>,
        wanted: usize,
    ) -> impl Iterator<Item = Result<String, Unmakeable>> {
        let ruled = form.parts.iter().filter_map(|part| part.get("propertyNames")?.as_object());
        let ruled = ruled.filter_map(|rule| rule.get("pattern")?.as_str());
        let named = form.parts.iter().filter_map(|part| part.get("patternProperties")?.as_object());
        let patterns = ruled.chain(named.flat_map(|named| named.keys().map(String::as_str)));
        let samples = patterns.flat_map(move |pattern| {
            let made = self.document.spend(1 + wanted + pattern.len() / 16);
            match made.map(|()| pattern::samples(pattern, wanted, 1)) {
                Ok(samples) => samples.into_iter().map(Ok).collect(),
                Err(spent) => vec![Err(spent)],
            }
        });
        samples.chain((0..wanted).map(text::plain).map(Ok))
    }

    fn may_be_called(self, form: &Form<'a>, name: &str) -> Result<bool, Unmakeable> {
        let rules: Vec<&Value> =
            form.parts.iter().filter_map(|part| part.get("propertyNames")).collect();
        self.document.all_fit(&rules, &Value::from(name))
    }
}

/// A schema that holds because of a field that is there, and is not yet in the form.
fn brought_along<'a>(form: &Form<'a>, names: &[&str]) -> Option<&'a Value> {
    let brings = |part: &Part<'a>| {
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
