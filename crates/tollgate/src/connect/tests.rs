//! What other programs need, and that nothing of theirs is lost.

use serde_json::{Value, json};

use super::{
    ClientFileFormat, ClientFileMergeError, KEY, NAME, SnippetAccess, SnippetTarget, entry, form,
    merge_entry, redact_diff, snippet, snippets,
};
use crate::client_apps::CLIENTS;
use crate::import::{ImportContext, SecretPlacement, read};

fn target() -> SnippetTarget {
    SnippetTarget {
        base: "http://127.0.0.1:8655".to_owned(),
        agent: Some("sage".to_owned()),
        model: "sage".to_owned(),
        access: SnippetAccess::Keyed,
        config: Some("/srv/tollgate.yaml".to_owned()),
        data: None,
    }
}

fn make_request() -> ImportContext<'static> {
    ImportContext {
        name: None,
        file: None,
        client: None,
        secrets: SecretPlacement::InTheEnvironment,
        given: &[],
    }
}

#[test]
fn what_connect_writes_import_reads() {
    for client in CLIENTS {
        let made = snippet(client.id, &target()).unwrap();
        let imported = read(&made.text, &ImportContext { client: Some(client), ..make_request() })
            .unwrap_or_else(|why| panic!("{}: {why}\n{}", client.id, made.text));
        let server = &imported.servers[0];
        assert_eq!((imported.servers.len(), server.name.as_str()), (1, NAME), "{}", client.id);
        if client.id == "claude-desktop" {
            let words = ["tollgate", "mcp", "--agent", "sage", "--config", "/srv/tollgate.yaml"];
            assert_eq!(server.keys["command"], json!(words));
        } else {
            assert_eq!(server.keys["url"], "http://127.0.0.1:8655/mcp/sage", "{}", client.id);
            assert_eq!(server.keys["auth"]["token"], "${TOLLGATE_TOKEN}", "{}", client.id);
            assert_eq!(imported.given[0].1.reveal(), KEY, "{}", client.id);
        }
        assert!(imported.dropped.is_empty(), "{}: {:?}", client.id, imported.dropped);
        if let Some(link) = made.link {
            let again = read(&link, &make_request()).unwrap();
            assert_eq!(again.servers[0].keys["url"], server.keys["url"], "{link}");
            assert_eq!(again.servers[0].name, NAME, "{link}");
        }
    }
}

#[test]
fn every_snippet_has_the_address_and_a_place_for_the_key() {
    for access in [SnippetAccess::Open, SnippetAccess::Keyed] {
        for it in snippets(&SnippetTarget { access, ..target() }) {
            let speaks = it.id != "claude-desktop";
            assert_eq!(it.text.contains("http://127.0.0.1:8655"), speaks, "{}", it.text);
            assert_eq!(
                it.text.contains(KEY),
                speaks && access == SnippetAccess::Keyed,
                "{}",
                it.text
            );
            for left in ["{base}", "{mcp}", "{model}", "{key}", "_headers}", "_header}", "_agent}"]
            {
                assert!(!it.text.contains(left), "{}", it.text);
            }
        }
    }
    let anthropic = snippet("anthropic", &target()).unwrap();
    assert!(anthropic.text.contains("base_url=\"http://127.0.0.1:8655\","), "{}", anthropic.text);
}

/// Puts the entry of Cursor's form into a text.
fn check(old: &str, expected: &str) {
    let entry = json!({ "url": "u" });
    let json = ClientFileFormat::Json { root: "mcpServers" };
    assert_eq!(merge_entry(json, old, &entry).as_deref(), Ok(expected), "{old}");
    assert_eq!(merge_entry(json, expected, &entry).as_deref(), Ok(expected), "twice is once");
}

