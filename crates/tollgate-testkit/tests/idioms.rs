//! Idioms as rules: errors have types, parameters have names, each `let` binds one value, and a
//! `bool` is asked with `if`.

#![expect(clippy::unwrap_used, reason = "the pattern is a constant, and every file is in a crate")]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use tollgate_testkit::{RepositoryFile, sources};

/// What is not written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// `Result<T, String>`: callers can only print such an error. Use a type that ends in `Error`.
    StringError,
    /// `fn f((a, b): (A, B))`: use parameters, or a struct with a name.
    TupleParameter,
    /// `let (a, b) = (x, y);`: use two statements.
    PackedLet,
    /// `match flag { true => … }`: use `if`.
    BoolMatch,
    /// `fn f() -> (A, B, C)`, also inside an `Option` or a `Vec`: use a struct with a name.
    TripleReturn,
}

const RULES: [Rule; 5] =
    [Rule::StringError, Rule::TupleParameter, Rule::PackedLet, Rule::BoolMatch, Rule::TripleReturn];

impl Rule {
    /// Whether the rule holds for a file. Helpers of tests may return a few values at once.
    fn covers(self, path: &str) -> bool {
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        self != Self::TripleReturn || !is_test
    }
}

/// Comments and white space, literals, words with lifetimes, and everything else sign by sign.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?xs)
        \s+ | //[^\n]* | /\*.*?\*/
        | [bc]?r\#\#".*?"\#\# | [bc]?r\#".*?"\# | [bc]?r"[^"]*" | [bc]?"(?:[^"\\]|\\.)*"
        | b?'(?:[^'\\\n]|\\(?:u\{[^}]*\}|x..|.))' | \d\w*
        | '?[A-Za-z_]\w* | => | -> | :: | .
        "#,
    )
    .unwrap()
});

#[derive(Debug, Clone, Copy)]
struct Token<'t> {
    text: &'t str,
    line: usize,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut line = 1;
    let mut found = Vec::new();
    for token in TOKEN.find_iter(text) {
        let text = token.as_str();
        let is_comment = text.starts_with("//") || text.starts_with("/*");
        if !is_comment && !text.starts_with(char::is_whitespace) {
            found.push(Token { text, line });
        }
        line += text.matches('\n').count();
    }
    found
}

/// What stands between the bracket that `tokens` begins with and the one that closes it, and what
/// follows.
fn split_enclosed<'s, 't>(tokens: &'s [Token<'t>]) -> Option<(&'s [Token<'t>], &'s [Token<'t>])> {
    let mut depth = 0_usize;
    let counts_angles = tokens.first()?.text == "<";
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            "<" if counts_angles => depth += 1,
            ">" if counts_angles => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some((&tokens[1..at], &tokens[at + 1..]));
        }
    }
    None
}

/// The parts between commas that stand in no bracket. A comparison does not count as one.
fn items<'s, 't>(tokens: &'s [Token<'t>], counts_angles: bool) -> Vec<&'s [Token<'t>]> {
    let mut depth = 0_i32;
    let parts = tokens.split(|token| {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "<" if counts_angles => depth += 1,
            ">" if counts_angles => depth -= 1,
            _ => {}
        }
        token.text == "," && depth == 0
    });
    parts.filter(|part| !part.is_empty()).collect()
}

fn is_tuple_type(tokens: &[Token<'_>]) -> bool {
    let is_prefix = |token: &&Token<'_>| {
        token.text == "&" || token.text == "mut" || token.text.starts_with('\'')
    };
    let behind = &tokens[tokens.iter().take_while(is_prefix).count()..];
    if behind.first().is_none_or(|token| token.text != "(") {
        return false;
    }
    split_enclosed(behind)
        .is_some_and(|(inside, after)| after.is_empty() && items(inside, true).len() > 1)
}

fn is_string_error(from_result: &[Token<'_>]) -> bool {
    let Some((result, rest)) = from_result.split_first() else { return false };
    if result.text != "Result" || rest.first().is_none_or(|token| token.text != "<") {
        return false;
    }
    let arguments = split_enclosed(rest).map(|(inside, _)| items(inside, true)).unwrap_or_default();
    arguments.get(1).is_some_and(|error| error.len() == 1 && error[0].text == "String")
}

/// The tokens between the parentheses of the function that begins here, and what follows them.
fn split_signature<'s, 't>(from_fn: &'s [Token<'t>]) -> Option<(&'s [Token<'t>], &'s [Token<'t>])> {
    let [keyword, name, rest @ ..] = from_fn else { return None };
    let is_named = name.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if keyword.text != "fn" || !is_named {
        return None;
    }
    let mut rest = rest;
    if rest.first().is_some_and(|token| token.text == "<") {
        rest = split_enclosed(rest)?.1;
    }
    split_enclosed(rest)
}

