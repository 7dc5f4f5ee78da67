//! A running gateway for tests that use sockets and signals and read its output.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Serving {
    process: Child,
    pub(crate) address: String,
    output: Option<JoinHandle<String>>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// With its head.
    pub(crate) text: String,
}

impl Serving {
    /// Waits until it is ready.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[])
    }

    pub(crate) fn start_with(folder: &Path, variables: &[(&str, String)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).env_clear();
        command.envs(tollgate_testkit::coverage_profile());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        Self::spawn_gateway(folder, &mut command)
    }

    /// By a command that becomes the gateway.
    pub(crate) fn spawn_gateway(folder: &Path, command: &mut Command) -> Self {
        let command = command.current_dir(folder).stderr(Stdio::piped()).stdout(Stdio::null());
        let mut process = command.spawn().unwrap();
        let (sender, ready) = mpsc::channel();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let handle = std::thread::spawn(move || {
            let mut handle = String::new();
            for line in stderr.lines().map_while(Result::ok) {
                if let Some((_, address)) = line.split_once("ready on http://") {
                    let _ = sender.send(address.trim().to_owned());
                }
                handle.push_str(&line);
                handle.push('\n');
            }
            handle
        });
        let address = ready.recv_timeout(TIMEOUT).expect("the gateway is ready");
        Self { process, address, output: Some(handle) }
    }

    pub(crate) fn pid(&self) -> String {
        self.process.id().to_string()
    }

    /// One request on a connection of its own; `head` are further lines of its head.
    pub(crate) fn ask(&self, line: &str, head: &str, body: &str) -> Answer {
        let host = format!("host: {}\r\n", self.address);
        let host = if head.to_ascii_lowercase().contains("host:") { "" } else { host.as_str() };
        let length = body.len();
        let text = format!(
            "{line} HTTP/1.1\r\n{host}content-type: application/json\r\nconnection: close\r\n\
             content-length: {length}\r\n{head}\r\n{body}"
        );
        self.send(&text)
    }

    /// These bytes; all that comes back until the other side closes, or until its head is whole.
    pub(crate) fn send(&self, text: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.split(' ').nth(1).and_then(|it| it.parse().ok());
        Answer { status: status.unwrap_or_else(|| panic!("no answer: {text}")), text }
    }

    /// `kill -9`; all that it said.
    pub(crate) fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.wait_for_end()
    }

    /// SIGTERM, and waits for its end; all that it said.
    pub(crate) fn terminate(mut self) -> String {
        assert!(Command::new("kill").arg(self.pid()).status().unwrap().success());
        self.wait_for_end()
    }

    fn wait_for_end(&mut self) -> String {
        self.process.wait().unwrap();
        self.output.take().unwrap().join().unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
