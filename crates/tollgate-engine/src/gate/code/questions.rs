//! What servers say while a program's calls run, on its way to whoever waits for the program. While
//! a question is open, the program's time stands still.

use std::future::Future;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};
use tollgate_mcp::client::{Event, Events, Question};
use tollgate_sandbox::stopwatch::{Held, Stopwatch};

/// Passes on what is said, until the calls are over.
pub(super) async fn passed_on<T>(
    calls: impl Future<Output = T>,
    mut said: mpsc::Receiver<Event>,
    (to, time): (&Events, &Stopwatch),
) -> T {
    let mut open = FuturesUnordered::new();
    tokio::pin!(calls);
    loop {
        tokio::select! {
            biased;
            done = &mut calls => return done,
            Some(event) = said.recv() => {
                let event = match event {
                    Event::Question(question) => {
                        let (question, answered) = watched(question, time.hold());
                        open.push(answered);
                        Event::Question(question)
                    }
                    other => other,
                };
                // Nobody there to hear it: a question is then dropped, which answers it.
                let _ = to.send(event).await;
            }
            Some(()) = open.next(), if !open.is_empty() => {}
        }
    }
}

/// The same question, and what ends when it is answered.
fn watched(question: Question, held: Held) -> (Question, impl Future<Output = ()>) {
    let Question { method, params, reply: asker } = question;
    let (reply, answer) = oneshot::channel();
    let answered = async move {
        if let Ok(answer) = answer.await {
            // The server may have given up on it.
            let _ = asker.send(answer);
        }
        drop(held);
    };
    (Question { method, params, reply }, answered)
}
