//! Azure OpenAI: addresses, keys and access tokens, against a fake that refuses all others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tollgate_core::secret::Secret;
use tollgate_llm::error::LlmErrorKind;
use tollgate_llm::provider::ModelRegistry;
use tollgate_llm::settings::{
    AzureSettings, CloudSettings, EntraSettings, LlmSettings, ModelSettings, ProviderApi,
    ProviderKind, ProviderSettings,
};

use crate::fake::{Act, Fake, Seen, encode_chunks, json};
use crate::stage::{KEY, clock, model, provider, read_stream, request};

const ANSWER: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"gpt","choices":[{"index":0,"message":{"role":"assistant","content":"From Azure"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;
const EVENTS: &str = concat!(
    r#"data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt","choices":[{"index":0,"delta":{"role":"assistant","content":"From Azure"},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n",
);
const RESPONSE: &str = r#"{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"gpt","output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"From Azure","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}"#;
const NO_ROUTE: &str = r#"{"error":{"code":"404","message":"Resource not found"}}"#;
const NO_DEPLOYMENT: &str = r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#;
const NO_ACCESS: &str = r#"{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}"#;
const SECRET: &str = "entra-canary~0123456789";
const TENANT: &str = "contoso.example";

/// A resource with one deployment, `m-id`.
struct Resource {
    /// Tokens issued so far; only the last one is valid.
    issued: AtomicU32,
    /// Of each token, in seconds.
    life: u32,
    accepts: Credentials,
}

#[derive(PartialEq, Eq)]
enum Credentials {
    Key,
    Token,
}

impl Resource {
    async fn serve(self) -> (Arc<Self>, Fake) {
        let resource = Arc::new(self);
        let served = Arc::clone(&resource);
        (resource, Fake::answering(move |seen| served.answer(seen)).await)
    }

    fn with_key() -> Self {
        Self { issued: AtomicU32::new(0), life: 0, accepts: Credentials::Key }
    }

    fn with_tokens(life: u32) -> Self {
        Self { issued: AtomicU32::new(0), life, accepts: Credentials::Token }
    }

    fn answer(&self, seen: &Seen) -> Vec<Act> {
        if !seen.head.starts_with("POST ") {
            return json(404, NO_ROUTE);
        }
        let (path, query) = seen.path().split_once('?').unwrap_or((seen.path(), ""));
        if path == format!("/{TENANT}/oauth2/v2.0/token") {
            return self.issue(seen);
        }
        let dated = |query: &str| {
            let version = query.strip_prefix("api-version=").unwrap_or_default();
            version.len() == 10 && version.starts_with("20")
        };
        let (deployment, api) = match path.strip_prefix("/openai/") {
            Some("v1/chat/completions") if query.is_empty() => (None, "chat"),
            Some("v1/responses") if query.is_empty() => (None, "responses"),
            Some(rest) if dated(query) => {
                match rest.strip_prefix("deployments/").and_then(|rest| rest.split_once('/')) {
                    Some((deployment, "chat/completions")) => (Some(deployment.to_owned()), "chat"),
                    _ => return json(404, NO_ROUTE),
                }
            }
            _ => return json(404, NO_ROUTE),
        };
        if !self.has_access(seen) {
            return json(401, NO_ACCESS);
        }
        let body = seen.json();
        let named = deployment.or_else(|| body["model"].as_str().map(str::to_owned));
        if named.as_deref() != Some("m-id") {
            return json(404, NO_DEPLOYMENT);
        }
        match api {
            "responses" => json(200, RESPONSE),
            _ if body["stream"] == true => encode_chunks(EVENTS),
            _ => json(200, ANSWER),
        }
    }

    fn has_access(&self, seen: &Seen) -> bool {
        let bearer = seen.header("authorization");
        let key = seen.header("api-key");
        match self.accepts {
            Credentials::Key => key == Some(KEY) && bearer.is_none(),
            Credentials::Token => {
                let valid = format!("Bearer token-{}", self.issued.load(Ordering::SeqCst));
                bearer == Some(valid.as_str()) && key.is_none()
            }
        }
    }

    fn issue(&self, seen: &Seen) -> Vec<Act> {
        let mut fields: Vec<&str> = seen.body.split('&').collect();
        fields.sort_unstable();
        let expected = [
            "client_id=app-1",
            "client_secret=entra-canary~0123456789",
            "grant_type=client_credentials",
            "scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default",
        ];
        let is_form = seen.header("content-type") == Some("application/x-www-form-urlencoded");
        if fields != expected || !is_form {
            let words = format!(
                r#"{{"error":"invalid_client","error_description":"AADSTS7000215: {SECRET}"}}"#
            );
            return json(401, &words);
        }
        let number = self.issued.fetch_add(1, Ordering::SeqCst) + 1;
        let life = self.life;
        let token = format!(
            r#"{{"token_type":"Bearer","expires_in":{life},"access_token":"token-{number}"}}"#
        );
        [vec![Act::Wait(Duration::from_millis(100))], json(200, &token)].concat()
    }
}

fn entra(fake: &Fake, secret: &str) -> EntraSettings {
    EntraSettings {
        tenant: TENANT.to_owned(),
        client_id: "app-1".to_owned(),
        client_secret: Secret::new(secret),
        authority: Some(format!("http://{}/", fake.address)),
    }
}

fn settings(fake: &Fake, azure: AzureSettings) -> LlmSettings {
    let api_key = azure.entra.is_none().then(|| Secret::new(KEY));
    let provider = ProviderSettings {
        api_key,
        cloud: Some(CloudSettings::Azure(azure)),
        ..provider(ProviderKind::OpenAi, fake.address)
    };
    LlmSettings { providers: vec![provider], models: vec![model("m")] }
}

fn v1() -> AzureSettings {
    AzureSettings { api_version: None, entra: None }
}

async fn ask(settings: &LlmSettings) -> Result<String, tollgate_llm::provider::AskError> {
    let models = ModelRegistry::new(settings, clock(), None).unwrap();
    Ok(models.find("m").unwrap().ask(&request("hello")).await?.text())
}

#[tokio::test]
async fn the_v1_api_has_its_prefix_and_the_key_its_header() {
    let (_, fake) = Resource::with_key().serve().await;
    let azure = settings(&fake, v1());
    assert_eq!(ask(&azure).await.unwrap(), "From Azure");
    let models = ModelRegistry::new(&azure, clock(), None).unwrap();
    let stream = models.find("m").unwrap().stream(&request("hello")).await.unwrap();
    assert_eq!(read_stream(stream).await.unwrap().text(), "From Azure");
    let mut responses = azure.clone();
    responses.models = vec![ModelSettings { api: ProviderApi::Responses, ..model("m") }];
    assert_eq!(ask(&responses).await.unwrap(), "From Azure");
    let mut plain = azure;
    plain.providers[0].cloud = None;
    ask(&plain).await.expect_err("OpenAI's own addresses are not those of Azure");
}

#[tokio::test]
async fn a_base_url_may_have_the_prefix_already() {
    let (_, fake) = Resource::with_key().serve().await;
    for (path, api_version) in [
        ("/openai/v1/", None),
        ("/openai", None),
        ("/openai", Some("2024-10-21".to_owned())),
        ("/openai/v1", Some("2024-10-21".to_owned())),
    ] {
        let mut azure = settings(&fake, AzureSettings { api_version, entra: None });
        azure.providers[0].base_url = Some(format!("http://{}{path}", fake.address));
        assert_eq!(ask(&azure).await.unwrap(), "From Azure", "{path}");
    }
}

#[tokio::test]
async fn a_version_puts_the_deployment_into_the_path() {
    let (_, fake) = Resource::with_key().serve().await;
    let version = Some("2024-10-21".to_owned());
    let azure = settings(&fake, AzureSettings { api_version: version, entra: None });
    assert_eq!(ask(&azure).await.unwrap(), "From Azure");
    let expected = "/openai/deployments/m-id/chat/completions?api-version=2024-10-21";
    assert_eq!(fake.only().path(), expected);
    let mut unknown = azure;
    unknown.models = vec![ModelSettings { id: "my gpt/4".to_owned(), ..model("m") }];
    let failure = ask(&unknown).await.unwrap_err().failure;
    assert_eq!(failure.kind, LlmErrorKind::UnknownModel, "{failure}");
    let last = fake.requests_seen()[1].clone();
    assert!(last.path().starts_with("/openai/deployments/my%20gpt%2F4/"), "{}", last.path());
}

#[tokio::test]
async fn many_requests_share_one_access_token() {
    let (resource, fake) = Resource::with_tokens(3_600).serve().await;
    let azure = settings(&fake, AzureSettings { entra: Some(entra(&fake, SECRET)), ..v1() });
    let models = ModelRegistry::new(&azure, clock(), None).unwrap();
    let model = models.find("m").unwrap();
    let asked = request("hello");
    for answer in join_all((0..8).map(|_| model.ask(&asked))).await {
        assert_eq!(answer.unwrap().text(), "From Azure");
    }
    model.ask(&asked).await.unwrap();
    assert_eq!(resource.issued.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    let (resource, fake) = Resource::with_tokens(2).serve().await;
    let azure = settings(&fake, AzureSettings { entra: Some(entra(&fake, SECRET)), ..v1() });
    let models = ModelRegistry::new(&azure, clock(), None).unwrap();
    let model = models.find("m").unwrap();
    model.ask(&request("hello")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_600)).await;
    model.ask(&request("hello")).await.unwrap();
    assert_eq!(resource.issued.load(Ordering::SeqCst), 2, "in the last quarter of its life");
}

#[tokio::test]
async fn a_token_that_is_refused_is_replaced() {
    let (resource, fake) = Resource::with_tokens(3_600).serve().await;
    let azure = settings(&fake, AzureSettings { entra: Some(entra(&fake, SECRET)), ..v1() });
    let models = ModelRegistry::new(&azure, clock(), None).unwrap();
    let model = models.find("m").unwrap();
    model.ask(&request("hello")).await.unwrap();
    // Another token has been issued, and only the last one is valid.
    resource.issued.fetch_add(1, Ordering::SeqCst);
    assert_eq!(model.ask(&request("hello")).await.unwrap().text(), "From Azure");
    assert_eq!(resource.issued.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn refused_credentials_are_told_without_them() {
    let (_, fake) = Resource::with_tokens(3_600).serve().await;
    let wrong = entra(&fake, "wrong-secret-0123456789");
    let failure = ask(&settings(&fake, AzureSettings { entra: Some(wrong), ..v1() })).await;
    let failure = failure.unwrap_err().failure;
    assert_eq!(failure.kind, LlmErrorKind::Provider);
    let expected = "provider `fake` gives no access: its token endpoint answered with HTTP 401 \
                    (invalid_client); check `providers.fake.azure`";
    assert_eq!(failure.message, expected);
    assert!(fake.requests_seen().iter().all(|seen| seen.path().ends_with("/token")));
}

#[tokio::test]
async fn a_token_endpoint_that_is_away_is_asked_again() {
    let fake = Fake::start(vec![
        vec![Act::Close],
        json(503, "{}"),
        json(200, r#"{"access_token":"t","expires_in":"3599"}"#),
        json(200, ANSWER),
    ])
    .await;
    let mut azure = settings(&fake, AzureSettings { entra: Some(entra(&fake, SECRET)), ..v1() });
    azure.providers[0].retries = 2;
    let models = ModelRegistry::new(&azure, clock(), None).unwrap();
    let model = models.find("m").unwrap();
    for _ in 0..2 {
        let error = model.ask(&request("hello")).await.unwrap_err();
        assert!(matches!(error.again, tollgate_llm::provider::RetryTarget::SameModel { .. }));
    }
    model.ask(&request("hello")).await.unwrap();
    assert_eq!(fake.requests_seen()[3].header("authorization"), Some("Bearer t"));
}
