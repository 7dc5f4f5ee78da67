//! What a tool is to the interpreter: a value that can be called, compared and hashed.

use starlark::collections::StarlarkHasher;
use starlark::eval::{Arguments, Evaluator};
use starlark::values::{StarlarkValue, Value, starlark_value};

use super::call;
use crate::bindings::StarlarkTool;

#[starlark_value(type = "tool")]
impl<'v> StarlarkValue<'v> for StarlarkTool {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(Self::from_value(other).is_some_and(|other| other.number() == self.number()))
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        std::hash::Hash::hash(&self.number(), hasher);
        Ok(())
    }

    fn invoke(
        &self,
        me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        call(me, arguments, eval)
    }
}
