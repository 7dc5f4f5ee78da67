//! The certificate that a gateway shows: read from files or signed by the local CA, as the config
//! says, and when it is time for another one.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tollgate_core::secret_values;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_server::tls::TlsIdentity;

use super::blocking;
use crate::command_error::CommandError;
use crate::config::{Config, TlsSource};
use crate::local_ca::{LocalCa, RENEWED_AFTER};

/// By these names every gateway is known on its own machine.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Where a certificate came from, to see when that is out of date.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum CertificateStamp {
    #[default]
    None,
    Files(Vec<(PathBuf, Option<CertificateFileState>)>),
    Signed(SystemTime),
}

/// Size, number, and when it last changed in any way, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CertificateFileState {
    bytes: u64,
    inode: u64,
    changed: (i64, i64),
}

/// As the config says; `None`: plain HTTP.
pub(super) async fn obtain(config: &Config) -> Result<Option<TlsIdentity>, CommandError> {
    match &config.tls {
        None => Ok(None),
        Some(TlsSource::Files { cert, key }) => {
            let (cert, key) = (cert.clone(), key.clone());
            let read = blocking(move || {
                mask_key(&key);
                TlsIdentity::read(&cert, &key)
            });
            let read = read.await;
            read.map(Some).map_err(|why| CommandError::new(format!("`tls`: {why}")))
        }
        Some(TlsSource::Local) => {
            let (data, now) = (config.data.clone(), SystemClock.wall());
            let mut names = OWN_NAMES.map(str::to_owned).to_vec();
            names.extend(config.hosts.iter().cloned());
            names.dedup();
            blocking(move || LocalCa::obtain(&data, now)?.sign(&names, now)).await.map(Some)
        }
    }
}

/// A line of a key is enough to know it by.
const LONG_LINE: usize = 40;

/// Masks the lines of a private key, should anything ever repeat the file.
fn mask_key(file: &Path) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().filter(|line| line.len() >= LONG_LINE && !line.starts_with('-'));
    secret_values::configure(lines);
}

impl CertificateStamp {
    /// How it stands now. To be taken before a certificate is obtained, so that no change between
    /// the two is missed.
    pub(super) async fn of(config: &Config) -> Self {
        match &config.tls {
            None => Self::None,
            Some(TlsSource::Local) => Self::Signed(SystemClock.wall()),
            Some(TlsSource::Files { cert, key }) => {
                Self::of_files(vec![cert.clone(), key.clone()]).await
            }
        }
    }

    /// Whether another certificate is due; in words, so that two states can be told apart.
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
        // A panic there is a file that is not there.
        Self::Files(tokio::task::spawn_blocking(look).await.unwrap_or_default())
    }
}

fn state(path: &Path) -> Option<CertificateFileState> {
    let found = path.metadata().ok()?;
    let changed = (found.ctime(), found.ctime_nsec());
    Some(CertificateFileState { bytes: found.len(), inode: found.ino(), changed })
}
