//! A server and its authorization server that answer whatever a test wants: pages, redirects,
//! floods, drips, documents about others.
//!
//! Both logins (client credentials, and a person's consent) can be tried against it.

use std::sync::LazyLock;

use http::header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Frame;

use super::super::authorize::{Authorization, AuthorizationCode, OauthClientIdentity};
use super::*;

pub(super) const PRM: &str = "/.well-known/oauth-protected-resource/mcp";
pub(super) const ASM: &str = "/.well-known/oauth-authorization-server";

type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

#[derive(Clone)]
pub(super) enum Answer {
    Json(u16, Value),
    Page(u16, &'static str),
    Redirect(String),
    /// So many bytes of a document that does not end before.
    Flood(usize),
    /// Ten mebibytes of spaces, as ten kibibytes.
    GzipBomb,
    /// A byte a second, for ever.
    Drip,
    Challenge(String),
}

impl Answer {
    fn response(&self) -> Response<Body> {
        let mut response = Response::new(Full::new(Bytes::new()).boxed_unsync());
        let mut header = |name, value: &str| {
            response.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
        };
        let (status, body) = match self {
            Self::Json(status, value) => (*status, whole(value.to_string())),
            Self::Page(status, text) => {
                header(CONTENT_TYPE, "text/html");
                (*status, whole((*text).to_owned()))
            }
            Self::Redirect(to) => {
                header(LOCATION, to);
                (302, whole(String::new()))
            }
            Self::Flood(bytes) => (200, flood(*bytes)),
            Self::GzipBomb => {
                header(CONTENT_ENCODING, "gzip");
                (200, whole(BOMB.clone()))
            }
            Self::Drip => (200, drip()),
            Self::Challenge(challenge) => {
                header(WWW_AUTHENTICATE, challenge);
                (401, whole(String::new()))
            }
        };
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response.map(|_| body)
    }
}

fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

fn flood(bytes: usize) -> Body {
    const PIECE: &[u8] = &[b' '; 64 << 10];
    let pieces = (0..bytes / PIECE.len()).map(|_| Ok(Frame::data(Bytes::from_static(PIECE))));
    StreamBody::new(futures_util::stream::iter(pieces)).boxed_unsync()
}

/// Made once: making it takes much longer than refusing it.
static BOMB: LazyLock<Bytes> = LazyLock::new(|| {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..160 {
        encoder.write_all(&[b' '; 64 << 10]).unwrap();
    }
    Bytes::from(encoder.finish().unwrap())
});

fn drip() -> Body {
    let bytes = futures_util::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Some((Ok(Frame::data(Bytes::from_static(b" "))), ()))
    });
    StreamBody::new(bytes).boxed_unsync()
}

/// A server at `/mcp` that is its own authorization server, well-behaved until told otherwise.
pub(super) struct Hostile {
    pub(super) origin: String,
    answers: Arc<Mutex<Vec<(String, Answer)>>>,
    requests: Arc<Mutex<Vec<String>>>,
    _task: Task,
}

