//! One server over HTTP: shown with its part of the file, edited key by key, and tried before it is
//! in the file at all.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::isolated_gateway::Python;
use crate::running::{Line, Served};

/// Everything secret in it says `canary`.
const CONFIG: &str = "\
# mine
servers:
  web: # far away
    url: http://127.0.0.1:9/mcp # here
    start: lazy
    # who we are
    headers: { X-Key: canary-one, X-Other: canary-two }
    category: search
  # the last
  other: { url: http://127.0.0.1:9/mcp, start: lazy, headers: { X-Key: canary-three } }
";

fn one(line: &mut Line, name: &str) -> Value {
    let answer = line.send(&format!("GET /api/servers/{name}"), &[], "");
    assert!(!answer.body.contains("canary"), "{answer:?}");
    answer.json()
}

#[test]
fn a_server_is_shown_with_its_part_of_the_file_and_its_past() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let web = one(&mut line, "web");
    assert_eq!(
        (&web["id"], &web["enabled"], &web["category"]),
        (&json!("web"), &json!(true), &json!("search"))
    );
    assert_eq!(
        (&web["trusted"], &web["needs_login"], &web["last_ok"]),
        (&json!(false), &json!(false), &Value::Null)
    );
    assert_eq!((&web["config"]["start"], &web["writable"]), (&json!("lazy"), &json!(true)));
    let yaml = web["yaml"].as_str().unwrap();
    assert!(yaml.starts_with("web: # far away\n  url: http://127.0.0.1:9/mcp # here\n"), "{yaml}");
    let history = web["history"].as_array().unwrap();
    assert_eq!(
        (&history[0]["state"], &history[0]["reason"]),
        (&web["state"], &web["reason"]),
        "{web}"
    );
    assert_eq!(history.last().unwrap()["state"], "starting", "{web}");
    let builtin = one(&mut line, "dice");
    assert_eq!((&builtin["config"], &builtin["yaml"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&builtin["trusted"], &builtin["history"][0]["state"]),
        (&json!(true), &json!("ready"))
    );
    assert_eq!(line.send("GET /api/servers/nobody", &[], "").status, 404);
    assert_eq!(line.send("GET /api/servers/web?x=1", &[], "").status, 400);
}

#[test]
fn s_07_only_what_was_edited_changes_and_covered_secrets_stay() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let web = one(&mut line, "web");
    let mut keys = web["config"].clone();
    let version = web["version"].as_str().unwrap().to_owned();
    keys["headers"]["X-Other"] = json!("plain");
    keys["category"] = Value::Null;
    keys["trusted"] = json!(true);
    let tag = format!("\"{version}\"");
    let tried =
        line.send("PUT /api/servers/web?dry_run=true", &[("if-match", &tag)], &keys.to_string());
    assert_eq!((tried.status, &tried.json()["applied"]), (200, &json!(false)), "{tried:?}");
    assert_eq!(fs::read_to_string(&served.file).unwrap(), CONFIG);
    let saved = line.send("PUT /api/servers/web", &[("if-match", &tag)], &keys.to_string());
    assert_eq!(saved.status, 200, "{saved:?}");
    assert_eq!(saved.json()["servers"]["restarted"], json!(["web"]));
    assert!(!saved.body.contains("canary"), "{saved:?}");
    let file = fs::read_to_string(&served.file).unwrap();
    let expected = CONFIG.replace(
        "    headers: { X-Key: canary-one, X-Other: canary-two }\n    category: search\n",
        "    headers:\n      X-Key: canary-one\n      X-Other: plain\n    trusted: true\n",
    );
    assert_eq!(file, expected);
    let late = line.send("PUT /api/servers/web", &[("if-match", &tag)], &keys.to_string());
    assert_eq!((late.status, &late.json()["code"]), (412, &json!("other_version")));
    let after = one(&mut line, "web");
    assert_eq!((&after["trusted"], &after["category"]), (&json!(true), &Value::Null));
    assert!(
        after["history"].as_array().unwrap().len() >= web["history"].as_array().unwrap().len(),
        "its past is kept"
    );
    let same = line.send("PUT /api/servers/web", &[], &after["config"].to_string());
    assert_eq!((same.status, &same.json()["diff"]), (200, &json!("")));
    assert_eq!(fs::read_to_string(&served.file).unwrap(), expected);
    let rows = line.send("GET /api/audit?kind=server&outcome=edited", &[], "").json();
    assert_eq!(rows["rows"][0]["server"], "web", "{rows}");
    assert!(!served.log().contains("canary"));
}

