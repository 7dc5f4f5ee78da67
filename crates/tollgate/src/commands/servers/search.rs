//! `tollgate servers search` and `servers add --from-registry`: entries of the MCP registry and the
//! command for each. Shown before anything is saved. No shell is involved.

use tollgate_config::Config;
use tollgate_server::config_service::{ApplyMode, ConfigChange};

use super::requested_change::RequestedServerChange;
use crate::cli::servers::AddServerArgs;
use crate::command_error::CommandError;
use crate::mcp_registry::{InstallOption, McpRegistryClient, McpRegistryError, short_name};
use crate::output::{Output, OutputFormat, TextTable, clean};
use crate::prompt;

pub(super) async fn run(
    words: &[String],
    cursor: Option<&str>,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let page =
        registry(config)?.search(&words.join(" "), cursor).await.map_err(to_command_error)?;
    if output.form == OutputFormat::Json {
        output.json(&page.to_json());
        return Ok(());
    }
    let mut table = TextTable::new(&["NAME", "VERSION", "AS", "WHAT"]);
    for entry in &page.servers {
        let mut kinds: Vec<&str> = entry.choices.iter().map(|choice| choice.kind).collect();
        kinds.dedup();
        let kinds = if kinds.is_empty() { "–".to_owned() } else { kinds.join(", ") };
        table.row(vec![
            entry.name.clone(),
            entry.version.clone(),
            kinds,
            entry.description.clone(),
        ]);
    }
    if table.is_empty() {
        output.note("no server in the registry matches");
        return Ok(());
    }
    output.table(&table);
    output.note("add one to the config with `tollgate servers add --from-registry NAME`");
    if let Some(next) = page.next {
        output.note(&clean(&format!("there are more: `--cursor '{next}'`")));
    }
    Ok(())
}

/// The change to make, after the user has confirmed it.
pub(super) async fn request_change(
    add: &AddServerArgs,
    requested: &str,
    config: &Config,
    output: Output,
) -> Result<RequestedServerChange, CommandError> {
    let entry = registry(config)?.find(requested).await.map_err(to_command_error)?;
    let choice = match &add.choice {
        Some(kind) => entry.choices.iter().find(|choice| choice.kind == kind),
        None => entry.choices.first(),
    };
    let Some(choice) = choice else {
        let kinds: Vec<&str> = entry.choices.iter().map(|choice| choice.kind).collect();
        let why = if kinds.is_empty() {
            format!("nothing here can run `{requested}`")
        } else {
            format!("`{requested}` is not available that way; available: {}", kinds.join(", "))
        };
        return Err(CommandError::new(why));
    };
    show(choice, output);
    let mode = if add.dry_run { ApplyMode::Try } else { ApplyMode::Apply };
    if mode == ApplyMode::Apply && !add.yes {
        if !prompt::is_possible(output) {
            let why = "confirm with `--yes`; nothing was changed";
            return Err(CommandError::new(why));
        }
        let answer = prompt::choose(output, "save it?", &[("no", 'n'), ("yes", 'y')]).await?;
        if answer != 'y' {
            return Err(CommandError::new("nothing was changed"));
        }
    }
    let mut server = choice.server.clone();
    if add.trusted {
        server.insert("trusted".to_owned(), true.into());
    }
    if let Some(start) = &add.start {
        server.insert("start".to_owned(), start.as_str().into());
    }
    let name = add.name.clone().unwrap_or_else(|| short_name(requested));
    Ok(RequestedServerChange {
        change: ConfigChange::Add { name, server, agents: add.agents.clone() },
        mode,
        given: Vec::new(),
    })
}

fn show(choice: &InstallOption, output: Output) {
    let verb = if choice.kind == "remote" { "would be reached at" } else { "would be started as" };
    output.note(&clean(&format!("{verb}: {}", choice.label)));
    for need in &choice.needs {
        let secret = if need.secret { " (secret)" } else { "" };
        output.note(&clean(&format!("  needs {}{secret}: {}", need.name, need.description)));
    }
}

fn registry(config: &Config) -> Result<McpRegistryClient, CommandError> {
    McpRegistryClient::new(&config.registry).map_err(to_command_error)
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn to_command_error(why: McpRegistryError) -> CommandError {
    CommandError::new(why.to_string())
}
