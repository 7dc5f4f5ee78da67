//! What a program can name, and what it cannot reach by any name.

use crate::rehearsal::{FENCE, check, check_hint, rehearse};

#[test]
fn a_server_lists_its_tools() {
    check("result = dir(github)", r#"= ["close_issue","get_issue","list_issues"]"#);
    check(
        "result = [hasattr(github, 'get_issue'), hasattr(github, 'x'), getattr(github, 'x', None)]",
        "= [true,false,null]",
    );
    check(
        "result = [str(github.get_issue), type(github.get_issue), type(github)]",
        r#"= ["<tool github.get_issue>","tool","server"]"#,
    );
    check(
        "result = [github.get_issue == github.get_issue, github.get_issue == slack.post]",
        "= [true,false]",
    );
}

#[test]
fn a_wrong_tool_is_found_before_anything_runs() {
    check(
        "slack.post()\nif False:\n    github.get_isue(1)",
        "! syntax 3: `github` has no tool `get_isue`",
    );
    check_hint("github.get_isue(1)", "did you mean `get_issue`?");
    check_hint("github.getIssues(1)", "`list_issues`");
    check_hint("github.zzzzzzzz(1)", "its tools are get_issue, list_issues, close_issue");
    check("x = [f'{slack.nope}']", "! syntax 1: `slack` has no tool `nope`");
    check("def f(x=slack.nope): pass", "! syntax 1: `slack` has no tool `nope`");
    check("y = {slack.nope: 1}", "! syntax 1: `slack` has no tool `nope`");
}

#[test]
fn a_name_of_the_programs_own_is_not_a_server() {
    check("slack = {'a': 1}\nresult = slack.get('a')", "= 1");
    check("result = [slack.upper() for slack in ['a']]", r#"= ["A"]"#);
    check("result = (lambda slack: slack.upper())('a')", r#"= "A""#);
    check("def f(slack):\n    return slack.upper()\nresult = f('a')", r#"= "A""#);
}

#[test]
fn a_wrong_tool_by_another_name_is_found_when_it_runs() {
    check("s = github\ns.get_isue()", "! runtime 2: `github` has no tool `get_isue`");
    check_hint("s = github\ns.get_isue()", "`get_issue`");
    check("getattr(github, 'hidden')()", "! runtime 1: `github` has no tool `hidden`");
}

#[test]
fn a_wrong_tool_is_not_told_of_another_servers() {
    for source in [
        "s = slack\ns.get_isue()",
        "getattr(slack, 'get_isue')",
        "hasattr(github, 'x')\ngetattr(github, 'x', None)\ngetattr(slack, 'get_isue')",
    ] {
        let ran = rehearse(source, FENCE);
        let failed = ran.failed();
        assert_eq!(failed.message, "`slack` has no tool `get_isue`", "{source}");
        assert_eq!(failed.hint.as_deref(), Some("its tools are post"), "{source}");
    }
}

#[test]
fn b_st_11_nothing_is_loaded_or_imported() {
    check("load(\"/etc/passwd\", \"x\")", "! syntax 1: `load` is not allowed in this dialect");
    check("import os", "! syntax 1: cannot use reserved keyword `import`");
}

#[test]
fn b_st_11_names_of_pythons_inside_are_not_there() {
    for name in [
        "__builtins__",
        "__import__",
        "__file__",
        "globals",
        "locals",
        "vars",
        "eval",
        "exec",
        "compile",
        "open",
        "breakpoint",
        "debug",
        "pprint",
        "pstr",
        "prepr",
        "call_stack",
        "starlark_rust_internal",
        "setattr",
        "namespace",
        "record",
        "enum",
        "input",
        "object",
        "super",
        "classmethod",
        "memoryview",
        "id",
        "exit",
        "quit",
        "help",
    ] {
        check(&format!("x = {name}"), &format!("! syntax 1: variable `{name}` not found"));
    }
}

#[test]
fn b_st_11_attributes_lead_nowhere() {
    for source in [
        "().__class__",
        "''.__class__",
        "[].__class__.__bases__",
        "(lambda: 0).__globals__",
        "(lambda: 0).__code__",
        "len.__self__",
        "print.__module__",
        "github.__dict__",
        "github.get_issue.__func__",
        "json.__loader__",
    ] {
        let ran = rehearse(&format!("x = {source}"), FENCE);
        let message = &ran.failed().message;
        assert!(message.contains("has no"), "{source}: {message}");
    }
    check("x = getattr([], '__class__')", "! runtime 1: a list has no `__class__`");
}

#[test]
fn b_st_12_names_and_tools_cannot_be_changed() {
    for source in
        ["github.get_issue = 1", "github.extra = len", "json.encode = 1", "github.get_issue.x = 1"]
    {
        let ran = rehearse(source, FENCE);
        assert!(ran.failed().message.contains("not supported"), "{source}: {}", ran.transcript());
    }
}

#[test]
fn values_show_no_addresses() {
    let source = "def f(): pass\nprint(f, len, lambda: 0, github, github.get_issue, json, print, str, partial(len, []), {}.get, json.encode, struct(a=len), range(3), set([1]), typing)\nprint(repr([f, len, github.get_issue]))";
    let ran = rehearse(source, FENCE);
    assert!(!ran.output.contains("0x"), "{}", ran.output);
    assert!(ran.end.expect("it ends").is_ok());
}

#[test]
fn letters_of_other_scripts_make_no_names() {
    check("é = 1", "! syntax 1: invalid input `é`");
    check_hint("é = 1", "a to z");
    // Looks like `slack`, with a Cyrillic letter.
    check("sl\u{430}ck.post()", "! syntax 1: invalid input `\u{430}`");
}
