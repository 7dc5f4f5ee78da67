//! What Linux says of this process: how much memory it has resident, and how much its control group
//! may have. Elsewhere it says nothing.

use std::fs;
use std::path::{Path, PathBuf};

use super::Gauge;

const ROOT: &str = "/sys/fs/cgroup";
/// The first version writes a number beyond all memory for "no limit".
const NO_LIMIT: u64 = 1 << 60;

pub(super) struct Process;

impl Gauge for Process {
    fn resident_bytes(&self) -> Option<u64> {
        resident(&fs::read_to_string("/proc/self/status").ok()?)
    }
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

/// The smallest limit on the way from our group to the root.
pub(super) fn control_group_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let files = files(&groups);
    files.iter().filter_map(|file| limit(&fs::read_to_string(file).ok()?)).min()
}

fn files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, name) = match controllers {
            "" => (PathBuf::from(ROOT), "memory.max"),
            of if of.split(',').any(|one| one == "memory") => {
                (Path::new(ROOT).join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // In a container the path may be one of the host, and not be there.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            files.push(root.join(group).join(name));
        }
    }
    files
}

fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|bytes| (1..NO_LIMIT).contains(bytes))
}

#[cfg(test)]
mod tests {
    use super::{Gauge, Process, files, limit, resident};

    #[test]
    fn the_resident_size_is_read_from_what_the_system_writes() {
        assert_eq!(resident("Name:\tx\nVmRSS:\t    1234 kB\nThreads:\t2\n"), Some(1_234 * 1_024));
        assert_eq!(resident("Name:\tx\n"), None);
        assert_eq!(resident("VmRSS:\tmany kB"), None);
        if cfg!(target_os = "linux") {
            assert!(Process.resident_bytes().is_some_and(|bytes| bytes > 1 << 20));
        }
    }

    #[test]
    fn every_group_up_to_the_root_may_have_a_limit() {
        let shown = |groups: &str| -> Vec<String> {
            files(groups).iter().map(|file| file.display().to_string()).collect()
        };
        assert_eq!(
            shown("0::/a/b\n"),
            [
                "/sys/fs/cgroup/a/b/memory.max",
                "/sys/fs/cgroup/a/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(
            shown("5:cpu,memory:/\n4:cpuset:/x\ngarbage\n"),
            ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        );
        assert_eq!(limit("1048576\n"), Some(1 << 20));
        assert_eq!(
            [limit("max\n"), limit("9223372036854771712"), limit("0"), limit("")],
            [None; 4]
        );
    }
}
