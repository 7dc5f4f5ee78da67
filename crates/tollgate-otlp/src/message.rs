//! Encoder for OTLP messages, as protobuf and as OTLP's JSON. One description of a message serves
//! both. It knows fields, not their meaning.

use std::fmt::Write as _;

use tollgate_core::json::push_string;
use tollgate_core::secret_values;

/// A message: its fields, in any order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OtlpMessage(Vec<OtlpField>);

#[derive(Debug, Clone, PartialEq)]
struct OtlpField {
    number: u32,
    /// Its name in JSON.
    name: &'static str,
    value: OtlpValue,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum OtlpValue {
    Text(String),
    /// Ids: hexadecimal in JSON, where OTLP differs from protobuf's Base64.
    Id(Vec<u8>),
    Flag(bool),
    /// An `enum` or an `uint32`: a number in JSON, too.
    Small(u32),
    /// An `int64`: a string in JSON, because parsers lose digits of large numbers.
    Signed(i64),
    Fixed32(u32),
    Fixed64(u64),
    Double(f64),
    Fixed64s(Vec<u64>),
    Doubles(Vec<f64>),
    One(OtlpMessage),
    Many(Vec<OtlpMessage>),
}

impl OtlpMessage {
    /// Adds a field, even with a default value: an empty string or a zero may be significant in a
    /// `oneof`.
    pub(super) fn with(mut self, number: u32, name: &'static str, value: OtlpValue) -> Self {
        self.0.push(OtlpField { number, name, value });
        self
    }

    pub(super) fn to_protobuf(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_protobuf(&mut out);
        out
    }

    pub(super) fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    fn write_protobuf(&self, out: &mut Vec<u8>) {
        for OtlpField { number, value, .. } in &self.0 {
            value.write_protobuf(*number, out);
        }
    }

    fn write_json(&self, out: &mut String) {
        out.push('{');
        for (at, OtlpField { name, value, .. }) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_string(out, name);
            out.push(':');
            value.write_json(out);
        }
        out.push('}');
    }
}

const VARINT: u32 = 0;
const SIXTY_FOUR: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;
const THIRTY_TWO: u32 = 5;

impl OtlpValue {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => {
                write_length_delimited(out, number, secret_values::mask(text).as_bytes())
            }
            Self::Id(bytes) => write_length_delimited(out, number, bytes),
            Self::Flag(flag) => {
                tag(out, number, VARINT);
                varint(out, u64::from(*flag));
            }
            Self::Small(value) => {
                tag(out, number, VARINT);
                varint(out, u64::from(*value));
            }
            Self::Signed(value) => {
                tag(out, number, VARINT);
                // Two's complement: negative numbers take ten bytes.
                varint(out, value.cast_unsigned());
            }
            Self::Fixed32(value) => {
                tag(out, number, THIRTY_TWO);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Self::Fixed64(value) => {
                tag(out, number, SIXTY_FOUR);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Self::Double(value) => {
                tag(out, number, SIXTY_FOUR);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Self::Fixed64s(values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
                write_length_delimited(out, number, &bytes);
            }
            Self::Doubles(values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
                write_length_delimited(out, number, &bytes);
            }
            Self::One(message) => write_length_delimited(out, number, &message.to_protobuf()),
            Self::Many(messages) => {
                for message in messages {
                    write_length_delimited(out, number, &message.to_protobuf());
                }
            }
        }
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Self::Text(text) => push_string(out, &secret_values::mask(text)),
            Self::Id(bytes) => {
                out.push('"');
                for byte in bytes {
                    let _ = write!(out, "{byte:02x}");
                }
                out.push('"');
            }
            Self::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Small(value) | Self::Fixed32(value) => {
                let _ = write!(out, "{value}");
            }
            Self::Signed(value) => {
                let _ = write!(out, "\"{value}\"");
            }
            Self::Fixed64(value) => {
                let _ = write!(out, "\"{value}\"");
            }
            Self::Double(value) => push_double(out, *value),
            Self::Fixed64s(values) => push_list(out, values, |out, value| {
                let _ = write!(out, "\"{value}\"");
            }),
            Self::Doubles(values) => push_list(out, values, |out, value| push_double(out, *value)),
            Self::One(message) => message.write_json(out),
            Self::Many(messages) => push_list(out, messages, |out, it| it.write_json(out)),
        }
    }
}

/// Values without a JSON number are strings, as in protobuf's JSON.
fn push_double(out: &mut String, value: f64) {
    let _ = match value {
        value if value.is_nan() => write!(out, "\"NaN\""),
        f64::INFINITY => write!(out, "\"Infinity\""),
        f64::NEG_INFINITY => write!(out, "\"-Infinity\""),
        value => write!(out, "{value:?}"),
    };
}

fn push_list<T>(out: &mut String, items: &[T], push: impl Fn(&mut String, &T)) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(']');
}

fn tag(out: &mut Vec<u8>, number: u32, kind: u32) {
    varint(out, u64::from(number << 3 | kind));
}

fn write_length_delimited(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    tag(out, number, LENGTH_DELIMITED);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests;
