//! `tollgate servers add|remove|enable|disable`: edits the config file, with a preview. A running
//! gateway is told to reload.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_config::edit::ConfigEdit;
use tollgate_config::secret_masking::SecretMasks;
use tollgate_config::{self as config, ConfigRequest, Environment};
use tollgate_server::config_service::{ApplyMode, ConfigChange, ConfigChangeRequest, ServerSwitch};

use super::requested_change::RequestedServerChange;
use super::{add, search, trial_run, wizard};
use crate::cli::servers::{ChangeServersCommand as Typed, ServerNameArgs};
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::output::{Output, OutputFormat, clean};
use crate::prompt;
use crate::reload::{ConfigDraft, ConfigFileSource, draft};

pub(crate) async fn run(
    typed: Typed,
    request: ConfigRequest,
    output: Output,
    environment: &dyn Environment,
) -> Result<(), CommandError> {
    let mut trial = TrialMode::None;
    let wish = match typed {
        Typed::Add(add) => {
            if !add.no_test && !add.dry_run {
                trial = TrialMode::Run;
            }
            match &add.from_registry {
                Some(requested) => {
                    let origin = ConfigFileSource::of(request.clone());
                    let text = origin.text()?;
                    let known = add::ExpectedEnvironment::new(Vec::new(), &[]).beside(&text);
                    let loaded =
                        config::load_text(origin.path(), text.as_bytes(), &request, &known)?;
                    search::request_change(&add, requested, &loaded.config, output).await?
                }
                None if add.is_bare() && prompt::is_possible(output) => {
                    // The wizard has shown a trial run already.
                    trial = TrialMode::None;
                    wizard::request_change(&add, &request, output, environment).await?
                }
                None => add::request_change(&add, environment)?,
            }
        }
        Typed::Remove(named) => {
            without_input(&named, ConfigChange::Remove { name: named.name.clone() })
        }
        Typed::Enable(named) => without_input(&named, switch(&named, ServerSwitch::On)),
        Typed::Disable(named) => without_input(&named, switch(&named, ServerSwitch::Off)),
    };
    let edits = match &wish.change {
        ConfigChange::Add { name, server, .. } => {
            vec![ConfigEdit::Add { name: name.clone(), server: server.clone() }]
        }
        _ => Vec::new(),
    };
    let origin = ConfigFileSource::of(request);
    let expected =
        add::ExpectedEnvironment::new(wish.given.clone(), &edits).beside(&origin.text()?);
    let unset = expected.unset(environment);
    let origin = origin.knowing(Arc::new(expected));
    let by = "the command line".to_owned();
    let mode = wish.mode;
    let order = ConfigChangeRequest { by, version: None, change: wish.change.clone(), mode };
    let draft = draft(&origin, &SecretMasks::new(), &order)?;
    if mode == ApplyMode::Apply {
        draft.write(&origin)?;
    }
    let gateway = match mode {
        ApplyMode::Apply if !draft.diff.is_empty() => {
            Gateway::running(&draft.candidate.config).await
        }
        ApplyMode::Apply | ApplyMode::Try => None,
    };
    let answer = match &gateway {
        Some(gateway) => Some(gateway.reload().await),
        None => None,
    };
    let tried = match (&wish.change, trial) {
        (ConfigChange::Add { name, .. }, TrialMode::Run) => {
            let config = &draft.candidate.config;
            // A trial with unset variables would only fail.
            let known = unset.iter().all(|name| wish.given.iter().any(|(given, _)| given == name));
            let taken =
                gateway.filter(|_| matches!(&answer, Some(Ok(it)) if it["outcome"] != "refused"));
            if known { trial_run::run(name, config, taken).await } else { None }
        }
        _ => None,
    };
    let summary = ServerChangeSummary {
        wish: &wish,
        unset: &unset,
        draft: &draft,
        file: origin.path().display().to_string(),
        answer,
        tried,
    };
    report(summary, output);
    Ok(())
}

/// Whether a new server gets a trial run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrialMode {
    Run,
    None,
}

fn without_input(named: &ServerNameArgs, change: ConfigChange) -> RequestedServerChange {
    let mode = if named.dry_run { ApplyMode::Try } else { ApplyMode::Apply };
    RequestedServerChange { change, mode, given: Vec::new() }
}

