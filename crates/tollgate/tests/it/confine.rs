//! S-05: an evil server behind the real gateway, and what it can do there.
#![expect(clippy::print_stderr, reason = "figures for whoever measures")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::isolated_gateway::{Gateway, Python, soak_or};

const DENIED: &str = "PermissionError";

/// One evil server under a tight profile, one beside it, and files that are nobody's business.
fn gateway() -> Gateway {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let place = folder.path();
    fs::create_dir_all(place.join("out")).unwrap();
    let tight = json!({"write": [place.join("out")], "memory_mb": 256, "file_size_mb": 1,
        "open_files": 64});
    let evil = python.start_confined(place, "evil", &tight);
    let neighbour = python.start_confined(place, "neighbour", &json!({}));
    fs::write(place.join("neighbour/secret"), "secret").unwrap();
    let config = json!({"servers": {"evil": evil, "neighbour": neighbour}});
    Gateway::start_in(folder, &config, |command| command.env("CANARY", "of the gateway"))
        .ready(&["evil", "neighbour"])
}

#[test]
fn s_05_files_of_others_are_closed_to_an_evil_server() {
    let gateway = gateway();
    let place = gateway.folder.path().to_str().unwrap();
    let id = gateway.process.id();
    let read = |path: &str| gateway.evil("evil", &format!("print(open({path:?}, 'rb').read(9))"));
    for path in [
        "/etc/shadow",
        &format!("{place}/tollgate.yaml"),
        &format!("{place}/.tollgate/tollgate.db"),
        &format!("{place}/neighbour/secret"),
        &format!("{place}/evil/../neighbour/secret"),
        &format!("/proc/self/root{place}/neighbour/secret"),
        &format!("/proc/{id}/environ"),
        &format!("/proc/{id}/mem"),
        &format!("/proc/{id}/cwd/tollgate.yaml"),
    ] {
        assert_eq!(read(path), DENIED, "{path}");
    }
    assert!(read(&format!("{place}/evil/evil.py")).starts_with("b'# An MCP"));
    let link = format!("print(os.symlink('{place}/neighbour', '{place}/out/link'))");
    assert_eq!(gateway.evil("evil", &link), "None");
    assert_eq!(read(&format!("{place}/out/link/secret")), DENIED, "through a link");
    for listed in ["/", place, "/etc", "/root", "/home"] {
        assert_eq!(gateway.evil("evil", &format!("os.listdir({listed:?})")), DENIED, "{listed}");
    }
    assert_eq!(gateway.evil("neighbour", "print(1 + 1)"), "2", "others are served");
}

#[test]
fn s_05_an_evil_server_writes_only_where_it_may_and_only_so_much() {
    let gateway = gateway();
    let place = gateway.folder.path().to_str().unwrap();
    let write = |path: &str, megabytes: u32| {
        let code = format!(
            "with open({path:?}, 'wb') as f:\n  for _ in range({megabytes}): f.write(bytes(1 << 20))\nprint('written')"
        );
        gateway.evil("evil", &code)
    };
    for path in
        ["/tmp/tollgate-evil", "evil", "/dev/shm/evil"].map(str::to_owned).into_iter().chain([
            format!("{place}/tollgate.yaml"),
            format!("{place}/evil/evil.py"),
            format!("{place}/neighbour/evil"),
        ])
    {
        assert_eq!(write(&path, 1), DENIED, "{path}");
    }
    let mine = format!("{place}/out/mine");
    assert_eq!(write(&mine, 1), "written");
    assert_eq!(write(&mine, 100), "OSError", "a file has its limit");
    assert!(fs::metadata(&mine).unwrap().len() <= 1 << 20);
    let mode = format!("print(oct(os.stat({mine:?}).st_mode & 0o777))");
    assert_eq!(gateway.evil("evil", &mode), "0o600", "its files are its own");
    let run = format!(
        "open({mine:?}, 'w').write('#!/bin/sh\\n'); os.chmod({mine:?}, 0o700); os.execv({mine:?}, ['x'])"
    );
    assert_eq!(gateway.evil("evil", &run), DENIED, "what it wrote is not run");
}

