//! `tollgate connect`: setup of a client program for this gateway, printed or written into its
//! config file.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tollgate_config::file::{ConfigFileSnapshot, create};
use tollgate_config::{Config, ConfigOrigin, ConfigRequest, Environment, edit};
use tollgate_core::id::AgentId;

use crate::app;
use crate::cli::connect::ConnectArgs;
use crate::client_apps::{ClientApp, UserFolders};
use crate::command_error::CommandError;
use crate::connect::{self, KEY, Snippet, SnippetAccess, SnippetTarget};
use crate::output::{Output, OutputFormat, TextTable, clean};

/// Shown instead of a diff that cannot be redacted.
const UNREDACTABLE_DIFF: &str =
    "the diff is not shown: the file has secrets that cannot be masked\n";

pub(super) async fn run(
    args: &ConnectArgs,
    config: &Config,
    request: &ConfigRequest,
    output: Output,
    environment: &dyn Environment,
) -> Result<(), CommandError> {
    let data = request.data.as_ref().map(|path| absolute(path).display().to_string());
    let target = SnippetTarget { data, ..target(args, config).await? };
    let Some(typed) = &args.client else {
        list(&target, output);
        return Ok(());
    };
    let Some(mut snippet) = connect::snippet(typed, &target) else {
        let known: Vec<&str> = connect::snippets(&target).iter().map(|it| it.id).collect();
        let known = known.join(", ");
        return Err(CommandError::Usage(format!("`{typed}` is unknown; the clients are {known}")));
    };
    if snippet.id == "claude-desktop" && (args.url.is_some() || args.key.is_some()) {
        let why = "it starts `tollgate mcp`, a separate gateway with the same config, which has no \
                   address and needs no key; remove `--url` and `--key`";
        return Err(CommandError::Usage(format!("{}: {why}", snippet.name)));
    }
    if let Some(key) = &args.key {
        snippet.text = snippet.text.replace(KEY, key);
        snippet.note = snippet.note.map(|note| note.replace(KEY, key));
        // A link is meant to be passed on, a key is not.
        snippet.link = None;
    }
    match (args.write, ClientApp::find(typed)) {
        (false, _) => print(&snippet, &target, output),
        (true, Some(client)) => return write(args, client, &target, output, environment),
        (true, None) => {
            let why = format!("{} has no config file; remove `--write`", snippet.name);
            return Err(CommandError::Usage(why));
        }
    }
    Ok(())
}

async fn target(args: &ConnectArgs, config: &Config) -> Result<SnippetTarget, CommandError> {
    if let Some(agent) = &args.agent {
        let known = config.settings.agents.iter().any(|it| it.id.as_str() == agent);
        AgentId::parse(agent).map_err(|bad| CommandError::Usage(bad.to_string()))?;
        if !known {
            return Err(CommandError::Usage(format!("there is no agent `{agent}` in the config")));
        }
    }
    let base = match &args.url {
        Some(url) => parse_base_url(url)?,
        None => address(config),
    };
    let settings = &config.settings;
    let usual = settings.default_agent.as_ref().or(settings.agents.first().map(|it| &it.id));
    let usual = usual.map_or_else(|| "default".to_owned(), ToString::to_string);
    let is_keyed = args.key.is_some() || app::is_keyed(config).await?;
    let file = match &config.origin {
        ConfigOrigin::File(path) => {
            fs::canonicalize(path).ok().map(|path| path.display().to_string())
        }
        ConfigOrigin::Embedded => None,
    };
    Ok(SnippetTarget {
        base,
        agent: args.agent.clone(),
        model: args.agent.clone().unwrap_or(usual),
        access: if is_keyed { SnippetAccess::Keyed } else { SnippetAccess::Open },
        config: file,
        data: None,
    })
}

/// The program may be started in another directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn parse_base_url(url: &str) -> Result<String, CommandError> {
    let url = url.trim_end_matches('/');
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let is_plain = |rest: &str| !rest.is_empty() && !rest.contains(['"', '\'', ' ', '?', '#', '@']);
    if rest.is_some_and(is_plain) {
        Ok(url.to_owned())
    } else {
        Err(CommandError::Usage("`--url` must be like `http://host:8655`".to_owned()))
    }
}

