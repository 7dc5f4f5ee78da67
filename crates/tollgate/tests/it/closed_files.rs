//! The gateway's own files are closed to child processes, whatever `sandbox` says: no child reads
//! or changes them. Real servers, real kernel.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_testkit::skip;

use crate::isolated_gateway::{Gateway, Python};
use crate::serving::Serving;

const ATTACK: &str = include_str!("attack.py");
/// Becomes the gateway on a kernel that knows no Landlock, as far as that can be told.
const WITHOUT_LANDLOCK: &str = include_str!("without_landlock.py");
const DENIED: &str = "PermissionError";

/// What succeeds of everything that a server can try, as `attack.py` names it.
fn attack(gateway: &Gateway, server: &str, paths: &Value) -> String {
    let facts = json!({"paths": paths, "gateway": gateway.process.id(), "address": gateway.address,
        "name": server});
    gateway.evil(server, &format!("facts = {facts}\n{ATTACK}"))
}

fn own_files(folder: &Path) -> Value {
    json!({"data": folder.join(".tollgate"), "config": folder.join("tollgate.yaml"),
        "secret": folder.join("secrets/token")})
}

fn admin_token(folder: &Path) -> String {
    fs::read_to_string(folder.join(".tollgate/admin.token")).unwrap().trim().to_owned()
}

/// A secret file, and servers by their `sandbox`, all of which are given it.
fn gateway(sandboxes: &[(&str, Value)]) -> Gateway {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let place = folder.path();
    fs::create_dir(place.join("secrets")).unwrap();
    fs::write(place.join("secrets/token"), "canary-of-the-file\n").unwrap();
    let mut servers = serde_json::Map::new();
    for (name, sandbox) in sandboxes {
        let mut server = python.plain(place, name);
        server["env"] = json!({"TOKEN": format!("${{file:{}/secrets/token}}", place.display())});
        if !sandbox.is_null() {
            server["sandbox"] = sandbox.clone();
        }
        servers.insert((*name).to_owned(), server);
    }
    let names: Vec<&str> = sandboxes.iter().map(|(name, _)| *name).collect();
    Gateway::start_in(folder, &json!({"servers": servers}), |it| it.env("CANARY", "of the gateway"))
        .ready(&names)
}

#[test]
fn s_05_no_server_becomes_admin_whatever_its_sandbox_says() {
    let mut sandboxes = vec![
        ("plain", Value::Null),
        ("other", Value::Null),
        ("limits", json!({"memory_mb": 1024})),
        ("offline", json!({"network": "deny"})),
    ];
    if skip::require_root() {
        sandboxes.push(("privileged", json!({"no_new_privileges": false})));
    }
    let gateway = gateway(&sandboxes);
    let place = gateway.folder.path();
    let token = admin_token(place);
    let paths = own_files(place);
    thread::scope(|scope| {
        for (name, _) in &sandboxes {
            let gateway = &gateway;
            let paths = &paths;
            scope.spawn(move || assert_eq!(attack(gateway, name, paths), "nothing", "{name}"));
        }
    });
    assert_eq!(admin_token(place), token, "nothing was changed");
    assert_eq!(fs::read_to_string(place.join("secrets/token")).unwrap(), "canary-of-the-file\n");
    let keys = |token: &str| {
        gateway.send("GET /api/keys", &format!("authorization: Bearer {token}\r\n"), "")
    };
    assert!(keys("nothing").starts_with("HTTP/1.1 401"));
    assert!(keys(&token).starts_with("HTTP/1.1 200"), "what they wanted is worth it");
}

