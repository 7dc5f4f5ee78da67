//! Source of the config, and its current content. Blocks, so it must not run on async threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_config::file::{ConfigFileSnapshot, ConfigVersion};
use tollgate_config::{
    self as config, Config, ConfigReport, ConfigRequest, DEFAULT, Environment, ProcessEnvironment,
    USUAL_FILE,
};

/// The file that is read. It may not exist yet.
#[derive(Clone)]
pub(crate) struct ConfigFileSource {
    path: PathBuf,
    /// With the flags of the command line, which override every file.
    request: ConfigRequest,
    kind: ConfigFileKind,
    environment: Arc<dyn Environment + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigFileKind {
    File,
    /// The embedded default, until a file is written.
    Embedded,
}

/// A config that was read and is valid.
pub(crate) struct ConfigCandidate {
    pub(crate) config: Config,
    pub(crate) report: ConfigReport,
    pub(super) version: ConfigVersion,
}

pub(super) enum ConfigFileState {
    /// Unchanged.
    Same,
    Good(Box<ConfigCandidate>),
    Bad {
        /// Distinguishes one invalid file from another.
        content: String,
        report: ConfigReport,
    },
}

impl ConfigFileSource {
    pub(super) fn new(origin: &config::ConfigOrigin, request: ConfigRequest) -> Self {
        let (path, kind) = match origin {
            config::ConfigOrigin::File(path) => (path.clone(), ConfigFileKind::File),
            config::ConfigOrigin::Embedded => (PathBuf::from(USUAL_FILE), ConfigFileKind::Embedded),
        };
        Self { path, request, kind, environment: Arc::new(ProcessEnvironment) }
    }

    /// The source that a command edits. A file that does not exist yet, named or not, starts as the
    /// embedded default.
    pub(crate) fn of(request: ConfigRequest) -> Self {
        let path = request.file.clone().unwrap_or_else(|| PathBuf::from(USUAL_FILE));
        let kind = if path.symlink_metadata().is_ok() {
            ConfigFileKind::File
        } else {
            ConfigFileKind::Embedded
        };
        Self { path, request, kind, environment: Arc::new(ProcessEnvironment) }
    }

    /// With another environment.
    pub(crate) fn knowing(self, environment: Arc<dyn Environment + Send + Sync>) -> Self {
        Self { environment, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file. `None` if there is none and none is needed.
    pub(super) fn snapshot(&self) -> Result<Option<ConfigFileSnapshot>, ConfigReport> {
        if self.kind == ConfigFileKind::Embedded && self.path.symlink_metadata().is_err() {
            return Ok(None);
        }
        ConfigFileSnapshot::read(&self.path).map(Some)
    }

    /// Its text, or the embedded default.
    pub(crate) fn text(&self) -> Result<String, ConfigReport> {
        Ok(self.snapshot()?.map_or_else(|| DEFAULT.to_owned(), |it| it.text))
    }

    /// The current content, if it differs from `seen`.
    pub(super) fn look(&self, seen: Option<&str>) -> ConfigFileState {
        let snapshot = match self.snapshot() {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => return ConfigFileState::Same,
            Err(report) => {
                let content = report.to_string();
                let is_known = seen == Some(content.as_str());
                return if is_known {
                    ConfigFileState::Same
                } else {
                    ConfigFileState::Bad { content, report }
                };
            }
        };
        if seen == Some(snapshot.version.as_str()) {
            return ConfigFileState::Same;
        }
        let content = snapshot.version.as_str().to_owned();
        match self.candidate(&snapshot.text, snapshot.version) {
            Ok(candidate) => ConfigFileState::Good(Box::new(candidate)),
            Err(report) => ConfigFileState::Bad { content, report },
        }
    }

    /// Validates a text. An empty one is refused: it would mean the embedded default, which nobody
    /// who empties a file intends.
    pub(super) fn candidate(
        &self,
        text: &str,
        version: ConfigVersion,
    ) -> Result<ConfigCandidate, ConfigReport> {
        if config::is_blank(text) {
            let name = self.path.display().to_string();
            return Err(ConfigReport::about(&name, "the file is empty"));
        }
        let loaded =
            config::load_text(&self.path, text.as_bytes(), &self.request, &*self.environment)?;
        Ok(ConfigCandidate { config: loaded.config, report: loaded.report, version })
    }

    /// From now on there is a file.
    pub(super) fn became_file(&mut self) {
        self.kind = ConfigFileKind::File;
    }
}
