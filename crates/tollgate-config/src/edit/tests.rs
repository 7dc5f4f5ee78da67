//! Files as people write them, and what is left of them after a change: everything else.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{ConfigEdit, ConfigEditError, apply, diff};

mod any;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

fn add(name: &str, server: Value) -> ConfigEdit {
    ConfigEdit::Add { name: name.to_owned(), server: object(server) }
}

fn web() -> ConfigEdit {
    add("web", json!({ "url": "https://x.test/mcp" }))
}

fn remove(name: &str) -> ConfigEdit {
    ConfigEdit::Remove { name: name.to_owned() }
}

fn set(name: &str, key: &str, value: Value) -> ConfigEdit {
    ConfigEdit::Set {
        section: "servers",
        name: name.to_owned(),
        key: key.to_owned(),
        value: Some(value),
    }
}

fn unset(name: &str, key: &str) -> ConfigEdit {
    ConfigEdit::Set { section: "servers", name: name.to_owned(), key: key.to_owned(), value: None }
}

fn tools_of(agent: &str, tools: &[&str]) -> ConfigEdit {
    let name = agent.to_owned();
    let key = "tools".to_owned();
    let value = Some(json!(tools));
    ConfigEdit::Set { section: "agents", name, key, value }
}

fn apply_edits(text: &str, edit: &ConfigEdit) -> Result<String, ConfigEditError> {
    apply(Path::new("t.yaml"), text, edit)
}

fn check(text: &str, edit: &ConfigEdit, expected: &str) {
    match apply_edits(text, edit) {
        Ok(found) => assert!(found == expected, "found:\n{found}\nexpected:\n{expected}"),
        Err(error) => panic!("{error}\nin:\n{text}"),
    }
}

fn refusal_of(text: &str, edit: &ConfigEdit, expected: &str) {
    let found = apply_edits(text, edit).expect_err(text).to_string();
    assert!(found.contains(expected), "{found}");
}

#[test]
fn a_server_goes_below_the_others_in_their_style() {
    check(
        "servers:\n  a:\n    command: x\n",
        &web(),
        "servers:\n  a:\n    command: x\n  web:\n    url: https://x.test/mcp\n",
    );
    check(
        "servers:\n    a:\n        command: x # why\n\n    # about b\n    b: { command: y }\n\n# agents\nagents: {}\n",
        &web(),
        "servers:\n    a:\n        command: x # why\n\n    # about b\n    b: { command: y }\n\n    web:\n        url: https://x.test/mcp\n\n# agents\nagents: {}\n",
    );
    check(
        "servers:\n  a:\n    command: x\n  # b:\n  #   command: off\n\n# end\nlisten: 127.0.0.1:1\n",
        &web(),
        "servers:\n  a:\n    command: x\n  # b:\n  #   command: off\n  web:\n    url: https://x.test/mcp\n\n# end\nlisten: 127.0.0.1:1\n",
    );
    check(
        "servers:\n  a: { command: x }",
        &web(),
        "servers:\n  a: { command: x }\n  web:\n    url: https://x.test/mcp\n",
    );
    check(
        "servers:\r\n  a:\r\n    command: x\r\nlisten: 127.0.0.1:1\r\n",
        &web(),
        "servers:\r\n  a:\r\n    command: x\r\n  web:\r\n    url: https://x.test/mcp\r\nlisten: 127.0.0.1:1\r\n",
    );
}

