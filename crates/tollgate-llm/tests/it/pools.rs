//! Several keys, regions and providers of one model: who is asked, and who answers instead.

use std::time::Duration;

use tollgate_core::circuit_breaker::{BreakerState, CONSECUTIVE_FAILURES, FIRST_OPEN_PERIOD};
use tollgate_llm::error::LlmErrorKind;
use tollgate_llm::provider::ModelRegistry;
use tollgate_llm::settings::{
    LlmSettings, ModelProviderSettings, ModelSettings, PoolSettings, ProviderKind,
    ProviderSettings, RoutePolicy,
};

use crate::fake::{Act, Fake, encode_chunks, json, response, stream};
use crate::pools_stage::{Pool, at, endpoints, route};
use crate::stage::{clock, model, provider, read_stream, request};
use crate::wire::events_before;
use crate::wire::{ANSWER, EVENTS, INVALID, NO_KEY, NO_MODEL, OVERLOADED, TOO_OFTEN};

const CHAT_ANSWER: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"gpt","choices":[{"index":0,"message":{"role":"assistant","content":"From chat"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;

fn rate_limit(after: &str) -> Vec<Act> {
    let headers = [("content-type", "application/json"), ("retry-after", after)];
    vec![Act::Send(response(429, &headers, TOO_OFTEN))]
}

#[tokio::test]
async fn an_endpoint_that_fails_is_not_the_clients_problem() {
    for trouble in [
        json(500, "{}"),
        json(529, OVERLOADED),
        json(401, NO_KEY),
        json(404, NO_MODEL),
        rate_limit("60"),
        vec![Act::Close],
        vec![Act::Send(response(200, &[("content-type", "text/html")], "<p>"))],
    ] {
        let bad = Fake::start(vec![trouble]).await;
        let good = Fake::start(vec![json(200, ANSWER)]).await;
        let pool = Pool::new(&endpoints(&[&bad, &good], route(RoutePolicy::Order)));
        assert_eq!(pool.ask(None).await.unwrap(), "Hello there");
        assert_eq!((bad.requests_seen().len(), good.requests_seen().len()), (1, 1));
        assert_eq!(bad.only().header("x-api-key"), Some("sk-of-one-0123456789"));
        assert_eq!(good.only().header("x-api-key"), Some("sk-of-two-0123456789"));
        let counts = pool.target("one").status.counts;
        assert_eq!((counts.answered, counts.failed + counts.rate_limited), (0, 1));
        assert_eq!(pool.target("two").status.counts.answered, 1);
    }
}

#[tokio::test]
async fn a_stream_without_a_first_token_goes_on_elsewhere() {
    let start = events_before("content_block_delta");
    for trouble in [stream(start.as_bytes()), stream(b"data: nonsense\n\n"), vec![Act::Close]] {
        let bad = Fake::start(vec![trouble]).await;
        let good = Fake::start(vec![encode_chunks(EVENTS)]).await;
        let pool = Pool::new(&endpoints(&[&bad, &good], route(RoutePolicy::Order)));
        let answer = read_stream(pool.stream().await).await.unwrap();
        assert_eq!(answer.text(), "Hello thére");
        assert_eq!(pool.target("one").status.counts.failed, 1);
        assert!(pool.target("two").status.first_token.is_some());
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_counted_and_not_asked_again() {
    let cut = Fake::start(vec![stream(events_before("message_delta").as_bytes())]).await;
    let other = Fake::start(vec![]).await;
    let pool = Pool::new(&endpoints(&[&cut, &other], route(RoutePolicy::Order)));
    let (text, failure) = read_stream(pool.stream().await).await.unwrap_err();
    assert_eq!((text.as_str(), failure.kind), ("Hello thére", LlmErrorKind::Provider));
    let counts = pool.target("one").status.counts;
    assert_eq!((counts.answered, counts.interrupted), (1, 1));
}

#[tokio::test]
async fn a_wrong_request_is_sent_once() {
    let first = Fake::start(vec![json(400, INVALID)]).await;
    let second = Fake::start(vec![]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], route(RoutePolicy::Order)));
    assert_eq!(pool.ask(None).await.unwrap_err().kind, LlmErrorKind::Invalid);
    assert_eq!(pool.target("one").status.counts.rejected, 1);
}

#[tokio::test]
async fn a_rate_limited_key_is_left_alone_until_its_time() {
    let first = Fake::start(vec![rate_limit("60")]).await;
    let second = Fake::start(vec![json(200, ANSWER), rate_limit("40")]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], route(RoutePolicy::Order)));
    pool.ask(None).await.unwrap();
    let failure = pool.ask(None).await.unwrap_err();
    assert_eq!(failure.kind, LlmErrorKind::RateLimited);
    assert!(pool.target("one").status.rate_limited_for > Some(Duration::from_secs(50)));
    let failure = pool.ask(None).await.unwrap_err();
    assert_eq!(failure.message, "all providers of model `m` are rate limiting");
    assert!(failure.retry_after > Some(Duration::from_secs(30)), "{failure:?}");
    assert!(failure.retry_after <= Some(Duration::from_secs(40)), "the sooner: {failure:?}");
    assert_eq!((first.requests_seen().len(), second.requests_seen().len()), (1, 2));
}

#[tokio::test]
async fn an_open_breaker_skips_an_endpoint_and_a_probe_brings_it_back() {
    let mut reactions = vec![json(500, "{}"); CONSECUTIVE_FAILURES as usize];
    reactions.push(json(200, ANSWER));
    let first = Fake::start(reactions).await;
    let second = Fake::start(vec![json(200, ANSWER)]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], route(RoutePolicy::Order)));
    for _ in 0..CONSECUTIVE_FAILURES + 2 {
        pool.ask(None).await.unwrap();
    }
    assert_eq!(first.requests_seen().len(), CONSECUTIVE_FAILURES as usize);
    assert_eq!(pool.target("one").status.breaker, BreakerState::Open);
    tokio::time::sleep(FIRST_OPEN_PERIOD + Duration::from_millis(50)).await;
    pool.ask(None).await.unwrap();
    assert_eq!(first.requests_seen().len(), CONSECUTIVE_FAILURES as usize + 1);
    assert_eq!(pool.target("one").status.breaker, BreakerState::Closed);
}

