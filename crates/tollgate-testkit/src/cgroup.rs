//! A memory control group with a limit, of version 1 or 2: what a container has around it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Removed when dropped, once no process is in it any more.
#[derive(Debug)]
pub struct MemoryCgroup {
    folder: PathBuf,
    version: CgroupVersion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CgroupVersion {
    One,
    Two,
}

impl MemoryCgroup {
    /// A group of its own below the one of this process, or below the root where that cannot be.
    pub fn new(name: &str, limit_bytes: u64) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{name}-{}-{count}", std::process::id());
        let mut failed = io::Error::other("there is no memory control group here");
        for (version, parent) in parents() {
            match Self::inside(&parent.join(&name), version, limit_bytes) {
                Ok(group) => return Ok(group),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn inside(folder: &Path, version: CgroupVersion, limit_bytes: u64) -> io::Result<Self> {
        if version == CgroupVersion::Two
            && let Some(parent) = folder.parent()
        {
            // Not where only version 1 is mounted: a plain file would be made there.
            fs::read_to_string(parent.join("cgroup.controllers"))?;
            fs::write(parent.join("cgroup.subtree_control"), "+memory")?;
        }
        fs::create_dir(folder)?;
        let group = Self { folder: folder.to_owned(), version };
        let (limit, swap) = match version {
            CgroupVersion::One => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
            CgroupVersion::Two => ("memory.max", "memory.swap.max"),
        };
        group.write(limit, &limit_bytes.to_string())?;
        let swap_bytes = if version == CgroupVersion::One { limit_bytes } else { 0 };
        // A kernel without swap accounting has no such file.
        let _ = group.write(swap, &swap_bytes.to_string());
        Ok(group)
    }

    /// The beginning of a command that runs `program` inside: it enters, then becomes the program.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]);
        command.arg(self.folder.join("cgroup.procs")).arg(program);
        command
    }

    /// Holds so many bytes in the group, until what this returns is dropped.
    pub fn hold(&self, bytes: u64) -> io::Result<Ballast> {
        if bytes == 0 {
            return Ok(Ballast(None));
        }
        let before = self.used_bytes()?;
        // `tail` keeps what it may have to say until its input ends.
        let script =
            format!("(head -c {bytes} /dev/zero; exec cat) | exec tail -c {bytes} >/dev/null");
        let mut command = self.command("sh");
        command.args(["-c", &script]).stdin(Stdio::piped());
        let ballast = Ballast(Some(command.spawn()?));
        for _ in 0..500 {
            if self.used_bytes()? >= before + bytes / 10 * 9 {
                return Ok(ballast);
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(io::Error::other("the memory could not be taken"))
    }

    /// What its processes hold, without files that the kernel can drop at any moment.
    pub fn used_bytes(&self) -> io::Result<u64> {
        let (usage, reclaimable) = match self.version {
            CgroupVersion::One => ("memory.usage_in_bytes", "total_inactive_file"),
            CgroupVersion::Two => ("memory.current", "inactive_file"),
        };
        let used = self.read(usage)?.trim().parse().map_err(io::Error::other)?;
        Ok(field(&self.read("memory.stat")?, reclaimable)
            .map_or(used, |it| used.saturating_sub(it)))
    }

    /// How many of its processes were killed because its memory was used up.
    pub fn killed_processes(&self) -> io::Result<u64> {
        let file = match self.version {
            CgroupVersion::One => "memory.oom_control",
            CgroupVersion::Two => "memory.events",
        };
        Ok(field(&self.read(file)?, "oom_kill").unwrap_or(0))
    }

    fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.folder.join(file))
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.folder.join(file), text)
    }
}

/// Memory in a group that is given back when this is dropped.
#[derive(Debug)]
pub struct Ballast(Option<Child>);

impl Drop for Ballast {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else { return };
        // The end of its input ends all of it.
        drop(child.stdin.take());
        let _ = child.wait();
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        // The kernel takes a moment to see that its last process has ended.
        for _ in 0..100 {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    thread::sleep(Duration::from_millis(20));
                }
                _ => return,
            }
        }
    }
}

/// Where a group may be made, the best place first.
fn parents() -> Vec<(CgroupVersion, PathBuf)> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (version, root) = match controllers {
            "" => (CgroupVersion::Two, Path::new("/sys/fs/cgroup")),
            _ if controllers.split(',').any(|it| it == "memory") => {
                (CgroupVersion::One, Path::new("/sys/fs/cgroup/memory"))
            }
            _ => continue,
        };
        found.push((version, root.join(path.trim_start_matches('/'))));
        found.push((version, root.to_owned()));
    }
    found
}

/// The number behind a name in a file of lines `name number`.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut words = text.lines().filter_map(|line| line.split_once(' '));
    words.find(|(key, _)| *key == name).and_then(|(_, value)| value.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::MemoryCgroup;
    use crate::skip;

    #[test]
    fn who_takes_more_than_the_limit_is_killed_and_counted() {
        if !skip::require_cgroup() {
            return;
        }
        let group = MemoryCgroup::new("tollgate-testkit", 32 << 20).unwrap();
        let take = |megabytes: &str| {
            let script = format!("head -c {megabytes}m /dev/zero | tail -c {megabytes}m | wc -c");
            group.command("sh").args(["-c", &script]).output().unwrap()
        };
        assert_eq!(String::from_utf8_lossy(&take("4").stdout).trim(), (4 << 20).to_string());
        assert_eq!(group.killed_processes().unwrap(), 0);
        assert_ne!(String::from_utf8_lossy(&take("96").stdout).trim(), (96 << 20).to_string());
        assert_ne!(group.killed_processes().unwrap(), 0);
        assert!(group.used_bytes().unwrap() < 32 << 20);
    }

    #[test]
    fn ballast_takes_memory_and_gives_it_back() {
        if !skip::require_cgroup() {
            return;
        }
        let group = MemoryCgroup::new("tollgate-testkit", 64 << 20).unwrap();
        let ballast = group.hold(32 << 20).unwrap();
        assert!(group.used_bytes().unwrap() >= 28 << 20);
        drop(ballast);
        for _ in 0..100 {
            if group.used_bytes().unwrap() < 16 << 20 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{} bytes are still held", group.used_bytes().unwrap());
    }
}
