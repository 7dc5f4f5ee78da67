//! Served over TLS: who is heard, who is let go, and what changes while connections are open.

use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tollgate_server::Limits;
use tollgate_server::tls::Identity;

use crate::client::PATIENCE;
use crate::stage::{Setup, Stage};

/// A server that is `localhost`, and what clients trust for that.
fn identity() -> (Identity, CertificateDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    (Identity::new(vec![certificate.clone()], secret).unwrap(), certificate)
}

async fn secured(limits: Limits) -> (Stage, CertificateDer<'static>) {
    let (identity, trusted) = identity();
    (Stage::with(Setup { limits, tls: Some(identity), ..Setup::default() }).await, trusted)
}

async fn connect(
    stage: &Stage,
    trusted: &CertificateDer<'static>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(stage.address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// The status of a request on this connection, which stays open.
async fn ask(stream: &mut TlsStream<TcpStream>, headers: &str) -> u16 {
    let request = format!("GET /healthz HTTP/1.1\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 4096];
    let length = tokio::time::timeout(PATIENCE, stream.read(&mut answer)).await.unwrap().unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

/// All that comes until the connection ends.
async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let read = stream.read_to_end(&mut all);
    // Torn down is as good as closed.
    let _ = tokio::time::timeout(PATIENCE, read).await.expect("let go");
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn s_08_hosts_and_origins_are_looked_at_behind_tls_as_before_it() {
    let (stage, trusted) = secured(Limits::default()).await;
    for (headers, expected) in [
        ("Host: localhost\r\n", 200),
        ("Host: localhost:8655\r\nOrigin: https://localhost:8655\r\n", 200),
        ("Host: evil.com\r\n", 403),
        ("Host: localhost\r\nOrigin: https://evil.com\r\n", 403),
        ("Host: localhost\r\nOrigin: null\r\n", 403),
    ] {
        let mut stream = connect(&stage, &trusted).await.unwrap();
        assert_eq!(ask(&mut stream, headers).await, expected, "{headers}");
    }
}

#[tokio::test]
async fn plain_http_on_the_port_is_told_so_and_closed() {
    let (stage, trusted) = secured(Limits::default()).await;
    for sent in ["GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\n", "hello"] {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.ends_with("use https:// or wss\n"), "{answer}");
    }
    let mut stream = connect(&stage, &trusted).await.unwrap();
    assert_eq!(ask(&mut stream, "Host: localhost\r\n").await, 200);
}

#[tokio::test]
async fn r_12_whoever_does_not_end_a_handshake_is_let_go_and_keeps_nobody_waiting() {
    let limits = Limits { handshake_timeout: Duration::from_millis(300), ..Limits::default() };
    let (stage, trusted) = secured(limits).await;
    let mut slow = Vec::new();
    for begun in [&b""[..], &[22], &[22, 3, 1, 255], &[22, 3, 1, 0, 5, 1, 0, 0, 1, 3], &[22; 300]] {
        for _ in 0..20 {
            let mut stream = TcpStream::connect(stage.address).await.unwrap();
            stream.write_all(begun).await.unwrap();
            slow.push(stream);
        }
    }
    let mut stream = connect(&stage, &trusted).await.unwrap();
    assert_eq!(ask(&mut stream, "Host: localhost\r\n").await, 200);
    for stream in &mut slow {
        rest(stream).await;
    }
    assert_eq!(ask(&mut stream, "Host: localhost\r\n").await, 200);
}

#[tokio::test]
async fn r_33_a_handshake_under_way_does_not_hold_up_the_end() {
    let limits = Limits {
        handshake_timeout: Duration::from_secs(600),
        drain: Duration::from_secs(600),
        ..Limits::default()
    };
    let (stage, _) = secured(limits).await;
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(&[22]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    stage.stop.cancel();
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn a_new_certificate_is_shown_to_new_connections_and_old_ones_go_on() {
    let (stage, trusted) = secured(Limits::default()).await;
    let mut old = connect(&stage, &trusted).await.unwrap();
    assert_eq!(ask(&mut old, "Host: localhost\r\n").await, 200);
    let (next, other) = identity();
    stage.front.set_identity(Some(next));
    assert_eq!(ask(&mut old, "Host: localhost\r\n").await, 200);
    connect(&stage, &trusted).await.unwrap_err();
    let mut new = connect(&stage, &other).await.unwrap();
    assert_eq!(ask(&mut new, "Host: localhost\r\n").await, 200);
}
