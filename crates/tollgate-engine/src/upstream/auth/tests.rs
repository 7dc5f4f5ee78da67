//! Credentials against a small token server.

mod authorize;
mod bad_answers;
mod hostile;
mod issuers;
mod login;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tollgate_core::text::percent_encoded;
use tollgate_mcp::tasks::{self, Task};

use super::challenge::Challenge;
use super::fetch::JsonResponse;
use super::place::OauthUrl;
use super::*;
use crate::clock::{Clock, SystemClock};
use crate::settings::ClientCredentials;

const SECRET: &str = "canary/s3cret:+";

/// Answers what a test put there, and remembers what it was asked.
struct Server {
    origin: String,
    state: Arc<Shared>,
    _task: Task,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<Vec<(String, u16, String)>>,
    requests: Mutex<Vec<String>>,
    tokens: AtomicUsize,
    /// Added to the clock.
    passed: AtomicU64,
}

impl Clock for Shared {
    fn now(&self) -> Instant {
        SystemClock.now() + Duration::from_secs(self.passed.load(Ordering::Relaxed))
    }

    fn wall(&self) -> SystemTime {
        SystemClock.wall()
    }
}

impl Server {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Shared::default());
        let served = Arc::clone(&state);
        let task = tasks::spawn("token server", async move {
            let group = tasks::TaskGroup::new("connection", 200);
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&served);
                let service = service_fn(move |request| answer(Arc::clone(&state), request));
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                let _ = group.spawn(async move {
                    let _ = connection.await;
                });
            }
        });
        Self { origin, state, _task: task }
    }

    fn answers(&self, path: &str, status: u16, body: &Value) {
        self.says(path, status, &body.to_string());
    }

    fn says(&self, path: &str, status: u16, body: &str) {
        let mut answers = self.state.answers.lock();
        answers.retain(|(known, ..)| known != path);
        answers.push((path.to_owned(), status, body.to_owned()));
    }

    /// All three documents, as they should be.
    fn well(&self) {
        let origin = &self.origin;
        self.answers(
            "/.well-known/oauth-protected-resource/mcp",
            200,
            &json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin], "scopes_supported": ["tools"]}),
        );
        self.answers(
            "/.well-known/oauth-authorization-server",
            200,
            &json!({"issuer": origin, "token_endpoint": format!("{origin}/token"), "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"]}),
        );
        self.answers(
            "/token",
            200,
            &json!({"access_token": "t", "token_type": "Bearer", "expires_in": 3600}),
        );
    }

    fn grant(&self, change: impl FnOnce(&mut ClientCredentials)) -> ClientCredentialsGrant {
        let mut config = ClientCredentials {
            client_id: "the client".to_owned(),
            client_secret: Secret::new(SECRET),
            token_url: None,
            scopes: Vec::new(),
        };
        change(&mut config);
        let url = format!("{}/mcp", self.origin);
        let state: Arc<Shared> = Arc::clone(&self.state);
        ClientCredentialsGrant::new(&config, &url, state)
    }

    fn pass(&self, seconds: u64) {
        self.state.passed.fetch_add(seconds, Ordering::Relaxed);
    }

    fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.requests.lock())
    }
}

