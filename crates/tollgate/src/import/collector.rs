//! Collects the result of an import, with the conventions of the source program.

use std::collections::HashSet;
use std::sync::LazyLock;

use tollgate_config::sounds_secret;
use tollgate_core::mask::SecretMasker;
use tollgate_core::secret::Secret;

use super::name::{fitting, fold_name, shorten_name, variable};
use super::source_map::SourceMap;
use super::variable_syntax::{VariableSyntax, without_files};
use super::{DroppedItem, ImportedConfig, ImportedEntry, ImportedSectionEntry, SecretPlacement};
use crate::client_apps::ClientApp;

/// Detects secrets by their appearance. Created once, because that is slow.
static MASKER: LazyLock<SecretMasker> = LazyLock::new(|| SecretMasker::new(&[], Vec::new()));

pub(super) struct ImportCollector<'a> {
    pub(super) client: Option<&'static ClientApp>,
    pub(super) spelling: VariableSyntax,
    secrets: SecretPlacement,
    /// Variables of earlier texts.
    given: &'a [(String, Secret)],
    taken: HashSet<(&'static str, String)>,
    imported: ImportedConfig,
}

impl<'a> ImportCollector<'a> {
    pub(super) fn new(
        secrets: SecretPlacement,
        given: &'a [(String, Secret)],
        client: Option<&'static ClientApp>,
    ) -> Self {
        let imported = ImportedConfig {
            format: "",
            servers: Vec::new(),
            others: Vec::new(),
            dropped: Vec::new(),
            given: Vec::new(),
        };
        let spelling = VariableSyntax::Usual;
        Self { client, spelling, secrets, given, taken: HashSet::new(), imported }
    }

    pub(super) fn is(&self, client: &str) -> bool {
        self.client.is_some_and(|known| known.id == client)
    }

    pub(super) fn format(&mut self, format: &'static str) {
        self.imported.format = format;
    }

    pub(super) fn drop(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.imported.dropped.push(DroppedItem { what: what.into(), why: why.into() });
    }

    /// Reports the unused keys and the mistakes of a source.
    pub(super) fn leave(&mut self, source: SourceMap) {
        self.imported.dropped.extend(source.rest());
    }

    /// Reports the mistakes of a source. Its other keys are unrelated to servers.
    pub(super) fn blame(&mut self, source: SourceMap) {
        self.imported.dropped.extend(source.mistakes());
    }

    /// A unique id for `name` in its section, and a note if it differs.
    pub(super) fn id(&mut self, section: &'static str, name: &str) -> (String, Option<String>) {
        let id = self.free(section, &fitting(name));
        let note = (id != name).then(|| format!("named `{}` there", shorten_name(name)));
        (id, note)
    }

    /// `name`, with a number appended if it is taken.
    pub(super) fn free(&mut self, section: &'static str, name: &str) -> String {
        let mut id = name.to_owned();
        let mut number = 2;
        while !self.taken.insert((section, fold_name(section, &id.to_ascii_lowercase()))) {
            let tail = format!("_{number}");
            let head: String = name.chars().take(64 - tail.len()).collect();
            id = head + &tail;
            number += 1;
        }
        id
    }

    pub(super) fn server(&mut self, found: ImportedEntry) {
        self.imported.servers.push(found);
    }

    /// Number of servers so far.
    pub(super) fn servers(&self) -> usize {
        self.imported.servers.len()
    }

    pub(super) fn last_server(&self) -> Option<String> {
        self.imported.servers.last().map(|last| last.name.clone())
    }

    /// Adds a key to the last server.
    pub(super) fn last_key(&mut self, key: &str, value: serde_json::Value) {
        if let Some(last) = self.imported.servers.last_mut() {
            last.keys.insert(key.to_owned(), value);
        }
    }

    /// Adds a note to the last server.
    pub(super) fn last_note(&mut self, note: String) {
        if let Some(last) = self.imported.servers.last_mut() {
            last.notes.push(note);
        }
    }

    pub(super) fn other(&mut self, section: &'static str, found: ImportedEntry) {
        self.imported.others.push(ImportedSectionEntry { section, found });
    }

    pub(super) fn looks_secret(value: &str) -> bool {
        MASKER.text(value).is_some()
    }

    /// Removes the default from `${NAME:-default}` where it is a secret.
    pub(super) fn without_defaults(
        &mut self,
        text: &str,
        is_secret: impl Fn(&str, &str) -> bool,
    ) -> String {
        let mut parts = text.split("${");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let known = part.split_once('}').and_then(|(inside, behind)| {
                let (name, default) = inside.split_once(":-")?;
                Some((name, default, behind))
            });
            // After another `$` it is not a variable.
            let known = known.filter(|_| {
                self.secrets == SecretPlacement::InTheEnvironment && !out.ends_with('$')
            });
            match known.filter(|(name, default, _)| is_secret(name, default)) {
                Some((name, default, behind)) => {
                    out.push_str(&format!("${{{name}}}{behind}"));
                    if !self.imported.given.iter().any(|(known, _)| known == name) {
                        let default = Secret::new(default.to_owned());
                        self.imported.given.push((name.to_owned(), default));
                    }
                }
                None => {
                    out.push_str("${");
                    out.push_str(part);
                }
            }
        }
        out
    }

    /// The text for a secret `value`: itself, or a reference.
    pub(super) fn externalize_secret(&mut self, owner: &str, name: &str, value: &str) -> String {
        if self.secrets == SecretPlacement::InTheFile || value.is_empty() {
            return value.to_owned();
        }
        if value.contains("${") {
            return self.without_defaults(value, |_, default| {
                !is_trivial(default) && !default.starts_with(['/', '.', '~'])
            });
        }
        let requested = format!("{}_{}", variable(owner), variable(name));
        let mut called = requested.clone();
        let mut number = 2;
        let all = || self.given.iter().chain(&self.imported.given);
        while let Some((_, known)) = all().find(|(name, _)| *name == called) {
            if known.reveal() == value {
                break;
            }
            called = format!("{requested}_{number}");
            number += 1;
        }
        let reference = format!("${{{called}}}");
        if !self.imported.given.iter().any(|(name, _)| *name == called) {
            self.imported.given.push((called, Secret::new(value.to_owned())));
        }
        reference
    }

    /// The text for the value of `name`: a reference if it is a secret.
    pub(super) fn value(&mut self, owner: &str, name: &str, value: &str) -> String {
        if !is_trivial(value) && (sounds_secret(name) || Self::looks_secret(value)) {
            self.externalize_secret(owner, name, value)
        } else {
            value.to_owned()
        }
    }

    pub(super) fn finish(mut self) -> ImportedConfig {
        let others = self.imported.others.iter_mut().map(|other| &mut other.found);
        for found in self.imported.servers.iter_mut().chain(others) {
            let mut files = false;
            if !self.spelling.names_files() {
                files = found.keys.values_mut().fold(false, |any, it| without_files(it) | any);
            }
            if files {
                found.notes.push("`${file:…}` has no meaning here and is kept unchanged".into());
            }
            let text = serde_json::Value::Object(found.keys.clone()).to_string();
            for (name, _) in &self.imported.given {
                if text.contains(&format!("${{{name}}}")) {
                    let note = format!("it contained a literal secret; set `{name}` instead");
                    found.notes.push(note);
                }
            }
        }
        self.imported
    }
}

/// Certainly not a secret.
fn is_trivial(value: &str) -> bool {
    matches!(value, "" | "true" | "false") || value.parse::<u32>().is_ok()
}
