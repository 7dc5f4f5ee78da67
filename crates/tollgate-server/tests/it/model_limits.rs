//! Limits on model use over real sockets: refusals in each dialect, without a request to the
//! provider.

use std::collections::HashMap;

use serde_json::{Value, json};
use tollgate_core::model_usage::{Cost, ModelLimit, ModelPrice, PriceList, SpeechPrice};
use tollgate_core::turn::PrincipalGrant;
use tollgate_engine::settings::ModelUsageSettings;
use tollgate_server::{ApiKey, Right, Rights};

use crate::chat::agent;
use crate::client::Reply;
use crate::model::Model;
use crate::stage::{ADMIN, Setup, Stage, key};

pub(crate) const BOT: &str = "bot-key-0123456789abcdef";
const CAT: &str = "cat-key-0123456789abcdef";

fn limits(texts: &[&str]) -> Vec<ModelLimit> {
    texts.iter().map(|text| ModelLimit::parse(text).unwrap()).collect()
}

fn rights(rights: &[Right]) -> Rights {
    rights.iter().copied().collect()
}

pub(crate) fn limited(name: &str, secret: &str, texts: &[&str]) -> ApiKey {
    let grant = PrincipalGrant { model_limits: Some(limits(texts)), ..PrincipalGrant::default() };
    ApiKey { grant, ..key(name, secret, rights(&[Right::Execute])) }
}

/// A dollar for a thousand tokens of each kind.
pub(crate) fn prices() -> PriceList {
    let price = Cost::parse("1000").unwrap();
    let all = ModelPrice {
        input: price,
        output: price,
        cached_input: price,
        cache_write: price,
        speech: SpeechPrice::default(),
    };
    PriceList::new(HashMap::from([("m".to_owned(), all)]))
}

async fn stage(model: &Model, keys: Vec<ApiKey>, model_usage: ModelUsageSettings) -> Stage {
    let models = model.settings();
    let agents = vec![agent(&["echo", "wait"])];
    Stage::with(Setup { models, agents, keys, model_usage, ..Setup::default() }).await
}

async fn ask(stage: &Stage, secret: &str, path: &str, body: &Value) -> Reply {
    let call = stage.post(body.to_string()).path(path);
    call.header("authorization", &format!("Bearer {secret}")).send().await
}

fn to(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "hello"}]})
}

pub(crate) async fn usage(stage: &Stage, query: &str) -> Reply {
    let call = stage.request("GET", &format!("/api/usage{query}"));
    call.by_admin().send().await
}

#[tokio::test]
async fn s_33_a_key_beyond_its_requests_gets_429_in_its_dialect_and_nothing_is_sent() {
    let text = json!([{"role": "user", "content": "hello"}]);
    let part = json!([{"role": "user", "parts": [{"text": "hello"}]}]);
    // Passed through, translated, and by an agent.
    for name in ["m", "sage"] {
        let gemini = format!("/v1beta/models/{name}:generateContent");
        let asked = [
            ("/v1/chat/completions", json!({"model": name, "messages": text}), "/error/code"),
            ("/v1/responses", json!({"model": name, "input": "hello"}), "/error/code"),
            (
                "/v1/messages",
                json!({"model": name, "max_tokens": 10, "messages": text}),
                "/error/type",
            ),
            (&*gemini, json!({"contents": part}), "/error/status"),
        ];
        for (path, body, place) in asked {
            let model = Model::calling(&[]).await;
            let bot = limited("bot", BOT, &["2 requests/min"]);
            let stage = stage(&model, vec![bot], ModelUsageSettings::default()).await;
            for _ in 0..2 {
                let reply = ask(&stage, BOT, path, &body).await;
                assert_eq!(reply.status, 200, "{path}: {}", reply.text);
            }
            for is_streamed in [false, true] {
                let mut body = body.clone();
                if is_streamed && path.starts_with("/v1/") {
                    body["stream"] = json!(true);
                }
                let reply = ask(&stage, BOT, path, &body).await;
                assert_eq!(reply.status, 429, "{path}: {}", reply.text);
                let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
                assert!((25..=30).contains(&wait), "{wait}");
                let code = reply.json().pointer(place).cloned().unwrap();
                let known = ["model_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"];
                assert!(known.iter().any(|it| code == *it), "{code}");
                assert!(reply.text.contains("limit of 2 requests/min"), "{}", reply.text);
            }
            assert_eq!(model.requests.lock().len(), 2, "{path}");
        }
    }
}

#[tokio::test]
async fn s_33_limits_of_parallel_keys_on_one_model_do_not_leak_into_each_other() {
    let model = Model::saying(|_| "~20\nhi".to_owned()).await;
    let keys =
        vec![limited("bot", BOT, &["5 requests/min"]), limited("cat", CAT, &["9 requests/min"])];
    let stage = stage(&model, keys, ModelUsageSettings::default()).await;
    let body = to("m");
    let path = "/v1/chat/completions";
    let asked = (0..40).map(|at| ask(&stage, if at % 2 == 0 { BOT } else { CAT }, path, &body));
    let replies = futures_util::future::join_all(asked).await;
    let answered =
        |of: usize| replies.iter().skip(of).step_by(2).filter(|it| it.status == 200).count();
    assert_eq!((answered(0), answered(1)), (5, 9));
    assert_eq!(model.requests.lock().len(), 14);
}

