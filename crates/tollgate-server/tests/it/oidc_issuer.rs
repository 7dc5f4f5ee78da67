//! An OpenID Connect issuer on a free port, with keys that can be exchanged.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_mcp::tasks::{self, Task};
use tollgate_server::oidc::OidcConfig;

/// Under which URL the gateway is said to be known.
pub(crate) const RESOURCE: &str = "https://gate.example/mcp";

pub(crate) struct Issuer {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    _serving: Task,
}

struct Shared {
    url: String,
    /// With their names; the last one signs.
    keys: Mutex<Vec<(String, EcdsaKeyPair)>>,
    /// What is said instead of the keys.
    instead: Mutex<Option<Value>>,
    /// What is said instead of the metadata.
    instead_of_metadata: Mutex<Option<Value>>,
    is_down: AtomicBool,
    fetched: AtomicUsize,
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            url: format!("http://{address}"),
            keys: Mutex::new(vec![("first".to_owned(), make_key())]),
            instead: Mutex::new(None),
            instead_of_metadata: Mutex::new(None),
            is_down: AtomicBool::new(false),
            fetched: AtomicUsize::new(0),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/keys", get(keys))
            .with_state(Arc::clone(&shared));
        let serving = tasks::spawn("issuer", async move {
            let _ = axum::serve(listener, router).await;
        });
        Self { address, shared, _serving: serving }
    }

    /// Tokens of this issuer count, by their scopes alone.
    pub(crate) fn auth(&self) -> OidcConfig {
        OidcConfig {
            issuer: self.shared.url.clone(),
            audience: RESOURCE.to_owned(),
            jwks_url: None,
            resource: RESOURCE.to_owned(),
            scopes: vec!["tollgate:execute".to_owned()],
            claim: "sub".to_owned(),
            rules: Vec::new(),
        }
    }

    pub(crate) fn claims(&self) -> Value {
        json!({"iss": self.shared.url, "aud": RESOURCE, "sub": "ada", "exp": now() + 300,
               "scope": "openid tollgate:execute"})
    }

    /// Signed by the newest key.
    pub(crate) fn token(&self, claims: &Value) -> String {
        let keys = self.shared.keys.lock();
        let (kid, key) = keys.last().unwrap();
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({"alg": "ES256", "kid": kid, "typ": "at+jwt"});
        let signed = format!("{}.{}", encoded(&header), encoded(claims));
        let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Another key signs from now on; the ones before stay in the set.
    pub(crate) fn add_key(&self, name: &str) {
        self.shared.keys.lock().push((name.to_owned(), make_key()));
    }

    pub(crate) fn forget_key(&self, name: &str) {
        self.shared.keys.lock().retain(|(known, _)| known != name);
    }

    pub(crate) fn say_instead_of_keys(&self, document: Value) {
        *self.shared.instead.lock() = Some(document);
    }

    pub(crate) fn say_instead_of_metadata(&self, document: Value) {
        *self.shared.instead_of_metadata.lock() = Some(document);
    }

    pub(crate) fn go_down(&self) {
        self.shared.is_down.store(true, Ordering::SeqCst);
    }

    /// How often the keys were asked for.
    pub(crate) fn fetch_all(&self) -> usize {
        self.shared.fetched.load(Ordering::SeqCst)
    }
}

pub(crate) fn now() -> u64 {
    let since: Result<_, _> = SystemTime::duration_since(&SystemClock.wall(), UNIX_EPOCH);
    since.unwrap().as_secs()
}

fn make_key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap()
}

async fn metadata(State(shared): State<Arc<Shared>>) -> Response {
    if shared.is_down.load(Ordering::SeqCst) {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    if let Some(document) = shared.instead_of_metadata.lock().clone() {
        return Json(document).into_response();
    }
    let issuer = &shared.url;
    let keys = format!("{}/keys", shared.url);
    Json(json!({"issuer": issuer, "jwks_uri": keys})).into_response()
}

async fn keys(State(shared): State<Arc<Shared>>) -> Response {
    shared.fetched.fetch_add(1, Ordering::SeqCst);
    if shared.is_down.load(Ordering::SeqCst) {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    if let Some(document) = shared.instead.lock().clone() {
        return Json(document).into_response();
    }
    let public = |(kid, key): &(String, EcdsaKeyPair)| {
        let point = key.public_key().as_ref();
        let coordinate = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig",
               "x": coordinate(&point[1..33]), "y": coordinate(&point[33..])})
    };
    let all: Vec<Value> = shared.keys.lock().iter().map(public).collect();
    Json(json!({ "keys": all })).into_response()
}
