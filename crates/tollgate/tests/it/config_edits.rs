//! Config edits over HTTP and by command, in one file.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::running::{Line, Served};
use crate::{tollgate, tollgate_with};

const YAML: (&str, &str) = ("content-type", "application/yaml");

/// Everything secret in it says `canary`.
const CONFIG: &str = "\
# mine
servers:
  web: # far away
    url: http://127.0.0.1:9/mcp
    start: lazy
    headers: { X-Key: canary }
";

fn etag(line: &mut Line) -> String {
    line.send("GET /api/config", &[], "").header("etag").unwrap().to_owned()
}

#[test]
fn s_07_an_unedited_config_saved_again_keeps_its_secrets_and_shows_none() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let shown = line.send("GET /api/config", &[], "");
    assert!(!shown.body.contains("canary") && shown.body.contains("# far away"), "{shown:?}");
    let tag = shown.header("etag").unwrap().to_owned();
    let text = format!("{}# and this\n", shown.body);
    let saved = line.send("PUT /api/config", &[YAML, ("if-match", &tag)], &text);
    assert_eq!(saved.status, 200, "{saved:?}");
    assert!(!saved.body.contains("canary"));
    assert_eq!(saved.json()["servers"]["kept"], json!(["web"]));
    let file = fs::read_to_string(&served.file).unwrap();
    assert_eq!(file.matches("canary").count(), 1, "{file}");
    assert!(file.ends_with("# and this\n"));
    let values = line.send("GET /api/config?format=json", &[], "");
    assert!(!values.body.contains("canary"), "{values:?}");
    assert_eq!(values.json()["config"]["servers"]["web"]["start"], "lazy");
    assert!(!served.log().contains("canary"));
}

#[test]
fn b_me_6_the_second_of_two_editors_is_told() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let tag = etag(&mut line);
    let put = |line: &mut Line, tag: &str, text: &str| {
        let headers = [YAML, ("if-match", tag)];
        line.send("PUT /api/config", &headers, text).status
    };
    assert_eq!(put(&mut line, &tag, "limits: { timeout_ms: 1 }\n"), 200);
    assert_eq!(put(&mut line, &tag, "limits: { timeout_ms: 2 }\n"), 412);
    assert_eq!(fs::read_to_string(&served.file).unwrap(), "limits: { timeout_ms: 1 }\n");
    assert_eq!(line.send("PUT /api/config", &[YAML], "limits: {}\n").status, 428);
}

#[test]
fn a_bad_text_is_refused_with_the_place_of_each_mistake() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let tag = etag(&mut line);
    let text = "servers:\n  web: { urll: x }\nlistenn: y\n";
    let refused = line.send("PUT /api/config", &[YAML, ("if-match", &tag)], text);
    assert_eq!(refused.status, 422);
    let problem = refused.json();
    let places: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|it| &it["line"]).collect();
    assert!(places.contains(&&json!(2)) && places.contains(&&json!(3)), "{problem}");
    assert!(problem["detail"].as_str().unwrap().starts_with("line 2, column "), "{problem}");
    assert_eq!(fs::read_to_string(&served.file).unwrap(), CONFIG);
    let tried = line.send("POST /api/config/check", &[YAML], "limits: { timeout_ms: 5 }\n");
    assert_eq!(tried.json()["servers"]["removed"], json!(["web"]), "{tried:?}");
    assert!(!tried.body.contains("canary"), "{tried:?}");
    assert_eq!(fs::read_to_string(&served.file).unwrap(), CONFIG);
}

