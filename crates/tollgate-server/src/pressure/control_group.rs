//! Memory use and limit of this process's control group (cgroup v1 and v2).
//!
//! The kernel's OOM killer uses this number, so children and socket buffers count. Inactive page
//! cache does not count, because the kernel reclaims it first.

use std::fs;
use std::path::{Path, PathBuf};

use super::MemoryGauge;

const ROOT: &str = "/sys/fs/cgroup";
/// cgroup v1 writes a number beyond all memory for "no limit".
const NO_LIMIT: u64 = 1 << 60;

/// A group, with the file names of its cgroup version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ControlGroup {
    folder: PathBuf,
    version: ControlGroupVersion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ControlGroupVersion {
    One,
    Two,
}

impl ControlGroupVersion {
    fn limit_file(self) -> &'static str {
        match self {
            Self::One => "memory.limit_in_bytes",
            Self::Two => "memory.max",
        }
    }

    fn usage_file(self) -> &'static str {
        match self {
            Self::One => "memory.usage_in_bytes",
            Self::Two => "memory.current",
        }
    }

    /// Key in `memory.stat`, for the group and its descendants.
    fn reclaimable(self) -> &'static str {
        match self {
            Self::One => "total_inactive_file",
            Self::Two => "inactive_file",
        }
    }
}

/// The group with the smallest limit between ours and the root, and that limit.
pub(super) fn tightest_limit() -> Option<(u64, ControlGroup)> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limited = ancestors(&groups).into_iter().filter_map(|group| Some((group.limit()?, group)));
    limited.min_by_key(|(limit, _)| *limit)
}

fn ancestors(groups: &str) -> Vec<ControlGroup> {
    let mut all = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, version) = match controllers {
            "" => (PathBuf::from(ROOT), ControlGroupVersion::Two),
            of if of.split(',').any(|one| one == "memory") => {
                (Path::new(ROOT).join("memory"), ControlGroupVersion::One)
            }
            _ => continue,
        };
        // In a container the path may be one of the host and not exist here.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            all.push(ControlGroup { folder: root.join(group), version });
        }
    }
    all
}

impl ControlGroup {
    fn limit(&self) -> Option<u64> {
        read_limit(&fs::read_to_string(self.folder.join(self.version.limit_file())).ok()?)
    }
}

impl MemoryGauge for ControlGroup {
    fn resident_bytes(&self) -> Option<u64> {
        let usage = fs::read_to_string(self.folder.join(self.version.usage_file())).ok()?;
        let usage: u64 = usage.trim().parse().ok()?;
        let statistics = fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let reclaimable = read_statistic(&statistics, self.version.reclaimable());
        Some(usage.saturating_sub(reclaimable.unwrap_or(0)))
    }
}

fn read_limit(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|bytes| (1..NO_LIMIT).contains(bytes))
}

fn read_statistic(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::{
        ControlGroup, ControlGroupVersion, MemoryGauge, ancestors, read_limit, read_statistic,
    };

    #[test]
    fn every_group_up_to_the_root_may_have_a_limit() {
        let limits = |groups: &str| -> Vec<String> {
            let file = |group: &ControlGroup| group.folder.join(group.version.limit_file());
            ancestors(groups).iter().map(|group| file(group).display().to_string()).collect()
        };
        assert_eq!(
            limits("0::/a/b\n"),
            [
                "/sys/fs/cgroup/a/b/memory.max",
                "/sys/fs/cgroup/a/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(
            limits("5:cpu,memory:/\n4:cpuset:/x\ngarbage\n"),
            ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        );
        assert_eq!(read_limit("1048576\n"), Some(1 << 20));
        let none = ["max\n", "9223372036854771712", "0", ""].map(read_limit);
        assert_eq!(none, [None; 4]);
    }

    #[test]
    fn r_11_pages_of_files_that_can_be_given_up_do_not_count() {
        for (version, usage, statistics) in [
            (
                ControlGroupVersion::Two,
                "memory.current",
                "anon 7\ninactive_file 300\nactive_file 9\n",
            ),
            (
                ControlGroupVersion::One,
                "memory.usage_in_bytes",
                "inactive_file 5\ntotal_inactive_file 300\ntotal_active_file 9\n",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(usage), "1000\n").unwrap();
            let group = ControlGroup { folder: folder.path().to_owned(), version };
            assert_eq!(group.resident_bytes(), Some(1000), "without statistics");
            std::fs::write(folder.path().join("memory.stat"), statistics).unwrap();
            assert_eq!(group.resident_bytes(), Some(700), "{version:?}");
        }
        assert_eq!(read_statistic("inactive_file_x 1\n", "inactive_file"), None);
    }
}