#[tokio::test]
async fn breakers_alone_never_fail_a_request() {
    let mut reactions = vec![json(500, "{}"); CONSECUTIVE_FAILURES as usize];
    reactions.push(json(200, ANSWER));
    let first = Fake::start(reactions).await;
    let second = Fake::start(vec![json(500, "{}")]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], route(RoutePolicy::Order)));
    for _ in 0..CONSECUTIVE_FAILURES {
        pool.ask(None).await.unwrap_err();
    }
    assert_eq!(pool.target("one").status.breaker, BreakerState::Open);
    assert_eq!(pool.target("two").status.breaker, BreakerState::Open);
    assert_eq!(pool.ask(None).await.unwrap(), "Hello there");
}

#[tokio::test]
async fn a_hanging_endpoint_leaves_time_for_the_next() {
    let first = Fake::start(vec![vec![Act::Hang]]).await;
    let second = Fake::start(vec![json(200, ANSWER)]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], route(RoutePolicy::Order)));
    let answer = pool.ask(Some(Duration::from_secs(2))).await;
    assert_eq!(answer.unwrap(), "Hello there");
    assert_eq!(pool.target("one").status.counts.failed, 1);
}

#[tokio::test]
async fn keys_of_one_provider_share_the_load_by_weight() {
    let first = Fake::start(vec![json(200, ANSWER)]).await;
    let second = Fake::start(vec![json(200, ANSWER)]).await;
    let spare = Fake::start(vec![]).await;
    let mut settings = endpoints(&[&first, &second, &spare], PoolSettings::default());
    settings.providers[0].endpoints[0].weight = 3;
    settings.providers[0].endpoints[2].weight = 0;
    let pool = Pool::new(&settings);
    for _ in 0..100 {
        pool.ask(None).await.unwrap();
    }
    let share = first.requests_seen().len();
    assert!((55..=92).contains(&share), "{share} of 100 where 75 are expected");
    assert_eq!(second.requests_seen().len(), 100 - share);
}

