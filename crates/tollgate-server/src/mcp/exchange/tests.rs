use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tollgate_mcp::tasks::TaskGroup;

use super::{Exchange, ExchangeAnswer, ExchangeChannel, ExchangeStep, ExchangeTransport};
use crate::mcp::encode::EncodedMessage;

fn answer(text: &str) -> ExchangeAnswer {
    ExchangeAnswer::from_text(EncodedMessage::Whole(text.to_owned()))
}

/// Everything that an exchange says, in order.
async fn all(mut exchange: Exchange) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        match exchange.next().await {
            ExchangeStep::Say(text) => lines.push(text),
            ExchangeStep::Done(answer) => {
                lines.push(answer.text.map(EncodedMessage::into_string).unwrap_or_default());
                return lines;
            }
        }
    }
}

#[tokio::test]
async fn what_is_said_before_the_answer_is_heard_before_it() {
    let exchange =
        Exchange::new(ExchangeChannel::new(ExchangeTransport::Http), |line| async move {
            let sender = line.messages().expect("it can stream");
            sender.send("one".into()).await.unwrap();
            tokio::task::yield_now().await;
            sender.send("two".into()).await.unwrap();
            answer("end")
        });
    assert_eq!(all(exchange).await, ["one", "two", "end"]);
    let exchange =
        Exchange::new(ExchangeChannel::new(ExchangeTransport::AnswerOnly), |line| async move {
            assert!(line.messages().is_none());
            answer("end")
        });
    assert_eq!(all(exchange).await, ["end"]);
}

/// Whether a call whose exchange is dropped in the middle still ends.
async fn survives(carrier: ExchangeTransport) -> bool {
    let survivors = Arc::new(TaskGroup::new("test", 4));
    let ended = Arc::new(AtomicBool::new(false));
    let (release, wait) = oneshot::channel::<()>();
    let mut exchange = Exchange::new(ExchangeChannel::new(carrier), |line| {
        let survivors = Arc::clone(&survivors);
        let ended = Arc::clone(&ended);
        async move {
            line.outlive(&survivors);
            let _ = wait.await;
            ended.store(true, Ordering::SeqCst);
            answer("end")
        }
    });
    let early = tokio::time::timeout(Duration::from_millis(5), exchange.next()).await;
    assert!(early.is_err(), "the call waits");
    drop(exchange);
    let _ = release.send(());
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    ended.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_call_outlives_its_connection_but_not_its_pipe() {
    assert!(survives(ExchangeTransport::Http).await);
    assert!(!survives(ExchangeTransport::Pipe).await);
}
