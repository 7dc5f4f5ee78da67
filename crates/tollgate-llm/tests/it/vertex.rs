//! Vertex AI: addresses, bodies and access tokens, against a fake that verifies signatures and
//! refuses what Google refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use futures_util::future::join_all;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json as value};
use tollgate_core::secret::Secret;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::LlmErrorKind;
use tollgate_llm::provider::{ModelConfigError, ModelRegistry, RetryTarget, SideEndpoint};
use tollgate_llm::settings::{
    CloudSettings, EndpointSettings, GoogleCredentials, LlmSettings, ModelProviderSettings,
    ModelSettings, PoolSettings, ProviderKind, ProviderSettings, RemoteEmbeddingSettings,
    ServiceAccountKey, VertexSettings,
};

use crate::clouds::{
    after_a_call, ask, check_claude, claude_answer, claude_events, last_text, one_provider, stream,
};
use crate::fake::{Act, Fake, Seen, encode_chunks, json};
use crate::stage::{clock, model, provider, read_stream, request};
use crate::wire::{OVERLOADED, TOO_OFTEN};

const KEYS: [&[u8]; 2] = [include_bytes!("google/one.der"), include_bytes!("google/two.der")];
const PROJECT: &str = "acme-1";
const LOCATION: &str = "europe-west1";
const EMAIL: &str = "gateway@acme-1.iam.gserviceaccount.com";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const STATIC_TOKEN: &str = "ya29.static-canary-0123456789";

/// A project with one model, `m-id`, and one service account, whose key is the first one.
#[derive(Default)]
struct Project {
    /// Tokens issued so far; only the last one is valid.
    issued: AtomicU32,
    /// Whether no token is valid.
    revokes_all: bool,
}

impl Project {
    async fn serve(self) -> (Arc<Self>, Fake) {
        let project = Arc::new(self);
        let served = Arc::clone(&project);
        (project, Fake::answering(move |seen| served.answer(seen)).await)
    }

    fn answer(&self, seen: &Seen) -> Vec<Act> {
        let (path, query) = seen.path().split_once('?').unwrap_or((seen.path(), ""));
        match path {
            "/token" => self.exchange(seen),
            "/metadata" if seen.head.starts_with("GET ") => match seen.header("metadata-flavor") {
                Some("Google") => self.issue(),
                _ => google_error(403, "PERMISSION_DENIED", "Missing Metadata-Flavor header"),
            },
            _ if !seen.head.starts_with("POST ") => google_error(404, "NOT_FOUND", "no route"),
            _ => self.answer_model(seen, path, query),
        }
    }

    fn exchange(&self, seen: &Seen) -> Vec<Act> {
        match check_assertion(seen) {
            Ok(()) => self.issue(),
            Err(why) => {
                let words = value!({"error": "invalid_grant", "error_description": why});
                json(400, &words.to_string())
            }
        }
    }

    fn issue(&self) -> Vec<Act> {
        let number = self.issued.fetch_add(1, Ordering::SeqCst) + 1;
        let token = value!({"access_token": format!("ya29.token-{number}"), "expires_in": 3599,
            "token_type": "Bearer"});
        [vec![Act::Wait(Duration::from_millis(100))], json(200, &token.to_string())].concat()
    }

    fn answer_model(&self, seen: &Seen, path: &str, query: &str) -> Vec<Act> {
        let models = format!("/v1/projects/{PROJECT}/locations/{LOCATION}/publishers/");
        let Some((publisher, rest)) = path.strip_prefix(&models).and_then(|it| it.split_once('/'))
        else {
            return google_error(404, "NOT_FOUND", "no such project or location here");
        };
        if !self.has_access(seen) {
            return google_error(401, "UNAUTHENTICATED", "Request had invalid credentials");
        }
        let named = rest.strip_prefix("models/").and_then(|it| it.rsplit_once(':'));
        let Some((id, method)) = named else {
            return google_error(404, "NOT_FOUND", "no such method");
        };
        if !matches!(id, "m-id" | "claude-haiku-4-5@20251001") {
            return google_error(404, "NOT_FOUND", "Publisher Model was not found");
        }
        let body = seen.json();
        match (publisher, method, query) {
            ("google", "generateContent", "") => answer_gemini(&body, false),
            ("google", "streamGenerateContent", "alt=sse") => answer_gemini(&body, true),
            ("anthropic", "rawPredict", "") => answer_claude(&body, false),
            ("anthropic", "streamRawPredict", "") => answer_claude(&body, true),
            _ => google_error(404, "NOT_FOUND", "no such method"),
        }
    }

