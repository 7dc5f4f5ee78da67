//! The return value of `try_call`, which tells whether the call succeeded. Its fields are read as
//! attributes or by index.

#![expect(
    elided_lifetimes_in_paths,
    unsafe_code,
    unused_qualifications,
    reason = "what the interpreter's macros derive for a value of its"
)]

use std::fmt::{self, Display};

use allocative::Allocative;
use starlark::coerce::Coerce;
use starlark::starlark_complex_value;
use starlark::values::{
    Freeze, Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Trace,
    Value, ValueError, ValueLike, starlark_value,
};

const FIELDS: [&str; 5] = ["ok", "value", "error", "status", "retryable"];

#[derive(
    Debug, Trace, Freeze, Coerce, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative,
)]
#[repr(C)]
pub(crate) struct OutcomeGen<V> {
    ok: V,
    value: V,
    error: V,
    status: V,
    retryable: V,
}

starlark_complex_value!(pub(crate) Outcome);

impl<'v> Outcome<'v> {
    pub(crate) fn well(value: Value<'v>, heap: Heap<'v>) -> Self {
        Self {
            ok: Value::new_bool(true),
            value,
            error: Value::new_none(),
            status: heap.alloc("ok"),
            retryable: Value::new_bool(false),
        }
    }

    pub(crate) fn failure(error: Value<'v>, status: Value<'v>, retryable: Value<'v>) -> Self {
        Self { ok: Value::new_bool(false), value: Value::new_none(), error, status, retryable }
    }
}

impl<'v, V: ValueLike<'v>> OutcomeGen<V> {
    fn field(&self, name: &str) -> Option<Value<'v>> {
        let field = match name {
            "ok" => self.ok,
            "value" => self.value,
            "error" => self.error,
            "status" => self.status,
            "retryable" => self.retryable,
            _ => return None,
        };
        Some(field.to_value())
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, Value<'v>)> {
        FIELDS.into_iter().filter_map(|name| Some((name, self.field(name)?)))
    }
}

impl<'v, V: ValueLike<'v>> Display for OutcomeGen<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (place, (name, value)) in self.fields().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}\"{name}\": {value}")?;
        }
        f.write_str("}")
    }
}

#[starlark_value(type = "outcome")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for OutcomeGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn get_attr(&self, attribute: &str, _heap: Heap<'v>) -> Option<Value<'v>> {
        self.field(attribute)
    }

    fn dir_attr(&self) -> Vec<String> {
        FIELDS.map(str::to_owned).to_vec()
    }

    fn at(&self, index: Value<'v>, _heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let field = index.unpack_str().and_then(|name| self.field(name));
        field.ok_or_else(|| ValueError::KeyNotFound(index.to_repr()).into())
    }

    fn is_in(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.unpack_str().is_some_and(|name| FIELDS.contains(&name)))
    }
}
