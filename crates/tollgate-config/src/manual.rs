//! Generates `docs/configuration.md` from the tables, so that they cannot differ.

use super::table::{KeyKind, KeyPresence, SectionSpec, TOP, TextKind};

const INTRODUCTION: &str = "\
# Configuration

Generated from the tables in `crates/tollgate-config/src/table.rs` by `tollgate manual`; change it there.

Tollgate reads `--config FILE`, else `TOLLGATE_CONFIG`, else `tollgate.yaml` in the working directory, else the
built-in config (`crates/tollgate-config/src/default.yaml`). `--listen` and `--data` (`TOLLGATE_LISTEN`,
`TOLLGATE_DATA`) override the file. `tollgate check` finds errors without starting anything; `tollgate check --schema`
prints the JSON Schema. A commented example is in `docs/tollgate.example.yaml`.

- The file is YAML 1.2 in UTF-8, one document, at most 1 MiB. Duplicate and unknown keys are errors.
  Anchors, aliases and `<<` are supported; tags are not.
- Texts are used as typed: `no`, `12:30`, `0o17` and `8080` are valid texts without quotes. Numbers are digits without
  quotes. Switches are `true` or `false`.
- `${VAR}`, `${VAR:-default}` (also when the variable is empty) and `${file:/path}` (without its last line break) are
  expanded in texts marked *text* and *secret*, once: they do not nest, and values are not expanded again. A missing
  variable is an error. `$${VAR}` is a literal `${VAR}`. Texts marked *prose* are not expanded.
- Secrets are never shown: not in errors, logs, responses or the admin UI.
- `servers`, `tools`, `providers`, `models` and `agents` may also be written as a list whose entries have a `name`.
- Paths are relative to the working directory.
";

pub fn manual() -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut open: Vec<&SectionSpec> = vec![&TOP];
    let mut seen: Vec<&str> = Vec::new();
    while let Some(section) = open.pop() {
        if seen.contains(&section.title) {
            continue;
        }
        seen.push(section.title);
        write_section(section, &mut text);
        open.extend(section.keys.iter().rev().filter_map(|key| match &key.kind {
            KeyKind::Section(inner)
            | KeyKind::SectionOr(inner, _)
            | KeyKind::Named(inner)
            | KeyKind::Entries(inner) => Some(*inner),
            _ => None,
        }));
    }
    text
}

fn write_section(section: &SectionSpec, text: &mut String) {
    let title = if section.title == TOP.title {
        section.title.to_owned()
    } else {
        format!("`{}`", section.title)
    };
    text.push_str(&format!(
        "\n## {title}\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
    ));
    for key in section.keys {
        let default = match key.need {
            KeyPresence::Required => "**required**",
            KeyPresence::Default(default) => default,
        };
        let kind = describe(&key.kind);
        let about = key.about;
        text.push_str(&format!("| `{}` | {kind} | {default} | {about} |\n", key.name));
    }
}

fn describe(kind: &KeyKind) -> String {
    match kind {
        KeyKind::Text(TextKind::Plain) => "text".to_owned(),
        KeyKind::Text(TextKind::Prose) => "prose".to_owned(),
        KeyKind::Text(TextKind::Secret) => "secret".to_owned(),
        KeyKind::Flag => "`true`, `false`".to_owned(),
        KeyKind::Whole(range) => {
            let unit = if range.unit.is_empty() { "" } else { " " };
            format!("{} to {}{unit}{}", range.least, range.most, range.unit)
        }
        KeyKind::Choice(choices) => {
            choices.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
        }
        KeyKind::Words => "list of text, or one text".to_owned(),
        KeyKind::List(inner) => format!("list of {}", describe(inner)),
        KeyKind::Table(inner) => format!("map of names to {}", describe(inner)),
        KeyKind::Section(_) => "map, below".to_owned(),
        KeyKind::SectionOr(_, word) => format!("map, below, or `{word}`"),
        KeyKind::Named(_) => "map by name, below".to_owned(),
        KeyKind::Entries(_) => "list of maps, below".to_owned(),
        KeyKind::Json => "map".to_owned(),
    }
}
