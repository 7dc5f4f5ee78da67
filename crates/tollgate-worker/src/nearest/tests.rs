use super::{join_names, nearest};

#[track_caller]
fn check(meant: &str, known: &str, found: &str) {
    assert_eq!(nearest(meant, known.split(' ')).join(" "), found);
}

#[test]
fn near_names_come_first() {
    check("get_isue", "get_issue list_issues post", "get_issue");
    check("getIssue", "post get_issue", "get_issue");
    check(
        "issue",
        "get_issue list_issues close_issue issue_types more",
        "get_issue close_issue issue_types",
    );
    check("a", "b c", "");
    check("unheard", "get_issue post", "");
    check("", "get_issue post", "");
}

#[test]
fn lists_read_like_sentences() {
    assert_eq!(join_names(&[]), "");
    assert_eq!(join_names(&["a"]), "`a`");
    assert_eq!(join_names(&["a", "b", "c"]), "`a`, `b` or `c`");
}
