//! Approximate validation of a value against a subschema, to choose between candidates. Unsupported
//! keywords pass; the compiled schema decides in the end.

use serde_json::{Map, Value};

use super::ProbeSynthesisError;
use super::combined_schemas::{SchemaKeywords, list};
use super::document::SchemaDocument;

/// Maximum depth of references and nested schemas on one path.
const MAX_SCHEMA_DEPTH: usize = 256;

impl<'a> SchemaDocument<'a> {
    pub(super) fn all_fit(
        &self,
        schemas: &[&'a Value],
        value: &Value,
    ) -> Result<bool, ProbeSynthesisError> {
        FitChecker { document: self, depth: 0 }.all(schemas.iter().copied(), value)
    }

    /// The schema that a part applies to a field.
    pub(super) fn about_field(
        &self,
        part: SchemaKeywords<'a>,
        name: &str,
    ) -> Result<Vec<&'a Value>, ProbeSynthesisError> {
        self.spend(1)?;
        let mut about = Vec::new();
        about.extend(part.get("properties").and_then(|known| known.get(name)));
        if let Some(Value::Object(named)) = part.get("patternProperties") {
            for (pattern, schema) in named {
                if self.matches(pattern, name)? {
                    about.push(schema);
                }
            }
        }
        if about.is_empty() {
            about.extend(part.get("additionalProperties"));
        }
        Ok(about)
    }
}

/// The schemas of items by position.
pub(super) fn by_place(part: SchemaKeywords<'_>) -> impl Iterator<Item = &Value> {
    let keyword = if part.contains_key("prefixItems") { "prefixItems" } else { "items" };
    list(part, keyword)
}

/// The schema that a part applies to the item at an index.
pub(super) fn about_item(part: SchemaKeywords<'_>, at: usize) -> Option<&Value> {
    by_place(part).nth(at).or_else(|| match part.get("items") {
        Some(Value::Array(_)) => part.get("additionalItems"),
        items => items,
    })
}

#[derive(Clone, Copy)]
struct FitChecker<'d, 'a> {
    document: &'d SchemaDocument<'a>,
    depth: usize,
}

impl<'a> FitChecker<'_, 'a> {
    fn all(
        self,
        schemas: impl IntoIterator<Item = &'a Value>,
        value: &Value,
    ) -> Result<bool, ProbeSynthesisError> {
        for schema in schemas {
            if !self.fits(schema, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn count(
        self,
        schemas: impl IntoIterator<Item = &'a Value>,
        value: &Value,
    ) -> Result<usize, ProbeSynthesisError> {
        let mut count = 0;
        for schema in schemas {
            count += usize::from(self.fits(schema, value)?);
        }
        Ok(count)
    }

    fn fits(self, schema: &'a Value, value: &Value) -> Result<bool, ProbeSynthesisError> {
        self.document.spend(1)?;
        let part = match schema {
            Value::Object(part) => part,
            schema => return Ok(*schema != Value::Bool(false)),
        };
        if self.depth == MAX_SCHEMA_DEPTH {
            return Err(ProbeSynthesisError::TooMuchWork);
        }
        let look = Self { depth: self.depth + 1, ..self };
        let references = look.document.references(part);
        if !look.all(references.targets, value)? {
            return Ok(false);
        }
        if references.stands_alone {
            return Ok(true);
        }
        Ok(look.document.holds(part, value)?
            && look.in_place(part, value)?
            && match value {
                Value::Object(fields) => look.fields(part, value, fields)?,
                Value::Array(items) => look.items(part, items)?,
                _ => true,
            })
    }

    fn in_place(
        self,
        part: SchemaKeywords<'a>,
        value: &Value,
    ) -> Result<bool, ProbeSynthesisError> {
        if !self.all(list(part, "allOf"), value)?
            || part.contains_key("anyOf") && self.count(list(part, "anyOf"), value)? == 0
            || part.contains_key("oneOf") && self.count(list(part, "oneOf"), value)? != 1
        {
            return Ok(false);
        }
        if let Some(not) = part.get("not")
            && self.fits(not, value)?
        {
            return Ok(false);
        }
        let Some(condition) = part.get("if") else { return Ok(true) };
        let branch = if self.fits(condition, value)? { "then" } else { "else" };
        self.all(part.get(branch), value)
    }

    fn fields(
        self,
        part: SchemaKeywords<'a>,
        value: &Value,
        fields: &Map<String, Value>,
    ) -> Result<bool, ProbeSynthesisError> {
        for (name, field) in fields {
            let about = self.document.about_field(part, name)?;
            if !self.all(about, field)?
                || !self.all(part.get("propertyNames"), &Value::from(name.as_str()))?
                || !self.brought_along(part, name, value)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Schemas that apply to the whole object because this field is present.
    fn brought_along(
        self,
        part: SchemaKeywords<'a>,
        name: &str,
        value: &Value,
    ) -> Result<bool, ProbeSynthesisError> {
        for keyword in ["dependentSchemas", "dependencies"] {
            let fits = match part.get(keyword).and_then(|brings| brings.get(name)) {
                Some(Value::Array(names)) => {
                    names.iter().filter_map(Value::as_str).all(|it| value.get(it).is_some())
                }
                Some(schema) => self.fits(schema, value)?,
                None => true,
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn items(self, part: SchemaKeywords<'a>, items: &[Value]) -> Result<bool, ProbeSynthesisError> {
        for (at, item) in items.iter().enumerate() {
            if !self.all(about_item(part, at), item)? {
                return Ok(false);
            }
        }
        let Some(contains) = part.get("contains") else { return Ok(true) };
        let mut found = 0;
        for item in items {
            found += u64::from(self.fits(contains, item)?);
        }
        let limit = |keyword| part.get(keyword).and_then(Value::as_u64);
        let least = limit("minContains").unwrap_or(1);
        Ok(found >= least && limit("maxContains").is_none_or(|most| found <= most))
    }
}
