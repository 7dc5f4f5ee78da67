//! A server that answers before the way out has returned.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use serde_json::value::RawValue;

use super::Dispatch;
use crate::answer_budget::AnswerPermit;
use crate::client::inbound::Outbox;
use crate::client::{RequestError, ServerListener};

/// Answers whatever is sent with these messages, on the spot.
struct Hasty {
    answers: &'static [&'static str],
    dispatch: OnceLock<Weak<Dispatch>>,
}

#[async_trait]
impl Outbox for Hasty {
    async fn send(&self, _: String) -> Result<(), RequestError> {
        let dispatch = self.dispatch.get().and_then(Weak::upgrade).unwrap();
        for answer in self.answers {
            dispatch.receive(answer.as_bytes(), AnswerPermit::default());
        }
        Ok(())
    }

    fn send_later(&self, _: String) {}
}

struct Deaf;

impl ServerListener for Deaf {
    fn on_notification(&self, _: &str, _: Option<&RawValue>) {}
    fn on_closed(&self, _: &str) {}
    fn on_garbage(&self, _: &str) {}
    fn late(&self) {}
}

/// What the probe is told by a server that answers like this.
async fn check(answers: &'static [&'static str], expected: &str) {
    let outbox = Arc::new(Hasty { answers, dispatch: OnceLock::new() });
    let dispatch = Arc::new(Dispatch::new(Arc::new(Deaf), Arc::clone(&outbox) as Arc<dyn Outbox>));
    outbox.dispatch.set(Arc::downgrade(&dispatch)).unwrap();
    let mut probe = dispatch.send_probe("{}").await.unwrap();
    let text = match probe.answer_now() {
        Some(Ok(result)) => result.get().to_owned(),
        Some(Err(error)) => error.to_string(),
        None => "nothing".to_owned(),
    };
    assert_eq!(text, expected, "{answers:?}");
}

#[tokio::test]
async fn an_error_that_answers_nothing_is_the_answer_to_the_probe_however_soon_it_comes() {
    const ERROR: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"what?"}}"#;
    const SUCCESS: &str = r#"{"jsonrpc":"2.0","id":"x","result":{}}"#;
    const OWN: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#;
    check(&[ERROR], "what? (-32600)").await;
    check(&[SUCCESS, ERROR], "what? (-32600)").await;
    check(&[SUCCESS], "nothing").await;
    check(&[SUCCESS, OWN, ERROR], r#"{"a":1}"#).await;
}