#[test]
fn an_entry_is_put_beside_what_is_there() {
    let own = "\"tollgate\": {\n      \"url\": \"u\"\n    }";
    // Commas behind the last member, where the file has them.
    let trailing = "\"tollgate\": {\n      \"url\": \"u\",\n    },";
    check("", &format!("{{\n  \"mcpServers\": {{\n    {own}\n  }}\n}}\n"));
    check("{}", &format!("{{\n  \"mcpServers\": {{\n    {own}\n  }}\n}}"));
    check(
        "{\n  // mine\n  \"a\": 1, // one\n  \"mcpServers\": {\n    \"x\": { \"url\": \"y\" }, // last\n  },\n}\n",
        &format!(
            "{{\n  // mine\n  \"a\": 1, // one\n  \"mcpServers\": {{\n    \"x\": {{ \"url\": \"y\" }}, // last\n    {trailing}\n  }},\n}}\n"
        ),
    );
    check(
        "{\n  \"mcpServers\": {\n    \"x\": {\"url\": \"}\\\"{\"}\n  }\n}\n",
        &format!(
            "{{\n  \"mcpServers\": {{\n    \"x\": {{\"url\": \"}}\\\"{{\"}},\n    {own}\n  }}\n}}\n"
        ),
    );
    check(
        "{\n  \"mcpServers\": {\n    \"tollgate\": {\"url\": \"old\"},\n    \"x\": {}\n  }\n}\n",
        &format!("{{\n  \"mcpServers\": {{\n    {own},\n    \"x\": {{}}\n  }}\n}}\n"),
    );
    for remark in ["// about x", "/* about x */"] {
        check(
            &format!("{{\n  \"mcpServers\": {{\n    \"x\": {{}} {remark}\n  }}\n}}\n"),
            &format!("{{\n  \"mcpServers\": {{\n    \"x\": {{}}, {remark}\n    {own}\n  }}\n}}\n"),
        );
    }
    check(
        "{\r\n\t\"mcpServers\": {\r\n\t\t// none yet\r\n\t}\r\n}\r\n",
        "{\r\n\t\"mcpServers\": {\r\n\t\t// none yet\r\n\t\t\"tollgate\": {\r\n\t\t\t\"url\": \"u\"\r\n\t\t}\r\n\t}\r\n}\r\n",
    );
    check(
        "{\n  \"other\": []\n}\n",
        &format!("{{\n  \"other\": [],\n  \"mcpServers\": {{\n    {own}\n  }}\n}}\n"),
    );
}

#[test]
fn toml_and_yaml_keep_what_is_theirs() {
    let entry = json!({"url": "u", "http_headers": {"Authorization": "Bearer k"}});
    let toml = ClientFileFormat::Toml { root: "mcp_servers" };
    let table =
        "[mcp_servers.tollgate]\nurl = \"u\"\nhttp_headers = { Authorization = \"Bearer k\" }\n";
    for (old, new) in [
        ("", table.to_owned()),
        ("model = \"x\" # mine\n", format!("model = \"x\" # mine\n\n{table}")),
        (
            "[mcp_servers.tollgate]\nurl = \"old\"\n[mcp_servers.tollgate.env]\nA = \"b\"\n[other]\nx = 1\n",
            format!("{table}\n[other]\nx = 1\n"),
        ),
        (
            "[mcp_servers.tollgate]\nurl = \"old\"\n\n# [mcp_servers.later]\n# of the next\n[other]\nx = 1\n",
            format!("{table}\n# [mcp_servers.later]\n# of the next\n[other]\nx = 1\n"),
        ),
    ] {
        assert_eq!(merge_entry(toml, old, &entry).as_deref(), Ok(new.as_str()), "{old}");
    }
    let yaml = ClientFileFormat::Yaml { root: "extensions" };
    let old = "# mine\nextensions:\n  a:\n    type: stdio # x\n";
    let new = merge_entry(yaml, old, &json!({"uri": "u", "timeout": 1})).unwrap();
    assert_eq!(new, format!("{old}  tollgate:\n    uri: u\n    timeout: 1\n"));
    let newer = merge_entry(yaml, &new, &json!({"uri": "v", "timeout": 1})).unwrap();
    assert_eq!(newer, format!("{old}  tollgate:\n    uri: v\n    timeout: 1\n"));
}

#[test]
fn a_key_that_is_there_is_not_replaced_by_the_word_for_one() {
    let json = ClientFileFormat::Json { root: "mcpServers" };
    let of = |url: &str, key: &str| json!({"url": url, "headers": {"Authorization": format!("Bearer {key}")}});
    let text = |entry: Value| json!({"mcpServers": {"tollgate": entry}}).to_string();
    let render = |old: &Value, new: &Value| -> Value {
        serde_json::from_str(&merge_entry(json, &text(old.clone()), new).unwrap()).unwrap()
    };
    let stored = render(&of("u", "tg_mine"), &of("v", KEY));
    assert_eq!(stored["mcpServers"]["tollgate"], of("v", "tg_mine"));
    let new = render(&of("u", "tg_mine"), &of("v", "tg_other"));
    assert_eq!(new["mcpServers"]["tollgate"], of("v", "tg_other"));
}