    fn has_access(&self, seen: &Seen) -> bool {
        let issued = format!("Bearer ya29.token-{}", self.issued.load(Ordering::SeqCst));
        let of_config = format!("Bearer {STATIC_TOKEN}");
        let bearer = seen.header("authorization");
        let no_key = seen.header("x-api-key").or(seen.header("x-goog-api-key")).is_none();
        let is_known = bearer == Some(&*issued) || bearer == Some(&*of_config);
        is_known && no_key && !self.revokes_all
    }
}

fn google_error(code: u16, status: &str, message: &str) -> Vec<Act> {
    let error = value!({"error": {"code": code, "message": message, "status": status}});
    json(code, &error.to_string())
}

/// What Google checks before it gives a token for a signed JWT.
fn check_assertion(seen: &Seen) -> Result<(), &'static str> {
    let refuse = |is_wrong: bool, why: &'static str| if is_wrong { Err(why) } else { Ok(()) };
    let form = seen.header("content-type") == Some("application/x-www-form-urlencoded");
    refuse(!form || !seen.head.starts_with("POST "), "not a form")?;
    let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let jwt = seen.body.strip_prefix(grant).ok_or("unsupported grant_type")?;
    let (signed, signature) = jwt.rsplit_once('.').ok_or("no signature")?;
    let (header, claims) = signed.split_once('.').ok_or("no claims")?;
    let read = |part: &str| -> Result<Value, &'static str> {
        let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| "not base64")?;
        serde_json::from_slice(&bytes).map_err(|_| "not JSON")
    };
    let header = read(header)?;
    let claims = read(claims)?;
    refuse(header != value!({"alg": "RS256", "typ": "JWT", "kid": "key-1"}), "bad header")?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "not base64")?;
    let public = RsaKeyPair::from_pkcs8(KEYS[0]).unwrap().public_key().as_ref().to_vec();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public);
    refuse(key.verify(signed.as_bytes(), &signature).is_err(), "Invalid JWT Signature.")?;
    let audience = format!("http://{}/token", seen.header("host").unwrap());
    refuse(claims["iss"] != EMAIL, "Invalid grant: account not found")?;
    refuse(claims["aud"] != audience.as_str(), "The audience is wrong")?;
    refuse(claims["scope"] != SCOPE, "The scope is wrong")?;
    let now = SystemClock.wall().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let issued = claims["iat"].as_u64().unwrap();
    let expires = claims["exp"].as_u64().unwrap();
    refuse(issued.abs_diff(now) > 60, "Token must be a short-lived token")?;
    refuse(expires <= now || expires > issued + 3_600, "Token must be a short-lived token")
}

fn answer_gemini(body: &Value, streamed: bool) -> Vec<Act> {
    let refuse = |message: &str| google_error(400, "INVALID_ARGUMENT", message);
    if body.get("model").is_some() || body.get("stream").is_some() {
        return refuse("Invalid JSON payload received. Unknown name \"model\"");
    }
    for content in body["contents"].as_array().unwrap() {
        if !matches!(content["role"].as_str(), Some("user" | "model")) {
            return refuse("Please use a valid role: user, model.");
        }
        for part in content["parts"].as_array().unwrap() {
            if part["functionCall"].get("id").or(part["functionResponse"].get("id")).is_some() {
                return refuse("Unknown name \"id\" at 'function_call': Cannot find field.");
            }
        }
    }
    let part = |text: String| {
        value!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]},
            "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}})
    };
    let answer = part(format!("echo: {}", last_text(&body["contents"])));
    if streamed {
        encode_chunks(&format!("data: {answer}\n\n"))
    } else {
        json(200, &answer.to_string())
    }
}

