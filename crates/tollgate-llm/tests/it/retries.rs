//! Chains of models: attempts that are repeated, and the next model.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tollgate_engine::spans::TraceScope;
use tollgate_llm::conversation::ChatRequest;
use tollgate_llm::error::{LlmError, LlmErrorKind};
use tollgate_llm::gateway_report::StreamNote;
use tollgate_llm::provider::{FallbackChain, ModelHandle, ModelRegistry};
use tollgate_llm::settings::{self, LlmSettings, ProviderKind, ProviderSettings, ProviderTimeouts};

use crate::fake::{Act, Fake, encode_chunks, json, response};
use crate::stage::{clock, model, provider, read_stream, request};
use crate::wire::{ANSWER, EVENTS, INVALID, NO_MODEL, OVERLOADED, TOO_LONG, TOO_OFTEN};

struct Stage {
    models: Vec<Arc<ModelHandle>>,
    fallbacks: Mutex<Vec<String>>,
}

impl Stage {
    /// A model `a`, a model `b`, and the one in process.
    fn new(first: &Fake, second: &Fake, names: &[&str]) -> Self {
        let patience = ProviderTimeouts {
            answer: Duration::from_secs(3),
            silence: Duration::from_secs(9),
            ..ProviderTimeouts::default()
        };
        let kept = |name: &str, fake: &Fake| ProviderSettings {
            name: name.to_owned(),
            retries: 1,
            patience,
            ..provider(ProviderKind::Anthropic, fake.address)
        };
        let at = |name: &str, provider: &str| settings::ModelSettings {
            provider: Some(provider.to_owned()),
            ..model(name)
        };
        let settings = LlmSettings {
            providers: vec![kept("first", first), kept("second", second)],
            models: vec![at("a", "first"), at("b", "second")],
        };
        let models = ModelRegistry::new(&settings, clock(), None).unwrap();
        let models = names.iter().map(|name| models.find(name).unwrap()).collect();
        Self { models, fallbacks: Mutex::new(Vec::new()) }
    }

    async fn ask(&self, until: Option<Duration>) -> Result<(String, String), LlmError> {
        self.ask_with(until, |_| Ok(request("hello"))).await
    }

    async fn ask_with(
        &self,
        until: Option<Duration>,
        write: impl Fn(&ModelHandle) -> Result<ChatRequest, LlmError> + Send + Sync,
    ) -> Result<(String, String), LlmError> {
        let clock = clock();
        let chain = FallbackChain {
            models: &self.models,
            clock: &*clock,
            until: until.map(|time| clock.now() + time),
            follow: &TraceScope::default(),
            on_fallback: &|note| self.note(&note),
        };
        let reached = chain.ask(write).await?;
        Ok((reached.model.settings.name.clone(), reached.answer.text()))
    }

    fn note(&self, note: &StreamNote) {
        let StreamNote::Fallback { from, to, why } = note else { panic!("{note:?}") };
        self.fallbacks.lock().push(format!("{from} -> {to}: {why}"));
    }

    fn fallbacks(&self) -> Vec<String> {
        self.fallbacks.lock().clone()
    }
}

fn too_often(after: &str) -> Vec<Act> {
    let headers = [("content-type", "application/json"), ("retry-after", after)];
    vec![Act::Send(response(429, &headers, TOO_OFTEN))]
}

fn well(name: &str) -> (String, String) {
    (name.to_owned(), "Hello there".to_owned())
}

#[tokio::test]
async fn a_busy_provider_is_asked_again() {
    for busy in [json(429, TOO_OFTEN), too_often("0"), too_often("-1"), json(529, OVERLOADED)] {
        let fake = Fake::start(vec![busy, json(200, ANSWER)]).await;
        let stage = Stage::new(&fake, &fake, &["a"]);
        assert_eq!(stage.ask(None).await.unwrap(), well("a"));
        assert_eq!(fake.requests_seen().len(), 2);
    }
}

#[tokio::test]
async fn the_provider_says_how_long_to_wait() {
    let fake = Fake::start(vec![too_often("1"), json(200, ANSWER)]).await;
    let began = clock().now();
    Stage::new(&fake, &fake, &["a"]).ask(None).await.unwrap();
    let waited: Duration = clock().now() - began;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
}

#[tokio::test]
async fn whoever_wants_too_long_a_pause_is_left_alone() {
    for after in ["60", "1000000000", "Mon, 21 Oct 2999 07:28:00 GMT"] {
        let first = Fake::start(vec![too_often(after)]).await;
        let second = Fake::start(vec![json(200, ANSWER)]).await;
        let stage = Stage::new(&first, &second, &["a", "b"]);
        assert_eq!(stage.ask(None).await.unwrap(), well("b"));
        assert_eq!(first.requests_seen().len(), 1);
        let [note] = &stage.fallbacks()[..] else { panic!() };
        assert!(
            note.starts_with("a -> b: model `a-id` of provider `first` is rate limiting"),
            "{note}"
        );
        let failure = Stage::new(&first, &second, &["a"]).ask(None).await.unwrap_err();
        assert_eq!(failure.kind, LlmErrorKind::RateLimited);
        assert!(failure.retry_after >= Some(Duration::from_secs(60)), "{failure:?}");
        assert!(failure.retry_after <= Some(Duration::from_secs(86_400)), "{failure:?}");
    }
}

