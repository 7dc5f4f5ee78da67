//! Command lines, URLs and links, pasted.

use serde_json::{Value, json};

use super::super::{ImportContext, read};
use super::{dropped_keys, import_context, import_text, refusal, servers};

#[expect(clippy::needless_pass_by_value, reason = "it is written where it is called")]
fn check(text: &str, expected: Value) {
    assert_eq!(servers(&import_text(text)), expected, "{text}");
}

#[test]
fn a_command_line_is_a_server_with_a_name_from_its_program() {
    for (text, name, words) in [
        (
            "npx -y @modelcontextprotocol/server-filesystem@1.0 /data",
            "filesystem",
            &["npx", "-y", "@modelcontextprotocol/server-filesystem@1.0", "/data"][..],
        ),
        (
            "uvx mcp-server-git --repository '/my repo'",
            "git",
            &["uvx", "mcp-server-git", "--repository", "/my repo"],
        ),
        (
            "docker run -i --rm -e A=b mcp/fetch:latest",
            "fetch",
            &["docker", "run", "-i", "--rm", "-e", "A=b", "mcp/fetch:latest"],
        ),
        ("python3 -m src.weather_mcp", "weather", &["python3", "-m", "src.weather_mcp"]),
        ("/opt/my-mcp-server --x", "my", &["/opt/my-mcp-server", "--x"]),
        ("$ node \\\n  srv/thing.js", "thing", &["node", "srv/thing.js"]),
    ] {
        check(text, json!({ name: { "command": words } }));
    }
    check(
        "GITHUB_TOKEN=canary MODE=ro npx gh",
        json!({"gh": {"command": ["npx", "gh"], "env": {"GITHUB_TOKEN": "${GH_GITHUB_TOKEN}", "MODE": "ro"}}}),
    );
}

#[test]
fn a_url_is_a_server_with_a_name_from_its_host() {
    check(
        "https://mcp.example.com/mcp",
        json!({"example": {"url": "https://mcp.example.com/mcp"}}),
    );
    check(
        "http://127.0.0.1:3000/sse",
        json!({"server": {"transport": "sse", "url": "http://127.0.0.1:3000/sse"}}),
    );
    check("http://localhost:3000/mcp", json!({"localhost": {"url": "http://localhost:3000/mcp"}}));
    check(
        "https://x.test/mcp?api_key=canary&v=1",
        json!({"x": {"url": "https://x.test/mcp?api_key=${X_API_KEY}&v=1"}}),
    );
    let named =
        read("https://x.test/mcp", &ImportContext { name: Some("mine"), ..import_context() })
            .unwrap();
    assert_eq!(named.servers[0].name, "mine");
    let spoken = import_text("https://user:canary@x.test/mcp");
    assert_eq!(servers(&spoken), json!({"x": {"url": "https://x.test/mcp"}}));
    assert_eq!(spoken.dropped.len(), 1);
}

#[test]
fn lines_that_add_servers_elsewhere_add_them_here() {
    check(
        "claude mcp add --transport http sentry https://mcp.sentry.dev/mcp --header 'Authorization: Bearer canary'",
        json!({"sentry": {"url": "https://mcp.sentry.dev/mcp", "auth": {"token": "${SENTRY_TOKEN}"}}}),
    );
    check(
        "claude mcp add -s user -e KEY=v air -- npx -y airtable-mcp-server --flag",
        json!({"air": {"command": ["npx", "-y", "airtable-mcp-server", "--flag"], "env": {"KEY": "${AIR_KEY}"}}}),
    );
    check(
        "codex mcp add figma --url https://f.test/mcp --bearer-token-env-var FIGMA",
        json!({"figma": {"url": "https://f.test/mcp", "auth": {"token": "${FIGMA}"}}}),
    );
    check(
        "gemini mcp add py python srv.py --port 1",
        json!({"py": {"command": ["python", "srv.py", "--port", "1"]}}),
    );
    check(
        r#"claude mcp add-json w '{"type":"http","url":"https://w.test/mcp"}'"#,
        json!({"w": {"url": "https://w.test/mcp"}}),
    );
    check(
        r#"code --add-mcp '{"name":"play","command":"npx","args":["play"]}'"#,
        json!({"play": {"command": ["npx", "play"]}}),
    );
}

#[test]
fn flags_of_others_do_not_become_names() {
    let claude = import_text(
        "claude mcp add --transport http --client-id abc --callback-port 8080 --client-secret x https://x.test/mcp",
    );
    assert_eq!(
        servers(&claude),
        json!({"x": {"url": "https://x.test/mcp", "auth": {"login": true, "client_id": "abc"}}})
    );
    assert_eq!(dropped_keys(&claude), "--client-secret: is an unknown flag\n");
    let gemini =
        import_text("gemini mcp add --include-tools a,b --exclude-tools=c --trust x npx y");
    assert_eq!(
        servers(&gemini),
        json!({"x": {"command": ["npx", "y"], "allow": ["a", "b"], "deny": ["c"]}})
    );
    assert!(dropped_keys(&gemini).starts_with("--trust: "));
}

