use super::{IdentifierRole, identifiers, is_identifier};

fn check(role: IdentifierRole, names: &str, expected: &str) {
    let names: Vec<&str> = names.split('|').collect();
    assert_eq!(identifiers(&names, role).join(" "), expected, "{names:?}");
}

#[test]
fn names_become_what_a_program_can_write() {
    check(
        IdentifierRole::Tool,
        "get_issue|getIssue|get-issue.v2",
        "get_issue getIssue get_issue_v2",
    );
    check(
        IdentifierRole::Tool,
        "2fa|import|load|None|print|list",
        "_2fa import_ load_ None_ print list",
    );
    check(
        IdentifierRole::Server,
        "print|result|json|my-server|try_call",
        "print_ result_ json_ my_server try_call_",
    );
    check(
        IdentifierRole::Parameter,
        "max-results|from|$top|filter[name]",
        "max_results from_ top filtername",
    );
    check(IdentifierRole::Tool, "größe|ｆｕｌｌ|сору", "groe full copy");
}

#[test]
fn nothing_left_of_a_name_is_marked() {
    check(IdentifierRole::Tool, "天気|予報", "tool_bc79 tool_ab7d");
    check(IdentifierRole::Parameter, "---", "argument_cb3f");
    let long = identifiers(&[&"x".repeat(100)], IdentifierRole::Tool).remove(0);
    assert!(long.len() < 80 && long.starts_with("xxx") && is_identifier(&long), "{long}");
}

#[test]
fn of_two_that_want_one_identifier_the_one_that_has_it_keeps_it() {
    check(IdentifierRole::Tool, "get-issue|get_issue", "get_issue_8ce0 get_issue");
    check(IdentifierRole::Tool, "get_issue|get-issue", "get_issue get_issue_8ce0");
    // Nobody has it: the first.
    check(IdentifierRole::Tool, "get-issue|get.issue", "get_issue get_issue_e799");
    check(
        IdentifierRole::Tool,
        "get-issue|get_issue|get_issue_8ce0",
        "get_issue_8ce06198 get_issue get_issue_8ce0",
    );
    check(IdentifierRole::Server, "json|json_", "json__02bd json_");
}

#[test]
fn an_identifier_stays_when_others_come_and_go() {
    let alone = identifiers(&["get-issue", "get_issue"], IdentifierRole::Tool);
    let among = identifiers(&["a", "get-issue", "get_issue", "zz-top"], IdentifierRole::Tool);
    assert_eq!(among[1..3], alone);
}

#[test]
fn whole_sets_have_no_name_twice() {
    let names: Vec<String> = (0..2_000).map(|at| "-.".repeat(at % 7) + &"é".repeat(at)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all = identifiers(&names, IdentifierRole::Tool);
    assert!(all.iter().all(|it| is_identifier(it)));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 2_000);
}