#[tokio::test]
async fn the_next_model_is_asked_where_this_one_cannot_answer() {
    for trouble in [
        json(404, NO_MODEL),
        json(400, TOO_LONG),
        json(401, "{}"),
        vec![Act::Hang],
        vec![Act::Send(response(200, &[("content-type", "text/html")], "<p>"))],
    ] {
        let first = Fake::start(vec![trouble]).await;
        let second = Fake::start(vec![json(200, ANSWER)]).await;
        let stage = Stage::new(&first, &second, &["a", "b"]);
        assert_eq!(stage.ask(None).await.unwrap(), well("b"));
        assert_eq!((first.requests_seen().len(), second.requests_seen().len()), (1, 1));
        assert_eq!(stage.fallbacks().len(), 1);
    }
}

#[tokio::test]
async fn a_wrong_request_is_wrong_everywhere() {
    let first = Fake::start(vec![json(400, INVALID)]).await;
    let second = Fake::start(vec![json(200, ANSWER)]).await;
    let stage = Stage::new(&first, &second, &["a", "b"]);
    assert_eq!(stage.ask(None).await.unwrap_err().kind, LlmErrorKind::Invalid);
    assert_eq!((first.requests_seen().len(), second.requests_seen().len()), (1, 0));
}

#[tokio::test]
async fn the_last_failure_is_told_when_nobody_answers() {
    let first = Fake::start(vec![json(404, NO_MODEL)]).await;
    let second = Fake::start(vec![json(529, OVERLOADED)]).await;
    let stage = Stage::new(&first, &second, &["a", "b"]);
    assert_eq!(stage.ask(None).await.unwrap_err().kind, LlmErrorKind::Overloaded);
    assert_eq!(second.requests_seen().len(), 2, "one attempt and one more");
    let offline = Stage::new(&first, &second, &["a", "offline"]);
    assert_eq!(offline.ask(None).await.unwrap().0, "offline");
    let nobody = Stage::new(&first, &second, &[]);
    assert_eq!(nobody.ask(None).await.unwrap_err().message, "there is no model to ask");
}

#[tokio::test]
async fn nothing_goes_on_when_the_time_is_up() {
    let fake = Fake::start(vec![vec![Act::Hang]]).await;
    let stage = Stage::new(&fake, &fake, &["a", "b"]);
    let failure = stage.ask(Some(Duration::from_secs(1))).await.unwrap_err();
    assert_eq!(failure.kind, LlmErrorKind::Timeout);
    assert!(failure.message.contains("in the remaining time"), "{failure}");
    assert_eq!(fake.requests_seen().len(), 1);
    let busy = Fake::start(vec![too_often("10")]).await;
    let stage = Stage::new(&busy, &busy, &["a"]);
    let failure = stage.ask(Some(Duration::from_secs(5))).await.unwrap_err();
    assert_eq!((failure.kind, busy.requests_seen().len()), (LlmErrorKind::RateLimited, 1));
}

#[tokio::test]
async fn a_request_that_is_too_long_for_one_model_may_fit_another() {
    let fake = Fake::start(vec![json(200, ANSWER)]).await;
    let stage = Stage::new(&fake, &fake, &["a", "b"]);
    let write = |model: &ModelHandle| match model.settings.name.as_str() {
        "a" => Err(LlmError::new(LlmErrorKind::TooLong, "too long for `a`")),
        _ => Ok(request("hello")),
    };
    assert_eq!(stage.ask_with(None, write).await.unwrap(), well("b"));
    assert_eq!(stage.fallbacks(), ["a -> b: too long for `a`"]);
    let busy = Fake::start(vec![json(529, OVERLOADED)]).await;
    let stage = Stage::new(&busy, &fake, &["a", "b"]);
    let write = |model: &ModelHandle| match model.settings.name.as_str() {
        "b" => Err(LlmError::new(LlmErrorKind::TooLong, "too long for `b`")),
        _ => Ok(request("hello")),
    };
    let failure = stage.ask_with(None, write).await.unwrap_err();
    assert_eq!(failure.kind, LlmErrorKind::Overloaded, "the smaller model is not the trouble");
    let refused = |_: &ModelHandle| Err(LlmError::new(LlmErrorKind::Invalid, "no"));
    assert_eq!(stage.ask_with(None, refused).await.unwrap_err().kind, LlmErrorKind::Invalid);
}

#[tokio::test]
async fn streams_fall_back_until_the_first_word() {
    let first = Fake::start(vec![json(529, OVERLOADED)]).await;
    let second = Fake::start(vec![encode_chunks(EVENTS)]).await;
    let stage = Stage::new(&first, &second, &["a", "b"]);
    let clock = clock();
    let chain = FallbackChain {
        models: &stage.models,
        clock: &*clock,
        until: None,
        follow: &TraceScope::default(),
        on_fallback: &|note| stage.note(&note),
    };
    let reached = chain.stream(|_| Ok(request("hello"))).await.unwrap();
    assert_eq!(reached.model.settings.name, "b");
    assert_eq!(read_stream(reached.answer).await.unwrap().text(), "Hello thére");
    assert_eq!(first.requests_seen().len(), 2);
}

/// What a task of a runtime with several threads can hold.
#[test]
fn a_chain_may_be_asked_from_any_thread() {
    fn encode_stream<T: Send>(_: &T) {}
    let clock = clock();
    let chain = FallbackChain {
        models: &[],
        clock: &*clock,
        until: None,
        follow: &TraceScope::default(),
        on_fallback: &|_| {},
    };
    encode_stream(&chain.ask(|_| Ok(request("hello"))));
    encode_stream(&chain.stream(|_| Ok(request("hello"))));
}
