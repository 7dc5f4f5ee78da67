//! Consent given by a function, tokens by the small server.

use super::super::authorize::{
    Authorization, AuthorizationCode, ConsentPrompt, OauthClientIdentity,
};
use super::*;

impl Server {
    /// An authorization server that takes strangers.
    pub(super) fn takes_strangers(&self) {
        self.well();
        let origin = &self.origin;
        self.answers(
            "/.well-known/oauth-authorization-server",
            200,
            &json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true,
            }),
        );
        let client = json!({"client_id": "issued", "redirect_uris": ["http://localhost:3000/cb"]});
        self.answers("/register", 201, &client);
    }

    fn code(&self, identity: OauthClientIdentity, open: ConsentPrompt) -> AuthorizationCode {
        let authorization = Authorization {
            server_url: format!("{}/mcp", self.origin),
            redirect_uri: "http://localhost:3000/cb".to_owned(),
            identity,
            issuer: None,
            scopes: Vec::new(),
        };
        AuthorizationCode::new(authorization, open)
    }

    /// Somebody who consents at once; notes the URLs they were shown.
    pub(super) fn consenting(
        &self,
        change: fn(String) -> String,
    ) -> (ConsentPrompt, Arc<Mutex<Vec<String>>>) {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&shown);
        let origin = self.origin.clone();
        let open: ConsentPrompt = Box::new(move |url| {
            let state = parameter(&url, "state").unwrap_or_default();
            noted.lock().push(url);
            let back = format!(
                "http://localhost:3000/cb?code=the-code&state={state}&iss={}",
                percent_encoded(&origin)
            );
            Box::pin(std::future::ready(Ok(change(back))))
        });
        (open, shown)
    }
}

fn parameter(url: &str, name: &str) -> Option<String> {
    let query = url.split_once('?')?.1;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

fn stranger() -> OauthClientIdentity {
    OauthClientIdentity::Unregistered { name: "Tollgate".to_owned(), metadata_url: None }
}

#[tokio::test]
async fn a_stranger_is_registered_shown_the_page_and_given_a_token() {
    let server = Server::start().await;
    server.takes_strangers();
    let (open, shown) = server.consenting(|back| back);
    let code = server.code(stranger(), open);
    assert_eq!(sent(&code).await.unwrap(), "");
    assert_eq!(after_401(&code, Some(r#"Bearer scope="read""#)).await.unwrap(), "Bearer t1");
    assert_eq!(sent(&code).await.unwrap(), "Bearer t1");
    let shown = shown.lock().clone();
    assert_eq!(shown.len(), 1);
    assert_eq!(parameter(&shown[0], "client_id").as_deref(), Some("issued"));
    assert_eq!(parameter(&shown[0], "code_challenge_method").as_deref(), Some("S256"));
    assert_eq!(parameter(&shown[0], "scope").as_deref(), Some("read"));
    let resource = percent_encoded(&format!("{}/mcp", server.origin));
    assert_eq!(parameter(&shown[0], "resource"), Some(resource));
    let requests = server.take_requests();
    let token = requests.last().unwrap();
    assert!(token.contains("code=the-code") && token.contains("code_verifier="), "{token}");
}

#[tokio::test]
async fn a_client_known_beforehand_is_not_registered() {
    let server = Server::start().await;
    server.takes_strangers();
    let (open, shown) = server.consenting(|back| back);
    let secret = Some(Secret::new(SECRET));
    let known =
        OauthClientIdentity::Registered { client_id: "known".to_owned(), client_secret: secret };
    let code = server.code(known, open);
    assert_eq!(after_401(&code, None).await.unwrap(), "Bearer t1");
    assert_eq!(parameter(&shown.lock()[0], "client_id").as_deref(), Some("known"));
    assert!(!server.take_requests().iter().any(|it| it.starts_with("/register")));
}

#[tokio::test]
async fn s_21_b_oa_5_callbacks_that_do_not_fit_give_no_token() {
    let check = async |change: fn(String) -> String, expected: &str| {
        let server = Server::start().await;
        server.takes_strangers();
        let (open, _) = server.consenting(change);
        let error = after_401(&server.code(stranger(), open), None).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!server.take_requests().iter().any(|it| it.starts_with("/token")));
    };
    check(|back| back.replace("state=", "state=x"), "state not found").await;
    check(|back| back.replace("&iss=http", "&iss=https"), "issuer mismatch").await;
    check(|back| back.split("&iss=").next().unwrap().to_owned(), "missing required issuer").await;
    check(|_| "http://localhost:3000/cb?state=x".to_owned(), "missing code").await;
    check(|_| "http://localhost:3000/cb?error=access_denied".to_owned(), "`access_denied`").await;
}

#[tokio::test]
async fn a_storm_of_refusals_asks_one_person_once() {
    let server = Server::start().await;
    server.takes_strangers();
    let (open, shown) = server.consenting(|back| back);
    let code = server.code(stranger(), open);
    let one = async || after_401(&code, None).await.unwrap();
    let all = futures_util::future::join_all((0..50).map(|_| one())).await;
    assert!(all.iter().all(|it| it == "Bearer t1"), "{all:?}");
    assert_eq!(shown.lock().len(), 1);
}

#[tokio::test]
async fn b_oa_8_more_scopes_are_asked_for_once_each_on_top_of_those_there_are() {
    let server = Server::start().await;
    server.takes_strangers();
    let (open, shown) = server.consenting(|back| back);
    let code = server.code(stranger(), open);
    after_401(&code, Some(r#"Bearer scope="read""#)).await.unwrap();
    let more = r#"Bearer error="insufficient_scope", scope="write""#;
    assert!(code.handle_refusal(StatusCode::FORBIDDEN, Some(more)).await);
    assert_eq!(parameter(&shown.lock()[1], "scope").as_deref(), Some("read+write"));
    assert_eq!(sent(&code).await.unwrap(), "Bearer t2");
    assert!(!code.handle_refusal(StatusCode::FORBIDDEN, Some(more)).await);
    assert!(!code.handle_refusal(StatusCode::FORBIDDEN, None).await);
    assert_eq!(shown.lock().len(), 2);
}

#[tokio::test]
async fn a_server_that_moved_to_another_issuer_is_asked_anew() {
    let server = Server::start().await;
    server.takes_strangers();
    let (open, shown) = server.consenting(|back| back);
    let code = server.code(stranger(), open);
    after_401(&code, None).await.unwrap();
    assert_eq!(after_401(&code, None).await.unwrap(), "Bearer t2");
    assert_eq!(shown.lock().len(), 2);
}

#[tokio::test]
async fn s_18_a_page_that_is_none_is_never_shown() {
    let server = Server::start().await;
    server.takes_strangers();
    for endpoint in ["javascript:alert(1)", "a:$(touch x)", "file:///etc/passwd", "--flag"] {
        let metadata = json!({
            "issuer": server.origin,
            "authorization_endpoint": endpoint,
            "token_endpoint": format!("{}/token", server.origin),
            "registration_endpoint": format!("{}/register", server.origin),
            "code_challenge_methods_supported": ["S256"],
        });
        server.answers("/.well-known/oauth-authorization-server", 200, &metadata);
        let (open, shown) = server.consenting(|back| back);
        assert!(after_401(&server.code(stranger(), open), None).await.is_err());
        assert!(shown.lock().is_empty(), "{endpoint}");
    }
}
