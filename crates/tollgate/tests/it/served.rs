//! The program as a gateway that serves, in a folder of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
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
        let mut process = change(&mut command).spawn().unwrap();
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
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(50))).unwrap();
        // In one piece: what is refused unread closes the connection, and what comes after would be lost.
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}connection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
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
        }
        self
    }

    /// Runs Python in the evil server of this name.
    pub(crate) fn evil(&self, server: &str, code: &str) -> String {
        self.call(&format!("{server}_do"), &json!({"code": code}))
    }

    /// The state of a server once it is as `wanted`, or after a while as it is.
    pub(crate) fn server(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..100 {
            let listed = crate::tollgate(
                self.folder.path(),
                &["servers", "list", "--json", "--listen", &self.address],
            );
            let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
            let servers = listed["servers"].as_array().unwrap();
            let server = servers.iter().find(|server| server["id"] == name).unwrap();
            if wanted(server) {
                return server.clone();
            }
            last = server.clone();
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("not what it should be: {last}");
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

    /// The config of an evil server in `folder/name`, its file rules and `others` of its sandbox.
    pub(crate) fn confined(&self, folder: &Path, name: &str, others: &Value) -> Value {
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

/// Everybody alive who has `text` in the environment.
pub(crate) fn carriers(text: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let environments = processes.filter_map(|it| fs::read(it.path().join("environ")).ok());
    environments.filter(|bytes| String::from_utf8_lossy(bytes).contains(text)).count()
}
