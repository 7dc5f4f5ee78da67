//! Amazon Bedrock: signatures, bodies, binary event streams and errors, against a strict fake.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::join_all;
use tollgate_core::secret::Secret;
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::LlmErrorKind;
use tollgate_llm::extra::Extra;
use tollgate_llm::provider::{ModelRegistry, RetryTarget, SideEndpoint};
use tollgate_llm::settings::{
    AwsCredentials, BedrockSettings, CloudSettings, EndpointSettings, LlmSettings,
    ModelProviderSettings, ModelSettings, PoolSettings, ProviderKind, ProviderSettings,
    RoutePolicy,
};

use crate::aws_fake::{
    API_KEY, Account, KEY_ID, REGION, SECRET_KEY, SESSION_TOKEN, check_access, claude_frames,
    exception, exception_frame, exception_with, send_frames,
};
use crate::clouds::{after_a_call, ask, one_provider, stream};
use crate::fake::{Act, Fake, Seen, json};
use crate::stage::{clock, model, provider, read_stream, request};
use crate::wire::OVERLOADED;

async fn serve(account: Account) -> Fake {
    Fake::answering(move |seen| account.answer(seen)).await
}

const ACCOUNT: Account = Account { has_session: false };

fn access_key(secret: &str, session_token: Option<&str>) -> AwsCredentials {
    AwsCredentials::AccessKey {
        access_key_id: KEY_ID.to_owned(),
        secret_access_key: Secret::new(secret),
        session_token: session_token.map(Secret::new),
    }
}

fn bedrock(fake: &Fake, kind: ProviderKind, credentials: AwsCredentials) -> ProviderSettings {
    let settings = BedrockSettings { region: REGION.to_owned(), credentials };
    ProviderSettings {
        api_key: None,
        cloud: Some(CloudSettings::Bedrock(settings)),
        ..provider(kind, fake.address)
    }
}

fn claude(fake: &Fake) -> LlmSettings {
    one_provider(bedrock(fake, ProviderKind::Anthropic, access_key(SECRET_KEY, None)))
}

#[tokio::test]
async fn claude_answers_whole_and_in_steps_for_every_kind_of_credentials() {
    for (account, credentials) in [
        (ACCOUNT, access_key(SECRET_KEY, None)),
        (Account { has_session: true }, access_key(SECRET_KEY, Some(SESSION_TOKEN))),
        (ACCOUNT, AwsCredentials::ApiKey(Secret::new(API_KEY))),
    ] {
        let fake = serve(account).await;
        let settings = one_provider(bedrock(&fake, ProviderKind::Anthropic, credentials));
        assert_eq!(ask(&settings, &request("one")).await.unwrap(), "echo: one");
        assert_eq!(stream(&settings, &request("zwei ü")).await.unwrap(), "echo: zwei ü");
        let calls = after_a_call();
        assert!(ask(&settings, &calls).await.unwrap().starts_with("echo: "));
        assert!(stream(&settings, &calls).await.unwrap().starts_with("echo: "));
        assert!(fake.requests_seen().iter().all(|it| it.header("anthropic-version").is_none()));
    }
}

#[tokio::test]
async fn models_of_the_other_api_are_asked_in_the_form_of_openai() {
    for credentials in [access_key(SECRET_KEY, None), AwsCredentials::ApiKey(Secret::new(API_KEY))]
    {
        let fake = serve(ACCOUNT).await;
        let settings = one_provider(bedrock(&fake, ProviderKind::OpenAi, credentials));
        assert_eq!(ask(&settings, &request("one")).await.unwrap(), "From chat");
        assert_eq!(fake.only().path(), "/openai/v1/chat/completions");
    }
}

#[tokio::test]
async fn ids_with_colons_and_slashes_are_signed_as_they_are_sent() {
    let fake = serve(ACCOUNT).await;
    for id in ["anthropic.claude-opus-4-8-v1:0", "arn:aws:bedrock:a/b"] {
        let mut settings = claude(&fake);
        settings.models[0].id = id.to_owned();
        assert_eq!(ask(&settings, &request("one")).await.unwrap(), "echo: one", "{id}");
        assert_eq!(stream(&settings, &request("two")).await.unwrap(), "echo: two", "{id}");
    }
}

#[tokio::test]
async fn features_of_anthropic_are_a_list_in_the_body() {
    let fake = serve(ACCOUNT).await;
    let mut asked = request("one");
    let fields = [("anthropic-beta".to_owned(), "context-1m-2025-08-07,other-2".into())];
    asked.extra.merge(Extra::new(Dialect::Anthropic, fields.into_iter().collect()));
    ask(&claude(&fake), &asked).await.unwrap();
    let seen = fake.only();
    let expected = serde_json::json!(["context-1m-2025-08-07", "other-2"]);
    assert_eq!(seen.json()["anthropic_beta"], expected);
    assert_eq!(seen.header("anthropic-beta"), None);
}

