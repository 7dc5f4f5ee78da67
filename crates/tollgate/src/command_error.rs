//! Errors of commands, with their exit codes.

use std::process::ExitCode;

use tollgate_config::ConfigReport;

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command failed.
    #[error("{0}")]
    Failed(String),
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    #[error("the config is invalid: {0}")]
    Config(Box<ConfigReport>),
    /// The message was printed already.
    #[error("the command failed")]
    AlreadyPrinted,
}

impl CommandError {
    pub fn new(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Failed(_) | Self::AlreadyPrinted => ExitCode::from(1),
            Self::Usage(_) | Self::Config(_) => ExitCode::from(2),
        }
    }
}

impl From<ConfigReport> for CommandError {
    fn from(report: ConfigReport) -> Self {
        Self::Config(Box::new(report))
    }
}
