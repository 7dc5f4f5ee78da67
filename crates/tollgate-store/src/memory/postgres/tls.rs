//! TLS to PostgreSQL with rustls, called by the driver.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::address::{PostgresAddressError, ServerVerification};

/// Opens TLS connections with one configuration.
#[derive(Clone)]
pub(super) struct PgTls {
    config: Arc<ClientConfig>,
}

pub(super) struct PgTlsHandshake {
    connector: TlsConnector,
    name: ServerName<'static>,
}

pub(super) struct PgTlsStream(tokio_rustls::client::TlsStream<Socket>);

impl PgTls {
    pub(super) fn new(proof: &ServerVerification) -> Result<Self, PostgresAddressError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(|error| PostgresAddressError::SystemRoots(error.to_string()))?;
        let config = match proof {
            ServerVerification::Certificate(Some(file)) => {
                builder.with_root_certificates(roots_of(file)?)
            }
            ServerVerification::Certificate(None) => {
                builder.with_root_certificates(roots_of_the_system()?)
            }
            // The usual default of PostgreSQL clients: protects against eavesdropping, not against
            // a man in the middle.
            ServerVerification::None => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificateVerifier(provider))),
        };
        Ok(Self { config: Arc::new(config.with_no_client_auth()) })
    }
}

fn roots_of(file: &Path) -> Result<RootCertStore, PostgresAddressError> {
    let unreadable = |why: String| PostgresAddressError::Roots { file: file.to_owned(), why };
    let mut roots = RootCertStore::empty();
    let found =
        CertificateDer::pem_file_iter(file).map_err(|error| unreadable(error.to_string()))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unreadable("the file contains none".to_owned())) } else { Ok(roots) }
}

fn roots_of_the_system() -> Result<RootCertStore, PostgresAddressError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    match found.errors.first() {
        _ if !roots.is_empty() => Ok(roots),
        Some(error) => Err(PostgresAddressError::SystemRoots(error.to_string())),
        None => Err(PostgresAddressError::SystemRoots("there are none".to_owned())),
    }
}

impl MakeTlsConnect<Socket> for PgTls {
    type Stream = PgTlsStream;
    type TlsConnect = PgTlsHandshake;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<PgTlsHandshake, Self::Error> {
        let name = ServerName::try_from(domain)?.to_owned();
        Ok(PgTlsHandshake { connector: TlsConnector::from(Arc::clone(&self.config)), name })
    }
}

impl TlsConnect<Socket> for PgTlsHandshake {
    type Stream = PgTlsStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<PgTlsStream>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move { self.connector.connect(self.name, stream).await.map(PgTlsStream) })
    }
}

impl TlsStream for PgTlsStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for PgTlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for PgTlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// Accepts every certificate, but checks that the server has its private key.
#[derive(Debug)]
struct AnyCertificateVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificateVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
