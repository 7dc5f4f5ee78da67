//! `tollgate convert`: tools, or results of tools, from one API's format into another's. Needs no
//! gateway and no config. What gets lost on the way is told on standard error.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use serde_json::{Map, Value, json};
use tollgate_core::json as strict;
use tollgate_llm::tools::{self, Form, Listing, Lost, Strict, Unconvertible, Unfit, results};

use crate::cli::convert::Convert;
use crate::failure::Failure;
use crate::output::{self, Output, clean, counted};

/// More than any catalogue has.
const LARGEST: u64 = 64 << 20;

pub(super) fn run(wanted: &Convert, output: Output) -> Result<(), Failure> {
    let form = |name: &String| Form::parse(name).map_err(|it| Failure::Usage(it.to_string()));
    let (from, to) = (wanted.from.as_ref().map(form).transpose()?, form(&wanted.to)?);
    let file = wanted.file.as_deref().filter(|file| *file != Path::new("-"));
    let document = read(file)?;
    if wanted.results {
        return results(document, (from, to), output);
    }
    let strict = match (wanted.strict, Strict::of(to)) {
        (true, None) => {
            let why = format!("`--strict` is for openai and openai-responses, not for {to}");
            return Err(Failure::Usage(why));
        }
        (is_wanted, strict) => strict.filter(|_| is_wanted),
    };
    definitions(document, Way { from, to, strict }, output)
}

fn read(file: Option<&Path>) -> Result<Value, Failure> {
    let name = file.map_or("standard input".into(), Path::to_string_lossy);
    let bad = |why: String| Failure::failed(format!("{name}: {why}"));
    let source: Box<dyn Read> = match file {
        Some(file) => Box::new(File::open(file).map_err(|error| bad(error.to_string()))?),
        None if io::stdin().is_terminal() => {
            return Err(Failure::Usage("name a file, or pipe the tools in".to_owned()));
        }
        None => Box::new(io::stdin()),
    };
    let mut text = String::new();
    let size = source.take(LARGEST + 1).read_to_string(&mut text);
    if size.map_err(|error| bad(error.to_string()))? as u64 > LARGEST {
        return Err(bad(format!("larger than {} MiB", LARGEST >> 20)));
    }
    strict::value(&text).map_err(|malformed| bad(format!("not JSON: {malformed}")))
}

/// From where to where.
#[derive(Debug, Clone, Copy)]
struct Way {
    from: Option<Form>,
    to: Form,
    /// Models are to be bound to the schemas.
    strict: Option<Strict>,
}

fn definitions(document: Value, way: Way, output: Output) -> Result<(), Failure> {
    let Way { from, to, strict } = way;
    let unclear = |unclear: tools::Unclear| Failure::failed(unclear.to_string());
    let listing = Listing::read(document).map_err(unclear)?;
    let from = from.map_or_else(|| listing.form(), Ok).map_err(unclear)?;
    let mut told = Told::default();
    let mut converted = Vec::new();
    for (at, definition) in listing.definitions.iter().enumerate() {
        let name = name(definition).unwrap_or_else(|| format!("tool {}", at + 1));
        let mut bound = strict.map(|strict| tools::convert_strictly(definition, from, strict));
        if let Some(Err(Unconvertible::Unfit(unfit @ Unfit::Unbound { .. }))) = &bound {
            told.notes.push(format!("{name}: not strict: {unfit}"));
            bound = None;
        }
        match bound.unwrap_or_else(|| tools::convert(definition, from, to)) {
            Ok(made) => {
                told.lost(&name, &made.lost);
                converted.push(made.definition);
            }
            Err(why) => told.failed.push(format!("{name}: {why}")),
        }
    }
    let is_empty = converted.is_empty() && !listing.definitions.is_empty();
    let written = tools::written(converted, to, listing.extent);
    told.print((!is_empty).then_some(written), "tools", output)
}

/// As people know it, whatever it is written in.
fn name(definition: &Value) -> Option<String> {
    let own = definition.get("name").or_else(|| definition.get("function")?.get("name"));
    Some(own?.as_str()?.to_owned())
}

fn results(
    document: Value,
    (from, to): (Option<Form>, Form),
    output: Output,
) -> Result<(), Failure> {
    let from = from.or_else(|| results::form_of(&document)).ok_or_else(|| {
        let known = Form::ALL.map(Form::as_str).join(", ");
        Failure::failed(format!(
            "these could be results of several formats, or of none; name theirs (`--from`), one of \
             {known}"
        ))
    })?;
    let made =
        results::convert(document, from, to).map_err(|failure| Failure::failed(failure.message))?;
    let mut told = Told::default();
    told.lost("result", &made.lost);
    told.print(Some(made.results), "results", output)
}

/// What is said beside the result.
#[derive(Default)]
struct Told {
    /// Of each: the tool, and what it lost.
    lost: Vec<(String, Lost)>,
    notes: Vec<String>,
    failed: Vec<String>,
}

impl Told {
    fn lost(&mut self, name: &str, lost: &[Lost]) {
        self.lost.extend(lost.iter().map(|it| (name.to_owned(), it.clone())));
    }

    fn print(self, written: Option<Value>, what: &str, output: Output) -> Result<(), Failure> {
        match output.form {
            output::Form::Json => output.json(&self.json(written, what)),
            output::Form::Text => {
                written.iter().for_each(|written| output.json(written));
                for (name, lost) in &self.lost {
                    output.note(&clean(&format!("{name}{lost}")));
                }
                for note in &self.notes {
                    output.note(&clean(note));
                }
                for failed in &self.failed {
                    output.note(&clean(&format!("error: {failed}")));
                }
                if !self.failed.is_empty() {
                    let count = counted(self.failed.len(), "tool");
                    output.note(&format!("{count} could not be converted"));
                }
            }
        }
        if self.failed.is_empty() { Ok(()) } else { Err(Failure::Said) }
    }

    fn json(&self, written: Option<Value>, what: &str) -> Value {
        let lost: Vec<Value> = self
            .lost
            .iter()
            .map(|(name, lost)| {
                json!({"name": name, "at": lost.at, "kind": lost.kind.as_str(), "what": lost.what})
            })
            .collect();
        let mut all = Map::new();
        all.extend(written.map(|written| (what.to_owned(), written)));
        all.insert("lost".to_owned(), lost.into());
        if !self.notes.is_empty() {
            all.insert("notes".to_owned(), self.notes.clone().into());
        }
        all.insert("failed".to_owned(), self.failed.clone().into());
        Value::Object(all)
    }
}
