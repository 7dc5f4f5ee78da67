//! Matches a YAML tree against the tables: finds unknown keys, wrong kinds and numbers out of
//! range, and expands variables. `check` validates the whole.

use std::collections::{BTreeMap, HashMap};

use super::diagnostic::{Diagnostic, Problems, SourceSpan};
use super::expand::{self, Environment};
use super::json;
pub use super::node_checks::sounds_secret;
use super::node_checks::{hide, is_reference, is_word, kind_of};
use super::raw::{RawConfigItem, RawConfigValue, SectionFields, Spanned};
use super::suggest::nearest;
use super::table::{KeyKind, KeyPresence, KeyRange, KeySpec, SectionSpec, TOP, TextKind};
use super::wording::{
    better_place, describe, describe_choices, describe_key, describe_range, last, lower_first,
    shorten,
};
use super::yaml_tree::{ConfigScalarStyle, ConfigYamlData, ConfigYamlNode, ConfigYamlPair};

/// Reads the top level of the file.
pub(super) fn read(
    node: &ConfigYamlNode,
    environment: &dyn Environment,
    problems: &mut Problems,
) -> Option<SectionFields> {
    SectionReader { environment, problems }.section(node, &TOP, "")
}

struct SectionReader<'a> {
    environment: &'a dyn Environment,
    problems: &'a mut Problems,
}

