//! Limits on JSON text (value count, nesting depth), checked before parsing.
//!
//! One pass over the bytes, without allocation. A parsed value takes up to a hundred times the
//! memory of its text, so a byte limit alone does not bound memory.

use memchr::memchr2;

/// Default limit for a message. A chat of a hundred thousand messages has fewer values.
const MAX_MESSAGE_VALUES: usize = 400_000;
/// Default limit for a document that is parsed into a tree: 16 MiB of memory.
pub const MAX_TREE_VALUES: usize = 100_000;
/// JSON parsers typically give up at about this depth.
const MAX_DEPTH: usize = 128;

/// Memory of a tree per value, and in addition per object. Measured with one-member objects, the
/// most expensive case.
const BYTES_PER_VALUE: usize = 96;
const BYTES_PER_OBJECT: usize = 160;

/// How much a JSON text may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonBounds {
    /// Objects, arrays, strings, numbers and literals; keys are not counted.
    pub values: usize,
    /// Nesting depth of arrays and objects.
    pub depth: usize,
}

impl Default for JsonBounds {
    fn default() -> Self {
        Self { values: MAX_MESSAGE_VALUES, depth: MAX_DEPTH }
    }
}

/// A text over its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonBoundsError {
    #[error("the JSON has more than {limit} values")]
    TooManyValues { limit: usize },
    #[error("the JSON is nested deeper than {limit} levels")]
    TooDeep { limit: usize },
}

/// The measured size of a text. Exact for JSON; an estimate for anything else, which a parser
/// rejects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonSize {
    pub values: usize,
    pub objects: usize,
    pub depth: usize,
}

impl JsonSize {
    /// Upper bound on the memory of its tree, without the bytes of strings.
    pub fn tree_bytes(&self) -> usize {
        let objects = self.objects.saturating_mul(BYTES_PER_OBJECT);
        self.values.saturating_mul(BYTES_PER_VALUE).saturating_add(objects)
    }
}

impl JsonBounds {
    /// For a document that is parsed into a tree; the parser limits the depth.
    pub fn of_tree(values: usize) -> Self {
        Self { values, depth: usize::MAX }
    }

    /// Measures `text`; stops at the first value over the limit.
    pub fn check(self, text: &[u8]) -> Result<JsonSize, JsonBoundsError> {
        let mut size = JsonSize::default();
        let mut open = 0_usize;
        // A document is a value, and so is what follows a comma or an opening bracket.
        let mut expects_value = true;
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            at += 1;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b':' => continue,
                b']' | b'}' => {
                    open = open.saturating_sub(1);
                    expects_value = false;
                    continue;
                }
                b',' => {
                    expects_value = true;
                    continue;
                }
                _ => {}
            }
            // In an object the key comes first and is counted for its value.
            if expects_value {
                size.values += 1;
                expects_value = false;
                if size.values > self.values {
                    return Err(JsonBoundsError::TooManyValues { limit: self.values });
                }
            }
            match byte {
                b'"' => at = end_of_string(text, at),
                b'[' | b'{' => {
                    size.objects += usize::from(*byte == b'{');
                    open += 1;
                    size.depth = size.depth.max(open);
                    expects_value = true;
                    if open > self.depth {
                        return Err(JsonBoundsError::TooDeep { limit: self.depth });
                    }
                }
                _ => {}
            }
        }
        Ok(size)
    }
}

/// The end of the string that begins before `at`.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        // An escaped character never ends the string.
        at += 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::{JsonBounds, JsonBoundsError, JsonSize};

    fn measure(text: &str) -> [usize; 3] {
        let JsonSize { values, objects, depth } =
            JsonBounds::default().check(text.as_bytes()).unwrap();
        [values, objects, depth]
    }

    #[test]
    fn values_objects_and_depth_are_counted_outside_of_strings() {
        for (text, expected) in [
            ("", [0, 0, 0]),
            ("1", [1, 0, 0]),
            ("[]", [1, 0, 1]),
            ("{}", [1, 1, 1]),
            (" [ ] ", [1, 0, 1]),
            ("[1,2,3]", [4, 0, 1]),
            (r#"{"a":0}"#, [2, 1, 1]),
            (r#"{"a":[",,[{",{}],"b":null}"#, [5, 2, 3]),
            (r#"["\",,\\",["\"[["],[[]]]"#, [6, 0, 3]),
            (r#"{"a":{"b":{"c":{}}}}"#, [4, 4, 4]),
        ] {
            assert_eq!(measure(text), expected, "{text}");
        }
    }

    #[test]
    fn p_21_one_value_or_level_too_many_is_refused() {
        let bounds = JsonBounds { values: 4, depth: 2 };
        let too_many = JsonBoundsError::TooManyValues { limit: 4 };
        let too_deep = JsonBoundsError::TooDeep { limit: 2 };
        for (text, expected) in [
            ("[1,2,3]", None),
            ("[1,2,3,4]", Some(too_many)),
            (r#"{"a":1,"b":2,"c":3}"#, None),
            (r#"[{"a":0},{"a":0}]"#, Some(too_many)),
            ("[[]]", None),
            ("[[[]]]", Some(too_deep)),
            ("[[[", Some(too_deep)),
        ] {
            assert_eq!(bounds.check(text.as_bytes()).err(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_measured_without_a_panic() {
        for text in [&b"\""[..], b"\"\\", b"]]]}}}", b"\xff\xfe", b",,,,", b"\\\"", b"[\"\\u"] {
            assert!(JsonBounds::default().check(text).is_ok(), "{text:?}");
        }
    }

    fn trees() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn count_values(value: &Value) -> [usize; 3] {
        let (inner, is_object): (Vec<&Value>, bool) = match value {
            Value::Array(items) => (items.iter().collect(), false),
            Value::Object(fields) => (fields.values().collect(), true),
            _ => return [1, 0, 0],
        };
        let start = [1, usize::from(is_object), 0];
        let [values, objects, depth] = inner
            .into_iter()
            .map(count_values)
            .fold(start, |all, one| [all[0] + one[0], all[1] + one[1], all[2].max(one[2])]);
        [values, objects, depth + 1]
    }

    proptest! {
        #[test]
        fn the_measure_of_a_text_is_that_of_its_tree(tree in trees()) {
            prop_assert_eq!(measure(&tree.to_string()), count_values(&tree));
            let pretty = serde_json::to_string_pretty(&tree).unwrap();
            prop_assert_eq!(measure(&pretty), count_values(&tree));
        }
    }
}
