//! Process statistics from Linux `/proc`. Empty on other systems.

use std::fs;
use std::time::Duration;

/// Linux reports CPU time in hundredths of a second, whatever its timer frequency.
const TICK: Duration = Duration::from_millis(10);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProcessStats {
    pub(super) cpu: Duration,
    pub(super) resident_bytes: u64,
    pub(super) open_files: usize,
    /// `None`: unlimited.
    pub(super) most_files: Option<u64>,
}

pub(super) fn look() -> Option<ProcessStats> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    Some(ProcessStats {
        cpu: cpu(&stat)?,
        resident_bytes: resident(&status)?,
        // One of them is the directory that is being read.
        open_files: fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1),
        most_files: most_files(&limits),
    })
}

/// The process name is in parentheses and may contain spaces and parentheses.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    let all = ticks()?.checked_add(ticks()?)?;
    TICK.checked_mul(all)
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

fn most_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{cpu, look, most_files};

    #[test]
    fn figures_are_read_from_what_the_system_writes() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 2 0 0 0 120 30 9 9 20 0 1 0 55 1 1 18";
        assert_eq!(cpu(stat), Some(Duration::from_millis(1_500)));
        assert_eq!(cpu("7 (x) S 1"), None);
        let limits = "Max open files            1024                 4096                 files\n";
        assert_eq!(most_files(limits), Some(1_024));
        assert_eq!(most_files("Max open files            unlimited   unlimited   files\n"), None);
        if cfg!(target_os = "linux") {
            let process = look().unwrap();
            assert!(process.resident_bytes > 1 << 20 && process.open_files > 0, "{process:?}");
        }
    }
}
