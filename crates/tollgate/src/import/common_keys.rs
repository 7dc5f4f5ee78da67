//! Server keys common to nearly all programs: a command with arguments and variables, or a URL with
//! headers.

use serde_json::json;

use super::collector::ImportCollector;
use super::name::fitting;
use super::server_draft::ServerDraft;
use super::source_map::SourceMap;

/// Meaning of a transport name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportedTransport {
    Command,
    Http,
    Sse,
    /// A transport that is not supported here.
    Strange,
}

impl ImportedTransport {
    pub(super) fn of(word: &str) -> Self {
        match word.to_ascii_lowercase().replace('_', "-").as_str() {
            "stdio" | "local" | "command" | "process" => Self::Command,
            "http" | "https" | "streamable-http" | "streamablehttp" | "remote" => Self::Http,
            "sse" | "http+sse" => Self::Sse,
            _ => Self::Strange,
        }
    }
}

pub(super) const AUTO_EXECUTE_HINT: &str =
    "set `auto_execute` of an agent for tools that run without approval";

/// A server from its common keys. The rest stays in `source`.
pub(super) fn server(name: &str, mut source: SourceMap, sheet: &mut ImportCollector<'_>) {
    let mut draft = ServerDraft::new(sheet, name);
    if !reach(&mut source, &mut draft, sheet) {
        sheet.leave(source);
        return;
    }
    habits(&mut source, &mut draft, sheet);
    consent(&mut source, &mut draft, sheet);
    source.drop("envFile", "env files are not read; write its variables into `env`");
    for key in ["autoApprove", "alwaysAllow", "trust"] {
        source.drop(key, AUTO_EXECUTE_HINT);
    }
    source.forget(&["name", "id", "title", "gallery", "version", "source", "isActive"]);
    sheet.leave(source);
    sheet.server(draft.into_found());
}

/// Determines the transport. `false` if that is not possible.
fn reach(source: &mut SourceMap, draft: &mut ServerDraft, sheet: &mut ImportCollector<'_>) -> bool {
    let message = source.any_text(&["type", "transport", "transportType"]);
    let kind = message.as_deref().map(ImportedTransport::of);
    let url = source.any_text(&["httpUrl", "serverUrl"]).map(|url| (url, None));
    let sse = match kind {
        Some(ImportedTransport::Sse) => Some("sse"),
        // In Gemini CLI `url` means SSE. Other programs detect it.
        None if sheet.is("gemini-cli") => Some("sse"),
        None if source.peek("url").as_str().is_some_and(ends_in_sse) => Some("sse"),
        _ => None,
    };
    let url = url.or_else(|| source.any_text(&["url", "uri", "endpoint"]).map(|url| (url, sse)));
    let command = source.take("command");
    let command = command.map(|command| match command {
        serde_json::Value::String(text) => vec![text],
        other => other.as_array().into_iter().flatten().filter_map(text_of).collect(),
    });
    let command = command.filter(|words| words.iter().any(|word| !word.trim().is_empty()));
    if kind == Some(ImportedTransport::Strange) {
        let message = message.unwrap_or_default();
        sheet.drop(
            &source.at,
            format!("`{}` is not supported", super::name::shorten_name(&message)),
        );
        source.forget(&["args", "env", "cwd", "headers"]);
        return false;
    }
    match (command, url) {
        (Some(words), url) => {
            if url.is_some() {
                sheet.drop(source.path("url"), "it also has a command, which was imported");
            }
            let words = command_words(words, source.texts("args"));
            draft.command(sheet, &words);
            let env = source.table("env");
            draft.env(sheet, env);
            if let Some(cwd) = source.text("cwd") {
                let cwd = draft.text(sheet, &cwd);
                draft.put("cwd", cwd);
            }
            source.drop("headers", "a command has none");
        }
        (None, Some((url, _))) if !is_spoken(&url, sheet) => {
            sheet.drop(&source.at, UNSPOKEN);
            source.forget(&["args", "env", "cwd", "headers"]);
            return false;
        }
        (None, Some((url, transport))) => {
            draft.url(sheet, &url, transport);
            let headers = source.table("headers");
            draft.headers(sheet, headers);
            for key in ["args", "env", "cwd"] {
                source.drop(key, "only a command has that");
            }
        }
        (None, None) => {
            sheet.drop(&source.at, "it has neither a command nor a URL");
            return false;
        }
    }
    true
}

pub(super) const UNSPOKEN: &str = "its address begins with neither `http://` nor `https://`";

/// Whether the scheme of a URL is supported, or unknown until its variables are set.
pub(super) fn is_spoken(url: &str, sheet: &ImportCollector<'_>) -> bool {
    let (url, _) = super::variable_syntax::rewrite_variables(url.trim(), sheet.spelling);
    let lower = url.to_ascii_lowercase();
    url.contains("${") || ["http://", "https://"].iter().any(|it| lower.starts_with(it))
}

/// The words of a command: `npx -y x` in one string is split, unless there are separate arguments
/// or it is the path of a program.
pub(super) fn command_words(command: Vec<String>, arguments: Option<Vec<String>>) -> Vec<String> {
    let split = match (command.as_slice(), &arguments) {
        ([text], None) if !is_path(text) => shell_words::split(text).ok(),
        _ => None,
    };
    let words = split.filter(|words| !words.is_empty()).unwrap_or(command);
    words.into_iter().chain(arguments.unwrap_or_default()).collect()
}