/// Whether the function that begins here returns a tuple of three or more.
fn returns_triple(from_fn: &[Token<'_>]) -> bool {
    let Some((_, [arrow, after @ ..])) = split_signature(from_fn) else { return false };
    let ends = |token: &Token<'_>| ["{", ";", "where"].contains(&token.text);
    let returned = &after[..after.iter().position(ends).unwrap_or(after.len())];
    let is_triple = |at: &usize| {
        let is_function = at.checked_sub(1).is_some_and(|at| returned[at].text.starts_with("Fn"));
        returned[*at].text == "("
            && !is_function
            && split_enclosed(&returned[*at..])
                .is_some_and(|(inside, _)| items(inside, true).len() > 2)
    };
    arrow.text == "->" && (0..returned.len()).any(|at| is_triple(&at))
}

/// The lines of tuples among the parameters of the function that begins here.
fn tuple_parameters(from_fn: &[Token<'_>]) -> Vec<usize> {
    let Some((inside, _)) = split_signature(from_fn) else { return Vec::new() };
    let parameters = items(inside, true);
    let is_tuple = |parameter: &&&[Token<'_>]| {
        let after_colon = parameter.iter().position(|token| token.text == ":");
        let declared = after_colon.map(|at| &parameter[at + 1..]).unwrap_or_default();
        // A test of proptest has `value in strategy` in place of a type.
        let is_pattern = parameter[0].text == "(" && !declared.is_empty();
        is_pattern || is_tuple_type(declared)
    };
    parameters.iter().filter(is_tuple).map(|parameter| parameter[0].line).collect()
}

fn is_packed_let(before: Option<&Token<'_>>, from_let: &[Token<'_>]) -> bool {
    let is_condition = before.is_some_and(|token| ["if", "while", "&", "("].contains(&token.text));
    let [keyword, rest @ ..] = from_let else { return false };
    if keyword.text != "let" || is_condition || rest.first().is_none_or(|it| it.text != "(") {
        return false;
    }
    let Some((names, rest)) = split_enclosed(rest) else { return false };
    let equals = rest.iter().position(|token| ["=", ";"].contains(&token.text));
    let Some((equals, value)) = equals.and_then(|at| rest[at..].split_first()) else {
        return false;
    };
    if equals.text != "=" || value.first().is_none_or(|token| token.text != "(") {
        return false;
    }
    let Some((values, after)) = split_enclosed(value) else { return false };
    let ends = after.first().is_some_and(|token| token.text == ";");
    ends && items(names, false).len() > 1 && items(values, false).len() > 1
}

/// An arm of a `match` that begins with `true` or `false`.
fn is_bool_arm(before: Option<&Token<'_>>, from_pattern: &[Token<'_>]) -> bool {
    let begins = before.is_some_and(|token| ["{", "}", ","].contains(&token.text));
    let is_arm = |after: &Token<'_>| ["=>", "if"].contains(&after.text);
    let [pattern, after, ..] = from_pattern else { return false };
    begins && ["true", "false"].contains(&pattern.text) && is_arm(after)
}