#[test]
fn what_cannot_be_saved_is_refused_and_nothing_changes() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let url = json!("http://127.0.0.1:9/mcp");
    for (what, body, status, code) in [
        ("web", json!({"url": url, "urll": 1}), 422, "bad_config"),
        ("web", json!({"url": url, "headers": {"a": "***0123456789ab"}}), 422, "bad_config"),
        ("web", json!({}), 422, "bad_config"),
        ("web", json!({"name": "another", "url": url}), 400, "bad_request"),
        ("web", json!({"name": 5}), 400, "bad_request"),
        ("web", json!([]), 400, "bad_request"),
        ("nobody", json!({"url": url}), 404, "unknown_server"),
        ("dice", json!({"url": url}), 404, "unknown_server"),
    ] {
        let refused = line.send(&format!("PUT /api/servers/{what}"), &[], &body.to_string());
        let said = (refused.status, refused.json()["code"].clone());
        assert_eq!(said, (status, json!(code)), "{body} {refused:?}");
    }
    assert_eq!(fs::read_to_string(&served.file).unwrap(), CONFIG);
}

#[test]
fn a_file_edited_by_hand_meanwhile_wins_and_one_that_is_read_only_says_what_to_paste() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let web = one(&mut line, "web");
    let tag = format!("\"{}\"", web["version"].as_str().unwrap());
    let by_hand = format!("{CONFIG}# by hand\n");
    served.write(&by_hand);
    let mut keys = web["config"].clone();
    keys["trusted"] = json!(true);
    let late = line.send("PUT /api/servers/web", &[("if-match", &tag)], &keys.to_string());
    assert_eq!((late.status, &late.json()["code"]), (412, &json!("other_version")), "{late:?}");
    assert_eq!(fs::read_to_string(&served.file).unwrap(), by_hand);
    fs::set_permissions(&served.file, fs::Permissions::from_mode(0o444)).unwrap();
    let config = line.send("GET /api/config?format=json", &[], "").json();
    assert_eq!(
        (&config["writable"], &one(&mut line, "web")["writable"]),
        (&json!(false), &json!(false))
    );
    let refused = line.send("PUT /api/servers/web", &[], &keys.to_string());
    let problem = refused.json();
    assert_eq!((refused.status, &problem["code"]), (409, &json!("unwritable_config")));
    let yaml = problem["yaml"].as_str().unwrap();
    assert!(yaml.starts_with("servers:\n  web:\n") && yaml.contains("trusted: true"), "{yaml}");
    assert!(!refused.body.contains("canary"), "{refused:?}");
    assert_eq!(fs::read_to_string(&served.file).unwrap(), by_hand);
}

