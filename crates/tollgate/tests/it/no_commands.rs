//! S-01: nothing that a request carries is run. Every route there is gets commands in its body,
//! from everybody but those who may administer the gateway.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::isolated_gateway::Gateway;

const ROUTER: &str = "../tollgate-server/src/router.rs";
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Nobody, somebody unknown, and whoever has the rights to use everything but to change it.
const KEYS: [(&str, &str); 4] = [
    ("none", ""),
    ("unknown", "authorization: Bearer nobody-0123456789abcdef\r\n"),
    ("user", "authorization: Bearer user-0123456789abcdef\r\n"),
    ("operator", "authorization: Bearer operator-0123456789abcdef\r\n"),
];

/// The paths in the router's own text, so that a new route is in this table too.
fn routes() -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(ROUTER)).unwrap();
    let mut parts: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
    parts.retain(|part| part.starts_with('/'));
    let name = |path: &str| {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "dice" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    parts.into_iter().map(name).collect()
}

#[test]
fn s_01_no_request_runs_a_command_without_the_right_to_administer() {
    let folder = TempDir::new().unwrap();
    let canary = folder.path().join("canary");
    let command = json!(["touch", canary]);
    let config = json!({"keys": [
        {"name": "user", "key": "user-0123456789abcdef", "rights": ["execute"]},
        {"name": "operator", "key": "operator-0123456789abcdef",
         "rights": ["execute", "approve", "override_tier"]}]});
    let gateway = Gateway::start_in(folder, &config, |command| command);
    let server = json!({"id": "x", "name": "x", "command": command, "transport": "stdio"});
    let bodies = [
        server.clone(),
        json!({"server": server, "config": {"servers": {"x": server}}, "servers": {"x": server},
               "mcpServers": {"x": server}}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": "roll", "arguments": {"expression": "1d6"}, "command": command,
                          "_meta": {"command": command, "servers": {"x": server}}}}),
    ];
    let routes = routes();
    assert!(routes.len() >= 12, "{routes:?}");
    for path in &routes {
        // An event stream ends when its reader leaves, which this one does not.
        let streams =
            path.starts_with("/mcp") || path.ends_with("/events") || path.ends_with("/tail");
        for method in METHODS.iter().filter(|method| !(streams && **method == "GET")) {
            for (who, key) in KEYS {
                for body in &bodies {
                    let answer = gateway.send(&format!("{method} {path}"), key, &body.to_string());
                    assert!(answer.starts_with("HTTP/1.1 "), "{method} {path}: {answer}");
                    assert!(!canary.exists(), "{method} {path} by {who} ran a command");
                }
            }
        }
    }
    for (who, key) in KEYS {
        let answer = gateway.send("POST /api/servers", key, &server.to_string());
        let refused = ["401", "403", "404", "429"].iter().any(|code| answer[9..].starts_with(code));
        assert!(refused, "{who}: {answer}");
    }
    // What is started would be started by now.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!canary.exists());
}
