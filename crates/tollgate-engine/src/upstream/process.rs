//! A server as a child process: started with a clean environment, drained, and stopped with all its
//! descendants. Used by the stdio connector only; knows pipes and signals, not MCP.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tollgate_mcp::tasks::{self, Task};

use crate::clock::Clock;
use crate::confine::orphans::{self, ChildMark, ProcessIdentity};
use crate::confine::{Launcher, orphan_reaper};
use crate::settings::StdioCommand;

mod environment;
mod exit_report;
mod launch;
mod program;
mod stderr_log;

pub(super) use exit_report::ExitReport;
use program::SpawnError;
pub(super) use stderr_log::ServerLog;

/// How long a server may take to exit after EOF on its stdin.
const EOF_GRACE: Duration = Duration::from_millis(1500);
/// And how long after SIGTERM.
const SIGTERM_GRACE: Duration = Duration::from_secs(1);
/// How long to wait for the rest of its stderr after its exit.
const STDERR_DRAIN_TIMEOUT: Duration = Duration::from_millis(100);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Dropping it kills the whole process group at once; [`ChildProcess::stop`] does it gracefully.
pub(super) struct ChildProcess {
    command: StdioCommand,
    program: PathBuf,
    child: Child,
    group: Pid,
    mark: Arc<ChildMark>,
    stopped: bool,
    log: Arc<ServerLog>,
    /// Log position at the start of this process.
    log_from: u64,
    /// Ends when the last writer is gone.
    stderr: Task,
}

/// The child's pipes. Dropping `stdin` asks it to exit.
pub(super) struct ChildPipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

impl ChildProcess {
    /// Executes the command without a shell: through the launcher, if there is one.
    pub(super) fn spawn(
        command: &StdioCommand,
        launcher: Option<&Launcher>,
        log: &Arc<ServerLog>,
        clock: &Arc<dyn Clock>,
    ) -> Result<(Self, ChildPipes), SpawnError> {
        let mark = Arc::new(ChildMark::new());
        let mut environment = environment::of(command)?;
        let program = program::resolve(command, &environment)?;
        environment.insert(orphans::CHILD_MARK_VARIABLE.into(), mark.as_str().into());
        let mut builder = launch::words(command, &program, launcher)?;
        builder
            .env_clear()
            .envs(environment)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(cwd) = launch::directory(command) {
            builder.current_dir(cwd);
        }
        let mut child = builder
            .spawn()
            .map_err(|error| launch::explain(command, &program, launcher, &error))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let group = group.expect("a child that was not waited for has an id");
        match launcher {
            Some(launcher) => orphan_reaper::ensure(launcher),
            None => launch::limit(command, group)?,
        }
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        let drain = stderr_log::drain(stderr, Arc::clone(log), Arc::clone(clock));
        let process = Self {
            command: command.clone(),
            program,
            child,
            group,
            mark,
            stopped: false,
            log: Arc::clone(log),
            log_from: log.position(),
            stderr: tasks::spawn("stderr", drain),
        };
        Ok((process, ChildPipes { stdin, stdout }))
    }

    pub(super) fn id(&self) -> u32 {
        self.group.as_raw_pid().cast_unsigned()
    }

    /// Waits for the child's own exit. Its descendants may live on. Cancel-safe.
    pub(super) async fn wait_exit(&mut self) -> Option<ExitStatus> {
        self.child.wait().await.ok()
    }

    /// Waits, sends SIGTERM, then kills: the group first, then processes that left it. The owner of
    /// the pipes must close stdin before.
    pub(super) async fn stop(mut self) -> ExitReport {
        let family: Arc<[ProcessIdentity]> = self.family_now().await.into();
        let gone = tokio::time::timeout(EOF_GRACE, self.child.wait()).await.is_ok();
        if !gone || self.group_lives() {
            self.signal(Signal::TERM, &family).await;
            let _ = tokio::time::timeout(SIGTERM_GRACE, self.group_gone()).await;
        }
        self.signal(Signal::KILL, &family).await;
        let status = self.child.wait().await.ok();
        self.sweep(family).await;
        self.stopped = true;
        let _ = tokio::time::timeout(STDERR_DRAIN_TIMEOUT, self.stderr.wait()).await;
        self.exit_report(status)
    }

    fn exit_report(&self, status: Option<ExitStatus>) -> ExitReport {
        let lines = self.log.since(self.log_from);
        let failed = status.is_some_and(|status| !status.success());
        ExitReport {
            status,
            last_words: stderr_log::last_words(&lines).map(str::to_owned),
            never_began: launch::failure(&self.command, &self.program, status, &lines),
            limits: self.command.sandbox.limits.clone(),
            short_of_memory: failed && exit_report::complains_of_memory(&lines),
        }
    }

    /// The descendants of the child. Empty once it was reaped: its pid may be reused.
    fn family(&self) -> Vec<ProcessIdentity> {
        self.child.id().map(orphans::descendants).unwrap_or_default()
    }

    /// The same, without scanning all processes on a thread that serves calls.
    async fn family_now(&self) -> Vec<ProcessIdentity> {
        let Some(id) = self.child.id() else { return Vec::new() };
        let found = tokio::task::spawn_blocking(move || orphans::descendants(id));
        found.await.unwrap_or_default()
    }

    async fn group_gone(&mut self) {
        let _ = self.child.wait().await;
        while self.group_lives() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn group_lives(&self) -> bool {
        test_kill_process_group(self.group).is_ok()
    }

    /// Signals the whole group, if it is still ours.
    async fn signal(&self, signal: Signal, family: &Arc<[ProcessIdentity]>) {
        if self.child.id().is_none() {
            let group = self.id();
            let mark = Arc::clone(&self.mark);
            let family = Arc::clone(family);
            let look = move || orphans::is_in_group(group, &mark, &family);
            if !tokio::task::spawn_blocking(look).await.unwrap_or(false) {
                return;
            }
        }
        // Fails if no process is left, which is what we want.
        let _ = kill_process_group(self.group, signal);
    }

    /// Kills processes that left the group, until none is found.
    async fn sweep(&self, family: Arc<[ProcessIdentity]>) {
        let mark = Arc::clone(&self.mark);
        let look = move || {
            for _ in 0..100 {
                if orphans::kill(&mark, &family) == 0 {
                    return;
                }
                std::thread::sleep(POLL_INTERVAL);
            }
        };
        let _ = tokio::task::spawn_blocking(look).await;
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.stopped {
            return;
        }
        let family = self.family();
        if self.child.id().is_some() {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
        orphans::kill(&self.mark, &family);
    }
}

#[cfg(test)]
mod tests;
