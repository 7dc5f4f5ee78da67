//! The key goes to its provider and nowhere else.

use tollgate_core::secret::Secret;
use tollgate_llm::settings::{LlmSettings, ProviderKind, ProviderSettings};

use crate::fake::{Act, Fake, json, response, stream};
use crate::stage::{KEY, model, provider, request, serve_one};

const CANARY: &str = "header-canary-42";

/// A provider that repeats the key wherever it can.
#[tokio::test]
async fn no_failure_shows_a_key() {
    let words = format!("you sent {KEY} and {CANARY}, again {KEY}");
    let error = |kind: &str| {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{words}"}}}}"#)
    };
    let typed =
        |kind: &str, body: &str| vec![Act::Send(response(200, &[("content-type", kind)], body))];
    let mut reactions = Vec::new();
    for kind in ["invalid_request_error", "rate_limit_error", "api_error", KEY] {
        for status in [400, 401, 403, 404, 429, 500] {
            reactions.push(json(status, &error(kind)));
        }
    }
    reactions.push(json(500, &words));
    reactions.push(typed(KEY, "{}"));
    reactions.push(typed("application/json", &words));
    reactions.push(typed("application/json", &format!(r#"{{"type":"{KEY}"}}"#)));
    reactions.push(vec![Act::Send(response(200, &[("content-encoding", KEY)], "{}"))]);
    reactions.push(vec![Act::Send(response(302, &[("location", KEY)], ""))]);
    for acts in reactions {
        let fake = Fake::start(vec![acts.clone()]).await;
        let settings = ProviderSettings {
            headers: vec![("x-team".to_owned(), Secret::new(CANARY))],
            ..provider(ProviderKind::Anthropic, fake.address)
        };
        let model = serve_one(settings);
        let whole = model.ask(&request("hello")).await.unwrap_err();
        let streamed = model.stream(&request("hello")).await.map(drop).unwrap_err();
        for error in [whole, streamed] {
            let shown = format!("{error:?} {error}");
            assert!(!shown.contains(KEY), "{shown} after {acts:?}");
            assert!(!shown.contains(CANARY), "{shown} after {acts:?}");
        }
    }
    let events = format!("event: error\ndata: {}\n\n", error("api_error"));
    let fake = Fake::start(vec![stream(events.as_bytes())]).await;
    let model = serve_one(provider(ProviderKind::Anthropic, fake.address));
    let error = model.stream(&request("hello")).await.map(drop).unwrap_err();
    assert!(!format!("{error:?}").contains(KEY));
}

#[tokio::test]
async fn each_kind_of_provider_gets_the_key_in_its_own_header() {
    for (kind, name, value) in [
        (ProviderKind::Anthropic, "x-api-key", KEY.to_owned()),
        (ProviderKind::Gemini, "x-goog-api-key", KEY.to_owned()),
        (ProviderKind::OpenAi, "authorization", format!("Bearer {KEY}")),
    ] {
        let fake = Fake::start(vec![json(500, "{}")]).await;
        let settings = ProviderSettings {
            headers: vec![("x-team".to_owned(), Secret::new(CANARY))],
            ..provider(kind, fake.address)
        };
        serve_one(settings).ask(&request("hello")).await.unwrap_err();
        let seen = fake.only();
        assert_eq!(seen.header(name), Some(value.as_str()));
        assert_eq!(seen.header("x-team"), Some(CANARY));
        assert_eq!(seen.head.matches(KEY).count(), 1, "{}", seen.head);
        assert!(!seen.path().contains(KEY));
        assert!(!seen.body.contains(KEY));
    }
}

#[test]
fn settings_do_not_show_the_key() {
    let settings = LlmSettings {
        providers: vec![ProviderSettings {
            headers: vec![("x-team".to_owned(), Secret::new(CANARY))],
            ..provider(ProviderKind::OpenAi, "127.0.0.1:1".parse().unwrap())
        }],
        models: vec![model("m")],
    };
    let shown = format!("{settings:?}");
    assert!(!shown.contains(KEY) && !shown.contains(CANARY), "{shown}");
}

#[test]
fn what_cannot_be_sent_is_refused_without_being_shown() {
    for (key, header) in [(Some("a\nb-canary"), None), (None, Some("a\nb-canary"))] {
        let settings = ProviderSettings {
            api_key: key.map(Secret::new),
            cloud: None,
            endpoints: Vec::new(),
            headers: header.map(|it| ("x-team".to_owned(), Secret::new(it))).into_iter().collect(),
            ..provider(ProviderKind::OpenAi, "127.0.0.1:1".parse().unwrap())
        };
        let settings = LlmSettings { providers: vec![settings], models: Vec::new() };
        let models =
            tollgate_llm::provider::ModelRegistry::new(&settings, crate::stage::clock(), None);
        let error = models.map(drop).unwrap_err().to_string();
        assert!(error.starts_with("provider `fake`: "), "{error}");
        assert!(!error.contains("canary"), "{error}");
    }
}