#[tokio::test]
async fn providers_of_different_apis_serve_one_model() {
    let claude = Fake::start(vec![json(200, ANSWER), json(529, OVERLOADED)]).await;
    let chat = Fake::start(vec![json(200, CHAT_ANSWER)]).await;
    let of = |name: &str, kind, fake: &Fake| ProviderSettings {
        name: name.to_owned(),
        ..provider(kind, fake.address)
    };
    let pool = PoolSettings {
        providers: vec![at("claude", "claude-x"), at("chat", "gpt-x")],
        ..PoolSettings::default()
    };
    let served = ModelSettings {
        provider: Some("claude".to_owned()),
        id: "claude-x".to_owned(),
        pool,
        ..model("m")
    };
    let settings = LlmSettings {
        providers: vec![
            of("claude", ProviderKind::Anthropic, &claude),
            of("chat", ProviderKind::OpenAi, &chat),
        ],
        models: vec![served],
    };
    let pool = Pool::new(&settings);
    assert_eq!(pool.ask(None).await.unwrap(), "Hello there", "in the listed order");
    assert_eq!(pool.ask(None).await.unwrap(), "From chat");
    assert_eq!(claude.requests_seen()[0].json()["model"], "claude-x");
    assert_eq!(chat.only().json()["model"], "gpt-x");
    assert_eq!(chat.only().path(), "/chat/completions");
    let one = pool.registry.find("chat/gpt-x").unwrap();
    assert_eq!(one.targets().len(), 1, "a provider that is named is meant");
    assert_eq!(one.settings.context_window, 8_192);
}

#[tokio::test]
async fn the_faster_endpoint_is_found_by_measuring() {
    let slow = [vec![Act::Wait(Duration::from_millis(300))], encode_chunks(EVENTS)].concat();
    let slow = Fake::start(vec![slow]).await;
    let fast = Fake::start(vec![encode_chunks(EVENTS)]).await;
    let pool = Pool::new(&endpoints(&[&slow, &fast], route(RoutePolicy::Latency)));
    for _ in 0..6 {
        read_stream(pool.stream().await).await.unwrap();
    }
    assert_eq!((slow.requests_seen().len(), fast.requests_seen().len()), (1, 5));
    let measured = pool.target("one").status.first_token.unwrap();
    assert!(measured >= Duration::from_millis(300), "{measured:?}");
    assert!(pool.target("two").status.first_token.unwrap() < measured);
}

#[tokio::test]
async fn the_cheapest_provider_is_asked_first() {
    let dear = Fake::start(vec![]).await;
    let cheap = Fake::start(vec![json(200, ANSWER)]).await;
    let of = |name: &str, fake: &Fake| ProviderSettings {
        name: name.to_owned(),
        ..provider(ProviderKind::Anthropic, fake.address)
    };
    let priced = |name: &str, price| ModelProviderSettings { price: Some(price), ..at(name, "x") };
    let providers = vec![priced("dear", 15_000_000), priced("cheap", 3_000_000)];
    let pool = PoolSettings { providers, ..route(RoutePolicy::Cost) };
    let served = ModelSettings { provider: Some("dear".to_owned()), pool, ..model("m") };
    let providers = vec![of("dear", &dear), of("cheap", &cheap)];
    let pool = Pool::new(&LlmSettings { providers, models: vec![served] });
    pool.ask(None).await.unwrap();
    assert_eq!(cheap.requests_seen().len(), 1);
}

#[tokio::test]
async fn errors_name_the_endpoint_and_where_its_key_is() {
    let fake = Fake::start(vec![json(401, NO_KEY)]).await;
    let pool = Pool::new(&endpoints(&[&fake], PoolSettings::default()));
    let failure = pool.ask(None).await.unwrap_err();
    assert!(failure.message.starts_with("provider `fake/one` rejected"), "{failure}");
    assert!(failure.message.ends_with("check `providers.fake.endpoints`"), "{failure}");
}

#[tokio::test]
async fn health_is_kept_when_the_config_is_reloaded() {
    let first = Fake::start(vec![rate_limit("60")]).await;
    let second = Fake::start(vec![json(200, ANSWER)]).await;
    let settings = endpoints(&[&first, &second], route(RoutePolicy::Order));
    let before = Pool::new(&settings);
    before.ask(None).await.unwrap();
    let after =
        Pool { registry: ModelRegistry::new(&settings, clock(), Some(&before.registry)).unwrap() };
    drop(before);
    after.ask(None).await.unwrap();
    assert_eq!((first.requests_seen().len(), second.requests_seen().len()), (1, 2));
    assert_eq!(after.target("two").status.counts.answered, 2);
}

#[tokio::test]
async fn models_that_are_not_in_the_config_are_counted_together() {
    let fake = Fake::start(vec![json(200, ANSWER)]).await;
    let pool = Pool::new(&endpoints(&[&fake], PoolSettings::default()));
    for name in ["fake/a", "fake/b", "fake/c", "fake/m-id"] {
        pool.registry.find(name).unwrap().ask(&request("hello")).await.unwrap();
    }
    let counts: Vec<_> =
        pool.registry.targets().into_iter().map(|it| (it.id, it.status.counts.answered)).collect();
    assert_eq!(counts, [(Some("m-id".to_owned()), 1), (None, 3)]);
}