#[test]
fn where_there_were_no_servers_there_are_some() {
    let block = "servers:\n  web:\n    url: https://x.test/mcp\n";
    check("", &web(), block);
    check("# only a comment\n", &web(), &format!("# only a comment\n\n{block}"));
    check("listen: 127.0.0.1:1", &web(), &format!("listen: 127.0.0.1:1\n\n{block}"));
    check("listen: 127.0.0.1:1\n\n", &web(), &format!("listen: 127.0.0.1:1\n\n{block}"));
    check("servers:\n", &web(), block);
    check("servers:", &web(), block);
    check("servers: {}\n", &web(), block);
    check("servers: []\n", &web(), block);
    check("servers: ~\n", &web(), block);
    check(
        "servers: {} # none yet\nlisten: 127.0.0.1:1\n",
        &web(),
        "servers: # none yet\n  web:\n    url: https://x.test/mcp\nlisten: 127.0.0.1:1\n",
    );
    check(
        "servers:\n  # a: later\n\nlisten: 127.0.0.1:1\n",
        &web(),
        "servers:\n  # a: later\n  web:\n    url: https://x.test/mcp\n\nlisten: 127.0.0.1:1\n",
    );
}

#[test]
fn a_list_that_grows_may_change_as_well() {
    let command = json!(["uvx", "b", "--port", "80"]);
    for text in [
        "servers:\n  a:\n    command: [npx, -y, a]\n",
        "servers:\n  a:\n    command:\n      - npx\n      - -y\n      - a\n",
    ] {
        let found = apply_edits(text, &set("a", "command", command.clone())).unwrap();
        assert_eq!(crate::values(&found)["servers"]["a"]["command"], command, "{found}");
    }
}

#[test]
fn braces_and_lists_stay_what_they_are() {
    check(
        "servers: { a: { command: x }, } # all\n",
        &web(),
        "servers: { a: { command: x }, web: { url: https://x.test/mcp }, } # all\n",
    );
    check(
        r#"{"servers": {"a": {"command": ["x"]}}}"#,
        &web(),
        r#"{"servers": {"a": {"command": ["x"]}, "web": { "url": "https://x.test/mcp" }}}"#,
    );
    check(
        r#"{"listen": "127.0.0.1:1"}"#,
        &web(),
        r#"{"listen": "127.0.0.1:1", "servers": { "web": { "url": "https://x.test/mcp" } }}"#,
    );
    check(
        r#"{"servers": {}}"#,
        &web(),
        r#"{"servers": { "web": { "url": "https://x.test/mcp" } }}"#,
    );
    check(
        "servers:\n- name: a\n  command: x\n",
        &web(),
        "servers:\n- name: a\n  command: x\n- name: web\n  url: https://x.test/mcp\n",
    );
    check(
        "servers:\n  -   name: a # first\n      command: x\nlisten: 127.0.0.1:1\n",
        &web(),
        "servers:\n  -   name: a # first\n      command: x\n  -   name: web\n      url: https://x.test/mcp\nlisten: 127.0.0.1:1\n",
    );
    check(
        "servers: [{ name: a, command: x }]\n",
        &web(),
        "servers: [{ name: a, command: x }, { name: web, url: https://x.test/mcp }]\n",
    );
}

