//! Hints for failed programs: for habits of other languages, and for misspelled names. Pure; used
//! for failures only.

use tollgate_sandbox::frames::{InterpreterLimits, Names, ProgramErrorKind};

use crate::nearest::{join_names, nearest};

/// Hint for too much memory.
pub(crate) const LESS: &str =
    "keep only the needed parts of each result, and do not build huge strings or lists";

/// The names that a program can use, and its limits.
pub(crate) struct HintContext<'a> {
    pub(crate) names: &'a Names,
    /// Functions available to every program.
    pub(crate) globals: &'a [&'a str],
    pub(crate) fence: &'a InterpreterLimits,
    /// The server on which a tool was last not found, with its tools.
    pub(crate) missed: Option<&'a (String, Vec<String>)>,
}

/// Reserved words of Starlark, with what to use instead.
const WORDS: &[(&str, &str)] = &[
    (
        "import",
        "there is nothing to import: tools are called as `server.tool(name=value)`, and \
         `json.decode` and `json.encode` are built in",
    ),
    ("from", "there is nothing to import: tools are called as `server.tool(name=value)`"),
    (
        "try",
        "there is no `try`: write `outcome = try_call(server.tool, name=value)`, then `if outcome.ok:` uses `outcome.value`, `else:` has `outcome.error`",
    ),
    (
        "except",
        "there is no `except`: write `outcome = try_call(server.tool, name=value)` and look at `outcome.ok`",
    ),
    (
        "finally",
        "there is no `finally`: write `outcome = try_call(server.tool, name=value)` and look at `outcome.ok`",
    ),
    ("raise", "there is no `raise`: `fail(\"why\")` ends the program"),
    ("assert", "there is no `assert`: write `if not condition: fail(\"why\")`"),
    ("while", "there is no `while`: write `for _ in range(1000):` and leave it with `break`"),
    ("is", "there is no `is`: write `==` or `!=`, as in `value == None`"),
    ("class", "there are no classes: use dicts, `struct(name=value)` and functions"),
    (
        "await",
        "there is no `await`: calls return their results; `parallel([(server.tool, {\"name\": value}), …])` runs several at once",
    ),
    (
        "async",
        "there is no `async`: calls return their results; `parallel([(server.tool, {\"name\": value}), …])` runs several at once",
    ),
    ("with", "there is no `with`: there are no files and no connections here"),
    ("del", "there is no `del`: write `dict.pop(key)` or `list.pop(index)`"),
    (
        "global",
        "there is no `global`: functions read names of the program, and return what they change",
    ),
    ("nonlocal", "there is no `nonlocal`: return what changes, or keep it in a dict"),
    ("yield", "there is no `yield`: append to a list and return it"),
    ("as", "there is no `as`: assign with `=`"),
];

/// Names that models expect and Starlark does not have.
const NAMES: &[(&[&str], &str)] = &[
    (
        &["asyncio", "gather", "concurrent", "threading"],
        "`parallel([(server.tool, {\"name\": value}), …])` runs calls at once",
    ),
    (
        &["Exception", "ValueError", "KeyError", "TypeError", "RuntimeError"],
        "there are no exceptions: `fail(\"why\")` ends the program, `try_call(server.tool, \
         name=value)` reports a failed tool",
    ),
    (
        &[
            "time",
            "datetime",
            "sleep",
            "random",
            "os",
            "sys",
            "open",
            "requests",
            "subprocess",
            "input",
        ],
        "programs have no clock, no random numbers, no files and no network: they only call tools \
         and compute",
    ),
    (
        &["re"],
        "there are no regular expressions: strings have `find`, `split`, `partition`, `replace`, `startswith`, `removeprefix`, `strip`",
    ),
    (
        &["math"],
        "there is no `math`: `+ - * / // %`, `abs`, `min`, `max`, `sum`, `round`, `int`, `float` \
         are available",
    ),
    (&["dumps", "loads"], "write `json.encode(value)` and `json.decode(text)`"),
    (&["null", "undefined", "nil"], "write `None`"),
    (&["true"], "write `True`"),
    (&["false"], "write `False`"),
    (&["iter", "next"], "there are no iterators: loop over lists with `for`"),
    (
        &[
            "callable", "id", "eval", "exec", "compile", "globals", "locals", "vars", "setattr",
            "delattr", "super", "object", "property",
        ],
        "there is no equivalent here",
    ),
];

