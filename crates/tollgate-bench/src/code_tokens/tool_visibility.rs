//! What a model that writes programs was shown of a tool: how it is spelled, and what is known of its
//! answers. A program may use nothing else. Asked by the coder.

use super::inventory::{self, ToolRef};
use super::plan::Extraction;
use super::visible_context::VisibleContext;

/// Between the name of a tool and a piece of its answer, in what programs print to look at it.
pub(super) const LOOK_SEPARATOR: &str = " => ";

/// How programs write the tool, if a result said so.
pub(super) fn spelling(tool: &ToolRef, seen: &VisibleContext) -> Option<String> {
    let names = [tool.name.clone(), tool.name.to_lowercase()];
    let mut spelled = names.iter().map(|name| (format!("{}.{name}", tool.server), name));
    let found = spelled.find(|(spelled, name)| {
        let signature = format!("{spelled}(");
        let definition = format!("def {name}(");
        // Files say at their top whose they are, and may come in parts.
        let head = format!("call as {}.", tool.server);
        seen.has(&signature) || (seen.has(&head) && seen.has(&definition))
    });
    found.map(|(spelled, _)| spelled)
}

/// The first tool that a program names and that no result has shown before.
pub(super) fn first_unshown_tool(code: &str, seen: &VisibleContext) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let named = inventory::servers().flat_map(|server| {
        let begins = code.match_indices(server).map(|(at, _)| at);
        let begins = begins.filter(|at| !code[..*at].ends_with(|c| is_part(c) || c == '/'));
        let rests = begins.filter_map(move |at| code[at + server.len()..].strip_prefix('.'));
        rests.map(move |rest| (server, rest.split(|c| !is_part(c)).next().unwrap_or_default()))
    });
    let is_hidden = |(server, name): &(&'static str, &str)| {
        let tool = ToolRef { server, name: (*name).to_owned() };
        spelling(&tool, seen).is_none()
    };
    // In texts a name of a server may be a word, or part of an address.
    let mut called = named.filter(|(server, name)| {
        let spelled = format!("{server}.{name}");
        [format!("{spelled}("), format!("({spelled},")].iter().any(|it| code.contains(it))
    });
    called.find(is_hidden).map(|(server, name)| format!("{server}.{name}"))
}

/// Whether all that is taken of an answer is known to be there.
pub(super) fn knows(spelled: &str, taken: &Extraction, seen: &VisibleContext) -> bool {
    let known = shown_result_types(spelled, seen);
    let fields = taken.fields.iter().map(|field| field.name.as_str()).filter(|it| *it != "@");
    let mut requested = taken.list.as_deref().into_iter().chain(fields);
    let is_scalar = taken.fields.iter().all(|field| field.name == "@");
    (!is_scalar || taken.list.is_some()) && requested.all(|word| has_word(&known, word))
}

/// All that was shown of the tool's answers: types of its signature, pieces that were printed.
fn shown_result_types(spelled: &str, seen: &VisibleContext) -> String {
    let name = spelled.split_once('.').map_or(spelled, |(_, name)| name);
    let heads = [format!("{spelled}("), format!("def {name}(")];
    let look = format!("{spelled}{LOOK_SEPARATOR}");
    let mut known = String::new();
    for result in &seen.results {
        for line in result.lines() {
            if let Some((_, piece)) = line.split_once(&look) {
                known.push_str(piece);
            } else if heads.iter().any(|head| line.starts_with(head.as_str()))
                && let Some((_, returns)) = line.rsplit_once(") -> ")
            {
                let returns = returns.split("  #").next().unwrap_or_default();
                known.push_str(returns);
                classes(result, returns, &mut known);
            }
        }
    }
    known
}

/// The classes that a type names, and those that they name.
fn classes(text: &str, typed: &str, into: &mut String) {
    let mut waiting = vec![typed.to_owned()];
    let mut done: Vec<String> = Vec::new();
    while let Some(typed) = waiting.pop() {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        for word in typed.split(|c| !is_part(c)) {
            if !word.starts_with(char::is_uppercase) || done.iter().any(|it| it == word) {
                continue;
            }
            done.push(word.to_owned());
            let head = format!("class {word}(");
            let lines = text.lines().skip_while(|line| !line.starts_with(&head)).skip(1);
            let body: Vec<&str> = lines.take_while(|line| line.starts_with("    ")).collect();
            let body = body.join("\n");
            into.push_str(&body);
            into.push('\n');
            waiting.push(body);
        }
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}