#[test]
fn values_are_quoted_where_they_would_be_something_else() {
    let server = json!({
        "command": ["npx", "-y", "@scope/server@1.2.3", "/data: x"],
        "env": { "TOKEN": "${TOKEN}", "EMPTY": "", "NO": "no", "FIVE": "5", "TEXT": "a: b # c" },
        "trusted": true,
        "tools": { "a": { "probe": { "count": 1, "list": [1, "x"] } } },
    });
    check(
        "servers:\n",
        &add("a", server),
        "servers:
  a:
    command: [\"npx\", \"-y\", \"@scope/server@1.2.3\", \"/data: x\"]
    env:
      TOKEN: ${TOKEN}
      EMPTY: \"\"
      \"NO\": \"no\"
      FIVE: \"5\"
      TEXT: \"a: b # c\"
    trusted: true
    tools:
      a:
        probe:
          count: 1
          list: [1, \"x\"]
",
    );
    for odd in
        ["a\nb", "\u{7f}", "\u{2028}", "\"", "\\", "é\u{1f600}", "'", "- x", "? y", "*a", "&a"]
    {
        let edited = apply_edits("servers:\n", &add("a", json!({ "env": { "X": odd } })));
        assert!(edited.is_ok(), "{odd:?}: {edited:?}");
    }
}

#[test]
fn a_server_goes_with_its_lines_and_no_others() {
    let text = "servers:\n  # about a\n  a:\n    command: x # inside\n    # inside too\n    args: []\n  # about b\n  b:\n    url: https://y.test\n# end\n";
    check(
        text,
        &remove("a"),
        "servers:\n  # about a\n  # about b\n  b:\n    url: https://y.test\n# end\n",
    );
    check(
        text,
        &remove("b"),
        "servers:\n  # about a\n  a:\n    command: x # inside\n    # inside too\n    args: []\n  # about b\n# end\n",
    );
    check("servers:\n  a: { command: x }\n", &remove("a"), "servers:\n");
    check("servers: { a: { command: x } }\n", &remove("a"), "servers: {  }\n");
    check(
        "servers: { a: { command: x }, b: { command: y } } # c\n",
        &remove("a"),
        "servers: { b: { command: y } } # c\n",
    );
    check(
        "servers: { a: { command: x }, b: { command: y } } # c\n",
        &remove("b"),
        "servers: { a: { command: x } } # c\n",
    );
    check(
        "servers:\n  - name: a\n    command: x\n  - command: y\n    name: b\n",
        &remove("a"),
        "servers:\n  - command: y\n    name: b\n",
    );
    check(
        "servers: [{ name: a, command: x }, { name: b, command: y }]\n",
        &remove("b"),
        "servers: [{ name: a, command: x }]\n",
    );
    check(
        "servers:\r\n  a:\r\n    command: x\r\n  b:\r\n    command: y",
        &remove("b"),
        "servers:\r\n  a:\r\n    command: x\r\n",
    );
}

#[test]
fn a_key_of_a_server_is_set_and_taken_out() {
    let text = "servers:\n  a:\n    command: x # why\n  b: { url: https://y.test }\n  c:\n";
    check(
        text,
        &set("a", "enabled", json!(false)),
        "servers:\n  a:\n    command: x # why\n    enabled: false\n  b: { url: https://y.test }\n  c:\n",
    );
    check(
        text,
        &set("b", "enabled", json!(false)),
        "servers:\n  a:\n    command: x # why\n  b: { url: https://y.test, enabled: false }\n  c:\n",
    );
    check(
        text,
        &set("c", "command", json!(["z"])),
        "servers:\n  a:\n    command: x # why\n  b: { url: https://y.test }\n  c:\n    command: [\"z\"]\n",
    );
    check(
        text,
        &set("a", "command", json!("y z")),
        "servers:\n  a:\n    command: \"y z\" # why\n  b: { url: https://y.test }\n  c:\n",
    );
    check(
        "servers:\n  a:\n    enabled: false # for now\n    command: x\n",
        &set("a", "enabled", json!(true)),
        "servers:\n  a:\n    enabled: true # for now\n    command: x\n",
    );
    check(
        "servers:\n  a:\n    env:\n      X: y\n      # about z\n      Z: z\n    command: x\n",
        &unset("a", "env"),
        "servers:\n  a:\n    command: x\n",
    );
    check(
        "servers:\n  a:\n    command: 'it''s' # one\n    cwd: \"a \\\"b\\\" # c\" # two\n",
        &set("a", "cwd", json!("d")),
        "servers:\n  a:\n    command: 'it''s' # one\n    cwd: d # two\n",
    );
    check(
        "servers:\n  - enabled: false\n    name: a\n    command: x\n",
        &unset("a", "enabled"),
        "servers:\n  - name: a\n    command: x\n",
    );
    check(
        "servers:\n  - name: a\n    command: x\n  - name: b\n    command: y\n",
        &set("a", "enabled", json!(false)),
        "servers:\n  - name: a\n    command: x\n    enabled: false\n  - name: b\n    command: y\n",
    );
    check(
        "servers:\n  a: &base\n    command: x\n  b:\n    <<: *base\n",
        &set("b", "command", json!("z")),
        "servers:\n  a: &base\n    command: x\n  b:\n    <<: *base\n    command: z\n",
    );
}

#[test]
fn what_cannot_be_changed_is_refused_with_what_to_write() {
    refusal_of("servers:\n  web: { command: x }\n", &web(), "a server `web` already exists");
    refusal_of("servers:\n", &remove("a"), "there is no server `a` in the config");
    refusal_of("servers: [\n", &web(), "the config cannot be read");
    let anchored = "servers:\n  a: &base\n    command: x\n  b: *base\n";
    refusal_of(anchored, &remove("a"), "remove `servers.a` by hand");
    refusal_of(
        anchored,
        &set("b", "enabled", json!(false)),
        "add it by hand:\nservers:\n  b:\n    enabled: false",
    );
    refusal_of("servers:\n  ? a\n  : command: x\n", &remove("a"), "remove `servers.a` by hand");
    check(anchored, &remove("b"), "servers:\n  a: &base\n    command: x\n");
}

#[test]
fn a_difference_is_shown_as_everybody_reads_it() {
    let old = "servers:\n  a:\n    command: x\n";
    let new = apply_edits(old, &set("a", "enabled", json!(false))).unwrap();
    assert_eq!(
        diff(Path::new("t.yaml"), old, &new),
        "--- t.yaml\n+++ t.yaml\n@@ -1,3 +1,4 @@\n servers:\n   a:\n     command: x\n+    enabled: false\n"
    );
    assert_eq!(diff(Path::new("t.yaml"), old, old), "");
}

#[test]
fn a_key_of_an_agent_is_changed_where_it_stands() {
    check(
        "agents:\n  a: # first\n    tools:\n      - roll # dice\n    budget_tier: fast # quick\n",
        &tools_of("a", &["roll", "fs_*"]),
        "agents:\n  a: # first\n    tools:\n      - roll # dice\n      - \"fs_*\"\n    budget_tier: fast # quick\n",
    );
    check(
        "agents:\n  a:\n    tools: [roll, 'b'] # mine\n",
        &tools_of("a", &["roll", "b", "fs_*"]),
        "agents:\n  a:\n    tools: [roll, 'b', \"fs_*\"] # mine\n",
    );
    check("agents: {a: {}}\n", &tools_of("a", &["roll"]), "agents: {a: { tools: [\"roll\"] }}\n");
    refusal_of(
        "agents:\n  a:\n    tools:\n      - roll\n      # why\n      - b\n",
        &tools_of("a", &["b"]),
        "comments in `tools` would be lost",
    );
    refusal_of(
        "agents:\n  a:\n    tools:\n      - roll # dice\n      - b\n",
        &tools_of("a", &["b"]),
        "comments in `tools` would be lost",
    );
    refusal_of("agents: {}\n", &tools_of("a", &["roll"]), "`agents` has no `a`");
}

#[test]
fn comments_outlast_what_stands_beside_them() {
    check(
        "servers: { a: { command: x }, # about a\n  b: { command: y } }\n",
        &remove("b"),
        "servers: { a: { command: x }, # about a\n   }\n",
    );
    check(
        "servers: [{ name: a, command: x }, # about a\n  { name: b, command: y }]\n",
        &remove("b"),
        "servers: [{ name: a, command: x }, # about a\n  ]\n",
    );
    refusal_of(
        "servers:\n  a:\n    command: x\n    enabled: # off for now\n      false\n",
        &set("a", "enabled", json!(true)),
        "comments in `enabled` would be lost",
    );
    check(
        "servers:\n  a:\n    command: x\n    enabled: false # off for now\n",
        &set("a", "enabled", json!(true)),
        "servers:\n  a:\n    command: x\n    enabled: true # off for now\n",
    );
}
