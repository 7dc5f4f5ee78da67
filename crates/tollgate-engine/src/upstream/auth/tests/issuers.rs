//! S-21: codes, tokens and secrets stay with the authorization server that they are for.

use tollgate_core::id::ServerId;
use tollgate_store::Store;
use tollgate_store::logins::{LoginHolder, StoredLogin as Row};

use super::super::authorize::{
    Authorization, AuthorizationCode, ConsentPrompt, OauthClientIdentity,
};
use super::super::login::{LoginGrant, LoginTokenStore};
use super::hostile::{ASM, Answer, Hostile, PRM, stranger};
use super::*;
use crate::settings::OauthLoginSettings;

/// A server whose authorization server is another one, and a store for its tokens.
struct Stage {
    server: Hostile,
    issuer: Hostile,
    store: Arc<Store>,
}

impl Stage {
    async fn start() -> Self {
        let server = Hostile::start().await;
        let issuer = Hostile::start().await;
        let stage = Self { server, issuer, store: Arc::new(Store::in_memory().unwrap()) };
        stage.name(&stage.issuer);
        let token = json!({"access_token": "one", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "canary-refresh"});
        stage.issuer.says("/token", Answer::Json(200, token));
        stage
    }

    /// The server names this one as its authorization server.
    fn name(&self, issuer: &Hostile) {
        let named = json!({"authorization_servers": [issuer.origin]});
        self.server.says(PRM, Answer::Json(200, self.server.resource(&named)));
    }

    fn token_store(&self) -> LoginTokenStore {
        LoginTokenStore::new(Arc::clone(&self.store), &web(), &self.server.url()).unwrap()
    }

    async fn log_in(&self, issuer: &Hostile, requested: Option<&str>) -> Result<(), OauthError> {
        let authorization = Authorization {
            server_url: self.server.url(),
            redirect_uri: "http://localhost:3000/cb".to_owned(),
            identity: OauthClientIdentity::Registered {
                client_id: "known".to_owned(),
                client_secret: Some(Secret::new(SECRET)),
            },
            issuer: requested.map(str::to_owned),
            scopes: Vec::new(),
        };
        let origin = issuer.origin.clone();
        let open: ConsentPrompt = Box::new(move |url| {
            let state = state_of(&url);
            let back = format!("http://localhost:3000/cb?code=c&state={state}&iss={origin}");
            Box::pin(std::future::ready(Ok(back)))
        });
        AuthorizationCode::new(authorization, open).keeping(self.token_store()).ask().await
    }

    fn grant(&self) -> LoginGrant {
        let login = OauthLoginSettings {
            client_id: Some("known".to_owned()),
            client_secret: Some(Secret::new(SECRET)),
            ..OauthLoginSettings::default()
        };
        let url = self.server.url();
        LoginGrant::new(&web(), &login, &url, Some(&self.store), Arc::new(SystemClock))
    }

    /// The kept token is over.
    fn expire(&self) {
        let holder = LoginHolder { server: "web".to_owned(), resource: self.server.url() };
        let login = self.store.logins().load(&holder).unwrap().unwrap();
        let mut stored: Value = serde_json::from_str(login.credentials.reveal()).unwrap();
        stored["token_received_at"] = json!(1_000_000);
        let credentials = Secret::new(stored.to_string());
        self.store.logins().keep(&holder, &Row { issuer: login.issuer, credentials }).unwrap();
    }

    /// What was sent to a token endpoint.
    fn sent_tokens(server: &Hostile) -> Vec<String> {
        server.requests().into_iter().filter(|it| it.starts_with("/token")).collect()
    }
}

fn web() -> ServerId {
    ServerId::parse("web").unwrap()
}

fn state_of(url: &str) -> String {
    url.split("state=").nth(1).unwrap_or("").split('&').next().unwrap_or("").to_owned()
}

#[tokio::test]
async fn s_21_a_refresh_token_goes_to_the_issuer_that_gave_it_and_to_nobody_else() {
    let stage = Stage::start().await;
    stage.log_in(&stage.issuer, None).await.unwrap();
    assert_eq!(sent(&stage.grant()).await.unwrap(), "Bearer one");
    stage.expire();
    Stage::sent_tokens(&stage.issuer);
    // The server names nobody any more: it would get the refresh token itself.
    for path in [PRM, ASM] {
        stage.server.says(path, Answer::Page(404, "nothing"));
    }
    let error = sent(&stage.grant()).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "Metadata error: the server no longer names the authorization server that issued its tokens"
    );
    assert!(Stage::sent_tokens(&stage.server).is_empty());
    // It names another one.
    let thief = Hostile::start().await;
    stage.name(&thief);
    let error = sent(&stage.grant()).await.unwrap_err().to_string();
    assert_eq!(error, "needs login: run `tollgate servers login web`");
    assert!(Stage::sent_tokens(&thief).is_empty());
    // Nor does a new login bring the client's secret there.
    let error = stage.log_in(&thief, None).await.unwrap_err().to_string();
    let before = &stage.issuer.origin;
    let now = &thief.origin;
    assert_eq!(
        error,
        format!(
            "the server's authorization server was `{before}` and is `{now}` now; the client secret \
             is not sent there unless `issuer` says so"
        )
    );
    assert!(Stage::sent_tokens(&thief).is_empty());
    stage.log_in(&thief, Some(now)).await.unwrap();
    assert_eq!(Stage::sent_tokens(&thief).len(), 1);
    assert_eq!(sent(&stage.grant()).await.unwrap(), "Bearer good");
}