#[test]
fn variables_of_a_shell_are_variables_here() {
    check(
        "K=$KEY npx gh --dir $HOME/dir --key $API_KEY ${B} $1",
        json!({"gh": {
            "command": ["npx", "gh", "--dir", "${HOME}/dir", "--key", "${API_KEY}", "${B}", "$1"],
            "env": {"K": "${KEY}"},
        }}),
    );
    check(
        "claude mcp add x https://x.test/mcp -H \"Authorization: Bearer $T\"",
        json!({"x": {"url": "https://x.test/mcp", "auth": {"token": "${T}"}}}),
    );
}

#[test]
fn blanks_in_the_path_of_a_program_are_its_own() {
    let mac = "/Applications/My App.app/bin/srv";
    for (command, words) in [
        (mac, json!([mac])),
        ("/usr/bin/x -y z", json!(["/usr/bin/x", "-y", "z"])),
        ("/usr/bin/python3 /srv/x.py", json!(["/usr/bin/python3", "/srv/x.py"])),
        ("'/opt/my app/x' y", json!(["/opt/my app/x", "y"])),
    ] {
        let text = json!({"mcpServers": {"a": {"command": command}}}).to_string();
        check(&text, json!({"a": {"command": words}}));
    }
    check(
        r#""/opt/my app/server" --x"#,
        json!({"server": {"command": ["/opt/my app/server", "--x"]}}),
    );
}

#[test]
fn links_that_install_are_opened() {
    check(
        "cursor://anysphere.cursor-deeplink/mcp/install?name=pg&config=eyJ1cmwiOiJodHRwczovL3BnLnRlc3QvbWNwIn0%3D",
        json!({"pg": {"url": "https://pg.test/mcp"}}),
    );
    check(
        "vscode:mcp/install?%7B%22name%22%3A%22pg%22%2C%22url%22%3A%22https%3A%2F%2Fpg.test%2Fmcp%22%7D",
        json!({"pg": {"url": "https://pg.test/mcp"}}),
    );
    let server = "%7B%22type%22%3A%22http%22%2C%22url%22%3A%22https%3A%2F%2Fpg.test%2Fmcp%22%7D";
    for host in ["vscode.dev", "insiders.vscode.dev"] {
        check(
            &format!(
                "https://{host}/redirect/mcp/install?name=my%20pg&config={server}&quality=insiders"
            ),
            json!({"my_pg": {"url": "https://pg.test/mcp"}}),
        );
        let link = format!("vscode:mcp/install?{server}").replace('%', "%25");
        check(
            &format!("https://{host}/redirect?url={link}"),
            json!({"pg": {"url": "https://pg.test/mcp"}}),
        );
        for query in ["name=x", "config=%zz", ""] {
            let why = refusal(&format!("https://{host}/redirect/mcp/install?{query}")).to_string();
            assert_eq!(why, "the link contains no valid data");
        }
    }
    for text in ["cursor://anysphere.cursor-deeplink/mcp/install?name=x", "vscode:mcp/install?%zz"]
    {
        assert_eq!(refusal(text).to_string(), "the link contains no valid data");
    }
    let nested = "vscode:mcp/install?".repeat(100_000);
    assert_eq!(refusal(&nested).to_string(), "the link contains another link");
}

#[test]
fn parts_of_a_file_are_enough() {
    check(
        r#"{"command": "npx", "args": ["-y", "mcp-git"]}"#,
        json!({"git": {"command": ["npx", "-y", "mcp-git"]}}),
    );
    check(
        r#""git": {"command": "npx -y mcp-git"},"#,
        json!({"git": {"command": ["npx", "-y", "mcp-git"]}}),
    );
    check(r#"{"a": {"url": "https://a.test/mcp"}}"#, json!({"a": {"url": "https://a.test/mcp"}}));
    check(
        "servers:\n  web:\n    url: https://x.test/mcp\n    trusted: true\n",
        json!({"web": {"url": "https://x.test/mcp", "trusted": true}}),
    );
}

#[test]
fn nothing_is_left_to_a_shell() {
    for (text, word) in [
        ("npx a && rm -rf /", "&&"),
        ("cat x | sh", "|"),
        ("npx $(whoami)", "$(whoami)"),
        ("npx `id`", "`id`"),
        ("a; b", "a;"),
    ] {
        let why = refusal(text).to_string();
        assert!(why.starts_with(&format!("`{word}` needs a shell")), "{why}");
    }
    assert_eq!(refusal("npx 'a").to_string(), "a quote in the command line is not closed");
}
