//! Writes the schema of a value of one type, keyword by keyword.

use serde_json::{Map, Number, Value, json};

use super::{SubsetSchemaFields, SubsetSchemaWriter, any_of, limits};
use crate::tools::conversion_loss::{ConversionLoss, ConversionLossKind, step};

pub(super) struct TypeSchema {
    kind: &'static str,
    written: SubsetSchemaFields,
    /// Constraints to describe in text.
    notes: Vec<String>,
    /// Schemas of the first items, one each.
    first: Vec<Value>,
    rest: Option<Value>,
    required: Vec<String>,
}

impl TypeSchema {
    pub(super) fn new(kind: &'static str) -> Self {
        let written =
            SubsetSchemaFields::from_iter([("type".to_owned(), kind.to_uppercase().into())]);
        let notes = Vec::new();
        let first = Vec::new();
        let required = Vec::new();
        Self { kind, written, notes, first, rest: None, required }
    }

    pub(super) fn keyword(
        &mut self,
        writer: &mut SubsetSchemaWriter<'_>,
        keyword: &str,
        value: Value,
        at: &str,
    ) {
        let is_number = matches!(self.kind, "number" | "integer");
        match (keyword, self.kind) {
            ("type" | "$defs", _) => {}
            ("description" | "title" | "default", _) => self.keep(keyword, value),
            ("examples", _) => {
                let first = value.as_array().and_then(|all| all.first());
                first.into_iter().for_each(|it| self.keep("example", it.clone()));
            }
            ("minLength" | "maxLength" | "pattern", "string") => self.keep(keyword, value),
            ("minItems" | "maxItems", "array") => self.keep(keyword, value),
            ("minProperties" | "maxProperties", "object") => self.keep(keyword, value),
            ("minimum" | "maximum", _) if is_number => self.keep_stricter(keyword, value),
            ("exclusiveMinimum" | "exclusiveMaximum", _) if is_number => {
                self.exclusive(writer, keyword, value, at);
            }
            ("enum", _) => self.choice(writer, &value, at),
            ("format", _) => self.format(writer, value, at),
            ("items", "array") => self.rest = Some(value),
            ("prefixItems", "array") => {
                self.limit(writer, keyword, &value, at);
                self.first = value.as_array().cloned().unwrap_or_default();
            }
            ("properties", "object") => self.properties(writer, value, at),
            ("required", "object") => {
                let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                self.required = names.map(str::to_owned).collect();
            }
            ("additionalProperties" | "unevaluatedProperties", "object") => {
                self.others(writer, keyword, value, at);
            }
            _ => self.other(writer, keyword, &value, at),
        }
    }

    /// The schema, and the constraints that it cannot express.
    pub(super) fn finish(
        mut self,
        writer: &mut SubsetSchemaWriter<'_>,
        at: &str,
    ) -> (SubsetSchemaFields, Vec<String>) {
        if self.kind == "array" {
            self.items(writer, at);
        }
        if !self.required.is_empty() {
            self.name_required(writer, at);
        }
        (self.written, self.notes)
    }

    fn keep(&mut self, keyword: &str, value: Value) {
        self.written.insert(keyword.to_owned(), value);
    }

    /// A constraint that is only described in text.
    fn limit(
        &mut self,
        writer: &mut SubsetSchemaWriter<'_>,
        keyword: &str,
        value: &Value,
        at: &str,
    ) {
        writer.limit(at, keyword);
        self.notes.push(limits::of(keyword, value));
    }

    /// Keeps the stricter of two bounds on the same side.
    fn keep_stricter(&mut self, keyword: &str, value: Value) {
        let (Some(new), there) = (value.as_f64(), self.written.get(keyword)) else { return };
        let is_stricter = there.and_then(Value::as_f64).is_none_or(|there| match keyword {
            "minimum" => new > there,
            _ => new < there,
        });
        if is_stricter {
            self.keep(keyword, value);
        }
    }

    fn exclusive(
        &mut self,
        writer: &mut SubsetSchemaWriter<'_>,
        keyword: &str,
        value: Value,
        at: &str,
    ) {
        let Value::Number(number) = &value else { return };
        let (plain, step) =
            if keyword == "exclusiveMinimum" { ("minimum", 1) } else { ("maximum", -1) };
        match as_integer(number).filter(|_| self.kind == "integer") {
            Some(whole) => self.keep_stricter(plain, whole.saturating_add(step).into()),
            None => {
                self.limit(writer, keyword, &value, at);
                self.keep_stricter(plain, value);
            }
        }
    }

    /// Enums support only strings.
    fn choice(&mut self, writer: &mut SubsetSchemaWriter<'_>, value: &Value, at: &str) {
        let all = value.as_array().cloned().unwrap_or_default();
        let texts: Vec<Value> = all.iter().filter(|it| it.is_string()).cloned().collect();
        let is_usable = self.kind == "string" && texts.iter().all(|it| *it != "");
        if is_usable {
            self.keep("enum", texts.into())
        } else {
            let fits = |it: &&Value| match self.kind {
                "string" => it.is_string(),
                "number" | "integer" => it.is_number(),
                "boolean" => it.is_boolean(),
                "array" => it.is_array(),
                _ => it.is_object(),
            };
            let own: Value = all.iter().filter(fits).cloned().collect();
            self.limit(writer, "enum", &own, at);
        }
    }