#[test]
fn s_05_links_and_replacements_open_nothing() {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let place = folder.path();
    // The data directory by way of two links, one of them relative, and the config by another.
    fs::create_dir_all(place.join("deep/real")).unwrap();
    symlink("deep/real", place.join("data")).unwrap();
    symlink(place.join("data"), place.join(".tollgate")).unwrap();
    fs::create_dir(place.join("conf")).unwrap();
    let config = json!({"servers": {"plain": python.plain(place, "plain")}});
    fs::write(place.join("conf/real.yaml"), config.to_string()).unwrap();
    symlink("conf/real.yaml", place.join("linked.yaml")).unwrap();
    let gateway =
        Gateway::start_in(folder, &json!({}), |command| command.args(["--config", "linked.yaml"]));
    let gateway = gateway.ready(&["plain"]);
    let place = gateway.folder.path();
    for (data, config) in
        [(".tollgate", "linked.yaml"), ("data", "conf/real.yaml"), ("deep/real", "conf/real.yaml")]
    {
        let paths = json!({"data": place.join(data), "config": place.join(config),
            "secret": place.join(config)});
        assert_eq!(attack(&gateway, "plain", &paths), "nothing", "{data}");
    }
    for link in [".tollgate", "data", "linked.yaml"] {
        let code = format!("os.unlink('{}/{link}')", place.display());
        assert_eq!(gateway.evil("plain", &code), DENIED, "{link} cannot be pointed elsewhere");
    }
    // Others move and replace what is ours.
    fs::rename(place.join("deep/real"), place.join("deep/moved")).unwrap();
    fs::create_dir(place.join("deep/real")).unwrap();
    fs::write(place.join("deep/real/admin.token"), "new").unwrap();
    // Without the database in its place no call would run.
    for file in fs::read_dir(place.join("deep/moved")).unwrap() {
        let name = file.unwrap().file_name();
        if name.to_string_lossy().starts_with("tollgate.db") {
            let moved = place.join("deep/moved").join(&name);
            fs::rename(moved, place.join("deep/real").join(&name)).unwrap();
        }
    }
    for _ in 0..100 {
        if !gateway.evil("plain", "1").contains("audit trail") {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    fs::write(place.join("conf/new"), "new").unwrap();
    fs::rename(place.join("conf/new"), place.join("conf/real.yaml")).unwrap();
    for path in ["deep/real/admin.token", "deep/moved/admin.token", "conf/real.yaml"] {
        let code = format!("open('{}/{path}').read()", place.display());
        assert_eq!(gateway.evil("plain", &code), DENIED, "{path}");
    }
}

/// The worst place for it: in the home directory, which is the working directory as well.
#[test]
fn s_05_ordinary_work_goes_on_around_closed_files() {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let home = folder.path().to_owned();
    fs::create_dir(home.join("project")).unwrap();
    fs::write(home.join("project/notes"), "mine").unwrap();
    let config = json!({"data": "./.local/share/tollgate",
        "servers": {"plain": python.plain(&home, "plain")}});
    let gateway = Gateway::start_in(folder, &config, |it| it.env("HOME", &home)).ready(&["plain"]);
    let work = |code: &str| gateway.evil("plain", code);
    assert_eq!(work("print(os.path.realpath('.'))"), home.display().to_string());
    for code in [
        "os.makedirs(os.path.expanduser('~/.npm/_cacache/tmp')); print('ok')",
        "os.makedirs(os.path.expanduser('~/.cache/uv/x')); print('ok')",
        "os.makedirs(os.path.expanduser('~/.local/share/uv'), exist_ok=True); print('ok')",
        "import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b'x'); print('ok')",
        "import tempfile; d = tempfile.mkdtemp(); os.rename(d, d + '2'); os.rmdir(d + '2'); print('ok')",
        "open('project/notes', 'a').write('!'); open('project/new', 'w').write('x'); os.rename('project/new', '.cache/new'); print('ok')",
        "open('.cache/run', 'w').write('#!/bin/sh\\necho ok'); os.chmod('.cache/run', 0o700); import subprocess; print(subprocess.run(['.cache/run'], capture_output=True, text=True).stdout)",
        "import subprocess; print(subprocess.run(['sh', '-c', 'cat /etc/hosts > /dev/null && ls ~ > /dev/null && echo ok'], capture_output=True, text=True).stdout)",
        "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); c = socket.create_connection(s.getsockname()); print('ok')",
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('.cache/socket'); print('ok')",
        "import multiprocessing; multiprocessing.Semaphore(1); print('ok')",
        "os.openpty(); print(os.path.exists('/dev/null') and 'ok')",
    ] {
        assert_eq!(work(code), "ok", "{code}");
    }
    assert_eq!(fs::read_to_string(home.join("project/notes")).unwrap(), "mine!");
    // What is lost, as docs/security.md says: new entries in directories that lead to our files.
    for code in [
        "open('new', 'w')",
        "os.mkdir('.local/share/other')",
        "open('.local/share/tollgate/admin.token')",
        "open('tollgate.yaml')",
    ] {
        assert_eq!(work(code), DENIED, "{code}");
    }
    let log = gateway.command(&["servers", "logs", "plain"]);
    let text = format!("the server cannot create files directly in `{}`", home.display());
    assert!(log.contains(&text), "{log}");
}

/// The process of a server once it is ready, and another than before.
fn process_of(gateway: &Serving, server: &str, before: Option<u64>) -> u64 {
    let folder = fs::read_link(format!("/proc/{}/cwd", gateway.pid())).unwrap();
    let admin = format!("x-api-key: {}\r\n", admin_token(&folder));
    for _ in 0..1_200 {
        let answer = gateway.ask(&format!("GET /api/servers/{server}"), &admin, "").text;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let found: Value = serde_json::from_str(body).unwrap();
        let process = found["pid"].as_u64().filter(|it| Some(*it) != before);
        if let (Some("ready"), Some(process)) = (found["state"].as_str(), process) {
            return process;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("`{server}` is not ready");
}

#[test]
fn s_05_a_server_that_can_make_no_files_where_it_runs_is_told_of_at_each_start() {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let place = folder.path();
    let above = folder.path().parent().unwrap();
    fs::create_dir(place.join("elsewhere")).unwrap();
    let server = |name: &str, key: &str, value: Value| {
        let mut server = python.plain(place, name);
        server[key] = value;
        server
    };
    let config = json!({"servers": {
        "beside": python.plain(place, "beside"),
        "above": server("above", "cwd", json!(above)),
        "apart": server("apart", "cwd", json!(place.join("elsewhere"))),
        "open": server("open", "sandbox", json!("none")),
    }});
    fs::write(place.join("tollgate.yaml"), config.to_string()).unwrap();
    let gateway = Serving::start_with(place, &[("PATH", "/usr/bin:/bin".to_owned())]);
    for server in ["above", "apart", "open"] {
        process_of(&gateway, server, None);
    }
    let first = process_of(&gateway, "beside", None);
    let admin = format!("x-api-key: {}\r\n", admin_token(place));
    gateway.ask("POST /api/servers/beside/restart", &admin, "");
    process_of(&gateway, "beside", Some(first));
    let listen = [("TOLLGATE_LISTEN", gateway.address.as_str()), ("PATH", "/usr/bin:/bin")];
    let doctor = crate::tollgate_with(place, &["doctor"], &listen).stdout;
    let log = gateway.terminate();
    let render = |text: &str, server: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("directly in its working directory"));
        lines.filter(|line| line.contains(server)).map(str::to_owned).collect()
    };
    for (server, directory, starts) in [("beside", place, 2), ("above", above, 1)] {
        let directory = format!("`{}`", directory.display());
        let logged = render(&log, &format!("server={server}"));
        assert_eq!(logged.len(), starts, "{server}: {log}");
        for words in [&*directory, "WARN", "`cwd`", "`--config` and `--data`", "`sandbox: none`"] {
            assert!(logged[0].contains(words), "no {words}: {}", logged[0]);
        }
        let found = render(&doctor, &format!(" {server}: "));
        assert!(found.len() == 1 && found[0].contains(&directory), "{server}: {doctor}");
    }
    assert!(doctor.contains("→ if the server needs this, set another `cwd` for it"), "{doctor}");
    for quiet in ["server=apart", "server=open"] {
        assert_eq!(render(&log, quiet), Vec::<String>::new());
    }
}

#[test]
fn s_05_a_secret_file_that_a_reload_names_is_closed_from_then_on() {
    let gateway = gateway(&[("plain", Value::Null)]);
    let place = gateway.folder.path();
    let later = place.join("later");
    fs::write(&later, "canary-of-later").unwrap();
    // It was there before the server, which can read it therefore.
    gateway.admin("POST /api/servers/plain/restart", "");
    gateway.server("plain", |server| server["state"] == "ready");
    let read = format!("print(open('{}').read())", later.display());
    // The state is told a moment before calls reach the new process.
    let can_read = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        gateway.evil("plain", &read) == "canary-of-later"
    });
    assert!(can_read, "{}", gateway.evil("plain", &read));
    let file = place.join("tollgate.yaml");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    config["servers"]["far"] = json!({"url": "http://127.0.0.1:9/mcp", "start": "lazy",
        "headers": {"x-key": format!("${{file:{}}}", later.display())}});
    fs::write(&file, config.to_string()).unwrap();
    let reloaded = gateway.admin("POST /api/reload", "");
    assert!(reloaded.contains("\"restarted\":[\"plain\"]"), "{reloaded}");
    gateway.server("plain", |server| server["state"] == "ready");
    assert_eq!(gateway.evil("plain", &read), DENIED);
}

