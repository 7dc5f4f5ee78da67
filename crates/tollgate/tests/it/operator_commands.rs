//! `doctor`, `bench`, `connect`, `man` and the MCP registry.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::fake;
use crate::running::Served;
use crate::terminal::Terminal;
use crate::{Run, tollgate, tollgate_with};

fn with_home(folder: &Path, arguments: &[&str]) -> Run {
    let home = folder.join("home");
    tollgate_with(folder, arguments, &[("HOME", home.to_str().unwrap())])
}

fn read(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr))
}

#[test]
fn a_client_gets_its_entry_and_keeps_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(
        folder.join("tollgate.yaml"),
        "listen: 127.0.0.1:7\nagents: { sage: { tools: [roll] } }\n",
    )
    .unwrap();
    let list = with_home(folder, &["connect"]);
    assert!(
        list.stdout.contains("claude-code") && list.stdout.contains("pipecat"),
        "{}",
        list.stdout
    );
    let shown = with_home(folder, &["connect", "codex", "--agent", "sage"]);
    assert_eq!(shown.stdout, "[mcp_servers.tollgate]\nurl = \"http://127.0.0.1:7/mcp/sage\"\n");
    let file = folder.join("home/.cursor/mcp.json");
    let tried = with_home(folder, &["connect", "cursor", "--write", "--dry-run"]);
    assert_eq!(tried.code, Some(0), "{}", tried.stderr);
    assert!(!file.exists() && tried.stdout.contains("+    \"tollgate\""), "{}", tried.stdout);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(
        &file,
        "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"b\"},\n  }\n}\n",
    )
    .unwrap();
    let written = with_home(folder, &["connect", "cursor", "--write", "--key", "canary\"key"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(!written.stdout.contains("canary"), "{}", written.stdout);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("// mine\n") && text.contains("\"a\": {\"command\": \"b\"},"), "{text}");
    assert!(text.contains("Bearer canary\\\"key"), "{text}");
    let again = with_home(folder, &["import", "cursor", "--dry-run"]);
    assert!(
        again.stdout.contains("+ tollgate") && again.stdout.contains("+ a"),
        "{}",
        again.stdout
    );
    for (words, code) in [
        (&["connect", "emacs"][..], 2),
        (&["connect", "curl", "--write"], 2),
        (&["connect", "cursor", "--agent", "nobody"], 2),
        (&["connect", "cursor", "--url", "javascript:x"], 2),
    ] {
        assert_eq!(with_home(folder, words).code, Some(code), "{words:?}");
    }
    fs::write(&file, "{ broken").unwrap();
    let broken = with_home(folder, &["connect", "cursor", "--write"]);
    assert_eq!((broken.code, fs::read_to_string(&file).unwrap().as_str()), (Some(1), "{ broken"));
}

#[test]
fn what_connect_changes_is_shown_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir_all(folder.join("home/.cursor")).unwrap();
    let file = folder.join("home/.cursor/mcp.json");
    let old = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"b\",\n      \"env\": { \"GITHUB_TOKEN\": \"canary-1\" }\n    },\n    \"tollgate\": { \"url\": \"http://x.test\", \"headers\": { \"Authorization\": \"Bearer canary-2\" } }\n  }\n}\n";
    fs::write(&file, old).unwrap();
    for words in [
        &["connect", "cursor", "--write", "--dry-run", "--key", "tg_new"][..],
        &["--json", "connect", "cursor", "--write", "--dry-run", "--key", "tg_new"],
        &["connect", "cursor", "--write", "--key", "tg_new"],
    ] {
        let run = with_home(folder, words);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(!run.stdout.contains("canary") && !run.stdout.contains("tg_new"), "{}", run.stdout);
        assert!(run.stdout.contains("Bearer <hidden>"), "{}", run.stdout);
    }
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("canary-1") && text.contains("Bearer tg_new"), "{text}");
}

#[test]
fn a_client_that_starts_programs_has_no_address_and_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for words in [["--url", "http://x.test"], ["--key", "tg_mine"]] {
        let run = with_home(folder, &["connect", "claude-desktop", words[0], words[1]]);
        assert_eq!(run.code, Some(2), "{}", run.stdout);
        assert!(run.stderr.contains("a separate gateway"), "{}", run.stderr);
    }
    let run = with_home(folder, &["--data", "kept", "connect", "claude-desktop"]);
    let entry: Value = serde_json::from_str(&run.stdout).unwrap();
    let words = entry["mcpServers"]["tollgate"]["args"].as_array().unwrap();
    let data = words.last().and_then(Value::as_str).unwrap();
    assert_eq!(words[words.len() - 2], "--data");
    assert!(data.starts_with('/') && data.ends_with("/kept"), "{data}");
}

