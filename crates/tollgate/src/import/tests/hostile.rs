//! Texts that nobody means well with.

use serde_json::json;

use super::super::{Asked, Unreadable, read};
use super::{asked, dropped, imported, refused, servers};

#[test]
fn b_cf_1_nothing_is_said_to_be_nothing() {
    for text in ["", "  \n ", "\u{feff}", "# only a comment", "// only\n", "{}", "[]"] {
        let why = refused(text);
        assert!(!matches!(why, Unreadable::Shell(_)), "{text:?}: {why}");
    }
    let marked = "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    assert_eq!(servers(&imported(marked)), json!({"a": {"command": ["x"]}}));
}

#[test]
fn b_cf_2_depth_and_size_have_an_end() {
    for text in ["[".repeat(100_000), "{\"a\":".repeat(100_000), "a: [".repeat(100_000)] {
        assert!(matches!(refused(&text), Unreadable::Syntax(_)));
    }
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nservers: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    assert!(matches!(refused(bomb), Unreadable::Syntax(_)));
    assert_eq!(refused(&" ".repeat((16 << 20) + 1)), Unreadable::TooLarge(16));
}

#[test]
fn b_cf_3_keys_that_stand_twice_are_named() {
    let json = "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}";
    assert_eq!(refused(json).to_string(), "line 3, column 5: the key `a` stands twice");
    let yaml = "servers:\n  a: {url: x}\n  a: {url: y}\n";
    assert!(refused(yaml).to_string().contains("the key `a` is here twice"));
    let toml = "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a]\ncommand = \"y\"\n";
    assert!(refused(toml).to_string().starts_with("line 3: "), "{}", refused(toml));
}

#[test]
fn b_cf_6_ids_are_made_to_fit_and_stay_apart() {
    let long = "x".repeat(300);
    let text = json!({"mcpServers": {
        "..": {"command": "a"}, "": {"command": "b"}, "Würfel": {"command": "c"}, "A b": {"command": "d"},
        "a_b": {"command": "e"}, long: {"command": "f"}, "1st": {"command": "g"}, "<b>": {"command": "h"},
    }});
    let imported = imported(&text.to_string());
    let names: Vec<&str> = imported.servers.iter().map(|it| it.name.as_str()).collect();
    let long = "x".repeat(64);
    assert_eq!(names, ["server", "server_2", "W_rfel", "A_b", "a_b_2", &long, "s_1st", "b"]);
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
        "blank": {"command": "  "}
    }}"#;
    let imported = imported(text);
    assert_eq!(
        servers(&imported),
        json!({"both": {"command": ["x"]}, "env": {"command": ["x"]}, "args": {"command": ["x"]}})
    );
    let dropped = dropped(&imported);
    for line in [
        "mcpServers.none: it has neither a command nor a URL",
        "mcpServers.both.url: it has a command, too, and that was taken",
        "mcpServers.ws: `websocket` is not spoken here",
        "mcpServers.env.env: is not a map of texts",
        "mcpServers.args.args: is not a list of texts",
        "mcpServers.blank: it has neither a command nor a URL",
    ] {
        assert!(dropped.contains(line), "{line}\n---\n{dropped}");
    }
}

#[test]
fn b_cf_9_times_that_make_no_sense_are_left_behind() {
    for timeout in ["0", "-1", "1e300", "\"5 parsecs\"", "[]"] {
        let text =
            format!(r#"{{"mcpServers": {{"a": {{"command": "x", "timeout": {timeout}}}}}}}"#);
        let imported = imported(&text);
        assert_eq!(servers(&imported), json!({"a": {"command": ["x"]}}), "{timeout}");
        assert_eq!(imported.dropped.len(), 1, "{timeout}");
    }
}

#[test]
fn broken_texts_are_refused_with_the_place() {
    for (text, why) in [
        ("{\"mcpServers\": {", "line 1, column 17"),
        ("{\"mcpServers\": {\"a\" {}}}", "line 1, column 21: `:` is missing"),
        ("{\n  \"a\": nope\n}", "line 2, column 8: this is not JSON"),
        ("{\"a\": \"x", "line 1, column 7: a text is not closed"),
        ("{} /* x", "a comment is not closed"),
        ("{\"a\": 1} x", "something follows the end"),
        ("{'a': 1}", "a key in double quotes is missing"),
        ("{\"a\": \"\\x\"}", "this is not a text of JSON"),
    ] {
        let found = refused(text).to_string();
        assert!(found.contains(why), "{text}: {found}");
    }
    let strange = "{\"users\": {\"a\": {\"name\": \"b\"}}}";
    assert_eq!(refused(strange), Unreadable::Unknown);
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
            let _ = read(&sample[..at], &asked());
            let _ = read(&sample[at..], &Asked { name: Some("x"), ..asked() });
        }
    }
}
