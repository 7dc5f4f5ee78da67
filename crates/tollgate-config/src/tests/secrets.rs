//! Secrets stay out of everything that is printed.

use super::super::ColorMode;
use super::{Fake, load_with, report};

const CANARY: &str = "hunter2canary";

fn never_shown(text: &str) {
    let text = text.replace("CANARY", CANARY);
    let report = report(&text);
    assert!(!report.diagnostics.is_empty(), "{text}");
    for shown in [
        report.render(ColorMode::Plain),
        report.render(ColorMode::Coloured),
        report.to_json().to_string(),
        report.to_string(),
        format!("{report:?}"),
    ] {
        assert!(!shown.contains(CANARY), "{shown}");
    }
}

#[test]
fn mistakes_beside_a_secret_do_not_print_it() {
    for text in [
        "keys: [{ name: a, key: CANARY, rol: admin }]",
        "keys: [{ name: a, key: CANARY, role: CANARY-x }]"
            .replace("role: CANARY-x", "role: king")
            .as_str(),
        "keys: [{ name: a, kei: CANARY }]",
        "keys: [{ name: a, key: [CANARY] }]",
        "keys: CANARY",
        "servers: { a: { url: \"http://u:CANARY@h/\" } }",
        "servers: { a: { url: http://h/, auth: CANARY } }",
        "servers: { a: { url: http://h/, auth: { tokn: CANARY } } }",
        "servers: { a: { url: http://h/, auth: { token: { x: CANARY } } } }",
        "servers: { a: { url: http://h/, headers: { \"b d\": CANARY } } }",
        "servers: { a: { url: http://h/, headers: CANARY } }",
        "servers: { a: { url: http://h/, apiKey: CANARY } }",
        "servers: { a: { command: x, env: { A: CANARY }, bad: 1 } }",
        "servers: { a: { command: x, env: [CANARY] } }",
        "providers: { a: { kind: openai, apikey: CANARY } }",
        "providers: { a: { kind: nonsense, api_key: \"CANARY\" } }",
        "database: mysql://u:CANARY@h/db",
        "databse: postgres://u:CANARY@h/db",
        "redis: http://u:CANARY@h/",
        "password: CANARY",
        "keys:\n  - key: \"CANARY\n",
        "servers:\n  a:\n    auth: { token: CANARY\n",
        "servers: { a: { url: http://h/, auth: { token: \"CANARY\\n\" } } }",
        "keys:\n  - name: a\n    key: |\n      CANARY\n      x\n",
    ] {
        never_shown(text);
    }
}

#[test]
fn a_checked_config_does_not_print_its_secrets() {
    let environment = Fake { variables: [("C", CANARY)].into_iter().collect(), ..Fake::default() };
    let text = "\
database: postgres://u:${C}@h/db
redis: redis://:${C}@h/
servers:
  a: { command: x, env: { A: \"${C}\" } }
  b: { url: https://h/, headers: { X-A: \"${C}\" }, auth: { token: \"${C}\", apiKey: \"${C}\" } }
  c: { url: https://h/, auth: { oauth: { client_id: i, client_secret: \"${C}\" } } }
providers: { p: { kind: openai, api_key: \"${C}\" } }
keys: [{ name: k, key: \"${C}-0123456789abcdef\" }]
";
    let loaded = load_with(text, &environment).unwrap();
    assert!(!format!("{loaded:?}").contains(CANARY));
}

#[test]
fn the_name_of_a_variable_is_no_secret() {
    let report = report("keys: [{ name: a, key: \"${NOT_SET}\" }]");
    assert!(report.render(ColorMode::Plain).contains("key: \"${NOT_SET}\" }]"));
}
