//! What is typed, and what is written for it.

use std::io;

use clap::Parser as _;
use serde_json::Value;
use tollgate_config::Environment;
use tollgate_server::config_service::ConfigChange;

use crate::cli::servers::ChangeServersCommand as Typed;
use crate::cli::{Cli, CliCommand, ServersCommand};

struct Nothing;

impl Environment for Nothing {
    fn variable(&self, name: &str) -> Option<String> {
        (name == "WEB_TOKEN").then(|| "known".to_owned())
    }

    fn file(&self, _: &str) -> io::Result<String> {
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

/// The server as JSON, and the variables that are still to be set.
fn check(typed: &str, expected: &str, given: &[&str]) {
    let words = ["tollgate", "servers", "add"].into_iter().map(str::to_owned);
    let cli = Cli::try_parse_from(words.chain(shell_words::split(typed).unwrap())).unwrap();
    let Some(CliCommand::Servers(ServersCommand::Change(Typed::Add(add)))) = cli.command else {
        panic!()
    };
    match super::request_change(&add, &Nothing) {
        Ok(wish) => {
            let ConfigChange::Add { server, .. } = wish.change else { panic!() };
            assert_eq!(Value::Object(server).to_string(), expected, "{typed}");
            let names: Vec<&str> = wish.given.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, given, "{typed}");
        }
        Err(failure) => assert_eq!(failure.to_string(), expected, "{typed}"),
    }
}

#[test]
fn a_server_is_what_the_flags_say() {
    check("a --command 'npx -y \"x y\"'", r#"{"command":["npx","-y","x y"]}"#, &[]);
    check("a -- npx -y x --env", r#"{"command":["npx","-y","x","--env"]}"#, &[]);
    check(
        "web --url https://x.test --transport sse --start lazy --trusted",
        r#"{"transport":"sse","url":"https://x.test","trusted":true,"start":"lazy"}"#,
        &[],
    );
    check("a", "give its transport: `--url URL`, `--command TEXT` or `-- PROGRAM …`", &[]);
    check("a --command '\"x'", "a quote in `--command` is not closed", &[]);
    check("a --env canary -- x", "`--env` must be NAME=VALUE", &[]);
}

#[test]
fn secrets_become_references_unless_they_are_wanted_in_the_file() {
    check(
        "web --url https://x.test --token abc",
        r#"{"url":"https://x.test","auth":{"token":"${WEB_TOKEN}"}}"#,
        &["WEB_TOKEN"],
    );
    check(
        "web --url https://x.test --token known",
        r#"{"url":"https://x.test","auth":{"token":"${WEB_TOKEN}"}}"#,
        &[],
    );
    check(
        "web --url https://x.test --token '${MINE}'",
        r#"{"url":"https://x.test","auth":{"token":"${MINE}"}}"#,
        &[],
    );
    check(
        "web --url https://x.test --inline --token abc",
        r#"{"url":"https://x.test","auth":{"token":"abc"}}"#,
        &[],
    );
    check(
        "my-db --env LOG=debug --env API_KEY=abc -- x",
        r#"{"command":["x"],"env":{"LOG":"debug","API_KEY":"${MY_DB_API_KEY}"}}"#,
        &["MY_DB_API_KEY"],
    );
}

#[test]
fn secrets_are_found_wherever_they_are_typed() {
    check(
        "foo -- npx foo --api-key canary-1234 --port 80",
        r#"{"command":["npx","foo","--api-key","${FOO_API_KEY}","--port","80"]}"#,
        &["FOO_API_KEY"],
    );
    check(
        "h --url 'https://h.test/mcp?api_key=canary&page=2'",
        r#"{"url":"https://h.test/mcp?api_key=${H_API_KEY}&page=2"}"#,
        &["H_API_KEY"],
    );
    check(
        "db --env DATABASE_URL=postgres://u:canary-pw@h/d --env PIN_TOKEN=1234 -- x",
        r#"{"command":["x"],"env":{"DATABASE_URL":"${DB_DATABASE_URL}","PIN_TOKEN":"${DB_PIN_TOKEN}"}}"#,
        &["DB_PIN_TOKEN", "DB_DATABASE_URL"],
    );
    check(
        "db --inline --env DATABASE_URL=postgres://u:pw@h/d -- x --token abc",
        r#"{"command":["x","--token","abc"],"env":{"DATABASE_URL":"postgres://u:pw@h/d"}}"#,
        &[],
    );
    check(
        "h --url https://u:canary@h.test/mcp",
        "the password in the URL of `h`: a URL must not contain a user and a password; use \
         `headers:` or `auth:`",
        &[],
    );
}

#[test]
fn a_header_is_split_where_its_name_ends() {
    for typed in ["'Authorization: Bearer abcdef='", "'authorization=Bearer abcdef='"] {
        check(
            &format!("web --url https://x.test --header {typed}"),
            r#"{"url":"https://x.test","auth":{"token":"${WEB_TOKEN}"}}"#,
            &["WEB_TOKEN"],
        );
    }
    check(
        "web --url https://x.test --header X-Kind=a:b --header 'X-Api-Key: c=d'",
        r#"{"url":"https://x.test","headers":{"X-Kind":"a:b","X-Api-Key":"${WEB_X_API_KEY}"}}"#,
        &["WEB_X_API_KEY"],
    );
    for typed in ["'Bearer canary'", "'Authorization Bearer canary='", "=canary"] {
        let wrong = "`--header` must be NAME=VALUE or 'NAME: VALUE'";
        check(&format!("web --url https://x.test --header {typed}"), wrong, &[]);
    }
}
