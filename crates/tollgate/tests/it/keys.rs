//! Access from outside: first start, login link, and `tollgate keys`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tollgate_store::Store;
use tollgate_store::audit::{AuditDirection, AuditEntry, AuditQuery, AuditRow};

use crate::{Run, tollgate};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A gateway that runs, and what it says on standard error.
#[derive(Debug)]
struct Gateway {
    process: Child,
    address: String,
    lines: mpsc::Receiver<String>,
}

impl Gateway {
    /// `Err`: what it said before it ended, with the exit code.
    fn start(folder: &Path, listen: &str) -> Result<Self, (Option<i32>, String)> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--listen", listen])
            .current_dir(folder)
            .env_clear()
            .envs(tollgate_testkit::coverage_profile())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut text = String::new();
        while let Ok(line) = lines.recv_timeout(TIMEOUT) {
            if let Some((_, address)) = line.split_once("ready on http://") {
                let address = address.trim().replace("0.0.0.0", "127.0.0.1");
                return Ok(Self { process, address, lines });
            }
            text += &line;
        }
        Err((process.wait().unwrap().code(), text))
    }

    fn get(&self, path: &str, key: Option<&str>) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let key = key.map(|key| format!("x-api-key: {key}\r\n")).unwrap_or_default();
        let host = &self.address;
        let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{key}connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }

    fn status(&self, path: &str, key: Option<&str>) -> u16 {
        self.get(path, key).0
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(folder: &Path, arguments: &[&str], gateway: Option<&Gateway>) -> Run {
    let listen = gateway.map_or("127.0.0.1:0", |gateway| &gateway.address);
    tollgate(folder, &[arguments, &["--listen", listen]].concat())
}

/// The key that a command prints.
fn key(folder: &Path, arguments: &[&str], gateway: Option<&Gateway>) -> String {
    let run = run(folder, arguments, gateway);
    assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
    let key = run.stdout.trim().to_owned();
    assert!(key.starts_with("tg_") && !run.stderr.contains(&key), "{}", run.stdout);
    key
}

/// What the audit trail says of keys: who, what, which.
fn decisions(folder: &Path) -> Vec<String> {
    let store = Store::open(&folder.join(".tollgate/tollgate.db")).unwrap();
    let kind = Some("key".to_owned());
    let query = AuditQuery { kind, ..AuditQuery::all(AuditDirection::OldestFirst) };
    let page = store.audit().unwrap().reader().unwrap().page(&query).unwrap();
    let render = |row: &AuditRow| {
        let AuditEntry { principal, outcome, name, .. } = &row.entry;
        format!("{principal} {outcome} {}", name.as_deref().unwrap_or_default())
    };
    page.rows.iter().map(render).collect()
}

#[test]
fn s_02_the_start_depends_on_the_address_and_on_keys() {
    let config = "keys: [{ name: ops, key: an-old-key-of-the-ops, role: admin }]";
    let hash = "keys: [{ name: ops, hash: \"sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\" }]";
    for (listen, config, made, starts) in [
        ("127.0.0.1:0", "", false, true),
        ("127.0.0.1:0", config, false, true),
        ("[::1]:0", "", false, true),
        ("0.0.0.0:0", "", false, false),
        ("0.0.0.0:0", "keys: []", false, false),
        ("0.0.0.0:0", config, false, true),
        ("0.0.0.0:0", hash, false, true),
        ("0.0.0.0:0", "", true, true),
        ("[::]:0", "", false, false),
    ] {
        let folder = TempDir::new().unwrap();
        if !config.is_empty() {
            fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
        }
        if made {
            key(folder.path(), &["keys", "create", "phone"], None);
        }
        match Gateway::start(folder.path(), listen) {
            Ok(gateway) => {
                assert!(starts, "{listen} {config}");
                let is_open = !made && config.is_empty();
                let expected = if is_open { 200 } else { 401 };
                assert_eq!(gateway.status("/v1/tools", None), expected, "{listen} {config}");
                assert_eq!(gateway.status("/mcp/status", None), 401, "{listen} {config}");
            }
            Err((code, text)) => {
                assert!(!starts, "{listen} {config}: {text}");
                assert_eq!(code, Some(2), "{text}");
                assert!(
                    text.contains("can be reached from outside, but there are no keys"),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn s_02_a_key_that_is_over_or_revoked_is_none_at_the_start() {
    let folder = TempDir::new().unwrap();
    key(folder.path(), &["keys", "create", "phone"], None);
    assert_eq!(run(folder.path(), &["keys", "revoke", "phone"], None).code, Some(0));
    let refused = Gateway::start(folder.path(), "0.0.0.0:0").unwrap_err();
    assert_eq!(refused.0, Some(2), "{}", refused.1);
    let gateway = Gateway::start(folder.path(), "127.0.0.1:0").unwrap();
    assert_eq!(gateway.status("/v1/tools", None), 401, "what had keys does not open again");
}

#[test]
fn the_place_of_the_token_is_printed_after_the_ready_line_and_it_opens_everything() {
    let folder = TempDir::new().unwrap();
    let gateway = Gateway::start(folder.path(), "127.0.0.1:0").unwrap();
    let text = gateway.lines.recv_timeout(TIMEOUT).unwrap();
    let start = format!("admin: http://{}/ with the token in ", gateway.address);
    let file = Path::new(text.strip_prefix(&start).expect("where the token is"));
    let token = fs::read_to_string(file).unwrap();
    let token = token.trim();
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(gateway.status("/mcp/status", Some(token)), 200);
    let (status, page) = gateway.get("/", None);
    assert!(status == 200 && page.contains("content-security-policy: default-src 'none'"));
    let listed = run(folder.path(), &["servers", "list"], Some(&gateway));
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    drop(gateway);
    fs::write(
        folder.path().join("tollgate.yaml"),
        "keys: [{ name: a, key: 0123456789abcdef0123 }]",
    )
    .unwrap();
    let gateway = Gateway::start(folder.path(), "127.0.0.1:0").unwrap();
    assert!(gateway.lines.recv_timeout(Duration::from_millis(300)).is_err(), "no link with keys");
    assert_eq!(gateway.status("/mcp/status", Some(token)), 200, "the token is as it was");
}

#[test]
fn keys_are_made_and_taken_back_while_the_gateway_runs() {
    let folder = TempDir::new().unwrap();
    let gateway = Gateway::start(folder.path(), "127.0.0.1:0").unwrap();
    let made = ["keys", "create", "phone", "--agents", "sage", "--rights", "execute,override_tier"];
    let first = key(folder.path(), &made, Some(&gateway));
    assert_eq!(gateway.status("/v1/tools", None), 401);
    assert_eq!(gateway.status("/v1/tools", Some(&first)), 200);
    let rotate = ["keys", "rotate", "phone", "--grace", "600"];
    let second = key(folder.path(), &rotate, Some(&gateway));
    assert_eq!(gateway.status("/v1/tools", Some(&first)), 200);
    assert_eq!(gateway.status("/v1/tools", Some(&second)), 200);
    let listed = run(folder.path(), &["keys", "list", "--json"], Some(&gateway));
    let keys: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(keys["keys"][0]["name"], "phone");
    assert!(!listed.stdout.contains(&second) && keys["keys"][0]["last_used"].is_string());
    assert_eq!(run(folder.path(), &["keys", "revoke", "phone"], Some(&gateway)).code, Some(0));
    assert_eq!(gateway.status("/v1/tools", Some(&first)), 401);
    assert_eq!(gateway.status("/v1/tools", Some(&second)), 401);
    let noted = ["admin made phone", "admin rotated phone", "admin revoked phone"];
    assert_eq!(decisions(folder.path()), noted);
    let again = run(folder.path(), &["keys", "revoke", "phone"], Some(&gateway));
    assert_eq!(again.code, Some(1));
    assert_eq!(again.stderr, "error: there is no key `phone`\n");
}

#[test]
fn what_another_process_does_to_the_keys_is_noticed() {
    let folder = TempDir::new().unwrap();
    let gateway = Gateway::start(folder.path(), "127.0.0.1:0").unwrap();
    let until = |key: &str, requested: u16| {
        let is_so = |_: &i32| {
            std::thread::sleep(Duration::from_millis(50));
            gateway.status("/v1/tools", Some(key)) == requested
        };
        assert!((0..100).any(|at| is_so(&at)), "not {requested} in time");
    };
    // Nobody is found at the address that these commands ask.
    let key = key(folder.path(), &["keys", "create", "phone"], None);
    until("something", 401);
    until(&key, 200);
    assert_eq!(run(folder.path(), &["keys", "revoke", "phone"], None).code, Some(0));
    until(&key, 401);
    assert_eq!(decisions(folder.path()), ["local made phone", "local revoked phone"]);
}

#[test]
fn keys_are_listed_for_people_and_refused_by_what_is_wrong() {
    let folder = TempDir::new().unwrap();
    fs::write(
        folder.path().join("tollgate.yaml"),
        "keys: [{ name: ops, key: 0123456789abcdef0123 }]",
    )
    .unwrap();
    let made = ["keys", "create", "phone", "--role", "operator", "--tools", "roll*,read_file"];
    let limits = ["--rate", "600/min", "--concurrent", "4", "--expires", "2999-01-01"];
    key(folder.path(), &[&made[..], &limits, &["--tenant", "acme"]].concat(), None);
    let listed = run(folder.path(), &["keys", "list"], None);
    assert_eq!(
        listed.stdout,
        "\
KEY    ROLE      RIGHTS           AGENTS  TOOLS            LIMITS                 TENANT  EXPIRES               LAST USED  STATE
ops    caller    execute          –       –                –                      –       –                     –          config
phone  operator  approve observe  –       roll* read_file  600/min, 4 concurrent  acme    2999-01-01T00:00:00Z  –          made
"
    );
    for (arguments, code, text) in [
        (&["keys", "create", "phone"][..], 1, "a key `phone` already exists"),
        (&["keys", "create", "ops"], 1, "the key `ops` is in the config"),
        (&["keys", "create", "a b"], 2, "`name` has up to 64"),
        (&["keys", "create", "x", "--agents", "nobody"], 2, "there is no agent `nobody`"),
        (&["keys", "create", "x", "--expires", "soon"], 2, "`--expires` must be like"),
        (&["keys", "create", "x", "--tenant", "a/b"], 2, "`tenant`: "),
        (&["keys", "create", "x", "--rights", "fly"], 2, "invalid value 'fly'"),
        (&["keys", "revoke", "nobody"], 1, "there is no key `nobody`"),
        (&["keys", "rotate", "ops"], 1, "is in the config"),
    ] {
        let run = run(folder.path(), arguments, None);
        assert_eq!(run.code, Some(code), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(text), "{arguments:?}: {}", run.stderr);
    }
}