impl Hostile {
    pub(super) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let answers = Arc::default();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let serving = Arc::clone(&answers);
        let noting = Arc::clone(&requests);
        let task = tasks::spawn("hostile authorization server", async move {
            let group = tasks::TaskGroup::new("connection", 200);
            while let Ok((stream, _)) = listener.accept().await {
                let answers = Arc::clone(&serving);
                let requests = Arc::clone(&noting);
                let service = service_fn(move |request| {
                    let answers = Arc::clone(&answers);
                    let requests = Arc::clone(&requests);
                    async move { respond(&answers, &requests, request).await }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                let _ = group.spawn(async move {
                    let _ = connection.await;
                });
            }
        });
        let hostile = Self { origin, answers, requests, _task: task };
        hostile.behave();
        hostile
    }

    pub(super) fn behave(&self) {
        self.answers.lock().clear();
        self.says(PRM, Answer::Json(200, self.resource(&json!({}))));
        self.says(ASM, Answer::Json(200, self.metadata(&json!({}))));
        let client = json!({"client_id": "issued", "redirect_uris": ["http://localhost:3000/cb"]});
        self.says("/register", Answer::Json(201, client));
        let token = json!({"access_token": "good", "token_type": "Bearer", "expires_in": 3600});
        self.says("/token", Answer::Json(200, token));
    }

    pub(super) fn says(&self, path: &str, answer: Answer) {
        if matches!(answer, Answer::GzipBomb) {
            LazyLock::force(&BOMB);
        }
        let mut answers = self.answers.lock();
        answers.retain(|(known, _)| known != path);
        answers.push((path.to_owned(), answer));
    }

    /// Protected-resource metadata with some fields changed; `null` takes one out.
    pub(super) fn resource(&self, changes: &Value) -> Value {
        let origin = &self.origin;
        let usual = json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]});
        changed(usual, changes)
    }

    /// Authorization-server metadata, likewise.
    pub(super) fn metadata(&self, changes: &Value) -> Value {
        let origin = &self.origin;
        let usual = json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        changed(usual, changes)
    }

    pub(super) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock())
    }

    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    /// A login with somebody's consent, who consents at once: the token, or what is said instead.
    pub(super) async fn log_in(&self, challenge: Option<&str>) -> Result<String, CredentialsError> {
        let code = self.code(stranger(None), |back| back);
        after_401(&code, challenge)
            .await
            .map_err(|error| CredentialsError::new(self.named(&error.to_string())))
    }

    pub(super) fn code(
        &self,
        identity: OauthClientIdentity,
        change: fn(String) -> String,
    ) -> AuthorizationCode {
        let origin = self.origin.clone();
        let authorization = Authorization {
            server_url: self.url(),
            redirect_uri: "http://localhost:3000/cb".to_owned(),
            identity,
            issuer: None,
            scopes: Vec::new(),
        };
        let open = move |url: String| {
            let state = url.split("state=").nth(1).unwrap_or("").split('&').next().unwrap_or("");
            let issuer = percent_encoded(&origin);
            let back = format!("http://localhost:3000/cb?code=c&state={state}&iss={issuer}");
            let back: futures_util::future::BoxFuture<'static, _> =
                Box::pin(std::future::ready(Ok(change(back))));
            back
        };
        AuthorizationCode::new(authorization, Box::new(open))
    }

    /// A login by client credentials.
    pub(super) async fn grant(&self, challenge: Option<&str>) -> Result<String, CredentialsError> {
        let config = ClientCredentials {
            client_id: "client".to_owned(),
            client_secret: Secret::new(SECRET),
            token_url: None,
            scopes: Vec::new(),
        };
        let grant = ClientCredentialsGrant::new(&config, &self.url(), Arc::new(SystemClock));
        after_401(&grant, challenge)
            .await
            .map_err(|error| CredentialsError::new(self.named(&error.to_string())))
    }

    fn named(&self, error: &str) -> String {
        assert!(!error.contains("canary"), "{error}");
        error.replace(&self.origin, "ORIGIN")
    }
}

pub(super) fn stranger(metadata_url: Option<&str>) -> OauthClientIdentity {
    let metadata_url = metadata_url.map(str::to_owned);
    OauthClientIdentity::Unregistered { name: "Tollgate".to_owned(), metadata_url }
}

fn changed(mut document: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => document.as_object_mut().unwrap().remove(name),
            value => document.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    document
}

async fn respond(
    answers: &Mutex<Vec<(String, Answer)>>,
    requests: &Mutex<Vec<String>>,
    request: Request<Incoming>,
) -> Result<Response<Body>, std::convert::Infallible> {
    let path = request.uri().path().to_owned();
    let authorization = request.headers().get(AUTHORIZATION).map(|it| format!("{it:?}"));
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body);
    requests.lock().push(format!("{path} {} {body}", authorization.unwrap_or_default()));
    let answers = answers.lock();
    let known = answers.iter().find(|(known, _)| *known == path).map(|(_, answer)| answer.clone());
    Ok(known.unwrap_or(Answer::Page(404, "nothing")).response())
}