/// A server that is only tried, over HTTP and by a command without a gateway.
#[test]
fn s_05_a_server_that_is_tried_is_no_exception() {
    let gateway = gateway(&[("plain", Value::Null)]);
    let place = gateway.folder.path();
    let script = place.join("plain/evil.py");
    let path = place.join("plain/told");
    let spy = format!(
        "try: said = open({:?}).read()\nexcept OSError: said = 'denied'\nopen({path:?}, 'w').write(said)\n",
        place.join(".tollgate/admin.token")
    );
    let evil = fs::read_to_string(&script).unwrap();
    fs::write(&script, format!("{spy}{evil}")).unwrap();
    let server = Python::found().plain_at(&script).to_string();
    let tried = gateway.admin("POST /api/servers/try", &server);
    assert!(tried.contains("in service"), "{tried}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "denied");
    fs::remove_file(&path).unwrap();
    // No gateway listens there, so that the command starts the server itself.
    let run = crate::tollgate(place, &["servers", "test", "plain", "--listen", "127.0.0.1:1"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), "denied");
}

#[test]
fn s_05_without_landlock_a_server_is_refused_unless_its_sandbox_is_none() {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let place = folder.path();
    let mut bare = python.plain(place, "bare");
    bare["sandbox"] = json!("none");
    let config = json!({"servers": {"plain": python.plain(place, "plain"), "bare": bare}});
    fs::write(place.join("tollgate.yaml"), config.to_string()).unwrap();
    let mut command = Command::new(&python.program);
    command
        .args(["-c", WITHOUT_LANDLOCK, env!("CARGO_BIN_EXE_tollgate")])
        .args(["serve", "--listen", "127.0.0.1:0"])
        .current_dir(place)
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    let gateway = Gateway::spawn_gateway(folder, &mut command).ready(&["bare"]);
    let refused = gateway.server("plain", |server| server["last_error"].is_string());
    let why = refused["last_error"].as_str().unwrap();
    assert!(why.contains("needs Landlock") && why.contains("`sandbox: none`"), "{why}");
    let token = gateway.folder.path().join(".tollgate/admin.token");
    let read = format!("print(len(open({token:?}).read()) > 20)");
    assert_eq!(gateway.evil("bare", &read), "True", "it has no sandbox at all");
    let warned = gateway.command(&["check"]);
    assert!(warned.contains("gives the server access to the gateway's files"), "{warned}");
}
