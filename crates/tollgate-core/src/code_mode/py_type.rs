//! Python type expressions: `str | None`, `list[Issue]`, `Literal["open", "closed"]`.

use std::fmt;

use serde_json::Value;

use super::literal::literal;

const ANY: &str = "Any";
/// Maximum alternatives of a union; larger ones become `Any`.
const MAX_UNION_TYPES: usize = 8;
/// Maximum number of listed values, and their total length.
const MAX_LITERALS: usize = 40;
const LITERAL_LETTERS: usize = 400;

/// A union without duplicates. Empty: unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PyType {
    names: Vec<String>,
    literals: Vec<String>,
    has_null: bool,
}

impl PyType {
    pub(super) fn any() -> Self {
        Self::from_name(ANY)
    }

    pub(super) fn null() -> Self {
        Self { has_null: true, ..Self::default() }
    }

    pub(super) fn from_name(name: impl Into<String>) -> Self {
        Self { names: vec![name.into()], ..Self::default() }
    }

    pub(super) fn literal(value: &Value) -> Self {
        match value {
            Value::Null => Self::null(),
            value => Self { literals: vec![literal(value)], ..Self::default() },
        }
    }

    /// From the values of an `enum`; of those too long to be shown, one is kept.
    pub(super) fn one_of(values: &[Value]) -> Self {
        let mut all = Self { has_null: values.iter().any(Value::is_null), ..Self::default() };
        let mut letters = 0;
        for value in values.iter().filter(|it| !it.is_null()).take(MAX_LITERALS + 1) {
            if letters > LITERAL_LETTERS {
                break;
            }
            let one = Self::literal(value);
            letters += one.literals.iter().map(String::len).sum::<usize>();
            all = all.or(one);
        }
        all
    }

    pub(super) fn list(of: &Self) -> Self {
        if of.is_any() { Self::from_name("list") } else { Self::from_name(format!("list[{of}]")) }
    }

    pub(super) fn tuple(of: &[Self]) -> Self {
        let each: Vec<String> = of.iter().map(ToString::to_string).collect();
        Self::from_name(format!("tuple[{}]", each.join(", ")))
    }

    pub(super) fn dictionary(of: &Self) -> Self {
        if of.is_any() {
            Self::from_name("dict")
        } else {
            Self::from_name(format!("dict[str, {of}]"))
        }
    }

    pub(super) fn or(mut self, other: Self) -> Self {
        for name in other.names {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
        for literal in other.literals {
            if !self.literals.contains(&literal) {
                self.literals.push(literal);
            }
        }
        if self.names.iter().any(|it| it == "float") {
            self.names.retain(|it| it != "int");
        }
        self.has_null |= other.has_null;
        if self.names.len() > MAX_UNION_TYPES || self.names.iter().any(|it| it == ANY) {
            Self { has_null: self.has_null, ..Self::any() }
        } else {
            self
        }
    }

    pub(super) fn is_any(&self) -> bool {
        match self.names.first() {
            Some(first) => first == ANY,
            None => self.literals.is_empty() && !self.has_null,
        }
    }

    pub(super) fn takes_null(&self) -> bool {
        self.has_null
    }
}

impl fmt::Display for PyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_any() {
            return f.write_str(ANY);
        }
        let literals = (!self.literals.is_empty()).then(|| render_literals(&self.literals));
        let null = self.has_null.then(|| "None".to_owned());
        let all: Vec<String> = self.names.iter().cloned().chain(literals).chain(null).collect();
        f.write_str(&all.join(" | "))
    }
}

fn render_literals(literals: &[String]) -> String {
    let mut letters = 0;
    let shown = literals.iter().take(MAX_LITERALS).take_while(|it| {
        letters += it.len();
        letters <= LITERAL_LETTERS
    });
    let mut shown: Vec<&str> = shown.map(String::as_str).collect();
    if shown.len() < literals.len() {
        shown.push("...");
    }
    match shown[..] {
        // All values are too long to be shown.
        ["..."] => ANY.to_owned(),
        _ => format!("Literal[{}]", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests;
