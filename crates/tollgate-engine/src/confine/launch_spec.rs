//! The launcher's instructions, as one command-line argument. Other users can read the arguments of
//! a process, so they contain no secrets: only limits and paths.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::settings::{GatewayFiles, NetworkAccess, Privileges, ProcessLimits, ServerSandbox};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LaunchSpec {
    pub(super) limits: ProcessLimits,
    pub(super) privileges: Privileges,
    pub(super) network: NetworkAccess,
    /// Absent: no file rules, except for `closed`.
    pub(super) files: Option<FileRules>,
    /// The gateway's own files, absolute. They stay closed whatever `files` opens.
    pub(super) closed: Vec<PathBuf>,
}

/// Everything else is closed, except for what any program needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRules {
    /// The program and its interpreter.
    pub(super) run: Vec<PathBuf>,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
}

impl LaunchSpec {
    /// `run` has to be open for the program to start; `private` are the gateway's files.
    pub(crate) fn of(sandbox: &ServerSandbox, run: &[&Path], private: &[PathBuf]) -> Self {
        let files = sandbox.has_file_rules().then(|| FileRules {
            run: run.iter().map(|&path| path.to_owned()).collect(),
            read: sandbox.read.clone(),
            write: sandbox.write.clone(),
        });
        let closed = match sandbox.gateway_files {
            GatewayFiles::Closed => private.to_vec(),
            GatewayFiles::Open => Vec::new(),
        };
        Self {
            limits: sandbox.limits.clone(),
            privileges: sandbox.privileges,
            network: sandbox.network,
            files,
            closed,
        }
    }

    /// `None` for a path that is not UTF-8; the config has none.
    pub(crate) fn write(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
