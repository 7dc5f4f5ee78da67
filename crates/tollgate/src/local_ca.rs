//! Local certificate authority (CA) of this installation, for `serve --tls`.
//!
//! It is stored in the data directory, so that a client that trusts it once trusts every
//! certificate it signs. The server certificate is created at each start and never stored.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use ring::digest;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tollgate_server::tls::TlsIdentity;

use crate::command_error::CommandError;
use crate::private_file;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Clocks of clients may be slow.
const CLOCK_SKEW: Duration = DAY.saturating_mul(2);
/// Lifetime of a server certificate. It is renewed long before.
const LEAF_VALIDITY: Duration = DAY.saturating_mul(90);
/// Age at which a running server gets a new certificate.
pub const RENEWED_AFTER: Duration = DAY.saturating_mul(30);
/// Long enough that an installation never needs a new CA.
const CA_VALIDITY: Duration = DAY.saturating_mul(30 * 365);

pub struct LocalCa {
    issuer: Issuer<'static, KeyPair>,
}

/// The CA certificate, which clients must trust.
pub fn file(data: &Path) -> PathBuf {
    data.join("tls").join("ca.pem")
}

fn key_file(data: &Path) -> PathBuf {
    data.join("tls").join("ca.key")
}

impl LocalCa {
    /// The CA of this data directory, created if it is missing. May block.
    pub fn obtain(data: &Path, now: SystemTime) -> Result<Self, CommandError> {
        let cert = file(data);
        let secret = key_file(data);
        let unusable = |file: &Path, why: String| {
            CommandError::new(format!("cannot use the local CA in `{}`: {why}", file.display()))
        };
        let directory = data.join("tls");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.map_err(|error| unusable(&directory, error.to_string()))?;
        let key = read_or_create(&secret, || Ok(KeyPair::generate()?.serialize_pem()));
        let key = key.and_then(|pem| KeyPair::from_pem(&pem).map_err(damaged_key_error));
        let key = key.map_err(|error| unusable(&secret, error.to_string()))?;
        let pem = read_or_create(&cert, || Ok(params(&key, now).self_signed(&key)?.pem()));
        let fits = pem.and_then(|pem| fits(&pem, &key));
        fits.map_err(|error| unusable(&cert, error.to_string()))?;
        Ok(Self { issuer: Issuer::new(params(&key, now), key) })
    }

    /// A certificate for a server with these names and addresses.
    pub fn sign(&self, names: &[String], now: SystemTime) -> Result<TlsIdentity, CommandError> {
        let failed = |error: rcgen::Error| {
            CommandError::new(format!(
                "cannot create a certificate for {}: {error}",
                names.join(", ")
            ))
        };
        let bare = names.iter().map(|name| name.trim_matches(['[', ']']).to_owned());
        let mut params = CertificateParams::new(bare.collect::<Vec<_>>()).map_err(failed)?;
        params.distinguished_name = distinguished_name("tollgate".to_owned());
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        last(&mut params, now, LEAF_VALIDITY);
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        TlsIdentity::new(vec![certificate.der().clone()], secret)
            .map_err(|error| CommandError::new(format!("cannot use a new certificate: {error}")))
    }
}

/// The content of the file, created if it is missing. Another process may create it first. The
/// content of the file wins.
fn read_or_create(
    file: &Path,
    make: impl FnOnce() -> Result<String, rcgen::Error>,
) -> io::Result<String> {
    if let Some(text) = private_file::read(file)? {
        return Ok(text);
    }
    private_file::make(file, &make().map_err(io::Error::other)?)?;
    let gone = || io::Error::other("it disappears as soon as it is created");
    private_file::read(file)?.ok_or_else(gone)
}

fn damaged_key_error(_: rcgen::Error) -> io::Error {
    io::Error::other(
        "it contains no complete key; delete `ca.key` and `ca.pem`, and new ones are created",
    )
}

/// Checks that the certificate belongs to the key: otherwise clients that trust it would refuse our
/// certificates.
fn fits(pem: &str, key: &KeyPair) -> io::Result<()> {
    let whole = CertificateDer::from_pem_slice(pem.as_bytes()).ok().and_then(|certificate| {
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        TlsIdentity::new(vec![certificate], secret).ok()
    });
    let why = "it does not match its key; delete both, and new ones are created";
    whole.map(drop).ok_or_else(|| io::Error::other(why))
}

/// The same parameters for the same key, except the dates: issued certificates refer to them.
fn params(key: &KeyPair, now: SystemTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    let print = digest::digest(&digest::SHA256, key.public_key_raw());
    let print: String = print.as_ref().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    params.distinguished_name = distinguished_name(format!("tollgate local CA {print}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    last(&mut params, now, CA_VALIDITY);
    params
}

fn distinguished_name(name: String) -> DistinguishedName {
    let mut called = DistinguishedName::new();
    called.push(DnType::CommonName, name);
    called
}

fn last(params: &mut CertificateParams, now: SystemTime, length: Duration) {
    let now = date_time_ymd(1970, 1, 1) + now.duration_since(UNIX_EPOCH).unwrap_or_default();
    params.not_before = now - CLOCK_SKEW;
    params.not_after = now + length;
}

#[cfg(test)]
mod tests;
