//! S-03 and S-04, with the launcher in between: what a child gets of the gateway, and what is left
//! of it when the gateway ends, however that comes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_testkit::cgroup::MemoryCgroup;
use tollgate_testkit::skip;

use crate::isolated_gateway::{Gateway, Python, soak_or};

/// What a program needs to find its files and speak its language.
const INHERITED: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TERM",
    "TZ",
];

#[test]
fn s_03_a_child_has_its_own_environment_and_no_secret_of_ours() {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let mut server = python.start_confined(folder.path(), "evil", &json!({}));
    server["env"] = json!({"API_KEY": "${CANARY_0}"});
    let config = json!({"servers": {"evil": server}, "keys": [
        {"name": "all", "key": "${CANARY_1}", "rights": ["execute"]}]});
    let canary =
        |number: usize| format!("canary-{number:02}-of-the-environment-{}", std::process::id());
    let gateway = Gateway::start_in(folder, &config, |command| {
        command.envs((0..12).map(|number| (format!("CANARY_{number}"), canary(number))))
    });
    let ask = |code: &str| {
        let key = format!("authorization: Bearer {}\r\n", canary(1));
        let body = json!({"name": "evil_do", "arguments": {"code": code}});
        let answer = gateway.post("/v1/tools/execute", &key, &body);
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let body: Value = serde_json::from_str(body).unwrap();
        body["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let shown = ask("print(*sorted(os.environ))");
    let shown: BTreeSet<&str> = shown.split(' ').collect();
    let is_set = |name: &&&str| std::env::var_os(name).is_some();
    let mut expected: BTreeSet<&str> = INHERITED.iter().filter(is_set).copied().collect();
    expected.extend(["API_KEY", "TOLLGATE_CHILD"]);
    // Python sets it for itself where there is no other word for the language.
    let shown: BTreeSet<&str> = shown.into_iter().filter(|it| *it != "LC_CTYPE").collect();
    expected.remove("LC_CTYPE");
    assert_eq!(shown, expected);
    let child = ask("print(os.getpid())");
    let own = gateway.process.id().to_string();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let read = |name: &str| {
            String::from_utf8_lossy(&fs::read(entry.path().join(name)).unwrap_or_default())
                .into_owned()
        };
        let id = entry.file_name().to_string_lossy().into_owned();
        for number in 0..12 {
            let canary = canary(number);
            assert!(!read("cmdline").contains(&canary), "{id}: {}", read("cmdline"));
            let declared = number == 0 && id == child;
            let ours = id == own || id == std::process::id().to_string();
            assert!(declared || ours || !read("environ").contains(&canary), "{id} has {canary}");
        }
    }
}

#[test]
fn s_04_no_descriptor_of_ours_is_open_in_a_child_and_signals_are_as_usual() {
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let server = python.start_confined(folder.path(), "evil", &json!({}));
    let gateway =
        Gateway::start_in(folder, &json!({"servers": {"evil": server}}), |it| it).ready(&["evil"]);
    assert!(fs::exists(format!("/proc/{}/fd/9", gateway.process.id())).unwrap(), "it leaks to us");
    let open =
        "print('open:', [fd for fd in range(3, 64) if os.path.islink(f'/proc/self/fd/{fd}')])";
    assert_eq!(gateway.evil("evil", open), "open: []");
    let status = "
def shown(of): return [line.split()[1] for line in open(of) if line.startswith(('SigBlk', 'SigIgn'))]
# The two that the C library keeps for itself are as it likes.
print(*(hex(int(it, 16) & ~(3 << 31)) for it in shown('/proc/self/status')))";
    let plain = Command::new(Python::found().program).args(["-c", status]).output().unwrap();
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert_eq!(gateway.evil("evil", status), plain.trim(), "as without a launcher");
}

/// Ignores what asks it to leave, and hides by a double fork in a session of its own.
const HIDING: &str = "
import signal, time
for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(name, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        while True: time.sleep(60)
    os._exit(0)
print('hidden')";

/// How often each way of ending is tried: four ways, a hundred ends in a soak.
fn rounds() -> usize {
    soak_or(25, 1)
}

/// Two servers that hide, and nobody of them after `end`.
fn check_end(end: impl Fn(&mut Gateway)) {
    for round in 0..rounds() {
        let folder = TempDir::new().unwrap();
        let python = Python::found();
        let mark = format!("mark-{}", folder.path().display());
        // One with file rules, and one as it comes.
        let mut confined = python.start_confined(folder.path(), "confined", &json!({}));
        let mut plain = python.plain(folder.path(), "plain");
        for server in [&mut confined, &mut plain] {
            server["env"] = json!({"MARK": mark});
        }
        let config = json!({"servers": {"confined": confined, "plain": plain}});
        let mut gateway = Gateway::start_in(folder, &config, |it| it).ready(&["confined", "plain"]);
        let before: Vec<String> = ["confined", "plain"]
            .iter()
            .map(|server| {
                assert_eq!(gateway.evil(server, HIDING), "hidden");
                gateway.evil(server, "print(os.getpid())")
            })
            .collect();
        // The one in between ends while `/proc` is read: a look may miss the one that it left.
        let hidden = (0..150).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            find_marked(&mark).len() >= 4
        });
        assert!(hidden, "nobody hides");
        let old = find_marked(&mark);
        assert!(before.iter().all(|id| old.contains(id)), "{before:?} {old:?}");
        end(&mut gateway);
        let gone = (0..150).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            find_marked(&mark).is_disjoint(&old)
        });
        assert!(gone, "round {round}: strays are left after 3 s");
    }
}

