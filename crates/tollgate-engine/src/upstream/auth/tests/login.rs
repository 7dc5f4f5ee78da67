//! Consent that was given before, and its tokens in a store.

use tollgate_core::id::ServerId;
use tollgate_store::Store;
use tollgate_store::logins::{LoginHolder, StoredLogin as Row};

use super::super::authorize::{Authorization, AuthorizationCode, OauthClientIdentity};
use super::super::login::{LoginGrant, LoginTokenStore};
use super::*;
use crate::settings::OauthLoginSettings;

const NEEDS: &str = "needs login: run `tollgate servers login web`";

struct Stage {
    server: Server,
    store: Arc<Store>,
}

impl Stage {
    async fn start() -> Self {
        let server = Server::start().await;
        server.takes_strangers();
        Self { server, store: Arc::new(Store::in_memory().unwrap()) }
    }

    fn url(&self) -> String {
        format!("{}/mcp", self.server.origin)
    }

    fn grant(&self) -> LoginGrant {
        let login = OauthLoginSettings::default();
        let clock: Arc<Shared> = Arc::clone(&self.server.state);
        LoginGrant::new(&web(), &login, &self.url(), Some(&self.store), clock)
    }

    async fn log_in(&self) -> Result<(), OauthError> {
        let (open, _) = self.server.consenting(|back| back);
        let authorization = Authorization {
            server_url: self.url(),
            redirect_uri: "http://localhost:3000/cb".to_owned(),
            identity: OauthClientIdentity::Unregistered {
                name: "tollgate".to_owned(),
                metadata_url: None,
            },
            issuer: None,
            scopes: Vec::new(),
        };
        let store = LoginTokenStore::new(Arc::clone(&self.store), &web(), &self.url()).unwrap();
        AuthorizationCode::new(authorization, open).keeping(store).ask().await
    }

    /// The kept tokens become so much older.
    fn ages(&self, seconds: u64) {
        let resource = self.url();
        let holder = LoginHolder { server: "web".to_owned(), resource };
        let login = self.store.logins().load(&holder).unwrap().unwrap();
        let mut stored: Value = serde_json::from_str(login.credentials.reveal()).unwrap();
        let received = stored["token_received_at"].as_u64().unwrap();
        stored["token_received_at"] = json!(received - seconds);
        let credentials = Secret::new(stored.to_string());
        self.store.logins().keep(&holder, &Row { issuer: login.issuer, credentials }).unwrap();
    }

    fn gives(&self, token: &str, more: &str) {
        let body = format!(
            r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":3600{more}}}"#
        );
        self.server.says("/token", 200, &body);
    }
}

fn web() -> ServerId {
    ServerId::parse("web").unwrap()
}

async fn sent(grant: &LoginGrant) -> Result<String, CredentialsError> {
    let headers = grant.headers().await?;
    Ok(headers[0].1.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_login_is_seen_by_a_gateway_that_runs_and_outlasts_it() {
    let stage = Stage::start().await;
    let grant = stage.grant();
    assert!(!grant.consent().is_missing(), "nobody has asked yet");
    assert_eq!(sent(&grant).await, Err(CredentialsError::new(NEEDS)));
    assert!(grant.consent().is_missing());
    stage.gives("one", "");
    stage.log_in().await.unwrap();
    assert_eq!(sent(&grant).await, Ok("Bearer one".to_owned()));
    assert!(!grant.consent().is_missing());
    assert_eq!(sent(&stage.grant()).await, Ok("Bearer one".to_owned()));
}

#[tokio::test]
async fn a_token_is_renewed_before_its_end_by_one_for_all() {
    let stage = Stage::start().await;
    stage.gives("one", r#","refresh_token":"again""#);
    stage.log_in().await.unwrap();
    stage.gives("two", "");
    let grant = stage.grant();
    stage.ages(3_000);
    assert_eq!(sent(&grant).await, Ok("Bearer one".to_owned()));
    stage.ages(560);
    let before = stage.server.state.requests.lock().len();
    let all = futures_util::future::join_all((0..20).map(|_| sent(&grant))).await;
    assert!(all.iter().all(|it| *it == Ok("Bearer two".to_owned())), "{all:?}");
    let requests = stage.server.state.requests.lock()[before..].to_vec();
    assert_eq!(requests.iter().filter(|line| line.contains("/token")).count(), 1, "{requests:?}");
    stage.ages(3_560);
    stage.gives("three", "");
    let stored = sent(&grant).await;
    assert_eq!(stored, Ok("Bearer three".to_owned()), "the first refresh token stays");
}

#[tokio::test]
async fn what_cannot_be_renewed_asks_for_a_login_again() {
    let stage = Stage::start().await;
    stage.gives("one", r#","refresh_token":"again""#);
    stage.log_in().await.unwrap();
    let grant = stage.grant();
    stage.ages(10);
    stage.server.says("/token", 400, r#"{"error":"invalid_grant"}"#);
    assert!(grant.handle_refusal(StatusCode::UNAUTHORIZED, None).await);
    assert_eq!(sent(&grant).await, Err(CredentialsError::new(NEEDS)));
}

/// Tokens for one address are not sent to another that took over the name.
#[tokio::test]
async fn s_21_a_server_that_moved_gets_no_token_of_the_old_place() {
    let stage = Stage::start().await;
    stage.gives("one", "");
    stage.log_in().await.unwrap();
    let login = OauthLoginSettings::default();
    let clock: Arc<Shared> = Arc::clone(&stage.server.state);
    let moved = "https://elsewhere.test/mcp";
    let grant = LoginGrant::new(&web(), &login, moved, Some(&stage.store), clock);
    assert_eq!(sent(&grant).await, Err(CredentialsError::new(NEEDS)));
}

/// What a server calls its page is shown to nobody unless it is one.
#[tokio::test]
async fn s_18_only_a_web_page_over_tls_or_on_this_machine_is_shown() {
    for page in
        ["javascript:alert(1)", "file:///etc/passwd", "a:$(touch x)", "--flag", "http://far.test/a"]
    {
        let stage = Stage::start().await;
        let origin = &stage.server.origin;
        stage.server.answers(
            "/.well-known/oauth-authorization-server",
            200,
            &json!({
                "issuer": origin,
                "authorization_endpoint": page,
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }),
        );
        assert!(stage.log_in().await.is_err(), "{page}");
        assert_eq!(sent(&stage.grant()).await, Err(CredentialsError::new(NEEDS)));
    }
}
