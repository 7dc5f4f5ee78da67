//! What the figures were measured on.

use std::fs;

use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    memory_mib: u64,
    kernel: String,
    /// Of the last minute, before the run: other work makes figures worse.
    load: String,
}

impl Machine {
    pub(crate) fn look() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, key: &str| {
            let line = text.lines().find(|line| line.starts_with(key));
            line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let kibibytes: u64 =
            memory.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default();
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_mib: kibibytes / 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: load(),
        }
    }

    pub(crate) fn describe(&self) -> String {
        let Self { processor, cores, memory_mib, kernel, load: before } = self;
        let after = load();
        format!(
            "{cores} × {processor}, {memory_mib} MiB, Linux {kernel}; \
             load {before} before, {after} after"
        )
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "processor": self.processor,
            "cores": self.cores,
            "memoryMib": self.memory_mib,
            "kernel": self.kernel,
            "loadBefore": self.load,
            "loadAfter": load(),
        })
    }
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn unknown() -> String {
    "unknown processor".to_owned()
}