#[tokio::test]
async fn s_33_money_is_counted_by_what_the_provider_says_and_shown_by_key_agent_and_model() {
    let model = Model::calling(&[]).await;
    let settings = ModelUsageSettings { prices: prices(), ..ModelUsageSettings::default() };
    // Every answer has 12 tokens: 0.012 USD. Its reservation is larger, but alone it may use the rest.
    let stage = stage(&model, vec![limited("bot", BOT, &["0.05 USD/day"])], settings).await;
    let path = "/v1/chat/completions";
    let streamed = json!({"model": "m", "stream": true,
                          "messages": [{"role": "user", "content": "hi"}]});
    for body in [to("m"), streamed] {
        assert_eq!(ask(&stage, BOT, path, &body).await.status, 200);
    }
    let refused = ask(
        &stage,
        BOT,
        path,
        &json!({"model": "m", "messages": [
        {"role": "user", "content": "hello, and many words more than there is money for"}]}),
    )
    .await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=86_400).contains(&wait), "until midnight: {wait}");
    // Clients wait for a minute by themselves, which may be the last one of the day.
    let advice = refused.header("x-should-retry");
    assert_eq!(advice.as_deref(), (wait > 60).then_some("false"), "{wait}");

    let report = usage(&stage, "?by=key").await.json();
    let bot = &report["totals"][0];
    assert_eq!((&bot["name"], &bot["requests"]), (&json!("key:bot"), &json!(2)), "{report}");
    assert_eq!((&bot["input_tokens"], &bot["output_tokens"]), (&json!(20), &json!(4)));
    assert_eq!((&bot["cost_usd"], &bot["unpriced_requests"]), (&json!(0.024), &json!(0)));
    assert_eq!(report["days"][0]["requests"], 2);
    let sage = ask(&stage, ADMIN, path, &to("sage")).await;
    assert_eq!(sage.status, 200, "{}", sage.text);
    let fast = ask(&stage, ADMIN, path, &to("fast")).await;
    assert_eq!(fast.status, 200);
    let by_model = usage(&stage, "?by=model").await.json();
    let fast =
        by_model["totals"].as_array().unwrap().iter().find(|it| it["name"] == "fast").unwrap();
    assert_eq!((&fast["cost_usd"], &fast["unpriced_requests"]), (&json!(0.0), &json!(1)));
    let by_agent = usage(&stage, "?by=agent&format=csv").await;
    assert_eq!(by_agent.header("content-type").as_deref(), Some("text/csv; charset=utf-8"));
    let lines: Vec<&str> = by_agent.text.lines().collect();
    assert!(lines[0].starts_with("day,name,requests,input_tokens"), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains(",sage,1,10,2,")), "{lines:?}");
    let metrics = stage.request("GET", "/metrics").by_admin();
    let metrics = metrics.send().await.text;
    for line in [
        "tollgate_model_requests_total{model=\"m\",agent=\"sage\"} 1",
        "tollgate_model_used_tokens_total{model=\"m\",agent=\"\",direction=\"input\"} 20",
        "tollgate_model_cost_dollars_total{model=\"m\",agent=\"\"} 0.024",
        "tollgate_model_unpriced_requests_total{model=\"fast\",agent=\"\"} 1",
        "tollgate_model_limit_refusals_total{scope=\"key\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
}

