use http::Uri;
use serde_json::json;
use tollgate_engine::audit::AuditDirection;

use super::csv;
use super::query_params::{AuditExportFormat, AuditQueryParams};

#[test]
fn no_cell_is_a_formula_or_breaks_its_line() {
    let check = |value: serde_json::Value, expected: &str| {
        let line = csv::line(&json!({ "sequence": 7, "name": value }));
        let cell =
            line.strip_prefix("7,,,,,,").unwrap().strip_suffix(&format!("{}\r\n", ",".repeat(14)));
        assert_eq!(cell, Some(expected), "{line}");
    };
    check(json!("plain"), "plain");
    check(json!(null), "");
    check(json!("a,b"), "\"a,b\"");
    check(json!("say \"hi\""), "\"say \"\"hi\"\"\"");
    check(json!("two\nlines"), "\"two\nlines\"");
    check(json!("=HYPERLINK(\"http://x\")"), "\"'=HYPERLINK(\"\"http://x\"\")\"");
    check(json!("+1"), "\"'+1\"");
    check(json!("-1"), "\"'-1\"");
    check(json!("@sum"), "\"'@sum\"");
    check(json!("\t=1"), "\"'\t=1\"");
    check(json!("＝1"), "\"'＝1\"");
    check(json!({"a": 1}), "\"{\"\"a\"\":1}\"");
    check(json!(true), "true");
    assert_eq!(csv::head().matches(',').count(), csv::line(&json!({})).matches(',').count());
}

#[test]
fn what_is_asked_for_is_checked() {
    let read = |query: &str| {
        let uri: Uri = format!("/api/audit?{query}").parse().unwrap();
        AuditQueryParams::read(&uri).map_err(|problem| problem.detail.into_owned())
    };
    let params = read("").unwrap();
    assert_eq!((params.format, params.query.limit), (AuditExportFormat::Json, 100));
    assert_eq!(params.query.direction, AuditDirection::NewestFirst);
    let params = read("format=csv&name=web_*&since=1h&after=7").unwrap();
    assert_eq!(
        (params.format, params.left, params.query.after),
        (AuditExportFormat::Csv, None, Some(7))
    );
    assert_eq!(params.query.direction, AuditDirection::OldestFirst);
    assert!(params.query.since.is_some() && params.query.name.is_some());
    assert_eq!(read("format=jsonl&limit=5000").unwrap().left, Some(5_000));
    for (query, expected) in [
        ("limit=0", "`limit` must be at least 1"),
        ("limit=1001", "`limit` is at most 1000; for more, `format=jsonl`"),
        ("limit=x", "`limit` must be a number"),
        ("after=-1", "`after` must be a number"),
        ("format=xml", "`format` is json, jsonl or csv"),
        ("order=up", "`order` is newest or oldest"),
        ("since=soon", "`since` is a time (`2026-11-15T10:00:00Z`) or a span (`1h`)"),
        ("since=1w", "`since` is a time (`2026-11-15T10:00:00Z`) or a span (`1h`)"),
        ("until=h", "`until` is a time (`2026-11-15T10:00:00Z`) or a span (`1h`)"),
        ("tool=a&tool=b", "`tool` appears twice"),
        ("tol=a", "there is no parameter `tol`; did you mean `tool`?"),
    ] {
        assert_eq!(read(query).unwrap_err(), expected, "{query}");
    }
    let long = "x".repeat(300);
    assert!(read(&format!("tool={long}")).is_err());
}
