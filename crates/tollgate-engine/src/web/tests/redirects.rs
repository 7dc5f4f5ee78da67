//! Where pages send on to. B-FE 3.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use super::super::dial::trusting;
use super::*;

#[tokio::test]
async fn b_fe_3_a_redirect_to_a_private_place_is_not_followed() {
    let inner = Site::start(|_| html("secret")).await;
    for location in [
        format!("http://127.0.0.1:{}/", inner.port()),
        format!("http://localhost:{}/", inner.port()),
        format!("//127.1:{}/", inner.port()),
        format!("http://user:pass@site.example:{}/", inner.port()),
        "http://169.254.169.254/latest/".to_owned(),
        "http://[::1]/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "gopher://site.example/".to_owned(),
        "http://[".to_owned(),
    ] {
        let to = location.clone();
        let site = Site::start(move |_| redirect(&to)).await;
        assert!(got(&site, "/", &ANYTHING).await.is_err(), "{location}");
        assert_eq!(site.requests().len(), 1);
    }
    assert!(inner.requests().is_empty());
}

#[tokio::test]
async fn b_fe_3_three_redirects_are_followed_and_no_more() {
    let site = Site::start(|path| match path.trim_start_matches('/').parse::<u32>() {
        Ok(0) | Err(_) => html("the end"),
        Ok(left) => redirect(&format!("/{}?x=1#y", left - 1).replace("?x=1#y", "")),
    })
    .await;
    let page = got(&site, "/3", &ANYTHING).await.unwrap();
    assert_eq!(page.url, format!("http://site.example:{}/0", site.port()));
    assert_eq!(page.bytes, b"the end");
    let before = site.requests().len();
    assert_eq!(got(&site, "/20", &ANYTHING).await.unwrap_err(), FetchError::Redirects(3));
    assert_eq!(site.requests().len() - before, 4);
}

#[tokio::test]
async fn b_fe_3_no_credential_cookie_or_referrer_goes_along() {
    let site = Site::start(|path| match path {
        "/" => response("302 Found\nlocation: /next\nset-cookie: a=b\ncontent-length: 0", ""),
        _ => html("x"),
    })
    .await;
    got(&site, "/", &ANYTHING).await.unwrap();
    let sent: Vec<String> = site.requests();
    let names = |request: &str| {
        let lines = request.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let expected = ["accept", "accept-encoding", "user-agent", "connection", "host"];
    assert_eq!(
        (names(&sent[0]), names(&sent[1])),
        (expected.map(str::to_owned).to_vec(), expected.map(str::to_owned).to_vec())
    );
}

/// A server with a certificate for `secure.example`, and an egress that trusts it.
async fn secure_site(location: String) -> (u16, Egress, Task) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["secure.example".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let task = tasks::spawn("secure site", async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let answer = |path: &str| match path {
                "/moved" => redirect(&location),
                _ => html("secured"),
            };
            session_request(stream, &answer, &Mutex::new(vec![String::new()]), 0).await;
        }
    });
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let names = Names::read("secure.example 127.0.0.1\nother.example 127.0.0.1");
    let dialer = Dialer::with(names, Some(trusting(roots).unwrap()));
    let opened = ["secure.example", "other.example"]
        .map(|host| AllowedHost::parse(&format!("{host}:{port}")).unwrap());
    (port, Egress::over(dialer, &opened), task)
}

#[tokio::test]
async fn b_fe_3_https_never_becomes_http() {
    let (port, egress, _task) = secure_site("http://secure.example/".to_owned()).await;
    let url = |host: &str, path: &str| format!("https://{host}:{port}{path}");
    let page = egress.get(&url("secure.example", "/"), &ANYTHING).await.unwrap();
    assert_eq!(page.bytes, b"secured");
    let refused = egress.get(&url("secure.example", "/moved"), &ANYTHING).await.unwrap_err();
    assert_eq!(refused, FetchError::Downgrade);
    // The certificate must be for the name in the URL, whatever address that has.
    let refused = egress.get(&url("other.example", "/"), &ANYTHING).await.unwrap_err();
    assert!(matches!(refused, FetchError::Unreachable { .. }), "{refused:?}");
}