/// The lines that break `rule`.
fn violations(rule: Rule, tokens: &[Token<'_>]) -> Vec<usize> {
    let mut lines = Vec::new();
    for at in 0..tokens.len() {
        let from_here = &tokens[at..];
        let before = at.checked_sub(1).map(|at| &tokens[at]);
        let is_found = match rule {
            Rule::TupleParameter => {
                lines.extend(tuple_parameters(from_here));
                continue;
            }
            Rule::StringError => is_string_error(from_here),
            Rule::PackedLet => is_packed_let(before, from_here),
            Rule::BoolMatch => is_bool_arm(before, from_here),
            Rule::TripleReturn => returns_triple(from_here),
        };
        if is_found {
            lines.push(tokens[at].line);
        }
    }
    lines
}

#[test]
fn crates_keep_the_idioms() {
    let mut found = Vec::new();
    let mut crates = BTreeSet::new();
    for RepositoryFile { path, text } in sources("crates", ".rs") {
        crates.insert(path.split('/').nth(1).unwrap().to_owned());
        let tokens = tokens(&text);
        for rule in RULES.into_iter().filter(|rule| rule.covers(&path)) {
            let lines = violations(rule, &tokens).into_iter();
            found.extend(lines.map(|line| format!("{path}:{line}: {rule:?}")));
        }
    }
    assert!(crates.len() >= 15, "every crate is read: {crates:?}");
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

#[test]
fn errors_that_are_texts_are_found() {
    let check = |text: &str, expected: &[usize]| {
        assert_eq!(violations(Rule::StringError, &tokens(text)), expected, "{text}");
    };
    check("fn f() -> Result<u8, String> {}", &[1]);
    check("fn f() -> Result<HashMap<String, (u8, u8)>, String> {}", &[1]);
    check("type F =\n    Box<dyn Fn(u8) -> BoxFuture<'static, Result<(), String>>>;", &[2]);
    check("fn f() -> Result<\n    Vec<u8>,\n    String,\n> {}", &[1]);
    check("fn f() -> Result<String, ReadError> {}", &[]);
    check("fn f() -> Result<String> {}", &[]);
    check("// Result<u8, String>\nlet text = \"Result<u8, String>\";", &[]);
}

#[test]
fn tuples_in_place_of_parameters_are_found() {
    let check = |text: &str, expected: &[usize]| {
        assert_eq!(violations(Rule::TupleParameter, &tokens(text)), expected, "{text}");
    };
    check("fn f((a, b): (A, B)) {}", &[1]);
    check("fn f<T: Into<A>>(&self, of: &mut (A, B)) {}", &[1]);
    check("fn f(\n    one: u8,\n    (a, b): Alias<'_>,\n) {}", &[3]);
    check("fn f(of: &'static (A, Vec<B>), other: (C, D)) {}", &[1, 1]);
    check("fn f(all: &[(A, B)], map: HashMap<A, (B, C)>, unit: ()) {}", &[]);
    check("fn f(act: impl Fn(A, B) -> (C, D)) -> (A, B) {}", &[]);
    check("let f = |(key, value)| key;", &[]);
    check("fn f(value in (0..4, 1..3)) {}", &[]);
}

#[test]
fn returned_tuples_of_three_are_found() {
    let check = |text: &str, expected: &[usize]| {
        assert_eq!(violations(Rule::TripleReturn, &tokens(text)), expected, "{text}");
    };
    check("fn f() -> (A, B, C) {}", &[1]);
    check("fn f<T>(a: A) -> Result<Vec<(A, B, Vec<(C, D)>)>, E>\nwhere T: Copy {}", &[1]);
    check("trait T {\n    fn f(&self) -> Option<(A, B, C)>;\n}", &[2]);
    check("fn f() -> (A, B) { (a, b, c) }", &[]);
    check("fn f() -> impl Fn(A, B, C) -> (D, E) {}", &[]);
    check("fn f(a: &[(A, B, C)]) -> [A; 3] {}", &[]);
}

#[test]
fn lets_that_bind_several_values_are_found() {
    let check = |text: &str, expected: &[usize]| {
        assert_eq!(violations(Rule::PackedLet, &tokens(text)), expected, "{text}");
    };
    check("let (a, b) = (x, y);", &[1]);
    check("let (mut a, Point { x, .. }): (u8, Point) =\n    (f(1, 2), y);", &[1]);
    check("let (a, b) = pair();", &[]);
    check("let (a, b) = (x + y).split();", &[]);
    check("let (Some(a), Some(b)) = (x, y) else { return };", &[]);
    check("if let (Some(a), Some(b)) = (x, y) {}", &[]);
    check("if ready && let (Some(a), Some(b)) = (x, y) {}", &[]);
    check("let a = '('; let b = \"(\"; let c = r#\"(\"#;\nlet (a, b) = (x, y);", &[2]);
}

#[test]
fn matches_on_bool_are_found() {
    let check = |text: &str, expected: &[usize]| {
        assert_eq!(violations(Rule::BoolMatch, &tokens(text)), expected, "{text}");
    };
    check("match ready {\n    true => 1,\n    false => 2,\n}", &[2, 3]);
    check("match ready { false if late => {} _ => 2 }", &[1]);
    check("match one { Some(true) => 1, Some(false) | None => 2 }", &[]);
    check("match (one, two) { (true, _) => 1, (false, true) => 2 }", &[]);
    check("let all = [true, false];", &[]);
}