/// The address for clients on this machine.
fn address(config: &Config) -> String {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let mut listen = config.listen;
    if listen.ip().is_unspecified() {
        listen.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    format!("{scheme}://{listen}")
}

fn list(target: &SnippetTarget, output: Output) {
    let snippets = connect::snippets(target);
    if output.form == OutputFormat::Json {
        let all: Vec<Value> = snippets.iter().map(snippet_json).collect();
        output.json(&json!({"url": target.base, "clients": all}));
        return;
    }
    let mut table = TextTable::new(&["CLIENT", "NAME", "FILE"]);
    for it in snippets {
        table.row(vec![it.id.to_owned(), it.name.to_owned(), it.file.unwrap_or_default()]);
    }
    output.table(&table);
    output.note("`tollgate connect CLIENT` shows its config; `--write` adds it to its file");
}

fn snippet_json(it: &Snippet) -> Value {
    json!({
        "id": it.id, "name": it.name, "file": it.file, "language": it.language,
        "text": it.text, "link": it.link, "note": it.note,
    })
}

fn print(snippet: &Snippet, target: &SnippetTarget, output: Output) {
    if output.form == OutputFormat::Json {
        output.raw(&format!("{:#}\n", snippet_json(snippet)));
        return;
    }
    if let Some(file) = &snippet.file {
        output.note(&format!("{}: add to {file}", snippet.name));
    }
    output.raw(&snippet.text);
    if let Some(link) = &snippet.link {
        output.note(&format!("or open: {link}"));
    }
    if let Some(note) = &snippet.note {
        output.note(note);
    }
    if target.access == SnippetAccess::Keyed && snippet.text.contains(KEY) {
        output.note(&format!("replace {KEY} with a key: `tollgate keys create NAME`"));
    }
}

fn write(
    args: &ConnectArgs,
    client: &'static ClientApp,
    target: &SnippetTarget,
    output: Output,
    environment: &dyn Environment,
) -> Result<(), CommandError> {
    let path = file(args, client, environment)?;
    let label = path.display().to_string();
    let entry = connect::entry(client, target).to_string();
    let entry = match &args.key {
        // Escaped, so that the key stays one JSON string whatever it contains.
        Some(key) => entry.replace(KEY, &json_escape(key)),
        None => entry,
    };
    let entry: Value = serde_json::from_str(&entry)
        .map_err(|_| CommandError::Usage("`--key` has invalid characters".to_owned()))?;
    let before = if path.exists() { Some(ConfigFileSnapshot::read(&path)?) } else { None };
    let old = before.as_ref().map_or("", |it| it.text.as_str());
    let new = connect::merge_entry(connect::form(client), old, &entry)
        .map_err(|why| CommandError::new(format!("{label}: {why}")))?;
    let diff = edit::diff(&path, old, &new);
    if !args.dry_run && old != new {
        put(&path, before.as_ref(), &new)?;
    }
    let form = connect::form(client);
    let diff = if diff.is_empty() {
        diff
    } else {
        connect::redact_diff(form, [old, &new], &diff)
            .unwrap_or_else(|| UNREDACTABLE_DIFF.to_owned())
    };
    let diff = match &args.key {
        Some(key) => diff.replace(&json_escape(key), "<key>").replace(key.as_str(), "<key>"),
        None => diff,
    };
    if output.form == OutputFormat::Json {
        let applied = !args.dry_run;
        output.json(&json!({"applied": applied, "file": label, "diff": diff, "client": client.id}));
        return Ok(());
    }
    output.raw(&clean(&diff));
    match (diff.is_empty(), args.dry_run) {
        (true, _) => output.note(&format!("{label} is already up to date")),
        (false, true) => output.note("nothing was changed"),
        (false, false) => output.note(&format!("{label} was changed; restart {}", client.name)),
    }
    if new.contains(KEY) {
        output.note(&format!("replace {KEY} there with a key"));
    }
    Ok(())
}

/// Escaped, without the quotes.
fn json_escape(key: &str) -> String {
    let quoted = json!(key).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn file(
    args: &ConnectArgs,
    client: &'static ClientApp,
    environment: &dyn Environment,
) -> Result<PathBuf, CommandError> {
    if let Some(file) = &args.file {
        return Ok(file.clone());
    }
    let folders = UserFolders::of(|name| environment.variable(name));
    let place = connect::usual_place(client);
    match (folders, place) {
        (Some(folders), Some(place)) => Ok(place.on(&folders)),
        _ => Err(CommandError::new("`HOME` is not set: name the file with `--file`")),
    }
}

fn put(path: &Path, before: Option<&ConfigFileSnapshot>, text: &str) -> Result<(), CommandError> {
    let failed = |why: String| CommandError::new(why);
    let written = match before {
        Some(before) => before.write(text),
        None => {
            if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
                fs::create_dir_all(folder).map_err(|why| failed(why.to_string()))?;
            }
            create(path, text)
        }
    };
    written.map(drop).map_err(|why| failed(why.to_string()))
}
