//! Up to two attempts at one call: a second one after a broken connection, or beside a first that
//! is slower than usual. Only for tools that may be called twice.

use std::pin::Pin;
use std::time::Duration;

use tollgate_mcp::client::Progress;

use super::retry::{self, Budget};
use crate::caller::{CallError, Caller};
use crate::executor::{Call, Executor, Run};

/// How long a server may take to come back before a call to it is not worth repeating.
const COMEBACK: Duration = Duration::from_secs(2);

pub(super) struct Attempts<'a> {
    pub(super) executor: &'a Executor,
    pub(super) budget: &'a Budget,
    pub(super) call: Call<'a>,
}

impl Attempts<'_> {
    /// After a first attempt that may be mended. The caller may be asked in the second.
    pub(super) async fn again(&self, first: Run) -> Result<Run, CallError> {
        if !self.is_worth_another(&first).await {
            return Ok(first);
        }
        let second = self.executor.run(self.call).await?;
        Ok(retry::telling(first, second))
    }

    /// Nobody is asked; `None` if the server wants to. With `hedge`, a second attempt starts when
    /// the first has taken so long.
    pub(super) async fn alone(&self, hedge: Option<Duration>) -> Option<Run> {
        self.budget.earn();
        let first = self.executor.alone(self.call);
        tokio::pin!(first);
        if let Some(delay) = hedge {
            tokio::select! {
                biased;
                done = &mut first => return self.retried(done?).await,
                () = tokio::time::sleep(delay) => {}
            }
            if self.budget.spend() {
                return self.raced(first).await;
            }
        }
        self.retried(first.await?).await
    }

    async fn retried(&self, first: Run) -> Option<Run> {
        if !self.is_worth_another(&first).await {
            return Some(first);
        }
        let second = self.executor.alone(self.call).await?;
        Some(retry::telling(first, second))
    }

    /// The first answer wins; the other attempt is dropped, and so cancelled at the server.
    /// What the second says on its way is nobody's: the caller listens to the first.
    async fn raced(&self, mut first: Pin<&mut impl Future<Output = Option<Run>>>) -> Option<Run> {
        let progress = Progress::Unwanted;
        let quiet = Caller { events: None, progress, ..self.call.caller.clone() };
        let second = self.executor.alone(Call { caller: &quiet, ..self.call });
        tokio::pin!(second);
        tokio::select! {
            biased;
            one = &mut first => match retry::is_answer(one.as_ref()) {
                true => one,
                false => match second.await {
                    two if retry::is_answer(two.as_ref()) => two,
                    _ => one,
                },
            },
            two = &mut second => match retry::is_answer(two.as_ref()) {
                true => two,
                false => first.await,
            },
        }
    }

    /// Waits for the moment of a second attempt, if there may be one in the time that is left.
    async fn is_worth_another(&self, first: &Run) -> bool {
        if !retry::may_mend(first) {
            return false;
        }
        let until = self.call.planned.deadline().instant();
        let pause = retry::pause(rand::random());
        if self.executor.clock.now() + pause >= until {
            return false;
        }
        tokio::time::sleep(pause).await;
        let server = self.call.planned.permitted().server();
        let until = until.min(self.executor.clock.now() + COMEBACK);
        self.executor.returned(server, until).await && self.budget.spend()
    }
}
