//! Names as rules: every term of `docs/glossary.md` is found where the glossary says, names of the
//! code come from the field, and one name stands for one thing.

#![expect(clippy::unwrap_used, reason = "the patterns are constants")]

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use tollgate_testkit::{RepositoryFile, root, sources};

/// What an engineer of the field would search for. Each must be the name, or in the first comment, of
/// the file that does it.
const SEARCHED: [&str; 19] = [
    "anti-spam",
    "cooldown",
    "retry budget",
    "circuit breaker",
    "single flight",
    "SSRF",
    "prompt injection",
    "JWT",
    "hysteresis",
    "session registry",
    "barge-in",
    "allowlist",
    "token bucket",
    "load shedding",
    "back-pressure",
    "quarantine",
    "hedging",
    "late result",
    "expose_as collision",
];

/// Words of no field that once named types, functions or modules here.
const OBSCURE: &[&str] = &[
    "Boarded",
    "Cargo",
    "Charter",
    "Crowd",
    "Desk",
    "Doubts",
    "Drawer",
    "Errand",
    "Fleet",
    "Furnish",
    "Glance",
    "Guest",
    "Guests",
    "Habit",
    "Hall",
    "Hearer",
    "Keeper",
    "Landed",
    "Lane",
    "Lanes",
    "Lessons",
    "Mouth",
    "Owed",
    "Ploy",
    "Purse",
    "Reform",
    "Refurnish",
    "Said",
    "Secretive",
    "Shelf",
    "Stirred",
    "Stock",
    "Strays",
    "Stretch",
    "Surroundings",
    "Sway",
    "Tending",
    "Told",
    "Turnover",
    "Turnstile",
    "Upkeep",
    "Visit",
];

/// What plain English may say inside a name, but no local name alone: it says nothing of the thing.
const OBSCURE_LOCALS: &[&str] = &["House", "Mind", "Noise", "Seat", "Trip"];

/// Participles and metaphors that say nothing alone: a field `told`, a variant `Said`, a function
/// `asked`. Inside a longer name they may be plain English (`kept_dice`, `is_said`).
const OBSCURE_ALONE: &[&str] =
    &["Asked", "Born", "Heard", "House", "Kept", "Leg", "Mind", "Seat", "Spot", "Trip", "Wanted"];

/// How many things one type name may stand for.
const MAX_MEANINGS: usize = 3;

struct GlossaryTerm {
    term: String,
    file: String,
}

fn glossary() -> Vec<GlossaryTerm> {
    let text = std::fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary");
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.contains("](../"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 3, "a row has a term, its meaning and its file: {row}");
        let link = cells[2].split_once("](../").expect("a link").1;
        let file = link.trim_end_matches(')').to_owned();
        GlossaryTerm { term: cells[0].to_owned(), file }
    })
    .collect()
}

/// Without what people write differently.
fn normalize(text: &str) -> String {
    text.to_lowercase().chars().filter(|it| it.is_alphanumeric()).collect()
}

/// The path inside the crate, and the comment that says what the file is for.
fn purpose(source: &RepositoryFile) -> String {
    let comment = source.text.lines().map_while(|line| line.strip_prefix("//!"));
    let path = source.path.split_once("/src/").map_or(&*source.path, |(_, inside)| inside);
    normalize(&format!("{path} {}", comment.collect::<String>()))
}

fn product_code() -> Vec<RepositoryFile> {
    let is_test = Regex::new(r"/tests?(/|\.rs$)|^crates/tollgate-(testkit|bench|fuzz)/").unwrap();
    let mut found = sources("crates", ".rs");
    found.retain(|source| !is_test.is_match(&source.path) && source.path.contains("/src/"));
    found
}

#[test]
fn each_term_is_in_the_file_that_the_glossary_names() {
    let code = sources("crates", ".rs");
    let terms = glossary();
    for GlossaryTerm { term, file } in &terms {
        let source = code.iter().find(|source| source.path == *file);
        let source = source.unwrap_or_else(|| panic!("{term}: there is no {file}"));
        let is_found = purpose(source).contains(&normalize(term));
        assert!(is_found, "{file} says `{term}` neither in its name nor in its first comment");
    }
    let mut seen = BTreeSet::new();
    for GlossaryTerm { term, .. } in &terms {
        assert!(seen.insert(normalize(term)), "`{term}` is in the glossary twice");
    }
    for searched in SEARCHED {
        let is_listed = seen.iter().any(|term| *term == normalize(searched));
        assert!(is_listed, "`{searched}` is not in the glossary");
    }
}

