//! Pools and requests that are handed on as they came.

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::BodyExt;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::format::RequestUrlParams;
use tollgate_llm::provider::PassThroughRequest;
use tollgate_llm::settings::{
    ModelSettings, PoolSettings, ProviderKind, ProviderSettings, RoutePolicy,
};

use crate::fake::{Act, Fake, encode_chunks, json, response, stream, stream_head};
use crate::pools_stage::{Pool, at, endpoints, route};
use crate::stage::{model, provider};
use crate::wire::{ANSWER, EVENTS, INVALID, OVERLOADED, TOO_OFTEN};

fn passed(stream: &str) -> PassThroughRequest {
    let body = format!(r#"{{"model":"m","max_tokens":9,"stream":{stream},"messages":[]}}"#);
    let address = RequestUrlParams::default();
    PassThroughRequest::read(Bytes::from(body), HeaderMap::new(), &address).unwrap()
}

async fn pass(pool: &Pool, stream: &str) -> (u16, String) {
    let answer = pool.model().pass(passed(stream)).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_passed_request_is_sent_to_the_next_endpoint() {
    for trouble in [json(429, TOO_OFTEN), json(529, OVERLOADED), vec![Act::Close]] {
        let bad = Fake::start(vec![trouble]).await;
        let good = Fake::start(vec![json(200, ANSWER)]).await;
        let pool = Pool::new(&endpoints(&[&bad, &good], route(RoutePolicy::Order)));
        assert_eq!(pass(&pool, "false").await, (200, ANSWER.to_owned()));
        assert_eq!(bad.requests_seen().len(), 1);
    }
}

#[tokio::test]
async fn a_passed_stream_that_fails_before_its_first_event_goes_on_elsewhere() {
    let event = format!("event: error\ndata: {OVERLOADED}\n\n");
    let silent = vec![Act::Send(stream_head()), Act::Close];
    for trouble in [stream(event.as_bytes()), silent] {
        let bad = Fake::start(vec![trouble]).await;
        let good = Fake::start(vec![encode_chunks(EVENTS)]).await;
        let pool = Pool::new(&endpoints(&[&bad, &good], route(RoutePolicy::Order)));
        assert_eq!(pass(&pool, "true").await, (200, EVENTS.to_owned()));
        assert_eq!(pool.target("one").status.counts.failed, 1);
        assert!(pool.target("two").status.first_token.is_some());
    }
}

#[tokio::test]
async fn the_last_providers_own_words_are_passed_when_all_fail() {
    let first = Fake::start(vec![json(400, INVALID)]).await;
    let second = Fake::start(vec![]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], route(RoutePolicy::Order)));
    assert_eq!(pass(&pool, "false").await, (400, INVALID.to_owned()));
    let headers = [("content-type", "application/json"), ("retry-after", "50")];
    let busy = vec![Act::Send(response(429, &headers, TOO_OFTEN))];
    let first = Fake::start(vec![busy.clone()]).await;
    let second = Fake::start(vec![busy]).await;
    let pool = Pool::new(&endpoints(&[&first, &second], route(RoutePolicy::Order)));
    assert_eq!(pass(&pool, "false").await, (429, TOO_OFTEN.to_owned()));
}

#[tokio::test]
async fn only_one_model_of_one_provider_gets_requests_unchanged() {
    let fake = Fake::start(vec![]).await;
    let of = |name: &str| ProviderSettings {
        name: name.to_owned(),
        ..provider(ProviderKind::Anthropic, fake.address)
    };
    let mut settings = endpoints(&[&fake, &fake], PoolSettings::default());
    assert!(Pool::new(&settings).model().may_pass(Dialect::Anthropic));
    assert!(!Pool::new(&settings).model().may_pass(Dialect::OpenAiChat));
    settings.providers = vec![of("a"), of("b")];
    let providers = vec![at("a", "x"), at("b", "x")];
    let pool = PoolSettings { providers, ..PoolSettings::default() };
    settings.models = vec![ModelSettings { provider: Some("a".to_owned()), pool, ..model("m") }];
    assert!(!Pool::new(&settings).model().may_pass(Dialect::Anthropic), "whose signatures?");
}