#[test]
fn a_key_that_was_made_counts_as_one_that_is_configured() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("tollgate.yaml"), "listen: 127.0.0.1:1\n").unwrap();
    let keys = |run: &Run| -> Value {
        let findings = read(run)["findings"].clone();
        findings.as_array().unwrap().iter().find(|it| it["about"] == "keys").cloned().unwrap()
    };
    assert!(!with_home(folder, &["connect", "cursor"]).stdout.contains("TOLLGATE_KEY"));
    let before = keys(&tollgate(folder, &["--json", "doctor"])).to_string();
    assert!(before.contains("none required"), "{before}");
    assert_eq!(tollgate(folder, &["keys", "create", "phone"]).code, Some(0));
    let shown = with_home(folder, &["connect", "cursor"]);
    assert!(shown.stdout.contains("Bearer TOLLGATE_KEY"), "{}", shown.stdout);
    let after = keys(&tollgate(folder, &["--json", "doctor"])).to_string();
    assert!(after.contains("every client must send one"), "{after}");
    fs::create_dir_all(folder.join("home/.cursor")).unwrap();
    for arguments in [
        &["connect", "cursor", "--write", "--key", "tg_mine"][..],
        &["connect", "cursor", "--write", "--url", "https://other.test"],
    ] {
        let written = with_home(folder, arguments);
        assert_eq!(written.code, Some(0), "{}", written.stderr);
        assert!(!written.stderr.contains("with a key"), "{}", written.stderr);
    }
    let text = fs::read_to_string(folder.join("home/.cursor/mcp.json")).unwrap();
    assert!(text.contains("Bearer tg_mine") && text.contains("https://other.test/mcp"), "{text}");
}

#[test]
fn the_doctor_finds_what_is_wrong_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "listen: {}\nservers: {{ gone: {{ command: [/nowhere/at-all] }} }}\n",
        taken.local_addr().unwrap()
    );
    fs::write(folder.join("tollgate.yaml"), config).unwrap();
    let sick = tollgate(folder, &["--json", "doctor"]);
    assert_eq!(sick.code, Some(1), "{}{}", sick.stdout, sick.stderr);
    let findings = read(&sick)["findings"].as_array().unwrap().clone();
    let about =
        |what: &str| findings.iter().find(|it| it["about"] == what).cloned().unwrap_or_default();
    assert_eq!(about("port")["state"], "problem", "{findings:?}");
    assert_eq!(about("server")["state"], "problem", "{findings:?}");
    assert!(
        about("server")["advice"].as_str().unwrap().contains("servers test gone"),
        "{findings:?}"
    );
    for well in ["config", "data", "clock", "keys", "database"] {
        assert_eq!(about(well)["state"], "ok", "{well}: {findings:?}");
    }
    fs::write(folder.join("tollgate.yaml"), "listenn: x\n").unwrap();
    let bad = tollgate(folder, &["doctor"]);
    assert_eq!(bad.code, Some(1));
    assert!(
        bad.stdout.contains("no  config") && bad.stdout.contains("`tollgate check`"),
        "{}",
        bad.stdout
    );
    fs::write(folder.join("tollgate.yaml"), "listen: 127.0.0.1:0\ndata: /dev/null\n").unwrap();
    let nowhere = tollgate(folder, &["doctor"]);
    assert!(nowhere.stdout.contains("no  data"), "{}", nowhere.stdout);
}

#[test]
fn a_probe_says_by_its_exit_code_whether_the_gateway_is_ready() {
    let served = Served::start("limits: {}\n");
    let listen = [("TOLLGATE_LISTEN", served.address.as_str())];
    let well = tollgate_with(served.folder.path(), &["doctor", "--probe"], &listen);
    assert_eq!((well.code, well.stdout.as_str()), (Some(0), ""), "{}", well.stderr);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let none =
        tollgate_with(served.folder.path(), &["doctor", "--probe"], &[("TOLLGATE_LISTEN", &free)]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("no gateway answers on"), "{}", none.stderr);
}