#[test]
fn servers_come_and_go_over_http_and_the_comments_stay() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let body = json!({"name": "new", "url": "http://127.0.0.1:9/mcp", "start": "lazy"});
    let added = line.send("POST /api/servers", &[], &body.to_string());
    assert_eq!(added.status, 201, "{added:?}");
    assert_eq!(added.json()["servers"]["added"], json!(["new"]));
    assert_eq!(line.send("POST /api/servers", &[], &body.to_string()).status, 409);
    let file = fs::read_to_string(&served.file).unwrap();
    assert!(file.starts_with(CONFIG) && file.contains("\n  new:\n    url: "), "{file}");
    assert_eq!(line.send("POST /api/servers/new/disable", &[], "").status, 200);
    let servers = line.send("GET /api/servers", &[], "").json();
    let new = servers["servers"].as_array().unwrap().iter().find(|it| it["id"] == "new").cloned();
    assert_eq!(new.unwrap()["state"], "disabled");
    assert_eq!(line.send("DELETE /api/servers/new", &[], "").status, 200);
    assert_eq!(line.send("DELETE /api/servers/new", &[], "").status, 404);
    assert_eq!(fs::read_to_string(&served.file).unwrap(), CONFIG);
    let extra = json!({"name": "x", "url": "http://127.0.0.1:9/mcp", "rights": ["admin"]});
    assert_eq!(line.send("POST /api/servers", &[], &extra.to_string()).status, 422);
    assert_eq!(line.send("POST /api/servers/nobody/restart", &[], "").status, 404);
    let restarted = line.send("POST /api/servers/web/restart", &[], "").json();
    assert_eq!(restarted["restarted"], true);
    let rows = line.send("GET /api/audit?kind=server&outcome=restarted", &[], "").json();
    assert_eq!(rows["rows"][0]["name"], "web", "who restarted it is in the trail: {rows}");
    fs::set_permissions(&served.file, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = line.send("POST /api/servers", &[], &body.to_string());
    assert_eq!(refused.status, 409);
    assert!(
        refused.json()["detail"].as_str().unwrap().contains("servers:\n  new:\n"),
        "{refused:?}"
    );
}

#[test]
fn the_command_line_shows_what_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tollgate.yaml");
    fs::write(&file, "# mine\nlisten: 127.0.0.1:1\n").unwrap();
    let add = ["servers", "add", "web", "--url", "https://x.test/mcp", "--token", "canary"];
    let tried = tollgate(folder.path(), &[&add[..], &["--dry-run"]].concat());
    assert_eq!(tried.code, Some(0), "{}", tried.stderr);
    assert!(tried.stdout.contains("+      token: ${WEB_TOKEN}"), "{}", tried.stdout);
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\nlisten: 127.0.0.1:1\n");
    let added = tollgate(folder.path(), &add);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert!(
        added.stderr.contains("set `WEB_TOKEN` in the gateway's environment"),
        "{}",
        added.stderr
    );
    assert!(added.stderr.contains("no gateway is running"), "{}", added.stderr);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# mine\nlisten: 127.0.0.1:1\n\nservers:\n  web:\n"), "{text}");
    assert!(!text.contains("canary"));
    let token = [("GH_TOKEN", "canary")];
    let set =
        ["servers", "add", "gh", "--env", "TOKEN=${GH_TOKEN}", "--dry-run", "--", "npx", "x@1"];
    let set = tollgate_with(folder.path(), &set, &token);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    assert!(!set.stderr.contains("GH_TOKEN"), "it is there: {}", set.stderr);
    let again = tollgate(folder.path(), &add);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("a server `web` already exists"), "{}", again.stderr);
    let gone = tollgate(folder.path(), &["servers", "remove", "web"]);
    assert_eq!(gone.code, Some(0), "{}", gone.stderr);
    let bad = tollgate(folder.path(), &["servers", "add", "web", "--url", "ftp://x"]);
    assert_eq!(bad.code, Some(2), "{}", bad.stderr);
}

#[test]
fn without_a_file_one_is_made_of_what_is_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let added = tollgate(folder.path(), &["servers", "add", "web", "--url", "https://x.test/mcp"]);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert!(added.stderr.contains("no agent sees its tools yet; add `web_*`"), "{}", added.stderr);
    let text = fs::read_to_string(folder.path().join("tollgate.yaml")).unwrap();
    assert!(text.contains("barkeep:") && text.ends_with("  web:\n    url: https://x.test/mcp\n"));
    assert_eq!(tollgate(folder.path(), &["check"]).code, Some(0));
}