/// Blanks in `/Applications/My App.app/bin/x` belong to the path.
fn is_path(text: &str) -> bool {
    let has_arguments = [" -", " /", "'", "\""].iter().any(|it| text.contains(it));
    text.starts_with('/') && !has_arguments
}

/// Enabled state, timeouts, and lists of tools.
fn habits(source: &mut SourceMap, draft: &mut ServerDraft, sheet: &ImportCollector<'_>) {
    let disabled = source.flag("disabled").unwrap_or(false);
    if disabled || source.flag("enabled") == Some(false) {
        draft.put("enabled", false);
    }
    if let Some(timeout) = source.number("timeout") {
        let seconds = sheet.is("cline") || sheet.client.is_none() && timeout < 1_000.0;
        draft.timeout_ms(if seconds { timeout * 1_000.0 } else { timeout });
    }
    let mut none = false;
    for (key, ours) in [
        ("includeTools", "allow"),
        ("enabledTools", "allow"),
        ("tools", "allow"),
        ("excludeTools", "deny"),
        ("disabledTools", "deny"),
    ] {
        let Some(names) = source.texts(key) else { continue };
        none |= names.is_empty() && ours == "allow";
        if !names.is_empty() && names != ["*"] {
            draft.put(ours, names);
        }
    }
    if none {
        draft.put("deny", json!(["*"]));
        draft.note("all of its tools are disabled there");
    }
}

/// OAuth login by a person.
fn consent(source: &mut SourceMap, draft: &mut ServerDraft, sheet: &mut ImportCollector<'_>) {
    for key in ["oauth", "auth"] {
        if !source.peek(key).is_object() {
            source.drop(key, "is not a map");
            continue;
        }
        let Some(mut oauth) = source.inner(key) else { continue };
        if oauth.flag("enabled") == Some(false) {
            continue;
        }
        if draft.is_authorized() {
            sheet.drop(oauth.at, "it authenticates with a header, which was imported");
            continue;
        }
        let id = oauth.any_text(&["clientId", "client_id", "CLIENT_ID"]);
        let secret = oauth.any_text(&["clientSecret", "client_secret", "CLIENT_SECRET"]);
        let scopes = oauth.texts("scopes").unwrap_or_default();
        draft.login();
        if let Some(id) = id {
            let id = draft.text(sheet, &id);
            draft.auth("client_id", id);
        }
        if let Some(secret) = secret {
            let secret = draft.text(sheet, &secret);
            let name = draft.name.clone();
            let hidden = sheet.externalize_secret(&name, "CLIENT_SECRET", &secret);
            draft.auth("client_secret", hidden);
        }
        if !scopes.is_empty() {
            draft.auth("scopes", json!(scopes));
        }
        oauth.forget(&["callbackPort", "redirectUri"]);
        sheet.leave(oauth);
    }
}

fn ends_in_sse(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.trim_end_matches('/').ends_with("/sse")
}

fn text_of(value: &serde_json::Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A name for a server without one: from its program or its host.
pub(super) fn name_of(words: &[String], url: Option<&str>) -> String {
    match url {
        Some(url) => {
            let host = url.split_once("://").map_or(url, |(_, rest)| rest);
            let host = host.split(['/', '?', '#']).next().unwrap_or(host);
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            let host = host.rsplit_once(':').map_or(host, |(name, _)| name);
            super::name::of_host(host)
        }
        None => program(words),
    }
}

fn program(words: &[String]) -> String {
    let Some(first) = words.first() else { return fitting("") };
    let runner = first.rsplit(['/', '\\']).next().unwrap_or(first);
    let runner = runner.trim_end_matches(".exe").trim_end_matches(".cmd");
    let mut rest = words.iter().skip(1).map(String::as_str);
    let named = match runner {
        "npx" | "bunx" | "pnpx" | "uvx" | "pipx" | "node" | "bun" | "deno" | "dnx" | "uv"
        | "pnpm" | "yarn" => rest.find(|word| {
            !word.starts_with('-') && !["run", "dlx", "exec", "x", "tool"].contains(word)
        }),
        "docker" | "podman" => image(words),
        "python" | "python3" | "py" => match words.iter().position(|word| word == "-m") {
            Some(at) => words.get(at + 1).and_then(|module| module.rsplit('.').next()),
            None => rest.find(|word| !word.starts_with('-')),
        },
        _ => None,
    };
    super::name::of_package(named.unwrap_or(runner))
}

/// The image of `docker run`: the first word that is neither a flag nor its value.
fn image(words: &[String]) -> Option<&str> {
    let takes =
        ["-e", "--env", "-v", "--volume", "--mount", "-p", "--name", "--network", "--env-file"];
    let mut words = words.iter().map(String::as_str).skip(1).filter(|word| *word != "run");
    while let Some(word) = words.next() {
        match word {
            flag if takes.contains(&flag) => drop(words.next()),
            flag if flag.starts_with('-') => {}
            image => return Some(image),
        }
    }
    None
}
