//! `tollgate servers search` and `servers add --from-registry`: what the MCP registry has, and
//! what would be started for it. Shown before anything is saved; nothing is run through a shell.

use tollgate_server::operator::{Change, Mode};

use super::change::Wish;
use crate::cli::servers::Add;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{Form, Output, Table, clean};
use crate::prompt;
use crate::registry::{Choice, Registry, Unanswered, short_name};

pub(super) async fn run(
    words: &[String],
    cursor: Option<&str>,
    config: &Config,
    output: Output,
) -> Result<(), Failure> {
    let page = registry(config)?.search(&words.join(" "), cursor).await.map_err(failed)?;
    if output.form == Form::Json {
        output.json(&page.to_json());
        return Ok(());
    }
    let mut table = Table::new(&["NAME", "VERSION", "AS", "WHAT"]);
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
        output.note("the registry has no server whose name has that in it");
        return Ok(());
    }
    output.table(&table);
    output.note("`tollgate servers add --from-registry NAME` puts one into the config");
    if let Some(next) = page.next {
        output.note(&clean(&format!("there are more: `--cursor '{next}'`")));
    }
    Ok(())
}

/// What is to be added, after somebody saw it.
pub(super) async fn wish(
    (add, wanted): (&Add, &str),
    config: &Config,
    output: Output,
) -> Result<Wish, Failure> {
    let entry = registry(config)?.find(wanted).await.map_err(failed)?;
    let choice = match &add.choice {
        Some(kind) => entry.choices.iter().find(|choice| choice.kind == kind),
        None => entry.choices.first(),
    };
    let Some(choice) = choice else {
        let kinds: Vec<&str> = entry.choices.iter().map(|choice| choice.kind).collect();
        let why = match kinds.is_empty() {
            true => format!("nothing here can run `{wanted}`"),
            false => {
                format!("`{wanted}` is not to be had like that; there is {}", kinds.join(", "))
            }
        };
        return Err(Failure::failed(why));
    };
    show(choice, output);
    let mode = if add.dry_run { Mode::Try } else { Mode::Apply };
    if mode == Mode::Apply && !add.yes {
        if !prompt::is_possible(output) {
            let why = "say `--yes` if this is what you want; nothing was changed";
            return Err(Failure::failed(why));
        }
        let answer = prompt::choose(output, "save it?", &[("no", 'n'), ("yes", 'y')]).await?;
        if answer != 'y' {
            return Err(Failure::failed("nothing was changed"));
        }
    }
    let mut server = choice.server.clone();
    if add.trusted {
        server.insert("trusted".to_owned(), true.into());
    }
    if let Some(start) = &add.start {
        server.insert("start".to_owned(), start.as_str().into());
    }
    let name = add.name.clone().unwrap_or_else(|| short_name(wanted));
    Ok(Wish {
        change: Change::Add { name, server, agents: add.agents.clone() },
        mode,
        given: Vec::new(),
    })
}

fn show(choice: &Choice, output: Output) {
    let verb = if choice.kind == "remote" { "would be reached at" } else { "would be started as" };
    output.note(&clean(&format!("{verb}: {}", choice.label)));
    for need in &choice.needs {
        let secret = if need.secret { " (secret)" } else { "" };
        output.note(&clean(&format!("  needs {}{secret}: {}", need.name, need.description)));
    }
}

fn registry(config: &Config) -> Result<Registry, Failure> {
    Registry::new(&config.registry).map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn failed(why: Unanswered) -> Failure {
    Failure::failed(why.to_string())
}
