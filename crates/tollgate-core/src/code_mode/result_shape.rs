//! Result types learned from values, for tools without an output schema.
//!
//! A key is shown only if it occurred in two different results and looks like a name. Keys that are
//! data (`dict[str, T]`) are not disclosed to other users.

use std::fmt;

use serde_json::{Map, Value};

use super::classes::{ClassBody, ClassField, FieldPresence, TypedDictSet, class_name, singular};
use super::py_type::PyType;

/// Maximum depth of nested values.
const MAX_VALUE_DEPTH: usize = 6;
const MAX_KEYS: usize = 48;
const MAX_ITEMS: usize = 40;
/// Maximum values per result; the rest is ignored.
const MAX_VALUES: usize = 2_000;
/// Maximum parts of a shape. Larger shapes are shown less deep.
const MAX_SHAPE_PARTS: usize = 400;
const MAX_KEY_LEN: usize = 40;
const MAX_KEY_DIGITS: usize = 3;
/// Results in which a key must occur to be shown.
const MIN_RESULTS_PER_FIELD: u32 = 2;

/// The kinds of values seen at one place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResultShape {
    scalars: u8,
    /// Shape of list items; `None` if only empty lists were seen.
    items: Option<Box<Self>>,
    object: Option<Box<ObjectShape>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ObjectShape {
    /// Number of objects seen here.
    count: u32,
    /// In order of first occurrence.
    fields: Vec<FieldShape>,
    /// Shape of values whose keys are data.
    others: Option<ResultShape>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldShape {
    key: String,
    /// Number of objects that had it.
    count: u32,
    /// Number of different results that had it.
    results: u32,
    shape: ResultShape,
}

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const INTEGER: u8 = 4;
const NUMBER: u8 = 8;
const TEXT: u8 = 16;
/// Not examined.
const ANY: u8 = 32;

/// Whether two merged shapes are from one result or from two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultCount {
    One,
    Two,
}

impl ResultShape {
    /// The shape of one result.
    pub fn of(value: &Value) -> Self {
        let mut left = MAX_VALUES;
        Self::within(value, MAX_VALUE_DEPTH, &mut left)
    }

    /// Merges the shape of another result.
    pub fn merge(&mut self, other: Self) {
        self.join(other, ResultCount::Two);
        let mut depth = MAX_VALUE_DEPTH;
        while depth > 1 && self.parts() > MAX_SHAPE_PARTS {
            depth -= 1;
            self.prune(depth);
        }
    }

    /// As type definitions of a stub file.
    pub fn render(&self, name: &str) -> String {
        let mut classes = TypedDictSet::default();
        let typed = self.to_type(name, &mut classes);
        let mut out = String::new();
        classes.write_new(&mut out);
        out + &typed.to_string()
    }

    /// Whether the types shown for this shape also hold for the other.
    pub(super) fn admits(&self, other: &Self) -> bool {
        if self.scalars & ANY != 0 {
            return true;
        }
        let scalars =
            if self.scalars & NUMBER != 0 { self.scalars | INTEGER } else { self.scalars };
        let items = match (&self.items, &other.items) {
            (_, None) => true,
            (Some(own), Some(other)) => other.is_empty() || own.admits(other),
            (None, Some(_)) => false,
        };
        let object = match (&self.object, &other.object) {
            (_, None) => true,
            (Some(own), Some(other)) => own.admits(other),
            (None, Some(_)) => false,
        };
        other.scalars & !scalars == 0 && items && object
    }

    pub(super) fn to_type(&self, name: &str, classes: &mut TypedDictSet) -> PyType {
        if self.scalars & ANY != 0 {
            return PyType::any();
        }
        let names = [(BOOLEAN, "bool"), (INTEGER, "int"), (NUMBER, "float"), (TEXT, "str")];
        let names = names.into_iter().filter(|(kind, _)| self.scalars & kind != 0);
        let mut typed =
            names.map(|(_, name)| PyType::from_name(name)).fold(PyType::default(), PyType::or);
        if let Some(items) = &self.items {
            typed = typed.or(PyType::list(&items.to_type(&singular(name), classes)));
        }
        if let Some(object) = &self.object {
            typed = typed.or(object.to_type(name, classes));
        }
        let has_null = self.scalars & NULL != 0;
        // A field that was always null has an unknown type.
        if has_null && !typed.is_any() { typed.or(PyType::null()) } else { typed }
    }

    fn within(value: &Value, depth: usize, left: &mut usize) -> Self {
        let scalar = |scalars| Self { scalars, ..Self::default() };
        *left = left.saturating_sub(1);
        match value {
            _ if *left == 0 => scalar(ANY),
            Value::Null => scalar(NULL),
            Value::Bool(_) => scalar(BOOLEAN),
            Value::Number(number) if number.is_f64() => scalar(NUMBER),
            Value::Number(_) => scalar(INTEGER),
            Value::String(_) => scalar(TEXT),
            Value::Array(_) | Value::Object(_) if depth == 0 => scalar(ANY),
            Value::Array(items) => {
                let mut all = Self::default();
                for item in items.iter().take(MAX_ITEMS) {
                    all.join(Self::within(item, depth - 1, left), ResultCount::One);
                }
                Self { items: Some(Box::new(all)), ..Self::default() }
            }
            Value::Object(fields) => {
                let object = ObjectShape::within(fields, depth, left);
                Self { object: Some(Box::new(object)), ..Self::default() }
            }
        }
    }

