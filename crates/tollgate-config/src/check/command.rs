//! Process of a stdio server: command, environment, directory. No shell is ever involved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tollgate_core::secret::Secret;
use tollgate_engine::settings::StdioCommand;

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;
use super::sandbox;

/// Operators that only a shell would understand.
const SHELL_WORDS: [&str; 9] = ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1"];
/// Variables that make a program load foreign code.
const LOADERS: [&str; 8] = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "BASH_ENV",
];

pub(super) fn command(fields: &SectionFields, problems: &mut Problems) -> Option<StdioCommand> {
    let env = env(fields, problems);
    let typed = fields.words("command")?;
    let path = fields.path("command");
    let mut words = typed.value.to_vec();
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        problems
            .error(typed.at, &path, "`command` has no program")
            .help("write a list: [\"program\", \"first argument\"]");
        return None;
    }
    words.extend(fields.texts("args").into_iter().map(|arg| arg.value.to_owned()));
    if words.iter().any(|word| word.contains('\0')) {
        problems.error(typed.at, &path, "`command` contains a NUL character");
        return None;
    }
    if let Some(word) = words.iter().find(|word| SHELL_WORDS.contains(&word.as_str())) {
        problems
            .warning(typed.at, &path, format!("`{word}` is passed to the program unchanged"))
            .help("no shell runs the command; if you need one: [\"sh\", \"-c\", \"…\"]");
    }
    if let Some(word) = words.iter().find(|word| word.starts_with("~/")) {
        problems
            .warning(typed.at, &path, format!("`~` in `{word}` is not expanded"))
            .help("write `${HOME}` instead");
    }
    let cwd = fields.text("cwd").map(|text| PathBuf::from(text.value));
    Some(StdioCommand { words, env, cwd, sandbox: sandbox::sandbox(fields, problems) })
}

fn env(fields: &SectionFields, problems: &mut Problems) -> BTreeMap<String, Secret> {
    let path = fields.path("env");
    let mut env = BTreeMap::new();
    for (name, value) in fields.table("env") {
        let text = &name.value;
        if text.is_empty() || text.contains(['=', '\0']) || value.contains('\0') {
            problems
                .error(name.at, &path, format!("`{text}` cannot be an environment variable"))
                .help("the name must not contain `=`, the value must not contain NUL");
            continue;
        }
        if LOADERS.contains(&text.as_str()) {
            problems
                .warning(name.at, &path, format!("`{text}` lets the server load other code"))
                .help("keep it only if you added it yourself");
        } else if text == "PATH" {
            problems
                .warning(name.at, &path, "`PATH` decides which programs the server finds")
                .help("an absolute path in `command` is safer");
        }
        env.insert(text.clone(), Secret::new(value));
    }
    env
}