impl SectionReader<'_> {
    fn section(
        &mut self,
        node: &ConfigYamlNode,
        section: &'static SectionSpec,
        path: &str,
    ) -> Option<SectionFields> {
        match &node.data {
            _ if node.is_null() => Some(self.fields(&[], node.at, section, path)),
            ConfigYamlData::Map(pairs) => Some(self.fields(pairs, node.at, section, path)),
            ConfigYamlData::Scalar { .. } | ConfigYamlData::List(_) => {
                self.mismatch(node, &KeyKind::Section(section), path);
                None
            }
        }
    }

    fn fields(
        &mut self,
        pairs: &[ConfigYamlPair],
        at: SourceSpan,
        section: &'static SectionSpec,
        path: &str,
    ) -> SectionFields {
        let mut broken = Vec::new();
        let mut fields = SectionFields { at, path: path.to_owned(), values: BTreeMap::new() };
        for pair in pairs {
            let Some(key) = section.key(&pair.key) else {
                let meant = self.unknown(pair, section, path);
                broken.extend(meant);
                continue;
            };
            if pair.value.is_null() && key.kind.is_collection() {
                continue;
            }
            let item = self.value(&pair.value, &key.kind, &fields.path(key.name));
            fields.values.insert(key.name, item);
        }
        for name in broken {
            fields.values.entry(name).or_insert(None);
        }
        for key in section.keys {
            if key.need == KeyPresence::Required && !fields.has(key.name) {
                self.missing(key, section, &fields);
            }
        }
        fields
    }

    fn value(
        &mut self,
        node: &ConfigYamlNode,
        kind: &'static KeyKind,
        path: &str,
    ) -> Option<RawConfigItem> {
        let value = match kind {
            KeyKind::Text(text) => self.text(node, *text, path).map(RawConfigValue::Text),
            KeyKind::Flag => self.flag(node, path).map(RawConfigValue::Flag),
            KeyKind::Whole(range) => {
                self.read_number(node, *range, path).map(RawConfigValue::Whole)
            }
            KeyKind::Choice(choices) => self.choice(node, choices, path).map(RawConfigValue::Text),
            KeyKind::Words => self.words(node, path).map(RawConfigValue::Words),
            KeyKind::List(inner) => self.list(node, inner, path),
            KeyKind::Table(inner) => self.table(node, inner, path),
            KeyKind::Section(section) => {
                self.section(node, section, path).map(RawConfigValue::Section)
            }
            KeyKind::SectionOr(_, word) if is_word(node, word) => {
                Some(RawConfigValue::Text((*word).to_owned()))
            }
            KeyKind::SectionOr(section, _) => match node.data {
                ConfigYamlData::Map(_) => {
                    self.section(node, section, path).map(RawConfigValue::Section)
                }
                ConfigYamlData::Scalar { .. } | ConfigYamlData::List(_) => {
                    self.mismatch(node, kind, path);
                    None
                }
            },
            KeyKind::Named(section) => {
                self.read_named(node, section, path).map(RawConfigValue::Named)
            }
            KeyKind::Entries(section) => self.entries(node, section, path),
            KeyKind::Json => Some(RawConfigValue::Json(json::from_node(node))),
        };
        value.map(|value| Spanned { value, at: node.at })
    }

    fn text(&mut self, node: &ConfigYamlNode, text: TextKind, path: &str) -> Option<String> {
        if text == TextKind::Secret && !is_reference(node) {
            hide(node, self.problems);
        }
        let ConfigYamlData::Scalar { text: typed, .. } = &node.data else {
            self.mismatch(node, kind_of(text), path);
            return None;
        };
        if node.is_null() {
            self.problems
                .error(node.at, path, format!("`{}` has no value", last(path)))
                .help("remove the key, or write \"\" for an empty text");
            return None;
        }
        if text == TextKind::Prose {
            self.prose(node, typed, path);
            return Some(typed.clone());
        }
        let value = self.expand_text(node.at, typed, path)?;
        let values = &mut self.problems.values;
        match (text, expand::secret_reference(typed)) {
            (_, Some(name)) => values.note(name, &value),
            (TextKind::Secret, None) => values.note(path, &value),
            (TextKind::Plain | TextKind::Prose, None) => values.note_url(&value),
        }
        Some(value)
    }

    fn prose(&mut self, node: &ConfigYamlNode, typed: &str, path: &str) {
        let Some((_, after)) = typed.split_once("${") else { return };
        let name = after.split('}').next().unwrap_or_default();
        if expand::is_name(name) {
            self.problems
                .warning(
                    node.at,
                    path,
                    format!("`${{{name}}}` is not expanded in `{}`", last(path)),
                )
                .help("variables are expanded in settings, not in texts for people and models");
        }
    }

    fn expand_text(&mut self, at: SourceSpan, typed: &str, path: &str) -> Option<String> {
        match expand::expand(typed, self.environment) {
            Ok(text) => Some(text),
            Err(bad) => {
                self.problems.error(at, path, format!("`{path}`: {bad}")).help(bad.help());
                None
            }
        }
    }

    fn flag(&mut self, node: &ConfigYamlNode, path: &str) -> Option<bool> {
        match &node.data {
            ConfigYamlData::Scalar { text, style: ConfigScalarStyle::Plain } => match text.as_str()
            {
                "true" | "True" | "TRUE" => return Some(true),
                "false" | "False" | "FALSE" => return Some(false),
                "yes" | "on" | "Yes" | "On" | "y" => {
                    self.wrong(node, &describe(&KeyKind::Flag), path).help("write `true`");
                    return None;
                }
                "no" | "off" | "No" | "Off" | "n" => {
                    self.wrong(node, &describe(&KeyKind::Flag), path).help("write `false`");
                    return None;
                }
                _ => {}
            },
            ConfigYamlData::Scalar { .. } | ConfigYamlData::List(_) | ConfigYamlData::Map(_) => {}
        }
        self.mismatch(node, &KeyKind::Flag, path);
        None
    }

    fn read_number(&mut self, node: &ConfigYamlNode, range: KeyRange, path: &str) -> Option<u64> {
        let ConfigYamlData::Scalar { text, style } = &node.data else {
            self.wrong(node, &describe_range(range), path);
            return None;
        };
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if is_digits { text.parse().ok() } else { None };
        match (number, style) {
            (Some(number), ConfigScalarStyle::Plain)
                if (range.least..=range.most).contains(&number) =>
            {
                return Some(number);
            }
            (Some(_), ConfigScalarStyle::Quoted) => {
                self.wrong(node, &describe_range(range), path)
                    .help("write the number without quotes");
            }
            _ if expand::has_variable(text) => {
                self.wrong(node, &describe_range(range), path)
                    .help("variables are expanded in texts only");
            }
            _ => {
                self.wrong(node, &describe_range(range), path);
            }
        }
        None
    }

    fn choice(
        &mut self,
        node: &ConfigYamlNode,
        choices: &'static [&'static str],
        path: &str,
    ) -> Option<String> {
        if let ConfigYamlData::Scalar { text, .. } = &node.data {
            if choices.contains(&text.as_str()) {
                return Some(text.clone());
            }
            let near = nearest(text, choices.iter().copied());
            let found = self.wrong(node, &describe_choices(choices), path);
            if let Some(near) = near {
                found.help(format!("did you mean `{near}`?"));
            }
            return None;
        }
        self.wrong(node, &describe_choices(choices), path);
        None
    }

    /// Words are split before variables are expanded, so a value cannot add a word.
    fn words(&mut self, node: &ConfigYamlNode, path: &str) -> Option<Vec<String>> {
        let typed = match &node.data {
            ConfigYamlData::Scalar { text, .. } if !node.is_null() => {
                match shell_words::split(text) {
                    Ok(words) => words.into_iter().map(|word| (word, node.at)).collect(),
                    Err(_) => {
                        self.problems
                            .error(
                                node.at,
                                path,
                                format!("a quote in `{}` is not closed", last(path)),
                            )
                            .help("write a list: [\"program\", \"first argument\"]");
                        return None;
                    }
                }
            }
            ConfigYamlData::List(items) => items
                .iter()
                .filter_map(|item| match &item.data {
                    ConfigYamlData::Scalar { text, .. } if !item.is_null() => {
                        Some((text.clone(), item.at))
                    }
                    ConfigYamlData::Scalar { .. }
                    | ConfigYamlData::List(_)
                    | ConfigYamlData::Map(_) => {
                        self.wrong(item, "a text", &format!("{path}[]"));
                        None
                    }
                })
                .collect::<Vec<_>>(),
            ConfigYamlData::Scalar { .. } | ConfigYamlData::Map(_) => {
                self.mismatch(node, &KeyKind::Words, path);
                return None;
            }
        };
        let words: Vec<Option<String>> =
            typed.iter().map(|(word, at)| self.expand_text(*at, word, path)).collect();
        let words: Vec<String> = words.into_iter().collect::<Option<_>>()?;
        for ((typed, _), word) in typed.iter().zip(&words) {
            if let Some(name) = expand::secret_reference(typed) {
                self.problems.values.note(name, word);
            }
        }
        let secret = self.problems.values.note_words(&words);
        for ((word, at), is_secret) in typed.iter().zip(secret) {
            let is_own =
                matches!(node.data, ConfigYamlData::List(_)) && !expand::is_reference(word);
            if is_secret && is_own {
                self.problems.hide(*at);
            }
        }
        Some(words)
    }

    fn list(
        &mut self,
        node: &ConfigYamlNode,
        inner: &'static KeyKind,
        path: &str,
    ) -> Option<RawConfigValue> {
        let ConfigYamlData::List(items) = &node.data else {
            let requested = describe(&KeyKind::List(inner));
            let found = self.wrong(node, &requested, path);
            if matches!(node.data, ConfigYamlData::Scalar { .. }) {
                found.help(format!("write it in brackets: `{}: [ … ]`", last(path)));
            }
            return None;
        };
        let inside = format!("{path}[]");
        let read: Vec<RawConfigItem> =
            items.iter().filter_map(|item| self.value(item, inner, &inside)).collect();
        if last(path) == "args" {
            self.hide_arguments(&read);
        }
        Some(RawConfigValue::List(read))
    }

    /// Hides the value of a flag whose name suggests a secret.
    fn hide_arguments(&mut self, read: &[RawConfigItem]) {
        let text = |item: &RawConfigItem| match &item.value {
            RawConfigValue::Text(text) => text.clone(),
            _ => String::new(),
        };
        let words: Vec<String> = read.iter().map(text).collect();
        for (item, is_secret) in read.iter().zip(self.problems.values.note_words(&words)) {
            if is_secret {
                self.problems.hide(item.at);
            }
        }
    }

    fn table(
        &mut self,
        node: &ConfigYamlNode,
        inner: &'static KeyKind,
        path: &str,
    ) -> Option<RawConfigValue> {
        let ConfigYamlData::Map(pairs) = &node.data else {
            self.mismatch(node, &KeyKind::Table(inner), path);
            return None;
        };
        let mut read = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let item = self.value(&pair.value, inner, &format!("{path}.{}", pair.key));
            let name = Spanned { value: pair.key.clone(), at: pair.key_at };
            read.extend(item.map(|item| (name, item)));
        }
        Some(RawConfigValue::Table(read))
    }

    fn read_named(
        &mut self,
        node: &ConfigYamlNode,
        section: &'static SectionSpec,
        path: &str,
    ) -> Option<Vec<(Spanned<String>, SectionFields)>> {
        let mut read = Vec::new();
        match &node.data {
            ConfigYamlData::Map(pairs) => {
                for pair in pairs {
                    let inside = format!("{path}.{}", pair.key);
                    let name = Spanned { value: pair.key.clone(), at: pair.key_at };
                    read.extend(self.section(&pair.value, section, &inside).map(|it| (name, it)));
                }
            }
            ConfigYamlData::List(items) => {
                let mut seen = HashMap::new();
                for item in items {
                    let Some((name, rest)) = self.entry(item, path) else { continue };
                    if let Some(line) = seen.insert(name.value.clone(), name.at.line) {
                        let message = format!("`{}` appears twice in `{}`", name.value, last(path));
                        let help = format!("it is first on line {line}; rename one");
                        self.problems.error(name.at, path, message).help(help);
                        continue;
                    }
                    let inside = format!("{path}.{}", name.value);
                    let fields = self.fields(&rest, name.at, section, &inside);
                    read.push((name, fields));
                }
            }
            ConfigYamlData::Scalar { .. } => {
                self.mismatch(node, &KeyKind::Named(section), path);
                return None;
            }
        }
        Some(read)
    }

    /// One entry of a list of named entries, with its `name` removed.
    fn entry(
        &mut self,
        item: &ConfigYamlNode,
        path: &str,
    ) -> Option<(Spanned<String>, Vec<ConfigYamlPair>)> {
        let ConfigYamlData::Map(pairs) = &item.data else {
            self.wrong(item, "a map with a `name`", &format!("{path}[]"));
            return None;
        };
        let (names, rest): (Vec<&ConfigYamlPair>, Vec<&ConfigYamlPair>) =
            pairs.iter().partition(|pair| pair.key == "name");
        let name = names.first().and_then(|pair| match &pair.value.data {
            ConfigYamlData::Scalar { text, .. } if !pair.value.is_null() => {
                Some(Spanned { value: text.clone(), at: pair.value.at })
            }
            ConfigYamlData::Scalar { .. } | ConfigYamlData::List(_) | ConfigYamlData::Map(_) => {
                None
            }
        });
        if name.is_none() {
            let at = pairs.first().map_or(item.at, |pair| pair.key_at);
            self.problems
                .error(at, path, format!("an entry of `{}` has no `name`", last(path)))
                .help("every entry of a list needs one; or write a map by name");
        }
        name.map(|name| (name, rest.into_iter().cloned().collect()))
    }

    fn entries(
        &mut self,
        node: &ConfigYamlNode,
        section: &'static SectionSpec,
        path: &str,
    ) -> Option<RawConfigValue> {
        let ConfigYamlData::List(items) = &node.data else {
            self.mismatch(node, &KeyKind::Entries(section), path);
            return None;
        };
        let mut read = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let fields = self.section(item, section, &format!("{path}[{index}]"));
            read.extend(
                fields.map(|it| Spanned { value: RawConfigValue::Section(it), at: item.at }),
            );
        }
        Some(RawConfigValue::List(read))
    }

    /// Reports the key. Returns the suggested one, so that it is not reported as missing as well.
    fn unknown(
        &mut self,
        pair: &ConfigYamlPair,
        section: &'static SectionSpec,
        path: &str,
    ) -> Option<&'static str> {
        let near = nearest(&pair.key, section.names());
        let is_secret = near.and_then(|name| section.key(name)).is_some_and(KeySpec::is_secret)
            || sounds_secret(&pair.key)
            || path.len() > 1 && section.keys.iter().any(KeySpec::is_secret);
        if is_secret {
            hide(&pair.value, self.problems);
        }
        let full = if path.is_empty() { pair.key.clone() } else { format!("{path}.{}", pair.key) };
        let found = self.problems.error(pair.key_at, &full, format!("unknown key `{}`", pair.key));
        match better_place(&pair.key, section, near) {
            Some(help) => found.help(help),
            None => found,
        };
        let known: Vec<&str> = section.names().collect();
        found.help(format!("known here: {}", known.join(", ")));
        near
    }

    fn missing(&mut self, key: &KeySpec, section: &SectionSpec, fields: &SectionFields) {
        let message = format!("`{}` is missing", key.name);
        let place = if fields.path.is_empty() { section.title } else { &fields.path };
        self.problems
            .error(fields.at, &fields.path(key.name), message)
            .help(format!("`{place}` needs it: {}", lower_first(key.about)));
    }

    fn mismatch(&mut self, node: &ConfigYamlNode, kind: &KeyKind, path: &str) {
        if kind.holds_secrets() {
            hide(node, self.problems);
            let message = format!("{} must be {}", describe_key(path), describe(kind));
            self.problems.error(node.at, path, message);
        } else {
            self.wrong(node, &describe(kind), path);
        }
    }

    fn wrong(&mut self, node: &ConfigYamlNode, requested: &str, path: &str) -> &mut Diagnostic {
        let found = match &node.data {
            _ if node.is_null() => "nothing".to_owned(),
            ConfigYamlData::Scalar { text, .. } => format!("`{}`", shorten(text)),
            ConfigYamlData::List(_) => "a list".to_owned(),
            ConfigYamlData::Map(_) => "a map".to_owned(),
        };
        let message = format!("{} must be {requested}, not {found}", describe_key(path));
        self.problems.error(node.at, path, message)
    }
}