#[test]
fn a_load_is_measured_and_tools_that_write_are_spared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("tollgate.yaml"), "listen: 127.0.0.1:0\n# every tool\nlimits: {}\n")
        .unwrap();
    let words =
        ["--json", "bench", "roll", "expression=1d6", "--seconds", "1", "--connections", "2"];
    let measured = tollgate(folder, &words);
    assert_eq!(measured.code, Some(0), "{}{}", measured.stdout, measured.stderr);
    let body = read(&measured);
    assert!(body["calls"]["calls"].as_u64().unwrap() > 0 && body["calls"]["errors"] == 0, "{body}");
    assert!(
        body["health"]["p50_ms"].as_f64().unwrap() <= body["health"]["p99_ms"].as_f64().unwrap()
    );
    let refused =
        tollgate(folder, &["bench", "write_file", "path=a", "content=b", "--seconds", "1"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    assert!(refused.stderr.contains("may change something"), "{}", refused.stderr);
    let failing = tollgate(folder, &["bench", "roll", "expression=x", "--seconds", "1"]);
    assert_eq!(failing.code, Some(1), "{}", failing.stdout);
    assert_eq!(tollgate(folder, &["bench", "nothing"]).code, Some(1));
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let one = tollgate(folder.path(), &["man"]);
    assert!(one.stdout.starts_with(".ie") || one.stdout.contains(".TH TOLLGATE"), "{}", one.stdout);
    let all = tollgate(folder.path(), &["man", "--out", "pages"]);
    assert_eq!(all.code, Some(0), "{}", all.stderr);
    for page in ["tollgate.1", "tollgate-import.1", "tollgate-servers-add.1"] {
        let text = fs::read_to_string(folder.path().join("pages").join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}: {text}");
    }
    assert!(!folder.path().join("pages/tollgate-manual.1").exists());
}

const ENTRY: &str = r#"{"server": {"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "io.github.a/mcp-weather", "description": "Weather <b>now</b>", "version": "1.0.2", "websiteUrl": "javascript:alert(1)",
  "packages": [{"registryType": "npm", "identifier": "@a/weather", "version": "1.0.2", "transport": {"type": "stdio"},
    "packageArguments": [{"type": "positional", "value": "$(touch canary); ${HOME}"}],
    "environmentVariables": [{"name": "WEATHER_KEY", "description": "The key", "isRequired": true, "isSecret": true}]}],
  "remotes": [{"type": "streamable-http", "url": "https://w.test/mcp"}]},
  "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": true}}}"#;

