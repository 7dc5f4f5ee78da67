//! The first stages of a call: secrets in its arguments are screened, and the request is checked
//! against the view of its turn. Large arguments are checked off the worker threads.

use tollgate_core::call::{CallStatus, GateRequest, RequestKind};
use tollgate_core::failpoint;
use tollgate_core::policy::{self, PermitError, Permitted};
use tollgate_core::turn::Turn;
use tollgate_mcp::offload::{is_too_large_here, offload_if_large};

use super::Gate;
use super::secret_screen::{ContainsSecrets, SecretScreen};
use super::stages::{StageExit, StageResult};
use crate::answer;
use crate::caller::{CallError, Caller, Dialogue};
use crate::recorder::CallRecording;

impl Gate {
    /// Masks or refuses secrets in all that goes on to the server: the request, and the caller's answers
    /// to questions.
    pub(super) async fn screen_secrets<'a>(
        &self,
        turn: &Turn,
        request: GateRequest<'a>,
        caller: &mut Caller<'_>,
        recording: &mut CallRecording<'_>,
    ) -> StageResult<GateRequest<'a>> {
        let Some(screen) = SecretScreen::of(&turn.policy) else { return Ok(request) };
        let kind = request.kind;
        let screened = async {
            if let Dialogue::Rounds(retry) = &mut caller.dialogue {
                screen.pass_answers(retry).await?;
            }
            screen.pass(request).await
        };
        screened.await.map_err(|ContainsSecrets| match kind {
            RequestKind::CallTool => {
                recording.set_detail("secrets in its arguments");
                answer::secret_arguments_reply().into()
            }
            _ => CallError::from(PermitError::ContainsSecrets).into(),
        })
    }

    /// Checks that the request names something in the view, with valid arguments.
    pub(super) async fn permit<'a>(
        &self,
        turn: &Turn,
        request: GateRequest<'a>,
        recording: &mut CallRecording<'_>,
    ) -> StageResult<Permitted<'a>> {
        failpoint::hit("permit");
        let size = request.params.get("arguments").map_or(0, |raw| raw.get().len());
        let permitted = if is_too_large_here(size) {
            let turn = turn.clone();
            let request = request.into_owned();
            offload_if_large(size, move || policy::permit(&turn, request)).await
        } else {
            policy::permit(turn, request)
        };
        permitted.map_err(|refusal| self.refuse(refusal, recording))
    }

    /// Refusals that a model can act on become outcomes; the others are errors of the request.
    fn refuse(&self, refusal: PermitError, recording: &mut CallRecording<'_>) -> StageExit {
        let (status, message) = match &refusal {
            PermitError::InvalidArguments { tool, .. } => {
                recording.target(&tool.id.server, Some(tool));
                (CallStatus::InvalidArguments, refusal.to_string())
            }
            PermitError::Away { name, server } => {
                recording.target(server, None);
                let how = self.servers.describe_absence(server);
                let message = format!("`{name}` is unavailable: its server `{server}` is {how}");
                (CallStatus::Offline, message)
            }
            PermitError::Withheld { server, .. } => {
                recording.target(server, None);
                (CallStatus::Denied, refusal.to_string())
            }
            PermitError::OnlyInCode { .. } => (CallStatus::Denied, refusal.to_string()),
            PermitError::BadParams(_)
            | PermitError::UnknownTool { .. }
            | PermitError::UnknownPrompt { .. }
            | PermitError::UnknownResource { .. }
            | PermitError::UnknownTask
            | PermitError::ContainsSecrets => return CallError::from(refusal).into(),
        };
        answer::failure_reply(status, &message).into()
    }
}
