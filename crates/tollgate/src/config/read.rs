//! Fits a YAML tree to the tables: unknown keys, wrong kinds and numbers out of range are found
//! here, variables are expanded here. Whether the whole makes sense is for `check` to say.

use std::collections::{BTreeMap, HashMap};

use super::diagnostic::{Problems, Span};
use super::expand::{self, Environment};
use super::json;
use super::raw::{Fields, Item, Marked, Value};
use super::suggest::nearest;
use super::table::{Key, Kind, Need, Range, Section, TOP, Text};
use super::tree::{Data, Node, Pair, Style};
use super::wording::{
    better_place, describe, describe_choices, describe_range, last, lower_first, named, shortened,
};

/// Reads the top of the file.
pub(super) fn read(
    node: &Node,
    environment: &dyn Environment,
    problems: &mut Problems,
) -> Option<Fields> {
    Reader { environment, problems }.section(node, &TOP, "")
}

struct Reader<'a> {
    environment: &'a dyn Environment,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    fn section(&mut self, node: &Node, section: &'static Section, path: &str) -> Option<Fields> {
        match &node.data {
            _ if node.is_null() => Some(self.fields((&[], node.at), section, path)),
            Data::Map(pairs) => Some(self.fields((pairs, node.at), section, path)),
            Data::Scalar { .. } | Data::List(_) => {
                self.mismatch(node, &Kind::Section(section), path);
                None
            }
        }
    }

    fn fields(
        &mut self,
        (pairs, at): (&[Pair], Span),
        section: &'static Section,
        path: &str,
    ) -> Fields {
        let mut broken = Vec::new();
        let mut fields = Fields { at, path: path.to_owned(), values: BTreeMap::new() };
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
            if key.need == Need::Required && !fields.has(key.name) {
                self.missing(key, section, &fields);
            }
        }
        fields
    }

    fn value(&mut self, node: &Node, kind: &'static Kind, path: &str) -> Option<Item> {
        let value = match kind {
            Kind::Text(text) => self.text(node, *text, path).map(Value::Text),
            Kind::Flag => self.flag(node, path).map(Value::Flag),
            Kind::Whole(range) => self.whole(node, *range, path).map(Value::Whole),
            Kind::Choice(choices) => self.choice(node, choices, path).map(Value::Text),
            Kind::Words => self.words(node, path).map(Value::Words),
            Kind::List(inner) => self.list(node, inner, path),
            Kind::Table(inner) => self.table(node, inner, path),
            Kind::Section(section) => self.section(node, section, path).map(Value::Section),
            Kind::SectionOr(_, word) if is_word(node, word) => {
                Some(Value::Text((*word).to_owned()))
            }
            Kind::SectionOr(section, _) => match node.data {
                Data::Map(_) => self.section(node, section, path).map(Value::Section),
                Data::Scalar { .. } | Data::List(_) => {
                    self.mismatch(node, kind, path);
                    None
                }
            },
            Kind::Named(section) => self.named(node, section, path).map(Value::Named),
            Kind::Entries(section) => self.entries(node, section, path),
            Kind::Json => Some(Value::Json(json::from_node(node))),
        };
        value.map(|value| Marked { value, at: node.at })
    }

    fn text(&mut self, node: &Node, text: Text, path: &str) -> Option<String> {
        if text == Text::Secret && !is_reference(node) {
            hide(node, self.problems);
        }
        let Data::Scalar { text: typed, .. } = &node.data else {
            self.mismatch(node, kind_of(text), path);
            return None;
        };
        if node.is_null() {
            self.problems
                .error(node.at, path, format!("`{}` has no value", last(path)))
                .help("leave the key out, or write \"\" for an empty text");
            return None;
        }
        if text == Text::Prose {
            self.prose(node, typed, path);
            return Some(typed.clone());
        }
        let value = self.expanded(node.at, typed, path)?;
        let values = &mut self.problems.values;
        match (text, expand::secret_reference(typed)) {
            (_, Some(name)) => values.note(name, &value),
            (Text::Secret, None) => values.note(path, &value),
            (Text::Plain | Text::Prose, None) => values.note_url(&value),
        }
        Some(value)
    }

    fn prose(&mut self, node: &Node, typed: &str, path: &str) {
        let Some((_, after)) = typed.split_once("${") else { return };
        let name = after.split('}').next().unwrap_or_default();
        if expand::is_name(name) {
            self.problems
                .warning(
                    node.at,
                    path,
                    format!("`${{{name}}}` is not expanded in `{}`", last(path)),
                )
                .help("variables work in settings, not in texts that people and models read");
        }
    }

    fn expanded(&mut self, at: Span, typed: &str, path: &str) -> Option<String> {
        match expand::expand(typed, self.environment) {
            Ok(text) => Some(text),
            Err(bad) => {
                self.problems.error(at, path, format!("`{path}`: {bad}")).help(bad.help());
                None
            }
        }
    }

    fn flag(&mut self, node: &Node, path: &str) -> Option<bool> {
        match &node.data {
            Data::Scalar { text, style: Style::Plain } => match text.as_str() {
                "true" | "True" | "TRUE" => return Some(true),
                "false" | "False" | "FALSE" => return Some(false),
                "yes" | "on" | "Yes" | "On" | "y" => {
                    self.wrong(node, &describe(&Kind::Flag), path).help("write `true`");
                    return None;
                }
                "no" | "off" | "No" | "Off" | "n" => {
                    self.wrong(node, &describe(&Kind::Flag), path).help("write `false`");
                    return None;
                }
                _ => {}
            },
            Data::Scalar { .. } | Data::List(_) | Data::Map(_) => {}
        }
        self.mismatch(node, &Kind::Flag, path);
        None
    }

    fn whole(&mut self, node: &Node, range: Range, path: &str) -> Option<u64> {
        let Data::Scalar { text, style } = &node.data else {
            self.wrong(node, &describe_range(range), path);
            return None;
        };
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if is_digits { text.parse().ok() } else { None };
        match (number, style) {
            (Some(number), Style::Plain) if (range.least..=range.most).contains(&number) => {
                return Some(number);
            }
            (Some(_), Style::Quoted) => {
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
        node: &Node,
        choices: &'static [&'static str],
        path: &str,
    ) -> Option<String> {
        if let Data::Scalar { text, .. } = &node.data {
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

    /// Words are split before variables are expanded: a value cannot add a word.
    fn words(&mut self, node: &Node, path: &str) -> Option<Vec<String>> {
        let typed = match &node.data {
            Data::Scalar { text, .. } if !node.is_null() => match shell_words::split(text) {
                Ok(words) => words.into_iter().map(|word| (word, node.at)).collect(),
                Err(_) => {
                    self.problems
                        .error(node.at, path, format!("a quote in `{}` is not closed", last(path)))
                        .help("write a list: [\"program\", \"first argument\"]");
                    return None;
                }
            },
            Data::List(items) => items
                .iter()
                .filter_map(|item| match &item.data {
                    Data::Scalar { text, .. } if !item.is_null() => Some((text.clone(), item.at)),
                    Data::Scalar { .. } | Data::List(_) | Data::Map(_) => {
                        self.wrong(item, "a text", &format!("{path}[]"));
                        None
                    }
                })
                .collect::<Vec<_>>(),
            Data::Scalar { .. } | Data::Map(_) => {
                self.mismatch(node, &Kind::Words, path);
                return None;
            }
        };
        let words: Vec<Option<String>> =
            typed.iter().map(|(word, at)| self.expanded(*at, word, path)).collect();
        let words: Vec<String> = words.into_iter().collect::<Option<_>>()?;
        for ((typed, _), word) in typed.iter().zip(&words) {
            if let Some(name) = expand::secret_reference(typed) {
                self.problems.values.note(name, word);
            }
        }
        let secret = self.problems.values.note_words(&words);
        for ((word, at), is_secret) in typed.iter().zip(secret) {
            let is_own = matches!(node.data, Data::List(_)) && !expand::is_reference(word);
            if is_secret && is_own {
                self.problems.hide(*at);
            }
        }
        Some(words)
    }

    fn list(&mut self, node: &Node, inner: &'static Kind, path: &str) -> Option<Value> {
        let Data::List(items) = &node.data else {
            let wanted = describe(&Kind::List(inner));
            let found = self.wrong(node, &wanted, path);
            if matches!(node.data, Data::Scalar { .. }) {
                found.help(format!("write it in brackets: `{}: [ … ]`", last(path)));
            }
            return None;
        };
        let inside = format!("{path}[]");
        let read: Vec<Item> =
            items.iter().filter_map(|item| self.value(item, inner, &inside)).collect();
        if last(path) == "args" {
            self.hide_arguments(&read);
        }
        Some(Value::List(read))
    }

    /// What stands behind a flag that is named like a secret.
    fn hide_arguments(&mut self, read: &[Item]) {
        let text = |item: &Item| match &item.value {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        };
        let words: Vec<String> = read.iter().map(text).collect();
        for (item, is_secret) in read.iter().zip(self.problems.values.note_words(&words)) {
            if is_secret {
                self.problems.hide(item.at);
            }
        }
    }

    fn table(&mut self, node: &Node, inner: &'static Kind, path: &str) -> Option<Value> {
        let Data::Map(pairs) = &node.data else {
            self.mismatch(node, &Kind::Table(inner), path);
            return None;
        };
        let mut read = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let item = self.value(&pair.value, inner, &format!("{path}.{}", pair.key));
            let name = Marked { value: pair.key.clone(), at: pair.key_at };
            read.extend(item.map(|item| (name, item)));
        }
        Some(Value::Table(read))
    }

    fn named(
        &mut self,
        node: &Node,
        section: &'static Section,
        path: &str,
    ) -> Option<Vec<(Marked<String>, Fields)>> {
        let mut read = Vec::new();
        match &node.data {
            Data::Map(pairs) => {
                for pair in pairs {
                    let inside = format!("{path}.{}", pair.key);
                    let name = Marked { value: pair.key.clone(), at: pair.key_at };
                    read.extend(self.section(&pair.value, section, &inside).map(|it| (name, it)));
                }
            }
            Data::List(items) => {
                let mut seen = HashMap::new();
                for item in items {
                    let Some((name, rest)) = self.entry(item, path) else { continue };
                    if let Some(line) = seen.insert(name.value.clone(), name.at.line) {
                        let message = format!("`{}` is in `{}` twice", name.value, last(path));
                        let help = format!("it is first on line {line}; give one another name");
                        self.problems.error(name.at, path, message).help(help);
                        continue;
                    }
                    let inside = format!("{path}.{}", name.value);
                    let fields = self.fields((&rest, name.at), section, &inside);
                    read.push((name, fields));
                }
            }
            Data::Scalar { .. } => {
                self.mismatch(node, &Kind::Named(section), path);
                return None;
            }
        }
        Some(read)
    }

    /// One entry of a list of named things, its `name` taken out.
    fn entry(&mut self, item: &Node, path: &str) -> Option<(Marked<String>, Vec<Pair>)> {
        let Data::Map(pairs) = &item.data else {
            self.wrong(item, "a map with a `name`", &format!("{path}[]"));
            return None;
        };
        let (names, rest): (Vec<&Pair>, Vec<&Pair>) =
            pairs.iter().partition(|pair| pair.key == "name");
        let name = names.first().and_then(|pair| match &pair.value.data {
            Data::Scalar { text, .. } if !pair.value.is_null() => {
                Some(Marked { value: text.clone(), at: pair.value.at })
            }
            Data::Scalar { .. } | Data::List(_) | Data::Map(_) => None,
        });
        if name.is_none() {
            let at = pairs.first().map_or(item.at, |pair| pair.key_at);
            self.problems
                .error(at, path, format!("an entry of `{}` has no `name`", last(path)))
                .help("a list needs one in every entry; or write a map: the name, then its keys");
        }
        name.map(|name| (name, rest.into_iter().cloned().collect()))
    }

    fn entries(&mut self, node: &Node, section: &'static Section, path: &str) -> Option<Value> {
        let Data::List(items) = &node.data else {
            self.mismatch(node, &Kind::Entries(section), path);
            return None;
        };
        let mut read = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let fields = self.section(item, section, &format!("{path}[{index}]"));
            read.extend(fields.map(|it| Marked { value: Value::Section(it), at: item.at }));
        }
        Some(Value::List(read))
    }

    /// Reports the key; says which one was meant, so that it is not also reported as missing.
    fn unknown(
        &mut self,
        pair: &Pair,
        section: &'static Section,
        path: &str,
    ) -> Option<&'static str> {
        let near = nearest(&pair.key, section.names());
        let is_secret = near.and_then(|name| section.key(name)).is_some_and(Key::is_secret)
            || sounds_secret(&pair.key)
            || path.len() > 1 && section.keys.iter().any(Key::is_secret);
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

    fn missing(&mut self, key: &Key, section: &Section, fields: &Fields) {
        let message = format!("`{}` is missing", key.name);
        let place = if fields.path.is_empty() { section.title } else { &fields.path };
        self.problems
            .error(fields.at, &fields.path(key.name), message)
            .help(format!("`{place}` needs it: {}", lower_first(key.about)));
    }

    fn mismatch(&mut self, node: &Node, kind: &Kind, path: &str) {
        if kind.holds_secrets() {
            hide(node, self.problems);
            let message = format!("{} must be {}", named(path), describe(kind));
            self.problems.error(node.at, path, message);
        } else {
            self.wrong(node, &describe(kind), path);
        }
    }

    fn wrong(
        &mut self,
        node: &Node,
        wanted: &str,
        path: &str,
    ) -> &mut super::diagnostic::Diagnostic {
        let found = match &node.data {
            _ if node.is_null() => "nothing".to_owned(),
            Data::Scalar { text, .. } => format!("`{}`", shortened(text)),
            Data::List(_) => "a list".to_owned(),
            Data::Map(_) => "a map".to_owned(),
        };
        let message = format!("{} must be {wanted}, not {found}", named(path));
        self.problems.error(node.at, path, message)
    }
}

fn hide(node: &Node, problems: &mut Problems) {
    match &node.data {
        Data::Scalar { .. } => problems.hide(node.at),
        Data::List(items) => items.iter().for_each(|item| hide(item, problems)),
        Data::Map(pairs) => pairs.iter().for_each(|pair| hide(&pair.value, problems)),
    }
}

fn is_reference(node: &Node) -> bool {
    match &node.data {
        Data::Scalar { text, .. } => expand::is_reference(text),
        Data::List(_) | Data::Map(_) => false,
    }
}

/// Whether a thing of this name is likely to be nobody's business.
pub fn sounds_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["token", "secret", "key", "pass", "auth", "credential"].iter().any(|word| name.contains(word))
}

fn kind_of(text: Text) -> &'static Kind {
    match text {
        Text::Plain => &Kind::Text(Text::Plain),
        Text::Prose => &Kind::Text(Text::Prose),
        Text::Secret => &Kind::Text(Text::Secret),
    }
}

fn is_word(node: &Node, word: &str) -> bool {
    matches!(&node.data, Data::Scalar { text, .. } if text == word)
}
