//! Why a command did not do what it was asked, and the exit code for that.

use std::process::ExitCode;

use crate::config::Report;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It was tried and did not work out.
    #[error("{0}")]
    Failed(String),
    /// The command line asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    #[error("the config has mistakes: {0}")]
    Config(Box<Report>),
    /// What there is to say has been printed.
    #[error("the command failed")]
    Said,
}

impl Failure {
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Failed(_) | Self::Said => ExitCode::from(1),
            Self::Usage(_) | Self::Config(_) => ExitCode::from(2),
        }
    }
}

impl From<Report> for Failure {
    fn from(report: Report) -> Self {
        Self::Config(Box::new(report))
    }
}
