//! TLS: certificates, reload of certificates, and clients that are refused.

use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_server::Limits;
use tollgate_server::tls::TlsIdentity;

use crate::client::TIMEOUT;
use crate::stage::{Setup, Stage};

/// A server that is `localhost`, and what clients trust for that.
fn identity() -> (TlsIdentity, CertificateDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    (TlsIdentity::new(vec![certificate.clone()], secret).unwrap(), certificate)
}

pub(crate) async fn start_secured(limits: Limits) -> (Stage, CertificateDer<'static>) {
    let (identity, trusted) = identity();
    (Stage::with(Setup { limits, tls: Some(identity), ..Setup::default() }).await, trusted)
}

pub(crate) async fn connect(
    stage: &Stage,
    trusted: &CertificateDer<'static>,
) -> std::io::Result<TlsStream<TcpStream>> {
    connect_with(stage, trusted, &[]).await
}

/// With an offer of protocols (ALPN).
pub(crate) async fn connect_with(
    stage: &Stage,
    trusted: &CertificateDer<'static>,
    protocols: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let stream = TcpStream::connect(stage.address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// The status of a request on this connection, which stays open.
pub(crate) async fn ask(stream: &mut TlsStream<TcpStream>, headers: &str) -> u16 {
    let request = format!("GET /healthz HTTP/1.1\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 4096];
    let length = tokio::time::timeout(TIMEOUT, stream.read(&mut answer)).await.unwrap().unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

/// All that comes until the connection ends.
async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let read = stream.read_to_end(&mut all);
    // Torn down is as good as closed.
    let _ = tokio::time::timeout(TIMEOUT, read).await.expect("let go");
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn s_08_hosts_and_origins_are_looked_at_behind_tls_as_before_it() {
    let (stage, trusted) = start_secured(Limits::default()).await;
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
async fn probes_are_answered_in_plain_as_well() {
    let (stage, _) = start_secured(Limits::default()).await;
    for path in ["/healthz", "/readyz"] {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[tokio::test]
async fn b_hh_20_a_client_hello_that_drips_is_let_go_in_time() {
    let limits = Limits { handshake_timeout: Duration::from_millis(800), ..Limits::default() };
    let (stage, trusted) = start_secured(limits).await;
    // A record of 16 KiB, byte after byte: none of them buys more time.
    let drip = async {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        let mut hello = vec![22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3];
        hello.resize(16 << 10, 0);
        for byte in hello {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it listened to the end");
    };
    let dripping = tokio::time::timeout(TIMEOUT, drip);
    let honest = async {
        for _ in 0..10 {
            let mut stream = connect(&stage, &trusted).await.unwrap();
            assert_eq!(ask(&mut stream, "Host: localhost\r\n").await, 200);
        }
    };
    let (dripped, ()) = tokio::join!(dripping, honest);
    assert!(dripped.is_ok());
}

#[tokio::test]
async fn b_hh_20_plain_http_on_the_port_is_told_so_and_closed() {
    let (stage, trusted) = start_secured(Limits::default()).await;
    for sent in ["GET /v1/tools HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\n", "hello"] {
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
    let (stage, trusted) = start_secured(limits).await;
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
    let (stage, _) = start_secured(limits).await;
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(&[22]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    stage.stop.cancel();
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn a_new_certificate_is_shown_to_new_connections_and_old_ones_go_on() {
    let (stage, trusted) = start_secured(Limits::default()).await;
    let mut old = connect(&stage, &trusted).await.unwrap();
    assert_eq!(ask(&mut old, "Host: localhost\r\n").await, 200);
    let (next, other) = identity();
    stage.front.set_identity(Some(next));
    assert_eq!(ask(&mut old, "Host: localhost\r\n").await, 200);
    connect(&stage, &trusted).await.unwrap_err();
    let mut new = connect(&stage, &other).await.unwrap();
    assert_eq!(ask(&mut new, "Host: localhost\r\n").await, 200);
}

/// A `ClientHello` by hand: of this version in the record and in the message, with these extensions.
fn client_hello(version: [u8; 2], extensions: &[u8]) -> Vec<u8> {
    let mut hello = version.to_vec();
    hello.extend([7; 32]);
    // No session; two suites that everybody knows; no compression.
    hello.extend([0, 0, 4, 0xc0, 0x2f, 0x00, 0x2f, 1, 0]);
    hello.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
    hello.extend(extensions);
    let mut message = vec![1];
    message.extend(&u32::try_from(hello.len()).unwrap().to_be_bytes()[1..]);
    message.extend(hello);
    let mut record = vec![22, 3, 1];
    record.extend(u16::try_from(message.len()).unwrap().to_be_bytes());
    record.extend(message);
    record
}

/// The extension `server_name` with this name, whatever it is.
fn server_name(name: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u16::try_from(bytes).unwrap().to_be_bytes();
    let mut extension = vec![0, 0];
    extension.extend(length(name.len() + 5));
    extension.extend(length(name.len() + 3));
    extension.push(0);
    extension.extend(length(name.len()));
    extension.extend(name);
    extension
}

/// What comes back for these bytes until the connection ends.
async fn answer_of(stage: &Stage, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    // It may be closed before all is sent.
    let _ = stream.write_all(bytes).await;
    let mut all = Vec::new();
    let _ = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut all)).await.expect("let go");
    all
}

/// An alert of TLS, and nothing else.
fn is_alert(bytes: &[u8]) -> bool {
    matches!(bytes, [21, 3, _, 0, 2, 2, _])
}

#[tokio::test]
async fn b_hh_20_old_versions_garbage_and_odd_names_get_an_alert_and_nobody_waits() {
    let limits = Limits { handshake_timeout: Duration::from_secs(2), ..Limits::default() };
    let (stage, trusted) = start_secured(limits).await;
    let mut honest = connect(&stage, &trusted).await.unwrap();
    let long = "a".repeat(16_000);
    let mut noise = vec![22, 3, 3, 0x40, 0];
    noise.extend((0..16_384_u32).map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()[0]));
    let cases = [
        ("SSL 3.0", client_hello([3, 0], &[])),
        ("TLS 1.0", client_hello([3, 1], &[])),
        ("TLS 1.1", client_hello([3, 2], &[])),
        ("a version that there is not", client_hello([9, 9], &[])),
        ("no cipher in common", client_hello([3, 3], &[])),
        ("no name", client_hello([3, 3], &server_name(b""))),
        ("an address as a name", client_hello([3, 3], &server_name(b"127.0.0.1"))),
        ("NUL in a name", client_hello([3, 3], &server_name(b"a\0.example"))),
        ("no UTF-8 in a name", client_hello([3, 3], &server_name(&[0xff, 0xfe]))),
        ("a name of 16 KB", client_hello([3, 3], &server_name(long.as_bytes()))),
        ("an extension cut off", client_hello([3, 3], &[0, 0, 0xff, 0xff])),
        ("a name twice", client_hello([3, 3], &[server_name(b"a"), server_name(b"b")].concat())),
        ("garbage in a record", noise),
        ("an empty record", vec![22, 3, 3, 0, 0]),
    ];
    for (name, bytes) in cases {
        let began = SystemClock.now();
        let answer = answer_of(&stage, &bytes).await;
        assert!(answer.is_empty() || is_alert(&answer), "{name}: {answer:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{name}: {:?}", began.elapsed());
        assert_eq!(ask(&mut honest, "Host: localhost\r\n").await, 200, "{name}");
    }
    let versions = ["TLS 1.0", "TLS 1.1"];
    for (name, version) in versions.into_iter().zip([[3, 1], [3, 2]]) {
        let answer = answer_of(&stage, &client_hello(version, &server_name(b"localhost"))).await;
        assert!(is_alert(&answer), "{name}: {answer:?}");
    }
    let mut next = connect(&stage, &trusted).await.unwrap();
    assert_eq!(ask(&mut next, "Host: localhost\r\n").await, 200);
}

/// In TLS 1.2 a client may ask to begin anew in the middle. Here it may not.
#[tokio::test]
async fn b_hh_20_there_is_no_renegotiation() {
    let (stage, trusted) = start_secured(Limits::default()).await;
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(stage.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    assert_eq!(ask(&mut stream, "Host: localhost\r\n").await, 200);
    // A second hello on the same connection, in the clear, as an attacker in between would put it there.
    let (tcp, _) = stream.get_mut();
    tcp.write_all(&client_hello([3, 3], &server_name(b"localhost"))).await.unwrap();
    let mut rest = Vec::new();
    let read = tokio::time::timeout(TIMEOUT, tcp.read_to_end(&mut rest)).await.expect("let go");
    assert!(read.is_err() || rest.first().is_none_or(|kind| *kind == 21), "{rest:?}");
    let mut next = connect(&stage, &trusted).await.unwrap();
    assert_eq!(ask(&mut next, "Host: localhost\r\n").await, 200);
}
