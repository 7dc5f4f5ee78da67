//! Config reload under load: only changed parts are affected.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_testkit::skip;

use crate::isolated_gateway::{Gateway, Python, soak_or};
use crate::running::Served;

/// A server that is a process: this very program, with its built-in tools.
fn server(folder: &Path, name: &str) -> String {
    let program = env!("CARGO_BIN_EXE_tollgate");
    let data = folder.join(name).display().to_string();
    // It cannot make a directory beside our config.
    fs::create_dir_all(&data).unwrap();
    let inner = folder.join("inner.yaml");
    fs::write(&inner, "listen: 127.0.0.1:1\nagents: {}\n").unwrap();
    let inner = inner.display();
    format!(
        "  {name}:\n    command: [\"{program}\", \"mcp\", \"--config\", \"{inner}\", \"--data\", \"{data}\"]\n    tools: {{ roll: {{ max_duration_ms: 10000 }} }}\n"
    )
}

/// With one server, `one`.
fn serve_one() -> (Served, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tollgate.yaml");
    let config = format!("# mine\nservers:\n{}", server(folder.path(), "one"));
    fs::write(&file, &config).unwrap();
    (Served::on(folder, file), config)
}

fn reload(served: &Served) -> Value {
    served.ask("POST", "/api/reload").json()
}