/// Parts of error messages, and their hints.
pub(crate) const SAYINGS: &[(&str, &str)] = &[
    (
        "f-string expression end",
        "placeholders in strings have no format: write `{round(x, 2)}`, or assign to a name first",
    ),
    (
        "inside replacement field",
        "placeholders in strings have no format: write `round(x, 2)`, `str(x)`",
    ),
    ("unsupported format character", "use `%s` or `%d`; write `round(x, 2)` for digits"),
    ("unexpected keyword 'for'", "there are no generators: write a list, `[… for … in …]`"),
    ("expected symbol ':'", "a set is written as `set([1, 2])`"),
    ("unexpected string literal", "join strings with `+`"),
    ("comparisons are not associative", "write `a < b and b < c`"),
    (
        "(iter)` not supported on type `string`",
        "a string's letters are `text.elems()`, its lines `text.splitlines()`; JSON in it is read with `json.decode(text)`",
    ),
    (
        "f-string",
        "keep the expression in braces short: assign it to a name first, and use that name in the \
         string",
    ),
    ("tabs are not allowed", "indent with spaces"),
    ("incorrect indentation", "indent with the same number of spaces at each level"),
    (
        "unfinished string literal",
        "a string must end on its own line; use triple quotes for longer ones",
    ),
    ("invalid input", "names have only the letters a to z, digits and `_`"),
    ("unexpected symbol '**'", "there is no `**`: multiply, or join dicts as `one | other`"),
    ("unexpected symbol '*'", "join lists as `one + other`"),
    ("unparenthesized tuple", "put the tuple into parentheses"),
    ("type expression", "remove the type annotations: they are not checked"),
    (
        "not a valid type annotation",
        "types are `str`, `int`, `float`, `bool`, `list`, `dict`, `tuple` and `set`",
    ),
    ("mutates an iterable", "loop over a copy: `for item in list(items):`"),
    (
        "referenced before assignment",
        "a function cannot assign to a name of the program: pass it in and return it, or keep it in a dict",
    ),
    ("`call()` not supported", "only functions and tools are called: `server.tool(name=value)`"),
    (
        "not enough arguments for format",
        "give as many values as the string has placeholders, or write an f-string",
    ),
    (
        "not enough parameters in format",
        "give as many values as the string has placeholders, or write an f-string",
    ),
    (
        "`in` not supported",
        "check it with `type(value)`: only strings, lists, dicts and sets support `in`",
    ),
    ("not supported for types `string` and `int`", "write `str(number)`, or an f-string"),
    ("not supported for types `int` and `string`", "write `str(number)`, or an f-string"),
    ("not supported for types `string` and", "write `str(value)`, or an f-string"),
    ("key `", "list the keys with `print(sorted(value))`, or write `value.get(key, default)`"),
    ("is out of bound", "check `len(value)` first: the list may be shorter, or empty"),
    ("(iter)", "check it with `type(value)`: results are often a dict with a list inside"),
    ("`[]` not supported", "check it with `type(value)`: a call may have returned None or text"),
];

pub(crate) fn of(kind: ProgramErrorKind, message: &str, known: &HintContext<'_>) -> Option<String> {
    match kind {
        ProgramErrorKind::Steps => {
            return Some("do less in one program, or end loops earlier with `break`".to_owned());
        }
        ProgramErrorKind::Depth if message.starts_with("the call stack") => {
            return Some("write a loop instead of a function that calls itself".to_owned());
        }
        ProgramErrorKind::Depth => {
            return Some("compare and print parts of the value, not all of it".to_owned());
        }
        ProgramErrorKind::Memory => return Some(LESS.to_owned()),
        _ => {}
    }
    if message.contains("reserved keyword") {
        let word = first_quoted(message)?;
        return WORDS.iter().find(|(it, _)| *it == word).map(|(_, hint)| (*hint).to_owned());
    }
    if message.starts_with("variable `") {
        return unknown_name(first_quoted(message)?, known);
    }
    if let Some((_, tools)) = known.missed
        && let Some((_, tool)) = message.split_once("` has no tool `")
        && message.starts_with('`')
    {
        return Some(missing_tool(tool.trim_end_matches('`'), tools));
    }
    if let Some((of, name)) = message.strip_prefix("a ").and_then(|it| it.split_once(" has no `")) {
        return missing_attribute(of, name.trim_end_matches('`'));
    }
    SAYINGS.iter().find(|(it, _)| message.contains(it)).map(|(_, hint)| (*hint).to_owned())
}

fn unknown_name(name: &str, known: &HintContext<'_>) -> Option<String> {
    if let Some((_, hint)) = NAMES.iter().find(|(names, _)| names.contains(&name)) {
        return Some((*hint).to_owned());
    }
    if let Some((server, _)) =
        known.names.iter().find(|(_, tools)| tools.iter().any(|it| it == name))
    {
        return Some(format!("tools are called by their server's name: `{server}.{name}(…)`"));
    }
    let servers = known.names.iter().map(|(server, _)| server.as_str());
    let near = nearest(name, servers.clone().chain(known.globals.iter().copied()));
    if !near.is_empty() {
        return Some(format!("did you mean {}?", join_names(&near)));
    }
    let servers: Vec<_> = servers.take(SHOWN).collect();
    (!servers.is_empty()).then(|| format!("servers are {}", join_names(&servers)))
}

/// Names listed if none is similar.
const SHOWN: usize = 10;

fn missing_attribute(of: &str, name: &str) -> Option<String> {
    match of {
        "dict" => Some(format!(
            "fields of a dict are read with brackets: `value[\"{name}\"]` or `value.get(\"{name}\")`"
        )),
        "tool" => Some(
            "a tool returns its result when it is called: `server.tool(name=value)`".to_owned(),
        ),
        "list" if name == "sort" => Some("write `value = sorted(value)`".to_owned()),
        "list" => {
            Some("that is a list: take one item, `value[0]`, or loop over it with `for`".to_owned())
        }
        "NoneType" => Some(
            "that is None: the call before it returned nothing, or a function has no `return`"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Suggests tools that the server has instead.
pub(crate) fn missing_tool(name: &str, tools: &[String]) -> String {
    let tools = tools.iter().map(String::as_str);
    let near = nearest(name, tools.clone());
    if !near.is_empty() {
        return format!("did you mean {}?", join_names(&near));
    }
    let more = if tools.len() > SHOWN { ", …" } else { "" };
    let shown: Vec<_> = tools.take(SHOWN).collect();
    format!("its tools are {}{more}", shown.join(", "))
}

/// The first text in backticks.
fn first_quoted(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once('`')?;
    rest.split_once('`').map(|(word, _)| word)
}