fn answer_claude(body: &Value, streamed: bool) -> Vec<Act> {
    let checked = check_claude(body, "vertex-2023-10-16");
    let checked = match checked {
        Ok(_) if body["stream"] != streamed => Err("stream: it is another method"),
        checked => checked,
    };
    match checked {
        Err(why) => {
            let error = value!({"type": "invalid_request_error", "message": why});
            json(400, &value!({"type": "error", "error": error}).to_string())
        }
        Ok(text) if streamed => {
            let events = claude_events(&text).into_iter();
            let events =
                events.map(|it| format!("event: {}\ndata: {it}\n\n", it["type"].as_str().unwrap()));
            encode_chunks(&events.collect::<String>())
        }
        Ok(text) => json(200, &claude_answer(&text)),
    }
}

fn account(fake: &Fake, key: &[u8]) -> GoogleCredentials {
    let label = "PRIVATE KEY";
    let pem = format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(key));
    GoogleCredentials::ServiceAccount(ServiceAccountKey {
        client_email: EMAIL.to_owned(),
        private_key_id: Some("key-1".to_owned()),
        private_key: Secret::new(pem),
        token_url: format!("http://{}/token", fake.address),
    })
}

fn vertex(fake: &Fake, kind: ProviderKind, credentials: GoogleCredentials) -> ProviderSettings {
    let settings =
        VertexSettings { project: PROJECT.to_owned(), location: LOCATION.to_owned(), credentials };
    ProviderSettings {
        api_key: None,
        cloud: Some(CloudSettings::Vertex(settings)),
        ..provider(kind, fake.address)
    }
}

fn with_account(fake: &Fake, kind: ProviderKind) -> LlmSettings {
    one_provider(vertex(fake, kind, account(fake, KEYS[0])))
}

const KINDS: [ProviderKind; 2] = [ProviderKind::Gemini, ProviderKind::Anthropic];

#[tokio::test]
async fn gemini_and_claude_answer_whole_and_in_steps() {
    for kind in KINDS {
        let (_, fake) = Project::default().serve().await;
        let settings = with_account(&fake, kind);
        assert_eq!(ask(&settings, &request("one")).await.unwrap(), "echo: one");
        assert_eq!(stream(&settings, &request("two")).await.unwrap(), "echo: two");
        let calls = after_a_call();
        assert!(ask(&settings, &calls).await.unwrap().starts_with("echo: "));
        assert!(stream(&settings, &calls).await.unwrap().starts_with("echo: "));
    }
}

#[tokio::test]
async fn versions_of_claude_stay_in_the_path() {
    let (_, fake) = Project::default().serve().await;
    let mut settings = with_account(&fake, ProviderKind::Anthropic);
    settings.models[0].id = "claude-haiku-4-5@20251001".to_owned();
    assert_eq!(ask(&settings, &request("one")).await.unwrap(), "echo: one");
    let path = fake.requests_seen()[1].path().to_owned();
    let expected = "/publishers/anthropic/models/claude-haiku-4-5@20251001:rawPredict";
    assert!(path.ends_with(expected), "{path}");
}

