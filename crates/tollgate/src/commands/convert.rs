//! `tollgate convert`: converts tools, or results of tools, between API formats. Needs no gateway
//! and no config. Losses are reported on standard error.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use serde_json::{Map, Value, json};
use tollgate_core::json as strict;
use tollgate_llm::tools::{
    self, ConversionLoss, DefinitionConversionError, DefinitionListing, SchemaFitError,
    StrictToolFormat, ToolFormat, results,
};

use crate::cli::convert::ConvertArgs;
use crate::command_error::CommandError;
use crate::output::{self, Output, clean, pluralize};

/// Larger than any catalogue.
const MAX_INPUT_BYTES: u64 = 64 << 20;

pub(super) fn run(args: &ConvertArgs, output: Output) -> Result<(), CommandError> {
    let form =
        |name: &String| ToolFormat::parse(name).map_err(|it| CommandError::Usage(it.to_string()));
    let from = args.from.as_ref().map(form).transpose()?;
    let to = form(&args.to)?;
    let file = args.file.as_deref().filter(|file| *file != Path::new("-"));
    let document = read(file)?;
    if args.results {
        return results(document, from, to, output);
    }
    let strict = match (args.strict, StrictToolFormat::of(to)) {
        (true, None) => {
            let why = format!("`--strict` is for openai and openai-responses, not for {to}");
            return Err(CommandError::Usage(why));
        }
        (is_wanted, strict) => strict.filter(|_| is_wanted),
    };
    definitions(document, ConvertFormats { from, to, strict }, output)
}

fn read(file: Option<&Path>) -> Result<Value, CommandError> {
    let name = file.map_or("standard input".into(), Path::to_string_lossy);
    let bad = |why: String| CommandError::new(format!("{name}: {why}"));
    let source: Box<dyn Read> = match file {
        Some(file) => Box::new(File::open(file).map_err(|error| bad(error.to_string()))?),
        None if io::stdin().is_terminal() => {
            return Err(CommandError::Usage(
                "name a file, or pipe the tools to standard input".to_owned(),
            ));
        }
        None => Box::new(io::stdin()),
    };
    let mut text = String::new();
    let size = source.take(MAX_INPUT_BYTES + 1).read_to_string(&mut text);
    if size.map_err(|error| bad(error.to_string()))? as u64 > MAX_INPUT_BYTES {
        return Err(bad(format!("larger than {} MiB", MAX_INPUT_BYTES >> 20)));
    }
    strict::value(&text).map_err(|malformed| bad(format!("not JSON: {malformed}")))
}

/// Source and target format.
#[derive(Debug, Clone, Copy)]
struct ConvertFormats {
    from: Option<ToolFormat>,
    to: ToolFormat,
    /// Strict mode: models are bound to the schemas.
    strict: Option<StrictToolFormat>,
}

fn definitions(document: Value, way: ConvertFormats, output: Output) -> Result<(), CommandError> {
    let ConvertFormats { from, to, strict } = way;
    let unclear = |unclear: tools::DefinitionListingError| CommandError::new(unclear.to_string());
    let listing = DefinitionListing::read(document).map_err(unclear)?;
    let from = from.map_or_else(|| listing.form(), Ok).map_err(unclear)?;
    let mut report = ConvertReport::default();
    let mut converted = Vec::new();
    for (at, definition) in listing.definitions.iter().enumerate() {
        let name = name(definition).unwrap_or_else(|| format!("tool {}", at + 1));
        let mut bound = strict.map(|strict| tools::convert_strictly(definition, from, strict));
        if let Some(Err(DefinitionConversionError::Unfit(SchemaFitError::Unbound { at, why }))) =
            &bound
        {
            report.notes.push(format!("{name}: not strict: {why}, at `{at}`"));
            bound = None;
        }
        match bound.unwrap_or_else(|| tools::convert(definition, from, to)) {
            Ok(made) => {
                report.add_lost(&name, &made.lost);
                converted.push(made.definition);
            }
            Err(why) => report.failed.push(format!("{name}: {why}")),
        }
    }
    let is_empty = converted.is_empty() && !listing.definitions.is_empty();
    let written = tools::wrap_definitions(converted, to, listing.extent);
    report.print((!is_empty).then_some(written), "tools", output)
}

/// The name of a tool in any format.
fn name(definition: &Value) -> Option<String> {
    let own = definition.get("name").or_else(|| definition.get("function")?.get("name"));
    Some(own?.as_str()?.to_owned())
}

fn results(
    document: Value,
    from: Option<ToolFormat>,
    to: ToolFormat,
    output: Output,
) -> Result<(), CommandError> {
    let from = from.or_else(|| results::form_of(&document)).ok_or_else(|| {
        let known = ToolFormat::ALL.map(ToolFormat::as_str).join(", ");
        CommandError::new(format!(
            "the format of the results is ambiguous or unknown; name it with `--from`, one of \
             {known}"
        ))
    })?;
    let made = results::convert(document, from, to)
        .map_err(|failure| CommandError::new(failure.message))?;
    let mut report = ConvertReport::default();
    report.add_lost("result", &made.lost);
    report.print(Some(made.results), "results", output)
}

/// Notes beside the result.
#[derive(Default)]
struct ConvertReport {
    /// Tool and its loss.
    lost: Vec<(String, ConversionLoss)>,
    notes: Vec<String>,
    failed: Vec<String>,
}

impl ConvertReport {
    fn add_lost(&mut self, name: &str, lost: &[ConversionLoss]) {
        self.lost.extend(lost.iter().map(|it| (name.to_owned(), it.clone())));
    }

    fn print(self, written: Option<Value>, what: &str, output: Output) -> Result<(), CommandError> {
        match output.form {
            output::OutputFormat::Json => output.json(&self.json(written, what)),
            output::OutputFormat::Text => {
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
                    let count = pluralize(self.failed.len(), "tool");
                    output.note(&format!("{count} could not be converted"));
                }
            }
        }
        if self.failed.is_empty() { Ok(()) } else { Err(CommandError::AlreadyPrinted) }
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