#[tokio::test]
async fn s_33_a_loop_that_runs_into_a_limit_ends_well_formed_and_says_so() {
    for is_streamed in [false, true] {
        let model =
            Model::calling(&["!echo {\"text\": \"one\"}", "!echo {\"text\": \"two\"}"]).await;
        let bot = limited("bot", BOT, &["2 requests/h"]);
        let stage = stage(&model, vec![bot], ModelUsageSettings::default()).await;
        let mut body = to("sage");
        body["stream"] = json!(is_streamed);
        let reply = ask(&stage, BOT, "/v1/chat/completions", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_eq!((stage.calls(), model.requests.lock().len()), (2, 2), "nothing runs twice");
        assert!(reply.text.contains("limit of 2 requests/h"), "{}", reply.text);
        assert!(reply.text.contains("\"ended\":\"model_limit\""), "{}", reply.text);
        assert!(reply.text.contains("\"finish_reason\":\"stop\""), "{}", reply.text);
        if is_streamed {
            assert!(reply.text.trim_end().ends_with("data: [DONE]"), "{}", reply.text);
        } else {
            let history = reply.json()["tollgate"]["history"].clone();
            assert_eq!(history.as_array().unwrap().last().unwrap()["role"], "assistant");
        }
    }
}

#[tokio::test]
async fn s_33_an_agent_beyond_the_limit_of_a_model_falls_back_to_its_next() {
    let model = Model::calling(&[]).await;
    let settings = ModelUsageSettings {
        models: HashMap::from([("m".to_owned(), limits(&["1 requests/h"]))]),
        ..ModelUsageSettings::default()
    };
    let mut sage = agent(&["echo"]);
    sage.persona.models = vec!["m".to_owned(), "fast".to_owned()];
    let setup = Setup {
        models: model.settings(),
        agents: vec![sage],
        model_usage: settings,
        ..Setup::default()
    };
    let stage = Stage::with(setup).await;
    for expected in ["m", "fast", "fast"] {
        let call = stage.post(to("sage").to_string()).path("/v1/chat/completions");
        let reply = call.send().await;
        assert_eq!(reply.json()["tollgate"]["model"], expected, "{}", reply.text);
    }
    let direct = stage.post(to("m").to_string()).path("/v1/chat/completions").send().await;
    assert_eq!(direct.status, 429, "{}", direct.text);
}

#[tokio::test]
async fn s_33_a_provider_that_refuses_costs_a_request_but_no_tokens() {
    let model = Model::calling(&[]).await;
    let mut models = model.settings();
    // Nobody listens there.
    models.providers[0].base_url = Some("http://127.0.0.1:9/v1".to_owned());
    let settings =
        ModelUsageSettings { per_key: limits(&["9000 tokens/day"]), ..Default::default() };
    let setup =
        Setup { models, agents: vec![agent(&[])], model_usage: settings, ..Setup::default() };
    let stage = Stage::with(setup).await;
    for name in ["m", "sage", "m", "sage"] {
        let reply = stage.post(to(name).to_string()).path("/v1/chat/completions").send().await;
        assert_eq!(reply.status, 502, "{}", reply.text);
    }
    let report = usage(&stage, "").await.json();
    let local = &report["totals"][0];
    assert_eq!((&local["requests"], &local["input_tokens"]), (&json!(4), &json!(0)), "{report}");
}

#[tokio::test]
async fn a_model_that_the_config_does_not_list_needs_the_right_any_model() {
    let model = Model::calling(&[]).await;
    let plain = key("bot", BOT, rights(&[Right::Execute]));
    let free = key("cat", CAT, rights(&[Right::Execute, Right::AnyModel]));
    let stage = stage(&model, vec![plain, free], ModelUsageSettings::default()).await;
    let path = "/v1/chat/completions";
    // By its raw name, even if the config has it under another.
    for name in ["p/anything", "p/model-at-home"] {
        let refused = ask(&stage, BOT, path, &to(name)).await;
        assert_eq!(refused.status, 403, "{}", refused.text);
        assert!(refused.text.contains("the right `any_model`"), "{}", refused.text);
        let with_agent = stage.post(to(name).to_string()).path(path);
        let with_agent = with_agent.header("x-tollgate-agent", "sage");
        let with_agent = with_agent.header("authorization", &format!("Bearer {BOT}")).send().await;
        assert_eq!(with_agent.status, 403, "{}", with_agent.text);
    }
    let said = json!([{"role": "user", "content": "hello"}]);
    for (path, body) in [
        ("/v1/responses", json!({"model": "p/anything", "input": "hello"})),
        ("/v1/messages", json!({"model": "p/anything", "max_tokens": 9, "messages": said})),
        ("/v1/messages/count_tokens", json!({"model": "p/anything", "messages": said})),
        ("/v1/embeddings", json!({"model": "p/anything", "input": "hello"})),
        (
            "/v1beta/models/p/anything:generateContent",
            json!({"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}),
        ),
    ] {
        let refused = ask(&stage, BOT, path, &body).await;
        assert_eq!(refused.status, 403, "{path}: {}", refused.text);
        assert!(refused.text.contains("any_model"), "{path}: {}", refused.text);
    }
    assert_eq!(model.requests.lock().len(), 0);
    assert_eq!(ask(&stage, BOT, path, &to("m")).await.status, 200);
    for secret in [CAT, ADMIN] {
        assert_eq!(ask(&stage, secret, path, &to("p/anything")).await.status, 200);
    }
    assert_eq!(ask(&stage, BOT, path, &to("q/anything")).await.status, 404);
}

#[tokio::test]
async fn a_report_is_for_observers_and_its_days_are_checked() {
    let model = Model::calling(&[]).await;
    let stage =
        stage(&model, vec![key("bot", BOT, rights(&[Right::Execute]))], Default::default()).await;
    let refused =
        stage.request("GET", "/api/usage").header("authorization", &format!("Bearer {BOT}"));
    assert_eq!(refused.send().await.status, 403);
    for (query, status) in [
        ("?from=2026-01-01&to=2026-01-31", 200),
        ("?from=2026-01-01&to=2025-01-31", 400),
        ("?from=2020-01-01&to=2026-01-31", 400),
        ("?from=yesterday", 400),
        ("?by=tool", 400),
        ("?format=xml", 400),
        ("?since=2026-01-01", 400),
    ] {
        let reply = usage(&stage, query).await;
        assert_eq!(reply.status, status, "{query}: {}", reply.text);
    }
}
