//! What others hold of the reloader: a way to ask, and how the last attempt went.

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_server::operator::{
    Attempt, Changed, Operator, Order, Outcome, Refused, Shown, Tally,
};

use super::Ask;

pub struct Handle {
    asks: mpsc::Sender<Ask>,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    last: Option<Attempt>,
    tally: Tally,
}

impl Handle {
    pub(super) fn new(asks: mpsc::Sender<Ask>) -> Self {
        Self { asks, noted: Mutex::default() }
    }

    pub(super) fn note(&self, attempt: &Attempt) {
        let mut noted = self.noted.lock();
        match attempt.result {
            Outcome::Applied(_) => noted.tally.applied += 1,
            Outcome::Refused(_) => noted.tally.refused += 1,
            Outcome::Unchanged => {}
        }
        noted.last = Some(attempt.clone());
    }

    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(ask(reply)).await.ok()?;
        answer.await.ok()
    }
}

const STOPPING: &str = "the gateway is stopping";

#[async_trait]
impl Operator for Handle {
    async fn config(&self) -> Result<Shown, Refused> {
        let shown = self.ask(Ask::Show).await;
        shown.unwrap_or_else(|| Err(Refused::Failed(STOPPING.to_owned())))
    }

    async fn change(&self, order: Order) -> Result<Changed, Refused> {
        let changed = self.ask(|reply| Ask::Change(Box::new(order), reply)).await;
        changed.unwrap_or_else(|| Err(Refused::Failed(STOPPING.to_owned())))
    }

    async fn reload(&self, by: &str) -> Attempt {
        let attempt = self.ask(|reply| Ask::Reload(by.to_owned(), reply)).await;
        attempt.unwrap_or_else(|| Attempt {
            at: SystemClock.wall(),
            by: by.to_owned(),
            result: Outcome::Refused(STOPPING.to_owned()),
            report: serde_json::Value::Null,
        })
    }

    fn last(&self) -> (Option<Attempt>, Tally) {
        let noted = self.noted.lock();
        (noted.last.clone(), noted.tally)
    }
}
