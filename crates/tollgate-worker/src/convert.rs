//! Conversion of values to JSON and back. Used for arguments, results and `json`. Depth and size
//! are bounded, whatever a program built.

use starlark::values::dict::DictRef;
use starlark::values::float::StarlarkFloat;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, Value, ValueLike as _};
use tollgate_sandbox::frames::ProgramErrorKind;

use crate::bindings::{QualifiedToolName, StarlarkServer, StarlarkTool};
use crate::failure::ProgramStopError;
use crate::outcome::Outcome;

mod json_reader;
mod surrogates;

pub(crate) use json_reader::{JsonReadError, from_json};

/// Nesting of lists and dicts. All readers of our JSON accept at least this much.
const MAX_JSON_DEPTH: usize = 100;

/// Why a value cannot be converted to JSON.
#[derive(Debug)]
pub(crate) struct NotJsonError {
    cause: NotJsonCause,
    /// The path to it, from the inside out.
    place: Vec<String>,
}

#[derive(Debug)]
enum NotJsonCause {
    TooLarge,
    TooDeep,
    /// Its type.
    NotData(String),
    /// An invalid key, as printed.
    Key(String),
}

/// Writes a value as JSON of at most `room` bytes.
pub(crate) fn to_json<'v>(
    value: Value<'v>,
    room: usize,
    heap: Heap<'v>,
) -> Result<String, NotJsonError> {
    let mut writer = StarlarkJsonWriter { out: Vec::new(), room, heap };
    writer.value(value, 0)?;
    Ok(String::from_utf8(writer.out).expect("strings are UTF-8"))
}

impl NotJsonError {
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self.cause, NotJsonCause::TooLarge)
    }

    /// The error message; `name` is the name of the whole value.
    pub(crate) fn stop(self, name: &str) -> ProgramStopError {
        let way: String = self.place.into_iter().rev().collect();
        match self.cause {
            NotJsonCause::TooLarge => ProgramStopError::new(
                ProgramErrorKind::Memory,
                format!("`{name}` is too large to pass on"),
                "pass less data",
            ),
            NotJsonCause::TooDeep => ProgramStopError::new(
                ProgramErrorKind::Depth,
                format!("`{name}` is nested deeper than {MAX_JSON_DEPTH} levels"),
                "a value that contains itself cannot be passed on",
            ),
            NotJsonCause::NotData(what) => ProgramStopError::new(
                ProgramErrorKind::Runtime,
                format!("`{name}{way}` is {what}, which is not data"),
                "only None, booleans, finite numbers, strings, lists and dicts are data; to run a tool put its arguments in parentheses: `server.tool(name=value)`",
            ),
            NotJsonCause::Key(key) => ProgramStopError::new(
                ProgramErrorKind::Runtime,
                format!("`{name}{way}` has the key {key}; keys of data are strings"),
                "write the key as `str(key)`",
            ),
        }
    }

    fn within(mut self, step: String) -> Self {
        // If it is too deep or too large, no single place is to blame.
        if matches!(self.cause, NotJsonCause::NotData(_) | NotJsonCause::Key(_)) {
            self.place.push(step);
        }
        self
    }
}

impl From<NotJsonCause> for NotJsonError {
    fn from(cause: NotJsonCause) -> Self {
        Self { cause, place: Vec::new() }
    }
}

struct StarlarkJsonWriter<'v> {
    out: Vec<u8>,
    room: usize,
    heap: Heap<'v>,
}

impl<'v> StarlarkJsonWriter<'v> {
    fn value(&mut self, value: Value<'v>, depth: usize) -> Result<(), NotJsonError> {
        if value.is_none() {
            return self.put("null");
        }
        if let Some(truth) = value.unpack_bool() {
            return self.put(if truth { "true" } else { "false" });
        }
        if let Some(text) = value.unpack_str() {
            return self.string(text);
        }
        if value.get_type() == "int" {
            return self.put(&value.to_str());
        }
        if let Some(StarlarkFloat(number)) = value.downcast_ref() {
            return self.float(*number);
        }
        if depth == MAX_JSON_DEPTH {
            return Err(NotJsonCause::TooDeep.into());
        }
        self.container(value, depth + 1)
    }