async fn answer(
    state: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, std::convert::Infallible> {
    let path = request.uri().path().to_owned();
    let authorization = request.headers().get(AUTHORIZATION).cloned();
    let authorization = authorization.map_or("-".to_owned(), |it| it.to_str().unwrap().to_owned());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    state.requests.lock().push(format!("{path} {authorization} {body}").trim().to_owned());
    let known = state.answers.lock().iter().find(|(known, ..)| *known == path).cloned();
    let (_, status, mut body) = known.unwrap_or((path.clone(), 404, String::new()));
    if path == "/token" {
        // Long enough for others to come meanwhile.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let number = state.tokens.fetch_add(1, Ordering::Relaxed) + 1;
        body = body.replace(r#""access_token":"t""#, &format!(r#""access_token":"t{number}""#));
    }
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    Ok(response)
}

async fn sent(credentials: &dyn Credentials) -> Result<String, CredentialsError> {
    let headers = credentials.headers().await?;
    Ok(headers.iter().map(|(_, value)| value.to_str().unwrap()).collect::<Vec<_>>().join(" "))
}

/// As the wire does it: a refusal, then the headers again.
async fn after_401(
    credentials: &dyn Credentials,
    challenge: Option<&str>,
) -> Result<String, CredentialsError> {
    assert!(credentials.handle_refusal(StatusCode::UNAUTHORIZED, challenge).await);
    sent(credentials).await
}

#[tokio::test]
async fn a_static_token_is_sent_with_the_word_bearer_once() {
    for written in ["abc", "Bearer abc", "bearer  abc ", " abc"] {
        let token = StaticToken(Secret::new(written));
        assert_eq!(sent(&token).await.unwrap(), "Bearer abc", "{written:?}");
        assert!(!token.handle_refusal(StatusCode::UNAUTHORIZED, None).await);
    }
    let error = sent(&StaticToken(Secret::new("a\nb"))).await.unwrap_err().to_string();
    assert_eq!(error, "the token has characters that are not allowed in a header");
}

#[tokio::test]
async fn a_token_url_is_asked_before_the_first_request() {
    let server = Server::start().await;
    server.well();
    let grant = server.grant(|it| {
        it.token_url = Some(format!("{}/token", server.origin));
        it.scopes = vec!["a".to_owned(), "b".to_owned()];
    });
    assert_eq!(sent(&grant).await.unwrap(), "Bearer t1");
    assert_eq!(sent(&grant).await.unwrap(), "Bearer t1");
    let resource = percent_encoded(&format!("{}/mcp", server.origin));
    let basic = "dGhlJTIwY2xpZW50OmNhbmFyeSUyRnMzY3JldCUzQSUyQg==";
    let form = format!("grant_type=client_credentials&resource={resource}&scope=a%20b");
    assert_eq!(server.take_requests(), [format!("/token Basic {basic} {form}")]);
}

#[tokio::test]
async fn discovery_follows_the_challenge_to_the_token() {
    let server = Server::start().await;
    server.well();
    let origin = &server.origin;
    let custom = json!({"resource": origin, "authorization_servers": [format!("{origin}/tenant")]});
    server.answers("/elsewhere/prm.json", 200, &custom);
    let issuer = format!("{origin}/tenant");
    let post = json!({"issuer": issuer, "token_endpoint": format!("{origin}/token"), "token_endpoint_auth_methods_supported": ["client_secret_post"]});
    server.answers("/tenant/.well-known/openid-configuration", 200, &post);
    let grant = server.grant(|_| {});
    assert_eq!(sent(&grant).await.unwrap(), "");
    let challenge =
        format!(r#"Bearer resource_metadata="{origin}/elsewhere/prm.json", scope="x y""#);
    assert_eq!(after_401(&grant, Some(&challenge)).await.unwrap(), "Bearer t1");
    let requests = server.take_requests();
    let paths: Vec<&str> = requests.iter().filter_map(|it| it.split(' ').next()).collect();
    assert_eq!(
        paths,
        [
            "/elsewhere/prm.json",
            "/.well-known/oauth-authorization-server/tenant",
            "/.well-known/openid-configuration/tenant",
            "/tenant/.well-known/openid-configuration",
            "/token"
        ]
    );
    assert!(requests[4].contains("scope=x%20y") && requests[4].contains("client_secret=canary"));
}

#[tokio::test]
async fn discovery_finds_the_well_known_places_by_itself() {
    let server = Server::start().await;
    server.well();
    let grant = server.grant(|_| {});
    assert_eq!(after_401(&grant, None).await.unwrap(), "Bearer t1");
    assert!(server.take_requests().last().unwrap().ends_with("&scope=tools"));
}

/// What the person who runs the gateway reads when discovery goes wrong.
async fn check_refused(change: impl FnOnce(&Server), challenge: Option<&str>, expected: &str) {
    let server = Server::start().await;
    server.well();
    change(&server);
    let error = after_401(&server.grant(|_| {}), challenge).await.unwrap_err().to_string();
    let error = error.replace(&server.origin, "ORIGIN");
    assert_eq!(error, expected);
    assert!(!error.contains("canary"));
}

#[tokio::test]
async fn s_19_s_21_b_oa_1_to_3_documents_about_somebody_else_are_refused() {
    let prm = "/.well-known/oauth-protected-resource/mcp";
    let asm = "/.well-known/oauth-authorization-server";
    check_refused(
        |_| {},
        Some(r#"Bearer resource_metadata="http://169.254.169.254/latest""#),
        "the server's challenge points to another origin",
    )
    .await;
    check_refused(
        |it| it.answers(prm, 200, &json!({"resource": "https://other.example/mcp"})),
        None,
        "the resource metadata is about another resource",
    )
    .await;
    check_refused(
        |it| it.answers(prm, 200, &json!({"resource": format!("{}/mc", it.origin)})),
        None,
        "the resource metadata is about another resource",
    )
    .await;
    check_refused(
        |it| it.answers(asm, 200, &json!({"issuer": "https://other.example"})),
        None,
        "the authorization server's metadata names another issuer",
    )
    .await;
    check_refused(
        |it| {
            let issuer = ["http://10.0.0.5"];
            let resource = &it.origin;
            it.answers(prm, 200, &json!({"resource": resource, "authorization_servers": issuer}));
        },
        None,
        "`http://10.0.0.5` is not https, so credentials are not sent to it",
    )
    .await;
    let elsewhere = "the server requests that its credentials be sent to `https://thief.example`; \
                     set `token_url` if that is correct";
    check_refused(
        |it| {
            let issuer = ["https://thief.example"];
            let resource = &it.origin;
            it.answers(prm, 200, &json!({"resource": resource, "authorization_servers": issuer}));
        },
        None,
        elsewhere,
    )
    .await;
    check_refused(
        |it| {
            let endpoint = "https://thief.example/token";
            it.answers(asm, 200, &json!({"issuer": it.origin, "token_endpoint": endpoint}));
        },
        None,
        elsewhere,
    )
    .await;
    check_refused(
        |it| {
            let endpoint = "javascript:alert(1)";
            it.answers(asm, 200, &json!({"issuer": it.origin, "token_endpoint": endpoint}));
        },
        None,
        "a URL in the OAuth metadata is invalid",
    )
    .await;
    check_refused(
        |it| it.says(prm, 200, &"x".repeat((1 << 20) + 1)),
        None,
        "`ORIGIN/.well-known/oauth-protected-resource/mcp`: the answer is larger than 1048576 bytes",
    )
    .await;
    check_refused(
        |it| it.answers("/token", 302, &json!({})),
        None,
        "the token endpoint answered HTTP 302",
    )
    .await;
}

#[tokio::test]
async fn a_token_endpoint_that_was_found_is_kept() {
    let server = Server::start().await;
    server.well();
    let grant = server.grant(|_| {});
    assert_eq!(after_401(&grant, None).await.unwrap(), "Bearer t1");
    let endpoint = format!("{}/other", server.origin);
    let moved = json!({"issuer": server.origin, "token_endpoint": endpoint});
    server.answers("/.well-known/oauth-authorization-server", 200, &moved);
    server.answers("/token", 503, &json!({}));
    server.pass(4_000);
    assert!(sent(&grant).await.is_err());
    server.pass(10);
    server.take_requests();
    assert!(after_401(&grant, None).await.is_err());
    assert!(server.take_requests().iter().all(|it| it.starts_with("/token ")));
}

#[tokio::test]
async fn b_oa_7_a_storm_of_refusals_costs_one_token() {
    let server = Server::start().await;
    server.well();
    let grant = server.grant(|_| {});
    let one = async || after_401(&grant, None).await.unwrap();
    let all = futures_util::future::join_all((0..100).map(|_| one())).await;
    assert!(all.iter().all(|it| it == "Bearer t1"), "{all:?}");
    assert_eq!(server.state.tokens.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn failures_are_shared_and_tell_the_code_only() {
    let server = Server::start().await;
    server.well();
    let body = json!({"error": "invalid_client", "error_description": SECRET});
    server.answers("/token", 401, &body);
    let grant = server.grant(|_| {});
    let one = async || after_401(&grant, None).await.unwrap_err().to_string();
    let all = futures_util::future::join_all((0..20).map(|_| one())).await;
    assert!(all.iter().all(|it| it == "the token endpoint answered `invalid_client`"), "{all:?}");
    assert_eq!(server.state.tokens.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_client_that_may_not_use_basic_tries_the_form() {
    let server = Server::start().await;
    server.well();
    server.answers("/token", 401, &json!({"error": "invalid_client"}));
    let grant = server.grant(|it| it.token_url = Some(format!("{}/token", server.origin)));
    assert!(sent(&grant).await.is_err());
    let requests = server.take_requests();
    assert!(requests[0].starts_with("/token Basic ") && requests[1].starts_with("/token - "));
}

#[tokio::test]
async fn tokens_are_renewed_before_they_end_and_kept_if_that_fails() {
    let server = Server::start().await;
    server.well();
    let grant = server.grant(|it| it.token_url = Some(format!("{}/token", server.origin)));
    assert_eq!(sent(&grant).await.unwrap(), "Bearer t1");
    server.pass(3539);
    assert_eq!(sent(&grant).await.unwrap(), "Bearer t1");
    server.pass(2);
    server.answers("/token", 503, &json!({}));
    assert_eq!(sent(&grant).await.unwrap(), "Bearer t1");
    server.pass(60);
    assert_eq!(sent(&grant).await.unwrap_err().to_string(), "the token endpoint answered HTTP 503");
    server.well();
    server.pass(2);
    assert_eq!(sent(&grant).await.unwrap(), "Bearer t4");
    server.pass(3541);
    assert_eq!(sent(&grant).await.unwrap(), "Bearer t5");
}

#[tokio::test]
async fn b_oa_8_a_server_may_ask_for_more_scopes_twice() {
    let server = Server::start().await;
    server.well();
    let grant = server.grant(|it| it.scopes = vec!["a".to_owned()]);
    after_401(&grant, None).await.unwrap();
    let ask = async |scope: &str| {
        let challenge = format!(r#"Bearer error="insufficient_scope", scope="{scope}""#);
        grant.handle_refusal(StatusCode::FORBIDDEN, Some(&challenge)).await
    };
    assert!(ask("b").await);
    assert!(server.take_requests().last().unwrap().ends_with("&scope=a%20b"));
    assert!(!ask("b").await);
    assert!(ask("c").await);
    assert!(!ask("d").await);
    assert!(!grant.handle_refusal(StatusCode::FORBIDDEN, None).await);
}

fn check_token(body: &Value, expected: Result<Option<u64>, &str>) {
    let fetched = JsonResponse { status: StatusCode::OK, body: Some(body.clone()) };
    let read = token::read(&fetched);
    let read = read.map(|it| it.life.map(|life| life.as_secs())).map_err(|refusal| match refusal {
        token::TokenEndpointError::InvalidClient(reason)
        | token::TokenEndpointError::Other(reason) => reason,
    });
    assert_eq!(read, expected.map_err(str::to_owned), "{body}");
}

#[test]
fn b_oa_4_odd_answers_of_a_token_endpoint() {
    for (expires, life) in [
        (json!(3600), Some(3600)),
        (json!("3600"), Some(3600)),
        (json!(-1), None),
        (json!(0), None),
        (json!(1e18), Some(86_400)),
        (json!("soon"), None),
        (json!(null), None),
    ] {
        check_token(&json!({"access_token": "x", "expires_in": expires}), Ok(life));
    }
    let missing = "the token endpoint returned no access token";
    check_token(&json!({"token_type": "Bearer"}), Err(missing));
    check_token(&json!({"access_token": ""}), Err(missing));
    let kind = "the token endpoint returned a token that is not a bearer token";
    check_token(&json!({"access_token": "x", "token_type": "mac"}), Err(kind));
    let error = json!({"access_token": "x", "error": "bad <b>\u{1b}request"});
    check_token(&error, Err("the token endpoint answered `badbrequest`"));
    let split = "the token has characters that are not allowed in a header";
    check_token(&json!({"access_token": "x\r\ny: z"}), Err(split));
}

#[test]
fn b_oa_1_challenges_in_all_their_forms() {
    let check = |header: &str, metadata: Option<&str>, scopes: &str, error: Option<&str>| {
        let read = Challenge::parse(header);
        assert_eq!(read.resource_metadata.as_deref(), metadata, "{header}");
        assert_eq!(read.scopes.join(" "), scopes, "{header}");
        assert_eq!(read.error.as_deref(), error, "{header}");
    };
    check("", None, "", None);
    check("Bearer", None, "", None);
    check(
        r#"bearer Resource_Metadata="https://a/b", scope="x y""#,
        Some("https://a/b"),
        "x y",
        None,
    );
    check("Bearer scope=x,error=invalid_token", None, "x", Some("invalid_token"));
    check(r#"Basic realm="a, Bearer scope=\"z\"", Bearer scope="q""#, None, "q", None);
    check(r#"Negotiate, Bearer error="a\"b", DPoP scope="no""#, None, "", Some("a\"b"));
    check(r#"Bearer scope="open"#, None, "open", None);
    check("=,=,= Bearer ==,", None, "", None);
    check(&"x".repeat(64 << 10), None, "", None);
}

#[test]
fn places_cover_what_is_below_them() {
    let check = |resource: &str, server: &str, expected| {
        let resource = OauthUrl::parse(resource).unwrap();
        let server = OauthUrl::parse(server).unwrap();
        assert_eq!(resource.covers(&server), expected);
    };
    check("https://a.example/mcp", "https://a.example/mcp/", true);
    check("https://A.example", "https://a.example/mcp", true);
    check("https://a.example/m", "https://a.example/mcp", false);
    check("https://a.example/mcp/x", "https://a.example/mcp", false);
    check("https://a.example:444", "https://a.example", false);
    for bad in ["", "x", "/mcp", "ftp://a/", "https://u:p@a/", "a:$(touch x)", "file:///etc"] {
        assert!(OauthUrl::parse(bad).is_err(), "{bad}");
    }
}
