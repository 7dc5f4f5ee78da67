//! Programs that call tools. All that a program reaches is the door: its calls enter there with the
//! view, the wall and the principal of the turn that runs it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tollgate_core::call::{GateRequest, RequestKind};
use tollgate_core::code_mode::MetaTool;
use tollgate_core::json::{self, Object};
use tollgate_core::lease::RevokedError;
use tollgate_core::shaping::ResultCaps;
use tollgate_core::turn::{Principal, Turn};
use tollgate_core::view::View;
use tollgate_mcp::client::ProgressReporting;
use tollgate_sandbox::frames::ProgramError;
use tollgate_sandbox::limits::Limits;
use tollgate_sandbox::sandbox::{
    ProgramOutcome, ProgramSandbox, SandboxProgram, SandboxUnavailableError,
};

use super::Gate;
use crate::caller::{CallPurpose, Caller, Dialogue, LateResultPolicy, OverflowPolicy, Reply};
use crate::limits::LimitExceededError;
use crate::revocations::until_revoked;
use crate::settings::{CodeModeSettings, EngineSettings, sandbox_limits};

mod backend;
mod calls;
mod learned_types;
mod program_report;
mod questions;
mod tool_docs;

pub(crate) use backend::CodeBackend;
use calls::ProgramHost;
pub(super) use learned_types::LearnedTypes;

/// The program was not run; it is not to blame.
#[derive(Debug, thiserror::Error)]
pub enum ProgramNotRunError {
    #[error(transparent)]
    Exceeded(#[from] LimitExceededError),
    #[error(transparent)]
    Unavailable(#[from] SandboxUnavailableError),
    /// It may have run for a while.
    #[error("stopped: {0}")]
    Revoked(RevokedError),
}

/// Before the wall of its turn: a program that is ended then can still be told of.
const REPORT_MARGIN: Duration = Duration::from_millis(50);

impl Gate {
    /// Runs a program that somebody wrote by hand, in the turn. Dropping the future ends it, and
    /// whatever it is waiting for.
    pub async fn code(
        &self,
        turn: &Turn,
        source: &str,
        caller: Caller<'_>,
    ) -> Result<ProgramOutcome, ProgramNotRunError> {
        let mut params = Object::new();
        params.set_string("name", MetaTool::Execute.name());
        params.set("arguments", json::raw_value(&json!({ "code": source })));
        let request = GateRequest { kind: RequestKind::CallTool, params };
        let mut recording = self.begin_recording(turn, &request).await;
        let within = Some(recording.id());
        let turn = Turn { within, ..recording.within(turn).into_owned() };
        let finished = match self.limits.admit_program(&turn) {
            Ok(()) => {
                let running =
                    std::pin::pin!(self.code_within(&turn, source, Duration::MAX, caller));
                match until_revoked(&turn.lease, running).await {
                    Ok(finished) => finished.map_err(ProgramNotRunError::from),
                    Err(why) => {
                        recording.mark_revoked(&why);
                        Err(ProgramNotRunError::Revoked(why))
                    }
                }
            }
            Err(exceeded) => Err(exceeded.into()),
        };
        // What a program did is in the rows of its calls; those are waited for.
        let _ = recording.finish(&Ok(Reply::Tool(program_report::outcome(&finished)))).await;
        finished
    }

    /// The same for a program that has this long for itself; what people take does not count.
    async fn code_within(
        &self,
        turn: &Turn,
        source: &str,
        time: Duration,
        caller: Caller<'_>,
    ) -> Result<ProgramOutcome, SandboxUnavailableError> {
        let limits = sandbox_limits(turn.policy.code.limits);
        let turn = Turn { view: Arc::clone(turn.view.in_code()), ..turn.clone() };
        // Callers without a key all are this machine.
        let is_key = turn.principal != Principal::local();
        let program = SandboxProgram {
            source,
            names: turn.view.code_api().names(),
            owner: is_key.then(|| turn.principal.as_str()),
            limits: &Limits { time: limits.time.min(time), ..limits },
            until: turn.deadline.and_then(|wall| wall.instant().checked_sub(REPORT_MARGIN)),
        };
        let caller = Caller {
            progress: ProgressReporting::Unwanted,
            // Half a program cannot be sent back with a question.
            dialogue: match caller.dialogue {
                Dialogue::Live => Dialogue::Live,
                Dialogue::Nobody | Dialogue::Rounds(_) => Dialogue::Nobody,
            },
            caps: ResultCaps::code(),
            late: LateResultPolicy::Dropped,
            rest: OverflowPolicy::Lost,
            purpose: CallPurpose::Serve,
            ..caller
        };
        let host = ProgramHost { gate: self, turn: &turn, caller };
        // The workers of now: what a reload changed in them, the kernel enforces beside these limits.
        let mut ended = self.sandbox.load_full().run(&program, &host).await?;
        if let Err(error) = &mut ended.result {
            self.blame_absent_server(&turn.view, error);
        }
        Ok(ended)
    }

    /// A program that names a server which has not listed its tools yet is not at fault.
    fn blame_absent_server(&self, view: &View, error: &mut ProgramError) {
        let absent = missing_call(error).and_then(|(server, tool)| view.away_in_code(server, tool));
        if let Some(server) = absent {
            let how = self.servers.describe_absence(server);
            error.hint = Some(format!("its server `{server}` is {how}"));
        }
    }

    /// Programs that begin from now on are run by these settings.
    pub(crate) fn update_sandbox(&self, settings: &EngineSettings) {
        let code = &settings.code;
        let is_same = self.registry.current().policy.code.sandbox() == code.sandbox();
        // Without code mode, no worker has to wait for a program.
        if !is_same || !settings.has_code_mode() {
            self.sandbox.store(Arc::new(sandbox(code)));
        }
    }

    /// Has a worker ready before a model needs it. Without one, models are told so when they try.
    pub(crate) async fn warm(self: Arc<Self>) {
        if let Err(error) = self.sandbox.load_full().warm().await {
            tracing::warn!(%error, "code mode is on, but programs cannot be run");
        }
    }
}

/// `server` and `tool` of the call in this line whose server the program does not know.
fn missing_call(error: &ProgramError) -> Option<(&str, &str)> {
    let (server, _) = error.message.strip_prefix("variable `")?.split_once('`')?;
    let line = error.text.as_deref()?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(server).find_map(|(at, _)| {
        let tool = line[at + server.len()..].strip_prefix('.')?;
        let tool = &tool[..tool.find(|c| !is_word(c)).unwrap_or(tool.len())];
        (!line[..at].ends_with(is_word) && !tool.is_empty()).then_some((server, tool))
    })
}

/// Where programs run by such settings.
pub(super) fn sandbox(code: &CodeModeSettings) -> ProgramSandbox {
    ProgramSandbox::new(code.sandbox())
}
