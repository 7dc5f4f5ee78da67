//! Strict parsing of untrusted JSON.
//!
//! Objects are parsed one level deep and values stay raw text, so unknown fields are preserved and
//! nothing is parsed twice. Duplicate keys are rejected: two parsers could each use a different
//! one.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::error::Category;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

mod bounds;

pub use bounds::{JsonBounds, JsonBoundsError, JsonSize, MAX_TREE_VALUES};

use crate::text::truncate_chars;

/// Text that is not the expected JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedJsonError {
    /// Ambiguous JSON: parsers may disagree about it.
    #[error("duplicate key `{}`", truncate_chars(.key, 80))]
    Duplicate { key: String },
    /// JSON of another type. The message names the type and the column.
    #[error("{0}")]
    NotThis(String),
    /// Not JSON, or beyond the limits of the parser (nesting, numbers).
    #[error("{0}")]
    Syntax(String),
    #[error("invalid UTF-8 at byte {at}")]
    NotUtf8 { at: usize },
    /// Too large to be parsed into a tree.
    #[error(transparent)]
    OutOfBounds(#[from] JsonBoundsError),
}

impl From<serde_json::Error> for MalformedJsonError {
    fn from(error: serde_json::Error) -> Self {
        match error.classify() {
            Category::Data => Self::NotThis(error.to_string()),
            Category::Syntax | Category::Eof | Category::Io => Self::Syntax(error.to_string()),
        }
    }
}

/// An object of which only the keys were parsed. Preserves order and unknown fields.
///
/// Invariant: keys are unique.
#[derive(Debug, Clone, Default)]
pub struct Object<'a> {
    fields: Vec<(Cow<'a, str>, Cow<'a, RawValue>)>,
}

impl<'a> Object<'a> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses `text`, which must be one object.
    pub fn parse(text: &'a str) -> Result<Self, MalformedJsonError> {
        let twice = DuplicateKey::default();
        read(text, RawObjectSeed(&twice), &twice)
    }

    /// Like [`Object::parse`], for bytes; invalid UTF-8 is malformed.
    pub fn parse_bytes(bytes: &'a [u8]) -> Result<Self, MalformedJsonError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| MalformedJsonError::NotUtf8 { at: error.valid_up_to() })?;
        Self::parse(text)
    }

    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    /// The field as a string, if it is present and a string.
    pub fn string(&self, key: &str) -> Option<Cow<'_, str>> {
        string(self.get(key)?)
    }

    /// The field as an object; `None` if it is absent or something else.
    pub fn object(&self, key: &str) -> Option<Object<'_>> {
        Object::parse(self.get(key)?.get()).ok()
    }

    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.fields.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Replaces the field in place, or appends it.
    pub fn set(&mut self, key: impl Into<Cow<'a, str>>, value: Box<RawValue>) {
        let key = key.into();
        let value = Cow::Owned(value);
        match self.fields.iter_mut().find(|(name, _)| *name == key) {
            Some(field) => field.1 = value,
            None => self.fields.push((key, value)),
        }
    }

    pub fn set_string(&mut self, key: impl Into<Cow<'a, str>>, value: &str) {
        self.set(key, raw_string(value));
    }

    pub fn remove(&mut self, key: &str) -> Option<Cow<'a, RawValue>> {
        let at = self.fields.iter().position(|(name, _)| name == key)?;
        Some(self.fields.remove(at).1)
    }

    /// A key that resembles one of `known` (by case or Unicode folding): a lenient parser elsewhere
    /// would take it for the real one.
    pub fn twin_of<'k>(&self, known: &[&'k str]) -> Option<&'k str> {
        let strange = self.fields.iter().filter(|(key, _)| !known.contains(&&**key));
        strange.into_iter().find_map(|(key, _)| {
            let is_ascii = key.is_ascii();
            known.iter().copied().find(|name| {
                if is_ascii && name.is_ascii() {
                    key.eq_ignore_ascii_case(name)
                } else {
                    folds_to(key, name)
                }
            })
        })
    }

    /// The object as text, fields in their order.
    pub fn to_text(&self) -> String {
        let size: usize = self.fields.iter().map(|(k, v)| k.len() + v.get().len() + 4).sum();
        let mut out = String::with_capacity(size + 2);
        self.write_into(&mut out);
        out
    }

    /// Appends the output of [`Object::to_text`], so that a whole message needs one buffer.
    pub fn write_into(&self, out: &mut String) {
        out.push('{');
        for (at, (key, value)) in self.fields.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_string(out, key);
            out.push(':');
            out.push_str(value.get());
        }
        out.push('}');
    }

    pub fn to_raw(&self) -> Box<RawValue> {
        serialize_raw(&RawObjectText(self))
    }

    /// The fields with the lifetime of the source text; replaced fields are omitted.
    pub fn into_borrowed(self) -> impl Iterator<Item = (Cow<'a, str>, &'a RawValue)> {
        self.fields.into_iter().filter_map(|(key, value)| match value {
            Cow::Borrowed(value) => Some((key, value)),
            Cow::Owned(_) => None,
        })
    }

    pub fn into_owned(self) -> Object<'static> {
        Object {
            fields: self
                .fields
                .into_iter()
                .map(|(key, value)| (Cow::Owned(key.into_owned()), Cow::Owned(value.into_owned())))
                .collect(),
        }
    }
}

