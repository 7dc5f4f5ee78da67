//! Texts that nobody means well with.

use std::path::Path;

use serde_json::json;
use tollgate_config::{ConfigRequest, Environment, load_text};

use super::super::{ImportContext, ImportError, read};
use super::{dropped_keys, import_context, import_text, refusal, servers};
use crate::client_apps::ClientApp;

#[test]
fn b_cf_1_nothing_is_said_to_be_nothing() {
    for text in ["", "  \n ", "\u{feff}", "# only a comment", "// only\n", "{}", "[]"] {
        let why = refusal(text);
        assert!(!matches!(why, ImportError::Shell(_)), "{text:?}: {why}");
    }
    let marked = "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    assert_eq!(servers(&import_text(marked)), json!({"a": {"command": ["x"]}}));
}

#[test]
fn b_cf_2_depth_and_size_have_an_end() {
    for text in ["[".repeat(100_000), "{\"a\":".repeat(100_000), "a: [".repeat(100_000)] {
        assert!(matches!(refusal(&text), ImportError::Syntax(_)));
    }
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nservers: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    assert!(matches!(refusal(bomb), ImportError::Syntax(_)));
    assert_eq!(refusal(&" ".repeat((16 << 20) + 1)), ImportError::TooLarge(16));
}

#[test]
fn b_cf_3_keys_that_stand_twice_are_named() {
    let json = "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}";
    assert_eq!(refusal(json).to_string(), "line 3, column 1: duplicate key `a`");
    let yaml = "servers:\n  a: {url: x}\n  a: {url: y}\n";
    assert!(refusal(yaml).to_string().contains("duplicate key `a`"));
    let toml = "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a]\ncommand = \"y\"\n";
    assert!(refusal(toml).to_string().starts_with("line 3: "), "{}", refusal(toml));
}

#[test]
fn b_cf_6_ids_are_made_to_fit_and_stay_apart() {
    let long = "x".repeat(300);
    let text = json!({"mcpServers": {
        "..": {"command": "a"}, "": {"command": "b"}, "Würfel": {"command": "c"}, "A b": {"command": "d"},
        "a-b": {"command": "e"}, long: {"command": "f"}, "1st": {"command": "g"}, "<b>": {"command": "h"},
    }});
    let imported = import_text(&text.to_string());
    let names: Vec<&str> = imported.servers.iter().map(|it| it.name.as_str()).collect();
    let long = "x".repeat(64);
    assert_eq!(names, ["server", "server_2", "W_rfel", "A_b", "a-b_2", &long, "s_1st", "b"]);
    for name in names {
        assert!(tollgate_core::id::ServerId::parse(name).is_ok(), "{name}");
    }
}

#[test]
fn b_cf_7_what_cannot_be_reached_is_left_behind_with_the_reason() {
    let text = r#"{"mcpServers": {
        "none": {}, "both": {"command": "x", "url": "https://x.test"}, "odd": 5, "list": [],
        "ws": {"type": "websocket", "url": "wss://x.test"},
        "env": {"command": "x", "env": {"A": 1, "B": true, "C": null, "D": ["x"]}},
        "args": {"command": "x", "args": [1, {"a": 2}]},
        "blank": {"command": "  "}, "socket": {"url": "ws://x.test"}, "later": {"url": "${URL}"}
    }}"#;
    let imported = import_text(text);
    assert_eq!(
        servers(&imported),
        json!({
            "both": {"command": ["x"]}, "env": {"command": ["x"]}, "args": {"command": ["x"]},
            "later": {"url": "${URL}"},
        })
    );
    let dropped = dropped_keys(&imported);
    for line in [
        "mcpServers.none: it has neither a command nor a URL",
        "mcpServers.both.url: it also has a command, which was imported",
        "mcpServers.ws: `websocket` is not supported",
        "mcpServers.env.env: is not a map of texts",
        "mcpServers.args.args: is not a list of texts",
        "mcpServers.blank: it has neither a command nor a URL",
        "mcpServers.odd: is not a map",
        "mcpServers.list: is not a map",
        "mcpServers.socket: its address begins with neither `http://` nor `https://`",
    ] {
        assert!(dropped.contains(line), "{line}\n---\n{dropped}");
    }
}

