//! Where the config comes from, and what is there now. Blocks: called from threads that may.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::file::{Snapshot, Version};
use crate::config::{self, Config, DEFAULT, Environment, Process, Report, Request, USUAL_FILE};

/// The file that is read, also while it is not there yet.
#[derive(Clone)]
pub(crate) struct Origin {
    path: PathBuf,
    /// With the flags of the command line, which win over every file.
    request: Request,
    kind: Kind,
    environment: Arc<dyn Environment + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    /// The embedded default, until somebody writes a file.
    Embedded,
}

/// A config that was read and makes sense.
pub(crate) struct Candidate {
    pub(crate) config: Config,
    pub(crate) report: Report,
    pub(super) version: Version,
}

pub(super) enum Found {
    /// What was seen before.
    Same,
    Good(Box<Candidate>),
    Bad {
        /// Tells one bad file from another.
        content: String,
        report: Report,
    },
}

impl Origin {
    pub(super) fn new(origin: &config::Origin, request: Request) -> Self {
        let (path, kind) = match origin {
            config::Origin::File(path) => (path.clone(), Kind::File),
            config::Origin::Embedded => (PathBuf::from(USUAL_FILE), Kind::Embedded),
        };
        Self { path, request, kind, environment: Arc::new(Process) }
    }

    /// What a command changes. A file that is not there yet begins as the embedded default, also one
    /// that is named.
    pub(crate) fn of(request: Request) -> Self {
        let path = request.file.clone().unwrap_or_else(|| PathBuf::from(USUAL_FILE));
        let kind = if path.symlink_metadata().is_ok() { Kind::File } else { Kind::Embedded };
        Self { path, request, kind, environment: Arc::new(Process) }
    }

    /// With variables from elsewhere.
    pub(crate) fn knowing(self, environment: Arc<dyn Environment + Send + Sync>) -> Self {
        Self { environment, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file; `None` while there is none and none is needed.
    pub(super) fn snapshot(&self) -> Result<Option<Snapshot>, Report> {
        if self.kind == Kind::Embedded && self.path.symlink_metadata().is_err() {
            return Ok(None);
        }
        Snapshot::read(&self.path).map(Some)
    }

    /// What it says, or what is built in.
    pub(crate) fn text(&self) -> Result<String, Report> {
        Ok(self.snapshot()?.map_or_else(|| DEFAULT.to_owned(), |it| it.text))
    }

    /// What is there, if it is not what was `seen`.
    pub(super) fn look(&self, seen: Option<&str>) -> Found {
        let snapshot = match self.snapshot() {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => return Found::Same,
            Err(report) => {
                let content = report.to_string();
                let is_known = seen == Some(content.as_str());
                return if is_known { Found::Same } else { Found::Bad { content, report } };
            }
        };
        if seen == Some(snapshot.version.as_str()) {
            return Found::Same;
        }
        let content = snapshot.version.as_str().to_owned();
        match self.candidate(&snapshot.text, snapshot.version) {
            Ok(candidate) => Found::Good(Box::new(candidate)),
            Err(report) => Found::Bad { content, report },
        }
    }

    /// Proves a text. One that says nothing would be the embedded default: nobody who empties a
    /// file means that.
    pub(super) fn candidate(&self, text: &str, version: Version) -> Result<Candidate, Report> {
        if config::is_blank(text) {
            let name = self.path.display().to_string();
            return Err(Report::about(&name, "the file is empty"));
        }
        let loaded =
            config::load_text(&self.path, text.as_bytes(), &self.request, &*self.environment)?;
        Ok(Candidate { config: loaded.config, report: loaded.report, version })
    }

    /// From now on there is a file.
    pub(super) fn became_file(&mut self) {
        self.kind = Kind::File;
    }
}