    fn join(&mut self, other: Self, from: ResultCount) {
        self.scalars |= other.scalars;
        match (&mut self.items, other.items) {
            (Some(own), Some(other)) => own.join(*other, from),
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
        match (&mut self.object, other.object) {
            (Some(own), Some(other)) => own.join(*other, from),
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn parts(&self) -> usize {
        let object = self.object.as_ref().map_or(0, |object| {
            let fields: usize = object.fields.iter().map(|it| it.shape.parts()).sum();
            fields + object.others.as_ref().map_or(0, Self::parts)
        });
        1 + self.items.as_ref().map_or(0, |items| items.parts()) + object
    }

    fn prune(&mut self, depth: usize) {
        if depth == 0 {
            let is_deeper = self.items.take().is_some() | self.object.take().is_some();
            self.scalars |= if is_deeper { ANY } else { 0 };
            return;
        }
        if let Some(items) = &mut self.items {
            items.prune(depth - 1);
        }
        if let Some(object) = &mut self.object {
            let fields = object.fields.iter_mut().map(|it| &mut it.shape);
            fields.chain(&mut object.others).for_each(|it| it.prune(depth - 1));
        }
    }
}

impl ObjectShape {
    fn within(fields: &Map<String, Value>, depth: usize, left: &mut usize) -> Self {
        let mut object = Self { count: 1, ..Self::default() };
        for (key, value) in fields {
            let shape = ResultShape::within(value, depth - 1, left);
            if is_name(key) && object.fields.len() < MAX_KEYS {
                object.fields.push(FieldShape { key: key.clone(), count: 1, results: 1, shape });
            } else {
                object.other(shape, ResultCount::One)
            }
        }
        object
    }

    fn join(&mut self, other: Self, from: ResultCount) {
        self.count = self.count.saturating_add(other.count);
        for seen in other.fields {
            let has_room = self.fields.len() < MAX_KEYS;
            match self.fields.iter_mut().find(|it| it.key == seen.key) {
                Some(own) => {
                    own.count = own.count.saturating_add(seen.count);
                    own.results = match from {
                        ResultCount::One => own.results.max(seen.results),
                        ResultCount::Two => own.results.saturating_add(seen.results),
                    };
                    own.shape.join(seen.shape, from);
                }
                None if has_room => self.fields.push(seen),
                None => self.other(seen.shape, from),
            }
        }
        if let Some(others) = other.others {
            self.other(others, from);
        }
    }

    fn other(&mut self, shape: ResultShape, from: ResultCount) {
        match &mut self.others {
            Some(others) => others.join(shape, from),
            none @ None => *none = Some(shape),
        }
    }

    fn stable_fields(&self) -> impl Iterator<Item = &FieldShape> {
        self.fields.iter().filter(|it| it.results >= MIN_RESULTS_PER_FIELD)
    }

    /// Whether its keys are data: none can be shown, most occurred in one result only, or all lead
    /// to objects with equal keys.
    fn is_dictionary(&self) -> bool {
        let reported = self.stable_fields().count();
        let fleeting = self.fields.len() - reported;
        let mut objects = self.stable_fields().map(|it| it.shape.object.as_deref().map(Self::keys));
        let first = objects.next().flatten().filter(|keys| !keys.is_empty());
        let is_alike = reported > 1 && first.is_some() && objects.all(|keys| keys == first);
        reported == 0 || fleeting > reported || is_alike
    }

    fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = self.fields.iter().map(|it| it.key.as_str()).collect();
        keys.sort_unstable();
        keys
    }

    /// Merged shape of all values, regardless of key.
    fn values(&self) -> ResultShape {
        let mut all = self.others.clone().unwrap_or_default();
        for seen in &self.fields {
            all.join(seen.shape.clone(), ResultCount::One);
        }
        all
    }

    fn admits(&self, other: &Self) -> bool {
        if self.is_dictionary() {
            return self.values().admits(&other.values());
        }
        self.stable_fields().all(|own| match other.fields.iter().find(|it| it.key == own.key) {
            Some(seen) => {
                let is_there = seen.count == other.count || own.count < self.count;
                is_there && own.shape.admits(&seen.shape)
            }
            None => own.count < self.count,
        })
    }

    fn to_type(&self, name: &str, classes: &mut TypedDictSet) -> PyType {
        if self.is_dictionary() {
            return PyType::dictionary(&self.values().to_type(&singular(name), classes));
        }
        let mut body = ClassBody::default();
        for seen in self.stable_fields() {
            let typed = seen.shape.to_type(&seen.key, classes);
            let is_always = seen.count == self.count;
            let presence = if is_always { FieldPresence::Always } else { FieldPresence::Sometimes };
            body.fields.push(ClassField { key: seen.key.clone(), typed, presence, remark: None });
        }
        body.remark = self.others.as_ref().map(|others| {
            let typed = others.to_type(&singular(name), classes);
            format!("other keys: {typed}")
        });
        classes.add(&class_name(name).unwrap_or_else(|| "Item".to_owned()), &body, None)
    }
}

impl fmt::Display for ResultShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render("Result"))
    }
}

/// Whether a key looks like a field name rather than data.
fn is_name(key: &str) -> bool {
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    let first = key.bytes().next().is_some_and(|it| it.is_ascii_alphabetic() || it == b'_');
    first
        && key.len() <= MAX_KEY_LEN
        && digits <= MAX_KEY_DIGITS
        && key.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

#[cfg(test)]
mod tests;