    fn format(&mut self, writer: &mut SubsetSchemaWriter<'_>, value: Value, at: &str) {
        let is_known = matches!(
            (self.kind, value.as_str()),
            ("string", Some("date-time"))
                | ("number", Some("float" | "double"))
                | ("integer", Some("int32" | "int64"))
        );
        match (is_known, self.kind) {
            (true, _) => self.keep("format", value),
            (false, "string" | "number" | "integer") => {
                self.limit(writer, "format", &value, at);
            }
            (false, _) => {}
        }
    }

    fn properties(&mut self, writer: &mut SubsetSchemaWriter<'_>, value: Value, at: &str) {
        let Value::Object(named) = value else { return };
        let at = step(at, "properties");
        let mut written = Map::new();
        for (name, schema) in named {
            let at = step(&at, &name);
            match writer.schema(schema, &at) {
                Some(schema) => drop(written.insert(name, Value::Object(schema))),
                None => {
                    writer.lost.push(ConversionLoss::new(
                        ConversionLossKind::Limit,
                        at,
                        "is omitted: no value fits it",
                    ));
                    self.notes.push(format!("never {name}"));
                }
            }
        }
        if !written.is_empty() {
            self.keep("properties", Value::Object(written));
        }
    }

    /// Models send the named properties; that others are forbidden need not be stated.
    fn others(
        &mut self,
        writer: &mut SubsetSchemaWriter<'_>,
        keyword: &str,
        value: Value,
        at: &str,
    ) {
        match value {
            Value::Bool(true) => {}
            Value::Bool(false) => {
                let what = "the ban on other keys is lost";
                writer.lost.push(ConversionLoss::new(
                    ConversionLossKind::Limit,
                    step(at, keyword),
                    what,
                ));
            }
            Value::Object(schema) if schema.is_empty() => {}
            schema => self.limit(writer, keyword, &schema, at),
        }
    }

    /// A keyword that does not apply to this type, or that cannot be expressed.
    fn other(
        &mut self,
        writer: &mut SubsetSchemaWriter<'_>,
        keyword: &str,
        value: &Value,
        at: &str,
    ) {
        let about = match keyword {
            "not" | "if" | "then" | "else" => self.kind,
            "multipleOf" if self.kind == "integer" => "integer",
            "multipleOf" => "number",
            "uniqueItems" | "contains" | "minContains" | "maxContains" | "unevaluatedItems" => {
                "array"
            }
            "patternProperties" | "propertyNames" | "dependentRequired" | "dependentSchemas" => {
                "object"
            }
            "minLength"
            | "maxLength"
            | "pattern"
            | "minItems"
            | "maxItems"
            | "items"
            | "prefixItems"
            | "minProperties"
            | "maxProperties"
            | "properties"
            | "required"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "additionalItems" => "another type",
            _ => {
                let what = format!("`{keyword}` is omitted");
                writer.lost.push(ConversionLoss::new(
                    ConversionLossKind::Field,
                    step(at, keyword),
                    what,
                ));
                return;
            }
        };
        if about == self.kind && *value != Value::Bool(false) {
            self.limit(writer, keyword, value, at);
        }
    }

    /// Every array must describe its items.
    fn items(&mut self, writer: &mut SubsetSchemaWriter<'_>, at: &str) {
        let at = step(at, "items");
        let rest = match (self.rest.take(), self.first.is_empty()) {
            (Some(Value::Bool(false)), true) => {
                self.keep("maxItems", 0.into());
                Some(json!({"type": "string"}))
            }
            (Some(Value::Bool(false)), false) => {
                self.keep("maxItems", self.first.len().into());
                None
            }
            (rest, _) => Some(rest.unwrap_or(Value::Bool(true))),
        };
        let all = std::mem::take(&mut self.first).into_iter().chain(rest);
        let written: Vec<SubsetSchemaFields> =
            all.filter_map(|it| writer.schema(it, &at)).collect();
        let items = if written.is_empty() {
            writer.anything(SubsetSchemaFields::new(), &at)
        } else {
            any_of(written)
        };
        self.keep("items", Value::Object(items));
    }

    /// Required properties must be declared too.
    fn name_required(&mut self, writer: &mut SubsetSchemaWriter<'_>, at: &str) {
        let named = self.written.entry("properties").or_insert_with(|| json!({}));
        let Value::Object(named) = named else { return };
        for name in &self.required {
            if !named.contains_key(name) {
                let at = step(&step(at, "properties"), name);
                let any = writer.anything(SubsetSchemaFields::new(), &at);
                named.insert(name.clone(), Value::Object(any));
            }
        }
        let required = std::mem::take(&mut self.required);
        self.keep("required", required.into());
    }
}

/// The integer value of a number without a fraction.
fn as_integer(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 9e15)?;
        format!("{float:.0}").parse().ok()
    })
}