#[test]
fn s_04_soak_nobody_is_left_of_a_gateway_that_was_killed() {
    check_end(|gateway| {
        gateway.process.kill().unwrap();
        gateway.process.wait().unwrap();
    });
}

#[test]
fn s_04_soak_nobody_is_left_of_a_gateway_that_was_stopped() {
    check_end(|gateway| {
        let id = gateway.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        gateway.process.wait().unwrap();
    });
}

#[test]
fn s_04_soak_nobody_is_left_of_servers_that_a_reload_took_out() {
    check_end(|gateway| {
        fs::write(gateway.folder.path().join("tollgate.yaml"), "{\"servers\": {}}").unwrap();
        gateway.admin("POST /api/reload", "");
        // A server that is to end has half a minute for its calls, of which there are none.
        let ended = (0..250).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            !gateway.admin("GET /api/servers", "").contains("\"plain\"")
        });
        assert!(ended, "it is still listed");
    });
}

#[test]
fn s_04_soak_nobody_is_left_of_servers_that_were_started_again() {
    check_end(|gateway| {
        for server in ["confined", "plain"] {
            gateway.admin(&format!("POST /api/servers/{server}/restart"), "");
        }
    });
}

/// In the gateway's own control group, as in a container: the kernel kills one of them when the memory is
/// used up, and it must be the server.
#[test]
fn a_server_that_takes_all_memory_is_killed_instead_of_the_gateway_and_started_again() {
    if !skip::require_cgroup() {
        return;
    }
    const LIMIT: u64 = 256 << 20;
    let group = MemoryCgroup::new("tollgate-greedy", LIMIT).unwrap();
    let folder = TempDir::new().unwrap();
    let python = Python::found();
    let mut servers = serde_json::Map::new();
    for name in ["greedy", "modest"] {
        let mut server = python.plain(folder.path(), name);
        server["restart"] = json!({"backoff_ms": 100});
        servers.insert(name.to_owned(), server);
    }
    let config = json!({"servers": servers});
    fs::write(folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
    let mut command = group.command(env!("CARGO_BIN_EXE_tollgate"));
    command
        .args(["serve", "--listen", "127.0.0.1:0"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    let mut gateway = Gateway::spawn_gateway(folder, &mut command).ready(&["greedy", "modest"]);
    let score = |id: &str| {
        let text = fs::read_to_string(format!("/proc/{id}/oom_score_adj")).unwrap();
        text.trim().parse::<i32>().unwrap()
    };
    for round in 1..=3 {
        let greedy = ask_patiently(&gateway, "greedy", "print(os.getpid())");
        assert!(score(&greedy) > score(&gateway.process.id().to_string()));
        let body = json!({"name": "greedy_do", "arguments": {
            "code": "held = []\nwhile True: held.append(bytearray(b'x' * (4 << 20)))"}});
        let killed = (0..200).any(|_| {
            // At the limit the gateway refuses requests, and then connections.
            let answer = gateway.try_send("POST /v1/tools/execute", "", &body.to_string());
            let answer = answer.unwrap_or_default();
            assert!(!answer.contains("\"status\":\"ok\""), "{answer}");
            std::thread::sleep(Duration::from_millis(50));
            group.killed_processes().unwrap() >= round
        });
        assert!(killed, "round {round}: the kernel killed it");
        assert!(gateway.process.try_wait().unwrap().is_none(), "the gateway lives");
        let again = ask_patiently(&gateway, "greedy", "print(os.getpid())");
        assert_ne!(again, greedy, "round {round}: another process");
        assert_eq!(ask_patiently(&gateway, "modest", "print(1 + 1)"), "2", "its neighbour lives");
    }
}

/// A gateway that was just short of memory refuses requests and connections for a moment, and a
/// server is not back at once.
fn ask_patiently(gateway: &Gateway, server: &str, code: &str) -> String {
    let body = json!({"name": format!("{server}_do"), "arguments": {"code": code}}).to_string();
    for _ in 0..300 {
        if let Ok(answer) = gateway.try_send("POST /v1/tools/execute", "", &body) {
            let answer = answer.split_once("\r\n\r\n").unwrap().1;
            let answer: Value = serde_json::from_str(answer).unwrap();
            if answer["status"] == "ok" {
                return answer["message"].as_str().unwrap().to_owned();
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("`{server}` does not answer");
}

/// Who carries the text in the environment, by process id.
fn find_marked(text: &str) -> BTreeSet<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let carries = |path: &std::path::Path| {
        fs::read(path.join("environ")).is_ok_and(|it| String::from_utf8_lossy(&it).contains(text))
    };
    let found = processes.filter(|process| carries(&process.path()));
    found.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}
