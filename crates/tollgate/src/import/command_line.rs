//! Imports a pasted command line or URL, also the command that adds a server to another program.

use tollgate_config::is_variable;

use super::collector::ImportCollector;
use super::common_keys::{self, ImportedTransport};
use super::name::shorten_name;
use super::server_draft::ServerDraft;
use super::variable_syntax::VariableSyntax;
use super::{ImportError, jsonc};

/// One line (or several joined by backslashes) that is not a document.
pub(super) fn is_line(text: &str) -> bool {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let begins = joined.chars().next().unwrap_or_default();
    let first = joined.split_whitespace().next().unwrap_or_default();
    let is_document = matches!(begins, '{' | '[' | '#')
        || is_key(&joined)
        || joined.starts_with("//")
        || joined.starts_with("/*")
        || first.ends_with(':')
        || joined.split_once('=').is_some_and(|(key, _)| key.ends_with(' '));
    !joined.contains('\n') && !is_document
}

/// `"name": …`, or a string alone. A quoted program is followed by its arguments.
fn is_key(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('"') else { return false };
    let behind = inside.split_once('"').map_or("", |(_, behind)| behind.trim_start());
    behind.is_empty() || behind.starts_with(':')
}

pub(super) fn read(
    text: &str,
    name: Option<&str>,
    sheet: &mut ImportCollector<'_>,
) -> Result<(), ImportError> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let typed = joined.trim_start_matches("$ ");
    if is_url(typed) {
        sheet.format("a URL");
        let called = name.map_or_else(|| common_keys::name_of(&[], Some(typed)), str::to_owned);
        let mut draft = ServerDraft::new(sheet, &called);
        draft.url(sheet, typed, sse(typed));
        sheet.server(draft.into_found());
        return Ok(());
    }
    let words = shell_words::split(typed)
        .map_err(|_| ImportError::Syntax("a quote in the command line is not closed".to_owned()))?;
    if let Some(word) = words.iter().find(|word| is_for_a_shell(word)) {
        return Err(ImportError::Shell(shorten_name(word)));
    }
    let (env, words) = assignments(words);
    let adds = AddCommand::of(&words);
    // A shell would have expanded variables. In JSON they are written as in files.
    if adds.as_ref().is_none_or(|adds| adds.form == AddCommandForm::Flags) {
        sheet.spelling = VariableSyntax::Bare;
    }
    match adds {
        Some(adds) => {
            sheet.format(adds.program);
            adds.read(&words[adds.skip..], name, sheet)
        }
        None => {
            sheet.format("a command line");
            let draft = command(name, &words, env, sheet)?;
            sheet.server(draft.into_found());
            Ok(())
        }
    }
}

fn command(
    name: Option<&str>,
    words: &[String],
    env: Vec<(String, String)>,
    sheet: &mut ImportCollector<'_>,
) -> Result<ServerDraft, ImportError> {
    if words.is_empty() {
        return Err(ImportError::Nothing);
    }
    let called = name.map_or_else(|| common_keys::name_of(words, None), str::to_owned);
    let mut draft = ServerDraft::new(sheet, &called);
    draft.command(sheet, words);
    draft.env(sheet, env);
    Ok(draft)
}

/// `NAME=VALUE …` before the program, with or without `env`.
fn assignments(words: Vec<String>) -> (Vec<(String, String)>, Vec<String>) {
    let mut env = Vec::new();
    let mut rest = words.into_iter().peekable();
    if rest.peek().is_some_and(|word| word == "env") {
        rest.next();
    }
    while let Some((name, value)) = rest.peek().and_then(|word| word.split_once('=')) {
        if !is_variable(name) {
            break;
        }
        env.push((name.to_owned(), value.to_owned()));
        rest.next();
    }
    (env, rest.collect())
}

fn is_url(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    (lower.starts_with("http://") || lower.starts_with("https://"))
        && !text.contains(char::is_whitespace)
}

fn sse(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.trim_end_matches('/').ends_with("/sse").then_some("sse")
}

fn is_for_a_shell(word: &str) -> bool {
    matches!(word, "|" | "||" | "&&" | ";" | "&" | ">" | ">>" | "<" | "2>&1")
        || word.contains("$(")
        || word.contains('`')
        || word.ends_with(';')
}