#[test]
fn names_are_words_of_the_field() {
    let item = Regex::new(
        r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:async )?(struct|enum|trait|type|fn|mod|const|static) (\w+)",
    );
    let item = item.unwrap();
    let word = Regex::new(r"[A-Z]?[a-z]+").unwrap();
    let mut found = Vec::new();
    for source in product_code() {
        for named in item.captures_iter(&source.text) {
            let name = &named[2];
            // A word in the name of a function may be plain English: `is_told`.
            let words: Vec<String> = match &named[1] {
                "fn" => vec![capitalize(name)],
                "const" | "static" => {
                    name.split('_').map(|it| capitalize(&it.to_lowercase())).collect()
                }
                _ => word.find_iter(name).map(|it| capitalize(it.as_str())).collect(),
            };
            let is_whole = |it: &String| *it == capitalize(name) && OBSCURE_ALONE.contains(&&**it);
            let is_obscure = |it: &String| OBSCURE.contains(&&**it) || is_whole(it);
            let obscure = words.into_iter().filter(is_obscure);
            found.extend(obscure.map(|it| format!("{}: `{name}` ({it})", source.path)));
        }
    }
    assert!(found.is_empty(), "words that nobody searches for:\n{}", found.join("\n"));
}

/// A limit is called `MAX_` and what it limits, as in most crates, and a wait `_TIMEOUT`.
#[test]
fn limits_are_called_max() {
    let item = Regex::new(r"\b(?:const|static) ((?:MOST|LONGEST)(?:_\w+)?|(?:\w+_)?PATIENCE)\b");
    let item = item.unwrap();
    let mut found = Vec::new();
    for source in sources("crates", ".rs") {
        for named in item.captures_iter(&source.text) {
            found.push(format!("{}: `{}`", source.path, &named[1]));
        }
    }
    assert!(found.is_empty(), "say `MAX_…` or `…_TIMEOUT`:\n{}", found.join("\n"));
}

#[test]
fn locals_and_parameters_are_words_of_the_field() {
    let local = Regex::new(
        r"\blet (?:mut )?(?<local>[a-z]\w*)\b|[(,]\s*(?:mut )?(?<parameter>[a-z]\w*): &?(?:mut )?[A-Z\[]|\|(?<argument>[a-z]\w*)\|",
    );
    let local = local.unwrap();
    let mut count = 0;
    let mut found = Vec::new();
    for source in product_code() {
        for named in local.captures_iter(&source.text) {
            let name = ["local", "parameter", "argument"].iter().find_map(|it| named.name(it));
            let capital = capitalize(name.map_or("", |it| it.as_str()));
            count += 1;
            if OBSCURE.contains(&&*capital) || OBSCURE_LOCALS.contains(&&*capital) {
                found.push(format!("{}: `{}`", source.path, capital.to_lowercase()));
            }
        }
    }
    assert!(count > 20_000, "the locals are not found any more: {count}");
    assert!(found.is_empty(), "words that nobody searches for:\n{}", found.join("\n"));
}

/// The fields and variants that `source` declares. The bodies of structs and enums end with a brace
/// as far left as their keyword.
fn members(source: &RepositoryFile) -> Vec<String> {
    let body = Regex::new(
        r"(?ms)^(?<indent> *)(?:pub(?:\([^)]*\))? )?(?:struct|enum) \w+[^;{}]*\{\n(?<body>.*?)^ *\}$",
    );
    let member =
        Regex::new(r"(?m)(?:^ +|[{,] )(?:pub(?:\([^)]*\))? )?_?([A-Za-z]\w*)(?:: |,|\(| \{)");
    let body = body.unwrap();
    let member = member.unwrap();
    let mut found = Vec::new();
    for declared in body.captures_iter(&source.text) {
        let code = declared["body"].lines().filter(|line| !line.trim_start().starts_with('/'));
        let code: String = code.flat_map(|line| [line, "\n"]).collect();
        found.extend(member.captures_iter(&code).map(|it| it[1].to_owned()));
    }
    found
}

#[test]
fn fields_and_variants_are_words_of_the_field() {
    let mut count = 0;
    let mut found = Vec::new();
    for source in product_code() {
        for name in members(&source) {
            count += 1;
            let capital = capitalize(&name);
            if OBSCURE.contains(&&*capital) || OBSCURE_ALONE.contains(&&*capital) {
                found.push(format!("{}: `{name}`", source.path));
            }
        }
    }
    assert!(count > 5_000, "the fields are not found any more: {count}");
    assert!(found.is_empty(), "words that nobody searches for:\n{}", found.join("\n"));
}

fn capitalize(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[test]
fn a_type_name_stands_for_few_things() {
    let item =
        Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) (\w+)").unwrap();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in product_code() {
        for named in item.captures_iter(&source.text) {
            places.entry(named[1].to_owned()).or_default().push(source.path.clone());
        }
    }
    assert!(places.len() > 1_000, "the types are not found any more");
    places.retain(|_, places| places.len() > MAX_MEANINGS);
    assert!(places.is_empty(), "say of what: {places:#?}");
}

#[test]
fn error_types_end_in_error() {
    let item = Regex::new(
        r"(?m)^#\[derive\([^\n]*\bError\b[^\n]*\)\]\n(?:(?:#\[|///)[^\n]*\n)*(?:pub(?:\([^)]*\))? )?(?:struct|enum) (\w+)",
    );
    let item = item.unwrap();
    let mut count = 0;
    for source in product_code() {
        for named in item.captures_iter(&source.text) {
            count += 1;
            assert!(named[1].ends_with("Error"), "{}: `{}` is an error", source.path, &named[1]);
        }
    }
    assert!(count > 50, "the error types are not found any more");
}
