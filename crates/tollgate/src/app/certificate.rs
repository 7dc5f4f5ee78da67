//! TLS certificate of the gateway: read from files or signed by the local CA, and renewed in time.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tollgate_config::{Config, TlsSource};
use tollgate_core::secret_values;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_server::tls::TlsIdentity;

use super::blocking;
use crate::command_error::CommandError;
use crate::local_ca::{LocalCa, RENEWED_AFTER};

/// Names of every gateway on its own machine.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Source state of a certificate, to detect when it is out of date.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum CertificateStamp {
    #[default]
    None,
    Files(Vec<(PathBuf, Option<CertificateFileState>)>),
    Signed(SystemTime),
}

/// Size, inode and change time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CertificateFileState {
    bytes: u64,
    inode: u64,
    changed: (i64, i64),
}

/// The certificate of the config. `None`: plain HTTP.
pub(super) async fn obtain(config: &Config) -> Result<Option<TlsIdentity>, CommandError> {
    match &config.tls {
        None => Ok(None),
        Some(TlsSource::Files { cert, key }) => {
            let cert = cert.clone();
            let key = key.clone();
            let read = blocking(move || {
                mask_key(&key);
                TlsIdentity::read(&cert, &key)
            });
            let read = read.await;
            read.map(Some).map_err(|why| CommandError::new(format!("`tls`: {why}")))
        }
        Some(TlsSource::Local) => {
            let data = config.data.clone();
            let now = SystemClock.wall();
            let mut names = OWN_NAMES.map(str::to_owned).to_vec();
            names.extend(config.hosts.iter().cloned());
            names.dedup();
            blocking(move || LocalCa::obtain(&data, now)?.sign(&names, now)).await.map(Some)
        }
    }
}

/// Minimum length of a line that is masked: one line identifies a key.
const LONG_LINE: usize = 40;

/// Masks the lines of a private key, in case the file is ever echoed.
fn mask_key(file: &Path) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().filter(|line| line.len() >= LONG_LINE && !line.starts_with('-'));
    secret_values::configure(lines);
}

impl CertificateStamp {
    /// The current state. Must be taken before the certificate is obtained, so that no change in
    /// between is missed.
    pub(super) async fn of(config: &Config) -> Self {
        match &config.tls {
            None => Self::None,
            Some(TlsSource::Local) => Self::Signed(SystemClock.wall()),
            Some(TlsSource::Files { cert, key }) => {
                Self::of_files(vec![cert.clone(), key.clone()]).await
            }
        }
    }

    /// The reason for a renewal, if it is due. Different states have different texts.
    pub(super) async fn renewal_reason(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Signed(at) => {
                let due = SystemClock.wall() >= *at + RENEWED_AFTER;
                due.then(|| "the certificate must be renewed".to_owned())
            }
            Self::Files(files) => {
                let paths = files.iter().map(|(path, _)| path.clone()).collect();
                let now = Self::of_files(paths).await;
                (now != *self).then(|| format!("{now:?}"))
            }
        }
    }

    async fn of_files(paths: Vec<PathBuf>) -> Self {
        let look = move || paths.into_iter().map(|path| (path.clone(), state(&path))).collect();
        // Treat a panic like missing files.
        Self::Files(tokio::task::spawn_blocking(look).await.unwrap_or_default())
    }
}

fn state(path: &Path) -> Option<CertificateFileState> {
    let found = path.metadata().ok()?;
    let changed = (found.ctime(), found.ctime_nsec());
    Some(CertificateFileState { bytes: found.len(), inode: found.ino(), changed })
}
