//! Limits on the endpoints beside chat: embeddings, audio and token counting.

use serde_json::{Value, json};
use tollgate_engine::settings::ModelUsageSettings;
use tollgate_llm::settings::ProviderKind;

use crate::chat::agent;
use crate::client::Reply;
use crate::model::Model;
use crate::model_limits::{BOT, limited, prices, usage};
use crate::stage::{Setup, Stage};

const FORM: &str = "--x\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nm\r\n\
                    --x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n\
                    RIFF\r\n--x--\r\n";

struct SideCase {
    kind: ProviderKind,
    path: &'static str,
    body: String,
    /// Where its dialect has the code, and which one.
    code: (&'static str, &'static str),
}

fn cases() -> Vec<SideCase> {
    let openai = ("/error/code", "model_limit_exceeded");
    let gemini = ("/error/status", "RESOURCE_EXHAUSTED");
    let case =
        |kind, path, body: Value, code| SideCase { kind, path, body: body.to_string(), code };
    let text = json!({"parts": [{"text": "hello"}]});
    let messages = json!([{"role": "user", "content": "hello"}]);
    let embed = json!({ "content": text });
    let mut cases = vec![
        case(
            ProviderKind::OpenAi,
            "/v1/embeddings",
            json!({"model": "m", "input": "hello"}),
            openai,
        ),
        case(
            ProviderKind::OpenAi,
            "/v1/audio/speech",
            json!({"model": "m", "input": "hello", "voice": "alloy"}),
            openai,
        ),
        case(
            ProviderKind::Anthropic,
            "/v1/messages/count_tokens",
            json!({"model": "m", "messages": messages}),
            ("/error/type", "rate_limit_error"),
        ),
        // Converted, and passed on.
        case(ProviderKind::OpenAi, "/v1beta/models/m:embedContent", embed.clone(), gemini),
        case(ProviderKind::Gemini, "/v1beta/models/m:embedContent", embed, gemini),
        case(
            ProviderKind::Gemini,
            "/v1beta/models/m:countTokens",
            json!({ "contents": [text] }),
            gemini,
        ),
    ];
    let form = FORM.to_owned();
    let path = "/v1/audio/transcriptions";
    cases.push(SideCase { kind: ProviderKind::OpenAi, path, body: form, code: openai });
    cases
}

async fn stage(model: &Model, kind: ProviderKind, limit: &str) -> Stage {
    let mut models = model.settings();
    models.providers[0].kind = kind;
    let keys = vec![limited("bot", BOT, &[limit])];
    let model_usage = ModelUsageSettings { prices: prices(), ..ModelUsageSettings::default() };
    let agents = vec![agent(&[])];
    Stage::with(Setup { models, agents, keys, model_usage, ..Setup::default() }).await
}

async fn ask(stage: &Stage, case: &SideCase) -> Reply {
    let is_form = case.body.starts_with("--");
    let media = if is_form { "multipart/form-data; boundary=x" } else { "application/json" };
    let call = stage.request("POST", case.path).header("content-type", media);
    let call = call.header("authorization", &format!("Bearer {BOT}"));
    call.body(case.body.clone()).send().await
}

#[tokio::test]
async fn a_key_beyond_its_requests_is_refused_at_every_endpoint_and_nothing_is_sent() {
    for case in cases() {
        let model = Model::saying(|_| "hi".to_owned()).await;
        let stage = stage(&model, case.kind, "2 requests/min").await;
        for _ in 0..2 {
            let reply = ask(&stage, &case).await;
            assert_eq!(reply.status, 200, "{}: {}", case.path, reply.text);
        }
        let reply = ask(&stage, &case).await;
        assert_eq!(reply.status, 429, "{}: {}", case.path, reply.text);
        let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=30).contains(&wait), "{}: {wait}", case.path);
        let (place, code) = case.code;
        assert_eq!(reply.json().pointer(place), Some(&json!(code)), "{}", reply.text);
        assert!(reply.text.contains("limit of 2 requests/min"), "{}", reply.text);
        assert_eq!(model.requests.lock().len(), 2, "{}", case.path);
    }
}

#[tokio::test]
async fn tokens_and_money_of_embeddings_are_those_that_the_provider_counted() {
    let [case, ..] = &cases()[..] else { panic!("there are cases") };
    let model = Model::saying(|_| "hi".to_owned()).await;
    // Each has 10 tokens, for a cent; before the answer it is estimated a little higher.
    let stage = stage(&model, case.kind, "0.025 USD/day").await;
    for status in [200, 200, 429] {
        let reply = ask(&stage, case).await;
        assert_eq!(reply.status, status, "{}", reply.text);
    }
    let report = usage(&stage, "?by=model").await.json();
    let used = &report["totals"][0];
    assert_eq!((&used["name"], &used["requests"]), (&json!("m"), &json!(2)), "{report}");
    assert_eq!((&used["input_tokens"], &used["output_tokens"]), (&json!(20), &json!(0)));
    assert_eq!(used["cost_usd"], 0.02, "{report}");
}

#[tokio::test]
async fn counting_tokens_is_a_request_without_tokens() {
    let cases = cases();
    let case = cases.iter().find(|case| case.path.ends_with("count_tokens")).unwrap();
    // The fake's answer has a usage, which does not count.
    let model = Model::saying(|_| "hi".to_owned()).await;
    let stage = stage(&model, case.kind, "9 requests/min").await;
    assert_eq!(ask(&stage, case).await.status, 200);
    let report = usage(&stage, "?by=model").await.json();
    let used = &report["totals"][0];
    assert_eq!((&used["requests"], &used["input_tokens"]), (&json!(1), &json!(0)), "{report}");
}