fn switch(named: &ServerNameArgs, to: ServerSwitch) -> ConfigChange {
    ConfigChange::Switch { name: named.name.clone(), to }
}

/// What was changed, and what the gateway and the new server said to it.
struct ServerChangeSummary<'a> {
    wish: &'a RequestedServerChange,
    /// Variables without a value in the environment.
    unset: &'a [String],
    draft: &'a ConfigDraft,
    file: String,
    /// Of the running gateway, if there is one.
    answer: Option<Result<Value, CommandError>>,
    /// Result of the trial run.
    tried: Option<Value>,
}

fn report(summary: ServerChangeSummary<'_>, output: Output) {
    let ServerChangeSummary { wish, unset, draft, file, answer, tried } = summary;
    let answer = match answer {
        Some(Ok(answer)) => Some(answer),
        Some(Err(error)) => Some(json!({ "outcome": "refused", "error": error.to_string() })),
        None => None,
    };
    if output.form == OutputFormat::Json {
        let applied = wish.mode == ApplyMode::Apply;
        let diff = &draft.diff;
        output.json(&json!({
            "applied": applied, "file": file, "diff": diff, "gateway": answer, "test": tried,
        }));
        return;
    }
    output.report(&draft.candidate.report);
    if draft.diff.is_empty() {
        output.note(&format!("{file} is already up to date"));
        return;
    }
    output.raw(&clean(&draft.diff));
    for note in notes(wish, unset, draft) {
        output.note(&clean(&note));
    }
    match (wish.mode, answer) {
        (ApplyMode::Try, _) => output.note("nothing was changed"),
        (ApplyMode::Apply, None) => {
            output.note(&format!("{file} was changed; no gateway is running"))
        }
        (ApplyMode::Apply, Some(answer)) => {
            output.note(&clean(&format!("{file} was changed; {}", describe_reload(&answer))));
        }
    }
    if let Some(tried) = &tried {
        output.note(&clean(&trial_run::sentence(tried)));
    }
}

/// Remaining steps for the user.
fn notes(wish: &RequestedServerChange, unset: &[String], draft: &ConfigDraft) -> Vec<String> {
    let mut notes = Vec::new();
    for name in unset {
        notes.push(format!(
            "note: set `{name}` in the gateway's environment; the file only refers to it"
        ));
    }
    if let ConfigChange::Add { name, .. } = &wish.change {
        let settings = &draft.candidate.config.settings;
        let sample = format!("{name}_tool");
        let sees = |agent: &tollgate_core::agent::Agent| {
            agent.tools.iter().any(|glob| glob.matches(&sample))
        };
        if !settings.agents.is_empty() && !settings.agents.iter().any(sees) {
            let agents: Vec<&str> = settings.agents.iter().map(|it| it.id.as_str()).collect();
            let agents = agents.join(", ");
            notes.push(format!(
                "note: no agent sees its tools yet; add `{name}_*` to the `tools` of one of: {agents}"
            ));
        }
    }
    notes
}

/// Summary of a reload in one sentence.
pub(crate) fn describe_reload(answer: &Value) -> String {
    let ids = |key: &str| -> Vec<&str> {
        let ids = answer["servers"][key].as_array();
        ids.into_iter().flatten().filter_map(Value::as_str).collect()
    };
    match answer["outcome"].as_str() {
        Some("applied") => {
            let mut parts: Vec<String> = ["added", "removed", "restarted"]
                .into_iter()
                .map(|key| (key, ids(key)))
                .filter(|(_, ids)| !ids.is_empty())
                .map(|(key, ids)| format!("{key} {}", ids.join(", ")))
                .collect();
            let waiting = answer["needs_restart"].as_array().into_iter().flatten();
            let waiting: Vec<&str> = waiting.filter_map(Value::as_str).collect();
            if !waiting.is_empty() {
                parts.push(format!("needs a restart for {}", waiting.join(", ")));
            }
            if parts.is_empty() {
                "the running gateway applied it".to_owned()
            } else {
                format!("the running gateway applied it: {}", parts.join("; "))
            }
        }
        Some("unchanged") => "the running gateway has no changes".to_owned(),
        _ => {
            let why = answer["error"].as_str().unwrap_or("no reason given");
            format!("the running gateway keeps its old config: {why}")
        }
    }
}