#[test]
fn b_cf_9_times_that_make_no_sense_are_left_behind() {
    for timeout in ["0", "-1", "1e300", "\"5 parsecs\"", "[]"] {
        let text =
            format!(r#"{{"mcpServers": {{"a": {{"command": "x", "timeout": {timeout}}}}}}}"#);
        let imported = import_text(&text);
        assert_eq!(servers(&imported), json!({"a": {"command": ["x"]}}), "{timeout}");
        assert_eq!(imported.dropped.len(), 1, "{timeout}");
    }
}

#[test]
fn broken_texts_are_refused_with_the_place() {
    for (text, why) in [
        ("{\"mcpServers\": {", "line 1, column 16: `}` is missing"),
        ("{\"mcpServers\": {\"a\" {}}}", "line 1, column 21: `:` is missing"),
        ("{\n  \"a\": nope\n}", "line 2, column 8: this is not JSON"),
        ("{\"a\": \"x", "line 1, column 7: a string is not closed"),
        ("{} /* x", "a comment is not closed"),
        ("{\"a\": 1} x", "something follows the end"),
        ("{'a': 1}", "line 1, column 2: JSON needs double quotes"),
        ("{a: 1}", "a key in double quotes is missing"),
        ("{\"a\": \"\t\"}", "line 1, column 7: this is not JSON"),
        ("{\"a\": 1e400}", "this is not JSON"),
        ("{\"a\": 0x10}", "this is not JSON"),
        ("{\"a\": [1 2]}", "`,` is missing"),
        ("// nothing", "it ends unexpectedly"),
        ("{\"a\": \"\\x\"}", "this is not a JSON string"),
    ] {
        let found = refusal(text).to_string();
        assert!(found.contains(why), "{text}: {found}");
    }
    let strange = "{\"users\": {\"a\": {\"name\": \"b\"}}}";
    assert_eq!(refusal(strange), ImportError::Unknown);
}

/// Whoever wrote the file would be sent what is in it.
#[test]
fn files_are_read_only_for_those_whose_syntax_has_them() {
    struct Files;
    impl Environment for Files {
        fn variable(&self, _: &str) -> Option<String> {
            Some("v".to_owned())
        }
        fn file(&self, path: &str) -> std::io::Result<String> {
            panic!("{path} was read")
        }
    }
    let tricks = [
        "${file:/x}",
        "$${file:/x}",
        "${${file:/x}}",
        "$${${file:/x}}",
        "${A:-${file:/x}}",
        "{file:/x}",
        "${A$}${file:/x}",
        "$$A${file:/x}",
        "${file:/x",
        "${env:file:/x}",
    ];
    for trick in tricks {
        let text = json!({"mcpServers": {
            "a": {"url": format!("https://x.test/{trick}?token={trick}"), "headers": {"X": trick, "Authorization": format!("Bearer {trick}")}},
            "b": {"url": "https://x.test", "oauth": {"clientId": trick, "scopes": [trick]}, "excludeTools": [trick]},
            "c": {"command": trick, "args": [trick, "--token", trick], "env": {"K": trick}, "cwd": trick},
        }});
        for imported in [
            import_text(&text.to_string()),
            import_text(
                &text.to_string().replace("clientId", "client_id").replace("excludeTools", "y"),
            ),
        ] {
            let config = json!({"servers": servers(&imported)}).to_string();
            let _ = load_text(Path::new("t"), config.as_bytes(), &ConfigRequest::default(), &Files);
        }
    }
    let one = r#"{"mcpServers": {"a": {"url": "https://x.test", "headers": {"X": "${file:/x}"}}}}"#;
    let one = import_text(one);
    assert_eq!(servers(&one)["a"]["headers"]["X"], "$${file:/x}");
    assert_eq!(one.servers[0].notes, ["`${file:/x}` has no meaning here and is kept unchanged"]);
    let own = r#"{"servers": {"a": {"url": "https://x.test", "headers": {"X": "${file:/x}"}}}}"#;
    assert_eq!(servers(&import_text(own))["a"]["headers"]["X"], "${file:/x}");
    let theirs = ImportContext { client: ClientApp::find("vscode"), ..import_context() };
    assert_eq!(servers(&read(own, &theirs).unwrap())["a"]["headers"]["X"], "$${file:/x}");
    let opencode = r#"{"mcp": {"a": {"type": "remote", "url": "https://x.test", "headers": {"X": "{file:/x}", "Y": "{file:~/y}"}}}}"#;
    let opencode = import_text(opencode);
    assert_eq!(servers(&opencode)["a"]["headers"], json!({"X": "${file:/x}", "Y": "{file:~/y}"}));
    let note = "`{file:~/y}` is kept unchanged; write `${file:/…}` instead";
    assert_eq!(opencode.servers[0].notes, [note]);
}

#[test]
fn a_list_of_no_tools_allows_none() {
    for text in [
        "[mcp_servers.a]\ncommand = \"x\"\nenabled_tools = []\ndisabled_tools = [\"b\"]\n",
        r#"{"mcpServers": {"a": {"command": "x", "tools": []}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "includeTools": [], "excludeTools": ["b"]}}}"#,
    ] {
        let imported = import_text(text);
        assert_eq!(servers(&imported), json!({"a": {"command": ["x"], "deny": ["*"]}}), "{text}");
        assert_eq!(imported.servers[0].notes, ["all of its tools are disabled there"]);
    }
    let goose = "extensions:\n  a: {type: stdio, cmd: x, available_tools: []}\n";
    assert_eq!(servers(&import_text(goose)), json!({"a": {"command": ["x"]}}));
}

#[test]
fn one_way_to_authorize_is_kept() {
    let text = r#"{"mcpServers": {
        "off": {"url": "https://a.test", "oauth": {"enabled": false, "clientId": "x"}},
        "both": {"url": "https://b.test", "headers": {"Authorization": "Bearer ${T}"}, "oauth": {}},
        "basic": {"url": "https://c.test", "headers": {"authorization": "Basic ${T}"}, "oauth": {}}
    }}"#;
    let imported = import_text(text);
    assert_eq!(
        servers(&imported),
        json!({
            "off": {"url": "https://a.test"},
            "both": {"url": "https://b.test", "auth": {"token": "${T}"}},
            "basic": {"url": "https://c.test", "headers": {"Authorization": "Basic ${T}"}},
        })
    );
    let why = "it authenticates with a header, which was imported";
    assert_eq!(
        dropped_keys(&imported),
        format!("mcpServers.both.oauth: {why}\nmcpServers.basic.oauth: {why}\n")
    );
}

#[test]
fn any_prefix_of_a_good_file_ends_in_an_answer() {
    for sample in [
        include_str!("samples/claude-code.json"),
        include_str!("samples/codex.toml"),
        include_str!("samples/ava.yaml"),
        include_str!("samples/bifrost.json"),
    ] {
        // Any seventh: each is read from two sides.
        for (at, _) in sample.char_indices().step_by(7) {
            let _ = read(&sample[..at], &import_context());
            let _ = read(&sample[at..], &ImportContext { name: Some("x"), ..import_context() });
        }
    }
}
