//! Parses TOML as JSON values.

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use super::ImportError;

pub(super) fn parse(text: &str) -> Result<Value, ImportError> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        ImportError::Syntax(format!("line {line}: {}", error.message()))
    })?;
    Ok(map(table.get_ref()))
}

fn map(table: &DeTable<'_>) -> Value {
    let pairs = table.iter().map(|(key, value)| (key.get_ref().to_string(), of(value.get_ref())));
    Value::Object(pairs.collect::<Map<String, Value>>())
}

fn of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            let digits = number.as_str();
            let whole = i64::from_str_radix(digits, number.radix());
            whole.map_or_else(|_| Value::String(digits.to_owned()), Value::from)
        }
        DeValue::Float(number) => {
            let read = number.as_str().parse().ok().and_then(Number::from_f64);
            read.map_or_else(|| Value::String(number.as_str().to_owned()), Value::Number)
        }
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(date) => Value::String(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| of(item.get_ref())).collect(),
        DeValue::Table(table) => map(table),
    }
}
