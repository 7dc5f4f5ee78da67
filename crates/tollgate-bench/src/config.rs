//! The gateway's config files, written for one measurement each.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::wire::Era;

/// A directory that is removed with all that is in it.
pub(crate) struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    pub(crate) fn new() -> io::Result<Self> {
        Self::with_prefix("tollgate-bench")
    }

    /// For those who share a process.
    pub(crate) fn with_prefix(name: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A config under way.
pub(crate) struct GatewayConfig {
    text: String,
    directory: PathBuf,
}

impl GatewayConfig {
    /// Listens on any free port and keeps its data for itself.
    pub(crate) fn new(scratch: &ScratchDirectory, name: &str) -> io::Result<Self> {
        Self::with_limits(scratch, name, "timeout_ms: 60000")
    }

    /// The same with room for thousands of live sessions.
    pub(crate) fn with_many_sessions(scratch: &ScratchDirectory, name: &str) -> io::Result<Self> {
        Self::with_limits(
            scratch,
            name,
            "timeout_ms: 60000, live_sessions: 10000, live_per_key: 10000",
        )
    }

    /// The same with other limits, beside keys of these names.
    pub(crate) fn with_keys(
        scratch: &ScratchDirectory,
        name: &str,
        keys: &[String],
        limits: &str,
    ) -> io::Result<Self> {
        let mut config = Self::with_limits(scratch, name, limits)?;
        config.text.push_str("keys:\n");
        for name in keys {
            let key = key_of(name);
            let _ =
                writeln!(config.text, "  - {{ name: {name}, key: '{key}', rights: [execute] }}");
        }
        Ok(config)
    }

    fn with_limits(scratch: &ScratchDirectory, name: &str, limits: &str) -> io::Result<Self> {
        let directory = scratch.path().join(name);
        fs::create_dir_all(&directory)?;
        let data = directory.join("data");
        let text =
            format!("listen: 127.0.0.1:0\ndata: {}\nlimits: {{ {limits} }}\n", data.display());
        Ok(Self { text, directory })
    }

    pub(crate) fn servers(mut self, servers: &[ConfiguredServer]) -> Self {
        if servers.is_empty() {
            return self;
        }
        self.text.push_str("servers:\n");
        for ConfiguredServer { name, kind } in servers {
            let how = match kind {
                ConfiguredTransport::Http { address, era } => format!(
                    "transport: streamable-http, url: \"http://{address}/mcp\", protocol: \"{}\"",
                    era.revision()
                ),
                ConfiguredTransport::Stdio { command } => {
                    let words: Vec<String> =
                        command.iter().map(|word| format!("\"{word}\"")).collect();
                    format!("transport: stdio, command: [{}]", words.join(", "))
                }
            };
            // Trusted: that the tools only read is believed, so no call waits for the disk.
            let _ = writeln!(
                self.text,
                "  {name}: {{ {how}, trusted: true, calibrate: false, \
                 defaults: {{ timeout_ms: 60000 }} }}"
            );
        }
        self
    }

    /// More of the file, as it is.
    pub(crate) fn with(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }

    /// Where the gateway keeps its data.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Writes the file and says where it is.
    pub(crate) fn write(&self) -> io::Result<PathBuf> {
        let file = self.directory.join("tollgate.yaml");
        fs::write(&file, &self.text)?;
        Ok(file)
    }
}

/// The secret of a key.
pub(crate) fn key_of(name: &str) -> String {
    format!("{name}-0123456789abcdefghij")
}

pub(crate) struct ConfiguredServer {
    pub(crate) name: String,
    pub(crate) kind: ConfiguredTransport,
}

pub(crate) enum ConfiguredTransport {
    Http { address: SocketAddr, era: Era },
    Stdio { command: Vec<String> },
}