#[tokio::test]
async fn callers_at_once_share_a_token_and_get_their_own_answers() {
    for kind in KINDS {
        let (project, fake) = Project::default().serve().await;
        let models = ModelRegistry::new(&with_account(&fake, kind), clock(), None).unwrap();
        let model = models.find("m").unwrap();
        let ask = async |number: usize| {
            let said = format!("caller {number}");
            let expected = format!("echo: {said}");
            let asked = request(&said);
            if number.is_multiple_of(2) {
                assert_eq!(model.ask(&asked).await.unwrap().text(), expected);
            } else {
                let stream = model.stream(&asked).await.unwrap();
                assert_eq!(read_stream(stream).await.unwrap().text(), expected);
            }
        };
        join_all((0..8).map(ask)).await;
        assert_eq!(project.issued.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let (project, fake) = Project::default().serve().await;
    let models =
        ModelRegistry::new(&with_account(&fake, ProviderKind::Gemini), clock(), None).unwrap();
    let model = models.find("m").unwrap();
    model.ask(&request("hello")).await.unwrap();
    // Another token has been issued, and so the one of the gateway is not valid any more.
    project.issued.fetch_add(1, Ordering::SeqCst);
    assert_eq!(model.ask(&request("again")).await.unwrap().text(), "echo: again");
    assert_eq!(project.issued.load(Ordering::SeqCst), 3);

    let (project, fake) = Project { revokes_all: true, ..Project::default() }.serve().await;
    let failure = ask(&with_account(&fake, ProviderKind::Gemini), &request("hello")).await;
    let failure = failure.unwrap_err().failure;
    assert_eq!(project.issued.load(Ordering::SeqCst), 2);
    assert_eq!(failure.kind, LlmErrorKind::Provider);
    let expected = "provider `fake` rejected the gateway's key (HTTP 401, UNAUTHENTICATED): check \
                    `providers.fake.vertex`";
    assert_eq!(failure.message, expected);
}

#[tokio::test]
async fn the_key_of_another_account_gives_no_access() {
    let (project, fake) = Project::default().serve().await;
    let settings = one_provider(vertex(&fake, ProviderKind::Gemini, account(&fake, KEYS[1])));
    let failure = ask(&settings, &request("hello")).await.unwrap_err().failure;
    let expected = "provider `fake` gives no access: its token endpoint answered with HTTP 400 \
                    (invalid_grant); check `providers.fake.vertex`";
    assert_eq!(failure.message, expected);
    assert_eq!(project.issued.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_key_that_is_none_is_told_when_the_config_is_applied() {
    let (_, fake) = Project::default().serve().await;
    let settings = one_provider(vertex(&fake, ProviderKind::Gemini, account(&fake, b"no key")));
    let error = ModelRegistry::new(&settings, clock(), None).err().unwrap().to_string();
    assert!(error.contains("private key of its service account"), "{error}");
}

#[tokio::test]
async fn tokens_come_from_the_metadata_server_or_the_config() {
    let (project, fake) = Project::default().serve().await;
    let url = Some(format!("http://{}/metadata", fake.address));
    let metadata = GoogleCredentials::Metadata { url };
    let settings = one_provider(vertex(&fake, ProviderKind::Anthropic, metadata));
    assert_eq!(ask(&settings, &request("hello")).await.unwrap(), "echo: hello");
    assert_eq!(project.issued.load(Ordering::SeqCst), 1);
    for (token, is_valid) in [(STATIC_TOKEN, true), ("ya29.other-canary-0123456789", false)] {
        let token = GoogleCredentials::AccessToken(Secret::new(token));
        let settings = one_provider(vertex(&fake, ProviderKind::Gemini, token));
        let answer = ask(&settings, &request("hello")).await;
        assert_eq!(answer.is_ok(), is_valid, "{answer:?}");
        assert!(!format!("{settings:?}{answer:?}").contains("canary"));
    }
    assert_eq!(project.issued.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn errors_of_google_and_of_claude_are_told_apart() {
    let limited = r#"{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}"#;
    for (kind, answer, expected, after) in [
        (ProviderKind::Gemini, json(429, limited), LlmErrorKind::RateLimited, Some(7)),
        (ProviderKind::Anthropic, json(429, limited), LlmErrorKind::RateLimited, Some(7)),
        (ProviderKind::Anthropic, json(429, TOO_OFTEN), LlmErrorKind::RateLimited, None),
        (ProviderKind::Anthropic, json(529, OVERLOADED), LlmErrorKind::Overloaded, None),
        (
            ProviderKind::Anthropic,
            google_error(404, "NOT_FOUND", "Publisher Model was not found"),
            LlmErrorKind::UnknownModel,
            None,
        ),
    ] {
        let fake = Fake::start(vec![answer]).await;
        let token = GoogleCredentials::AccessToken(Secret::new(STATIC_TOKEN));
        let settings = one_provider(vertex(&fake, kind, token));
        let error = stream(&settings, &request("hello")).await.unwrap_err();
        assert_eq!(error.failure.kind, expected, "{error}");
        assert_eq!(error.failure.retry_after, after.map(Duration::from_secs), "{error}");
    }
}

#[tokio::test]
async fn another_location_is_tried_if_one_has_no_room() {
    let full = Fake::start(vec![google_error(429, "RESOURCE_EXHAUSTED", "no room")]).await;
    let (_, good) = Project::default().serve().await;
    let endpoint = |region: &str, fake: &Fake| EndpointSettings {
        name: region.to_owned(),
        base_url: Some(format!("http://{}", fake.address)),
        api_key: None,
        region: Some(region.to_owned()),
        weight: 1,
    };
    let mut settings = with_account(&good, ProviderKind::Anthropic);
    settings.providers[0].endpoints = vec![endpoint("us-east5", &full), endpoint(LOCATION, &good)];
    settings.models[0].pool.route = Some(tollgate_llm::settings::RoutePolicy::Order);
    assert_eq!(stream(&settings, &request("hello")).await.unwrap(), "echo: hello");
    let path = full.only().path().to_owned();
    assert!(path.starts_with("/v1/projects/acme-1/locations/us-east5/"), "{path}");
}

#[tokio::test]
async fn a_model_may_be_at_google_and_at_its_vendor() {
    let (_, cloud) = Project::default().serve().await;
    let vendor = Fake::start(vec![json(529, OVERLOADED)]).await;
    let vendors = ProviderSettings {
        name: "vendor".to_owned(),
        ..provider(ProviderKind::Anthropic, vendor.address)
    };
    let at = |provider: &str| ModelProviderSettings {
        provider: provider.to_owned(),
        id: "m-id".to_owned(),
        weight: 1,
        price: None,
    };
    let pool =
        PoolSettings { providers: vec![at("vendor"), at("fake")], ..PoolSettings::default() };
    let mut settings = with_account(&cloud, ProviderKind::Anthropic);
    settings.providers.push(vendors);
    settings.models = vec![ModelSettings { pool, ..model("m") }];
    assert_eq!(ask(&settings, &request("hello")).await.unwrap(), "echo: hello");
    assert_eq!(vendor.only().json()["model"], "m-id");
    assert_eq!(vendor.only().header("anthropic-version"), Some("2023-06-01"));
}

#[tokio::test]
async fn what_vertex_has_not_is_not_offered() {
    let (_, fake) = Project::default().serve().await;
    for kind in KINDS {
        let models = ModelRegistry::new(&with_account(&fake, kind), clock(), None).unwrap();
        let model = models.find("m").unwrap();
        for endpoint in [
            SideEndpoint::CountTokens,
            SideEndpoint::GeminiCountTokens,
            SideEndpoint::GeminiEmbed,
            SideEndpoint::GeminiBatchEmbed,
        ] {
            assert!(!model.has_endpoint(endpoint), "{endpoint:?}");
        }
        for dialect in [Dialect::Anthropic, Dialect::Gemini] {
            assert!(!model.may_pass(dialect));
        }
        let embedding = RemoteEmbeddingSettings {
            provider: "fake".to_owned(),
            model: "e".to_owned(),
            dimensions: None,
            passage_prefix: String::new(),
            question_prefix: String::new(),
        };
        let refused = models.embedder(&embedding).err().unwrap();
        assert!(matches!(refused, ModelConfigError::NoEmbeddings(_)), "{refused}");
    }
    assert!(fake.requests_seen().is_empty());
}

#[tokio::test]
async fn an_unreachable_token_endpoint_may_be_tried_again() {
    let (_, fake) = Project::default().serve().await;
    let url = Some("http://127.0.0.1:9/metadata".to_owned());
    let metadata = GoogleCredentials::Metadata { url };
    let settings = one_provider(vertex(&fake, ProviderKind::Gemini, metadata));
    let error = ask(&settings, &request("hello")).await.unwrap_err();
    assert!(matches!(error.again, RetryTarget::SameModel { .. }), "{error}");
}