/// An object to be serialized into a raw value.
struct RawObjectText<'o>(&'o Object<'o>);

impl Serialize for RawObjectText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter())
    }
}

/// The duplicate key found: serde errors can carry it only inside their message.
type DuplicateKey = Cell<Option<String>>;

fn read<'t, S: DeserializeSeed<'t>>(
    text: &'t str,
    seed: S,
    twice: &DuplicateKey,
) -> Result<S::Value, MalformedJsonError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut reader);
    let value = value.and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| match twice.take() {
        Some(key) => MalformedJsonError::Duplicate { key },
        None => error.into(),
    })
}

struct RawObjectSeed<'c>(&'c DuplicateKey);

impl<'de> DeserializeSeed<'de> for RawObjectSeed<'_> {
    type Value = Object<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RawObjectSeed<'_> {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields: Vec<(Cow<'de, str>, Cow<'de, RawValue>)> = Vec::new();
        let mut seen = SeenKeys::default();
        while let Some(JsonKey(key)) = map.next_key()? {
            if !seen.insert(&key, || fields.iter().map(|(name, _)| &**name)) {
                self.0.set(Some(key.into_owned()));
                return Err(A::Error::custom("a key stands twice"));
            }
            fields.push((key, Cow::Borrowed(map.next_value::<&'de RawValue>()?)));
        }
        Ok(Object { fields })
    }
}

/// Keys seen so far: a linear scan while there are few, a set once there are many.
#[derive(Default)]
struct SeenKeys {
    set: HashSet<String>,
    count: usize,
}

impl SeenKeys {
    const SCAN_UP_TO: usize = 16;

    fn insert<'k, I: Iterator<Item = &'k str>>(
        &mut self,
        key: &str,
        earlier: impl Fn() -> I,
    ) -> bool {
        self.count += 1;
        if self.count <= Self::SCAN_UP_TO {
            return !earlier().any(|name| name == key);
        }
        if self.set.is_empty() {
            self.set.extend(earlier().map(str::to_owned));
        }
        self.set.insert(key.to_owned())
    }
}

struct JsonKey<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for JsonKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonKeyVisitor;
        impl<'de> Visitor<'de> for JsonKeyVisitor {
            type Value = JsonKey<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonKey<'de>, E> {
                Ok(JsonKey(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<JsonKey<'de>, E> {
                Ok(JsonKey(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(JsonKeyVisitor)
    }
}

/// Parses the whole document into a tree. Rejects duplicate keys at any level, and documents of
/// more than [`MAX_TREE_VALUES`].
pub fn value(text: &str) -> Result<Value, MalformedJsonError> {
    value_within(text, MAX_TREE_VALUES)
}

/// Like [`value`], with another limit.
pub fn value_within(text: &str, values: usize) -> Result<Value, MalformedJsonError> {
    // A text has no more values than bytes.
    if text.len() > values {
        JsonBounds::of_tree(values).check(text.as_bytes())?;
    }
    let twice = DuplicateKey::default();
    read(text, StrictValueSeed(&twice), &twice)
}

#[derive(Clone, Copy)]
struct StrictValueSeed<'c>(&'c DuplicateKey);

impl<'de> DeserializeSeed<'de> for StrictValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
        Ok(Value::Bool(it))
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_u64<E>(self, it: u64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_f64<E>(self, it: f64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_str<E>(self, it: &str) -> Result<Value, E> {
        Ok(Value::String(it.to_owned()))
    }

    fn visit_string<E>(self, it: String) -> Result<Value, E> {
        Ok(Value::String(it))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        // `Vec` allocates room for four by default, which dominates the cost of short lists.
        let Some(first) = seq.next_element_seed(self)? else { return Ok(Value::Array(Vec::new())) };
        let mut items = vec![first];
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Some(first) = map.next_key::<String>()? else { return Ok(Map::new().into()) };
        // The map allocates room for three by default, which dominates the cost of small objects.
        let mut fields = Map::with_capacity(1);
        let mut next = Some(first);
        while let Some(key) = next {
            if fields.contains_key(&key) {
                self.0.set(Some(key));
                return Err(A::Error::custom("a key stands twice"));
            }
            let value = map.next_value_seed(self)?;
            fields.insert(key, value);
            next = map.next_key()?;
        }
        Ok(Value::Object(fields))
    }
}

/// Text known to be JSON because this crate or serde wrote it. It is parsed again to make sure; for
/// a value or an object, [`raw_value`] or [`Object::to_raw`] are cheaper.
pub fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).expect("the text was written as JSON")
}

pub fn raw_value(value: &Value) -> Box<RawValue> {
    serialize_raw(value)
}

pub fn raw_string(text: &str) -> Box<RawValue> {
    serialize_raw(text)
}

fn serialize_raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    to_raw_value(value).expect("all keys are strings")
}

/// Canonical text: sorted keys, no whitespace, so that equal values have equal text.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    push_canonical(&mut out, value);
    out
}

