//! Parses JSON directly into values, without an intermediate copy.

use std::borrow::Cow;
use std::fmt;

use num_bigint::BigInt;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use starlark::collections::SmallMap;
use starlark::values::dict::Dict;
use starlark::values::{Heap, Value};
use tollgate_sandbox::frames::ProgramErrorKind;

use super::surrogates;

/// Why a text is not valid data.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct JsonReadError {
    pub(crate) kind: ProgramErrorKind,
    pub(crate) message: String,
}

pub(crate) fn from_json<'v>(text: &str, heap: Heap<'v>) -> Result<Value<'v>, JsonReadError> {
    let text = surrogates::replace_lone_surrogates(text);
    let mut reader = serde_json::Deserializer::from_str(&text);
    let value = StarlarkValueSeed(heap).deserialize(&mut reader);
    let value = value.and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| {
        let message = error.to_string();
        if message.starts_with("recursion limit exceeded") {
            let message = "it is nested too deeply".to_owned();
            JsonReadError { kind: ProgramErrorKind::Depth, message }
        } else {
            JsonReadError { kind: ProgramErrorKind::Runtime, message }
        }
    })
}

#[derive(Clone, Copy)]
struct StarlarkValueSeed<'v>(Heap<'v>);

impl<'de, 'v> DeserializeSeed<'de> for StarlarkValueSeed<'v> {
    type Value = Value<'v>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value<'v>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, 'v> Visitor<'de> for StarlarkValueSeed<'v> {
    type Value = Value<'v>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value<'v>, E> {
        Ok(Value::new_none())
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value<'v>, E> {
        Ok(Value::new_bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'v>, E> {
        Ok(self.0.alloc(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'v>, E> {
        Ok(self.0.alloc(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'v>, E> {
        Ok(self.0.alloc(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value<'v>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(self)? {
            values.push(value);
        }
        Ok(self.0.alloc(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value<'v>, A::Error> {
        let mut dict = SmallMap::new();
        while let Some(key) = entries.next_key::<StarlarkJsonKey<'_>>()? {
            let StarlarkJsonKey::Written(key) = key else {
                return number(&entries.next_value::<String>()?, self.0).map_err(Error::custom);
            };
            let key = self.0.alloc_str(&key).get_hashed_value();
            dict.insert_hashed(key, entries.next_value_seed(self)?);
        }
        Ok(self.0.alloc(Dict::new(dict)))
    }
}

/// serde_json delivers an arbitrary-precision number as an object with one synthetic key. The same
/// key in the text stays an ordinary key: only keys in the text can be deserialized as an option.
enum StarlarkJsonKey<'de> {
    Written(Cow<'de, str>),
    OfNumber,
}

impl<'de> Deserialize<'de> for StarlarkJsonKey<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_option(StarlarkJsonKeyVisitor)
    }
}

struct StarlarkJsonKeyVisitor;

impl<'de> Visitor<'de> for StarlarkJsonKeyVisitor {
    type Value = StarlarkJsonKey<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<StarlarkJsonKey<'de>, D::Error> {
        Cow::deserialize(from).map(StarlarkJsonKey::Written)
    }

    fn visit_str<E>(self, _token: &str) -> Result<StarlarkJsonKey<'de>, E> {
        Ok(StarlarkJsonKey::OfNumber)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the number `{0}` is too large")]
struct NumberTooLargeError(String);

/// Integers of any length stay exact.
fn number<'v>(text: &str, heap: Heap<'v>) -> Result<Value<'v>, NumberTooLargeError> {
    if let Ok(small) = text.parse::<i64>() {
        return Ok(heap.alloc(small));
    }
    if let Ok(large) = text.parse::<BigInt>() {
        return Ok(heap.alloc(large));
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(heap.alloc(number)),
        _ => Err(NumberTooLargeError(text.to_owned())),
    }
}