/// A copy of the registry's API.
fn registry() -> fake::Gateway {
    let page = format!(
        r#"{{"servers": [{ENTRY}], "metadata": {{"nextCursor": "io.github.a/mcp-weather:1.0.2", "count": 1}}}}"#
    );
    let huge = format!(r#"{{"servers": [], "x": "{}"}}"#, "x".repeat(10 << 20));
    let routes: Vec<(&'static str, &'static str)> = vec![
        ("GET /v0.1/servers?limit=20&version=latest&search=weather", page.leak()),
        ("GET /v0.1/servers?limit=20&version=latest&search=huge", huge.leak()),
        ("GET /v0.1/servers?limit=20&version=latest&search=strange", "<html>"),
        ("GET /v0.1/servers/io.github.a%2Fmcp-weather/versions/latest", ENTRY),
    ];
    fake::serve(routes.leak())
}

#[test]
fn servers_of_the_registry_are_found_shown_and_added() {
    let registry = registry();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let config =
        format!("listen: 127.0.0.1:0\nregistry: {{ url: \"http://{}\" }}\n", registry.address);
    fs::write(folder.join("tollgate.yaml"), &config).unwrap();
    let found = tollgate(folder, &["servers", "search", "weather"]);
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    assert!(
        found.stdout.contains("io.github.a/mcp-weather  1.0.2    npm, remote"),
        "{}",
        found.stdout
    );
    let body = read(&tollgate(folder, &["--json", "servers", "search", "weather"]));
    assert_eq!(body["servers"][0]["website"], Value::Null);
    assert_eq!(body["servers"][0]["choices"][0]["needs"][0]["name"], "WEATHER_KEY");
    for (word, why) in
        [("huge", "larger than"), ("strange", "not a list of servers"), ("nothing", "answered 404")]
    {
        let run = tollgate(folder, &["servers", "search", word]);
        assert_eq!(run.code, Some(1), "{word}: {}", run.stdout);
        assert!(run.stderr.contains(why), "{word}: {}", run.stderr);
    }
    let add = ["servers", "add", "--from-registry", "io.github.a/mcp-weather"];
    let asked = tollgate(folder, &add);
    assert_eq!(asked.code, Some(1), "{}", asked.stdout);
    assert!(
        asked
            .stderr
            .contains("would be started as: npx -y @a/weather@1.0.2 $(touch canary); ${HOME}"),
        "{}",
        asked.stderr
    );
    assert_eq!(fs::read_to_string(folder.join("tollgate.yaml")).unwrap(), config);
    let added = tollgate(folder, &[&add[..], &["--yes"]].concat());
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert!(
        added.stderr.contains("set `WEATHER_KEY` in the gateway's environment"),
        "{}",
        added.stderr
    );
    let text = fs::read_to_string(folder.join("tollgate.yaml")).unwrap();
    assert!(text.contains("  weather:\n    command: [\"npx\", \"-y\", \"@a/weather@1.0.2\", \"$(touch canary); $${HOME}\"]\n"), "{text}");
    let remote =
        tollgate(folder, &[&add[..], &["w2", "--choice", "remote", "--yes", "--no-test"]].concat());
    assert_eq!(remote.code, Some(0), "{}", remote.stderr);
    assert_eq!(
        tollgate(folder, &["servers", "add", "--from-registry", "a/none", "--yes"]).code,
        Some(1)
    );
    assert!(!folder.join("canary").exists());
}

#[test]
fn the_gateway_asks_the_registry_for_the_page() {
    let registry = registry();
    let served = Served::start(&format!("registry: {{ url: \"http://{}\" }}\n", registry.address));
    let found = served.ask("GET", "/api/registry?q=weather");
    assert_eq!(found.status, 200, "{found:?}");
    let body = found.json();
    assert_eq!(body["next"], "io.github.a/mcp-weather:1.0.2");
    assert_eq!(body["servers"][0]["choices"][1]["server"], json!({"url": "https://w.test/mcp"}));
    assert_eq!(served.ask("GET", "/api/registry?q=strange").status, 502);
    let connect = served.ask("GET", "/api/connect").json();
    assert_eq!(
        (&connect["needs_key"], connect["clients"].as_array().unwrap().len()),
        (&json!(false), 22)
    );
}

#[test]
fn a_server_that_was_added_is_asked_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("tollgate.yaml"), "listen: 127.0.0.1:0\n# mine\nlimits: {}\n").unwrap();
    let own = env!("CARGO_BIN_EXE_tollgate");
    let inner = folder.join("inner");
    fs::create_dir(&inner).unwrap();
    let inner = inner.to_str().unwrap();
    let add =
        ["servers", "add", "own", "--cwd", inner, "--", own, "mcp", "--listen", "127.0.0.1:0"];
    let added = tollgate(folder, &add);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert!(
        added.stderr.contains("reached in ") && added.stderr.contains(" tools"),
        "{}",
        added.stderr
    );
    let gone = tollgate(folder, &["--json", "servers", "add", "gone", "--", "/nowhere/at-all"]);
    assert_eq!(
        (gone.code, &read(&gone)["test"]["ok"]),
        (Some(0), &json!(false)),
        "{}",
        gone.stderr
    );
    let untried =
        tollgate(folder, &["--json", "servers", "add", "gone2", "--no-test", "--", "/nowhere"]);
    assert_eq!(read(&untried)["test"], Value::Null);
    let bare = tollgate(folder, &["servers", "add"]);
    assert_eq!(bare.code, Some(2), "nobody can be asked: {}", bare.stderr);
}

#[test]
fn whoever_adds_a_server_at_a_terminal_is_asked_and_sees_its_tools() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("tollgate.yaml"), "# mine\nlimits: {}\n").unwrap();
    let own = env!("CARGO_BIN_EXE_tollgate");
    // A gateway as a server: our config is closed to it.
    fs::create_dir(folder.join("inner")).unwrap();
    fs::write(folder.join("inner/own.yaml"), "limits: {}\n").unwrap();
    let mut terminal = Terminal::start(folder, &["servers", "add"]);
    terminal.sees("paste a command, a URL, or the JSON of a server");
    terminal.types(&format!(
        "{{\"command\": \"{own}\",\n \"args\": [\"mcp\", \"--config\", \"inner/own.yaml\", \"--data\", \"inner\"]}}\n"
    ));
    terminal.sees("its name [tollgate]");
    terminal.types("mine\n");
    terminal.sees("reached in ");
    terminal.sees("  roll");
    terminal.sees("+  mine:");
    terminal.sees("save it?");
    terminal.types("y\n");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let text = fs::read_to_string(folder.join("tollgate.yaml")).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("  mine:\n    command: ["), "{text}");
    let mut terminal =
        Terminal::start(folder, &["import", "http://127.0.0.1:9/mcp", "--name", "mine"]);
    terminal.sees("a server `mine` already exists");
    terminal.types("rename\n");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(fs::read_to_string(folder.join("tollgate.yaml")).unwrap().contains("  mine_2:\n"));
    let mut terminal = Terminal::start(folder, &["servers", "add"]);
    terminal.sees("paste");
    terminal.types("https://x.test/mcp?token=canary\n");
    terminal.sees("its name [x]");
    terminal.types("\n");
    terminal.sees("save it?");
    terminal.types("no\n");
    assert_eq!(terminal.wait_for_end(), Some(1));
}
