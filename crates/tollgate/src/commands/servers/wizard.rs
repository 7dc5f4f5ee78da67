//! `tollgate servers add` without arguments: a person pastes what they have, sees whether it works,
//! and says what it is called.

use tollgate_engine::upstream::Step;
use tollgate_server::operator::{Change, Mode};

use super::added::Expected;
use super::change::Wish;
use super::tried;
use crate::cli::servers::Add;
use crate::config::edit::Edit;
use crate::config::masked::Masks;
use crate::config::{Environment, Request};
use crate::failure::Failure;
use crate::import::{self, Asked, Found, Secrets};
use crate::output::{Output, clean, counted};
use crate::prompt;
use crate::reload::{Draft, Origin, draft_edits};

/// Names of tools that are shown.
const SHOWN: usize = 12;

pub(super) async fn wish(
    add: &Add,
    request: &Request,
    (output, environment): (Output, &dyn Environment),
) -> Result<Wish, Failure> {
    let question = "paste a command, a URL, or the JSON of a server";
    let text = prompt::ask_text(output, question, is_whole).await?;
    let secrets = if add.inline { Secrets::InTheFile } else { Secrets::InTheEnvironment };
    let asked = Asked { name: None, file: None, client: None, secrets, given: &[] };
    let imported = import::read(&text, &asked).map_err(|why| Failure::failed(why.to_string()))?;
    for it in &imported.dropped {
        output.note(&clean(&format!("left out: {}: {}", it.what, it.why)));
    }
    let found = pick(imported.servers, output).await?;
    let name = prompt::ask(output, "what to call it", &found.name).await?;
    for note in &found.notes {
        output.note(&clean(&format!("note: {note}")));
    }
    let agents = add.agents.clone();
    let add = Edit::Add { name: name.clone(), server: found.keys.clone() };
    let origin = Origin::of(request.clone());
    let expected = Expected::new(imported.given.clone(), std::slice::from_ref(&add));
    let expected = expected.beside(&origin.text()?);
    let unset: Vec<String> = expected.unset(environment);
    let origin = origin.knowing(std::sync::Arc::new(expected));
    let draft = draft_edits(&origin, &Masks::new(), &[add])?;
    let known = unset.iter().all(|name| imported.given.iter().any(|(given, _)| given == name));
    if known {
        try_it(&name, &draft, output).await;
    } else {
        output.note(&format!("it is not tried: {} not set", unset.join(", ")));
    }
    output.beside(&clean(&draft.diff));
    let answer = prompt::choose(output, "save it?", &[("yes", 'y'), ("no", 'n')]).await?;
    if answer != 'y' {
        return Err(Failure::failed("nothing was changed"));
    }
    let change = Change::Add { name, server: found.keys, agents };
    Ok(Wish { change, mode: Mode::Apply, given: imported.given })
}

/// JSON goes on until its braces are closed; anything else is one line.
fn is_whole(text: &str) -> bool {
    let opens = text.trim_start().starts_with(['{', '"']);
    let count = |c: char| text.matches(c).count();
    !opens || count('{') > 0 && count('{') <= count('}')
}

async fn pick(mut servers: Vec<Found>, output: Output) -> Result<Found, Failure> {
    if servers.len() > 1 {
        let names: Vec<&str> = servers.iter().map(|it| it.name.as_str()).collect();
        let question = format!("which of {}", names.join(", "));
        let named = prompt::ask(output, &question, names[0]).await?;
        servers.retain(|it| it.name == named);
    }
    servers.into_iter().next().ok_or_else(|| Failure::failed("there is no such server in it"))
}

/// What it says while it starts, how it went, and what it has.
async fn try_it(name: &str, draft: &Draft, output: Output) {
    output.note("trying it …");
    let heard = |step| {
        if let Step::Line(line) = step {
            output.note(&clean(&format!("  | {line}")));
        }
    };
    let Some(tried) = tried::aside(name, &draft.candidate.config, heard).await else {
        return output.note("it cannot be tried here");
    };
    output.note(&clean(&tried::sentence(&tried::report(&tried))));
    for tool in tried.tools.iter().take(SHOWN) {
        output.note(&clean(&format!("  {}", tool.name)));
    }
    if tried.tools.len() > SHOWN {
        output.note(&format!("  and {} more", counted(tried.tools.len() - SHOWN, "tool")));
    }
}
