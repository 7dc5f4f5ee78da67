//! Interactive `tollgate servers add`: the user pastes a command, URL or JSON, sees a trial run,
//! and chooses a name.

use tollgate_config::edit::ConfigEdit;
use tollgate_config::secret_masking::SecretMasks;
use tollgate_config::{ConfigRequest, Environment};
use tollgate_engine::upstream::TrialEvent;
use tollgate_server::config_service::{ApplyMode, ConfigChange};

use super::add::ExpectedEnvironment;
use super::requested_change::RequestedServerChange;
use super::trial_run;
use crate::cli::servers::AddServerArgs;
use crate::command_error::CommandError;
use crate::import::{self, ImportContext, ImportedEntry, SecretPlacement};
use crate::output::{Output, clean, pluralize};
use crate::prompt;
use crate::reload::{ConfigDraft, ConfigFileSource, draft_edits};

/// Number of tool names shown.
const SHOWN: usize = 12;

pub(super) async fn request_change(
    add: &AddServerArgs,
    request: &ConfigRequest,
    output: Output,
    environment: &dyn Environment,
) -> Result<RequestedServerChange, CommandError> {
    let question = "paste a command, a URL, or the JSON of a server";
    let text = prompt::ask_text(output, question, is_whole).await?;
    let secrets =
        if add.inline { SecretPlacement::InTheFile } else { SecretPlacement::InTheEnvironment };
    let context = ImportContext { name: None, file: None, client: None, secrets, given: &[] };
    let imported =
        import::read(&text, &context).map_err(|why| CommandError::new(why.to_string()))?;
    for it in &imported.dropped {
        output.note(&clean(&format!("left out: {}: {}", it.what, it.why)));
    }
    let found = pick(imported.servers, output).await?;
    let name = prompt::ask(output, "its name", &found.name).await?;
    for note in &found.notes {
        output.note(&clean(&format!("note: {note}")));
    }
    let agents = add.agents.clone();
    let add = ConfigEdit::Add { name: name.clone(), server: found.keys.clone() };
    let origin = ConfigFileSource::of(request.clone());
    let expected = ExpectedEnvironment::new(imported.given.clone(), std::slice::from_ref(&add));
    let expected = expected.beside(&origin.text()?);
    let unset: Vec<String> = expected.unset(environment);
    let origin = origin.knowing(std::sync::Arc::new(expected));
    let draft = draft_edits(&origin, &SecretMasks::new(), &[add])?;
    let known = unset.iter().all(|name| imported.given.iter().any(|(given, _)| given == name));
    if known {
        try_it(&name, &draft, output).await;
    } else {
        output.note(&format!("not tested: {} not set", unset.join(", ")));
    }
    output.beside(&clean(&draft.diff));
    let answer = prompt::choose(output, "save it?", &[("yes", 'y'), ("no", 'n')]).await?;
    if answer != 'y' {
        return Err(CommandError::new("nothing was changed"));
    }
    let change = ConfigChange::Add { name, server: found.keys, agents };
    Ok(RequestedServerChange { change, mode: ApplyMode::Apply, given: imported.given })
}

/// JSON continues until its braces are closed. Anything else is one line.
fn is_whole(text: &str) -> bool {
    let opens = text.trim_start().starts_with(['{', '"']);
    let count = |c: char| text.matches(c).count();
    !opens || count('{') > 0 && count('{') <= count('}')
}

async fn pick(
    mut servers: Vec<ImportedEntry>,
    output: Output,
) -> Result<ImportedEntry, CommandError> {
    if servers.len() > 1 {
        let names: Vec<&str> = servers.iter().map(|it| it.name.as_str()).collect();
        let question = format!("which of {}", names.join(", "));
        let named = prompt::ask(output, &question, names[0]).await?;
        servers.retain(|it| it.name == named);
    }
    servers.into_iter().next().ok_or_else(|| CommandError::new("there is no such server in it"))
}

/// Prints the output during the start, the result, and the tools.
async fn try_it(name: &str, draft: &ConfigDraft, output: Output) {
    output.note("trying it …");
    let on_event = |step| {
        if let TrialEvent::Line(line) = step {
            output.note(&clean(&format!("  | {line}")));
        }
    };
    let Some(tried) = trial_run::aside(name, &draft.candidate.config, on_event).await else {
        return output.note("it cannot be tested here");
    };
    output.note(&clean(&trial_run::sentence(&trial_run::report(&tried))));
    for tool in tried.tools.iter().take(SHOWN) {
        output.note(&clean(&format!("  {}", tool.name)));
    }
    if tried.tools.len() > SHOWN {
        output.note(&format!("  and {} more", pluralize(tried.tools.len() - SHOWN, "tool")));
    }
}
