//! A pseudo-terminal, for commands that prompt.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Longer than anything takes, however busy the machine.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) struct Terminal {
    child: Child,
    held: File,
    /// What is printed, as it comes.
    printed: Receiver<String>,
    seen: String,
}

impl Terminal {
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let held = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&held).unwrap();
        unlockpt(&held).unwrap();
        let path = ptsname(&held, Vec::new()).unwrap();
        let open = || File::options().read(true).write(true).open(path.to_str().unwrap()).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(tollgate_testkit::coverage_profile())
            .env("TOLLGATE_LISTEN", "127.0.0.1:0")
            .env("TERM", "dumb")
            .stdin(open())
            .stdout(open())
            .stderr(open())
            .spawn()
            .unwrap();
        let held = File::from(held);
        let mut reader = held.try_clone().unwrap();
        let (sender, printed) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(size @ 1..) = reader.read(&mut buffer) {
                let _ = sender.send(String::from_utf8_lossy(&buffer[..size]).into_owned());
            }
        });
        Self { child, held, printed, seen: String::new() }
    }

    /// Waits until a text is there to be seen.
    pub(crate) fn sees(&mut self, expected: &str) {
        while !self.seen.contains(expected) {
            let Ok(more) = self.printed.recv_timeout(TIMEOUT) else {
                panic!("no `{expected}` in {}", self.seen);
            };
            self.seen.push_str(&more);
        }
        let rest = self.seen.split_once(expected).map(|(_, rest)| rest.to_owned());
        self.seen = rest.unwrap_or_default();
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.held.write_all(keys.as_bytes()).expect("a terminal");
    }

    /// The exit code, once it is over.
    pub(crate) fn wait_for_end(mut self) -> Option<i32> {
        for _ in 0..2_400 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("it did not end: {}", self.seen);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
