//! Figures of the code that may not get worse: type names that are distinct, functions that are
//! verbs, functions that fit on a screen.

#![expect(clippy::unwrap_used, reason = "the patterns are constants")]

use std::collections::BTreeSet;

use regex::Regex;
use tollgate_testkit::{RepositoryFile, sources};

/// Of all names of types, how many are distinct.
const MIN_DISTINCT_PERCENT: usize = 95;

/// Functions named by a participle alone, in product and tests together: one in a hundred.
const MAX_PARTICIPLE_SHARE: usize = 100;

/// Of a function, with its signature.
const MAX_SCREEN_LINES: usize = 70;

/// Functions that are longer: one in two hundred.
const MAX_LONG_SHARE: usize = 200;

/// Participles that do not end in `ed`. Those that are verbs as well (`read`, `run`, `set`) are not
/// listed, nor those that are nouns (`thought`).
const IRREGULAR: &[&str] = &[
    "asked",
    "begun",
    "born",
    "bought",
    "bound",
    "broken",
    "brought",
    "built",
    "caught",
    "chosen",
    "done",
    "drawn",
    "driven",
    "fallen",
    "felt",
    "forgotten",
    "found",
    "frozen",
    "given",
    "gone",
    "got",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "laid",
    "led",
    "left",
    "lost",
    "made",
    "meant",
    "met",
    "paid",
    "risen",
    "said",
    "seen",
    "sent",
    "shown",
    "sold",
    "spent",
    "spoken",
    "stolen",
    "struck",
    "stuck",
    "taken",
    "taught",
    "thrown",
    "told",
    "understood",
    "won",
    "woken",
    "wound",
    "written",
];

/// Words in `ed` that are no participles, and `elapsed`, which the standard library has.
const VERBS_IN_ED: &[&str] =
    &["elapsed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"];

struct Function {
    path: String,
    name: String,
    lines: usize,
    is_product: bool,
}

fn is_test_path(path: &str) -> bool {
    let is_test = ["/tests/", "/tests.rs", "/test_fixtures.rs", "/fake_worker.rs"];
    let kits = ["tollgate-testkit/", "tollgate-bench/", "tollgate-fuzz/", "tollgate-model/"];
    is_test.iter().chain(&kits).any(|part| path.contains(part))
}

/// Without the tests at the end of a file.
fn shipped(source: &RepositoryFile) -> &str {
    source.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

fn functions() -> Vec<Function> {
    let head =
        Regex::new(r"(?m)^( *)(?:pub(?:\([^)]*\))? )?(?:default )?(?:const )?(?:async )?fn (\w+)");
    let head = head.unwrap();
    let mut found = Vec::new();
    for source in sources("crates", ".rs") {
        let shipped = shipped(&source).len();
        let is_test = is_test_path(&source.path);
        for named in head.captures_iter(&source.text) {
            let start = named.get(0).expect("the whole match").start();
            let end = format!("{}}}", &named[1]);
            let lines = source.text[start..].lines().take_while(|line| *line != end).count() + 1;
            found.push(Function {
                path: source.path.clone(),
                name: named[2].to_owned(),
                // Without a body, or with one on its own line, it is short.
                lines: if has_body(&source.text[start..]) { lines } else { 1 },
                is_product: !is_test && start < shipped,
            });
        }
    }
    assert!(found.len() > 15_000, "the functions are not found any more: {}", found.len());
    found
}

/// Whether a body of several lines follows the signature.
fn has_body(from_fn: &str) -> bool {
    let end = from_fn.find([';', '{']).unwrap_or(from_fn.len());
    from_fn[end..].starts_with("{\n")
}

fn is_participle(name: &str) -> bool {
    let is_regular = name.ends_with("ed") && !VERBS_IN_ED.contains(&name);
    !name.contains('_') && (is_regular || IRREGULAR.contains(&name))
}

#[test]
fn functions_are_not_named_by_a_participle() {
    let functions = functions();
    let participles: Vec<&Function> =
        functions.iter().filter(|function| is_participle(&function.name)).collect();
    let product: Vec<String> = participles
        .iter()
        .filter(|function| function.is_product)
        .map(|function| format!("{}: `{}`", function.path, function.name))
        .collect();
    assert!(product.is_empty(), "say what they do:\n{}", product.join("\n"));
    let most = functions.len() / MAX_PARTICIPLE_SHARE;
    assert!(participles.len() <= most, "{} of {}", participles.len(), functions.len());
}

#[test]
fn functions_fit_on_a_screen() {
    let functions = functions();
    let product: Vec<&Function> = functions.iter().filter(|it| it.is_product).collect();
    let long: Vec<String> = product
        .iter()
        .filter(|function| function.lines > MAX_SCREEN_LINES)
        .map(|function| format!("{}: `{}`: {}", function.path, function.name, function.lines))
        .collect();
    assert!(!long.is_empty(), "lines are not counted any more");
    assert!(long.len() <= product.len() / MAX_LONG_SHARE, "{}", long.join("\n"));
}

#[test]
fn type_names_are_distinct() {
    let item =
        Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) (\w+)").unwrap();
    let mut all = 0;
    let mut distinct = BTreeSet::new();
    for source in sources("crates", ".rs") {
        if source.path.contains("/src/") && !is_test_path(&source.path) {
            for named in item.captures_iter(shipped(&source)) {
                all += 1;
                distinct.insert(named[1].to_owned());
            }
        }
    }
    assert!(all > 1_000, "the types are not found any more: {all}");
    assert!(distinct.len() * 100 >= all * MIN_DISTINCT_PERCENT, "{} of {all}", distinct.len());
}
