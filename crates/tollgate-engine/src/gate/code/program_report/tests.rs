use std::time::Duration;

use tollgate_core::json::raw;
use tollgate_sandbox::frames::{ProgramError, ProgramErrorKind};
use tollgate_sandbox::sandbox::ProgramOutcome;

use super::{ProgramReport, report};

fn ended(prints: &str, result: Option<&str>) -> ProgramOutcome {
    let result = Ok(result.map(|text| raw(text.to_owned())));
    ProgramOutcome { prints: prints.to_owned(), calls: 2, steps: 9, took: Duration::ZERO, result }
}

fn check(ended: &ProgramOutcome, expected: &str) {
    let text = match report(ended) {
        ProgramReport::Well(text) | ProgramReport::Failed(text) => text,
    };
    assert_eq!(text, expected);
}

#[test]
fn a_model_gets_what_was_printed_and_the_result() {
    check(&ended("", Some(r#"{"a":[1,2]}"#)), r#"{"a":[1,2]}"#);
    check(&ended("one\ntwo\n", None), "one\ntwo");
    check(&ended("one\n", Some("2")), "one\nresult = 2");
    check(&ended("", None), "done; it printed nothing and set no `result`");
    check(&ended("", Some("null")), "done; it printed nothing and set no `result`");
}

#[test]
fn a_failure_says_where_what_to_write_and_what_was_done() {
    let failed = ProgramError {
        kind: ProgramErrorKind::Runtime,
        message: "key `b` is not in the dict".to_owned(),
        line: Some(3),
        column: Some(5),
        text: Some("  x = a[\"b\"]".to_owned()),
        hint: Some("use `a.get(\"b\")`".to_owned()),
    };
    check(
        &ProgramOutcome { result: Err(failed), ..ended("so far\n", None) },
        "the program failed: key `b` is not in the dict\nline 3: x = a[\"b\"]\nhint: use \
         `a.get(\"b\")`\n2 calls were made before; nothing is undone\nprinted before:\nso far",
    );
}