fn push_canonical(out: &mut String, value: &Value) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_string(out, key);
                out.push(':');
                push_canonical(out, value);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_canonical(out, item);
            }
            out.push(']');
        }
        Value::String(text) => push_string(out, text),
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// Whether arrays and objects are nested more than `limit` deep. Raw text is forwarded unparsed,
/// and most parsers have a depth limit.
pub fn is_deeper_than(limit: usize, text: &str) -> bool {
    let mut depth = 0_usize;
    marks(text).any(|mark| {
        match mark {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > limit
    })
}

/// The bytes outside of strings.
fn marks(text: &str) -> impl Iterator<Item = u8> {
    let mut bytes = text.bytes();
    let mut in_string = false;
    std::iter::from_fn(move || {
        loop {
            match bytes.next()? {
                b'"' => in_string = !in_string,
                b'\\' if in_string => drop(bytes.next()),
                _ if in_string => {}
                mark => return Some(mark),
            }
        }
    })
}

/// The value as a string, if it is one.
pub fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let JsonKey(text) = serde_json::from_str(value.get()).ok()?;
    Some(text)
}

/// Appends `text` as a JSON string.
pub fn push_string(out: &mut String, text: &str) {
    let plain = text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    if plain {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::String(text.to_owned()).to_string());
    }
}

fn folds_to(key: &str, name: &str) -> bool {
    let fold = |c: char| match c {
        'ſ' => 's',
        'ı' => 'i',
        _ => c.to_lowercase().next().unwrap_or(c),
    };
    key.chars().map(fold).eq(name.chars().map(fold))
}

#[cfg(test)]
mod tests;