#[test]
fn files_that_cannot_be_read_are_left_alone() {
    let json = ClientFileFormat::Json { root: "mcpServers" };
    let entry = json!({ "url": "u" });
    for old in ["{\"a\": ", "{'a': 1}", "{\"a\": 1, \"a\": 2}"] {
        assert!(
            matches!(merge_entry(json, old, &entry), Err(ClientFileMergeError::Unreadable(_))),
            "{old}"
        );
    }
    for old in ["[]", "{\"mcpServers\": []}", "{\"mcpServers\": 5}"] {
        assert_eq!(merge_entry(json, old, &entry), Err(ClientFileMergeError::Odd), "{old}");
    }
}

#[test]
fn entries_have_the_words_of_their_client() {
    let of =
        |id: &str| -> Value { entry(CLIENTS.iter().find(|it| it.id == id).unwrap(), &target()) };
    assert_eq!(of("gemini-cli")["httpUrl"], "http://127.0.0.1:8655/mcp/sage");
    assert_eq!(of("windsurf")["serverUrl"], "http://127.0.0.1:8655/mcp/sage");
    assert_eq!(of("goose")["uri"], "http://127.0.0.1:8655/mcp/sage");
    assert_eq!(of("cline")["type"], "streamableHttp");
    for client in CLIENTS {
        let old = "";
        let text = merge_entry(form(client), old, &entry(client, &target())).unwrap();
        assert!(text.contains(NAME), "{}: {text}", client.id);
    }
}

/// That the difference shows none of `canary`, and what it shows.
fn check_hidden(form: ClientFileFormat, old: &str, expected: &str) {
    let entry = json!({"url": "u", "headers": {"Authorization": format!("Bearer {KEY}")}});
    let new = merge_entry(form, old, &entry).unwrap();
    let diff = tollgate_config::edit::diff(std::path::Path::new("f"), old, &new);
    assert!(diff.contains("canary"), "nothing to hide:\n{diff}");
    let shown = redact_diff(form, [old, &new], &diff).unwrap();
    assert!(!shown.contains("canary") && shown.contains(expected), "{shown}");
}

#[test]
fn a_difference_shows_no_secrets_of_others() {
    let json = ClientFileFormat::Json { root: "mcpServers" };
    check_hidden(
        json,
        "{\n  \"mcpServers\": {\n    // mine\n    \"a\": {\"command\": \"b\", \"env\": {\"GITHUB_PAT\": \"canary\\\"\u{e9}/\", \"DEBUG\": \"true\"}}\n  }\n}\n",
        "\"env\": {\"GITHUB_PAT\": \"<hidden>\", \"DEBUG\": \"true\"}",
    );
    check_hidden(
        json,
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"b\", \"args\": [\"--api-key\", \"canary-1\", \"--password=canary-2\"]}\n  }\n}\n",
        "[\"--api-key\", \"<hidden>\", \"<hidden>\"]",
    );
    check_hidden(
        json,
        "{\n  \"mcpServers\": {\n    \"a\": {\"url\": \"https://u:canary@h.test/mcp?api_key=canary\"}\n  }\n}\n",
        "<hidden>",
    );
    check_hidden(
        json,
        "{\n  \"mcpServers\": {\n    \"tollgate\": {\"url\": \"v\", \"headers\": {\"Authorization\": \"Bearer canary\"}}\n  }\n}\n",
        "\"Authorization\": \"Bearer <hidden>\"",
    );
    check_hidden(
        ClientFileFormat::Toml { root: "mcp_servers" },
        "[mcp_servers.a]\ncommand = \"b\"\n[mcp_servers.a.env]\nMINE = 'canary'\nPORT = \"8080\"\n",
        "MINE = '<hidden>'\n PORT = \"8080\"\n",
    );
    check_hidden(
        ClientFileFormat::Yaml { root: "extensions" },
        "extensions:\n  a:\n    envs:\n      MORE: |\n        canary 1\n        canary 2\n      MINE: it's a canary\n",
        "         <hidden>\n         <hidden>\n       MINE: <hidden>\n",
    );
}

#[test]
fn a_secret_that_cannot_be_found_again_hides_all() {
    let json = ClientFileFormat::Json { root: "mcpServers" };
    let old = "{\"mcpServers\": {\"a\": {\"env\": {\"MINE\": \"can\\u0061ry\"}}}}";
    assert_eq!(redact_diff(json, [old, old], "+ any\n"), None);
    let commented = "+  // \"t\": \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\n+ x\n";
    assert_eq!(redact_diff(json, ["", "{}"], commented).as_deref(), Some("+  <hidden>\n+ x\n"));
}
