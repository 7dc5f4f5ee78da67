//! `tollgate import`: servers of other programs into the config, with a report of what was carried
//! over and what was not.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_server::operator::Mode;

use super::servers::{Expected, change::taken};
use crate::cli::import::Import;
use crate::clients::Folders;
use crate::config::edit::Edit;
use crate::config::masked::Masks;
use crate::config::{self, Environment, Request};
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::import::variables::Variables;
use crate::import::{self, Asked, Imported, Secrets};
use crate::output::{Form, Output, clean, counted};
use crate::reload::{Draft, Origin, draft_edits};

mod plan;
mod sources;

use plan::Plan;
use sources::Source;

/// A source that was read, and what is to become of it.
struct Read {
    source: Source,
    imported: Imported,
    plan: Plan,
}

pub(super) async fn run(
    wanted: &Import,
    request: Request,
    (output, environment): (Output, &dyn Environment),
) -> Result<(), Failure> {
    let folders = Folders::of(|name| environment.variable(name));
    let sources = sources::find(wanted, folders.as_ref())?;
    let origin = Origin::of(request);
    let text = origin.text()?;
    let values = config::values(&text);
    let mut known = plan::Known::of(&values);
    let variables = Variables::of(&values, environment);
    let mode = if wanted.dry_run { Mode::Try } else { Mode::Apply };
    let mut reads: Vec<Read> = Vec::new();
    for source in sources {
        let mut given: Vec<_> = reads.iter().flat_map(|read| read.imported.given.clone()).collect();
        let asked = Asked {
            name: wanted.name.as_deref(),
            file: source.file.as_deref(),
            client: source.client,
            secrets: if wanted.inline { Secrets::InTheFile } else { Secrets::InTheEnvironment },
            given: &given,
        };
        let mut imported = match import::read(&source.text, &asked) {
            Ok(imported) => imported,
            // Of several files one may have no servers.
            Err(import::Unreadable::Unknown | import::Unreadable::Nothing)
                if wanted.source.is_none() =>
            {
                continue;
            }
            Err(why) => return Err(Failure::failed(format!("{}: {why}", source.label))),
        };
        plan::only(&mut imported, &wanted.only);
        let clash = plan::Clash::of(wanted, output);
        given.append(&mut imported.given);
        let beside = (&variables, &mut given);
        let plan = Plan::make(&imported, &mut known, beside, (clash, output)).await?;
        given.retain(|(name, _)| plan.names(name));
        imported.given = given;
        reads.push(Read { source, imported, plan });
    }
    let found = |name: &str| {
        reads.iter().flat_map(|read| &read.imported.servers).any(|found| found.name == name)
    };
    let asked_for = wanted.only.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    if let Some(name) = asked_for.into_iter().find(|name| !found(name)) {
        return Err(Failure::failed(format!("there is no server `{name}` in it")));
    }
    let edits: Vec<Edit> = reads.iter().flat_map(|read| read.plan.edits()).collect();
    let given: Vec<_> = reads.iter().flat_map(|read| read.imported.given.clone()).collect();
    let expected = Expected::new(given, &edits).beside(&text);
    let unset = expected.unset(environment);
    let origin = origin.knowing(Arc::new(expected));
    let draft = draft_edits(&origin, &Masks::new(), &edits)?;
    let open = reads.iter().any(|read| read.plan.is_open());
    let mode = if open { Mode::Try } else { mode };
    if mode == Mode::Apply {
        draft.write(&origin)?;
    }
    let gateway = match mode {
        Mode::Apply if !draft.diff.is_empty() => Gateway::running(&draft.candidate.config).await,
        Mode::Apply | Mode::Try => None,
    };
    let heard = match &gateway {
        Some(gateway) => Some(heard(gateway.reload().await)),
        None => None,
    };
    let end = End { mode, heard, unset, file: origin.path().display().to_string() };
    say(wanted, &reads, (&draft, &end), output);
    match open {
        true if !wanted.dry_run => Err(Failure::failed(
            "there are servers of these names already; say `--overwrite`, `--skip` or `--rename`",
        )),
        _ => Ok(()),
    }
}

/// How it went.
struct End {
    mode: Mode,
    heard: Option<Value>,
    /// Variables that the gateway will need.
    unset: Vec<String>,
    file: String,
}

fn heard(answer: Result<Value, Failure>) -> Value {
    answer.unwrap_or_else(|error| json!({ "outcome": "refused", "error": error.to_string() }))
}

fn say(wanted: &Import, reads: &[Read], (draft, end): (&Draft, &End), output: Output) {
    if output.form == Form::Json {
        let sources: Vec<Value> = reads.iter().map(|read| read.json(wanted)).collect();
        output.json(&json!({
            "applied": end.mode == Mode::Apply, "file": end.file, "sources": sources,
            "needs": end.unset, "diff": draft.diff, "gateway": end.heard,
        }));
        return;
    }
    output.report(&draft.candidate.report);
    for read in reads {
        read.print(output);
    }
    if reads.is_empty() {
        output.note("no program with MCP servers was found here");
        return;
    }
    output.raw(&clean(&draft.diff));
    for name in &end.unset {
        output.note(&format!("note: the gateway needs `{name}` in its environment"));
    }
    match (&end.heard, end.mode) {
        _ if reads.iter().all(Read::is_empty) => output.note("nothing of it can be carried over"),
        _ if draft.diff.is_empty() => output.note(&format!("{} says all of it already", end.file)),
        (_, Mode::Try) => output.note("nothing was changed"),
        (None, Mode::Apply) => {
            output.note(&format!("{} was changed; no gateway runs yet", end.file));
        }
        (Some(answer), Mode::Apply) => {
            output.note(&clean(&format!("{} was changed; {}", end.file, taken(answer))));
        }
    }
}

impl Read {
    fn is_empty(&self) -> bool {
        self.imported.servers.is_empty() && self.imported.others.is_empty()
    }

    fn print(&self, output: Output) {
        let servers = counted(self.imported.servers.len(), "server");
        let title = format!("{}   {}   {servers}", self.source.label, self.imported.format);
        output.line(&clean(&title));
        for (section, name, step, notes) in self.plan.lines() {
            let thing = if section == "servers" { name } else { format!("{section}.{name}") };
            output.line(&clean(&format!("  {} {thing}{}", step.sign(), step.words())));
            for note in notes {
                output.line(&clean(&format!("      {note}")));
            }
        }
        for it in &self.imported.dropped {
            output.line(&clean(&format!("  - {}: {}", it.what, it.why)));
        }
    }

    fn json(&self, wanted: &Import) -> Value {
        let things: Vec<Value> = self
            .plan
            .lines()
            .map(|(section, name, step, notes)| {
                json!({"section": section, "name": name, "action": step.id(), "notes": notes})
            })
            .collect();
        // What stands in the file by wish is not printed for that.
        let servers: Vec<Value> = self.plan.servers().map(|keys| json!(keys)).collect();
        let dropped: Vec<Value> = self
            .imported
            .dropped
            .iter()
            .map(|it| json!({"what": it.what, "why": it.why}))
            .collect();
        json!({
            "source": self.source.label, "format": self.imported.format, "things": things,
            "servers": if wanted.inline { Value::Null } else { json!(servers) }, "dropped": dropped,
        })
    }
}