#[tokio::test]
async fn wrong_credentials_are_told_without_them() {
    let expired = Account { has_session: true };
    for (account, credentials, code) in [
        (ACCOUNT, access_key("other-canary-0123456789", None), "InvalidSignatureException"),
        (ACCOUNT, access_key(SECRET_KEY, Some(SESSION_TOKEN)), "UnrecognizedClientException"),
        (expired, access_key(SECRET_KEY, None), "UnrecognizedClientException"),
        (
            ACCOUNT,
            AwsCredentials::ApiKey(Secret::new("no-canary-0123456789")),
            "AccessDeniedException",
        ),
    ] {
        let fake = serve(account).await;
        let settings = one_provider(bedrock(&fake, ProviderKind::Anthropic, credentials));
        let error = ask(&settings, &request("one")).await.unwrap_err();
        assert_eq!(error.failure.kind, LlmErrorKind::Provider);
        let expected = format!(
            "provider `fake` rejected the gateway's key (HTTP 403, {code}): check \
             `providers.fake.bedrock`"
        );
        assert_eq!(error.failure.message, expected);
        assert_eq!(error.again, RetryTarget::OtherModel);
        assert!(!format!("{settings:?}").contains("canary"));
    }
}

/// A clock whose time of day is wrong.
struct ShiftedClock(Duration);

impl Clock for ShiftedClock {
    fn now(&self) -> Instant {
        SystemClock.now()
    }

    fn wall(&self) -> SystemTime {
        SystemClock.wall() - self.0
    }
}

#[tokio::test]
async fn the_fake_refuses_another_region_an_old_date_and_changed_requests() {
    let fake = serve(ACCOUNT).await;
    let mut elsewhere = claude(&fake);
    let cloud = elsewhere.providers[0].cloud.take().unwrap();
    elsewhere.providers[0].cloud = Some(cloud.in_region("us-east-1"));
    let error = ask(&elsewhere, &request("one")).await.unwrap_err();
    assert!(error.failure.message.contains("InvalidSignatureException"), "{error}");

    let late: Arc<dyn Clock> = Arc::new(ShiftedClock(Duration::from_secs(600)));
    let models = ModelRegistry::new(&claude(&fake), late, None).unwrap();
    let error = models.find("m").unwrap().ask(&request("one")).await.unwrap_err();
    assert!(error.failure.message.contains("InvalidSignatureException"), "{error}");

    ask(&claude(&fake), &request("one")).await.unwrap();
    let seen = fake.requests_seen().pop().unwrap();
    let check = |seen: &Seen| check_access(seen, ACCOUNT, SystemClock.wall());
    assert_eq!(check(&seen), Ok(()));
    let mut body = seen.clone();
    body.body = body.body.replace("one", "two");
    let mut path = seen.clone();
    path.head = path.head.replacen("/m-id/", "/n-id/", 1);
    let mut kind = seen;
    kind.head = kind.head.replacen("application/json", "application/yaml", 1);
    for changed in [body, path, kind] {
        assert!(check(&changed).is_err(), "{changed:?}");
    }
}

#[tokio::test]
async fn callers_at_once_get_their_own_answers() {
    let fake = serve(ACCOUNT).await;
    let models = ModelRegistry::new(&claude(&fake), clock(), None).unwrap();
    let model = models.find("m").unwrap();
    let ask = async |number: usize| {
        let said = format!("caller {number}");
        let asked = request(&said);
        let text = if number.is_multiple_of(2) {
            model.ask(&asked).await.unwrap().text()
        } else {
            read_stream(model.stream(&asked).await.unwrap()).await.unwrap().text()
        };
        assert_eq!(text, format!("echo: {said}"));
    };
    join_all((0..8).map(ask)).await;
}

#[tokio::test]
async fn errors_of_bedrock_have_their_kinds() {
    let wait = [("retry-after", "7")];
    let throttled = "ThrottlingException";
    let no_model = "The provided model identifier is invalid.";
    for (answer, kind, after) in [
        (exception(429, throttled, "Too many requests"), LlmErrorKind::RateLimited, None),
        (exception_with(429, throttled, "Wait", &wait), LlmErrorKind::RateLimited, Some(7)),
        (exception(404, "ResourceNotFoundException", "none"), LlmErrorKind::UnknownModel, None),
        (exception(400, "ValidationException", no_model), LlmErrorKind::UnknownModel, None),
        (
            exception(400, "ValidationException", "Input is too long for requested model."),
            LlmErrorKind::TooLong,
            None,
        ),
        (exception(400, "ValidationException", "bad"), LlmErrorKind::Invalid, None),
        (exception(424, "ModelErrorException", "broken"), LlmErrorKind::Provider, None),
        (exception(503, "ServiceUnavailableException", "full"), LlmErrorKind::Overloaded, None),
    ] {
        let fake = Fake::start(vec![answer]).await;
        for error in [
            ask(&claude(&fake), &request("one")).await.unwrap_err(),
            stream(&claude(&fake), &request("one")).await.unwrap_err(),
        ] {
            assert_eq!(error.failure.kind, kind, "{error}");
            assert_eq!(error.failure.retry_after, after.map(Duration::from_secs), "{error}");
        }
    }
}