#[tokio::test]
async fn s_21_a_secret_goes_to_the_issuer_that_the_operator_named() {
    let stage = Stage::start().await;
    let requested = "https://id.example/tenant";
    let error = stage.log_in(&stage.issuer, Some(requested)).await.unwrap_err().to_string();
    let named = &stage.issuer.origin;
    let text = format!(
        "the server's authorization server is `{named}`, and not `{requested}` as `issuer` says"
    );
    assert_eq!(error, text);
    assert!(Stage::sent_tokens(&stage.issuer).is_empty());
    // A server without metadata has no issuer at all.
    for path in [PRM, ASM] {
        stage.server.says(path, Answer::Page(404, "nothing"));
    }
    let error = stage.log_in(&stage.server, Some(named)).await.unwrap_err().to_string();
    assert!(error.starts_with("the server's authorization server is `none`"), "{error}");
    assert!(Stage::sent_tokens(&stage.server).is_empty());
    stage.name(&stage.issuer);
    stage.log_in(&stage.issuer, Some(&format!("{named}/"))).await.unwrap();
}

#[tokio::test]
async fn b_oa_5_what_an_authorization_server_refuses_is_told_by_its_code_only() {
    let server = Hostile::start().await;
    for (back, text) in [
        ("error=access_denied&state=x", "access_denied"),
        ("state=x&error=%3Cb%3Ehi%3C/b%3E&error_description=%3Cb%3E", "3Cb3Ehi3Cb3E"),
        ("error=a%1B%5B2Jb", "a1B5B2Jb"),
    ] {
        let back = format!("http://localhost:3000/cb?{back}");
        let open: ConsentPrompt = Box::new(move |_| Box::pin(std::future::ready(Ok(back.clone()))));
        let error = after_401(&with(&server, open), None).await.unwrap_err().to_string();
        assert_eq!(error, format!("the authorization server refused: `{text}`"));
    }
    assert!(Stage::sent_tokens(&server).is_empty());
}

fn with(server: &Hostile, open: ConsentPrompt) -> AuthorizationCode {
    let authorization = Authorization {
        server_url: server.url(),
        redirect_uri: "http://localhost:3000/cb".to_owned(),
        identity: stranger(None),
        issuer: None,
        scopes: Vec::new(),
    };
    AuthorizationCode::new(authorization, open)
}

/// A state is good for one code: neither another tab nor a second use of the same answer gets through.
#[tokio::test]
async fn s_21_b_oa_5_a_state_counts_once() {
    let server = Hostile::start().await;
    let first: Arc<Mutex<Option<String>>> = Arc::default();
    let noted = Arc::clone(&first);
    let origin = server.origin.clone();
    let open: ConsentPrompt = Box::new(move |url| {
        let back = format!("http://localhost:3000/cb?code=c&state={}&iss={origin}", state_of(&url));
        // Every round is answered with the answer to the first.
        let back = noted.lock().get_or_insert(back).clone();
        Box::pin(std::future::ready(Ok(back)))
    });
    let code = with(&server, open);
    assert_eq!(after_401(&code, None).await.unwrap(), "Bearer good");
    assert_eq!(Stage::sent_tokens(&server).len(), 1);
    let more = r#"Bearer error="insufficient_scope", scope="write""#;
    assert!(code.handle_refusal(StatusCode::FORBIDDEN, Some(more)).await);
    let replayed = sent(&code).await.unwrap_err().to_string();
    assert!(replayed.contains("Authorization state not found"), "{replayed}");
    let second_tab = after_401(&code, None).await.unwrap_err().to_string();
    assert!(second_tab.contains("Authorization state not found"), "{second_tab}");
    assert!(Stage::sent_tokens(&server).is_empty());
}

#[tokio::test]
async fn s_21_b_oa_5_a_state_counts_for_ten_minutes() {
    let server = Hostile::start().await;
    let origin = server.origin.clone();
    let open: ConsentPrompt = Box::new(move |url| {
        let back = format!("http://localhost:3000/cb?code=c&state={}&iss={origin}", state_of(&url));
        Box::pin(async move {
            tokio::time::pause();
            tokio::time::sleep(Duration::from_secs(601)).await;
            Ok(back)
        })
    });
    let error = after_401(&with(&server, open), None).await.unwrap_err().to_string();
    assert_eq!(error, "nobody completed the login within 10 minutes");
    assert!(Stage::sent_tokens(&server).is_empty());
}

/// A server that always wants more gets two consents out of nobody, and one for each new scope.
#[tokio::test]
async fn b_oa_8_a_loop_of_insufficient_scope_ends() {
    let server = Hostile::start().await;
    let code = server.code(stranger(None), |back| back);
    after_401(&code, None).await.unwrap();
    server.requests();
    let same = r#"Bearer error="insufficient_scope", scope="more""#;
    let mut requested = 0;
    for _ in 0..50 {
        requested += usize::from(code.handle_refusal(StatusCode::FORBIDDEN, Some(same)).await);
    }
    assert_eq!(requested, 1);
    assert_eq!(Stage::sent_tokens(&server).len(), 1);
}
