//! The program as a gateway in a directory of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

const EVIL: &str = include_str!("evil.py");

pub(crate) struct Gateway {
    pub(crate) process: Child,
    pub(crate) address: String,
    pub(crate) folder: TempDir,
}

impl Gateway {
    /// In a folder that holds something already, by a command that may be changed.
    pub(crate) fn start_in(
        folder: TempDir,
        config: &Value,
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        fs::write(folder.path().join("tollgate.yaml"), config.to_string()).unwrap();
        // The shell leaves an open file behind for everybody, as careless parents do.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec 9</dev/null; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(folder.path())
            .stderr(Stdio::piped())
            .stdout(Stdio::null());
        Self::spawn_gateway(folder, change(&mut command))
    }

    /// Once the command says that it is ready.
    pub(crate) fn spawn_gateway(folder: TempDir, command: &mut Command) -> Self {
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let ready = lines.by_ref().find_map(|line| {
            let line = line.unwrap();
            line.split_once("ready on http://").map(|(_, address)| address.trim().to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address: ready.expect("the gateway is ready"), folder }
    }

    pub(crate) fn post(&self, path: &str, headers: &str, body: &Value) -> String {
        self.send(&format!("POST {path}"), headers, &body.to_string())
    }

    /// The whole answer, head and all. `line` is the method and the path.
    pub(crate) fn send(&self, line: &str, headers: &str, body: &str) -> String {
        self.try_send(line, headers, body).unwrap()
    }

    /// The same, of a connection that may be cut.
    pub(crate) fn try_send(&self, line: &str, headers: &str, body: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(50)))?;
        // In one piece: what is refused unread closes the connection, and what comes after would be lost.
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}connection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// What a tool says.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> String {
        let answer =
            self.post("/v1/tools/execute", "", &json!({"name": tool, "arguments": arguments}));
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
        body["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Once all these servers are.
    pub(crate) fn ready(self, servers: &[&str]) -> Self {
        for server in servers {
            self.server(server, |server| server["state"] == "ready");
            self.wait_for_tools_of(server);
        }
        self
    }

    /// A server is ready a moment before its tools are in the catalogue.
    fn wait_for_tools_of(&self, server: &str) {
        let beginning = format!("\"{server}_");
        for _ in 0..600 {
            if self.admin("GET /v1/tools", "").contains(&beginning) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("no tool of `{server}`");
    }

    /// Runs Python in the evil server of this name.
    pub(crate) fn evil(&self, server: &str, code: &str) -> String {
        self.call(&format!("{server}_do"), &json!({"code": code}))
    }

    /// The state of a server once it is as `wanted`.
    pub(crate) fn server(&self, name: &str, is_match: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..600 {
            // It may have no memory for it at the moment.
            let (status, body) = self.ask_as_admin("GET /api/servers", "");
            if status == 200 {
                let listed: Value = serde_json::from_str(&body).unwrap();
                let servers = listed["servers"].as_array().unwrap();
                let server = servers.iter().find(|server| server["id"] == name).unwrap();
                if is_match(server) {
                    return server.clone();
                }
                last = server.clone();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("not what it should be: {last}");
    }

    /// The body of an answer to whoever may do everything.
    pub(crate) fn admin(&self, line: &str, body: &str) -> String {
        let (status, answer) = self.ask_as_admin(line, body);
        assert_eq!(status, 200, "{line}: {answer}");
        answer
    }

    /// The status and the body of such an answer.
    pub(crate) fn ask_as_admin(&self, line: &str, body: &str) -> (u16, String) {
        let folders = [".tollgate", "data", ".local/share/tollgate"];
        let token = folders.iter().find_map(|folder| {
            fs::read_to_string(self.folder.path().join(folder).join("admin.token")).ok()
        });
        let token = token.expect("a data directory");
        let answer = self.send(line, &format!("authorization: Bearer {}\r\n", token.trim()), body);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), body.to_owned())
    }

    /// What a command prints that asks this gateway.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let words = [words, &["--listen", &self.address]].concat();
        let run = crate::tollgate(self.folder.path(), &words);
        format!("{}{}", run.stdout, run.stderr)
    }

    pub(crate) fn status(&self, key: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Python as it is: no shim before it, and where it lives.
pub(crate) struct Python {
    pub(crate) program: String,
    pub(crate) home: String,
}

impl Python {
    pub(crate) fn found() -> Self {
        let script =
            "import os, sys; print(os.path.realpath(sys.executable)); print(sys.base_prefix)";
        let output = Command::new("python3").args(["-c", script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines().map(str::to_owned);
        Self { program: lines.next().unwrap(), home: lines.next().unwrap() }
    }

    /// The config of an evil server in `folder/name` that says nothing about its sandbox.
    pub(crate) fn plain(&self, folder: &Path, name: &str) -> Value {
        let script = folder.join(name).join("evil.py");
        fs::create_dir_all(folder.join(name)).unwrap();
        fs::write(&script, EVIL).unwrap();
        self.plain_at(&script)
    }

    /// The same for a script that is there.
    pub(crate) fn plain_at(&self, script: &Path) -> Value {
        json!({"command": [self.program, "-u", script], "protocol": "2025-11-25",
            "restart": {"backoff_ms": 600_000}, "defaults": {"timeout_ms": 60_000}})
    }

    /// The config of an evil server in `folder/name`, its file rules and `others` of its sandbox.
    pub(crate) fn start_confined(&self, folder: &Path, name: &str, others: &Value) -> Value {
        let place = folder.join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("evil.py"), EVIL).unwrap();
        let mut sandbox = json!({"read": [self.home, place], "network": "deny"});
        sandbox.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        let script = place.join("evil.py");
        json!({"command": [self.program, "-u", script], "sandbox": sandbox,
            "protocol": "2025-11-25", "restart": {"backoff_ms": 600_000},
            "defaults": {"timeout_ms": 20_000}})
    }
}

/// The first with `TOLLGATE_SOAK`: what takes long, or is only kept on a machine that does nothing else.
pub(crate) fn soak_or<T>(soak: T, usual: T) -> T {
    if std::env::var_os("TOLLGATE_SOAK").is_some() { soak } else { usual }
}
