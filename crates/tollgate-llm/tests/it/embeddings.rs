//! Models of meanings at a fake provider: what is sent, what is believed, and when it is asked again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tollgate_engine::embedding::{EmbedError, Embedder, Embedding, EmbeddingPurpose};
use tollgate_llm::provider::{ModelConfigError, ModelRegistry};
use tollgate_llm::settings::{
    LlmSettings, ProviderKind, ProviderSettings, ProviderTimeouts, RemoteEmbeddingSettings,
};

use crate::fake::{Act, Fake, json, response};
use crate::stage::{KEY, clock, provider};

fn settings() -> RemoteEmbeddingSettings {
    RemoteEmbeddingSettings {
        provider: "fake".to_owned(),
        model: "small".to_owned(),
        dimensions: None,
        passage_prefix: String::new(),
        question_prefix: String::new(),
    }
}

fn embedder(
    provider: ProviderSettings,
    settings: &RemoteEmbeddingSettings,
) -> Result<Arc<dyn Embedder>, ModelConfigError> {
    let all = LlmSettings { providers: vec![provider], models: Vec::new() };
    ModelRegistry::new(&all, clock(), None).unwrap().embedder(settings)
}

fn at(fake: &Fake) -> Arc<dyn Embedder> {
    embedder(provider(ProviderKind::OpenAi, fake.address), &settings()).unwrap()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// An answer with a vector for each text.
fn answer(vectors: &[&[f32]]) -> Vec<Act> {
    let item = |(index, vector): (usize, &&[f32])| json!({"index": index, "embedding": vector});
    let data: Vec<_> = vectors.iter().enumerate().map(item).collect();
    json(200, &json!({"object": "list", "data": data, "model": "small"}).to_string())
}

fn refusal(status: u16, message: &str) -> Vec<Act> {
    let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
    json(status, &error.to_string())
}

fn of(numbers: &[f32]) -> Embedding {
    Embedding::of(numbers.to_vec()).unwrap()
}

#[tokio::test]
async fn texts_are_sent_in_portions_and_come_back_in_their_order() {
    let vector: &[f32] = &[3.0, 4.0];
    let reactions = vec![answer(&[vector; 32]), answer(&[&[0.0, 2.0]])];
    let fake = Fake::start(reactions).await;
    let embedder = at(&fake);
    let many: Vec<String> = (0..33).map(|number| format!("text {number}")).collect();
    let made = embedder.embed(&many, EmbeddingPurpose::Passage).await.unwrap();
    assert_eq!((made.len(), &made[31], &made[32]), (33, &of(&[0.6, 0.8]), &of(&[0.0, 1.0])));
    let seen = fake.requests_seen();
    assert_eq!(seen[0].path(), "/embeddings");
    assert_eq!(seen[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    let body = seen[0].json();
    assert_eq!((&body["model"], &body["encoding_format"]), (&json!("small"), &json!("base64")));
    assert_eq!(seen[1].json()["input"], json!(["text 32"]));
    assert_eq!((embedder.model(), seen[1].connection), ("fake/small", 0));
    assert_eq!(embedder.embed(&[], EmbeddingPurpose::Passage).await, Ok(Vec::new()));
    assert_eq!(fake.requests_seen().len(), 2, "nothing is asked for nothing");
}

#[tokio::test]
async fn prefixes_and_dimensions_are_the_models_and_in_its_name() {
    let fake = Fake::start(vec![answer(&[&[1.0, 0.0]])]).await;
    let settings = RemoteEmbeddingSettings {
        dimensions: Some(2),
        passage_prefix: "passage: ".to_owned(),
        question_prefix: "query: ".to_owned(),
        ..settings()
    };
    let embedder = embedder(provider(ProviderKind::OpenAi, fake.address), &settings).unwrap();
    embedder.embed(&texts(&["a"]), EmbeddingPurpose::Passage).await.unwrap();
    embedder.embed(&texts(&["a"]), EmbeddingPurpose::Question).await.unwrap();
    let seen = fake.requests_seen();
    assert_eq!(seen[0].json()["input"], json!(["passage: a"]));
    assert_eq!(seen[1].json()["input"], json!(["query: a"]));
    assert_eq!(seen[0].json()["dimensions"], json!(2));
    assert!(embedder.model().starts_with("fake/small/2+"), "{}", embedder.model());
}

#[tokio::test]
async fn gemini_is_asked_in_its_own_form() {
    let body = json!({"embeddings": [{"values": [0, 5]}]}).to_string();
    let fake = Fake::start(vec![json(200, &body)]).await;
    let embedder = embedder(provider(ProviderKind::Gemini, fake.address), &settings()).unwrap();
    let made = embedder.embed(&texts(&["a"]), EmbeddingPurpose::Question).await.unwrap();
    assert_eq!(made, [of(&[0.0, 1.0])]);
    assert_eq!(fake.only().path(), "/v1beta/models/small:batchEmbedContents");
    assert_eq!(fake.only().header("x-goog-api-key"), Some(KEY));
}

#[test]
fn a_provider_without_embeddings_is_an_error_of_the_config() {
    let address = "127.0.0.1:1".parse().unwrap();
    for kind in [ProviderKind::Offline, ProviderKind::Anthropic] {
        let why = embedder(provider(kind, address), &settings()).err().unwrap().to_string();
        assert!(
            why.starts_with("provider `fake` has no embeddings: use a provider of kind"),
            "{why}"
        );
    }
    let other = RemoteEmbeddingSettings { provider: "other".to_owned(), ..settings() };
    let why = embedder(provider(ProviderKind::OpenAi, address), &other).err().unwrap().to_string();
    assert_eq!(why, "the embedding names provider `other`, which does not exist");
}

/// What is told of one answer to one text, by someone with time unless none will come.
async fn describe(reaction: Vec<Act>, settings: &RemoteEmbeddingSettings) -> EmbedError {
    let hangs = reaction.iter().any(|act| matches!(act, Act::Hang));
    let answer = Duration::from_millis(if hangs { 200 } else { 5_000 });
    let fake = Fake::start(vec![reaction]).await;
    let patience = ProviderTimeouts { answer, ..ProviderTimeouts::default() };
    let provider = ProviderSettings { patience, ..provider(ProviderKind::OpenAi, fake.address) };
    let embedder = embedder(provider, settings).unwrap();
    embedder.embed(&texts(&["a"]), EmbeddingPurpose::Passage).await.unwrap_err()
}

#[tokio::test]
async fn vectors_that_cannot_be_right_are_refused() {
    let asked = RemoteEmbeddingSettings { dimensions: Some(3), ..settings() };
    let ends = |numbers: &str| format!(r#"{{"data": [{{"index": 0, "embedding": {numbers}}}]}}"#);
    for (body, why) in [
        (
            ends("[1, 2]"),
            "embeddings have 2 dimensions instead of the configured 3: set `dimensions` to 2",
        ),
        (ends("[]"), "the embedding is empty"),
        (ends("[0, 0, 0]"), "the embedding is all zeros"),
        (ends("[1, 2, 1e300]"), "the embedding contains NaN"),
        (ends("\"AADAfwAAwH8AAMB/\""), "the embedding contains NaN"),
        (ends("[1, 2, null]"), "an embedding contains null where a number is expected"),
        (r#"{"data": []}"#.to_owned(), "0 embeddings for 1 texts"),
        ("[".to_owned(), "it is not JSON"),
    ] {
        let error = describe(json(200, &body), &asked).await;
        let EmbedError::Unusable(text) = &error else { panic!("{error:?}") };
        let beginning = format!("model `small` of provider `fake` sent an invalid response: {why}");
        assert!(text.starts_with(&beginning), "{text}");
    }
    let fake = Fake::start(vec![answer(&[&[1.0, 2.0]]), answer(&[&[1.0]])]).await;
    let embedder = at(&fake);
    embedder.embed(&texts(&["a"]), EmbeddingPurpose::Passage).await.unwrap();
    let error = embedder.embed(&texts(&["a"]), EmbeddingPurpose::Passage).await.unwrap_err();
    assert!(error.to_string().contains("has 1 dimensions, but earlier ones had 2"), "{error}");
}

#[tokio::test]
async fn what_will_never_work_is_told_from_what_is_away() {
    let page = vec![Act::Send(response(200, &[("content-type", "text/html")], "<p>"))];
    for reaction in [
        refusal(400, "no"),
        refusal(404, "no such model"),
        json(401, "{}"),
        json(200, r#"{"error": {"message": "no", "code": 400}}"#),
        page,
    ] {
        let error = describe(reaction, &settings()).await;
        assert!(matches!(error, EmbedError::Refused(_)), "{error:?}");
        assert!(!error.to_string().contains(KEY), "{error}");
    }
    for reaction in [json(500, "{}"), json(503, ""), vec![Act::Close], vec![Act::Hang]] {
        let error = describe(reaction, &settings()).await;
        assert!(matches!(error, EmbedError::Away { again: None, .. }), "{error:?}");
    }
    let headers = [("content-type", "application/json"), ("retry-after", "60")];
    let error = describe(vec![Act::Send(response(429, &headers, "{}"))], &settings()).await;
    let EmbedError::Away { again, .. } = error else { panic!("{error:?}") };
    assert_eq!(again, Some(Duration::from_secs(60)));
}

#[tokio::test]
async fn a_busy_provider_is_asked_again() {
    let headers = [("content-type", "application/json"), ("retry-after", "0")];
    let busy = vec![Act::Send(response(429, &headers, "{}"))];
    let fake = Fake::start(vec![busy, vec![Act::Close], answer(&[&[1.0]])]).await;
    let provider = ProviderSettings { retries: 2, ..provider(ProviderKind::OpenAi, fake.address) };
    let embedder = embedder(provider, &settings()).unwrap();
    assert_eq!(
        embedder.embed(&texts(&["a"]), EmbeddingPurpose::Passage).await,
        Ok(vec![of(&[1.0])])
    );
    assert_eq!(fake.requests_seen().len(), 3);
}

#[tokio::test]
async fn a_server_that_takes_less_gets_less() {
    let long = refusal(400, "This model's maximum context length is 8192 tokens");
    let large = refusal(500, "input is too large to process");
    let well = answer(&[&[1.0]]);
    let fake = Fake::start(vec![long, large, well]).await;
    let embedder = at(&fake);
    let text = "ü".repeat(20_000);
    embedder.embed(std::slice::from_ref(&text), EmbeddingPurpose::Passage).await.unwrap();
    embedder.embed(&[text], EmbeddingPurpose::Passage).await.unwrap();
    let sent = |seen: &crate::fake::Seen| seen.json()["input"][0].as_str().unwrap().len();
    let sent: Vec<usize> = fake.requests_seen().iter().map(sent).collect();
    assert_eq!(sent, [16 << 10, 8 << 10, 4 << 10, 4 << 10]);
    let long = Fake::start(vec![refusal(413, "too long")]).await;
    let error = at(&long).embed(&texts(&["short"]), EmbeddingPurpose::Passage).await.unwrap_err();
    assert!(matches!(error, EmbedError::Refused(_)), "{error:?}");
    assert_eq!(long.requests_seen().len(), 1);
}

#[tokio::test]
async fn a_server_that_takes_no_base64_gets_asked_for_numbers() {
    let strict = refusal(422, "body.encoding_format: unexpected value");
    let fake = Fake::start(vec![strict, answer(&[&[1.0]])]).await;
    let embedder = at(&fake);
    embedder.embed(&texts(&["a"]), EmbeddingPurpose::Passage).await.unwrap();
    embedder.embed(&texts(&["a"]), EmbeddingPurpose::Passage).await.unwrap();
    let formats: Vec<_> =
        fake.requests_seen().iter().map(|seen| seen.json()["encoding_format"].clone()).collect();
    assert_eq!(formats, ["base64", "float", "float"]);
}

#[tokio::test]
async fn a_question_is_not_waited_for_and_the_next_one_not_asked() {
    let fake = Fake::start(vec![vec![Act::Hang], answer(&[&[1.0]])]).await;
    let embedder = at(&fake);
    let question = texts(&["who?"]);
    for _ in 0..2 {
        let error = embedder.embed(&question, EmbeddingPurpose::Question).await.unwrap_err();
        let EmbedError::Away { why, .. } = error else { panic!("{error:?}") };
        assert_eq!(why, "model `small` of provider `fake` did not answer within 1500 ms");
    }
    assert_eq!(fake.requests_seen().len(), 1, "the second one is told at once");
    embedder.embed(&question, EmbeddingPurpose::Passage).await.unwrap();
    embedder.embed(&question, EmbeddingPurpose::Question).await.unwrap();
    assert_eq!(fake.requests_seen().len(), 3, "once it answers, questions are asked again");
}

#[tokio::test]
async fn whoever_gives_questions_up_is_not_kept_waiting_for_ever() {
    let fake = Fake::start(vec![vec![Act::Hang]]).await;
    let embedder = at(&fake);
    let question = texts(&["who?"]);
    for _ in 0..3 {
        let asked = embedder.embed(&question, EmbeddingPurpose::Question);
        let given_up = tokio::time::timeout(Duration::from_millis(300), asked).await;
        // A machine that stands still for a moment lets it be given up for us.
        let away = matches!(given_up, Err(_) | Ok(Err(EmbedError::Away { .. })));
        assert!(away, "{given_up:?}");
    }
    let asked = embedder.embed(&question, EmbeddingPurpose::Question);
    let told = tokio::time::timeout(Duration::from_millis(300), asked).await;
    assert!(matches!(told, Ok(Err(EmbedError::Away { .. }))), "{told:?}");
    assert!((1..=3).contains(&fake.requests_seen().len()), "the fourth is not asked");
}

#[tokio::test]
async fn an_empty_text_is_not_sent() {
    let fake = Fake::start(vec![answer(&[&[1.0]])]).await;
    for purpose in [EmbeddingPurpose::Passage, EmbeddingPurpose::Question] {
        let error = at(&fake).embed(&texts(&["a", " \n"]), purpose).await.unwrap_err();
        assert!(matches!(error, EmbedError::Unusable(_)), "{error:?}");
    }
    assert_eq!(fake.requests_seen().len(), 0);
}
