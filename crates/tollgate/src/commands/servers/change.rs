//! `tollgate servers add|remove|enable|disable`: changes of the config file, shown before they
//! are made. A gateway that runs is told to read it.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_core::secret::Secret;
use tollgate_server::operator::{Change, Mode, Order, Switch};

use super::{added, search, tried, wizard};
use crate::cli::servers::{Change as Typed, Named};
use crate::config::edit::Edit;
use crate::config::masked::Masks;
use crate::config::{self, Environment, Request};
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::output::{Form, Output, clean};
use crate::prompt;
use crate::reload::{Draft, Origin, draft};

/// A change, and what is to be said with it.
pub(super) struct Wish {
    pub(super) change: Change,
    pub(super) mode: Mode,
    /// Variables that the new text refers to, with their values.
    pub(super) given: Vec<(String, Secret)>,
}

pub(crate) async fn run(
    typed: Typed,
    request: Request,
    (output, environment): (Output, &dyn Environment),
) -> Result<(), Failure> {
    let mut trial = Trial::None;
    let wish = match typed {
        Typed::Add(add) => {
            if !add.no_test && !add.dry_run {
                trial = Trial::Wanted;
            }
            match &add.from_registry {
                Some(wanted) => {
                    let origin = Origin::of(request.clone());
                    let text = origin.text()?;
                    let known = added::Expected::new(Vec::new(), &[]).beside(&text);
                    let loaded =
                        config::load_text(origin.path(), text.as_bytes(), &request, &known)?;
                    search::wish((&add, wanted), &loaded.config, output).await?
                }
                None if add.is_bare() && prompt::is_possible(output) => {
                    // Whoever is asked has seen how it went.
                    trial = Trial::None;
                    wizard::wish(&add, &request, (output, environment)).await?
                }
                None => added::wish(&add, environment)?,
            }
        }
        Typed::Remove(named) => plain(&named, Change::Remove { name: named.name.clone() }),
        Typed::Enable(named) => plain(&named, switch(&named, Switch::On)),
        Typed::Disable(named) => plain(&named, switch(&named, Switch::Off)),
    };
    let edits = match &wish.change {
        Change::Add { name, server, .. } => {
            vec![Edit::Add { name: name.clone(), server: server.clone() }]
        }
        _ => Vec::new(),
    };
    let origin = Origin::of(request);
    let expected = added::Expected::new(wish.given.clone(), &edits).beside(&origin.text()?);
    let unset = expected.unset(environment);
    let origin = origin.knowing(Arc::new(expected));
    let (by, mode) = ("the command line".to_owned(), wish.mode);
    let order = Order { by, version: None, change: wish.change.clone(), mode };
    let draft = draft(&origin, &Masks::new(), &order)?;
    if mode == Mode::Apply {
        draft.write(&origin)?;
    }
    let gateway = match mode {
        Mode::Apply if !draft.diff.is_empty() => Gateway::running(&draft.candidate.config).await,
        Mode::Apply | Mode::Try => None,
    };
    let answer = match &gateway {
        Some(gateway) => Some(gateway.reload().await),
        None => None,
    };
    let tried = match (&wish.change, trial) {
        (Change::Add { name, .. }, Trial::Wanted) => {
            let config = &draft.candidate.config;
            // What has no value yet would only be refused.
            let known = unset.iter().all(|name| wish.given.iter().any(|(given, _)| given == name));
            let taken =
                gateway.filter(|_| matches!(&answer, Some(Ok(it)) if it["outcome"] != "refused"));
            if known { tried::run(name, config, taken).await } else { None }
        }
        _ => None,
    };
    say((&wish, &unset), (&draft, &origin), (answer, tried), output)
}

/// Whether a new server is asked for its tools at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trial {
    Wanted,
    None,
}

fn plain(named: &Named, change: Change) -> Wish {
    let mode = if named.dry_run { Mode::Try } else { Mode::Apply };
    Wish { change, mode, given: Vec::new() }
}

fn switch(named: &Named, to: Switch) -> Change {
    Change::Switch { name: named.name.clone(), to }
}

fn say(
    (wish, unset): (&Wish, &[String]),
    (draft, origin): (&Draft, &Origin),
    (answer, tried): (Option<Result<Value, Failure>>, Option<Value>),
    output: Output,
) -> Result<(), Failure> {
    let file = origin.path().display().to_string();
    let heard = match answer {
        Some(Ok(answer)) => Some(answer),
        Some(Err(error)) => Some(json!({ "outcome": "refused", "error": error.to_string() })),
        None => None,
    };
    if output.form == Form::Json {
        let applied = wish.mode == Mode::Apply;
        let diff = &draft.diff;
        output.json(&json!({
            "applied": applied, "file": file, "diff": diff, "gateway": heard, "test": tried,
        }));
        return Ok(());
    }
    output.report(&draft.candidate.report);
    if draft.diff.is_empty() {
        output.note(&format!("{file} says so already"));
        return Ok(());
    }
    output.raw(&clean(&draft.diff));
    for note in notes((wish, unset), draft) {
        output.note(&clean(&note));
    }
    match (wish.mode, heard) {
        (Mode::Try, _) => output.note("nothing was changed"),
        (Mode::Apply, None) => output.note(&format!("{file} was changed; no gateway runs yet")),
        (Mode::Apply, Some(answer)) => {
            output.note(&clean(&format!("{file} was changed; {}", taken(&answer))));
        }
    }
    if let Some(tried) = &tried {
        output.note(&clean(&tried::sentence(tried)));
    }
    Ok(())
}

/// What is still to be done.
fn notes((wish, unset): (&Wish, &[String]), draft: &Draft) -> Vec<String> {
    let mut notes = Vec::new();
    for name in unset {
        notes.push(format!(
            "note: the gateway needs `{name}` in its environment; the file only names it"
        ));
    }
    if let Change::Add { name, .. } = &wish.change {
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

/// What a gateway made of it, in a sentence.
pub(crate) fn taken(answer: &Value) -> String {
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
            match parts.is_empty() {
                true => "the running gateway took it".to_owned(),
                false => format!("the running gateway took it: {}", parts.join("; ")),
            }
        }
        Some("unchanged") => "the running gateway found nothing new".to_owned(),
        _ => {
            let why = answer["error"].as_str().unwrap_or("it did not say why");
            format!("the running gateway goes on with its old config: {why}")
        }
    }
}
