//! Tool calls: single, with failures as values, or several in parallel. All of them go through
//! [`WorkerSession::call`]; the gateway decides what a program may call.

use serde_json::value::RawValue;
use starlark::eval::{Arguments, Evaluator};
use starlark::values::dict::UnpackDictEntries;
use starlark::values::list::ListRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue as _, Value};
use tollgate_sandbox::frames::{Answer, MAX_WORKER_MESSAGE_BYTES, ProgramCall, ProgramErrorKind};

use crate::bindings::{QualifiedToolName, StarlarkTool};
use crate::convert::{JsonReadError, from_json, to_json};
use crate::failure::{ProgramStopError, line};
use crate::outcome::Outcome;
use crate::session::WorkerSession;

mod tool_value;

/// Bytes of all arguments in one frame: leaves room for the rest of it.
const ARGUMENTS: usize = MAX_WORKER_MESSAGE_BYTES as usize / 4 * 3;

const PAIRS: &str = "write each call as a pair of a tool and a dict of its arguments: `parallel([(server.tool, {\"name\": value}), …])`";
const TRY_CALL_USAGE: &str = "write `try_call(server.tool, name=value)`: the tool itself, without parentheses, then its arguments";

/// What happens if a tool fails.
#[derive(Clone, Copy)]
pub(crate) enum OnToolFailure {
    /// The program fails too.
    Stops,
    /// The program gets the failure as a value.
    Value,
}

struct StarlarkCall<'v> {
    tool: &'v StarlarkTool,
    positional: Vec<Value<'v>>,
    named: Vec<(&'v str, Value<'v>)>,
}

/// `server.tool(…)`, for the tool `me`.
fn call<'v>(
    me: Value<'v>,
    arguments: &Arguments<'v, '_>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let tool = StarlarkTool::from_value(me).expect("only tools can be called this way");
    let positional = arguments.positions(eval.heap())?.collect();
    let request = StarlarkCall { tool, positional, named: named_arguments(arguments)? };
    Ok(run(&[request], OnToolFailure::Stops, eval)?[0])
}

/// `try_call(server.tool, …)`
pub(crate) fn try_call<'v>(
    arguments: &Arguments<'v, '_>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let mut positional = arguments.positions(eval.heap())?;
    let first = positional.next();
    let Some(tool) = first.and_then(StarlarkTool::from_value) else {
        let got = first.map_or("nothing", Value::get_type);
        let message = format!("`try_call` needs a tool first, not {got}");
        return Err(
            ProgramStopError::new(ProgramErrorKind::Runtime, message, TRY_CALL_USAGE).into()
        );
    };
    let request =
        StarlarkCall { tool, positional: positional.collect(), named: named_arguments(arguments)? };
    Ok(run(&[request], OnToolFailure::Value, eval)?[0])
}

