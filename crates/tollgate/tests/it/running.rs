//! Starts the real program on a free port, and sends it requests.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tollgate_testkit::cgroup::MemoryCgroup;

pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    pub(crate) file: PathBuf,
    pub(crate) folder: tempfile::TempDir,
    log: Arc<Mutex<String>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(name))?;
        line.split_once(": ").map(|(_, value)| value.trim())
    }
}

impl Served {
    /// With this config, whose `listen` and `data` are put in front of it.
    pub(crate) fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tollgate.yaml");
        fs::write(&file, config).unwrap();
        Self::on(folder, file)
    }

    pub(crate) fn on(folder: tempfile::TempDir, file: PathBuf) -> Self {
        Self::begin(Command::new(env!("CARGO_BIN_EXE_tollgate")), folder, file)
    }

    /// In a control group, whose limit holds from the first instruction on.
    pub(crate) fn within(group: &MemoryCgroup, config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tollgate.yaml");
        fs::write(&file, config).unwrap();
        Self::begin(group.command(env!("CARGO_BIN_EXE_tollgate")), folder, file)
    }

    fn begin(mut command: Command, folder: tempfile::TempDir, file: PathBuf) -> Self {
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("data"))
            .arg("--config")
            .arg(&file)
            .current_dir(folder.path())
            .env_clear()
            .envs(tollgate_testkit::coverage_profile())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let log = Arc::new(Mutex::new(String::new()));
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let written = Arc::clone(&log);
        let ready = std::sync::mpsc::channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Some((_, address)) = line.split_once("ready on http://") {
                    let _ = ready.0.send(address.to_owned());
                }
                written.lock().push_str(&format!("{line}\n"));
            }
        });
        let address = ready.1.recv_timeout(Duration::from_secs(20)).expect("ready in time");
        Self { child, address, file, folder, log }
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn line(&self) -> Line {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Line { stream: BufReader::new(stream), token: token(self.folder.path()) }
    }

    /// For those who bring a key of their own.
    pub(crate) fn line_without_token(&self) -> Line {
        let line = self.line();
        line.stream.get_ref().set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        Line { token: None, ..line }
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Answer {
        self.line().send(&format!("{method} {path}"), &[], "")
    }

    pub(crate) fn write(&self, text: &str) {
        fs::write(&self.file, text).unwrap();
    }

    /// The process behind a server.
    pub(crate) fn pid_of(&self, server: &str) -> Option<u64> {
        let servers = self.ask("GET", "/api/servers").json();
        let servers = servers["servers"].as_array().unwrap().clone();
        servers.iter().find(|it| it["id"] == server)?["pid"].as_u64()
    }

    /// Until the gateway says this of its last reload.
    pub(crate) fn wait_for(&self, is: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..400 {
            let answer = self.ask("GET", "/api/reload").json();
            if is(&answer) {
                return answer;
            }
            thread::sleep(Duration::from_millis(25));
        }
        panic!("it never came: {}\n{}", self.ask("GET", "/api/reload").body, self.log());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The token of the first start, where there is one.
fn token(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("data/admin.token")).ok()?;
    Some(text.trim().to_owned())
}

/// One connection that is used again and again.
pub(crate) struct Line {
    stream: BufReader<TcpStream>,
    token: Option<String>,
}

impl Line {
    /// `what` is the method and the path.
    pub(crate) fn send(&mut self, what: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = format!("{what} HTTP/1.1\r\nhost: localhost\r\n");
        if let Some(token) = &self.token {
            request.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request.push_str("content-type: application/json\r\n");
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        self.answer()
    }

    fn answer(&mut self) -> Answer {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.stream.read_line(&mut head).unwrap() > 0, "the line broke: {head}");
        }
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap();
        let answer = Answer { status, head, body: String::new() };
        let length = answer.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        Answer { body: String::from_utf8(body).unwrap(), ..answer }
    }
}