fn try_call(line: &mut Line, server: &Value) -> Value {
    let answer = line.send("POST /api/servers/try", &[], &server.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn a_server_is_tried_without_anybody_seeing_it() {
    let served = Served::start(CONFIG);
    let python = Python::found();
    let mut line = served.line();
    let server = python.start_confined(served.folder.path(), "evil", &json!({}));
    let report = try_call(&mut line, &server);
    assert_eq!(
        (&report["ok"], &report["protocol"]),
        (&json!(true), &json!("2025-11-25")),
        "{report}"
    );
    assert_eq!(report["tools"], json!([{"name": "do", "title": null, "description": null}]));
    let servers = line.send("GET /api/servers", &[], "").body;
    assert!(!servers.contains("tried") && !servers.contains("evil"), "{servers}");
    assert_eq!(fs::read_to_string(&served.file).unwrap(), CONFIG);
    let rows = line.send("GET /api/audit?kind=server&outcome=tried", &[], "").json();
    assert_eq!(rows["rows"][0]["server"], "tried", "{rows}");
    let what = rows["rows"][0]["detail"].as_str().unwrap();
    assert!(what.contains("evil.py"), "what was started is in the trail: {rows}");
    assert!(!runs("evil.py", served.folder.path()), "it was ended");
}

#[test]
fn what_does_not_start_says_why() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let report = try_call(
        &mut line,
        &json!({"command": ["/bin/sh", "-c", "echo nothing here >&2; exit 3"]}),
    );
    assert_eq!((&report["ok"], &report["tools"]), (&json!(false), &json!([])));
    assert!(report["message"].as_str().unwrap().contains("nothing here"), "{report}");
    let report = try_call(&mut line, &json!({"name": "far", "url": "http://127.0.0.1:9/mcp"}));
    assert_eq!(report["ok"], false, "{report}");
    let refused = line.send("POST /api/servers/try", &[], &json!({"comand": ["x"]}).to_string());
    assert_eq!((refused.status, &refused.json()["code"]), (422, &json!("bad_config")));
    for body in ["[]", "{\"name\": 1}", "{"] {
        assert_eq!(line.send("POST /api/servers/try", &[], body).status, 400, "{body}");
    }
}

#[test]
fn s_07_a_secret_of_the_file_is_tried_as_it_is_and_shown_nowhere() {
    let served = Served::start(CONFIG);
    let mut line = served.line();
    let covered = one(&mut line, "web")["config"]["headers"]["X-Key"].clone();
    let command = json!(["/bin/sh", "-c", "echo it is $KEY >&2; exit 1"]);
    let server = json!({"command": command, "env": {"KEY": covered}});
    let report = try_call(&mut line, &server).to_string();
    assert!(report.contains("it is <secret>"), "{report}");
    assert!(!report.contains("canary"), "{report}");
}

#[test]
fn a_server_called_like_the_route_is_one_like_any_other() {
    let served = Served::start("servers:\n  try: { url: http://127.0.0.1:9/mcp, start: lazy }\n");
    let mut line = served.line();
    assert_eq!(one(&mut line, "try")["config"]["start"], "lazy");
    let put = line.send("PUT /api/servers/try", &[], "{\"url\": \"http://127.0.0.1:9/mcp\"}");
    assert_eq!(put.status, 200, "{put:?}");
    assert_eq!(line.send("DELETE /api/servers/try", &[], "").status, 200);
}

fn runs(word: &str, folder: &Path) -> bool {
    let folder = folder.display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .any(|line| line.contains(word) && line.contains(&folder))
}

#[test]
fn agents_are_shown_the_tools_of_a_new_server() {
    let config = "agents:\n  a:\n    tools: [roll] # mine\n  b:\n    tools:\n      - roll\n  c: {}\n  \
                  d:\n    tools:\n      - roll\n      # why\n      - roll_table\n";
    let served = Served::start(config);
    let mut line = served.line();
    let json = [("content-type", "application/json")];
    let body =
        json!({"name": "far-off", "url": "http://127.0.0.1:9/mcp", "start": "lazy"}).to_string();
    let mut ask = |path: &str| line.send(path, &json, &body);
    let nobody = ask("POST /api/servers?agents=a,nobody");
    assert_eq!((nobody.status, nobody.json()["code"].as_str()), (404, Some("unknown_agent")));
    assert_eq!(fs::read_to_string(&served.file).unwrap(), config, "nothing was written");
    let added = ask("POST /api/servers?agents=a,%20b,c,d");
    assert_eq!(added.status, 201, "{added:?}");
    let text = fs::read_to_string(&served.file).unwrap();
    for stored in
        ["tools: [roll, \"far_off_*\"] # mine", "      # why\n", "      - \"far_off_*\"\n"]
    {
        assert!(text.contains(stored), "{stored}: {text}");
    }
    let seen = line.send("GET /api/agents", &[], "").json();
    let lists: Vec<&Value> =
        seen["agents"].as_array().unwrap().iter().map(|agent| &agent["tools"]).collect();
    let with = json!(["roll", "far_off_*"]);
    assert_eq!(
        lists,
        [&with, &with, &json!(["far_off_*"]), &json!(["roll", "roll_table", "far_off_*"])]
    );
}
