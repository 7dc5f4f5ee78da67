//! What servers say while a program's calls run, on its way to whoever waits for the program. While
//! a question is open, the program's time stands still.

use std::future::Future;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};
use tollgate_mcp::client::{Event, Question, ServerEventSender};
use tollgate_sandbox::stopwatch::{Stopwatch, StopwatchHold};

/// Passes on what is said, until the calls are over.
pub(super) async fn forward_events<T>(
    calls: impl Future<Output = T>,
    mut receiver: mpsc::Receiver<Event>,
    to: &ServerEventSender,
    time: &Stopwatch,
) -> T {
    let mut open = FuturesUnordered::new();
    tokio::pin!(calls);
    loop {
        tokio::select! {
            biased;
            done = &mut calls => return done,
            Some(event) = receiver.recv() => match event {
                Event::Question(question) => open.push(forward_question(question, to, time.hold())),
                // Who does not listen misses it, and holds nobody up.
                other => drop(to.try_send(other)),
            },
            Some(()) = open.next(), if !open.is_empty() => {}
        }
    }
}

/// Puts the question, and waits for the answer for as long as the server does.
async fn forward_question(question: Question, to: &ServerEventSender, held: StopwatchHold) {
    let Question { method, params, reply: mut asker } = question;
    let (reply, answer) = oneshot::channel();
    let put = async {
        // Nobody there to hear it: it is then dropped, which answers it.
        let _ = to.send(Event::Question(Question { method, params, reply })).await;
        answer.await.ok()
    };
    let answer = tokio::select! {
        answer = put => answer,
        () = asker.closed() => None,
    };
    drop(held);
    if let Some(answer) = answer {
        // The server may have given up on it just now.
        let _ = asker.send(answer);
    }
}