#[test]
fn s_05_an_evil_server_reaches_nobody() {
    let gateway = gateway();
    let port = gateway.address.rsplit(':').next().unwrap();
    for code in [
        format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5)"),
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)".to_owned(),
        "import socket; socket.socket(socket.AF_INET6)".to_owned(),
        "import socket; socket.socket(socket.AF_UNIX)".to_owned(),
        "os.kill(os.getppid(), 9)".to_owned(),
        "os.kill(os.getppid(), 0)".to_owned(),
        "open('/proc/self/oom_score_adj', 'w').write('-1000')".to_owned(),
    ] {
        assert_eq!(gateway.evil("evil", &code), DENIED, "{code}");
    }
    // Its own children it may talk to.
    let pair = "import socket, subprocess\na, b = socket.socketpair()\na.send(b'x')\nprint(b.recv(1), subprocess.run(['/bin/true']).returncode)";
    assert_eq!(gateway.evil("evil", pair), "b'x' 0");
}

#[test]
fn s_05_memory_and_privileges_of_an_evil_server_are_bounded() {
    let gateway = gateway();
    assert_eq!(gateway.evil("evil", "bytearray(1 << 30)"), "MemoryError");
    let raise = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (1 << 40, 1 << 40))";
    assert_eq!(gateway.evil("evil", raise), "ValueError", "not even by root");
    let files = "try:\n  held = [os.fdopen(os.dup(0), closefd=True) for _ in range(100)]\nfinally: held = None";
    assert_eq!(gateway.evil("evil", files), "OSError");
    let status = "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith(('NoNewPrivs', 'CapPrm'))])";
    let shown = gateway.evil("evil", status);
    let (capabilities, frozen) = shown.split_once(' ').unwrap();
    assert_eq!(frozen, "1");
    const FILES_AND_OWN_PROCESSES: u64 = 0b100_1111_1011;
    let powers = u64::from_str_radix(capabilities, 16).unwrap();
    assert_eq!(powers & !FILES_AND_OWN_PROCESSES, 0, "{capabilities}");
    assert!(gateway.call("roll", &json!({"expression": "1d1"})).contains('1'), "others are served");
}

