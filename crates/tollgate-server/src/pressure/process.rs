//! Resident memory of this process, from Linux `/proc`. Unknown on other systems.

use std::fs;

use super::MemoryGauge;

pub(super) struct ProcessGauge;

impl MemoryGauge for ProcessGauge {
    fn resident_bytes(&self) -> Option<u64> {
        resident(&fs::read_to_string("/proc/self/status").ok()?)
    }
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::{MemoryGauge, ProcessGauge, resident};

    #[test]
    fn the_resident_size_is_read_from_what_the_system_writes() {
        assert_eq!(resident("Name:\tx\nVmRSS:\t    1234 kB\nThreads:\t2\n"), Some(1_234 * 1_024));
        assert_eq!(resident("Name:\tx\n"), None);
        assert_eq!(resident("VmRSS:\tmany kB"), None);
        if cfg!(target_os = "linux") {
            assert!(ProcessGauge.resident_bytes().is_some_and(|bytes| bytes > 1 << 20));
        }
    }
}
