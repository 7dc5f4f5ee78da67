//! Processes that are measured: what they use, and how they are started and ended.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Signal};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader, Lines};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::clock;
use crate::error::{BenchError, within};

const START_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What a process used so far, and holds now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessUsage {
    /// In its own code and in the kernel.
    pub(crate) cpu: Duration,
    pub(crate) resident_bytes: u64,
    /// The most it ever held.
    pub(crate) peak_bytes: u64,
}

impl ProcessUsage {
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let cpu = match time_of_threads(pid) {
            Ok(cpu) if cpu > Duration::ZERO => cpu,
            _ => time_in_ticks(pid)?,
        };
        Ok(Self {
            cpu,
            resident_bytes: kilobytes(&status, "VmRSS:") * 1024,
            peak_bytes: kilobytes(&status, "VmHWM:") * 1024,
        })
    }
}

/// In nanoseconds, where the kernel keeps them: a tick is as long as hundreds of calls.
fn time_of_threads(pid: u32) -> io::Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end while we look; what it used is then lost, which is next to nothing.
        let text = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        let first = text.split_ascii_whitespace().next();
        nanos += first.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

fn time_in_ticks(pid: u32) -> io::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let per_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_millis(ticks(&stat).unwrap_or(0) * 1_000 / per_second))
}

/// `utime` and `stime`: the 14th and 15th field. The second may contain anything but ends at `)`.
fn ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

fn kilobytes(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Files that a process may have open, at most.
pub(crate) fn file_limit() -> u64 {
    rustix::process::getrlimit(Resource::Nofile).maximum.unwrap_or(1 << 20)
}

/// Lets this process and its children have as many open files as the system allows.
pub(crate) fn raise_file_limit() {
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // A low limit shows soon enough, where it matters.
    let _ = rustix::process::setrlimit(Resource::Nofile, limit);
}

/// A server in a process of its own. Killed when dropped.
pub(crate) struct MeasuredProcess {
    pub(crate) pid: u32,
    pub(crate) address: SocketAddr,
    /// From its start until it said where it listens.
    pub(crate) took: Duration,
    child: Child,
    /// Reads on, so that the process never waits for us.
    _drain: JoinSet<()>,
}

impl MeasuredProcess {
    /// Starts this program again in another role; it says its address on standard output.
    pub(crate) async fn helper<I, S>(program: &Path, arguments: I) -> Result<Self, BenchError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped());
        Self::start(command, "").await
    }

    /// Starts the gateway on a config; it says on standard error when it is ready.
    pub(crate) async fn gateway(program: &Path, config: &Path) -> Result<Self, BenchError> {
        Self::gateway_by(std::process::Command::new(program), config).await
    }

    /// The same by a command that names the gateway last: one that starts it in a control group.
    pub(crate) async fn gateway_by(
        command: std::process::Command,
        config: &Path,
    ) -> Result<Self, BenchError> {
        let mut command = Command::from(command);
        command.arg("serve").arg("--config").arg(config).stderr(Stdio::piped());
        command.stdout(Stdio::null());
        if let Some(directory) = config.parent() {
            command.current_dir(directory);
        }
        Self::start(command, "tollgate is ready on http://").await
    }

    async fn start(mut command: Command, before_address: &str) -> Result<Self, BenchError> {
        let began = clock::now();
        let mut child = command.stdin(Stdio::null()).kill_on_drop(true).spawn()?;
        let gone = || BenchError::Process("the process ended at once".to_owned());
        let pid = child.id().ok_or_else(gone)?;
        let mut drain = JoinSet::new();
        let address = if let Some(output) = child.stdout.take() {
            read_address(BufReader::new(output).lines(), before_address, &mut drain).await?
        } else {
            let output = child.stderr.take().ok_or_else(gone)?;
            read_address(BufReader::new(output).lines(), before_address, &mut drain).await?
        };
        Ok(Self { pid, address, took: clock::now() - began, child, _drain: drain })
    }

    pub(crate) fn usage(&self) -> Result<ProcessUsage, BenchError> {
        Ok(ProcessUsage::of(self.pid)?)
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may be gone already.
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
    }

    /// How it ended, if it does within the limit.
    pub(crate) async fn wait_for_exit(
        &mut self,
        limit: Duration,
    ) -> Result<ExitStatus, BenchError> {
        within(limit, "the end of the gateway", async { Ok(self.child.wait().await?) }).await
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(mut self) -> Result<(), BenchError> {
        self.terminate();
        if tokio::time::timeout(STOP_TIMEOUT, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }
}

/// Waits for the line with the address, then reads on in the background.
async fn read_address<R>(
    mut lines: Lines<BufReader<R>>,
    before: &str,
    drain: &mut JoinSet<()>,
) -> Result<SocketAddr, BenchError>
where
    R: AsyncRead + Send + Unpin + 'static,
{
    let address = within(START_TIMEOUT, "the start of a process", async {
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await? {
            let after = line.split_once(before).map(|(_, rest)| rest);
            let word = after.and_then(|rest| rest.split([' ', '/']).next());
            if let Some(address) = word.and_then(|word| word.parse().ok()) {
                return Ok(address);
            }
            all.push(line);
        }
        let text = all[all.len().saturating_sub(10)..].join("\n");
        Err(BenchError::Process(format!("the process ended before it was ready:\n{text}")))
    })
    .await?;
    drain.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::{kilobytes, ticks};

    #[test]
    fn times_are_found_behind_a_strange_name() {
        let stat = "42 (a ) b) S 1 2 3 4 5 6 7 8 9 10 100 23 0 0 20 0 3 0";
        assert_eq!(ticks(stat), Some(123));
    }

    #[test]
    fn memory_is_read_by_name() {
        assert_eq!(kilobytes("Name:\tx\nVmHWM:\t  200 kB\nVmRSS:\t 100 kB\n", "VmRSS:"), 100);
    }
}