/// The kernel never holds root to it, so that the bomb goes off under another user.
#[test]
fn s_05_a_fork_bomb_is_bounded() {
    let order = json!({"limits": {"memory_bytes": null, "cpu_seconds": null, "open_files": null,
        "processes": 8, "file_bytes": null}, "privileges": "Frozen", "network": "Allow",
        "files": null, "closed": []});
    let bomb = "i=0; while [ $i -lt 500 ]; do sleep 2 & i=$((i + 1)); done; echo unbounded";
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let user: &[&str] = if is_root {
        &["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    } else {
        &["env"]
    };
    let output = Command::new(user[0])
        .args(&user[1..])
        .args([env!("CARGO_BIN_EXE_tollgate"), "confine", &order.to_string()])
        .args(["/bin/sh", "sh", "-c", bomb])
        .output()
        .unwrap();
    let out = output.stdout;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(out.is_empty() && error.contains("fork"), "{error}");
}

/// Memory, files, sockets, processes and a disk that is filled, all at once, for some seconds, in four
/// processes. `FILL` is a file that it may write.
const WORST: &str = "
import time
parent = os.getpid()
os.fork(), os.fork()
until = time.monotonic() + 4
while time.monotonic() < until:
    for bad in ('bytearray(1 << 30)', \"open('/tmp/x', 'w')\", '__import__(\"socket\").socket()', '[n * n for n in range(10000)]',
                \"open(FILL + str(os.getpid() % 8), 'wb').write(bytes(1 << 20))\", \"open(FILL, 'ab').write(bytes(1 << 20))\",
                'os.fork() or os._exit(0)', 'os.waitpid(-1, os.WNOHANG)'):
        try: eval(bad)
        except BaseException: pass
if os.getpid() != parent: os._exit(0)
print('done')";

#[test]
fn s_05_others_are_served_as_fast_beside_an_evil_server() {
    let gateway = gateway();
    let measure = |over: &dyn Fn(usize) -> bool| {
        let mut took = Vec::new();
        while !over(took.len()) {
            let began = now();
            assert!(gateway.call("roll", &json!({"expression": "1d1"})).contains('1'));
            took.push(began.elapsed());
        }
        took.sort();
        took[took.len() * 99 / 100]
    };
    let before = measure(&|count| count == 300);
    let during = std::thread::scope(|scope| {
        let fill = gateway.folder.path().join("out/fill");
        let worst = format!("FILL = {:?}\n{WORST}", fill.to_str().unwrap());
        let calling = &gateway;
        let evil = scope.spawn(move || calling.evil("evil", &worst));
        let during = measure(&|count| count > 300 && evil.is_finished());
        assert!(evil.join().unwrap().ends_with("done"));
        during
    });
    eprintln!("S-05: p99 of a call {before:?}, beside an evil server {during:?}");
    let more = soak_or(Duration::from_millis(20), Duration::from_millis(500));
    assert!(during < before * 2 + more, "{before:?} {during:?}");
}

#[expect(clippy::disallowed_methods, reason = "a test measures what happens outside")]
fn now() -> Instant {
    Instant::now()
}

fn reason(sandbox: &Value, code: &str) -> String {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let mut server = python.start_confined(folder.path(), "evil", sandbox);
    let script = folder.path().join("evil/evil.py");
    let evil = fs::read_to_string(&script).unwrap();
    fs::write(&script, format!("{code}\n{evil}")).unwrap();
    server["sandbox"]["write"] = json!([folder.path().join("evil")]);
    let gateway = Gateway::start_in(folder, &json!({"servers": {"evil": server}}), |it| it);
    let down = gateway.server("evil", |server| server["state"] == "offline");
    down["last_error"].as_str().unwrap().to_owned()
}

#[test]
fn s_05_a_server_that_met_its_limit_says_which() {
    let check = |sandbox: Value, code: &str, expected: &str| {
        let reason = reason(&sandbox, code);
        assert!(reason.contains(expected), "{reason}");
    };
    check(json!({"cpu_s": 1}), "while True: pass", "exceeded its CPU time (`sandbox.cpu_s` is 1)");
    check(
        json!({"file_size_mb": 1}),
        "import signal, os; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); open(os.path.dirname(__file__) + '/x', 'wb').write(bytes(2 << 20))",
        "exceeded its file size limit (`sandbox.file_size_mb` is 1)",
    );
    check(
        json!({"memory_mb": 200}),
        "bytearray(1 << 30)",
        "it ran out of memory (`sandbox.memory_mb` is 200); last line of stderr: MemoryError",
    );
}

#[test]
fn s_05_what_cannot_be_confined_is_not_started_and_says_why() {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let place = folder.path();
    let scrap = place.join("scrap");
    fs::write(&scrap, "\u{7f}no program").unwrap();
    fs::set_permissions(&scrap, fs::Permissions::from_mode(0o755)).unwrap();
    let with = |key: &str, path: &str| python.start_confined(place, "a", &json!({key: [path]}));
    let gateway = json!({"servers": {
        "missing": {"command": ["no-such-program"]},
        "scrap": {"command": [scrap]},
        "typo": with("read", "/no/such/directory"),
        "ours": with("read", place.to_str().unwrap()),
        "data": with("write", &format!("{}/.tollgate", place.display())),
        "everything": with("write", "/"),
    }});
    let gateway = Gateway::start_in(folder, &gateway, |it| it);
    let place = gateway.folder.path().to_str().unwrap().to_owned();
    let check = |server: &str, expected: &str| {
        let found = gateway.server(server, |server| server["last_error"].is_string());
        assert_eq!(found["last_error"], expected, "{server}");
    };
    check("missing", "`no-such-program` was not found in PATH");
    check(
        "scrap",
        &format!(
            "`{place}/scrap` is neither a binary for this machine nor a script with a `#!` line"
        ),
    );
    check(
        "typo",
        "it cannot be confined: `/no/such/directory` of its file rules cannot be opened: No such file or directory (os error 2)",
    );
    let private = format!("{place}/.tollgate");
    for (server, path) in
        [("ours", place.as_str()), ("data", private.as_str()), ("everything", "/")]
    {
        let expected = format!(
            "its file rules allow `{path}`, which contains the gateway's `{private}`; use narrower \
             paths"
        );
        check(server, &expected);
    }
}
