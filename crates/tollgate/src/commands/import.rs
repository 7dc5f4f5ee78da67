//! `tollgate import`: imports servers of other programs into the config, and reports what was
//! converted and what was not.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_server::config_service::ApplyMode;

use super::servers::{ExpectedEnvironment, change::describe_reload};
use crate::cli::import::ImportArgs;
use crate::client_apps::UserFolders;
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::import::variables::VariableNames;
use crate::import::{self, ImportContext, ImportedConfig, SecretPlacement};
use crate::output::{Output, OutputFormat, clean, pluralize};
use crate::reload::{ConfigDraft, ConfigFileSource, draft_edits};

mod plan;
mod sources;

use plan::{ImportPlan, PlanLine};
use sources::ImportSource;
use tollgate_config::edit::ConfigEdit;
use tollgate_config::secret_masking::SecretMasks;
use tollgate_config::{self as config, ConfigRequest, Environment};

/// A parsed source and the plan for it.
struct PlannedImport {
    source: ImportSource,
    imported: ImportedConfig,
    plan: ImportPlan,
}

pub(super) async fn run(
    args: &ImportArgs,
    request: ConfigRequest,
    output: Output,
    environment: &dyn Environment,
) -> Result<(), CommandError> {
    let folders = UserFolders::of(|name| environment.variable(name));
    let sources = sources::find(args, folders.as_ref())?;
    let origin = ConfigFileSource::of(request);
    let text = origin.text()?;
    let values = config::values(&text);
    let mut known = plan::ConfiguredEntries::of(&values);
    let variables = VariableNames::of(&values, environment);
    let mode = if args.dry_run { ApplyMode::Try } else { ApplyMode::Apply };
    let mut reads: Vec<PlannedImport> = Vec::new();
    for source in sources {
        let mut given: Vec<_> = reads.iter().flat_map(|read| read.imported.given.clone()).collect();
        let context = ImportContext {
            name: args.name.as_deref(),
            file: source.file.as_deref(),
            client: source.client,
            secrets: if args.inline {
                SecretPlacement::InTheFile
            } else {
                SecretPlacement::InTheEnvironment
            },
            given: &given,
        };
        let mut imported = match import::read(&source.text, &context) {
            Ok(imported) => imported,
            // With several files, one may have no servers.
            Err(import::ImportError::Unknown | import::ImportError::Nothing)
                if args.source.is_none() =>
            {
                continue;
            }
            Err(why) => return Err(CommandError::new(format!("{}: {why}", source.label))),
        };
        plan::only(&mut imported, &args.only);
        let clash = plan::NameClashPolicy::of(args, output);
        given.append(&mut imported.given);
        let plan =
            ImportPlan::make(&imported, &mut known, &variables, &mut given, clash, output).await?;
        given.retain(|(name, _)| plan.names(name));
        imported.given = given;
        reads.push(PlannedImport { source, imported, plan });
    }
    let found = |name: &str| {
        reads.iter().flat_map(|read| &read.imported.servers).any(|found| found.name == name)
    };
    let asked_for = args.only.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    if let Some(name) = asked_for.into_iter().find(|name| !found(name)) {
        return Err(CommandError::new(format!("there is no server `{name}` in it")));
    }
    let edits: Vec<ConfigEdit> = reads.iter().flat_map(|read| read.plan.edits()).collect();
    let given: Vec<_> = reads.iter().flat_map(|read| read.imported.given.clone()).collect();
    let expected = ExpectedEnvironment::new(given, &edits).beside(&text);
    let unset = expected.unset(environment);
    let origin = origin.knowing(Arc::new(expected));
    let draft = draft_edits(&origin, &SecretMasks::new(), &edits)?;
    let open = reads.iter().any(|read| read.plan.is_open());
    let mode = if open { ApplyMode::Try } else { mode };
    if mode == ApplyMode::Apply {
        draft.write(&origin)?;
    }
    let gateway = match mode {
        ApplyMode::Apply if !draft.diff.is_empty() => {
            Gateway::running(&draft.candidate.config).await
        }
        ApplyMode::Apply | ApplyMode::Try => None,
    };
    let response = match &gateway {
        Some(gateway) => Some(reload_answer(gateway.reload().await)),
        None => None,
    };
    let end = ImportOutcome { mode, response, unset, file: origin.path().display().to_string() };
    say(args, &reads, &draft, &end, output);
    if open && !args.dry_run {
        Err(CommandError::new(
            "servers with these names already exist; use `--overwrite`, `--skip` or `--rename`",
        ))
    } else {
        Ok(())
    }
}

/// Result of an import.
struct ImportOutcome {
    mode: ApplyMode,
    response: Option<Value>,
    /// Variables that the gateway will need.
    unset: Vec<String>,
    file: String,
}

fn reload_answer(answer: Result<Value, CommandError>) -> Value {
    answer.unwrap_or_else(|error| json!({ "outcome": "refused", "error": error.to_string() }))
}

fn say(
    args: &ImportArgs,
    reads: &[PlannedImport],
    draft: &ConfigDraft,
    end: &ImportOutcome,
    output: Output,
) {
    if output.form == OutputFormat::Json {
        let sources: Vec<Value> = reads.iter().map(|read| read.json(args)).collect();
        output.json(&json!({
            "applied": end.mode == ApplyMode::Apply, "file": end.file, "sources": sources,
            "needs": end.unset, "diff": draft.diff, "gateway": end.response,
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
    match (&end.response, end.mode) {
        _ if reads.iter().all(PlannedImport::is_empty) => output.note("nothing can be imported"),
        _ if draft.diff.is_empty() => {
            output.note(&format!("{} already contains all of it", end.file))
        }
        (_, ApplyMode::Try) => output.note("nothing was changed"),
        (None, ApplyMode::Apply) => {
            output.note(&format!("{} was changed; no gateway is running", end.file));
        }
        (Some(answer), ApplyMode::Apply) => {
            output.note(&clean(&format!("{} was changed; {}", end.file, describe_reload(answer))));
        }
    }
}

impl PlannedImport {
    fn is_empty(&self) -> bool {
        self.imported.servers.is_empty() && self.imported.others.is_empty()
    }

    fn print(&self, output: Output) {
        let servers = pluralize(self.imported.servers.len(), "server");
        let title = format!("{}   {}   {servers}", self.source.label, self.imported.format);
        output.line(&clean(&title));
        for PlanLine { section, name, step, notes } in self.plan.lines() {
            let thing =
                if section == "servers" { name.to_owned() } else { format!("{section}.{name}") };
            output.line(&clean(&format!("  {} {thing}{}", step.sign(), step.words())));
            for note in notes {
                output.line(&clean(&format!("      {note}")));
            }
        }
        for it in &self.imported.dropped {
            output.line(&clean(&format!("  - {}: {}", it.what, it.why)));
        }
    }

    fn json(&self, args: &ImportArgs) -> Value {
        let things: Vec<Value> = self
            .plan
            .lines()
            .map(|PlanLine { section, name, step, notes }| {
                json!({"section": section, "name": name, "action": step.id(), "notes": notes})
            })
            .collect();
        // With `--inline` the entries contain secrets, so they are not printed.
        let servers: Vec<Value> = self.plan.servers().map(|keys| json!(keys)).collect();
        let dropped: Vec<Value> = self
            .imported
            .dropped
            .iter()
            .map(|it| json!({"what": it.what, "why": it.why}))
            .collect();
        json!({
            "source": self.source.label, "format": self.imported.format, "things": things,
            "servers": if args.inline { Value::Null } else { json!(servers) }, "dropped": dropped,
        })
    }
}