/// `claude mcp add …` and similar commands.
struct AddCommand {
    program: &'static str,
    /// Number of words to skip.
    skip: usize,
    form: AddCommandForm,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AddCommandForm {
    /// A name, then a URL or a command.
    Flags,
    /// A name, then JSON.
    Json,
    /// JSON that contains the name.
    Named,
}

impl AddCommand {
    fn of(words: &[String]) -> Option<Self> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (program, skip, form) = match words.as_slice() {
            ["claude", "mcp", "add", ..] => ("Claude Code", 3, AddCommandForm::Flags),
            ["claude", "mcp", "add-json", ..] => ("Claude Code", 3, AddCommandForm::Json),
            ["codex", "mcp", "add", ..] => ("Codex", 3, AddCommandForm::Flags),
            ["gemini", "mcp", "add", ..] => ("Gemini CLI", 3, AddCommandForm::Flags),
            ["code" | "code-insiders", "--add-mcp", ..] => ("VS Code", 2, AddCommandForm::Named),
            _ => return None,
        };
        Some(Self { program, skip, form })
    }

    fn read(
        &self,
        words: &[String],
        name: Option<&str>,
        sheet: &mut ImportCollector<'_>,
    ) -> Result<(), ImportError> {
        if self.form == AddCommandForm::Flags {
            return flags(words, name, sheet);
        }
        let named = (self.form == AddCommandForm::Json)
            .then(|| words.first().map(String::as_str))
            .flatten();
        let text = words.iter().find(|word| word.trim_start().starts_with('{'));
        let value = jsonc::parse(text.ok_or(ImportError::Nothing)?)?;
        let source = super::source_map::SourceMap::of("", value).ok_or(ImportError::Unknown)?;
        let message = source.peek("name").as_str().map(str::to_owned);
        let called = name.or(named).map(str::to_owned).or(message);
        common_keys::server(&called.unwrap_or_else(|| "server".to_owned()), source, sheet);
        Ok(())
    }
}

fn flags(
    words: &[String],
    name: Option<&str>,
    sheet: &mut ImportCollector<'_>,
) -> Result<(), ImportError> {
    let (before, after) = match words.iter().position(|word| word == "--") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &[][..]),
    };
    let mut env = Vec::new();
    let mut headers = Vec::new();
    let mut places = Vec::new();
    let mut url = None;
    let mut transport = None;
    let mut token = None;
    let mut client = None;
    let mut tools: Vec<(&str, Vec<String>)> = Vec::new();
    let mut words = before.iter();
    while let Some(word) = words.next() {
        let (flag, inline) = match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        // After the name and the program, flags belong to the program.
        let is_command = places.get(1).is_some_and(|place: &String| !is_url(place));
        if !flag.starts_with('-') || is_command {
            places.push(word.clone());
            continue;
        }
        let mut value = || inline.clone().or_else(|| words.next().cloned()).unwrap_or_default();
        match flag {
            "-e" | "--env" => env.extend(split(&value(), "=")),
            "-H" | "--header" => headers.extend(split(&value(), ":")),
            "-t" | "--transport" => transport = Some(value()),
            "--url" => url = Some(value()),
            "--bearer-token-env-var" => token = Some(format!("${{{}}}", value())),
            "--client-id" => client = Some(value()),
            "--include-tools" => tools.push(("allow", split_names(&value()))),
            "--exclude-tools" => tools.push(("deny", split_names(&value()))),
            "-s" | "--scope" | "--timeout" | "--description" | "--callback-port" => drop(value()),
            "--trust" => sheet.drop(flag, common_keys::AUTO_EXECUTE_HINT),
            _ => sheet.drop(shorten_name(flag), "is an unknown flag"),
        }
    }
    let called = places.first().cloned().unwrap_or_default();
    let mut rest: Vec<String> = places.into_iter().skip(1).chain(after.iter().cloned()).collect();
    if url.is_none() && rest.first().is_some_and(|word| is_url(word)) {
        url = Some(rest.remove(0));
    }
    let mut draft = match url {
        None => command(name.or(Some(&called)), &rest, env, sheet)?,
        Some(url) => {
            let mut draft = ServerDraft::new(sheet, name.unwrap_or(&called));
            let kind = transport.as_deref().map(ImportedTransport::of);
            let is_sse =
                kind == Some(ImportedTransport::Sse) || kind.is_none() && sse(&url).is_some();
            draft.url(sheet, &url, is_sse.then_some("sse"));
            draft.headers(sheet, headers);
            token.into_iter().for_each(|token| draft.token(sheet, &token));
            if let Some(client) = client.filter(|_| !draft.is_authorized()) {
                draft.login();
                draft.auth("client_id", client);
            }
            draft
        }
    };
    for (key, names) in tools.into_iter().filter(|(_, names)| !names.is_empty()) {
        draft.put(key, names);
    }
    sheet.server(draft.into_found());
    Ok(())
}

/// Comma-separated names.
fn split_names(text: &str) -> Vec<String> {
    text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

fn split(text: &str, between: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(between)?;
    Some((name.trim().to_owned(), value.trim().to_owned()))
}
