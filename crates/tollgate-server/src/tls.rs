//! TLS identity: certificate chain and private key, loaded and validated. It does not deal with
//! connections. The caller supplies the paths.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{Error, ServerConfig};

/// A certificate chain is much shorter.
const MAX_PEM_BYTES: u64 = 1 << 20;

/// Certificate chain and key of this server.
#[derive(Clone)]
pub struct TlsIdentity {
    config: Arc<ServerConfig>,
}

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsIdentityError {
    #[error("cannot read `{}`: {why}", file.display())]
    Unreadable { file: PathBuf, why: io::Error },
    #[error("`{}` contains no PEM certificate", .0.display())]
    NoCertificate(PathBuf),
    #[error("`{}` contains no PEM private key", .0.display())]
    NoKey(PathBuf),
    #[error(
        "the key in `{}` does not match the certificate in `{}`",
        key.display(),
        cert.display()
    )]
    Mismatch { cert: PathBuf, key: PathBuf },
    #[error("the certificate in `{}` is invalid: {why}", file.display())]
    Unusable { file: PathBuf, why: Error },
}

impl TlsIdentity {
    /// From PEM files: the chain, with the server's own certificate first, and its key. May block.
    pub fn read(cert: &Path, key: &Path) -> Result<Self, TlsIdentityError> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&bytes_of(cert)?)
            .collect::<Result<_, _>>()
            .map_err(|_| TlsIdentityError::NoCertificate(cert.to_owned()))?;
        if chain.is_empty() {
            return Err(TlsIdentityError::NoCertificate(cert.to_owned()));
        }
        let secret = PrivateKeyDer::from_pem_slice(&bytes_of(key)?)
            .map_err(|_| TlsIdentityError::NoKey(key.to_owned()))?;
        Self::new(chain, secret).map_err(|why| match why {
            Error::InconsistentKeys(_) => {
                TlsIdentityError::Mismatch { cert: cert.to_owned(), key: key.to_owned() }
            }
            why => TlsIdentityError::Unusable { file: cert.to_owned(), why },
        })
    }

    /// From a chain and the key of its first certificate.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config) })
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

fn bytes_of(file: &Path) -> Result<Vec<u8>, TlsIdentityError> {
    let read = || {
        // Reading a FIFO would block forever.
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        File::open(file)?.take(MAX_PEM_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|why| TlsIdentityError::Unreadable { file: file.to_owned(), why })
}

#[cfg(test)]
mod tests;