#[tokio::test]
async fn exceptions_before_the_first_token_are_errors_of_the_request() {
    for (code, kind) in [
        ("throttlingException", LlmErrorKind::RateLimited),
        ("modelStreamErrorException", LlmErrorKind::Provider),
        ("validationException", LlmErrorKind::Invalid),
    ] {
        let fake = Fake::start(vec![send_frames(&[exception_frame(code, "Not now.")])]).await;
        let error = stream(&claude(&fake), &request("one")).await.unwrap_err();
        assert_eq!(error.failure.kind, kind, "{error}");
        assert!(error.failure.message.ends_with("Not now."), "{error}");
    }
}

#[tokio::test]
async fn streams_that_break_are_told_from_those_that_end() {
    let whole = claude_frames("text");
    let begun = &whole[..4];
    let mut corrupted = whole.clone();
    corrupted[4][30] ^= 1;
    let cut = [begun.concat(), whole[4][..20].to_vec()];
    let exception = exception_frame("modelStreamErrorException", "The model broke.");
    let huge = [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
    for (frames, expected) in [
        (begun.to_vec(), "interrupted"),
        (cut.to_vec(), "it ended in the middle of a frame"),
        (corrupted, "a frame is invalid"),
        ([begun.concat(), exception].to_vec(), "The model broke."),
        ([begun.concat(), huge.to_vec()].to_vec(), "a frame is larger than"),
    ] {
        let fake = Fake::start(vec![send_frames(&frames)]).await;
        let models = ModelRegistry::new(&claude(&fake), clock(), None).unwrap();
        let stream = models.find("m").unwrap().stream(&request("one")).await.unwrap();
        let (text, failure) = read_stream(stream).await.unwrap_err();
        assert_eq!(text, "echo: text", "{failure}");
        assert!(failure.message.contains(expected), "{failure}");
    }
}

#[tokio::test]
async fn frames_may_come_byte_by_byte() {
    let mut acts = send_frames(&[]);
    acts.insert(1, Act::Drip(claude_frames("slowly").concat()));
    let fake = Fake::start(vec![acts]).await;
    assert_eq!(stream(&claude(&fake), &request("one")).await.unwrap(), "echo: slowly");
}

#[tokio::test]
async fn another_content_type_is_no_stream() {
    let fake = Fake::start(vec![json(200, "{}")]).await;
    let error = stream(&claude(&fake), &request("one")).await.unwrap_err();
    let expected = "instead of an event stream of AWS: check its `base_url`";
    assert!(error.failure.message.ends_with(expected), "{error}");
}

#[tokio::test]
async fn another_region_or_provider_is_tried() {
    let good = serve(ACCOUNT).await;
    let limited = send_frames(&[exception_frame("throttlingException", "Not now.")]);
    let full = Fake::start(vec![limited]).await;
    let endpoint = |region: &str, fake: &Fake| EndpointSettings {
        name: region.to_owned(),
        base_url: Some(format!("http://{}", fake.address)),
        api_key: None,
        region: Some(region.to_owned()),
        weight: 1,
    };
    let mut regions = claude(&good);
    regions.providers[0].endpoints = vec![endpoint("us-west-2", &full), endpoint(REGION, &good)];
    regions.models[0].pool.route = Some(RoutePolicy::Order);
    assert_eq!(stream(&regions, &request("hello")).await.unwrap(), "echo: hello");
    let signed = full.only().header("authorization").unwrap().to_owned();
    assert!(signed.contains("/us-west-2/bedrock/aws4_request"), "{signed}");

    let vendor = Fake::start(vec![json(529, OVERLOADED)]).await;
    let vendors = provider(ProviderKind::Anthropic, vendor.address);
    let at = |provider: &str| ModelProviderSettings {
        provider: provider.to_owned(),
        id: "m-id".to_owned(),
        weight: 1,
        price: None,
    };
    let pool =
        PoolSettings { providers: vec![at("vendor"), at("fake")], ..PoolSettings::default() };
    let mut both = claude(&good);
    both.providers.push(ProviderSettings { name: "vendor".to_owned(), ..vendors });
    both.models = vec![ModelSettings { pool, ..model("m") }];
    assert_eq!(ask(&both, &request("hello")).await.unwrap(), "echo: hello");
    assert_eq!(vendor.requests_seen().len(), 1);
}

#[tokio::test]
async fn what_bedrock_has_not_is_not_offered() {
    let fake = serve(ACCOUNT).await;
    let models = ModelRegistry::new(&claude(&fake), clock(), None).unwrap();
    let model = models.find("m").unwrap();
    assert!(!model.has_endpoint(SideEndpoint::CountTokens));
    assert!(!model.may_pass(Dialect::Anthropic));
    let key = AwsCredentials::ApiKey(Secret::new(API_KEY));
    let openai = one_provider(bedrock(&fake, ProviderKind::OpenAi, key));
    let models = ModelRegistry::new(&openai, clock(), None).unwrap();
    let model = models.find("m").unwrap();
    assert!(!model.has_endpoint(SideEndpoint::Embeddings));
    assert!(model.may_pass(Dialect::OpenAiChat));
}
