//! Retries and hedging. Up to two attempts per call: a retry after a broken connection, or a second
//! attempt beside a slow first one. Only for tools that may be called twice.

use std::pin::Pin;
use std::time::Duration;

use tollgate_core::retry_budget::RetryBudget;
use tollgate_mcp::client::ProgressReporting;

use super::retry_policy;
use crate::caller::{CallError, Caller};
use crate::executor::{AttemptOutcome, Executor, PlannedCall};

/// How long to wait for a server to come back before a retry is given up.
const MAX_RETURN_WAIT: Duration = Duration::from_secs(2);

pub(super) struct AttemptRunner<'a> {
    pub(super) executor: &'a Executor,
    pub(super) budget: &'a RetryBudget,
    pub(super) call: PlannedCall<'a>,
}

impl AttemptRunner<'_> {
    /// Retries after a first attempt that failed in a retryable way. The caller can be asked in the
    /// second.
    pub(super) async fn retry_attended(
        &self,
        first: AttemptOutcome,
    ) -> Result<AttemptOutcome, CallError> {
        if !self.is_worth_another(&first).await {
            return Ok(first);
        }
        let second = self.executor.run(self.call).await?;
        Ok(retry_policy::more_telling(first, second))
    }

    /// Runs without asking the caller; `None` if the server asks. With `hedge`, a second attempt
    /// starts after that time.
    pub(super) async fn run_unattended(&self, hedge: Option<Duration>) -> Option<AttemptOutcome> {
        self.budget.earn();
        let first = self.executor.run_unattended(self.call);
        tokio::pin!(first);
        if let Some(delay) = hedge {
            tokio::select! {
                biased;
                done = &mut first => return self.retry_once(done?).await,
                () = tokio::time::sleep(delay) => {}
            }
            if self.budget.spend() {
                return self.race_attempts(first).await;
            }
        }
        self.retry_once(first.await?).await
    }

    async fn retry_once(&self, first: AttemptOutcome) -> Option<AttemptOutcome> {
        if !self.is_worth_another(&first).await {
            return Some(first);
        }
        let second = self.executor.run_unattended(self.call).await?;
        Some(retry_policy::more_telling(first, second))
    }

    /// The first answer wins; the other attempt is dropped, and so cancelled at the server. Events
    /// of the second attempt are discarded: the caller receives those of the first.
    async fn race_attempts(
        &self,
        mut first: Pin<&mut impl Future<Output = Option<AttemptOutcome>>>,
    ) -> Option<AttemptOutcome> {
        let progress = ProgressReporting::Unwanted;
        let quiet = Caller { events: None, progress, ..self.call.caller.clone() };
        let second = self.executor.run_unattended(PlannedCall { caller: &quiet, ..self.call });
        tokio::pin!(second);
        tokio::select! {
            biased;
            one = &mut first => {
                if retry_policy::is_answer(one.as_ref()) {
                    return one;
                }
                let two = second.await;
                if retry_policy::is_answer(two.as_ref()) { two } else { one }
            }
            two = &mut second => {
                if retry_policy::is_answer(two.as_ref()) { two } else { first.await }
            }
        }
    }

    /// Whether to make a second attempt: waits out the pause and until the server is available, if
    /// that fits the time left, and pays for the attempt.
    async fn is_worth_another(&self, first: &AttemptOutcome) -> bool {
        if !retry_policy::is_retryable(first) {
            return false;
        }
        let until = self.call.planned.deadline().instant();
        let pause = retry_policy::pause(self.executor.random.fraction());
        if self.executor.clock.now() + pause >= until {
            return false;
        }
        tokio::time::sleep(pause).await;
        let server = self.call.planned.permitted_request().server();
        let until = until.min(self.executor.clock.now() + MAX_RETURN_WAIT);
        self.executor.wait_until_available(server, until).await && self.budget.spend()
    }
}
