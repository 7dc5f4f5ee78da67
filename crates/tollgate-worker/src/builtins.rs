//! Built-in functions of a program, besides its tools: Starlark's own, a few that models expect
//! from Python, and the functions to call tools. They reach nothing but their arguments and the
//! session.

use num_bigint::BigInt;
use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension};
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_module;
use starlark::values::float::StarlarkFloat;
use starlark::values::none::{NoneOr, NoneType};
use starlark::values::tuple::UnpackTuple;
use starlark::values::{Heap, UnpackValue as _, Value, ValueLike as _};
use tollgate_sandbox::frames::ProgramErrorKind;

use crate::calls::{self, OnToolFailure};
use crate::convert::{from_json, to_json};
use crate::failure::ProgramStopError;
use crate::rounding;
use crate::session::WorkerSession;
use crate::show::show;

/// Pure ones only: not `Breakpoint`, `Debug`, `Internal` and `CallStack`, which expose interpreter
/// internals, and no second print function.
const EXTENSIONS: &[LibraryExtension] = &[
    LibraryExtension::StructType,
    LibraryExtension::SetType,
    LibraryExtension::Map,
    LibraryExtension::Filter,
    LibraryExtension::Partial,
    LibraryExtension::Typing,
];

pub fn globals() -> Globals {
    let mut globals = GlobalsBuilder::extended_by(EXTENSIONS).with(functions).with(numbers);
    globals.namespace("json", json);
    globals.build()
}

#[starlark_module]
fn functions(globals: &mut GlobalsBuilder) {
    fn print<'v>(
        #[starlark(args)] values: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = " ")] sep: &str,
        #[starlark(require = named, default = "\n")] end: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let session = WorkerSession::of(eval);
        let room = session.room();
        let mut text = String::new();
        for (place, value) in values.items.into_iter().enumerate() {
            if place > 0 {
                text.push_str(sep);
            }
            show(value, room, &mut text);
        }
        text.push_str(end);
        session.print(&text)?;
        Ok(NoneType)
    }

    fn try_call<'v>(
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        calls::try_call(arguments, eval)
    }

    fn parallel<'v>(
        #[starlark(require = pos)] list: Value<'v>,
        #[starlark(require = named, default = false)] catch: bool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        calls::parallel(list, if catch { OnToolFailure::Value } else { OnToolFailure::Stops }, eval)
    }

    fn sum<'v>(
        #[starlark(require = pos)] items: Value<'v>,
        #[starlark(default = 0)] start: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let mut sum = start;
        for item in items.iterate(heap)? {
            sum = sum.add(item, heap)?;
        }
        Ok(sum)
    }
}

#[starlark_module]
fn numbers(globals: &mut GlobalsBuilder) {
    fn round<'v>(
        #[starlark(require = pos)] number: Value<'v>,
        #[starlark(default = NoneOr::None)] ndigits: NoneOr<i32>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let ndigits = ndigits.into_option();
        if let Some(StarlarkFloat(float)) = number.downcast_ref() {
            return Ok(match ndigits {
                Some(digits) => heap.alloc(rounding::float(*float, digits)?),
                None => heap.alloc(rounding::to_whole(*float)?),
            });
        }
        match (BigInt::unpack_value(number)?, ndigits) {
            (Some(whole), Some(digits @ ..0)) => {
                Ok(heap.alloc(rounding::round_to_power(&whole, digits.unsigned_abs())))
            }
            (Some(_), _) => Ok(number),
            (None, _) => {
                let message = format!("`round` needs a number, not a {}", number.get_type());
                Err(ProgramStopError::bare(ProgramErrorKind::Runtime, message).into())
            }
        }
    }
}

#[starlark_module]
fn json(globals: &mut GlobalsBuilder) {
    fn encode<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let room =
            usize::try_from(WorkerSession::of(eval).fence().heap_bytes).unwrap_or(usize::MAX);
        Ok(to_json(value, room, eval.heap()).map_err(|unfit| unfit.stop("the value"))?)
    }

    fn decode<'v>(
        #[starlark(require = pos)] text: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        Ok(from_json(text, heap).map_err(|error| {
            let message = format!("`json.decode` cannot read the text: {error}");
            ProgramStopError::bare(error.kind, message)
        })?)
    }
}