/// `parallel([(server.tool, {…}), …])`
pub(crate) fn parallel<'v>(
    calls: Value<'v>,
    failing: OnToolFailure,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let calls = items(calls).ok_or_else(|| {
        let message = format!("`parallel` needs a list of calls, not a {}", calls.get_type());
        ProgramStopError::new(ProgramErrorKind::Runtime, message, PAIRS)
    })?;
    let mut requests = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        requests.push(pair(*call).map_err(|what| {
            let message = format!("`parallel` cannot run call {place}: it is {what}");
            ProgramStopError::new(ProgramErrorKind::Runtime, message, PAIRS)
        })?);
    }
    if requests.is_empty() {
        return Ok(eval.heap().alloc(Vec::<Value<'_>>::new()));
    }
    let values = run(&requests, failing, eval)?;
    Ok(eval.heap().alloc(values))
}

/// What stands in place of a call in the list of `parallel`.
#[derive(Debug, thiserror::Error)]
enum ParallelCallError {
    #[error("of {0} parts, not of two")]
    Parts(usize),
    #[error("a {0}")]
    NoCall(&'static str),
    #[error("a pair that begins with a {0}, not with a tool")]
    NoTool(&'static str),
    #[error("a tool with a {0}, not with a dict of its arguments")]
    Arguments(&'static str),
}

/// A tool without a tuple is called without arguments.
fn pair<'v>(call: Value<'v>) -> Result<StarlarkCall<'v>, ParallelCallError> {
    if let Some(tool) = StarlarkTool::from_value(call) {
        return Ok(StarlarkCall { tool, positional: Vec::new(), named: Vec::new() });
    }
    let Some([first, arguments]) = items(call) else {
        return Err(match items(call) {
            Some(parts) => ParallelCallError::Parts(parts.len()),
            None => ParallelCallError::NoCall(call.get_type()),
        });
    };
    let tool =
        StarlarkTool::from_value(*first).ok_or(ParallelCallError::NoTool(first.get_type()))?;
    let Ok(Some(named)) = UnpackDictEntries::unpack_value(*arguments) else {
        let what = match arguments.get_type() {
            "dict" => "dict whose keys are not all strings",
            other => other,
        };
        return Err(ParallelCallError::Arguments(what));
    };
    Ok(StarlarkCall { tool, positional: Vec::new(), named: named.entries })
}

fn items(value: Value<'_>) -> Option<&[Value<'_>]> {
    let list = ListRef::from_value(value).map(|list| list.content());
    list.or_else(|| TupleRef::from_value(value).map(|tuple| tuple.content()))
}

fn named_arguments<'v>(
    arguments: &Arguments<'v, '_>,
) -> starlark::Result<Vec<(&'v str, Value<'v>)>> {
    let named = arguments.names_map()?;
    Ok(named.into_iter().map(|(name, value)| (name.as_str(), value)).collect())
}

fn run<'v>(
    requests: &[StarlarkCall<'v>],
    failing: OnToolFailure,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Vec<Value<'v>>> {
    let session = WorkerSession::of(eval);
    let heap = eval.heap();
    let line = line(eval);
    let mut room = ARGUMENTS;
    let mut calls = Vec::with_capacity(requests.len());
    for request in requests {
        calls.push(frame(request, line, &mut room, heap)?);
    }
    let answers = session.call(calls)?;
    let mut values = Vec::with_capacity(answers.len());
    for (request, answer) in requests.iter().zip(answers) {
        values.push(value(request.tool, answer, failing, heap)?);
    }
    // The interpreter checks only now and then, and answers can be large.
    if heap.allocated_bytes() as u64 > session.fence().heap_bytes {
        return Err(ProgramStopError::memory(session.fence().heap_bytes).into());
    }
    Ok(values)
}

fn frame<'v>(
    request: &StarlarkCall<'v>,
    line: u32,
    room: &mut usize,
    heap: Heap<'v>,
) -> Result<ProgramCall, ProgramStopError> {
    let mut written = |value, name: &str| {
        let json = to_json(value, *room, heap).map_err(|unfit| unfit.stop(name))?;
        // Plus the comma after it.
        *room = room.saturating_sub(json.len() + 1);
        Ok(RawValue::from_string(json).expect("it was just written"))
    };
    let positional = request.positional.iter().enumerate();
    let positional = positional
        .map(|(place, value)| written(*value, &format!("argument {}", place + 1)))
        .collect::<Result<_, ProgramStopError>>()?;
    let mut named = String::from("{");
    for (name, value) in &request.named {
        let comma = if named.len() == 1 { "" } else { "," };
        let key = written(heap.alloc(*name), "an argument's name")?;
        named.push_str(&format!("{comma}{key}:{}", written(*value, name)?.get()));
    }
    named.push('}');
    let named = RawValue::from_string(named).expect("it was just written");
    Ok(ProgramCall { tool: request.tool.number(), positional, named, line })
}

fn value<'v>(
    tool: &StarlarkTool,
    answer: Answer,
    failing: OnToolFailure,
    heap: Heap<'v>,
) -> Result<Value<'v>, ProgramStopError> {
    match (answer, failing) {
        (Answer::Data(json), failing) => match (from_json(json.get(), heap), failing) {
            (Ok(value), OnToolFailure::Stops) => Ok(value),
            (Ok(value), OnToolFailure::Value) => Ok(heap.alloc(Outcome::well(value, heap))),
            (Err(JsonReadError { kind, message: why }), failing) => {
                let message =
                    format!("the result of `{}` is invalid: {why}", QualifiedToolName(tool));
                match (failing, kind) {
                    (OnToolFailure::Stops, _) | (_, ProgramErrorKind::Memory) => {
                        Err(ProgramStopError::bare(kind, message))
                    }
                    (OnToolFailure::Value, _) => Ok(failed_outcome(
                        [message, "error".to_owned()],
                        Value::new_bool(false),
                        heap,
                    )),
                }
            }
        },
        (Answer::Failure { status, message, .. }, OnToolFailure::Stops) => {
            Err(ProgramStopError::tool(&QualifiedToolName(tool), &status, &message))
        }
        (Answer::Failure { status, message, retryable }, OnToolFailure::Value) => {
            Ok(failed_outcome([message, status], Value::new_bool(retryable), heap))
        }
    }
}

fn failed_outcome<'v>(
    [error, status]: [String; 2],
    retryable: Value<'v>,
    heap: Heap<'v>,
) -> Value<'v> {
    let [error, status] = [error, status].map(|text| heap.alloc(text));
    heap.alloc(Outcome::failure(error, status, retryable))
}
