//! S-03 and S-04, with the launcher in between: what a child gets of the gateway, and what is left
//! of it when the gateway ends, however that comes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::served::{Gateway, Python, carriers};

/// What a program needs to find its files and speak its language.
const INHERITED: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TERM",
    "TZ",
];

#[test]
fn s_03_a_child_has_its_own_environment_and_no_secret_of_ours() {
    let (folder, python) = (TempDir::new().unwrap(), Python::found());
    let mut server = python.confined(folder.path(), "evil", &json!({}));
    server["env"] = json!({"API_KEY": "${CANARY_0}"});
    let config = json!({"servers": {"evil": server}, "keys": [
        {"name": "all", "key": "${CANARY_1}", "rights": ["execute"]}]});
    let canary = |number: usize| format!("canary-{number}-{}", std::process::id());
    let gateway = Gateway::start_in(folder, &config, |command| {
        command.envs((0..12).map(|number| (format!("CANARY_{number}"), canary(number))))
    });
    let ask = |code: &str| {
        let key = format!("authorization: Bearer {}\r\n", canary(1));
        let body = json!({"name": "evil_do", "arguments": {"code": code}});
        let answer = gateway.post("/v1/tools/execute", &key, &body);
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
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
    let (folder, python) = (TempDir::new().unwrap(), Python::found());
    let server = python.confined(folder.path(), "evil", &json!({}));
    let gateway =
        Gateway::start_in(folder, &json!({"servers": {"evil": server}}), |it| it).ready(&["evil"]);
    assert!(fs::exists(format!("/proc/{}/fd/9", gateway.process.id())).unwrap(), "it leaks to us");
    let open =
        "print('open:', [fd for fd in range(3, 64) if os.path.islink(f'/proc/self/fd/{fd}')])";
    assert_eq!(gateway.evil("evil", open), "open: []");
    let status = "
def shown(of): return [line.split()[1] for line in open(of) if line.startswith(('SigBlk', 'SigIgn'))]
print(*shown('/proc/self/status'))";
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

fn check_end(end: impl Fn(&mut Gateway)) {
    let (folder, python) = (TempDir::new().unwrap(), Python::found());
    let mark = format!("mark-{}", folder.path().display());
    let mut server = python.confined(folder.path(), "evil", &json!({}));
    server["env"] = json!({"MARK": mark});
    let mut gateway =
        Gateway::start_in(folder, &json!({"servers": {"evil": server}}), |it| it).ready(&["evil"]);
    assert_eq!(gateway.evil("evil", HIDING), "hidden");
    // The one in between ends while `/proc` is read: a look may miss the one that it left.
    let hidden = (0..150).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        carriers(&mark) >= 2
    });
    assert!(hidden, "nobody hides");
    end(&mut gateway);
    let gone = (0..150).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        carriers(&mark) == 0
    });
    assert!(gone, "strays are left after 3 s");
}

#[test]
fn s_04_nobody_is_left_of_a_gateway_that_was_killed() {
    check_end(|gateway| {
        gateway.process.kill().unwrap();
        gateway.process.wait().unwrap();
    });
}

#[test]
fn s_04_nobody_is_left_of_a_gateway_that_was_stopped() {
    check_end(|gateway| {
        let id = gateway.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        gateway.process.wait().unwrap();
    });
}
