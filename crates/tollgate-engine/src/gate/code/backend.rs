//! The means of code mode as a backend: what a model reads to write a program, and what runs it.
//! Called by the executor, as any backend is.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tollgate_core::call::{CallStatus, Decider};
use tollgate_core::code_mode::MetaTool;
use tollgate_core::shaping;
use tollgate_core::turn::Turn;
use tollgate_mcp::Era;
use tollgate_mcp::client::{Answer, AnswerKind};
use tollgate_mcp::error_code::{self, JsonRpcError};
use tollgate_sandbox::sandbox::SandboxUnavailableError;

use super::super::Gate;
use super::REPORT_MARGIN;
use super::program_report::{self, ProgramReport};
use crate::backend::{Backend, BackendConnection, BackendError, BackendJob};
use crate::caller::{Caller, Dialogue};

/// The gate that it serves is there only after its backends are.
#[derive(Clone, Default)]
pub(crate) struct CodeBackend(Arc<OnceLock<Weak<Gate>>>);

impl CodeBackend {
    /// Whose programs it runs.
    pub(crate) fn serve(&self, gate: &Arc<Gate>) {
        self.0.get_or_init(|| Arc::downgrade(gate));
    }
}

#[async_trait]
impl Backend for CodeBackend {
    async fn connection(&self) -> Result<Arc<dyn BackendConnection>, BackendError> {
        let gate = self.0.get().and_then(Weak::upgrade);
        let gone = || BackendError::Offline {
            state: "offline",
            reason: "the gateway is shutting down".to_owned(),
        };
        Ok(Arc::new(CodeConnection(gate.ok_or_else(gone)?)))
    }

    async fn wait_until_available(&self, _: Instant) -> bool {
        true
    }
}

/// Where a model reads, and hands in what it wrote.
struct CodeConnection(Arc<Gate>);

#[async_trait]
impl BackendConnection for CodeConnection {
    /// A program asks in the middle, by the calls that it makes: it is parked as a call of an old
    /// server would be.
    fn era(&self) -> Era {
        Era::Legacy
    }

    async fn run(&self, job: BackendJob<'_>) -> Result<Answer, BackendError> {
        job.departure.note();
        tollgate_core::failpoint::hit("code");
        let name = job.params.string("name");
        let Some(means) = name.as_deref().and_then(MetaTool::from_name) else {
            let error = JsonRpcError::new(error_code::METHOD_NOT_FOUND, "code mode has tools only");
            return Err(BackendError::Refused(error));
        };
        let arguments = job.params.object("arguments").unwrap_or_default();
        let report = match means {
            MetaTool::Execute => {
                let source = arguments.string("code").unwrap_or_default();
                self.execute(&job, &source).await?
            }
            reading => {
                let arguments = serde_json::from_str(&arguments.to_text()).unwrap_or_default();
                let read = self.0.look(job.turn, reading, arguments).await;
                match read {
                    Ok(text) => ProgramReport::Well(text),
                    Err(error) => ProgramReport::Failed(error.to_string()),
                }
            }
        };
        let outcome = match report {
            ProgramReport::Well(text) => shaping::gateway_answer(&text),
            ProgramReport::Failed(text) => {
                shaping::failure(CallStatus::Error, &text, Duration::ZERO)
            }
        };
        Ok(Answer { kind: AnswerKind::Complete, result: outcome.result })
    }
}

impl CodeConnection {
    async fn execute(
        &self,
        job: &BackendJob<'_>,
        source: &str,
    ) -> Result<ProgramReport, BackendError> {
        let caller = Caller {
            events: job.events.clone(),
            dialogue: match &job.waits {
                Some(_) => Dialogue::Live,
                None => Dialogue::Nobody,
            },
            decided_by: Decider::Model,
            ..Caller::silent(job.client)
        };
        let wall = job.turn.deadline;
        // A run that may be parked outlives this turn's wall, by as long as people take.
        let (deadline, time) = match job.until {
            Some(_) => (wall, None),
            None => (None, wall.map(|wall| wall.remaining(self.0.clock.now()))),
        };
        let time = time.map_or(Duration::MAX, |left| left.saturating_sub(REPORT_MARGIN));
        let trace = job.trace.cloned();
        let turn = Turn { deadline, within: job.id, trace, ..job.turn.clone() };
        match self.0.code_within(&turn, source, time, caller).await {
            Ok(ended) => Ok(program_report::report(&ended)),
            Err(unavailable) => Err(not_run(&unavailable)),
        }
    }
}

/// What is wrong with workers is for operators to know, not for models.
fn not_run(unavailable: &SandboxUnavailableError) -> BackendError {
    match unavailable {
        SandboxUnavailableError::Busy { .. }
        | SandboxUnavailableError::OwnerBusy { .. }
        | SandboxUnavailableError::NotReady
        | SandboxUnavailableError::NotTaken => BackendError::Resting {
            reason: unavailable.to_string(),
            retry_after: SandboxUnavailableError::RETRY_AFTER,
        },
        SandboxUnavailableError::Shut => {
            BackendError::Offline { state: "offline", reason: unavailable.to_string() }
        }
        SandboxUnavailableError::Broken(_) | SandboxUnavailableError::TooManyNames(_) => {
            tracing::warn!(error = %unavailable, "cannot run a program");
            let reason = "programs cannot be run until the operator has fixed it".to_owned();
            BackendError::Offline { state: "failed", reason }
        }
    }
}
