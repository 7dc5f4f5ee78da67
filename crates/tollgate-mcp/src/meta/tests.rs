use tollgate_core::json::raw;

use super::{ClientFacts, TASKS_EXTENSION};

/// Which of the things that are asked for the client has.
fn check(capabilities: Option<&str>, expected: &str) {
    let capabilities = capabilities.map(|text| raw(text.to_owned()));
    let client = ClientFacts { capabilities, ..ClientFacts::default() };
    let seen = [
        ("declared", client.declared_capabilities().is_some()),
        ("sampling", client.capability("sampling").is_some()),
        ("roots", client.capability("roots").is_some()),
        ("answers", client.can_answer()),
        ("tasks", client.has_extension(TASKS_EXTENSION)),
    ];
    let seen: Vec<&str> = seen.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect();
    assert_eq!(seen.join(" "), expected);
}

#[test]
fn a_client_can_do_what_it_declared_and_nothing_else() {
    check(None, "");
    check(Some("{}"), "");
    check(Some("[]"), "");
    check(Some("{ }"), "declared");
    check(Some(r#"{"sampling":{}}"#), "declared sampling answers");
    check(Some(r#"{"roots":{},"experimental":{}}"#), "declared roots answers");
    check(Some(r#"{"elicitation":{"url":{}}}"#), "declared answers");
    let tasks = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    check(Some(tasks), "declared tasks");
}