    fn container(&mut self, value: Value<'v>, depth: usize) -> Result<(), NotJsonError> {
        if let Some(list) = ListRef::from_value(value) {
            return self.list(list.iter(), depth);
        }
        if let Some(tuple) = TupleRef::from_value(value) {
            return self.list(tuple.iter(), depth);
        }
        if let Some(dict) = DictRef::from_value(value) {
            let mut entries = Vec::with_capacity(dict.len());
            for (key, value) in dict.iter() {
                let key = key.unpack_str().ok_or_else(|| NotJsonCause::Key(short(key)))?;
                entries.push((key, value));
            }
            return self.object(entries.into_iter(), depth);
        }
        if let Some(fields) = StructRef::from_value(value) {
            let fields: Vec<_> = fields.iter().collect();
            return self.object(fields.iter().map(|(name, value)| (name.as_str(), *value)), depth);
        }
        if let Some(outcome) = Outcome::from_value(value) {
            return self.object(outcome.fields(), depth);
        }
        match value.get_type() {
            "set" | "range" => {
                let items = value.iterate(self.heap).map_err(|_| not_data(value))?;
                self.list(items, depth)
            }
            _ => Err(not_data(value)),
        }
    }

    fn list(
        &mut self,
        items: impl Iterator<Item = Value<'v>>,
        depth: usize,
    ) -> Result<(), NotJsonError> {
        self.put("[")?;
        for (place, item) in items.enumerate() {
            if place > 0 {
                self.put(",")?;
            }
            self.value(item, depth).map_err(|unfit| unfit.within(format!("[{place}]")))?;
        }
        self.put("]")
    }

    fn object<'k>(
        &mut self,
        entries: impl Iterator<Item = (&'k str, Value<'v>)>,
        depth: usize,
    ) -> Result<(), NotJsonError> {
        self.put("{")?;
        for (place, (key, value)) in entries.enumerate() {
            if place > 0 {
                self.put(",")?;
            }
            self.string(key)?;
            self.put(":")?;
            self.value(value, depth).map_err(|unfit| unfit.within(format!("[{key:?}]")))?;
        }
        self.put("}")
    }

    fn string(&mut self, text: &str) -> Result<(), NotJsonError> {
        // Checked before writing: escapes make a text up to six times as long, never shorter.
        if text.len() + 2 > self.room - self.out.len() {
            return Err(NotJsonCause::TooLarge.into());
        }
        serde_json::to_writer(&mut self.out, text).expect("memory takes what is written");
        self.check()
    }

    fn float(&mut self, number: f64) -> Result<(), NotJsonError> {
        if !number.is_finite() {
            return Err(NotJsonCause::NotData(format!("the number {number}")).into());
        }
        serde_json::to_writer(&mut self.out, &number).expect("memory takes what is written");
        self.check()
    }

    fn put(&mut self, text: &str) -> Result<(), NotJsonError> {
        self.out.extend_from_slice(text.as_bytes());
        self.check()
    }

    fn check(&self) -> Result<(), NotJsonError> {
        if self.out.len() <= self.room { Ok(()) } else { Err(NotJsonCause::TooLarge.into()) }
    }
}

fn not_data(value: Value<'_>) -> NotJsonError {
    let what = match StarlarkTool::from_value(value) {
        Some(tool) => format!("the tool `{}` itself", QualifiedToolName(tool)),
        None if StarlarkServer::from_value(value).is_some() => "a server".to_owned(),
        None => format!("a {}", value.get_type()),
    };
    NotJsonCause::NotData(what).into()
}

/// The key as printed, if that is short.
fn short(key: Value<'_>) -> String {
    match key.get_type() {
        "int" | "float" | "bool" | "NoneType" => format!("`{}`", key.to_repr()),
        other => format!("of type {other}"),
    }
}