/// Ends the load, also when a check failed.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn r_29_two_hundred_reloads_under_load_fail_nobody() {
    let (served, config) = serve_one();
    let pid = served.pid_of("one").expect("it runs");
    let done = AtomicBool::new(false);
    let calls = AtomicU64::new(0);
    #[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
    let began = Instant::now();
    let down = "  down:\n    url: http://127.0.0.1:9/mcp\n    start: lazy\n";
    let bad: [(String, &str); 7] = [
        (format!("{config}  x: [\n"), "this is not YAML"),
        (format!("{config}    toolz: {{}}\n"), ":6:5: unknown key `toolz`"),
        (format!("{config}  ONE:\n    command: x\n"), ":6:3: another server has a name like `ONE`"),
        (
            format!(
                "{config}  web:\n    url: https://x.test\n    auth: {{ token: \"${{UNSET}}\" }}\n"
            ),
            ":8:20: `servers.web.auth.token`: the variable `UNSET` is not set",
        ),
        (String::new(), "the file is empty"),
        (config[..config.len() - 12].to_owned(), ":"),
        (format!("{config}default_agent: nobody\n"), ":6:16: there is no agent `nobody`"),
    ];
    thread::scope(|scope| {
        let _over = Over(&done);
        for connection in 0..4 {
            let served = &served;
            let done = &done;
            let calls = &calls;
            scope.spawn(move || {
                let mut line = served.line();
                let body = json!({"name": "one_roll", "arguments": {"expression": "1d6"}});
                while !done.load(Ordering::Relaxed) {
                    let answer = match connection % 2 {
                        0 => line.send("GET /v1/tools", &[], ""),
                        _ => line.send("POST /v1/tools/execute", &[], &body.to_string()),
                    };
                    assert_eq!(answer.status, 200, "{}", answer.body);
                    assert!(
                        connection % 2 == 0 || answer.json()["status"] == "ok",
                        "{}",
                        answer.body
                    );
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..100 {
            let good = match round % 3 {
                0 => format!("{config}# round {round}\n"),
                1 => format!("{config}{down}"),
                _ => format!("{config}limits: {{ timeout_ms: {} }}\n", 20_000 + round),
            };
            served.write(&good);
            let response = reload(&served);
            assert_eq!(response["outcome"], "applied", "{response}");
            assert!(
                response["servers"]["kept"].as_array().unwrap().contains(&json!("one")),
                "{response}"
            );
            let (text, expected) = &bad[round % bad.len()];
            served.write(text);
            let response = reload(&served);
            assert_eq!(response["outcome"], "refused", "{text}: {response}");
            let error = response["error"].as_str().unwrap();
            assert!(error.contains(expected), "{error}");
            assert_eq!(served.ask("GET", "/readyz").status, 200);
        }
    });
    let rate = calls.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    assert!(calls.load(Ordering::Relaxed) > 1_000, "{calls:?}");
    // A busy machine makes fewer.
    assert!(rate > soak_or(500.0, 10.0), "{rate:.0} calls/s");
    assert_eq!(served.pid_of("one"), Some(pid), "the server was left alone");
    let response = served.ask("GET", "/api/reload").json();
    assert!(response["refused"].as_u64().unwrap() >= 100, "{response}");
    assert!(served.log().contains("the new config was rejected, the old one remains in use"));
}

/// The user root may read everything, unless it gives that up.
#[test]
fn r_29_a_config_that_may_not_be_read_changes_nothing() {
    if !skip::require_program("setpriv") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let config = "limits: { timeout_ms: 20000 }\n";
    let file = folder.path().join("tollgate.yaml");
    fs::write(&file, config).unwrap();
    let mut command = Command::new("sh");
    // Another user has nothing to give up.
    let script = "test \"$(id -u)\" = 0 && \
        exec setpriv --bounding-set=-dac_override,-dac_read_search \"$0\" \"$@\"; exec \"$0\" \"$@\"";
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_tollgate"), "serve", "--listen", "127.0.0.1:0"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    let gateway = Gateway::spawn_gateway(folder, &mut command);
    let allow = |mode: u32| fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    allow(0);
    let response: Value = serde_json::from_str(&gateway.admin("POST /api/reload", "")).unwrap();
    assert_eq!(response["outcome"], "refused", "{response}");
    assert!(response["error"].as_str().unwrap().contains("ermission denied"), "{response}");
    assert!(gateway.send("GET /readyz", "", "").starts_with("HTTP/1.1 200"));
    allow(0o600);
    fs::write(&file, format!("{config}# again\n")).unwrap();
    let response: Value = serde_json::from_str(&gateway.admin("POST /api/reload", "")).unwrap();
    assert_eq!(response["outcome"], "applied", "{response}");
}

#[test]
fn a_file_that_is_saved_is_taken_however_it_is_saved() {
    let (served, config) = serve_one();
    let more = |name: &str| format!("{config}{}", server(served.folder.path(), name));
    served.write(&more("two"));
    served.wait_for(|answer| answer["last"]["servers"]["added"] == json!(["two"]));
    // As editors do: another file takes its place.
    let beside = served.folder.path().join("beside");
    fs::write(&beside, more("three")).unwrap();
    fs::rename(&beside, &served.file).unwrap();
    let answer = served.wait_for(|answer| answer["last"]["servers"]["added"] == json!(["three"]));
    assert_eq!(answer["last"]["by"], "file");
    assert_eq!(answer["last"]["servers"]["removed"], json!(["two"]));
    // Written again as it is, it is nothing new.
    let applied = answer["applied"].as_u64();
    served.write(&more("three"));
    thread::sleep(Duration::from_millis(600));
    assert_eq!(served.ask("GET", "/api/reload").json()["applied"].as_u64(), applied);
    // A signal reads it in any case, and ends nothing.
    let pid = served.pid().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    let answer = served.wait_for(|answer| answer["last"]["by"] == "signal");
    assert_eq!(answer["last"]["outcome"], "applied");
}

/// Mounted configs are links to a link that is swapped.
#[test]
fn a_swapped_link_is_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |name: &str, text: &str| {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("tollgate.yaml"), text).unwrap();
    };
    inside("..1", "limits: { timeout_ms: 1000 }\n");
    inside("..2", "limits: { timeout_ms: 2000 }\n");
    symlink("..1", folder.path().join("..data")).unwrap();
    let file = folder.path().join("tollgate.yaml");
    symlink("..data/tollgate.yaml", &file).unwrap();
    let served = Served::on(folder, file);
    let at = |name: &str| served.folder.path().join(name);
    symlink("..2", at("..new")).unwrap();
    fs::rename(at("..new"), at("..data")).unwrap();
    served.wait_for(|answer| answer["applied"] == 1);
}

#[test]
fn b_cf_11_whatever_becomes_of_the_file_the_old_config_goes_on() {
    let (served, config) = serve_one();
    let pid = served.pid_of("one");
    let mut refused = 0;
    let mut next = |expected: &str| {
        let least = refused + 1;
        // What the file was on its way there may be told as well.
        let answer = served.wait_for(|answer| {
            let error = answer["last"]["error"].as_str().unwrap_or_default();
            answer["refused"].as_u64() >= Some(least) && error.contains(expected)
        });
        refused = answer["refused"].as_u64().unwrap();
    };
    fs::remove_file(&served.file).unwrap();
    next("No such file");
    fs::create_dir(&served.file).unwrap();
    next("it is a directory");
    fs::remove_dir(&served.file).unwrap();
    assert!(Command::new("mkfifo").arg(&served.file).status().unwrap().success());
    next("not a regular file");
    fs::remove_file(&served.file).unwrap();
    let large = fs::File::create(&served.file).unwrap();
    large.set_len(100 << 20).unwrap();
    next("larger than 1 MiB");
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    served.write(bomb);
    next("more than 100000 values");
    assert_eq!(served.pid_of("one"), pid);
    assert_eq!(served.ask("GET", "/readyz").status, 200);
    served.write(&config);
    served.wait_for(|answer| answer["last"]["outcome"] == "applied");
    // A hundred writes a second, half of each file missing at times: none is reported that was
    // not left that way.
    for round in 0..100 {
        served.write(&format!("{config}# {round}\n{}", if round % 2 == 0 { "x: [" } else { "" }));
        thread::sleep(Duration::from_millis(10));
    }
    served.write(&format!("{config}# the last\n"));
    served.wait_for(|answer| answer["last"]["outcome"] == "applied");
    assert_eq!(served.pid_of("one"), pid);
}

#[test]
fn a_half_written_file_is_read_again_before_it_is_called_bad() {
    let (served, config) = serve_one();
    let mut refused = 0;
    // A machine that stands still for a moment leaves the half there for too long, but not each time.
    for round in 1..=5_u64 {
        served.write(&format!("servers: {{ # {round}"));
        thread::sleep(Duration::from_millis(120));
        served.write(&format!("{config}# whole {round}\n"));
        let answer = served.wait_for(|answer| answer["applied"] == round);
        let before = std::mem::replace(&mut refused, answer["refused"].as_u64().unwrap());
        if before == refused {
            return;
        }
    }
    panic!("it was called bad each time: {}", served.log());
}

#[test]
fn what_needs_a_restart_is_said_and_the_rest_is_applied() {
    let (served, config) = serve_one();
    let text = format!(
        "{config}environment: other\ndata: ./elsewhere\nhosts: [gate.test]\nlimits: {{ per_key: 9 }}\n"
    );
    served.write(&text);
    let body = reload(&served);
    assert_eq!(
        body["needs_restart"],
        json!(["limits.per_key", "environment"]),
        "`--data` wins over the file: {body}"
    );
    let make_request = |host: &str| {
        let mut stream = std::net::TcpStream::connect(&served.address).unwrap();
        let request = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!((&*make_request("gate.test"), &*make_request("evil.test")), ("200", "403"));
}

#[test]
fn an_agent_that_is_gone_fails_no_call_of_the_others() {
    let (served, config) = serve_one();
    let agents = "agents:\n  a: { tools: [roll] }\n  b: { tools: [roll] }\n";
    served.write(&format!("{config}{agents}"));
    assert_eq!(reload(&served)["outcome"], "applied");
    let call = |agent: &str| {
        let body = json!({"name": "roll", "arguments": {"expression": "1d6"}, "agent": agent});
        served.line().send("POST /v1/tools/execute", &[], &body.to_string()).status
    };
    assert_eq!((call("a"), call("b")), (200, 200));
    served.write(&format!("{config}agents:\n  a: {{ tools: [roll] }}\n"));
    assert_eq!(reload(&served)["outcome"], "applied");
    assert_eq!((call("a"), call("b")), (200, 404));
}

#[test]
fn tables_rules_and_music_are_read_again_when_their_files_change() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tollgate.yaml");
    let config = "builtin: { tables: ./t, rules: ./r, music: { library: ./m.yaml } }\n";
    fs::write(&file, config).unwrap();
    fs::create_dir(folder.path().join("t")).unwrap();
    let served = Served::on(folder, file);
    let inside = |name: &str| served.folder.path().join(name);
    let call = |name: &str, arguments: Value| {
        let body = json!({ "name": name, "arguments": arguments }).to_string();
        served.line().send("POST /v1/tools/execute", &[], &body).json().to_string()
    };
    let inn = || call("roll_table", json!({ "table_name": "inns" }));
    assert!(inn().contains("expected one of"), "{}", inn());
    assert!(served.log().contains("m.yaml`: No such file"), "{}", served.log());

    fs::write(inside("t/inns.txt"), "The Owl\n").unwrap();
    let answer = served.wait_for(|answer| answer["applied"] == 1);
    assert_eq!(answer["last"]["by"], "files that the config names");
    assert!(inn().contains("The Owl"), "{}", inn());

    fs::create_dir(inside("r")).unwrap();
    let pack = "system: house\nrules: [{ id: house-hats, name: Hats, text: No hats inside. }]\n";
    fs::write(inside("r/house.yaml"), pack).unwrap();
    fs::write(inside("m.yaml"), "tracks: [{ title: Drums, file: d.ogg, moods: battle }]\n")
        .unwrap();
    served.wait_for(|_| call("get_rule", json!({ "id": "house-hats" })).contains("No hats inside"));
    served
        .wait_for(|_| call("play_track", json!({ "mood": "x" })).contains("there is for: battle"));

    // A file that is wrong takes away what was in it, and nothing else.
    fs::write(inside("r/house.yaml"), "rules: [").unwrap();
    served.wait_for(|_| call("get_rule", json!({ "id": "house-hats" })).contains("no rule"));
    assert!(served.log().contains("house.yaml`, line"), "{}", served.log());
    assert!(inn().contains("The Owl"));
}

/// Loosening never reaches a turn that runs: a call that began while results were masked is answered
/// with a masked result, whatever the config says by then.
#[test]
fn a_call_ends_by_the_rules_it_began_with() {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let go = folder.path().join("evil/go");
    let server = python.plain(folder.path(), "evil");
    let config = |results: &str| {
        json!({"servers": {"evil": server.clone()}, "secrets": {
            "results": results, "patterns": [{"name": "canary", "pattern": "CANARY-\\d+"}]}})
    };
    let gateway = Gateway::start_in(folder, &config("mask"), |it| it).ready(&["evil"]);
    let code = format!(
        "import time\nopen({go:?} + '.began', 'w')\nwhile not os.path.exists({go:?}): \
         time.sleep(0.01)\nprint('it is CANARY-123')"
    );
    let masked = thread::scope(|scope| {
        let running = scope.spawn(|| gateway.evil("evil", &code));
        wait_until(|| fs::exists(go.with_extension("began")).unwrap());
        let file = gateway.folder.path().join("tollgate.yaml");
        fs::write(file, config("off").to_string()).unwrap();
        gateway.admin("POST /api/reload", "");
        fs::write(&go, "").unwrap();
        running.join().unwrap()
    });
    assert!(!masked.contains("CANARY-123") && masked.starts_with("it is "), "{masked}");
    assert_eq!(gateway.evil("evil", "print('it is CANARY-123')"), "it is CANARY-123");
}

fn wait_until(is_so: impl Fn() -> bool) {
    let came = (0..1_000).any(|_| {
        thread::sleep(Duration::from_millis(20));
        is_so()
    });
    assert!(came, "it did not come");
}
