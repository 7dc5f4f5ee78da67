//! TLS trust of a command in its own gateway: the CA of the data directory, or exactly the
//! certificate that the config names.
//!
//! No other authority is accepted. Names are not checked, because the address comes from the
//! config.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tollgate_config::{Config, TlsSource};

use crate::local_ca;

/// TLS settings for the gateway. `None` if it cannot serve TLS.
pub(super) fn of(config: &Config) -> Option<ClientConfig> {
    match &config.tls {
        Some(TlsSource::Files { cert, .. }) => trust_certificate(cert),
        // Only `serve` has the flag `--tls`. The data directory shows whether it was used.
        Some(TlsSource::Local) | None => signed_by(&local_ca::file(&config.data)),
    }
}

fn signed_by(file: &Path) -> Option<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file).ok()?).ok()?;
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .ok()?;
    Some(builder.with_root_certificates(roots).with_no_client_auth())
}

fn trust_certificate(file: &Path) -> Option<ClientConfig> {
    let certificate = CertificateDer::from_pem_file(file).ok()?;
    let provider = Arc::new(ring::default_provider());
    let verifier = PinnedCertificateVerifier { certificate, provider: Arc::clone(&provider) };
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    Some(builder.with_no_client_auth())
}

/// Accepts exactly one certificate (certificate pinning).
#[derive(Debug)]
struct PinnedCertificateVerifier {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedCertificateVerifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if shown.as_ref() == self.certificate.as_ref() {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::UnknownIssuer.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
